//! The driver: takes one step at a time, in an order that the seed determines.

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

/// Maximum time until due work that still belongs to the present: later work waits for users or for the time of day.
const HORIZON: Millis = 60_000;
/// Maximum number of steps of a simulation between two changes from outside.
const STEPS: usize = 20_000;

/// Time at which every simulation begins, in milliseconds of Unix time.
const BEGIN: i64 = 1_795_000_000_000;

/// The clock of the operator.
fn clock_of(clock: &Arc<AtomicI64>) -> Clock {
    let clock = clock.clone();
    Clock::new(move || Timestamp::from_millisecond(clock.load(Ordering::Relaxed)).unwrap())
}

/// One step of a simulation.
enum Step {
    /// The watch of a kind sends its next event.
    Deliver(usize),
    /// A reconcile begins.
    Begin((usize, stackflux::runtime::cache::Key)),
    /// A running reconcile continues.
    GoOn(usize),
    /// Flux reconciles an object.
    Flux(Place),
    /// A controller of Kubernetes acts.
    Controllers,
}

/// A management cluster with its operator and its Flux.
pub(crate) struct Simulation {
    pub(crate) wire: Wire,
    pub(crate) flux: Flux,
    pub(crate) namespace: String,
    random: Random,
    operator: Operator,
    /// The position of each watch in the log.
    delivered: Vec<usize>,
    now: Millis,
    /// The time of the operator's clock.
    clock: Arc<AtomicI64>,
    /// Number of crashes that the operator may still have.
    crashes: usize,
    /// The position of the controllers of Kubernetes in the log.
    collected: usize,
    _entered: tokio::runtime::EnterGuard<'static>,
}

impl Simulation {
    /// An empty management cluster. The namespace contains the seed, because it is a key of the stack repository in memory.
    pub(crate) fn new(seed: u64, runtime: &'static tokio::runtime::Runtime) -> Self {
        let entered = runtime.enter();
        let namespace = format!("team-{seed}");
        let wire = Wire::new(ApiServer::new(&[&namespace]));
        let mut random = Random::new(seed);
        let crashes = random.below(4);
        let clock = Arc::new(AtomicI64::new(BEGIN));
        let operator = Operator::start(&wire, clock_of(&clock), 0);
        let delivered = vec![wire.cluster().server.log.len(); KINDS.len()];
        let (flux, now, collected) = (Flux::default(), 0, 0);
        Self {
            wire,
            flux,
            namespace,
            random,
            operator,
            delivered,
            now,
            clock,
            crashes,
            collected,
            _entered: entered,
        }
    }

    /// Continues until nothing is left to do. `check` inspects the state after each step.
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

    /// Ends the operator and starts another one: everything that it had not written is lost.
    fn crash(&mut self) {
        self.crashes -= 1;
        self.note("crash".to_owned());
        self.operator = Operator::start(&self.wire, clock_of(&self.clock), self.now);
        let delivered = self.wire.cluster().server.log.len();
        self.delivered.fill(delivered);
    }

    fn steps(&mut self) -> Vec<Step> {
        let cluster = self.wire.cluster();
        let log = &cluster.server.log;
        let mut steps: Vec<Step> = Vec::new();
        for kind in 0..KINDS.len() {
            let next = log[self.delivered[kind]..].iter().position(|entry| entry.kind == kind);
            match next {
                Some(_) => steps.push(Step::Deliver(kind)),
                None => self.delivered[kind] = log.len(),
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
            Step::Deliver(kind) if self.random.once_in(40) => {
                self.delivered[kind] = self.wire.cluster().server.log.len();
                self.operator.relist(&self.wire, kind, self.now);
            }
            Step::Deliver(kind) => self.deliver(kind),
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

    /// Sends the next event of a watch, occasionally twice.
    fn deliver(&mut self, kind: usize) {
        let from = self.delivered[kind];
        let found = self.wire.cluster().server.log[from..].iter().position(|entry| entry.kind == kind);
        let Some(at) = found.map(|position| from + position) else { return };
        if !self.random.once_in(20) {
            self.delivered[kind] = at + 1;
        }
        let entry = self.wire.cluster().server.log[at].clone();
        let event = if entry.is_deleted { Event::Delete(entry.object) } else { Event::Apply(entry.object) };
        self.operator.deliver(kind, event, self.now);
    }

    fn note(&self, note: String) {
        self.wire.cluster().log.push(note);
    }

    /// Applies an object as a user does.
    pub(crate) fn apply(&self, object: &Value) {
        let answer = self.wire.cluster().server.apply_as("kubectl", object);
        assert!(answer.code < 300, "{answer:?}");
        self.note(format!("person: applies {} {}", object["kind"], object["metadata"]["name"]));
    }

    /// Deletes an object as a user does.
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
