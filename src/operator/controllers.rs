//! Starts the watches, waits until the caches are complete and this process leads, and works on the queues.

use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::StreamExt as _;
use futures::channel::mpsc::UnboundedReceiver;
use futures::future::join5;
use k8s_openapi::api::core::v1::Namespace;
use kube::api::PartialObjectMeta;
use kube::core::{DeserializeGuard, NamespaceResourceScope};
use kube::runtime::WatchStreamExt as _;
use kube::runtime::watcher;
use kube::{Api, Resource};
use serde::de::DeserializeOwned;
use tracing::{Instrument as _, error, info, info_span};

use super::cache::{Cache, Cached, Change, Key};
use super::events::Events;
use super::library::Library;
use super::metrics::{Metrics, Queue};
use super::process::Process;
use super::queue::{Depth, Next, Requests, queue};
use super::reconcile::{ReconcileError, ended};
use super::related::{Changed, Related};
use super::watches::{self, Feed};
use super::world::{Triggers, World};
use super::{appliers, cluster, git_delivery, publisher, release, stack};
use crate::api::{ClusterStack, labels};
use crate::foreign::capi;
use crate::sink::cluster::ApiServer;
use crate::source::artifact::{Download, FetchLimits};

/// How often it is looked whether the caches are complete.
const SYNC_PAUSE: Duration = Duration::from_millis(20);

/// The receiving ends of the queues.
struct Inbox {
    stacks: Requests<Key>,
    releases: Requests<Key>,
    clusters: Requests<Key>,
    commits: Requests<Key>,
    publishes: Requests<Key>,
}

impl Inbox {
    /// Takes out whatever comes, until the process ends.
    async fn forget(&mut self) {
        let forget = async |requests: &mut Requests<Key>| while requests.next().await.is_some() {};
        join5(
            forget(&mut self.stacks),
            forget(&mut self.releases),
            forget(&mut self.clusters),
            forget(&mut self.commits),
            forget(&mut self.publishes),
        )
        .await;
    }
}

/// Runs the controllers until the shutdown has begun and what was under way then is finished.
pub(super) async fn run(process: Process) {
    let address = process.settings.source_controller_addr.as_deref();
    let download = match Download::new(address, FetchLimits::default()) {
        Ok(download) => download,
        Err(error) => return error!("releases cannot be read: {error}"),
    };
    let (world, mut inbox, changes) = assemble(&process, Library::new(download));
    let world = Arc::new(world);
    watch(&process, &world, changes);
    process.readiness.started();
    let shutdown = process.shutdown.clone();
    let ready = async {
        synced(&world).await;
        info!("the caches are complete");
        process.fence.leading().await
    };
    let is_leader = tokio::select! {
        leading = ready => leading.is_ok(),
        () = shutdown.begun() => false,
        // Who begins to lead looks at everything, so nothing piles up before.
        () = inbox.forget() => false,
    };
    if is_leader {
        work(&process, &world, inbox).await;
    } else {
        // A Lease that was lost ends the process, and this with it.
        process.shutdown.begun().await;
    }
}

fn assemble(process: &Process, library: Library) -> (World, Inbox, UnboundedReceiver<Changed>) {
    let (stacks, stack_requests) = queue();
    let (releases, release_requests) = queue();
    let (clusters, cluster_requests) = queue();
    let (commits, commit_requests) = queue();
    let (publishes, publish_requests) = queue();
    let (related, changes) = Related::new(process.client.clone(), only_namespace(process));
    let world = World::new(
        process.settings.clone(),
        ApiServer::new(process.client.clone(), process.fence.clone(), process.metrics.clone()),
        Events::new(process.client.clone()),
        library,
        related,
        process.metrics.clone(),
        Triggers { stacks, releases, clusters, commits, publishes },
    );
    let inbox = Inbox {
        stacks: stack_requests,
        releases: release_requests,
        clusters: cluster_requests,
        commits: commit_requests,
        publishes: publish_requests,
    };
    (world, inbox, changes)
}

/// Starts all watches. They go on until the process ends.
fn watch(process: &Process, world: &Arc<World>, mut changes: UnboundedReceiver<Changed>) {
    let ours = format!("{}={}", labels::MANAGED_BY, labels::FIELD_MANAGER);
    feed(process, world, None, |world| &world.caches.releases, World::release_changed);
    feed(process, world, None, |world| &world.caches.addons, World::addon_changed);
    feed(process, world, None, |world| &world.caches.git_repositories, World::repository_changed);
    feed(process, world, Some(&ours), |world| &world.caches.helm_charts, World::source_changed);
    feed(process, world, Some(&ours), |world| &world.caches.helm_releases, World::flux_changed);
    feed(process, world, Some(&ours), |world| &world.caches.kustomizations, World::flux_changed);
    watch_stacks(process, world);
    watch_clusters(process, world);
    watch_namespaces(process, world);
    let leases = world.clone();
    tokio::spawn(async move { appliers::watch(&leases).await });
    let world = world.clone();
    tokio::spawn(async move {
        while let Some((namespace, object)) = changes.next().await {
            world.related_changed(&namespace, &object);
        }
    });
}

/// The one namespace that the operator looks at, where it does not look at all.
fn only_namespace(process: &Process) -> Option<String> {
    (!process.settings.watch.all_namespaces).then(|| process.namespace.to_string())
}

/// An API over the namespaces that the operator looks at.
fn api<K>(process: &Process) -> Api<K>
where
    K: Resource<DynamicType = (), Scope = NamespaceResourceScope>,
{
    match only_namespace(process) {
        None => Api::all(process.client.clone()),
        Some(namespace) => Api::namespaced(process.client.clone(), &namespace),
    }
}

/// What is watched, for messages.
fn name<K: Resource>(kind: &K::DynamicType) -> String {
    format!("{} ({})", K::kind(kind), K::api_version(kind))
}

/// Starts the watch of one kind.
fn feed<K>(
    process: &Process,
    world: &Arc<World>,
    labels: Option<&str>,
    cache: fn(&World) -> &Cache<K>,
    on_change: fn(&World, &Change<K>),
) where
    K: Cached + Resource<DynamicType = (), Scope = NamespaceResourceScope> + DeserializeOwned + Clone,
    K: std::fmt::Debug,
{
    let events = watches::events(api::<K>(process), labels);
    let (world, readiness) = (world.clone(), process.readiness.clone());
    readiness.waits_for(&watches::part(&name::<K>(&())), "not listed yet");
    tokio::spawn(async move {
        let feed = Feed { name: name::<K>(&()), cache: cache(&world), waits: Some(&readiness) };
        feed.run(events, |change| on_change(&world, &change)).await;
    });
}

/// `ClusterStack`s are what users write, and what shards are made of.
fn watch_stacks(process: &Process, world: &Arc<World>) {
    let selector = process.settings.watch.label_selector.clone();
    let events = watches::events(api::<DeserializeGuard<ClusterStack>>(process), selector.as_deref());
    let (world, readiness) = (world.clone(), process.readiness.clone());
    readiness.waits_for(&watches::part(&name::<ClusterStack>(&())), "not listed yet");
    tokio::spawn(async move {
        let feed =
            Feed { name: name::<ClusterStack>(&()), cache: &world.caches.stacks, waits: Some(&readiness) };
        feed.run(watches::well_formed(events), |change| world.stack_changed(&change)).await;
    });
}

/// Clusters are read in the version that the API server prefers.
fn watch_clusters(process: &Process, world: &Arc<World>) {
    let (world, readiness) = (world.clone(), process.readiness.clone());
    let (client, namespace) = (process.client.clone(), only_namespace(process));
    let part = watches::part(&format!("Cluster ({})", capi::GROUP));
    readiness.waits_for(&part, "not listed yet");
    tokio::spawn(async move {
        let failed = |failure: &watches::Failure| failure.tell(&readiness, &part);
        let kind = watches::served(&client, capi::GROUP, "Cluster", failed).await;
        world.clusters_are(kind.clone());
        let api = watches::api_of(client, namespace.as_deref(), &kind);
        let feed = Feed {
            name: format!("Cluster ({})", capi::GROUP),
            cache: &world.caches.clusters,
            waits: Some(&readiness),
        };
        feed.run(watches::events(api, None), |change| world.cluster_changed(&change)).await;
    });
}

/// Of Namespaces it matters only whether they go.
fn watch_namespaces(process: &Process, world: &Arc<World>) {
    let api: Api<PartialObjectMeta<Namespace>> = Api::all(process.client.clone());
    let only = only_namespace(process).map(|namespace| format!("metadata.name={namespace}"));
    let config = watcher::Config { field_selector: only, ..watcher::Config::default() };
    let events = watcher::watcher(api, config).default_backoff();
    let (world, readiness) = (world.clone(), process.readiness.clone());
    readiness.waits_for(&watches::part(&name::<Namespace>(&())), "not listed yet");
    tokio::spawn(async move {
        let feed =
            Feed { name: name::<Namespace>(&()), cache: &world.caches.namespaces, waits: Some(&readiness) };
        feed.run(events, |change| world.namespace_changed(&change)).await;
    });
}

/// Waits until all caches are complete.
async fn synced(world: &World) {
    let caches = &world.caches;
    let is_synced = || {
        caches.stacks.is_synced()
            && caches.releases.is_synced()
            && caches.addons.is_synced()
            && caches.clusters.is_synced()
            && caches.namespaces.is_synced()
            && caches.git_repositories.is_synced()
            && caches.helm_charts.is_synced()
            && caches.helm_releases.is_synced()
            && caches.kustomizations.is_synced()
    };
    while !is_synced() {
        tokio::time::sleep(SYNC_PAUSE).await;
    }
}

/// Works on the queues until the shutdown has begun.
async fn work(process: &Process, world: &World, inbox: Inbox) {
    let Inbox { stacks, releases, clusters, commits, publishes } = inbox;
    world.everything_changed();
    join5(
        work_on(process, world, Queue::ClusterStack, stacks, stack::reconcile),
        work_on(process, world, Queue::ClusterStackRelease, releases, release::reconcile),
        work_on(process, world, Queue::Cluster, clusters, cluster::reconcile),
        work_on(process, world, Queue::Commit, commits, git_delivery::pass::reconcile),
        work_on(process, world, Queue::Publish, publishes, publisher::reconcile),
    )
    .await;
}

/// Works on one queue.
async fn work_on(
    process: &Process,
    world: &World,
    queue: Queue,
    requests: Requests<Key>,
    reconcile: impl AsyncFn(&World, &Key) -> Result<Next, ReconcileError>,
) {
    let trigger = world.triggers.of(queue).clone();
    let counted = Counted { queue, metrics: process.metrics.clone() };
    let reconcile = |key| timed(world, queue, key, &reconcile);
    let concurrent = process.settings.concurrent.get();
    super::queue::run(requests, trigger, concurrent, process.shutdown.begun(), counted, reconcile).await;
}

/// One reconcile in its span, measured.
async fn timed(
    world: &World,
    queue: Queue,
    key: Key,
    reconcile: &impl AsyncFn(&World, &Key) -> Result<Next, ReconcileError>,
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
        let result = reconcile(world, &key).await;
        ended(queue, &key, result, begun.elapsed(), &world.metrics)
    }
    .instrument(span)
    .await
}

/// Counts what a queue works on.
struct Counted {
    queue: Queue,
    metrics: Metrics,
}

impl Depth for Counted {
    fn is(&self, waiting: usize, running: usize) {
        self.metrics.queued(self.queue, waiting, running);
    }
}
