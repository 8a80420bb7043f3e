use std::sync::atomic::{AtomicUsize, Ordering};

use axum::http::StatusCode;
use tokio::sync::oneshot;

use super::*;
use crate::error::{Class, Classify as _};
use crate::http::TransportError;
use crate::inputs::line::Line;
use crate::release::tests::builder::stack_repository;
use crate::source::artifact::tests::server::Server;
use crate::source::artifact::{ArtifactError, FetchLimits};

const V1: &str = "docker-demo-1-34-v1";
const V2: &str = "docker-demo-1-34-v2";
const V10: &str = "docker-demo-1-34-v10";
const ALPHA: &str = "docker-demo-1-34-v0-alpha-1";

fn cache() -> ReleaseCache {
    ReleaseCache::new(Download::new(None, FetchLimits::default()).unwrap())
}

fn name(name: &str) -> ReleaseName {
    name.parse().unwrap()
}

/// Returns the key of a release's line in the catalog of the repository with that name.
fn key(repository: &str, release: &str) -> CatalogKey {
    let line = Line::of(&name(release));
    let selection = ReleaseSelection { path: "releases".to_owned(), line, is_builtin: false };
    CatalogKey { repository: Key::new("stacks", repository), selection }
}

fn names(catalog: &CatalogRead) -> Vec<String> {
    catalog.releases.keys().map(ToString::to_string).collect()
}

fn digest(catalog: &CatalogRead, release: &str) -> Digest {
    catalog.catalog()[&name(release)].digest
}

#[tokio::test]
async fn catalog_is_fetched_once() {
    let body = stack_repository(&[V1, V2, V10, ALPHA]);
    let server = Server::with(&body).await;
    let (cache, artifact) = (cache(), server.artifact(&body));
    assert!(cache.known_catalog(&key("a", V1)).is_none());
    let (one, copy) = (key("a", V1), key("b", V1));
    let alpha = key("a", ALPHA);
    let (first, second, third) = tokio::join!(
        cache.catalog(&one, &artifact),
        cache.catalog(&copy, &artifact),
        cache.catalog(&alpha, &artifact),
    );
    let (first, second, third) = (first.unwrap(), second.unwrap(), third.unwrap());
    assert_eq!(names(&first), [V1, V2, V10]);
    assert!(Arc::ptr_eq(&first, &second), "two sources of one content share the catalog");
    assert_eq!(names(&third), [ALPHA]);
    assert_eq!(server.asked(), 1, "of one artifact, whatever it is read for at the same time");
    let again = cache.catalog(&one, &artifact).await.unwrap();
    assert!(Arc::ptr_eq(&first, &again));
    assert!(Arc::ptr_eq(&first, &cache.known_catalog(&copy).unwrap()));
    assert_eq!(server.asked(), 1);
}

#[tokio::test]
async fn same_content_at_other_commit_has_that_commit() {
    let body = stack_repository(&[V1]);
    let server = Server::with(&body).await;
    let (cache, artifact) = (cache(), server.artifact(&body));
    cache.catalog(&key("a", V1), &artifact).await.unwrap();
    let revision: Revision = "f".repeat(40).parse().unwrap();
    let later = ArtifactRef { revision: revision.clone(), ..artifact };
    let read = cache.catalog(&key("a", V1), &later).await.unwrap();
    assert_eq!((&read.revision, &read.catalog()[&name(V1)].revision), (&revision, &revision));
}

#[tokio::test]
async fn failed_fetch_keeps_last_catalog_and_retries() {
    let (old, new) = (stack_repository(&[V1]), stack_repository(&[V1, V2]));
    let server = Server::with(&old).await;
    let (cache, key) = (cache(), key("a", V1));
    let good = cache.catalog(&key, &server.artifact(&old)).await.unwrap();
    server.answer(StatusCode::NOT_FOUND, b"");
    for _ in 0..2 {
        let error = cache.catalog(&key, &server.artifact(&new)).await.unwrap_err();
        assert_eq!((error.class(), error.reason()), (Class::Transient, "ArtifactUnavailable"));
        assert!(Arc::ptr_eq(&good, &cache.known_catalog(&key).unwrap()));
    }
    assert_eq!(server.asked(), 3);
    server.answer(StatusCode::OK, &new);
    let newer = cache.catalog(&key, &server.artifact(&new)).await.unwrap();
    assert_eq!(names(&newer), [V1, V2]);
    assert!(Arc::ptr_eq(&newer, &cache.known_catalog(&key).unwrap()));
}

#[tokio::test]
async fn invalid_artifact_keeps_last_catalog_without_retry() {
    let (old, broken) = (stack_repository(&[V1]), b"no archive at all");
    let server = Server::with(&old).await;
    let (cache, key) = (cache(), key("a", V1));
    let good = cache.catalog(&key, &server.artifact(&old)).await.unwrap();
    server.answer(StatusCode::OK, broken);
    for _ in 0..2 {
        let error = cache.catalog(&key, &server.artifact(broken)).await.unwrap_err();
        assert_eq!((error.class(), error.reason()), (Class::Terminal, "InvalidArchive"));
        assert!(Arc::ptr_eq(&good, &cache.known_catalog(&key).unwrap()));
    }
    assert_eq!(server.asked(), 2);
}

#[tokio::test]
async fn concurrent_waiters_get_the_same_error() {
    let server = Server::with(b"other").await;
    let (cache, artifact) = (cache(), server.artifact(b"right"));
    let (one, two) = (key("a", V1), key("b", V1));
    let (first, second) = tokio::join!(cache.catalog(&one, &artifact), cache.catalog(&two, &artifact));
    for error in [first.unwrap_err(), second.unwrap_err()] {
        assert!(
            matches!(&error, ReleaseCacheError::Artifact(error) if matches!(**error, ArtifactError::Transport(TransportError::Digest { .. })))
        );
    }
    assert_eq!(server.asked(), 1);
}

#[tokio::test]
async fn catalog_fills_the_cache_with_its_releases() {
    let body = stack_repository(&[V1, V2]);
    let server = Server::with(&body).await;
    let (cache, artifact) = (cache(), server.artifact(&body));
    let catalog = cache.catalog(&key("a", V1), &artifact).await.unwrap();
    let digest = digest(&catalog, V2);
    let release = cache.release(&name(V2), digest).unwrap();
    assert_eq!((release.name.to_string().as_str(), release.digest), (V2, digest));
    assert!(cache.release(&name(V1), digest).is_none(), "of another content");
    server.answer(StatusCode::NOT_FOUND, b"");
    let pinned = cache.pinned_release(&artifact, "releases", &name(V2), digest).await.unwrap();
    assert!(Arc::ptr_eq(&release, &pinned), "what is known is not fetched");
    assert_eq!(server.asked(), 1);
}

#[tokio::test]
async fn pinned_release_is_fetched_once() {
    let body = stack_repository(&[V1, V10]);
    let server = Server::with(&body).await;
    let artifact = server.artifact(&body);
    let digest = digest(&cache().catalog(&key("a", V1), &artifact).await.unwrap(), V1);
    let (cache, name) = (cache(), name(V1));
    let (first, second) = tokio::join!(
        cache.pinned_release(&artifact, "releases", &name, digest),
        cache.pinned_release(&artifact, "releases", &name, digest),
    );
    let first = first.unwrap();
    assert!(Arc::ptr_eq(&first, &second.unwrap()));
    assert!(Arc::ptr_eq(&first, &cache.release(&name, digest).unwrap()));
    assert_eq!(server.asked(), 2, "once for each cache");
}

#[tokio::test]
async fn missing_or_different_pinned_release_is_refused() {
    let body = stack_repository(&[V1]);
    let server = Server::with(&body).await;
    let (cache, artifact) = (cache(), server.artifact(&body));
    let expected = Digest::of_bytes(b"what it had");
    let error = cache.pinned_release(&artifact, "releases", &name(V1), expected).await.unwrap_err();
    assert!(
        matches!(&error, ReleaseCacheError::ReleaseMutated { expected: e, .. } if *e == expected),
        "{error}"
    );
    assert_eq!((error.class(), error.reason()), (Class::Terminal, "ReleaseMutated"));
    let error = cache.pinned_release(&artifact, "elsewhere", &name(V1), expected).await.unwrap_err();
    assert_eq!(error.reason(), "ReleaseNotFound");
    let message = format!("the artifact has no release {V1} below \"elsewhere\"");
    assert!(error.to_string().starts_with(&message), "{error}");
}

#[tokio::test]
async fn cancelled_waiter_does_not_stop_the_fetch() {
    let flights = SingleFlight::<u8, u8>::default();
    let (answer, question) = oneshot::channel();
    let work = async move { question.await.unwrap() };
    let waiting = flights.join(1, work);
    assert!(futures::poll!(Box::pin(waiting)).is_pending(), "and dropped");
    let started = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&started);
    let second = flights.join(1, async move {
        counted.fetch_add(1, Ordering::SeqCst);
        0
    });
    let (second, ()) = tokio::join!(second, async { answer.send(7).unwrap() });
    assert_eq!((second, started.load(Ordering::SeqCst)), (Some(7), 0));
    assert_eq!(flights.join(1, async { 8 }).await, Some(8), "what has ended begins anew");
}

#[tokio::test]
async fn panicking_fetch_affects_no_other() {
    let flights = SingleFlight::<u8, u8>::default();
    assert_eq!(flights.join(1, async { panic!("a defect") }).await, None);
    assert_eq!(flights.join(1, async { 8 }).await, Some(8));
}

#[test]
fn least_recently_used_entry_is_evicted_first() {
    let mut cache = LruCache::new(2);
    cache.insert("a", 1);
    cache.insert("b", 2);
    assert_eq!(cache.get(&"a"), Some(1));
    cache.insert("c", 3);
    assert_eq!((cache.get(&"a"), cache.get(&"b"), cache.get(&"c")), (Some(1), None, Some(3)));
    cache.insert("a", 4);
    assert_eq!((cache.get(&"a"), cache.get(&"c")), (Some(4), Some(3)), "the same key takes no room");
}
