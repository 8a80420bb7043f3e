//! The driver: takes one step at a time, in an order that the seed determines.

mod access;
mod accidents;
mod checkpoint;
mod interruption;
mod preview;
mod time;

use std::mem::take;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering};

use tokio::runtime::{EnterGuard, Runtime};

use crate::api_server::ApiServer;
use crate::api_server::kinds::KINDS;
use crate::cluster_api::ClusterApi;
use crate::election::Election;
use crate::flux::Flux;
use crate::flux::fleet::Fleet;
use crate::invariants::Invariants;
use crate::operator::{BEGIN, Millis, Operator};
use crate::process::{Process, Role};
use crate::properties::Rule;
use crate::random::{Random, Streams};
use crate::seam::Guard;
use crate::truth::Truth;
use crate::users::Chances;
use crate::wire::{Sent, Wire};
pub(crate) use checkpoint::Checkpoint;
use checkpoint::Checkpoints;
use interruption::Interruption;
pub(crate) use interruption::Kind as InterruptionKind;

/// Maximum time without changes until due work that still belongs to the present: later work waits for users or for the
/// time of day.
const HORIZON: Millis = 60_000;
/// Maximum number of steps of a simulation between two changes from outside.
const STEPS: usize = 10_000;
/// Maximum number of requests that fail.
const MAX_FAULTS: usize = 3;
/// Maximum number of previews of the operator's writes.
const MAX_PREVIEWS: usize = 1;

/// One step of a simulation. Processes are given by their index.
#[derive(Clone, Copy)]
enum Step {
    /// The watch of a kind sends its next event.
    Deliver(usize, usize),
    /// A reconcile begins: the number of the work that can begin.
    Begin(usize, usize),
    /// A request arrives at the API server.
    CarryOut(usize),
    /// An answer arrives, and its reconcile continues.
    Answer(usize),
    /// A running reconcile that waits for no answer continues.
    GoOn(usize, usize),
    /// Flux reconciles an object: the number of the pending one.
    Flux(usize),
    /// Cluster API reconciles a Cluster: the number of the pending one.
    ClusterApi(usize),
    /// A controller of Kubernetes acts.
    Controllers,
    /// A request of a process that has ended arrives.
    Late,
    /// A user acts.
    Action,
}

/// An action of a user.
pub(crate) type Action = Box<dyn FnOnce(&mut Simulation)>;

/// A management cluster with its operator and its Flux.
pub(crate) struct Simulation {
    pub(crate) wire: Wire,
    pub(crate) flux: Flux,
    pub(crate) cluster_api: ClusterApi,
    pub(crate) namespace: String,
    random: Streams,
    /// The processes of the operator.
    processes: Vec<Process>,
    /// Number of processes so far.
    started: usize,
    /// The leader election, if the operator has a second process that waits.
    election: Option<Election>,
    now: Millis,
    /// The time of the operator's clock.
    clock: Arc<AtomicI64>,
    /// Number of steps so far.
    step: usize,
    /// Number of crashes and changes of the leader that may still happen.
    changes: usize,
    /// Number of crashes, changes of the leader, and requests that could fail at the beginning.
    max_accidents: usize,
    /// Number of previews of the operator's writes that may still happen.
    previews: usize,
    /// Number of requests that may still fail.
    faults: usize,
    /// The position of the controllers of Kubernetes in the log.
    collected: usize,
    /// Whether the namespace controller deletes the objects of namespaces that are being deleted.
    is_emptying: bool,
    /// The actions of users that happen at any time, in this order.
    pub(crate) actions: Vec<Action>,
    pub(crate) chances: Chances,
    /// The requests of processes that have ended, and that still arrive.
    late: Vec<Sent>,
    truth: Truth,
    checkpoints: Checkpoints,
    interruption: Interruption,
    pub(crate) invariants: Invariants,
    /// Whether nothing fails from now on.
    is_calm: bool,
    _entered: EnterGuard<'static>,
}

impl Simulation {
    /// An empty management cluster, whose operator lacks a guard. The name of the namespace is unique, because it is a key
    /// of the stack repository in memory.
    pub(crate) fn new(random: Random, without: Option<Guard>, runtime: &'static Runtime) -> Self {
        static NUMBER: AtomicUsize = AtomicUsize::new(0);
        let mut random = Streams::new(random);
        let entered = runtime.enter();
        let namespace = format!("team-{}", NUMBER.fetch_add(1, Ordering::Relaxed));
        let wire = Wire::new(ApiServer::new(&[&namespace]), without);
        wire.cluster().golden = random.is_calm().then(Vec::new);
        let is_elected = random.start.once_in(3) || without == Some(Guard::Fence);
        let changes = random.processes.below(4) + usize::from(is_elected);
        let faults = if without.is_none() { random.requests.below(MAX_FAULTS + 1) } else { 0 };
        let mut simulation = Self {
            wire,
            flux: Flux::default(),
            cluster_api: ClusterApi::default(),
            namespace,
            changes,
            faults,
            max_accidents: changes + faults,
            previews: if without.is_none() { random.previews.below(MAX_PREVIEWS + 1) } else { 0 },
            random,
            processes: Vec::new(),
            started: 0,
            election: is_elected.then(|| Election::new(runtime)),
            now: 0,
            clock: Arc::new(AtomicI64::new(BEGIN)),
            step: 0,
            collected: 0,
            is_emptying: false,
            actions: Vec::new(),
            chances: Chances::default(),
            late: Vec::new(),
            truth: Truth::default(),
            checkpoints: Checkpoints::default(),
            interruption: Interruption::default(),
            invariants: Invariants::default(),
            is_calm: false,
            _entered: entered,
        };
        simulation.set_now(0);
        simulation.start_leader();
        simulation
    }

    /// Continues until nothing is left to do, and checks the properties of each state.
    pub(crate) fn settle(&mut self) {
        if self.wire.cluster().is_broken(Rule::Endless) {
            return;
        }
        self.flux.is_fleet_current = false;
        self.preview_once_in(2);
        let (mut changed_at, mut known) = (self.now, 0);
        for _ in 0..STEPS {
            self.step += 1;
            self.disturb();
            self.hurry();
            let mut steps = self.steps();
            if !self.actions.is_empty() && (steps.is_empty() || self.random.users.once_in(100)) {
                steps = vec![Step::Action];
            }
            if !self.late.is_empty() && (steps.is_empty() || self.random.requests.once_in(20)) {
                steps = vec![Step::Late];
            }
            if steps.is_empty() {
                let position = self.wire.cluster().server.log.len();
                if position > known {
                    (changed_at, known) = (self.now, position);
                }
                match self.leader().operator.next_due() {
                    _ if self.catch_up() || self.begin_to_empty() => {}
                    Some(due) if due <= changed_at + HORIZON => self.set_now(due.max(self.now)),
                    _ => {
                        self.note_settled();
                        return self.truth.settled(&mut self.wire.cluster());
                    }
                }
                continue;
            }
            let chosen = self.random.order.below(steps.len());
            let step = steps.swap_remove(chosen);
            self.take(step);
            self.take_chances();
            self.preview_once_in(100);
            let step = self.step;
            let can_see = !self.leader().is_incomplete(step);
            let mut cluster = self.wire.cluster();
            self.truth.check(&mut cluster, can_see);
            self.invariants.check(&mut cluster, &self.flux, &self.namespace);
        }
        self.wire.cluster().broke(Rule::Endless, format!("it does not end within {STEPS} steps"));
    }

    /// Lists and reconciles everything again: nothing may be written, because nothing changed.
    pub(crate) fn stay_quiet(&mut self) {
        self.is_calm = true;
        self.settle();
        self.wire.cluster().log.push("all is listed and reconciled again".to_owned());
        self.wire.cluster().is_quiet = true;
        let now = self.now;
        for process in &mut self.processes {
            process.watches.iter_mut().for_each(crate::watch::Watch::relist);
        }
        self.leader().operator.enqueue_all(now);
        self.settle();
    }

    /// Maximum number of its crashes, changes of the leader and failed requests.
    pub(crate) fn max_accidents(&self) -> usize {
        self.max_accidents
    }

    /// The process that leads.
    fn leader(&mut self) -> &mut Process {
        self.processes.iter_mut().find(|process| process.role == Role::Leads).unwrap()
    }

    /// Starts a process that does not lead. Occasionally its first list of a kind is empty.
    fn start(&mut self) {
        let random = &mut self.random.processes;
        let blind = random.once_in(8).then(|| random.below(KINDS.len()));
        self.start_blind(blind);
    }

    /// Starts a process that does not lead, and whose first list of the kind `blind` is empty.
    fn start_blind(&mut self, blind: Option<usize>) {
        let number = self.started;
        self.started += 1;
        let process = Process::start(&self.wire, number, self.clock(), self.election.as_ref(), blind);
        self.processes.push(process);
    }

    /// Makes a process that waits the leader, and starts the next one that waits.
    fn start_leader(&mut self) {
        if self.processes.iter().all(|process| process.role != Role::Waits) {
            self.start();
        }
        let now = self.now;
        let next = self.processes.iter_mut().find(|process| process.role == Role::Waits).unwrap();
        next.lead(&self.wire, self.election.as_ref(), now);
        if self.election.is_some() {
            self.start();
        }
    }

    /// Ends the delays of watches and of Flux. Whether there were any.
    fn catch_up(&mut self) -> bool {
        let (step, mut any) = (self.step, take(&mut self.flux.is_delayed));
        for watch in self.processes.iter_mut().flat_map(|process| &mut process.watches) {
            any |= watch.is_delayed(step);
            watch.catch_up();
        }
        any
    }

    fn steps(&mut self) -> Vec<Step> {
        let mut steps: Vec<Step> = Vec::new();
        let mut cluster = self.wire.cluster();
        if let Some(commit) = self.flux.fetch(&cluster.server)
            && let Some(golden) = &mut cluster.golden
        {
            golden.push(format!("  commit {commit}"));
        }
        steps.extend(cluster.unsent().into_iter().map(Step::CarryOut));
        for (index, process) in self.processes.iter_mut().enumerate() {
            for (kind, watch) in process.watches.iter_mut().enumerate() {
                if !watch.is_delayed(self.step) && watch.is_behind(&cluster) {
                    steps.push(Step::Deliver(index, kind));
                }
            }
        }
        let pending = if self.flux.is_delayed { 0 } else { self.flux.count_pending(&cluster.server) };
        steps.extend((0..pending).map(Step::Flux));
        steps.extend((0..self.cluster_api.count_pending(&cluster.server)).map(Step::ClusterApi));
        if self.collected < cluster.server.log.len() {
            steps.push(Step::Controllers);
        }
        steps.extend(cluster.unanswered().into_iter().map(Step::Answer));
        drop(cluster);
        for (index, process) in self.processes.iter().enumerate().filter(|(_, it)| it.role != Role::Waits) {
            steps.extend(process.operator.woken().into_iter().map(|number| Step::GoOn(index, number)));
            let startable = process.operator.count_startable(self.now);
            steps.extend((0..startable).map(|number| Step::Begin(index, number)));
        }
        steps
    }

    fn take(&mut self, step: Step) {
        match step {
            Step::Deliver(index, kind) => {
                let random = (!self.is_calm).then_some(&mut self.random.watches);
                self.processes[index].deliver(kind, &self.wire, random, self.step, self.now);
            }
            Step::Begin(index, number) => {
                self.act(index, |operator, now| operator.begin(number, now));
            }
            Step::CarryOut(ticket) => {
                if !self.interrupt_before(ticket) {
                    let fault = self.fault(ticket);
                    self.wire.cluster().carry_out(ticket, fault);
                    self.interrupt_after();
                }
            }
            Step::Answer(ticket) => {
                let (process, reconcile) = self.wire.cluster().deliver(ticket);
                let index = self.processes.iter().position(|it| it.number == process).unwrap();
                self.act(index, |operator, now| operator.go_on(reconcile, now));
            }
            Step::GoOn(index, number) => self.act(index, |operator, now| operator.go_on(number, now)),
            Step::Flux(number) => {
                let place = self.flux.pending(number).unwrap();
                let mut cluster = self.wire.cluster();
                let (before, count) = (cluster.server.get(&place), self.flux.uninstalls);
                let done = self.flux.look_at(&mut cluster.server, &place);
                cluster.log.extend(done);
                if let Some(object) = before.filter(|_| self.flux.uninstalls > count) {
                    cluster.reached("an uninstall");
                    cluster.check_uninstall(&place, &object, self.interruption.settled());
                }
                self.truth.reconciled(&cluster.server, &self.flux, &place);
            }
            Step::ClusterApi(number) => {
                let mut cluster = self.wire.cluster();
                let done = self.cluster_api.step(&mut cluster.server, number);
                cluster.log.extend(done);
            }
            Step::Action => {
                let action = self.actions.remove(0);
                self.act_as_user(action);
            }
            Step::Late => {
                let sent = self.late.remove(0);
                self.wire.cluster().carry_out_late(&sent);
            }
            Step::Controllers => {
                let mut cluster = self.wire.cluster();
                let before = cluster.server.log.len();
                let server = &mut cluster.server;
                if !(server.collect_garbage() || (self.is_emptying && server.empty_namespaces())) {
                    self.collected = before;
                }
            }
        }
    }

    /// Lets a process do something.
    fn act(&mut self, index: usize, act: impl FnOnce(&mut Operator, Millis) -> Option<String>) {
        self.flux.is_fleet_current = false;
        let head = self.flux.fleet.as_ref().and_then(Fleet::head);
        let failure = act(&mut self.processes[index].operator, self.now);
        self.wire.cluster().log.extend(failure);
        self.after_commit(index, head.as_deref());
    }
}
