//! Authentication to registries, and attempts to get more credentials than allowed.

use super::*;
use crate::http::redacted_url;

const TOKEN: &str = "hidden-token";
/// `me:hidden-password` in the `Basic` scheme.
const BASIC: &str = "Basic bWU6aGlkZGVuLXBhc3N3b3Jk";

fn requires_basic(seen: &Seen) -> Option<Reply> {
    (seen.header("authorization") != Some(BASIC))
        .then(|| with(reply(401, ""), "www-authenticate", "Basic realm=\"test\""))
}

/// Starts a registry that requires the token of this realm.
async fn requires_token(realm: &Url) -> Host {
    let challenge =
        format!("Bearer realm=\"{realm}\",service=\"the registry\",scope=\"repository:{REPOSITORY}:pull\"");
    registry(release(), move |seen| {
        (seen.header("authorization") != Some(&format!("Bearer {TOKEN}")))
            .then(|| with(reply(401, ""), "www-authenticate", &challenge))
    })
    .await
}

/// Starts a realm that gives a token to every client.
async fn realm() -> Host {
    Host::start(|_| reply(200, json!({"token": TOKEN}).to_string())).await
}

#[tokio::test]
async fn password_is_sent_where_a_registry_requires_it() {
    let host = registry(release(), requires_basic).await;
    open(&host, &with_password(access())).await.fetch(&name()).await.unwrap();
    assert_eq!(host.seen()[0].header("authorization"), None, "nothing is sent before it is asked for");
    let error = refusal(&host, &access()).await;
    assert!(matches!(error, OriginError::Unauthorised { .. }), "{error}");
    assert!(error.to_string().contains("requires credentials") && error.hint().is_some(), "{error}");
}

#[tokio::test]
async fn wrong_password_is_tried_once() {
    let refuse = |_: &Seen| Some(with(reply(401, ""), "www-authenticate", "Basic realm=\"hidden\""));
    let host = registry(release(), refuse).await;
    let error = refusal(&host, &with_password(access())).await;
    assert!(error.to_string().contains("give no access to it"), "{error}");
    assert_eq!(host.seen().len(), 2);
}

#[tokio::test]
async fn anonymous_token_comes_from_a_realm_on_any_host() {
    let realm = realm().await;
    let host = requires_token(&realm.by_name().join("token?a=b").unwrap()).await;
    open(&host, &access()).await.fetch(&name()).await.unwrap();
    let asked = realm.targets();
    assert_eq!(asked.len(), 1, "one token for all: {asked:?}");
    assert_eq!(asked[0], "/token?a=b&service=the+registry&scope=repository%3Akaas%2Fstacks%3Apull");
}

#[tokio::test]
async fn password_is_sent_to_a_realm_on_the_same_host() {
    let realm = realm().await;
    let host = requires_token(&realm.at("token")).await;
    open(&host, &with_password(access())).await.fetch(&name()).await.unwrap();
    assert_eq!(realm.seen()[0].header("authorization"), Some(BASIC));
    assert!(host.seen().iter().all(|seen| seen.header("authorization") != Some(BASIC)));
}

#[tokio::test]
async fn realm_on_other_host_gets_no_password() {
    let realm = realm().await;
    let host = requires_token(&realm.by_name().join("token?hidden").unwrap()).await;
    let error = refusal(&host, &with_password(access())).await;
    assert!(matches!(error, OriginError::Unauthorised { .. }), "{error}");
    for part in ["localhost", "allowed to issue", &host.address()] {
        assert!(error.to_string().contains(part), "{error}");
    }
    assert!(realm.seen().is_empty());
    let allowed = Access { realms: vec!["localhost".to_owned()], ..with_password(access()) };
    open(&host, &allowed).await.fetch(&name()).await.unwrap();
    assert_eq!(realm.seen()[0].header("authorization"), Some(BASIC));
}

#[tokio::test]
async fn identity_token_is_exchanged() {
    let realm = realm().await;
    let host = requires_token(&realm.at("token")).await;
    let given = Some(Credentials::IdentityToken("hidden & refresh".to_owned().into()));
    let keychain = Keychain { given, ..Keychain::default() };
    open(&host, &Access { keychain, ..access() }).await.fetch(&name()).await.unwrap();
    let asked = &realm.seen()[0];
    assert_eq!((asked.method.as_str(), asked.target.as_str()), ("POST", "/token"));
    assert!(asked.body.contains("grant_type=refresh_token"), "{}", asked.body);
    assert!(asked.body.contains("refresh_token=hidden+%26+refresh"), "{}", asked.body);
    assert_eq!(asked.header("authorization"), None);
}

#[tokio::test]
async fn realm_without_token_is_reported() {
    for (answer, expected) in [
        ((|_| reply(401, "hidden")) as fn(&Seen) -> Reply, "rejected the credentials"),
        (|_| reply(200, "{}"), "it has no token"),
        (|_| reply(200, "{\"token\": \"\"}"), "it has no token"),
        (|_| reply(200, "hidden"), "not the expected JSON"),
        (|_| reply(200, "{\"token\": \"hidden\\nx\"}"), "invalid character in the value of the header"),
        (|_| endless(), "exceeds the limit of 4194304 bytes"),
        (|_| redirect("https://evil.example.com/?hidden"), "answered 307"),
        (|_| reply(500, ""), "answered 500"),
    ] {
        let realm = Host::start(answer).await;
        let host = requires_token(&realm.at("token")).await;
        let error = refusal(&host, &with_password(access())).await;
        assert!(error.to_string().contains(expected), "{error}");
    }
}

#[tokio::test]
async fn expired_token_is_renewed() {
    let count = std::sync::atomic::AtomicUsize::new(0);
    let realm = Host::start(move |_| {
        let number = count.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
        reply(200, json!({"access_token": format!("token-{number}")}).to_string())
    })
    .await;
    let challenge = format!("Bearer realm=\"{}\"", realm.at("token"));
    let host = registry(release(), move |seen| {
        let wanted = if seen.path().contains("/manifests/") { "Bearer token-0" } else { "Bearer token-1" };
        (seen.header("authorization") != Some(wanted))
            .then(|| with(reply(401, ""), "www-authenticate", &challenge))
    })
    .await;
    open(&host, &access()).await.fetch(&name()).await.unwrap();
    assert_eq!(realm.seen().len(), 2, "layers that are fetched at the same time share a new token");
}

#[tokio::test]
async fn redirect_to_other_host_drops_the_token() {
    let store = release();
    let blobs = store.blobs.clone();
    let content = move |seen: &Seen| reply(200, blobs[seen.path().trim_start_matches('/')].clone());
    let other = Host::start(content).await;
    let to = other.by_name();
    let host = registry(store, move |seen| {
        let refused = requires_basic(seen);
        let blob = seen.path().rsplit('/').next().unwrap();
        refused.or_else(|| {
            let to = format!("{to}{blob}?signature=hidden");
            seen.path().contains("/blobs/").then(|| redirect(&to))
        })
    })
    .await;
    let fetched = open(&host, &with_password(access())).await.fetch(&name()).await.unwrap();
    assert_eq!(fetched.files.len(), 3);
    assert_eq!(other.seen().len(), 3);
    for seen in other.seen() {
        assert_eq!(seen.header("authorization"), None);
        assert!(!format!("{seen:?}").contains("Basic"));
    }
}

#[tokio::test]
async fn redirect_target_cannot_request_a_password() {
    let realm = realm().await;
    let challenge = format!("Bearer realm=\"{}\"", realm.at("token"));
    let other = Host::start(move |_| with(reply(401, ""), "www-authenticate", &challenge)).await;
    let to = other.by_name();
    let redirecting = move |seen: &Seen| seen.path().contains("/manifests/").then(|| redirect(to.as_str()));
    let host = registry(release(), redirecting).await;
    let error = refusal(&host, &with_password(access())).await;
    assert!(matches!(error, OriginError::Unauthorised { .. }), "{error}");
    assert!(realm.seen().is_empty() && other.seen().len() == 1);
}

#[tokio::test]
async fn plain_http_is_used_only_if_requested() {
    let host = registry(release(), |_| None).await;
    let error = refusal(&host, &Access { plain_http: false, ..access() }).await;
    assert!(error.to_string().contains("does not speak TLS"), "{error}");
    assert!(host.seen().is_empty());
}

#[test]
fn which_realms_see_a_password() {
    let check = |realm: &str, registry: &str, has_credentials| {
        let registry = registry.parse().unwrap();
        realm::check(realm, &registry, has_credentials, &["allowed.example.org".to_owned()])
    };
    for (realm, registry) in [
        ("https://auth.docker.io/token", "https://registry-1.docker.io"),
        ("https://ghcr.io/token", "https://ghcr.io"),
        ("https://gitlab.com/jwt/auth", "https://registry.gitlab.com"),
        ("https://gitlab.example.com/jwt/auth", "https://registry.example.com"),
        ("https://gitlab.example.com/jwt/auth", "https://gitlab.example.com:5050"),
        ("https://example.co.uk/token", "https://registry.example.co.uk"),
        ("https://auth.kit.de/token", "https://registry.kit.de"),
        ("https://registry.scs.community/service/token", "https://registry.scs.community"),
        ("https://allowed.example.org/token", "https://registry.example.com"),
        ("http://127.0.0.1:5001/token", "http://127.0.0.1:5000"),
    ] {
        assert_eq!(
            check(realm, registry, true).map(|url| redacted_url(&url)),
            Ok(realm.to_owned()),
            "{registry}"
        );
    }
    for (realm, registry) in [
        ("https://evil.example.org/token", "https://registry.example.com"),
        ("https://evilexample.com/token", "https://registry.example.com"),
        ("https://example.com.evil.org/token", "https://registry.example.com"),
        ("https://evil.co.uk/token", "https://registry.co.uk"),
        ("https://evil.com.au/token", "https://registry.com.au"),
        ("https://evil.or.jp/token", "https://registry.or.jp"),
        ("https://evil.com/token", "https://example.com"),
        ("https://evil.de/token", "https://kit.de"),
        ("https://evil.0.0.1/token", "https://127.0.0.1"),
        ("https://10.0.0.2/token", "https://10.0.0.1"),
        ("https://[::2]/token", "https://[::1]"),
        ("https://evil/token", "https://registry"),
        ("https://localhost/token", "https://127.0.0.1"),
    ] {
        let error = check(realm, registry, true);
        assert!(
            matches!(error, Err(realm::RealmError::Foreign { .. } | realm::RealmError::NoUrl)),
            "{realm}: {error:?}"
        );
        if !realm.contains("0.0.1") {
            assert!(check(realm, registry, false).is_ok(), "without a password: {realm}");
        }
    }
    for has_credentials in [true, false] {
        for realm in ["http://registry.example.com/token", "ftp://registry.example.com/"] {
            let error = check(realm, "https://registry.example.com", has_credentials).unwrap_err();
            assert!(matches!(error, realm::RealmError::Plain(_)), "{realm}: {error}");
        }
        for realm in ["", "token", "/token", "mailto:x"] {
            let error = check(realm, "https://registry.example.com", has_credentials).unwrap_err();
            assert_eq!(error, realm::RealmError::NoUrl, "{realm}");
        }
    }
}
