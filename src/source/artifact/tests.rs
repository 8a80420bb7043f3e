use std::time::Duration;

use axum::http::StatusCode;

use super::*;
use crate::error::{Class, Classify as _};
use crate::http::TransportError;
use crate::release::tests::builder::{small_release, stack_repository};

pub(crate) mod server;

use server::Server;

const COMMIT: &str = "0123456789abcdef0123456789abcdef01234567";
const V1: &str = "docker-demo-1-34-v1";
const V10: &str = "docker-demo-1-34-v10";

fn limits() -> FetchLimits {
    FetchLimits { size: 1 << 20, connect: Duration::from_secs(5), overall: Duration::from_secs(30) }
}

fn download() -> Download {
    Download::new(None, limits()).unwrap()
}

/// Returns a client with a short timeout, for servers that never answer.
fn impatient() -> Download {
    Download::new(None, FetchLimits { overall: Duration::from_millis(300), ..limits() }).unwrap()
}

fn bytes_of(artifact: &Artifact) -> Vec<u8> {
    let mut bytes = Vec::new();
    artifact.reader().read_to_end(&mut bytes).unwrap();
    bytes
}

#[tokio::test]
async fn artifact_with_right_digest_is_read_repeatedly() {
    let body = stack_repository(&[V1]);
    let server = Server::with(&body).await;
    let artifact = download().fetch(&server.artifact(&body)).await.unwrap();
    assert_eq!((bytes_of(&artifact), bytes_of(&artifact)), (body.clone(), body));
}

#[tokio::test]
async fn other_bytes_are_not_read() {
    let server = Server::with(b"other").await;
    let error = download().fetch(&server.artifact(b"right")).await.unwrap_err();
    let (expected, found) = (Digest::of_bytes(b"right"), Digest::of_bytes(b"other"));
    assert!(
        matches!(&error, ArtifactError::Transport(TransportError::Digest { expected: e, found: f, .. }) if (*e, *f) == (expected, found))
    );
    assert_eq!((error.class(), error.reason()), (Class::Transient, "ArtifactInvalid"));
}

#[tokio::test]
async fn interrupted_response_is_reported() {
    let server = Server::raw(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nonly this", false).await;
    let error = download().fetch(&server.artifact(b"only this")).await.unwrap_err();
    assert!(matches!(error, ArtifactError::Transport(TransportError::Interrupted { .. })), "{error}");
    assert_eq!((error.class(), error.reason()), (Class::Transient, "ArtifactUnavailable"));
}

#[tokio::test]
async fn invalid_http_response_is_reported() {
    let server = Server::raw(b"\x00\x01\x02 garbage\r\n\r\n", false).await;
    let error = download().fetch(&server.artifact(b"")).await.unwrap_err();
    assert!(matches!(error, ArtifactError::Transport(TransportError::Interrupted { .. })), "{error}");
}

#[tokio::test]
async fn endless_response_is_aborted() {
    let server = Server::endless().await;
    let error = download().fetch(&server.artifact(b"")).await.unwrap_err();
    assert!(
        matches!(error, ArtifactError::Transport(TransportError::TooLarge { most: 1_048_576, .. })),
        "{error}"
    );
    assert_eq!((error.class(), error.reason()), (Class::Terminal, "ArtifactInvalid"));
}

#[tokio::test]
async fn announced_oversize_is_refused_at_once() {
    let server = Server::raw(b"HTTP/1.1 200 OK\r\nContent-Length: 1048577\r\n\r\n", true).await;
    let error = download().fetch(&server.artifact(b"")).await.unwrap_err();
    assert!(matches!(error, ArtifactError::Transport(TransportError::TooLarge { .. })), "{error}");
    let server = Server::with(b"x").await;
    let announced = ArtifactRef { size: Some(1_048_577), ..server.artifact(b"x") };
    let error = download().fetch(&announced).await.unwrap_err();
    assert!(matches!(error, ArtifactError::Transport(TransportError::TooLarge { .. })), "{error}");
    assert_eq!(server.asked(), 0);
}

#[tokio::test]
async fn timeout_error_names_the_network_policy() {
    let silent = Server::raw(b"", true).await;
    let slow = Server::raw(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\na bit", true).await;
    for server in [silent, slow] {
        let error = impatient().fetch(&server.artifact(b"")).await.unwrap_err();
        assert!(matches!(error, ArtifactError::Transport(TransportError::Timeout { .. })), "{error}");
        let message = error.to_string();
        assert!(message.contains("only pods of Flux's namespace reach source-controller"), "{message}");
        assert_eq!((error.class(), error.reason()), (Class::Transient, "ArtifactUnavailable"));
    }
}

#[tokio::test]
async fn unreachable_server_is_reported() {
    let server = Server::gone().await;
    let error = download().fetch(&server.artifact(b"")).await.unwrap_err();
    assert!(matches!(error, ArtifactError::Transport(TransportError::Unreachable { .. })), "{error}");
    assert!(error.to_string().contains(" cannot be reached: "), "{error}");
    for cause in ["NetworkPolicy", "--source-controller-addr"] {
        assert!(error.to_string().contains(cause), "{error}");
    }
    assert_eq!((error.class(), error.reason()), (Class::Transient, "ArtifactUnavailable"));
}

#[tokio::test]
async fn unexpected_status_is_refused() {
    let target = Server::with(b"x").await;
    let redirect = format!("HTTP/1.1 302 Found\r\nLocation: {}\r\nContent-Length: 0\r\n\r\n", target.url);
    let server = Server::raw(redirect.as_bytes(), false).await;
    let error = download().fetch(&server.artifact(b"x")).await.unwrap_err();
    assert!(matches!(error, ArtifactError::Transport(TransportError::Status { status: 302, .. })), "{error}");
    assert_eq!(target.asked(), 0, "redirects are not followed");
    for status in [StatusCode::NOT_FOUND, StatusCode::NO_CONTENT, StatusCode::INTERNAL_SERVER_ERROR] {
        let server = Server::with(b"x").await;
        server.answer(status, b"x");
        let error = download().fetch(&server.artifact(b"x")).await.unwrap_err();
        assert!(
            matches!(error, ArtifactError::Transport(TransportError::Status { status: s, .. }) if s == status.as_u16()),
            "{error}"
        );
        assert_eq!(error.class(), Class::Transient);
    }
}

#[tokio::test]
async fn source_controller_address_replaces_the_host() {
    let server = Server::with(b"x").await;
    let address = server.url.strip_prefix("http://").unwrap().strip_suffix("/artifact.tar.gz").unwrap();
    let url = "http://source-controller.flux-system.svc.cluster.local./artifact.tar.gz".to_owned();
    let artifact = ArtifactRef { url, ..server.artifact(b"x") };
    let through = Download::new(Some(address), limits()).unwrap();
    assert!(through.fetch(&artifact).await.is_ok());
    for wrong in ["localhost:port", "local host:80", "localhost:99999", ":80"] {
        let error = Download::new(Some(wrong), limits()).unwrap().fetch(&artifact).await.unwrap_err();
        assert!(matches!(&error, ArtifactError::Url { url, .. } if url == wrong), "{error}");
        assert_eq!(error.class(), Class::Terminal);
    }
}

#[tokio::test]
async fn invalid_urls_are_refused() {
    for url in ["", "x", "/artifact.tar.gz", "https://example.com/x", "file:///etc/passwd", "http://"] {
        let artifact = ArtifactRef {
            url: url.to_owned(),
            digest: Digest::of_bytes(b""),
            size: None,
            revision: commit(),
        };
        let error = download().fetch(&artifact).await.unwrap_err();
        assert!(matches!(&error, ArtifactError::Url { url: found, .. } if found == url), "{error}");
    }
}

fn commit() -> Revision {
    COMMIT.parse().unwrap()
}

#[test]
fn artifact_status_is_read() {
    let digest = Digest::of_bytes(b"");
    let artifact_of = |revision: &str| observed::Artifact {
        revision: revision.to_owned(),
        digest: digest.to_string(),
        url: "http://x/y".to_owned(),
        size: Some(7),
    };
    for revision in [format!("main@sha1:{COMMIT}"), format!("sha1:{COMMIT}"), format!("a@b/c@sha1:{COMMIT}")]
    {
        let expected =
            ArtifactRef { url: "http://x/y".to_owned(), digest, size: Some(7), revision: commit() };
        assert_eq!(ArtifactRef::new(&artifact_of(&revision)).unwrap(), expected, "{revision}");
    }
    for revision in ["", "main", "main@sha1:0123", "1.2.3"] {
        let error = ArtifactRef::new(&artifact_of(revision)).unwrap_err();
        assert!(matches!(&error, ArtifactError::Field { field: "revision", .. }), "{error}");
        assert_eq!((error.class(), error.reason()), (Class::Terminal, "ArtifactInvalid"));
    }
    let artifact = observed::Artifact { digest: "sha512:00".to_owned(), ..artifact_of(COMMIT) };
    let error = ArtifactRef::new(&artifact).unwrap_err();
    assert!(matches!(&error, ArtifactError::Field { field: "digest", .. }), "{error}");
}

async fn fetched(body: &[u8]) -> Artifact {
    let server = Server::with(body).await;
    download().fetch(&server.artifact(body)).await.unwrap()
}

#[tokio::test]
async fn catalog_has_commit_and_digests() {
    let artifact = fetched(&stack_repository(&[V1, V10, "docker-demo-1-34-v0-sha-abc"])).await;
    let line = Line::of(&V1.parse().unwrap());
    let mut kept = Vec::new();
    let selection = ReleaseSelection { path: "releases".to_owned(), line, is_builtin: false };
    let read = read_catalog(&artifact, &commit(), &selection, |release| kept.push(release)).unwrap();
    assert_eq!((&read.revision, read.others), (&commit(), Others { unwanted: 1, malformed: 0 }));
    let catalog = read.catalog();
    assert_eq!(catalog.keys().map(ToString::to_string).collect::<Vec<_>>(), [V1, V10]);
    assert_eq!(kept.len(), 2);
    for release in kept {
        assert_eq!(catalog[&release.name], CatalogEntry::of(&release, commit()));
    }

    // Each release of the built-in stack repository has its own commit, which no other release changes.
    let own = ReleaseSelection { is_builtin: true, ..selection };
    let pins = |artifact: &Artifact| -> Vec<Revision> {
        let read = read_catalog(artifact, &commit(), &own, |_| ()).unwrap();
        read.catalog().into_values().map(|entry| entry.revision).collect()
    };
    let both = pins(&artifact);
    assert!(both.len() == 2 && both[0] != both[1] && !both.contains(&commit()), "{both:?}");
    assert_eq!(pins(&fetched(&stack_repository(&[V1])).await), [both[0].clone()]);
}

#[tokio::test]
async fn only_the_named_release_is_read() {
    let artifact = fetched(&stack_repository(&[V1, V10])).await;
    let read = |name: &str| read_release(&artifact, "./releases", &name.parse().unwrap()).unwrap();
    for name in [V1, V10] {
        let loaded = read(name).unwrap().unwrap();
        assert_eq!(loaded.release.name.to_string(), name);
        assert_eq!(loaded.files.len(), small_release(name, "").len());
    }
    assert!(read("docker-demo-1-34-v2").is_none());
}
