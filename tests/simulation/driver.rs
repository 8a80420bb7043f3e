//! The driver: lets one thing happen at a time, in an order that is the seed's.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use jiff::Timestamp;
use kube::runtime::watcher::Event;
use serde_json::Value;
use stackflux::runtime::clock::Clock;

use crate::api_server::kinds::KINDS;
use crate::api_server::{ApiServer, Place};
use crate::flux::{Flux, number};
use crate::operator::{Millis, Operator};
use crate::random::Random;
use crate::wire::Wire;

/// How far ahead something may be due for what happens next: what is due later waits for people or for the time of day.
const HORIZON: Millis = 60_000;
/// How many steps a simulation may take between two changes from outside.
const STEPS: usize = 20_000;

/// When every simulation begins, in milliseconds of Unix time.
const BEGIN: i64 = 1_795_000_000_000;

/// The clock of the operator.
fn told_by(clock: &Arc<AtomicI64>) -> Clock {
    let clock = clock.clone();
    Clock::new(move || Timestamp::from_millisecond(clock.load(Ordering::Relaxed)).unwrap())
}

/// One thing that can happen.
enum Step {
    /// The watch of a kind tells its next event.
    Tell(usize),
    /// A reconcile begins.
    Begin((usize, stackflux::runtime::cache::Key)),
    /// A running reconcile goes on.
    GoOn(usize),
    /// Flux looks at an object.
    Flux(Place),
    /// A controller of Kubernetes does something.
    Controllers,
}

/// A management cluster with its operator and its Flux.
pub(crate) struct Simulation {
    pub(crate) wire: Wire,
    pub(crate) flux: Flux,
    pub(crate) namespace: String,
    random: Random,
    operator: Operator,
    /// How much of the log each watch has told.
    told: Vec<usize>,
    now: Millis,
    /// The time that the operator is told.
    clock: Arc<AtomicI64>,
    /// How often the operator may still crash.
    crashes: usize,
    /// How much of the log the controllers of Kubernetes have looked at.
    collected: usize,
    _entered: tokio::runtime::EnterGuard<'static>,
}

impl Simulation {
    /// An empty management cluster. The namespace is the seed's: what is in memory of the stack repository is kept by it.
    pub(crate) fn new(seed: u64, runtime: &'static tokio::runtime::Runtime) -> Self {
        let entered = runtime.enter();
        let namespace = format!("demo-{seed}");
        let wire = Wire::new(ApiServer::new(&[&namespace]));
        let mut random = Random::new(seed);
        let crashes = random.below(4);
        let clock = Arc::new(AtomicI64::new(BEGIN));
        let operator = Operator::start(&wire, told_by(&clock), 0);
        let told = vec![wire.cluster().server.log.len(); KINDS.len()];
        let (flux, now, collected) = (Flux::default(), 0, 0);
        Self { wire, flux, namespace, random, operator, told, now, clock, crashes, collected, _entered: entered }
    }

    /// Goes on until nothing is left to do. What a step left behind is looked at by `check`.
    pub(crate) fn settle(&mut self, mut check: impl FnMut(&mut Self)) {
        for _ in 0..STEPS {
            if self.crashes > 0 && self.random.once_in(150) {
                self.crash();
            }
            let mut steps = self.steps();
            if steps.is_empty() {
                match self.operator.next_due() {
                    Some(due) if due <= self.now + HORIZON => self.set_now(due.max(self.now)),
                    _ => return,
                }
                continue;
            }
            let chosen = self.random.below(steps.len());
            let step = steps.swap_remove(chosen);
            self.take(step);
            check(self);
        }
        self.wire.cluster().wrong.push(format!("it does not end within {STEPS} steps"));
    }

    fn set_now(&mut self, now: Millis) {
        self.now = now;
        self.clock.store(BEGIN + i64::try_from(now).unwrap(), Ordering::Relaxed);
    }

    /// The operator dies, and another one starts: all that it had not written is lost.
    fn crash(&mut self) {
        self.crashes -= 1;
        self.note("crash".to_owned());
        self.operator = Operator::start(&self.wire, told_by(&self.clock), self.now);
        let told = self.wire.cluster().server.log.len();
        self.told.fill(told);
    }

    fn steps(&mut self) -> Vec<Step> {
        let cluster = self.wire.cluster();
        let log = &cluster.server.log;
        let mut steps: Vec<Step> = Vec::new();
        for kind in 0..KINDS.len() {
            let next = log[self.told[kind]..].iter().position(|told| told.kind == kind);
            match next {
                Some(_) => steps.push(Step::Tell(kind)),
                None => self.told[kind] = log.len(),
            }
        }
        steps.extend(self.flux.pending(&cluster.server).into_iter().map(Step::Flux));
        if self.collected < log.len() {
            steps.push(Step::Controllers);
        }
        drop(cluster);
        steps.extend((0..self.operator.running()).map(Step::GoOn));
        steps.extend(self.operator.startable(self.now).into_iter().map(Step::Begin));
        steps
    }

    fn take(&mut self, step: Step) {
        match step {
            Step::Tell(kind) if self.random.once_in(40) => {
                self.told[kind] = self.wire.cluster().server.log.len();
                self.operator.relist(&self.wire, kind, self.now);
            }
            Step::Tell(kind) => self.tell(kind),
            Step::Begin(work) => self.operator.begin(work),
            Step::GoOn(number) => {
                if let Some(failure) = self.operator.go_on(number, self.now) {
                    self.note(failure);
                }
            }
            Step::Flux(place) => {
                let done = self.flux.look_at(&mut self.wire.cluster().server, &place);
                done.into_iter().for_each(|note| self.note(note));
            }
            Step::Controllers => {
                let mut cluster = self.wire.cluster();
                let before = cluster.server.log.len();
                if !cluster.server.collect_garbage() && !cluster.server.empty_namespaces() {
                    self.collected = before;
                }
            }
        }
    }

    /// Tells the next event of a watch, once in a while twice.
    fn tell(&mut self, kind: usize) {
        let from = self.told[kind];
        let found = self.wire.cluster().server.log[from..].iter().position(|told| told.kind == kind);
        let Some(at) = found.map(|position| from + position) else { return };
        if !self.random.once_in(20) {
            self.told[kind] = at + 1;
        }
        let told = self.wire.cluster().server.log[at].clone();
        let event = if told.is_deleted { Event::Delete(told.object) } else { Event::Apply(told.object) };
        self.operator.tell(kind, event, self.now);
    }

    fn note(&self, note: String) {
        self.wire.cluster().log.push(note);
    }

    /// Writes as a person does.
    pub(crate) fn apply(&self, object: &Value) {
        let answer = self.wire.cluster().server.apply_as("kubectl", object);
        assert!(answer.code < 300, "{answer:?}");
        self.note(format!("person: applies {} {}", object["kind"], object["metadata"]["name"]));
    }

    /// Deletes as a person does.
    pub(crate) fn delete(&self, kind: &str, name: &str) {
        let answer = self.wire.cluster().server.delete_now(&self.place(kind, name));
        assert!(answer.code < 300, "{answer:?}");
        self.note(format!("person: deletes {kind} {name}"));
    }

    pub(crate) fn place(&self, kind: &str, name: &str) -> Place {
        (number(kind), self.namespace.clone(), name.to_owned())
    }

    pub(crate) fn get(&self, kind: &str, name: &str) -> Option<Value> {
        self.wire.cluster().server.get(&self.place(kind, name))
    }
}
