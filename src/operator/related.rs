//! The objects that Clusters refer to: one watch for each kind in use.
//!
//! Which kinds there are is known only from the Clusters. A kind is watched from the moment on that a Cluster of ours
//! refers to it, metadata only until a values template reads more of its objects.

use std::collections::BTreeMap;
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

use super::cache::{Cache, Key};
use super::objects::RelatedObject;
use super::watches;
use crate::foreign::capi::ObjectReference;

/// How long a kind may take to be listed. After that its objects count as not there: its CRD may be missing, and those who
/// wait for an object say so, by name.
const PATIENCE: Duration = Duration::from_secs(15);

/// How many kinds are watched. Whoever may write Clusters may name any kind, and each costs a watch.
const MOST: usize = 64;

/// How much of a kind's objects is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Depth {
    /// Their metadata.
    Metadata,
    /// All of them.
    Whole,
}

/// An object that changed: its namespace, and how Clusters refer to it.
pub type Changed = (String, ObjectReference);

/// The objects of a kind are not known yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotListed;

/// The watched kinds.
pub struct Related {
    client: Client,
    namespace: Option<String>,
    changed: UnboundedSender<Changed>,
    kinds: Mutex<BTreeMap<GroupKind, Watched>>,
}

/// A kind by its group.
type GroupKind = (String, String);

struct Watched {
    depth: Depth,
    objects: Arc<Cache<RelatedObject>>,
    since: Instant,
    task: AbortHandle,
}

impl Related {
    /// No kind yet, and where every object that appears, changes or goes is told. Only objects of `namespace` are looked
    /// at where there is one.
    #[must_use]
    pub fn new(client: Client, namespace: Option<String>) -> (Self, UnboundedReceiver<Changed>) {
        let (sender, changes) = unbounded();
        (Self { client, namespace, changed: sender, kinds: Mutex::default() }, changes)
    }

    /// The object that a Cluster of `namespace` refers to. `Err` while its kind was not listed yet at this depth: then it
    /// is told as changed when it was, and whether it exists is not known before. What is of too many kinds counts as not
    /// there.
    pub fn get(
        &self,
        namespace: &str,
        object: &ObjectReference,
        depth: Depth,
    ) -> Result<Option<Arc<RelatedObject>>, NotListed> {
        let Some((objects, since)) = self.watch(&object.group, &object.kind, depth) else {
            let ObjectReference { group, kind, name } = object;
            warn!(namespace, name, group, kind, "not looked at: Clusters refer to more than {MOST} kinds");
            return Ok(None);
        };
        if objects.is_synced() || since.elapsed() > PATIENCE {
            Ok(objects.get(&Key::new(namespace, &object.name)))
        } else {
            Err(NotListed)
        }
    }

    /// The cache of a kind, whose watch is started where there is none that goes as deep, and since when it is watched;
    /// `None` where there are too many.
    fn watch(&self, group: &str, kind: &str, depth: Depth) -> Option<(Arc<Cache<RelatedObject>>, Instant)> {
        let group_kind = (group.to_owned(), kind.to_owned());
        let mut kinds = self.lock();
        match kinds.get(&group_kind) {
            Some(watched) if watched.depth >= depth => return Some((watched.objects.clone(), watched.since)),
            None if kinds.len() == MOST => return None,
            _ => {}
        }
        let objects = Arc::new(Cache::default());
        let watching = self.watching(group_kind.clone(), depth, objects.clone());
        let task = tokio::spawn(watching).abort_handle();
        let since = Instant::now();
        let watched = Watched { depth, objects: objects.clone(), since, task };
        if let Some(shallow) = kinds.insert(group_kind, watched) {
            shallow.task.abort();
        }
        Some((objects, since))
    }

    /// Keeps the cache of a kind for ever.
    fn watching(
        &self,
        kind: GroupKind,
        depth: Depth,
        objects: Arc<Cache<RelatedObject>>,
    ) -> impl Future<Output = ()> + Send + use<> {
        watch(self.client.clone(), self.namespace.clone(), kind, depth, objects, self.changed.clone())
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<GroupKind, Watched>> {
        self.kinds.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn watch(
    client: Client,
    namespace: Option<String>,
    (group, kind): GroupKind,
    depth: Depth,
    objects: Arc<Cache<RelatedObject>>,
    changed: UnboundedSender<Changed>,
) {
    let resource = watches::served(&client, &group, &kind, |why| {
        warn!(group, kind, why, "objects that Clusters refer to cannot be read");
    })
    .await;
    let tell = |object: &RelatedObject| {
        let reference = ObjectReference { group: group.clone(), kind: kind.clone(), name: object.name_any() };
        // Without a receiver the process is about to end.
        _ = changed.unbounded_send((object.namespace().unwrap_or_default(), reference));
    };
    let feed = watches::Feed {
        name: format!("{kind} ({group}/{})", resource.version),
        cache: &objects,
        waits: None,
    };
    let on_change = |change: super::cache::Change<RelatedObject>| {
        if let Some(object) = change.now.or(change.before) {
            tell(&object);
        }
    };
    match depth {
        Depth::Whole => {
            let api: Api<RelatedObject> = watches::api_of(client, namespace.as_deref(), &resource);
            feed.run(watches::events(api, None), on_change).await;
        }
        Depth::Metadata => {
            let api: Api<PartialObjectMeta<DynamicObject>> =
                watches::api_of(client, namespace.as_deref(), &resource);
            feed.run(whole(watches::events(api, None), resource), on_change).await;
        }
    }
}

/// The objects as if nothing else were in them: the API server gives them another kind.
fn whole(
    events: impl Stream<Item = watcher::Result<Event<PartialObjectMeta<DynamicObject>>>>,
    resource: ApiResource,
) -> impl Stream<Item = watcher::Result<Event<RelatedObject>>> {
    events.map(move |event| {
        let object =
            |partial: PartialObjectMeta<DynamicObject>| RelatedObject::bare(partial.metadata, &resource);
        Ok(match event? {
            Event::Apply(partial) => Event::Apply(object(partial)),
            Event::Delete(partial) => Event::Delete(object(partial)),
            Event::InitApply(partial) => Event::InitApply(object(partial)),
            Event::Init => Event::Init,
            Event::InitDone => Event::InitDone,
        })
    })
}

#[cfg(test)]
mod tests {
    use kube::Config;

    use super::*;

    #[tokio::test]
    async fn of_too_many_kinds_nothing_is_watched() {
        let client = Client::try_from(Config::new("http://127.0.0.1:1".parse().unwrap())).unwrap();
        let (related, _changes) = Related::new(client, None);
        let get = |number: usize, depth| {
            let kind = format!("Kind{number}");
            let object = ObjectReference { group: "example.org".to_owned(), kind, name: "a".to_owned() };
            related.get("n", &object, depth)
        };
        assert!((0..MOST).all(|number| get(number, Depth::Metadata) == Err(NotListed)));
        assert_eq!(get(MOST, Depth::Metadata), Ok(None));
        assert_eq!(get(0, Depth::Whole), Err(NotListed), "one that is known may be read deeper");
    }
}
