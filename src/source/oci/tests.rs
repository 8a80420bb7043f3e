use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Value, json};

use super::credentials::{Credentials, Keychain};
use super::*;
use crate::http::tests::host::{Host, Reply, Seen, broken, endless, redirect, reply, unused_port, with};
use crate::http::tests::options;
use crate::http::{Client, Options, Url};
use crate::release::Digest;
use crate::source::address::Address;

mod auth;
mod docker_config;
mod lies;
mod mirrors;
mod parsers;

const NAME: &str = "docker-demo-1-34-v1";
const REPOSITORY: &str = "kaas/stacks";

/// The content of a test registry: one release.
#[derive(Clone)]
struct Store {
    manifest: Vec<u8>,
    blobs: BTreeMap<String, Vec<u8>>,
}

impl Store {
    /// Creates a store with a release of these files.
    fn of(files: &[(&str, &[u8])]) -> Self {
        Self::with_layers(files, |layers| layers)
    }

    /// Creates a store whose layers `change` has modified.
    fn with_layers(files: &[(&str, &[u8])], change: impl Fn(Vec<Value>) -> Vec<Value>) -> Self {
        let layers = change(files.iter().map(|(name, content)| layer(name, content)).collect());
        let manifest = json!({
            "schemaVersion": 2,
            "config": {"mediaType": "application/x", "digest": digest(b"{}"), "size": 2},
            "layers": layers,
            "annotations": {"org.opencontainers.image.created": "2026-05-04T10:20:30Z"},
        });
        let blobs = files.iter().map(|(_, content)| (digest(content), content.to_vec())).collect();
        Self { manifest: manifest.to_string().into_bytes(), blobs }
    }

    /// Returns the answer of a correct registry.
    fn answer(&self, seen: &Seen) -> Reply {
        match seen.path().rsplit('/').next().unwrap() {
            "list" => reply(200, json!({"name": REPOSITORY, "tags": [NAME]}).to_string()),
            reference if seen.path().contains("/manifests/") => {
                let own = digest(&self.manifest);
                if reference != NAME && reference != own {
                    return reply(404, "{\"errors\":[{\"code\":\"MANIFEST_UNKNOWN\"}]}");
                }
                with(reply(200, self.manifest.clone()), "docker-content-digest", &own)
            }
            reference => {
                self.blobs.get(reference).map_or_else(|| reply(404, ""), |blob| reply(200, blob.clone()))
            }
        }
    }
}

fn release() -> Store {
    Store::of(&[
        ("metadata.yaml", b"versions: {clusterStack: v1, kubernetes: v1.34.2}\n"),
        ("docker-demo-1-34-cluster-class-v1.tgz", b"the class"),
        ("docker-demo-1-34-cluster-addon-v1.tgz", b"the addons"),
    ])
}

fn digest(bytes: &[u8]) -> String {
    Digest::of_bytes(bytes).to_string()
}

fn layer(name: &str, content: &[u8]) -> Value {
    json!({
        "mediaType": "application/vnd.oci.image.layer.v1.tar",
        "digest": digest(content),
        "size": content.len(),
        "annotations": {"org.opencontainers.image.title": name},
    })
}

/// Starts a registry that answers correctly, except for answers of `lie`.
async fn registry(store: Store, lie: impl Fn(&Seen) -> Option<Reply> + Send + Sync + 'static) -> Host {
    Host::start(move |seen| lie(seen).unwrap_or_else(|| store.answer(seen))).await
}

fn access() -> Access {
    let client = Client::new(Options { attempts: 2, ..options() }).unwrap();
    Access { plain_http: true, ..Access::new(client) }
}

fn with_password(access: Access) -> Access {
    let given =
        Credentials::Password { user: "me".to_owned(), password: "hidden-password".to_owned().into() };
    Access { keychain: Keychain { given: Some(given), ..Keychain::default() }, ..access }
}

fn limits() -> Limits {
    Limits { unpacked: 1 << 20, entries: 20, yaml_file: 1 << 16 }
}

async fn open(host: &Host, access: &Access) -> OciOrigin {
    open_at(&format!("{}/{REPOSITORY}", host.address()), access).await
}

async fn open_at(place: &str, access: &Access) -> OciOrigin {
    let Ok(Address::Oci(address)) = format!("oci://{place}").parse() else { panic!("{place}") };
    OciOrigin::open(&address, access, limits()).await.unwrap()
}

fn name() -> ReleaseName {
    NAME.parse().unwrap()
}

/// Returns the error of fetching a release, and checks that it is short and has no secret.
async fn refusal(host: &Host, access: &Access) -> OriginError {
    let error = open(host, access).await.fetch(&name()).await.unwrap_err();
    let text = format!("{error} {error:?}");
    assert!(!text.contains("hidden"), "{text}");
    assert!(text.len() < 2_000, "{} bytes", text.len());
    error
}

#[tokio::test]
async fn release_is_fetched_completely() {
    let host = registry(release(), |_| None).await;
    let origin = open(&host, &access()).await;
    assert_eq!(origin.list().await.unwrap().releases.len(), 1);
    let fetched = origin.fetch(&name()).await.unwrap();
    assert_eq!(fetched.files.len(), 3);
    assert_eq!(fetched.files.get("docker-demo-1-34-cluster-class-v1.tgz").unwrap().content, b"the class");
    let digest = digest(&release().manifest);
    assert_eq!(fetched.provenance.source, format!("oci://{}/{REPOSITORY}:{NAME}@{digest}", host.address()));
    assert!(!fetched.provenance.is_pinned, "nobody asked for that digest");
}

#[tokio::test]
async fn description_fetches_small_files_only() {
    let host = registry(release(), |_| None).await;
    let described = open(&host, &access()).await.describe(&name()).await.unwrap();
    assert_eq!(described.kubernetes.unwrap().to_string(), "v1.34.2");
    assert_eq!(described.date.unwrap().to_string(), "2026-05-04T10:20:30Z");
    assert_eq!(described.digest.unwrap(), digest(&release().manifest));
    assert_eq!(host.seen().len(), 2, "the manifest and metadata.yaml: {:?}", host.targets());
}

#[tokio::test]
async fn index_of_one_manifest_is_followed() {
    let index = |count: usize| {
        let entry = json!({"mediaType": "x", "digest": digest(&release().manifest), "size": 1});
        json!({"schemaVersion": 2, "manifests": vec![entry; count]}).to_string()
    };
    let one = index(1);
    let host =
        registry(release(), move |seen| seen.path().ends_with(NAME).then(|| reply(200, one.clone()))).await;
    let fetched = open(&host, &access()).await.fetch(&name()).await.unwrap();
    assert_eq!(fetched.provenance.digest.unwrap(), digest(&release().manifest));
    let two = index(2);
    let host =
        registry(release(), move |seen| seen.path().ends_with(NAME).then(|| reply(200, two.clone()))).await;
    let error = refusal(&host, &access()).await;
    assert!(error.to_string().contains("a list of 2 manifests"), "{error}");
}

#[tokio::test]
async fn missing_release_is_reported() {
    let host = registry(release(), |_| None).await;
    let origin = open(&host, &access()).await;
    let error = origin.fetch(&"docker-demo-1-34-v2".parse().unwrap()).await.unwrap_err();
    assert!(matches!(error, OriginError::NoRelease { .. }), "{error}");
    assert!(error.to_string().contains(&host.address()), "{error}");
}

#[tokio::test]
async fn digest_must_be_that_of_the_named_release() {
    let host = registry(release(), |_| None).await;
    let (place, digest) = (format!("{}/{REPOSITORY}", host.address()), digest(&release().manifest));
    let origin = open_at(&format!("{place}:{NAME}@{digest}"), &access()).await;
    let provenance = origin.fetch(&name()).await.unwrap().provenance;
    assert!(provenance.is_pinned && provenance.digest == Some(digest.clone()), "{provenance:?}");
    let error = origin.fetch(&"docker-demo-1-34-v2".parse().unwrap()).await.unwrap_err();
    assert!(matches!(error, OriginError::NoRelease { .. }), "it is not that of another one: {error}");
    let Ok(Address::Oci(address)) = format!("oci://{place}@{digest}").parse() else { panic!("{place}") };
    let error = OciOrigin::open(&address, &access(), limits()).await.unwrap_err();
    assert!(error.to_string().contains("a digest identifies one release"), "{error}");
}

#[tokio::test]
async fn tags_are_paged_by_link_or_last_tag() {
    let pages: Arc<Vec<Vec<String>>> = Arc::new(
        (0..3)
            .map(|page| (1..=60).map(|n| format!("docker-demo-1-34-v{}", page * 60 + n)).collect())
            .collect(),
    );
    let answer = |tags: &[String]| reply(200, json!({"name": "x", "tags": tags}).to_string());
    let linked = Arc::clone(&pages);
    let host = registry(release(), move |seen| {
        let page = seen.target.split("page=").nth(1).map_or(0, |page| page.parse().unwrap());
        let next = format!("</v2/{REPOSITORY}/tags/list?n=60&page={}>; rel=\"next\"", page + 1);
        Some(if page < 2 { with(answer(&linked[page]), "link", &next) } else { answer(&linked[page]) })
    })
    .await;
    assert_eq!(open(&host, &access()).await.list().await.unwrap().releases.len(), 180);
    assert_eq!(host.seen().len(), 4, "one more to see that there is no more");
    let host = registry(release(), move |seen| {
        let last = seen.target.split("last=").nth(1);
        let page =
            last.map_or(0, |last| pages.iter().position(|page| page.last().unwrap() == last).unwrap() + 1);
        Some(pages.get(page).map_or_else(|| reply(200, "{\"tags\": null}"), |page| answer(page)))
    })
    .await;
    assert_eq!(open(&host, &access()).await.list().await.unwrap().releases.len(), 180);
}

#[tokio::test]
async fn invalid_tag_is_not_put_into_a_url() {
    let host = registry(release(), |_| None).await;
    let origin = open(&host, &access()).await;
    for tag in ["", "..", "../../evil", "a/b", "a?b", "a#b", "-a", "a b", &"x".repeat(129), "%2e"] {
        let error = origin.registry().manifest(&Reference::Tag(tag.to_owned())).await.unwrap_err();
        assert!(matches!(error, OriginError::Settings(_)), "{tag}: {error}");
    }
    assert!(host.seen().is_empty());
}
