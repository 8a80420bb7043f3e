//! The objects that Clusters refer to: one watch for each kind in use.
//!
//! The kinds in use are only known from the objects that refer to them. A kind is watched while a Cluster or the
//! `providerRef` of a `ClusterStack` or release refers to it, and only as much of its objects is kept as a reconcile reads.
//!
//! Users who may write Clusters may name any kind, and each kind costs a watch. Therefore the number of all kinds is
//! limited, as is the number of kinds that only a single namespace refers to. A new kind may replace one that the API
//! server does not know.

pub(crate) mod contract;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use futures::channel::mpsc::{UnboundedReceiver, UnboundedSender, unbounded};
use futures::{Stream, StreamExt as _};
use kube::api::PartialObjectMeta;
use kube::core::{ApiResource, DynamicObject};
use kube::runtime::watcher::{self, Event};
use kube::{Api, Client, ResourceExt as _};
use tokio::task::AbortHandle;
use tracing::warn;

use super::objects::RelatedObject;
use crate::foreign::capi::ObjectReference;
use crate::runtime::cache::{Cache, Key};
use crate::runtime::client::explain;
use crate::runtime::tasks::Tasks;
use crate::runtime::watches;

/// Timeout for listing a kind. After that its objects count as missing: its CRD may be missing, and the reconciles that
/// wait for an object report it by name.
const LIST_TIMEOUT: Duration = Duration::from_secs(15);

/// Maximum number of kinds that the API server knows, and of kinds that it does not know.
const MAX_KINDS: usize = 64;
/// Maximum number of kinds that only one namespace refers to.
const MAX_KINDS_OF_NAMESPACE: usize = 8;
/// Interval between two discovery requests for a kind that the API server does not know.
const DISCOVERY_PAUSE: Duration = Duration::from_secs(5);

/// The part of a kind's objects that is watched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Depth {
    /// Only their metadata.
    Metadata,
    /// Their metadata, `spec.version` and `status.version`: those of control planes.
    Versions,
    /// Whole objects.
    Whole,
}

/// A changed object: its namespace, and the reference that Clusters use.
pub type Changed = (String, ObjectReference);

/// An error for objects of a kind that is not listed yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotListed;

/// The watched kinds.
pub struct Related {
    client: Client,
    tasks: Tasks,
    namespace: Option<String>,
    changed: UnboundedSender<Changed>,
    kinds: Mutex<BTreeMap<GroupKind, Watched>>,
}

/// The group and the kind.
type GroupKind = (String, String);

struct Watched {
    depth: Depth,
    objects: Arc<Cache<RelatedObject>>,
    since: Instant,
    /// The watch; `None` if another one feeds the cache.
    task: Option<AbortHandle>,
    /// The namespaces with Clusters that refer to it.
    namespaces: BTreeSet<String>,
    /// Whether the API server knows it.
    is_known: Arc<AtomicBool>,
}

impl Watched {
    fn is_known(&self) -> bool {
        self.is_known.load(Ordering::Relaxed)
    }

    fn abort(&self) {
        if let Some(task) = &self.task {
            task.abort();
        }
    }
}

impl Related {
    /// Creates the state without any kinds, and a receiver of all changed and deleted objects. With a `namespace`, only its
    /// objects are watched.
    #[must_use]
    pub fn new(
        client: Client,
        tasks: Tasks,
        namespace: Option<String>,
    ) -> (Self, UnboundedReceiver<Changed>) {
        let (sender, changes) = unbounded();
        (Self { client, tasks, namespace, changed: sender, kinds: Mutex::default() }, changes)
    }

    /// Returns the object that a Cluster of `namespace` refers to. `Err` while its kind is not listed at this depth;
    /// whether the object exists is unknown until then, and the listing reports it as changed. An object of a kind beyond
    /// the limits counts as missing.
    pub fn get(
        &self,
        namespace: &str,
        object: &ObjectReference,
        depth: Depth,
    ) -> Result<Option<Arc<RelatedObject>>, NotListed> {
        let Some((objects, since)) = self.watch(namespace, &object.group, &object.kind, depth) else {
            let ObjectReference { group, kind, name } = object;
            warn!(
                namespace,
                name,
                group,
                kind,
                "not read: Clusters refer to more than {MAX_KINDS} kinds, or those of the namespace alone to more than \
                 {MAX_KINDS_OF_NAMESPACE}"
            );
            return Ok(None);
        };
        if objects.is_synced() || since.elapsed() > LIST_TIMEOUT {
            Ok(objects.get(&Key::new(namespace, &object.name)))
        } else {
            Err(NotListed)
        }
    }

    /// Returns the cache of a kind and the start of its watch, which is started unless one of this depth is running; `None`
    /// if the limits are reached.
    #[expect(clippy::disallowed_methods, reason = "a watch starts")]
    fn watch(
        &self,
        namespace: &str,
        group: &str,
        kind: &str,
        depth: Depth,
    ) -> Option<(Arc<Cache<RelatedObject>>, Instant)> {
        let group_kind = (group.to_owned(), kind.to_owned());
        let mut kinds = self.lock();
        let mut namespaces = BTreeSet::new();
        if let Some(watched) = kinds.get_mut(&group_kind) {
            if !watched.namespaces.contains(namespace) {
                watched.namespaces.insert(namespace.to_owned());
            }
            if watched.depth >= depth {
                return Some((watched.objects.clone(), watched.since));
            }
            namespaces.clone_from(&watched.namespaces);
        } else if has_room(&mut kinds, namespace) {
            namespaces.insert(namespace.to_owned());
        } else {
            return None;
        }
        let (objects, is_known) = (Arc::new(Cache::default()), Arc::new(AtomicBool::default()));
        let watching = self.watching(group_kind.clone(), depth, objects.clone(), is_known.clone());
        let task = Some(self.tasks.spawn(format!("watch of {kind} ({group})"), watching));
        let since = Instant::now();
        let watched = Watched { depth, objects: objects.clone(), since, task, namespaces, is_known };
        if let Some(shallow) = kinds.insert(group_kind, watched) {
            shallow.abort();
        }
        Some((objects, since))
    }

    /// Returns the cache of a kind that the caller feeds, at this depth: no watch is started, and the kind stays.
    #[must_use]
    #[expect(clippy::disallowed_methods, reason = "a watch starts")]
    pub fn feed(&self, group: &str, kind: &str, depth: Depth) -> Arc<Cache<RelatedObject>> {
        let objects = Arc::new(Cache::default());
        let (is_known, since) = (Arc::new(AtomicBool::new(true)), Instant::now());
        let (task, namespaces) = (None, BTreeSet::new());
        let watched = Watched { depth, objects: objects.clone(), since, task, namespaces, is_known };
        self.lock().insert((group.to_owned(), kind.to_owned()), watched);
        objects
    }

    /// Stops watching a kind that no object refers to.
    pub fn release(&self, group: &str, kind: &str) {
        let (mut kinds, group_kind) = (self.lock(), (group.to_owned(), kind.to_owned()));
        if kinds.get(&group_kind).is_some_and(|watched| watched.task.is_some())
            && let Some(watched) = kinds.remove(&group_kind)
        {
            watched.abort();
        }
    }

    /// Updates the cache of a kind forever.
    fn watching(
        &self,
        kind: GroupKind,
        depth: Depth,
        objects: Arc<Cache<RelatedObject>>,
        is_known: Arc<AtomicBool>,
    ) -> impl Future<Output = ()> + Send + use<> {
        let (client, namespace, changed) =
            (self.client.clone(), self.namespace.clone(), self.changed.clone());
        async move {
            let resource = readable(&client, &kind).await;
            is_known.store(true, Ordering::Relaxed);
            watch(client, namespace, kind, resource, depth, objects, changed).await;
        }
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<GroupKind, Watched>> {
        self.kinds.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether one more kind may be watched for a namespace. If too many kinds are unknown to the API server, the one watched
/// longest is removed.
fn has_room(kinds: &mut BTreeMap<GroupKind, Watched>, namespace: &str) -> bool {
    let is_own = |watched: &&Watched| watched.namespaces.iter().all(|only| only == namespace);
    let known = kinds.values().filter(|watched| watched.is_known()).count();
    if kinds.values().filter(is_own).count() >= MAX_KINDS_OF_NAMESPACE || known >= MAX_KINDS {
        return false;
    }
    if kinds.len().saturating_sub(known) >= MAX_KINDS {
        let unknown = kinds.iter().filter(|(_, watched)| !watched.is_known());
        let oldest = unknown.min_by_key(|(_, watched)| watched.since).map(|(kind, _)| kind.clone());
        if let Some(watched) = oldest.and_then(|kind| kinds.remove(&kind)) {
            watched.abort();
        }
    }
    true
}

/// Discovers the resource of a kind, retrying until the API server knows it.
async fn readable(client: &Client, (group, kind): &GroupKind) -> ApiResource {
    loop {
        let why = match contract::readable(client, group, kind).await {
            Ok(Some(found)) => {
                if let Some(note) = found.note {
                    warn!(group, kind, "{note}");
                }
                return found.resource;
            }
            Ok(None) => format!("unknown kind {kind} in {group}"),
            Err(error) => explain(&error),
        };
        warn!(group, kind, why, "objects that Clusters refer to cannot be read");
        tokio::time::sleep(DISCOVERY_PAUSE).await;
    }
}

async fn watch(
    client: Client,
    namespace: Option<String>,
    (group, kind): GroupKind,
    resource: ApiResource,
    depth: Depth,
    objects: Arc<Cache<RelatedObject>>,
    changed: UnboundedSender<Changed>,
) {
    let report = |object: &RelatedObject| {
        let reference = ObjectReference { group: group.clone(), kind: kind.clone(), name: object.name_any() };
        // If there is no receiver, the process is ending.
        _ = changed.unbounded_send((object.namespace().unwrap_or_default(), reference));
    };
    let feed = watches::Feed {
        name: format!("{kind} ({group}/{})", resource.version),
        cache: &objects,
        waits: None,
    };
    let on_change = |change: crate::runtime::cache::Change<RelatedObject>| {
        if let Some(object) = change.now.or(change.before) {
            report(&object);
        }
    };
    match depth {
        Depth::Whole => {
            let api: Api<RelatedObject> = watches::api_of(client, namespace.as_deref(), &resource);
            feed.run(watches::events(api, None), on_change).await;
        }
        Depth::Versions => {
            let api: Api<RelatedObject> = watches::api_of(client, namespace.as_deref(), &resource);
            feed.run(converted(watches::events(api, None), RelatedObject::versions), on_change).await;
        }
        Depth::Metadata => {
            let api: Api<PartialObjectMeta<DynamicObject>> =
                watches::api_of(client, namespace.as_deref(), &resource);
            // Partial metadata has a kind of its own.
            let bare = move |partial: PartialObjectMeta<DynamicObject>| {
                RelatedObject::bare(partial.metadata, &resource)
            };
            feed.run(converted(watches::events(api, None), bare), on_change).await;
        }
    }
}

/// Converts the objects of events.
fn converted<A, B>(
    events: impl Stream<Item = watcher::Result<Event<A>>>,
    convert: impl Fn(A) -> B,
) -> impl Stream<Item = watcher::Result<Event<B>>> {
    events.map(move |event| {
        Ok(match event? {
            Event::Apply(object) => Event::Apply(convert(object)),
            Event::Delete(object) => Event::Delete(convert(object)),
            Event::InitApply(object) => Event::InitApply(convert(object)),
            Event::Init => Event::Init,
            Event::InitDone => Event::InitDone,
        })
    })
}

#[cfg(test)]
mod tests {
    use kube::Config;

    use super::*;

    /// Returns an empty state with an API server that does not answer.
    fn related() -> Related {
        let client = Client::try_from(Config::new("http://127.0.0.1:1".parse().unwrap())).unwrap();
        Related::new(client, Tasks::new().0, None).0
    }

    fn object(number: usize) -> ObjectReference {
        let kind = format!("Kind{number}");
        ObjectReference { group: "example.org".to_owned(), kind, name: "a".to_owned() }
    }

    /// Watches as many kinds as possible, each namespace up to its limit.
    fn fill(related: &Related) {
        let is_watched = |number: usize| {
            related.get(&(number / MAX_KINDS_OF_NAMESPACE).to_string(), &object(number), Depth::Metadata)
        };
        assert!((0..MAX_KINDS).all(|number| is_watched(number) == Err(NotListed)));
    }

    #[tokio::test]
    async fn namespace_over_kind_limit_affects_no_other() {
        let related = related();
        let get = |namespace, number| related.get(namespace, &object(number), Depth::Metadata);
        assert!((0..MAX_KINDS_OF_NAMESPACE).all(|number| get("a", number) == Err(NotListed)));
        assert_eq!(get("a", MAX_KINDS_OF_NAMESPACE), Ok(None));
        assert_eq!(get("b", MAX_KINDS_OF_NAMESPACE), Err(NotListed), "another namespace has its own share");
        assert_eq!(get("a", MAX_KINDS_OF_NAMESPACE), Err(NotListed), "what two refer to counts for neither");
        let whole = related.get("a", &object(0), Depth::Whole);
        assert_eq!(whole, Err(NotListed), "a kind that is watched may be read deeper");
    }

    #[tokio::test]
    async fn kind_without_references_frees_its_place() {
        let related = related();
        fill(&related);
        related.lock().values().for_each(|watched| watched.is_known.store(true, Ordering::Relaxed));
        assert_eq!(related.get("new", &object(MAX_KINDS), Depth::Metadata), Ok(None), "too many");
        related.release("example.org", "Kind0");
        assert_eq!(related.get("new", &object(MAX_KINDS), Depth::Metadata), Err(NotListed));
    }

    #[tokio::test]
    async fn unknown_kind_gives_way_to_a_new_one() {
        let related = related();
        fill(&related);
        assert_eq!(related.get("new", &object(MAX_KINDS), Depth::Metadata), Err(NotListed));
        let kinds = related.lock();
        assert_eq!(kinds.len(), MAX_KINDS);
        assert!(!kinds.contains_key(&("example.org".to_owned(), "Kind0".to_owned())), "the oldest");
    }
}
