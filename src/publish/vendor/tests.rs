use serde_json::json;

use super::*;
use crate::error::Classify as _;
use crate::http::tests::host::{Host, Reply, endless, redirect, reply};
use crate::http::tests::options;
use crate::http::{Client, Url};
use crate::release::Digest;
use crate::source::oci::credentials::{Credentials, Keychain};

const ARCHIVE: &[u8] = b"an archive";

fn vendor(plain_http: bool, named: Option<&str>) -> Vendor {
    let given = Credentials::Password { user: "me".to_owned(), password: "geheim".into() };
    let keychain = Keychain { given: Some(given), ..Keychain::default() };
    let access = Access { plain_http, keychain, ..Access::new(Client::new(options()).unwrap()) };
    Vendor::new(access, named)
}

fn missing(repository: Repository, version: &str) -> Missing {
    let (chart, name) = ("cluster-addon/cni".to_owned(), "cilium".to_owned());
    Missing { chart, name, version: version.to_owned(), locked: None, repository }
}

fn helm(url: &Url) -> Missing {
    missing(Repository::Helm(url.join("stable/").unwrap()), "~1.2")
}

/// Starts a Helm repository whose one chart has this digest and URL.
async fn repository(digest: &str, url: &str) -> Host {
    let index = format!("entries: {{cilium: [{{version: 1.2.3, digest: '{digest}', urls: ['{url}']}}]}}");
    Host::start(move |seen| match seen.path() {
        "/stable/index.yaml" => reply(200, index.clone()),
        "/stable/cilium-1.2.3.tgz" | "/else/cilium.tgz" => reply(200, ARCHIVE),
        "/endless" => endless(),
        "/away" => redirect("http://localhost:1/x"),
        _ => reply(404, ""),
    })
    .await
}

async fn fetch(vendor: &Vendor, one: Missing) -> Result<Vendored, VendorError> {
    vendor.fetch(&[one], 1 << 20).await.map(|mut all| all.remove(0))
}

fn hex() -> String {
    Digest::of_bytes(ARCHIVE).to_string().trim_start_matches("sha256:").to_owned()
}

#[tokio::test]
async fn chart_is_fetched_from_helm_repository() {
    for url in ["cilium-1.2.3.tgz", "../else/cilium.tgz", "/else/cilium.tgz"] {
        let host = repository(&hex(), url).await;
        let one = helm(&host.url);
        let chart = fetch(&vendor(true, None), one.clone()).await.unwrap();
        assert_eq!((chart.version.as_str(), chart.content.as_slice()), ("1.2.3", ARCHIVE));
        assert_eq!(chart.digest, Digest::of_bytes(ARCHIVE));
        assert_eq!(chart.missing, one);
        assert!(chart.url.ends_with(url.trim_start_matches("..")), "{}", chart.url);
        assert!(host.seen().iter().all(|seen| seen.header("authorization").is_none()), "a password was sent");
    }
}

#[tokio::test]
async fn index_is_fetched_once() {
    let host = repository(&hex(), "cilium-1.2.3.tgz").await;
    let both = [helm(&host.url), Missing { chart: "cluster-class".to_owned(), ..helm(&host.url) }];
    let charts = vendor(true, None).fetch(&both, 1 << 20).await.unwrap();
    assert_eq!(
        charts.iter().map(|chart| chart.missing.chart.as_str()).collect::<Vec<_>>(),
        ["cluster-addon/cni", "cluster-class"]
    );
    let asked = host.targets();
    assert_eq!(asked.iter().filter(|target| target.ends_with("index.yaml")).count(), 1, "{asked:?}");
}

#[tokio::test]
async fn shared_archive_is_fetched_once() {
    let host = repository(&hex(), "cilium-1.2.3.tgz").await;
    let both = [helm(&host.url), Missing { version: "1.x".to_owned(), ..helm(&host.url) }];
    let charts = vendor(true, None).fetch(&both, 1 << 20).await.unwrap();
    assert_eq!(charts.iter().map(|chart| chart.version.as_str()).collect::<Vec<_>>(), ["1.2.3"]);
    let asked = host.targets();
    assert_eq!(asked.iter().filter(|target| target.ends_with("cilium-1.2.3.tgz")).count(), 1, "{asked:?}");
}

#[tokio::test]
async fn archives_share_one_limit() {
    let host = repository(&hex(), "cilium-1.2.3.tgz").await;
    let charts = ["cluster-class", "cluster-addon/cni"];
    let both = charts.map(|chart| Missing { chart: chart.to_owned(), ..helm(&host.url) });
    let most = 2 * ARCHIVE.len() as u64;
    assert_eq!(vendor(true, None).fetch(&both, most).await.unwrap().len(), 2);
    let error = vendor(true, None).fetch(&both, most - 1).await.unwrap_err();
    assert_eq!(error.reason(), "LimitExceeded", "{error}");
}

#[tokio::test]
async fn too_many_charts_are_refused_without_request() {
    let host = repository(&hex(), "cilium-1.2.3.tgz").await;
    let of = |count: usize, path: &dyn Fn(usize) -> String| -> Vec<Missing> {
        let chart = |number| Missing {
            chart: format!("cluster-addon/{number}"),
            repository: Repository::Helm(host.url.join(&path(number)).unwrap()),
            ..helm(&host.url)
        };
        (0..count).map(chart).collect()
    };
    let charts = of(MAX_CHARTS + 1, &|_| "stable/".to_owned());
    let repositories = of(MAX_REPOSITORIES + 1, &|number| format!("{number}/"));
    for (missing, what) in [
        (charts, "exceeds the limit of 100 charts"),
        (repositories, "exceeds the limit of 20 chart repositories"),
    ] {
        let error = vendor(true, None).fetch(&missing, 1 << 20).await.unwrap_err();
        assert_eq!(error.reason(), "LimitExceeded");
        assert!(error.to_string().contains(what), "{error}");
    }
    assert_eq!(host.targets(), Vec::<String>::new());
}

#[tokio::test]
async fn invalid_version_is_not_selected() {
    let index = format!("entries: {{cilium: [{{version: latest, digest: '{}', urls: ['x.tgz']}}]}}", hex());
    let host = Host::start(move |_| reply(200, index.clone())).await;
    let latest = Missing { version: "latest".to_owned(), ..helm(&host.url) };
    let error = fetch(&vendor(true, None), latest).await.unwrap_err();
    assert_eq!(error.reason(), "ChartRefused");
    assert!(
        error.to_string().contains("cilium latest is not fetched: Helm does not accept this version"),
        "{error}"
    );
}

#[tokio::test]
async fn archive_with_wrong_content_is_refused() {
    let other = "0".repeat(64);
    for (digest, url, reason) in [
        (other.as_str(), "cilium-1.2.3.tgz", "DigestMismatch"),
        ("x", "cilium-1.2.3.tgz", "ChartRefused"),
        ("", "cilium-1.2.3.tgz", "ChartRefused"),
        (&hex(), "ftp://host/x", "ChartRefused"),
        (&hex(), "file:///etc/passwd", "ChartRefused"),
        (&hex(), "/nothing", "SourceRefused"),
        (&hex(), "/endless", "LimitExceeded"),
        (&hex(), "/away", "SourceUnreachable"),
    ] {
        let host = repository(digest, url).await;
        let error = fetch(&vendor(true, None), helm(&host.url)).await.unwrap_err();
        assert_eq!(error.reason(), reason, "{url}: {error}");
    }
}

#[tokio::test]
async fn missing_chart_is_reported() {
    let host = repository(&hex(), "cilium-1.2.3.tgz").await;
    let with = |version: &str| Missing { version: version.to_owned(), ..helm(&host.url) };
    let vendor = vendor(true, None);
    let error = fetch(&vendor, with("2.x")).await.unwrap_err();
    assert!(error.to_string().ends_with("has no chart cilium 2.x; it has 1.2.3"), "{error}");
    let error = fetch(&vendor, with("newest")).await.unwrap_err();
    assert!(error.to_string().contains("invalid version range"), "{error}");
    let locked = Missing { locked: Some("1.2.2".to_owned()), ..with("1.x") };
    assert_eq!(fetch(&vendor, locked).await.unwrap_err().reason(), "ChartNotFound");
    let other = Missing { name: "other".to_owned(), ..with("1.x") };
    assert!(fetch(&vendor, other).await.unwrap_err().to_string().ends_with("it has none of that name"));
}

#[tokio::test]
async fn plain_http_is_refused_unless_requested() {
    let host = repository(&hex(), "cilium-1.2.3.tgz").await;
    let error = fetch(&vendor(false, None), helm(&host.url)).await.unwrap_err();
    assert_eq!(error.reason(), "ChartRefused");
    assert_eq!(host.targets(), Vec::<String>::new());
}

/// Starts a registry with some versions of the chart `charts/cilium`.
async fn registry() -> Host {
    let layer = json!({
        "mediaType": "application/vnd.cncf.helm.chart.content.v1.tar+gzip",
        "digest": Digest::of_bytes(ARCHIVE).to_string(),
        "size": ARCHIVE.len(),
    });
    let config = json!({"mediaType": "application/vnd.cncf.helm.config.v1+json", "digest": Digest::of_bytes(b"{}").to_string(), "size": 2});
    let manifest = |layers: serde_json::Value| {
        json!({"schemaVersion": 2, "mediaType": "application/vnd.oci.image.manifest.v1+json", "config": config, "layers": layers}).to_string()
    };
    let (chart, nothing) = (manifest(json!([layer])), manifest(json!([])));
    let blob = format!("/v2/charts/cilium/blobs/{}", Digest::of_bytes(ARCHIVE));
    Host::start(move |seen| -> Reply {
        match seen.path() {
            "/v2/" => reply(200, "{}"),
            "/v2/charts/cilium/tags/list" => reply(
                200,
                r#"{"name": "charts/cilium", "tags": ["1.2.3", "1.2.4_build", "1.3.0", "latest"]}"#,
            ),
            "/v2/charts/cilium/manifests/1.2.4_build" | "/v2/charts/cilium/manifests/1.2.3" => {
                reply(200, chart.clone())
            }
            "/v2/charts/cilium/manifests/1.3.0" => reply(200, nothing.clone()),
            path if path == blob => reply(200, ARCHIVE),
            _ => reply(404, ""),
        }
    })
    .await
}

#[tokio::test]
async fn chart_is_fetched_from_registry() {
    let host = registry().await;
    let of = |version: &str| {
        let repository = Repository::Oci { registry: host.address(), path: "charts".to_owned() };
        missing(repository, version)
    };
    let vendor = vendor(true, Some(&host.address()));
    let chart = fetch(&vendor, of("~1.2")).await.unwrap();
    assert_eq!((chart.version.as_str(), chart.content.as_slice()), ("1.2.4+build", ARCHIVE));
    let expected = format!("oci://{}/charts/cilium:1.2.4_build@sha256:", host.address());
    assert!(chart.url.starts_with(&expected), "{}", chart.url);

    let asked = host.targets().len();
    assert_eq!(fetch(&vendor, of("1.2.3")).await.unwrap().version, "1.2.3");
    let later = host.targets().split_off(asked);
    assert!(later.iter().all(|target| !target.contains("tags")), "an exact version needs no list: {later:?}");

    let error = fetch(&vendor, of("1.3.0")).await.unwrap_err();
    assert!(error.to_string().contains("expected exactly one layer that is a Helm chart"), "{error}");
    assert_eq!(fetch(&vendor, of("9.9.9")).await.unwrap_err().class(), crate::error::Class::Terminal);
}

#[tokio::test]
async fn foreign_registry_gets_no_password_or_plain_http() {
    let host = registry().await;
    let repository = Repository::Oci { registry: host.address(), path: "charts".to_owned() };
    let error =
        fetch(&vendor(true, Some("registry.example.com")), missing(repository, "1.2.3")).await.unwrap_err();
    assert_eq!(error.reason(), "SourceUnreachable", "{error}");
    assert_eq!(host.targets(), Vec::<String>::new());
    assert!(!error.to_string().contains("geheim"), "{error}");
}

#[tokio::test]
async fn index_can_refer_to_a_registry() {
    let registry = registry().await;
    let url = format!("oci://{}/charts/cilium:1.2.3", registry.address());
    let vendor = vendor(true, Some(&registry.address()));
    let host = repository(&hex(), &url).await;
    assert_eq!(fetch(&vendor, helm(&host.url)).await.unwrap().content, ARCHIVE);
    let other = repository(&"0".repeat(64), &url).await;
    assert_eq!(fetch(&vendor, helm(&other.url)).await.unwrap_err().reason(), "ChartRefused");
}
