//! One life of the operator: its context, its caches, its queues, and the running reconciles.

use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::{Arc, Condvar, Mutex, OnceLock, mpsc};
use std::task::{Context as Waking, Poll, Wake, Waker};
use std::time::Duration;

use clap::Parser;
use futures::{FutureExt as _, StreamExt as _};
use jiff::Timestamp;
use kube::core::{ApiResource, GroupVersionKind};
use kube::runtime::watcher::Event;
use serde::de::DeserializeOwned;
use serde_json::Value;
use stackflux::api::labels::{FIELD_MANAGER, MANAGED_BY};
use stackflux::foreign::capi::ObjectReference;
use stackflux::foreign::flux::FluxKind;
use stackflux::foreign::flux::definition::Renaming;
use stackflux::operator::builtin::BuiltinRepositories;
use stackflux::operator::context::{Context, Parts, Triggers};
use stackflux::operator::enqueue;
use stackflux::operator::git_delivery::pass;
use stackflux::operator::metrics::{Metrics, Queue};
use stackflux::operator::objects::RelatedObject;
use stackflux::operator::reconcile::ReconcileError;
use stackflux::operator::related::{Depth, Related};
use stackflux::operator::settings::{Flags, Settings};
use stackflux::operator::{cluster, release, stack};
use stackflux::runtime::api_server::ApiServer;
use stackflux::runtime::cache::{Cache, Cached, Change, Key};
use stackflux::runtime::clock::Clock;
use stackflux::runtime::events::Events;
use stackflux::runtime::lease::Fence;
use stackflux::runtime::queue::{Next, Requests, queue};
use stackflux::runtime::tasks::Tasks;
use tokio::task::spawn_blocking;
use tokio::time::Instant;

use crate::api_server::kinds::KINDS;
use crate::repository::Repository;
use crate::wire::Wire;

/// Milliseconds of simulated time.
pub(crate) type Millis = u64;

/// Time at which every simulation begins, in milliseconds of Unix time.
pub(crate) const BEGIN: i64 = 1_795_000_000_000;

/// The time of the operator's clock.
pub(crate) fn timestamp(now: Millis) -> Timestamp {
    Timestamp::from_millisecond(BEGIN + i64::try_from(now).unwrap()).unwrap()
}

/// The pause after a reconcile that failed. It doubles with each failure, up to a limit.
const RETRY: Millis = 200;

/// Number of failures after which the pause stays the same.
const MAX_DOUBLINGS: u32 = 6;

/// Maximum time for the work of a thread.
const THREAD: Duration = Duration::from_secs(30);

/// The key of a reconcile: its queue and its object.
type Work = (usize, Key);

type Running = Pin<Box<dyn Future<Output = Result<Next, ReconcileError>>>>;

/// Takes over the changes that a cache withheld. Returns whether there was one.
type Late = Box<dyn FnMut(&Context) -> bool>;

/// Group and kind of control planes.
const CONTROL_PLANE: (&str, &str) = ("controlplane.cluster.x-k8s.io", "KubeadmControlPlane");

/// The queues whose work is run.
const QUEUES: [Queue; 4] = [Queue::ClusterStack, Queue::ClusterStackRelease, Queue::Cluster, Queue::Commit];

/// The delay with which the operator requests a reconcile of each queue, unless it requests it at once.
const DELAYS: [Millis; 4] = [1000, 1000, 100, 300];

/// The operator.
pub(crate) struct Operator {
    context: Arc<Context>,
    inbox: Vec<Requests<Key>>,
    late: Vec<Late>,
    due: BTreeMap<Work, Millis>,
    /// Number of failures of each reconcile since it last succeeded.
    failures: BTreeMap<Work, u32>,
    running: Vec<Reconcile>,
    wire: Wire,
    /// The cache of control planes.
    control_planes: Arc<Cache<RelatedObject>>,
    /// Number of reconciles that began.
    begun: usize,
}

/// A running reconcile.
struct Reconcile {
    work: Work,
    /// A number that no other reconcile of a simulation has.
    number: usize,
    run: Running,
    /// Whether it can go on.
    woken: Arc<Woken>,
}

/// The flags of the operator, as on the command line.
#[derive(Parser)]
struct Arguments {
    #[command(flatten)]
    flags: Flags,
}

impl Operator {
    /// A new process with empty caches. It writes while the fence is open.
    pub(crate) fn start(wire: &Wire, clock: Clock, fence: Fence) -> Self {
        let transport = Arc::new(wire.clone());
        let metrics = Metrics::new();
        let (stacks, stack_requests) = queue();
        let (releases, release_requests) = queue();
        let (clusters, cluster_requests) = queue();
        let (commits, commit_requests) = queue();
        let (publishes, _) = queue();
        let related = Related::new(nowhere(), Tasks::new().0, None).0;
        let control_planes = related.feed(CONTROL_PLANE.0, CONTROL_PLANE.1, Depth::Versions);
        let context = Context::new(Parts {
            settings: settings(),
            clock,
            api: ApiServer::new(transport.clone(), fence, metrics.runtime.clone(), "stackflux"),
            events: Events::new(transport, "stackflux"),
            release_cache: Repository::shared().release_cache.clone(),
            related,
            builtin: Arc::new(BuiltinRepositories::starting(false)),
            metrics,
            triggers: Triggers { stacks, releases, clusters, commits, publishes },
        });
        context.helm_controller.set(&Renaming::InPlace);
        let kind = GroupVersionKind::gvk("cluster.x-k8s.io", "v1beta2", "Cluster");
        context.set_cluster_resource(ApiResource::from_gvk_with_plural(&kind, "clusters"));
        let late = late(&context);
        let inbox = vec![stack_requests, release_requests, cluster_requests, commit_requests];
        let (due, failures) = (BTreeMap::new(), BTreeMap::new());
        let (running, wire) = (Vec::new(), wire.clone());
        Self {
            context: Arc::new(context),
            inbox,
            late,
            due,
            failures,
            running,
            wire,
            control_planes,
            begun: 0,
        }
    }

    /// Enqueues everything, as a process does when it begins to lead.
    pub(crate) fn enqueue_all(&mut self, now: Millis) {
        self.due.clear();
        enqueue::enqueue_all(&self.context);
        self.gather(now);
    }

    /// Sends the operator an event of the watch of a kind.
    pub(crate) fn deliver(&mut self, kind: usize, event: Event<Arc<Value>>, now: Millis) {
        let (context, caches) = (&*self.context, &self.context.caches);
        let event = match event {
            // It no longer matches the label selector of the watch, or never did.
            Event::Apply(object) if !is_selected(kind, &object) => Event::Delete(object),
            event => event,
        };
        match KINDS[kind].name {
            "Namespace" => feed(context, &caches.namespaces, event, enqueue::on_namespace_event),
            "ClusterStack" => feed(context, &caches.stacks, event, enqueue::on_stack_event),
            "ClusterStackRelease" => feed(context, &caches.releases, event, enqueue::on_release_event),
            "ClusterAddon" => feed(context, &caches.addons, event, enqueue::on_addon_event),
            "ClusterAddonOverride" => feed(context, &caches.overrides, event, enqueue::on_override_event),
            "Cluster" => feed(context, &caches.clusters, event, enqueue::on_cluster_event),
            "KubeadmControlPlane" => feed(context, &self.control_planes, event, on_control_plane_event),
            other => {
                if let Some(kind) = FluxKind::of(other) {
                    feed(context, caches.flux.of(kind), event, enqueue::on_flux_event);
                }
            }
        }
        self.gather(now);
    }

    /// The work that can begin now.
    fn startable(&self, now: Millis) -> impl Iterator<Item = &Work> {
        let is_busy = |work: &Work| self.running.iter().any(|running| running.work == *work);
        let due = self.due.iter().filter(move |(work, at)| **at <= now && !is_busy(work));
        due.map(|(work, _)| work)
    }

    /// The next time at which queued work is due.
    pub(crate) fn next_due(&self) -> Option<Millis> {
        self.due.values().min().copied()
    }

    /// The next time after `now` at which queued work is due.
    pub(crate) fn next_due_after(&self, now: Millis) -> Option<Millis> {
        self.due.values().copied().filter(|due| *due > now).min()
    }

    /// Whether a reconcile runs.
    pub(crate) fn is_running(&self) -> bool {
        !self.running.is_empty()
    }

    /// The numbers of the running reconciles that can go on without an answer.
    pub(crate) fn woken(&self) -> Vec<usize> {
        self.running.iter().filter(|it| it.woken.is_woken()).map(|it| it.number).collect()
    }

    /// Number of reconciles that can begin now.
    pub(crate) fn count_startable(&self, now: Millis) -> usize {
        self.startable(now).count()
    }

    /// Begins one of the reconciles that can begin now, up to its first request. Returns its error, if it failed.
    pub(crate) fn begin(&mut self, number: usize, now: Millis) -> Option<String> {
        let work = self.startable(now).nth(number).cloned()?;
        self.due.remove(&work);
        let (context, (queue, key)) = (self.context.clone(), work.clone());
        let run: Running = Box::pin(async move {
            match QUEUES[queue] {
                Queue::ClusterStack => Box::pin(stack::reconcile(&context, &key)).await,
                Queue::ClusterStackRelease => release::reconcile(&context, &key).await,
                Queue::Commit => pass::reconcile(&context, &key).await,
                _ => cluster::reconcile(&context, &key).await,
            }
        });
        self.begun += 1;
        let number = self.wire.process() * 1_000_000 + self.begun;
        if QUEUES[work.0] == Queue::Cluster {
            self.wire.cluster().uses_resolved(number, self.wire.process());
        }
        self.running.push(Reconcile { work, number, run, woken: Arc::default() });
        self.go_on(number, now)
    }

    /// Continues a running reconcile up to its next request. Returns its error, if it failed.
    pub(crate) fn go_on(&mut self, number: usize, now: Millis) -> Option<String> {
        let index = self.running.iter().position(|it| it.number == number)?;
        let reconcile = &mut self.running[index];
        reconcile.woken.sleep();
        let waker = Waker::from(reconcile.woken.clone());
        self.wire.cluster().running(number, self.wire.process());
        let commits = QUEUES[reconcile.work.0] == Queue::Commit;
        // The only thread does nothing until the poll returns: work that ended before would let the reconcile go on at once.
        let gate = commits.then(|| {
            let (gate, opened) = mpsc::channel::<()>();
            drop(spawn_blocking(move || opened.recv()));
            gate
        });
        let polled = reconcile.run.as_mut().poll(&mut Waking::from_waker(&waker));
        drop(gate);
        let is_waiting = || self.wire.cluster().is_waiting(number);
        if polled.is_pending() && commits && !is_waiting() {
            // The work of its thread is one step.
            reconcile.woken.wait();
        }
        let mut failed = None;
        if let Poll::Ready(result) = polled {
            let work = self.running.swap_remove(index).work;
            if QUEUES[work.0] == Queue::ClusterStackRelease && result.is_ok() {
                self.wire.cluster().resolved(&work.1, number, self.wire.process());
            }
            let next = result.unwrap_or_else(|error| {
                failed = Some(format!("failed: {} {}: {error}", QUEUES[work.0], work.1));
                Next::Retry
            });
            let failures = self.failures.remove(&work).unwrap_or_default();
            match next {
                Next::Await => {}
                Next::Retry => {
                    self.failures.insert(work.clone(), MAX_DOUBLINGS.min(failures + 1));
                    self.enqueue(work, now + (RETRY << failures));
                }
                Next::After(pause) => self.enqueue(work, now + millis(pause)),
            }
        }
        self.gather(now);
        failed
    }

    /// Takes over the requests in the queues, and the changes that were withheld.
    fn gather(&mut self, now: Millis) {
        while self.late.iter_mut().any(|late| late(&self.context)) {}
        for queue in 0..self.inbox.len() {
            while let Some(Some(request)) = self.inbox[queue].next().now_or_never() {
                let pause = request.run_at.saturating_duration_since(Instant::now());
                // What has passed since the request was queued depends on this machine, and does not count.
                let delay = if pause.is_zero() { 0 } else { DELAYS[queue] };
                assert!(millis(pause) <= delay, "DELAYS lacks {pause:?} of {:?}", QUEUES[queue]);
                self.enqueue((queue, request.message), now + delay);
            }
        }
    }

    fn enqueue(&mut self, work: Work, at: Millis) {
        let due = self.due.entry(work).or_insert(at);
        *due = at.min(*due);
    }
}

/// Whether a reconcile that waited can continue.
#[derive(Default)]
struct Woken(Mutex<bool>, Condvar);

impl Woken {
    fn is_woken(&self) -> bool {
        *self.0.lock().unwrap()
    }

    fn sleep(&self) {
        *self.0.lock().unwrap() = false;
    }

    fn wait(&self) {
        let is_woken = self.0.lock().unwrap();
        let (is_woken, _) = self.1.wait_timeout_while(is_woken, THREAD, |is_woken| !*is_woken).unwrap();
        assert!(*is_woken, "a thread is still at work");
    }
}

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        *self.0.lock().unwrap() = true;
        self.1.notify_all();
    }
}

/// The settings without a flag.
fn settings() -> Settings {
    static SETTINGS: OnceLock<Settings> = OnceLock::new();
    SETTINGS.get_or_init(|| Arguments::parse_from(["operator"]).flags.settings().unwrap()).clone()
}

/// Whether the watch of a kind has an object: those of Flux's objects except `GitRepository`s have a label selector.
pub(crate) fn is_selected(kind: usize, object: &Value) -> bool {
    let has_selector =
        ["OCIRepository", "HelmChart", "HelmRelease", "Kustomization"].contains(&KINDS[kind].name);
    !has_selector || object["metadata"]["labels"][MANAGED_BY] == FIELD_MANAGER
}

/// Handles a change of a control plane.
fn on_control_plane_event(context: &Context, change: &Change<RelatedObject>) {
    let Some(object) = change.now.as_ref().or(change.before.as_ref()) else { return };
    let (group, kind, key) = (CONTROL_PLANE.0.to_owned(), CONTROL_PLANE.1.to_owned(), Key::of(&**object));
    let reference = ObjectReference { group, kind, name: key.name };
    enqueue::on_related_event(context, &key.namespace, &reference);
}

/// A client that sends no requests: Clusters of simulations refer to control planes alone.
fn nowhere() -> kube::Client {
    static CLIENT: OnceLock<kube::Client> = OnceLock::new();
    let config = || kube::Config::new("http://127.0.0.1:1".parse().unwrap());
    CLIENT.get_or_init(|| kube::Client::try_from(config()).unwrap()).clone()
}

fn millis(duration: Duration) -> Millis {
    u64::try_from(duration.as_millis()).unwrap()
}

fn feed<K: Cached + DeserializeOwned>(
    context: &Context,
    cache: &Cache<K>,
    event: Event<Arc<Value>>,
    changed: fn(&Context, &Change<K>),
) {
    let object = |value: Arc<Value>| K::deserialize(&*value).unwrap();
    let event = match event {
        Event::Apply(value) => Event::Apply(object(value)),
        Event::Delete(value) => Event::Delete(object(value)),
        Event::InitApply(value) => Event::InitApply(object(value)),
        Event::Init => Event::Init,
        Event::InitDone => Event::InitDone,
    };
    cache.take(event).iter().for_each(|change| changed(context, change));
}

/// Functions that take over the changes that the caches withheld.
fn late(context: &Context) -> Vec<Late> {
    fn of<K: Cached>(cache: &Cache<K>, changed: fn(&Context, &Change<K>)) -> Late {
        let mut late = cache.late().unwrap();
        Box::new(move |context| match late.next().now_or_never() {
            Some(Some(change)) => {
                changed(context, &change);
                true
            }
            _ => false,
        })
    }
    let caches = &context.caches;
    vec![
        of(&caches.stacks, enqueue::on_stack_event),
        of(&caches.releases, enqueue::on_release_event),
        of(&caches.addons, enqueue::on_addon_event),
        of(&caches.overrides, enqueue::on_override_event),
        of(&caches.clusters, enqueue::on_cluster_event),
        of(&caches.namespaces, enqueue::on_namespace_event),
        of(caches.flux.of(FluxKind::GitRepository), enqueue::on_flux_event),
        of(caches.flux.of(FluxKind::OCIRepository), enqueue::on_flux_event),
        of(caches.flux.of(FluxKind::HelmChart), enqueue::on_flux_event),
        of(caches.flux.of(FluxKind::HelmRelease), enqueue::on_flux_event),
        of(caches.flux.of(FluxKind::Kustomization), enqueue::on_flux_event),
    ]
}

#[cfg(test)]
mod tests;
