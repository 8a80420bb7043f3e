use std::sync::Arc;

use serde_json::{Value, json};

use super::*;
use crate::http::tests::host::{Host, Reply, Seen, broken, endless, redirect, reply, with};
use crate::http::tests::options;
use crate::http::{Client, Options};
use crate::release::Digest;
use crate::source::address::Address;

const NAME: &str = "docker-demo-1-34-v1";
const TOKEN: &str = "Bearer hidden-token";

fn name() -> ReleaseName {
    NAME.parse().unwrap()
}

fn limits() -> Limits {
    Limits { unpacked: 1 << 20, entries: 20, yaml_file: 1 << 16 }
}

fn access(host: &Host, token: bool) -> Access {
    let client = Client::new(Options { attempts: 2, ..options() }).unwrap();
    let token = token.then(|| "hidden-token".to_owned().into());
    Access { client, api: host.at("api/v3"), plain_http: true, token }
}

fn open(host: &Host, token: bool) -> GitHubOrigin {
    let Ok(Address::GitHub(address)) = "github://scs/stacks".parse() else { panic!() };
    GitHubOrigin::open(&address, &access(host, token), limits()).unwrap()
}

/// A file of a release: its id, name and content.
type Fake = (u64, &'static str, &'static [u8]);

const FILES: [Fake; 2] = [
    (7, "metadata.yaml", b"versions: {clusterStack: v1, kubernetes: v1.34.2}\n"),
    (8, "docker-demo-1-34-cluster-class-v1.tgz", b"the class"),
];

fn asset(file: &Fake) -> Value {
    let (id, name, content) = file;
    let digest = Digest::of_bytes(content).to_string();
    json!({"id": id, "name": name, "size": content.len(), "state": "uploaded", "digest": digest, "url": "https://evil/"})
}

fn release(tag: &str) -> Value {
    json!({"id": 3, "tag_name": tag, "draft": false, "published_at": "2026-05-04T10:20:30Z", "body": "text"})
}

/// Returns GitHub's answers for one release with these assets.
fn github(seen: &Seen, assets: &[Value]) -> Reply {
    let path = seen.path().strip_prefix("/api/v3/repos/scs/stacks/releases").expect("the API's path");
    let number = path.strip_prefix("/assets/").and_then(|number| number.parse::<u64>().ok());
    match path {
        "" => reply(200, json!([release(NAME), release("latest")]).to_string()),
        "/3/assets" => reply(200, Value::from(assets).to_string()),
        "/tags/docker-demo-1-34-v1" => reply(200, release(NAME).to_string()),
        _ => match FILES.iter().find(|(id, ..)| Some(*id) == number) {
            Some((.., content)) => {
                assert_eq!(seen.header("accept"), Some("application/octet-stream"));
                reply(200, *content)
            }
            None => reply(404, "{\"message\": \"Not Found\"}"),
        },
    }
}

/// Starts a GitHub that answers correctly, except for answers of `lie`.
async fn host(lie: impl Fn(&Seen) -> Option<Reply> + Send + Sync + 'static) -> Host {
    let assets: Vec<Value> = FILES.iter().map(asset).collect();
    Host::start(move |seen| lie(seen).unwrap_or_else(|| github(seen, &assets))).await
}

async fn refusal(host: &Host) -> OriginError {
    let error = open(host, true).fetch(&name()).await.unwrap_err();
    assert!(!format!("{error} {error:?}").contains("hidden"), "{error}");
    error
}

#[tokio::test]
async fn release_is_fetched_completely() {
    let host = host(|_| None).await;
    let origin = open(&host, true);
    let listing = origin.list().await.unwrap();
    assert_eq!((listing.releases.len(), listing.malformed.as_slice()), (1, ["latest".to_owned()].as_slice()));
    let fetched = origin.fetch(&name()).await.unwrap();
    assert_eq!(fetched.files.len(), 2);
    assert_eq!(fetched.files.get("docker-demo-1-34-cluster-class-v1.tgz").unwrap().content, b"the class");
    assert_eq!(fetched.provenance.source, format!("github://scs/stacks@{NAME}"));
    for seen in host.seen() {
        assert_eq!(seen.header("authorization"), Some(TOKEN));
        assert_eq!(seen.header("x-github-api-version"), Some("2022-11-28"));
        assert!(seen.header("user-agent").unwrap().starts_with("stackflux/"));
    }
}

#[tokio::test]
async fn description_fetches_small_files_only() {
    let host = host(|_| None).await;
    let described = open(&host, false).describe(&name()).await.unwrap();
    assert_eq!(described.kubernetes.unwrap().to_string(), "v1.34.2");
    assert_eq!(described.date.unwrap().to_string(), "2026-05-04T10:20:30Z");
    assert!(!host.targets().iter().any(|target| target.ends_with("/assets/8")), "{:?}", host.targets());
}

#[tokio::test]
async fn listed_releases_are_not_requested_again() {
    let listed = |count: usize| {
        let mut listed = release(NAME);
        let mut open = asset(&FILES[1]);
        open["state"] = "open".into();
        listed["assets"] = [vec![asset(&FILES[0])], vec![open; count]].concat().into();
        json!([listed]).to_string()
    };
    for (assets, requests) in [(1, 2), (29, 3)] {
        let list = listed(assets);
        let host =
            host(move |seen| seen.path().ends_with("/releases").then(|| reply(200, list.clone()))).await;
        let origin = open(&host, false);
        assert_eq!(origin.list().await.unwrap().releases.len(), 1);
        let described = origin.describe(&name()).await.unwrap();
        assert_eq!(described.kubernetes.unwrap().to_string(), "v1.34.2");
        assert_eq!(described.date.unwrap().to_string(), "2026-05-04T10:20:30Z");
        assert_eq!(host.seen().len(), requests, "{:?}", host.targets());
    }
}

#[tokio::test]
async fn listing_reads_all_pages_and_skips_drafts() {
    let base = "/api/v3/repos/scs/stacks/releases?per_page=100&page=";
    let host = Host::start(move |seen| {
        let page: u32 = seen.target.split("&page=").nth(1).map_or(1, |page| page.parse().unwrap());
        let mut draft = release("docker-demo-1-34-v99");
        draft["draft"] = true.into();
        let page_of = json!([release(&format!("docker-demo-1-34-v{page}")), draft]).to_string();
        let last = format!("<{base}9>; rel=\"last\"");
        let next = format!("<{base}{}>; rel=\"next\", {last}", page + 1);
        with(reply(200, page_of), "link", if page < 3 { &next } else { &last })
    })
    .await;
    assert_eq!(open(&host, false).list().await.unwrap().releases.len(), 3);
}

#[tokio::test]
async fn pages_without_end_and_somewhere_else() {
    let endless = Host::start(|seen| {
        let next = format!("<{}&x>; rel=\"next\"", seen.target);
        with(reply(200, "[]"), "link", &next)
    })
    .await;
    let error = open(&endless, true).list().await.unwrap_err();
    assert!(
        matches!(error, OriginError::Transport(TransportError::TooLarge { most: 100, unit: "pages", .. })),
        "{error}"
    );
    let other = Arc::new(Host::start(|_| reply(200, "[]")).await);
    let next = format!("<{}>; rel=\"next\"", other.url);
    let host = Host::start(move |_| with(reply(200, "[]"), "link", &next)).await;
    let error = open(&host, true).list().await.unwrap_err();
    assert!(matches!(error, OriginError::Transport(TransportError::Redirect { .. })), "{error}");
    assert!(other.seen().is_empty());
}

#[tokio::test]
async fn token_is_not_sent_to_the_asset_host() {
    let store = Host::start(|_| reply(200, "the class")).await;
    let to = format!("{}signed?hidden", store.by_name());
    let host = host(move |seen| seen.path().ends_with("/assets/8").then(|| redirect(&to))).await;
    assert_eq!(open(&host, true).fetch(&name()).await.unwrap().files.len(), 2);
    let seen = store.seen();
    assert_eq!((seen.len(), seen[0].header("authorization")), (1, None));
}

#[tokio::test]
async fn assets_with_wrong_content_are_refused() {
    for (lie, expected) in [
        ((|| reply(200, "the glass")) as fn() -> Reply, "digest mismatch"),
        (|| reply(200, "the class is longer"), "expected 9 bytes, got 19"),
        (endless, "exceeds the limit of 9 bytes"),
        (|| broken(200, b"the", Some(9)), "the answer broke off"),
        (|| redirect("ftp://127.0.0.1/?hidden"), "neither http nor https"),
    ] {
        let host = host(move |seen| seen.path().ends_with("/assets/8").then(lie)).await;
        let error = refusal(&host).await;
        assert!(
            error.to_string().contains(expected) && error.to_string().contains(&host.address()),
            "{error}"
        );
    }
}

#[tokio::test]
async fn invalid_asset_lists_are_refused() {
    let with_name = |name: &str| {
        let mut changed = asset(&FILES[1]);
        changed["name"] = name.into();
        changed
    };
    let mut large = asset(&FILES[1]);
    large["size"] = u64::MAX.into();
    let mut undigested = asset(&FILES[1]);
    undigested["digest"] = "md5:00".into();
    for (assets, expected) in [
        (vec![asset(&FILES[0]), with_name("../evil")], "has a `..` in it"),
        (vec![asset(&FILES[0]), with_name("metadata.yaml")], "two files called"),
        (vec![large], "exceeds the limit of 1048576 bytes"),
        (vec![undigested], "md5:00"),
        (vec![], "no files (assets)"),
    ] {
        let list = Value::from(assets).to_string();
        let host =
            host(move |seen| seen.path().ends_with("/3/assets").then(|| reply(200, list.clone()))).await;
        let error = refusal(&host).await;
        assert!(error.to_string().contains(expected), "{error}");
    }
}

#[tokio::test]
async fn asset_without_digest_is_checked_by_size() {
    let mut old = asset(&FILES[1]);
    old["digest"] = Value::Null;
    let list = json!([old]).to_string();
    let host = host(move |seen| seen.path().ends_with("/3/assets").then(|| reply(200, list.clone()))).await;
    assert_eq!(open(&host, true).fetch(&name()).await.unwrap().files.len(), 1);
}

#[tokio::test]
async fn refusals_of_github_are_explained() {
    let used_up =
        || with(with(reply(403, ""), "x-ratelimit-remaining", "0"), "x-ratelimit-reset", "4102444800");
    for (answer, token, expected) in [
        (used_up as fn() -> Reply, false, "rate limit exceeded; retry after"),
        (used_up, false, "--github-token-file"),
        (|| reply(401, "hidden"), true, "rejected the token"),
        (|| reply(403, "hidden"), true, "lacks the permission"),
        (|| reply(404, ""), true, "that the token can access"),
        (|| reply(404, ""), false, "a private one needs a token"),
        (|| reply(500, ""), true, "answered 500"),
        (|| reply(200, "hidden"), true, "cannot be read"),
    ] {
        let host = Host::start(move |_| answer()).await;
        let error = open(&host, token).list().await.unwrap_err();
        assert!(error.to_string().contains(expected), "{error}");
        assert!(!format!("{error} {error:?}").contains("hidden"), "{error}");
    }
    let host = host(|_| None).await;
    let error = open(&host, true).fetch(&"docker-demo-1-34-v2".parse().unwrap()).await.unwrap_err();
    assert!(matches!(error, OriginError::NoRelease { .. }), "{error}");
    let error = open(&host, false).fetch(&"docker-demo-1-34-v2".parse().unwrap()).await.unwrap_err();
    assert!(error.to_string().contains("a private one needs a token"), "{error}");
}

#[tokio::test]
async fn exhausted_rate_limit_stops_requests() {
    let used_up = |_: &Seen| {
        Some(with(with(reply(429, ""), "x-ratelimit-remaining", "0"), "x-ratelimit-reset", "4102444800"))
    };
    let host = host(move |seen| seen.path().contains("/assets").then(|| used_up(seen)).flatten()).await;
    let origin = open(&host, true);
    assert_eq!(origin.list().await.unwrap().releases.len(), 1);
    let first = origin.describe(&name()).await.unwrap_err().to_string();
    let asked = host.seen().len();
    for _ in 0..3 {
        let error = origin.describe(&name()).await.unwrap_err();
        assert!(
            matches!(error, OriginError::Transport(TransportError::Status { status: 429, .. })),
            "{error}"
        );
        assert!(
            error.to_string().contains("rate limit exceeded; retry after") && first.contains("rate limit"),
            "{error}"
        );
    }
    assert_eq!(host.seen().len(), asked);
}

#[tokio::test]
async fn api_url_requires_https_or_plain_http_flag() {
    let host = host(|_| None).await;
    let Ok(Address::GitHub(address)) = "github://scs/stacks".parse() else { panic!() };
    for (api, plain_http, is_good) in [
        (host.url.clone(), false, false),
        (host.url.clone(), true, true),
        ("https://github.example.com/api/v3/".parse().unwrap(), false, true),
        ("ftp://github.example.com/".parse().unwrap(), true, false),
    ] {
        let access = Access { api, plain_http, ..access(&host, true) };
        assert_eq!(GitHubOrigin::open(&address, &access, limits()).is_ok(), is_good, "{:?}", access.api);
    }
}
