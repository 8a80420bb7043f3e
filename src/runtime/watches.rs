//! Watches feed the caches.

use std::time::Duration;

use futures::{Stream, StreamExt, stream};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::core::{ApiResource, DynamicResourceScope};
use kube::discovery::{self, ApiGroup};
use kube::runtime::WatchStreamExt as _;
use kube::runtime::watcher::{self, Event, watcher};
use kube::{Api, Client, Resource};
use serde::de::DeserializeOwned;
use tracing::warn;

use super::cache::{Cache, Cached, Change};
use super::client::{explain, is_unanswered};
use super::guarded::{Guarded, Unreadable};
use super::health::{Failure, Readiness};
use crate::names::Key;

/// Pause between two discoveries of the version in which a kind is served.
const DISCOVERY_PAUSE: Duration = Duration::from_secs(5);

/// Feeds a cache from a watch.
pub struct Feed<'a, K> {
    /// Name of the kind for messages: `HelmRelease (helm.toolkit.fluxcd.io/v2)`.
    pub name: String,
    /// The cache.
    pub cache: &'a Cache<K>,
    /// The readiness that waits for the first list.
    pub waits: Option<&'a Readiness>,
}

impl<K: Cached> Feed<'_, K> {
    /// Feeds the cache forever, and calls `on_change` for each change.
    pub async fn run(
        self,
        events: impl Stream<Item = watcher::Result<Event<K>>>,
        on_change: impl Fn(Change<K>),
    ) {
        let late = self.cache.late().map(StreamExt::left_stream);
        let mut late = late.unwrap_or_else(|| stream::pending().right_stream());
        let mut events = std::pin::pin!(events);
        loop {
            let event = tokio::select! {
                event = events.next() => event,
                Some(change) = late.next() => {
                    on_change(change);
                    continue;
                }
            };
            let Some(event) = event else { break };
            match event {
                Ok(event) => {
                    let complete = matches!(event, Event::InitDone);
                    self.cache.take(event).into_iter().for_each(&on_change);
                    if let Some(readiness) = self.waits.filter(|_| complete) {
                        readiness.has(&part(&self.name));
                    }
                }
                Err(error) => self.failed(&error),
            }
        }
    }

    fn failed(&self, error: &watcher::Error) {
        let failure = Failure::of(error);
        if let Some(readiness) = self.waits.filter(|_| !self.cache.is_synced()) {
            readiness.failed(&part(&self.name), &failure);
        } else {
            let why = failure.to_string();
            warn!(watch = self.name, why, "cannot watch the API server");
        }
    }
}

/// Returns the name of a kind's cache in `/readyz`.
#[must_use]
pub fn part(name: &str) -> String {
    format!("cache of {name}")
}

/// Streams the watch events of all objects of an API, or of those with these labels. Retries after a failure, with
/// back-off.
pub fn events<K>(api: Api<K>, labels: Option<&str>) -> impl Stream<Item = watcher::Result<Event<K>>> + use<K>
where
    K: Resource + Clone + DeserializeOwned + std::fmt::Debug + Send + 'static,
{
    let config = watcher::Config { label_selector: labels.map(str::to_owned), ..watcher::Config::default() };
    watcher(api, config).default_backoff()
}

/// Reads the events of objects, and logs each object that cannot be parsed. It does not hide the others, and is never taken for
/// deleted: as long as it exists, `last_readable` returns the state that counts, which is the last one that could be read.
pub fn well_formed<K: Resource>(
    events: impl Stream<Item = watcher::Result<Event<Guarded<K>>>>,
    last_readable: impl Fn(&Key) -> Option<K>,
) -> impl Stream<Item = watcher::Result<Event<K>>> {
    let known = move |unreadable: Unreadable| {
        let ObjectMeta { namespace, name, .. } = unreadable.metadata;
        let key = Key::new(&namespace.unwrap_or_default(), &name.unwrap_or_default());
        warn!(%key, "an object cannot be read, so that its last readable state counts: {}", unreadable.error);
        last_readable(&key)
    };
    events.filter_map(move |event| {
        let event = match event {
            Err(error) => Some(Err(error)),
            Ok(Event::Init) => Some(Ok(Event::Init)),
            Ok(Event::InitDone) => Some(Ok(Event::InitDone)),
            // The last readable state stays.
            Ok(Event::Apply(Guarded(object))) => {
                object.map_err(&known).ok().map(|object| Ok(Event::Apply(object)))
            }
            Ok(Event::Delete(Guarded(object))) => {
                object.map_or_else(&known, Some).map(|object| Ok(Event::Delete(object)))
            }
            Ok(Event::InitApply(Guarded(object))) => {
                object.map_or_else(&known, Some).map(|object| Ok(Event::InitApply(object)))
            }
        };
        std::future::ready(event)
    })
}

/// Creates an API for a kind that is known only at run time, in all namespaces or in one.
#[must_use]
pub fn api_of<K>(client: Client, namespace: Option<&str>, kind: &K::DynamicType) -> Api<K>
where
    K: Resource<Scope = DynamicResourceScope>,
{
    match namespace {
        Some(namespace) => Api::namespaced_with(client, namespace, kind),
        None => Api::all_with(client, kind),
    }
}

impl Failure {
    fn of(error: &watcher::Error) -> Self {
        use watcher::Error as E;
        match error {
            E::InitialListFailed(kube::Error::Api(status)) if status.code == 404 => {
                Self::Answer(format!("{}: is its CRD installed?", status.message))
            }
            E::InitialListFailed(error) | E::WatchStartFailed(error) | E::WatchFailed(error) => {
                Self::of_request(error)
            }
            E::WatchError(status) => {
                Self::Answer(format!("{} ({} {})", status.message, status.code, status.reason))
            }
            E::NoResourceVersion => Self::Answer("a list has no resource version".to_owned()),
        }
    }

    fn of_request(error: &kube::Error) -> Self {
        if is_unanswered(error) { Self::NoAnswer(explain(error)) } else { Self::Answer(explain(error)) }
    }
}

/// Discovers the resource of a kind in the version that the API server prefers for its group; if that version does not have
/// the kind, in the most stable version that does, because infrastructure providers share a group but not its versions.
/// Retries until the kind is served, and reports each failure to `failed`.
pub async fn served(client: &Client, group: &str, kind: &str, failed: impl Fn(&Failure)) -> ApiResource {
    loop {
        let unknown = || format!("unknown kind {kind} in {group}: is its CRD installed?");
        let failure = match discovery::group(client, group).await {
            Ok(found) => match in_a_version(&found, kind) {
                Some(resource) => return resource,
                None => Failure::Answer(unknown()),
            },
            Err(kube::Error::Discovery(_)) => Failure::Answer(unknown()),
            Err(error) => Failure::of_request(&error),
        };
        failed(&failure);
        tokio::time::sleep(DISCOVERY_PAUSE).await;
    }
}

pub(crate) fn in_a_version(group: &ApiGroup, kind: &str) -> Option<ApiResource> {
    let stable = || group.resources_by_stability().into_iter().find(|(resource, _)| resource.kind == kind);
    group.recommended_kind(kind).or_else(stable).map(|(resource, _)| resource)
}

#[cfg(test)]
mod tests {
    use futures::FutureExt as _;
    use serde_json::{Value, json};

    use super::*;
    use crate::api::ClusterAddon;

    fn guarded(name: &str, version: u32, spec: &Value) -> Guarded<ClusterAddon> {
        let metadata =
            json!({"name": name, "namespace": "demo", "uid": name, "resourceVersion": version.to_string()});
        serde_json::from_value(json!({
            "apiVersion": "clusterstack.x-k8s.io/v1alpha1", "kind": "ClusterAddon", "metadata": metadata, "spec": spec,
        }))
        .unwrap()
    }

    #[test]
    fn malformed_object_hides_none_and_is_not_deleted() {
        let (good, bad) = (json!({"clusterRef": {"name": "one"}}), json!("nonsense"));
        let cache = Cache::<ClusterAddon>::default();
        let take = |events: Vec<Event<Guarded<ClusterAddon>>>| {
            let events = stream::iter(events.into_iter().map(Ok));
            let known = |key: &Key| Some(ClusterAddon::clone(&*cache.get(key)?));
            let changes = well_formed(events, known).map(|event| cache.take(event.unwrap()).len());
            changes.fold(0, |sum, count| std::future::ready(sum + count)).now_or_never().unwrap()
        };
        let names =
            || cache.all().iter().map(|addon| addon.metadata.name.clone().unwrap()).collect::<Vec<_>>();
        let list = |specs: [&Value; 2], version| {
            let [one, two] = specs;
            let objects = [guarded("one", version, one), guarded("two", version, two)];
            [Event::Init]
                .into_iter()
                .chain(objects.map(Event::InitApply))
                .chain([Event::InitDone])
                .collect::<Vec<_>>()
        };
        take(list([&bad, &good], 1));
        assert_eq!(names(), ["two"], "the list is complete without the malformed one");
        assert!(cache.is_synced());
        take(list([&good, &good], 2));
        assert_eq!(take(list([&bad, &good], 3)), 1, "only the other one changed");
        assert_eq!(take(vec![Event::Apply(guarded("one", 4, &bad))]), 0);
        assert_eq!(names(), ["one", "two"], "the last readable state stays");
        assert_eq!(take(vec![Event::Delete(guarded("one", 5, &bad))]), 1);
        assert_eq!(names(), ["two"]);
    }
}
