//! Starts the watches, waits until the caches are complete and this process leads, and works on the queues.

use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::channel::mpsc::UnboundedReceiver;
use futures::future::{join, join4};
use futures::{Stream, StreamExt as _};
use kube::core::NamespaceResourceScope;
use kube::runtime::WatchStreamExt as _;
use kube::runtime::watcher::{self, Event};
use kube::{Api, Resource};
use tracing::{Instrument as _, error, info, info_span};

use super::caches::Caches;
use super::context::{Context, Parts, Triggers};
use super::enqueue::{enqueue_all, on_cluster_event, on_namespace_event, on_related_event, on_stack_event};
use super::metrics::Queue;
use super::process::Process;
use super::reconcile::{ReconcileError, ended};
use super::related::{Changed, Related};
use super::release_cache::ReleaseCache;
use super::{cluster, definition, enqueue, git_delivery, leases, publisher, release, scrape, stack};
use crate::api::labels::{self, FIELD_MANAGER};
use crate::foreign::capi;
use crate::foreign::flux::FluxKind;
use crate::runtime::api_server::{ApiServer, Transport};
use crate::runtime::cache::{Cache, Cached, Change, Key};
use crate::runtime::clock::Clock;
use crate::runtime::events::Events;
use crate::runtime::guarded::Guarded;
use crate::runtime::health::Failure;
use crate::runtime::metrics::Metrics;
use crate::runtime::queue::{Next, QueueObserver, Requests, queue};
use crate::runtime::watches::{self, Feed};
use crate::source::artifact::{Download, FetchLimits};

/// The part of the readiness for the built-in stack repositories.
const REPOSITORIES: &str = "built-in stack repositories";
/// Time after which a process is ready without a complete repository: what it waits for may never come.
const READY_AFTER: Duration = Duration::from_mins(5);
/// Pause between two checks that the caches are complete.
const SYNC_PAUSE: Duration = Duration::from_millis(20);

/// The receiving ends of the queues.
struct WorkQueues {
    stacks: Requests<Key>,
    releases: Requests<Key>,
    clusters: Requests<Key>,
    commits: Requests<Key>,
}

impl WorkQueues {
    /// Drops all keys that arrive before this process leads.
    async fn drain(&mut self) {
        let drain = async |requests: &mut Requests<Key>| while requests.next().await.is_some() {};
        join4(
            drain(&mut self.stacks),
            drain(&mut self.releases),
            drain(&mut self.clusters),
            drain(&mut self.commits),
        )
        .await;
    }
}

/// Runs the controllers until the shutdown begins and running reconciles have finished.
pub(super) async fn run(process: Process) {
    let address = process.settings.source_controller_addr.as_deref();
    let download = match Download::new(address, FetchLimits::default()) {
        Ok(download) => download,
        Err(error) => return error!("releases cannot be read: {error}"),
    };
    let (context, mut queues, publishes, changes) = assemble(&process, ReleaseCache::new(download));
    let context = Arc::new(context);
    let scraped = Arc::downgrade(&context);
    process.metrics.read_objects(move || scrape::objects(&*scraped.upgrade()?));
    watch(&process, &context, changes);
    watch_repositories(&process, &context);
    process.readiness.started();
    let shutdown = process.shutdown.clone();
    let is_synced = tokio::select! {
        () = synced(&context) => true,
        () = shutdown.begun() => false,
        () = queues.drain() => false,
    };
    if is_synced {
        info!("the caches are complete");
        join(publish(&process, &context, publishes), lead(&process, &context, queues)).await;
    } else {
        process.shutdown.begun().await;
    }
}

/// Works on the queues as soon as this process leads.
async fn lead(process: &Process, context: &Context, mut queues: WorkQueues) {
    let shutdown = process.shutdown.clone();
    let ready = process.fence.leading();
    let is_leader = tokio::select! {
        leading = ready => leading.is_ok(),
        () = shutdown.begun() => false,
        // A new leader enqueues everything, so keys need not pile up before.
        () = queues.drain() => false,
    };
    if is_leader {
        work(process, context, queues).await;
    } else {
        // A lost Lease ends the process, and this task with it.
        process.shutdown.begun().await;
    }
}

fn assemble(
    process: &Process,
    release_cache: ReleaseCache,
) -> (Context, WorkQueues, Requests<Key>, UnboundedReceiver<Changed>) {
    let (stacks, stack_requests) = queue();
    let (releases, release_requests) = queue();
    let (clusters, cluster_requests) = queue();
    let (commits, commit_requests) = queue();
    let (publishes, publish_requests) = queue();
    let (related, changes) =
        Related::new(process.client.clone(), process.tasks.clone(), only_namespace(process));
    let transport: Arc<dyn Transport> = Arc::new(process.client.clone());
    let (fence, metrics) = (process.fence.clone(), process.metrics.clone());
    let context = Context::new(Parts {
        settings: process.settings.clone(),
        clock: Clock::system(),
        api: ApiServer::new(transport.clone(), fence, metrics.runtime.clone(), FIELD_MANAGER),
        events: Events::new(transport, FIELD_MANAGER),
        release_cache,
        related,
        builtin: process.builtin.clone(),
        metrics,
        triggers: Triggers { stacks, releases, clusters, commits, publishes },
    });
    let queues = WorkQueues {
        stacks: stack_requests,
        releases: release_requests,
        clusters: cluster_requests,
        commits: commit_requests,
    };
    (context, queues, publish_requests, changes)
}

/// Starts all watches. They run until the process ends.
fn watch(process: &Process, context: &Arc<Context>, mut changes: UnboundedReceiver<Changed>) {
    let ours = format!("{}={}", labels::MANAGED_BY, labels::FIELD_MANAGER);
    let events = well_formed(context, watches::events(api(process), None), |caches| &caches.releases);
    feed(process, context, &(), events, |caches| &caches.releases, enqueue::on_release_event);
    let events = well_formed(context, watches::events(api(process), None), |caches| &caches.addons);
    feed(process, context, &(), events, |caches| &caches.addons, enqueue::on_addon_event);
    let events = well_formed(context, watches::events(api(process), None), |caches| &caches.overrides);
    feed(process, context, &(), events, |caches| &caches.overrides, enqueue::on_override_event);
    for kind in FluxKind::ALL {
        // ClusterStacks may follow any GitRepository.
        let labels = (kind != FluxKind::GitRepository).then_some(ours.as_str());
        let api = watches::api_of(process.client.clone(), only_namespace(process).as_deref(), &kind);
        let events = watches::events(api, labels);
        feed(process, context, &kind, events, move |caches| caches.flux.of(kind), enqueue::on_flux_event);
    }
    // The label selector restricts only the ClusterStacks.
    let selector = process.settings.watch.label_selector.as_deref();
    let events = well_formed(context, watches::events(api(process), selector), |caches| &caches.stacks);
    feed(process, context, &(), events, |caches| &caches.stacks, on_stack_event);
    watch_clusters(process, context);
    let only = only_namespace(process).map(|namespace| format!("metadata.name={namespace}"));
    let config = watcher::Config { field_selector: only, ..watcher::Config::default() };
    let events = watcher::watcher(Api::all(process.client.clone()), config).default_backoff();
    feed(process, context, &(), events, |caches| &caches.namespaces, on_namespace_event);
    let reader = context.clone();
    process.tasks.spawn("Leases of Flux's controllers", async move { leases::watch(&reader).await });
    let reader = context.clone();
    process.tasks.spawn("the CRD of HelmRelease", async move { definition::watch(&reader).await });
    let context = context.clone();
    process.tasks.spawn("changes of objects that Clusters refer to", async move {
        while let Some((namespace, object)) = changes.next().await {
            on_related_event(&context, &namespace, &object);
        }
    });
}

/// Reads the events of a kind. An object that cannot be read stays as the cache has it.
fn well_formed<K, S>(
    context: &Arc<Context>,
    events: S,
    cache: fn(&Caches) -> &Cache<K>,
) -> impl Stream<Item = watcher::Result<Event<K>>> + use<K, S>
where
    K: Cached + Clone,
    S: Stream<Item = watcher::Result<Event<Guarded<K>>>>,
{
    let context = context.clone();
    watches::well_formed(events, move |key| Some(K::clone(&*cache(&context.caches).get(key)?)))
}

/// The only namespace to watch; `None` if the operator watches all namespaces.
fn only_namespace(process: &Process) -> Option<String> {
    (!process.settings.watch.all_namespaces).then(|| process.namespace.to_string())
}

/// Returns an API for the watched namespaces.
fn api<K>(process: &Process) -> Api<K>
where
    K: Resource<DynamicType = (), Scope = NamespaceResourceScope>,
{
    match only_namespace(process) {
        None => Api::all(process.client.clone()),
        Some(namespace) => Api::namespaced(process.client.clone(), &namespace),
    }
}

/// Names a watched kind in messages.
fn name<K: Resource>(kind: &K::DynamicType) -> String {
    format!("{} ({})", K::kind(kind), K::api_version(kind))
}

/// Starts the watch of one kind, which feeds a cache.
fn feed<K: Cached>(
    process: &Process,
    context: &Arc<Context>,
    kind: &K::DynamicType,
    events: impl Stream<Item = watcher::Result<Event<K>>> + Send + 'static,
    cache: impl Fn(&Caches) -> &Cache<K> + Send + 'static,
    on_change: fn(&Context, &Change<K>),
) {
    let (context, readiness, name) = (context.clone(), process.readiness.clone(), name::<K>(kind));
    readiness.waits_for(&watches::part(&name), "not listed yet");
    process.tasks.spawn(format!("watch of {name}"), async move {
        let feed = Feed { name, cache: cache(&context.caches), waits: Some(&readiness) };
        feed.run(events, |change| on_change(&context, &change)).await;
    });
}

/// Starts the watch of Clusters, in the version that the API server prefers.
fn watch_clusters(process: &Process, context: &Arc<Context>) {
    let (context, readiness) = (context.clone(), process.readiness.clone());
    let (client, namespace) = (process.client.clone(), only_namespace(process));
    let part = watches::part(&format!("Cluster ({})", capi::GROUP));
    readiness.waits_for(&part, "not listed yet");
    process.tasks.spawn("watch of Clusters", async move {
        let failed = |failure: &Failure| readiness.failed(&part, failure);
        let kind = watches::served(&client, capi::GROUP, "Cluster", failed).await;
        context.set_cluster_resource(kind.clone());
        let api = watches::api_of(client, namespace.as_deref(), &kind);
        let feed = Feed {
            name: format!("Cluster ({})", capi::GROUP),
            cache: &context.caches.clusters,
            waits: Some(&readiness),
        };
        let events = well_formed(&context, watches::events(api, None), |caches| &caches.clusters);
        feed.run(events, |change| on_cluster_event(&context, &change)).await;
    });
}

/// Waits until all caches are complete.
async fn synced(context: &Context) {
    let caches = &context.caches;
    let is_synced = || {
        caches.stacks.is_synced()
            && caches.releases.is_synced()
            && context.helm_controller.is_read()
            && caches.addons.is_synced()
            && caches.overrides.is_synced()
            && caches.clusters.is_synced()
            && caches.namespaces.is_synced()
            && FluxKind::ALL.into_iter().all(|kind| caches.flux.of(kind).is_synced())
    };
    while !is_synced() {
        tokio::time::sleep(SYNC_PAUSE).await;
    }
}

/// Processes the queues until the shutdown begins.
async fn work(process: &Process, context: &Context, queues: WorkQueues) {
    let WorkQueues { stacks, releases, clusters, commits } = queues;
    enqueue_all(context);
    join4(
        work_on(process, context, Queue::ClusterStack, stacks, stack::reconcile),
        work_on(process, context, Queue::ClusterStackRelease, releases, release::reconcile),
        work_on(process, context, Queue::Cluster, clusters, cluster::reconcile),
        work_on(process, context, Queue::Commit, commits, git_delivery::pass::reconcile),
    )
    .await;
}

/// Publishes releases until the shutdown begins. A process that does not lead writes to its own repositories alone.
async fn publish(process: &Process, context: &Context, publishes: Requests<Key>) {
    publisher::begin(context);
    work_on(process, context, Queue::Publish, publishes, publisher::reconcile).await;
}

/// Makes the process ready when it can answer for a built-in stack repository, as long as there are any.
fn watch_repositories(process: &Process, context: &Context) {
    let (readiness, mut waits) = (process.readiness.clone(), context.builtin.waits());
    process.tasks.spawn("readiness of the built-in stack repositories", async move {
        let report = async {
            loop {
                let why = waits.borrow_and_update().clone();
                match why {
                    Some(why) => readiness.waits_for(REPOSITORIES, &why),
                    None => readiness.has(REPOSITORIES),
                }
                if waits.changed().await.is_err() {
                    return;
                }
            }
        };
        let _ended = tokio::time::timeout(READY_AFTER, report).await;
        readiness.has(REPOSITORIES);
        std::future::pending::<()>().await;
    });
}

/// Processes one queue.
async fn work_on(
    process: &Process,
    context: &Context,
    queue: Queue,
    requests: Requests<Key>,
    reconcile: impl AsyncFn(&Context, &Key) -> Result<Next, ReconcileError>,
) {
    let trigger = context.triggers.of(queue).clone();
    let depth = DepthMetrics { queue, metrics: process.metrics.runtime.clone() };
    let reconcile = |key| timed(context, queue, key, &reconcile);
    let concurrent = process.settings.concurrent.get();
    crate::runtime::queue::run(requests, trigger, concurrent, process.shutdown.begun(), depth, reconcile)
        .await;
}

/// Runs one reconcile in its span, and measures it.
#[expect(clippy::disallowed_methods, reason = "the duration is a metric")]
async fn timed(
    context: &Context,
    queue: Queue,
    key: Key,
    reconcile: &impl AsyncFn(&Context, &Key) -> Result<Next, ReconcileError>,
) -> Next {
    let span = match queue {
        Queue::ClusterStack => info_span!("reconcile", stack = %key),
        Queue::ClusterStackRelease => info_span!("reconcile", release = %key),
        Queue::Cluster => info_span!("reconcile", cluster = %key),
        Queue::Commit => info_span!("commit", stack = %key),
        Queue::Publish => info_span!("publish", stack = %key),
    };
    let begun = Instant::now();
    async {
        let result = reconcile(context, &key).await;
        ended(queue, &key, result, begun.elapsed(), &context.metrics)
    }
    .instrument(span)
    .await
}

/// Reports the depth of a queue as a metric.
struct DepthMetrics {
    queue: Queue,
    metrics: Metrics,
}

impl QueueObserver for DepthMetrics {
    fn observe(&self, waiting: usize, running: usize) {
        self.metrics.queued(self.queue.as_str(), waiting, running);
    }
}
