use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::net::TcpListener;

use super::*;
use crate::release::Digest;

pub(crate) mod host;
mod tls;

use host::{Host, broken, endless, redirect, reply, stalled, unused_port, with};

const SECRET: &str = "Bearer very-secret";

pub(crate) fn options() -> Options {
    Options { pause: Duration::from_millis(1), overall: Duration::from_secs(20), ..Options::default() }
}

fn client() -> Client {
    Client::new(options()).unwrap()
}

fn secret(url: Url) -> Request {
    Request::get(url).authorization(&SECRET.into()).unwrap()
}

fn whole(bytes: &[u8]) -> Expected {
    Expected { digest: Some(Digest::of_bytes(bytes)), size: Some(bytes.len() as u64), most: 1 << 20 }
}

/// Returns a handler that gives the answers in turn, and repeats the last one.
fn in_turn<const COUNT: usize>(
    answers: [fn() -> host::Reply; COUNT],
) -> impl Fn(&host::Seen) -> host::Reply + Send + Sync {
    let turn = AtomicUsize::new(0);
    move |_| answers[turn.fetch_add(1, Ordering::SeqCst).min(COUNT - 1)]()
}

#[test]
fn logged_urls_contain_no_secrets() {
    for (url, expected) in [
        ("https://user:password@example.com/a?token=secret#secret", "https://example.com/a"),
        ("http://token@[::1]:8080", "http://[::1]:8080/"),
        ("https://example.com/\u{1b}[31m", "https://example.com/%1B[31m"),
    ] {
        assert_eq!(redacted_url(&url.parse().unwrap()), expected);
    }
    let long: Url = format!("https://example.com/{}", "x".repeat(10_000)).parse().unwrap();
    assert!(redacted_url(&long).len() < 400);
}

#[test]
fn loopback_hosts_are_recognized() {
    for (host, expected) in [
        ("127.0.0.1", true),
        ("127.8.8.8", true),
        ("[::1]", true),
        ("[::ffff:127.0.0.1]", true),
        ("localhost", true),
        ("LOCALHOST.", true),
        ("registry.localhost", true),
        ("2130706433", true),
        ("10.0.0.1", false),
        ("example.com", false),
        ("localhost.example.com", false),
        ("notlocalhost", false),
    ] {
        let url = format!("https://{host}/").parse().unwrap();
        assert_eq!(is_loopback(&url), expected, "{host}");
    }
}

#[tokio::test]
async fn redirect_to_this_machine_or_link_is_refused() {
    let host = Host::start(|_| reply(200, "secret of this machine")).await;
    let registry: Url = "http://registry.example.com/v2/".parse().unwrap();
    for to in [host.at("/latest/meta-data/"), host.by_name(), "http://169.254.169.254/".parse().unwrap()] {
        let request = Request::get(registry.clone()).moved(to.clone());
        let error = client().send(&request).await.unwrap_err().to_string();
        assert!(error.contains("local to this machine or its link"), "{to}: {error}");
        // A realm is a URL that the registry named, too.
        assert!(client().send(&Request::get(to).named_by(&registry)).await.is_err());
    }
    assert_eq!(host.seen().len(), 0, "nothing was asked");
    // A local host may redirect to another local one, and any host to itself.
    let request = Request::get(host.at("/v2/")).moved(host.by_name());
    assert_eq!(client().send(&request).await.unwrap().status(), 200);
    assert!(!Request::get(registry.clone()).moved(registry.join("other").unwrap()).is_foreign);
}

#[tokio::test]
async fn invalid_requests_are_refused() {
    for url in [
        "ftp://127.0.0.1/",
        "file:///etc/passwd",
        "https://user:hidden@127.0.0.1/",
        "https://hidden@127.0.0.1/",
    ] {
        let error = client().send(&Request::get(url.parse().unwrap())).await.unwrap_err();
        assert!(matches!(error, TransportError::Url { .. }), "{error}");
        assert!(!format!("{error}{error:?}").contains("hidden"), "{error}");
    }
    let error = Request::get("https://x/".parse().unwrap()).authorization(&"hidden\n".into()).unwrap_err();
    assert!(!format!("{error}{error:?}").contains("hidden"), "{error}");
    let request = secret("https://x/?hidden".parse().unwrap());
    assert!(!format!("{request:?}").contains("hidden") && !format!("{request:?}").contains("very-secret"));
}

#[tokio::test]
async fn redirect_to_same_host_keeps_the_secret() {
    let host = Host::start(|seen| match seen.path() {
        "/a" => redirect("/b?c"),
        _ => reply(200, "there"),
    })
    .await;
    let answer = client().follow(&secret(host.at("a"))).await.unwrap();
    assert_eq!(answer.url(), &host.at("b?c"));
    assert_eq!(answer.bytes(10).await.unwrap(), b"there");
    assert!(host.seen().iter().all(|seen| seen.header("authorization") == Some(SECRET)));
}

#[tokio::test]
async fn redirect_to_other_host_drops_the_secret() {
    let last =
        Host::start(|_| with(reply(401, ""), "www-authenticate", "Bearer realm=\"https://evil/\"")).await;
    let back = last.by_name();
    let other = Host::start(move |_| redirect(back.as_str())).await;
    let to = other.by_name();
    let host = Host::start(move |_| redirect(to.as_str())).await;
    let error = client().follow(&secret(host.url.clone())).await.unwrap().refusal();
    assert!(
        matches!(&error, TransportError::Status { status: 401, challenges, .. } if challenges.is_empty())
    );
    assert_eq!(host.seen()[0].header("authorization"), Some(SECRET));
    for seen in other.seen().iter().chain(&last.seen()) {
        assert_eq!(seen.header("authorization"), None);
        assert!(!format!("{:?}", seen.headers).contains("very-secret"));
    }
    assert_eq!((other.seen().len(), last.seen().len()), (1, 1));
}

#[tokio::test]
async fn other_port_is_another_host() {
    let other = Host::start(|_| reply(200, "")).await;
    let to = other.url.clone();
    let host = Host::start(move |_| redirect(to.as_str())).await;
    client().follow(&secret(host.url.clone())).await.unwrap();
    assert_eq!(other.seen()[0].header("authorization"), None);
}

#[tokio::test]
async fn unsafe_redirects_are_refused() {
    for (location, expected) in [
        (Some("ftp://127.0.0.1/x?hidden"), "neither http nor https"),
        (Some("file:///etc/passwd"), "neither http nor https"),
        (Some("http://[hidden/"), "is not a URL"),
        (Some("/again?hidden"), "more than five redirects"),
        (None, "the header Location is missing"),
    ] {
        let host = Host::start(move |_| location.map_or_else(|| reply(302, ""), redirect)).await;
        let error = client().follow(&Request::get(host.at("a?hidden"))).await.unwrap_err();
        assert!(matches!(error, TransportError::Redirect { .. }), "{error}");
        assert!(error.to_string().contains(expected), "{error}");
        assert!(error.to_string().contains(&host.address()), "{error}");
        assert!(!format!("{error}{error:?}").contains("hidden"), "{error}");
        assert!(host.seen().len() <= 6);
    }
}

#[tokio::test]
async fn only_get_is_redirected() {
    let host = Host::start(|_| redirect("/b")).await;
    let answer = client().follow(&Request::new(Method::POST, host.url.clone())).await.unwrap();
    assert_eq!((answer.status(), host.seen().len()), (307, 1));
}

#[tokio::test]
async fn body_over_limit_is_refused() {
    let host = Host::start(|_| endless()).await;
    let answer = client().follow(&Request::get(host.url.clone())).await.unwrap();
    let error = answer.bytes(100_000).await.unwrap_err();
    assert!(matches!(error, TransportError::TooLarge { most: 100_000, .. }), "{error}");
    let host = Host::start(|_| broken(200, b"x", Some(100_001))).await;
    let answer = client().follow(&Request::get(host.url.clone())).await.unwrap();
    let error = answer.bytes(100_000).await.unwrap_err();
    assert!(matches!(error, TransportError::TooLarge { .. }), "announced: {error}");
}

#[tokio::test]
async fn serde_errors_quote_no_content() {
    let host = Host::start(|_| reply(200, "{\"token\": \"hidden\"}")).await;
    let answer = client().ask(&Request::get(host.url.clone())).await.unwrap();
    let error = answer.json::<Vec<String>>().await.unwrap_err();
    assert!(matches!(error, TransportError::Malformed { .. }), "{error}");
    assert!(!format!("{error}{error:?}").contains("hidden"), "{error}");
}

#[tokio::test]
async fn transient_failure_is_retried() {
    let busy = || with(reply(503, ""), "retry-after", "0");
    let host = Host::start(in_turn([busy, || reply(429, ""), || reply(200, "x")])).await;
    let answer = client().ask(&Request::get(host.url.clone())).await.unwrap();
    assert_eq!((answer.status(), host.seen().len()), (200, 3));
    let host = Host::start(|_| reply(500, "")).await;
    let error = client().ask(&Request::get(host.url.clone())).await.unwrap_err();
    assert_eq!((error.status(), host.seen().len()), (Some(500), 4));
}

#[tokio::test]
async fn permanent_failure_is_not_retried() {
    for status in [400, 401, 403, 404, 501] {
        let host = Host::start(move |_| reply(status, "")).await;
        let answer = client().ask(&Request::get(host.url.clone())).await.unwrap();
        assert_eq!((answer.status(), host.seen().len()), (status, 1));
    }
    let error = client().ask(&Request::get(unused_port().await)).await.unwrap_err();
    assert!(matches!(error, TransportError::Unreachable { .. }), "{error}");
}

#[tokio::test]
async fn long_retry_delay_is_not_awaited() {
    let host = Host::start(|_| with(reply(429, ""), "retry-after", "3600")).await;
    let error = client().ask(&Request::get(host.url.clone())).await.unwrap_err();
    assert_eq!(host.seen().len(), 1);
    assert!(error.to_string().contains("429; retry after 3600 s"), "{error}");
    let used_up = || with(reply(403, ""), "x-ratelimit-remaining", "0");
    let host = Host::start(move |_| with(used_up(), "x-ratelimit-reset", "4102444800")).await;
    let answer = client().ask(&Request::get(host.url.clone())).await.unwrap();
    assert!(answer.refusal().to_string().contains("; retry after "));
}

#[test]
fn retry_after_dates_are_read() {
    assert_eq!(answer::pause_of(" 7 "), Some(Duration::from_secs(7)));
    assert_eq!(answer::pause_of("Sun, 06 Nov 1994 08:49:37 GMT"), Some(Duration::ZERO));
    assert!(answer::pause_of("Fri, 01 Jan 2100 00:00:00 GMT").unwrap() > Duration::from_secs(1 << 30));
    for nonsense in ["", "-1", "soon", "99999999999999999999", "Sun, 06 Nov 1994"] {
        assert_eq!(answer::pause_of(nonsense), None, "{nonsense}");
    }
    for nonsense in ["", "x", "9223372036854775807", "-9223372036854775808"] {
        assert_eq!(answer::until_second(nonsense), None, "{nonsense}");
    }
}

#[tokio::test]
async fn interrupted_download_is_resumed() {
    const BODY: &[u8] = b"0123456789";
    let host = Host::start(|seen| match seen.header("range") {
        None => broken(200, &BODY[..4], Some(10)),
        Some("bytes=4-") => with(broken(206, &BODY[4..7], Some(6)), "content-range", "bytes 4-9/10"),
        Some(_) => with(reply(206, &BODY[7..]), "content-range", "bytes 7-9/10"),
    })
    .await;
    let (bytes, digest) =
        client().download(&Request::get(host.url.clone()), whole(BODY), Vec::new()).await.unwrap();
    assert_eq!((bytes.as_slice(), digest), (BODY, Digest::of_bytes(BODY)));
    let ranges: Vec<_> = host.seen().iter().map(|seen| seen.header("range").map(str::to_owned)).collect();
    assert_eq!(ranges, [None, Some("bytes=4-".to_owned()), Some("bytes=7-".to_owned())]);
}

#[tokio::test]
async fn download_without_ranges_starts_over() {
    let host = Host::start(in_turn([|| broken(200, b"01234", Some(10)), || reply(200, "0123456789")])).await;
    let file = tokio::fs::File::from_std(tempfile::tempfile().unwrap());
    let (file, _) =
        client().download(&Request::get(host.url.clone()), whole(b"0123456789"), file).await.unwrap();
    let mut file = file.into_std().await;
    let mut text = String::new();
    std::io::Seek::rewind(&mut file).unwrap();
    std::io::Read::read_to_string(&mut file, &mut text).unwrap();
    assert_eq!(text, "0123456789");
}

#[tokio::test]
async fn download_resumed_with_other_content_is_refused() {
    let rest = || with(reply(206, "other"), "content-range", "bytes 5-9/10");
    let host = Host::start(in_turn([|| broken(200, b"01234", Some(10)), rest])).await;
    let download =
        client().download(&Request::get(host.at("a?hidden")), whole(b"0123456789"), Vec::new()).await;
    let error = download.unwrap_err();
    assert!(matches!(error, TransportError::Digest { .. }), "{error}");
    assert!(error.to_string().contains(&host.address()) && !error.to_string().contains("hidden"), "{error}");
}

#[tokio::test]
async fn download_with_wrong_size_is_refused() {
    let longer = || with(reply(206, "56789"), "content-range", "bytes 6-10/11");
    for (answers, expected) in [
        ([|| reply(200, "0123456789+"), || reply(500, "")], "expected 10 bytes, got 11"),
        ([|| reply(200, "012345678"), || reply(500, "")], "expected 10 bytes, got 9"),
        ([endless, || reply(500, "")], "exceeds the limit of 10 bytes"),
        ([|| broken(200, b"01234", None), longer], "requested the bytes from 5 on, got others"),
        ([|| broken(200, b"01234", None), || reply(416, "")], "answered 416"),
        ([|| broken(200, b"01234", None), || broken(200, b"01234", None)], "broke off"),
    ] as [([fn() -> host::Reply; 2], &str); 6]
    {
        let host = Host::start(in_turn(answers)).await;
        let download =
            client().download(&Request::get(host.url.clone()), whole(b"0123456789"), Vec::new()).await;
        let error = download.unwrap_err();
        assert!(error.to_string().contains(expected), "{error}");
        assert!(host.seen().len() <= 4);
    }
}

#[tokio::test]
async fn download_over_limit_is_not_requested() {
    let host = Host::start(|_| endless()).await;
    let expected = Expected { digest: None, size: Some(11), most: 10 };
    let error = client().download(&Request::get(host.url.clone()), expected, Vec::new()).await.unwrap_err();
    assert!(matches!(error, TransportError::TooLarge { most: 10, .. }), "{error}");
    assert!(host.seen().is_empty());
}

#[test]
fn next_page_link_is_read() {
    let page: Url = "https://example.com/v2/x/tags/list?n=2".parse().unwrap();
    let next = |headers: &[&str]| next_page(&page, headers.iter().copied()).map(|url| url.map(String::from));
    for (headers, expected) in [
        (
            vec!["</v2/x/tags/list?n=2&last=b>; rel=\"next\""],
            Some("https://example.com/v2/x/tags/list?n=2&last=b"),
        ),
        (vec!["<?last=b>;rel=next"], Some("https://example.com/v2/x/tags/list?last=b")),
        (
            vec!["<a>; rel=prev", "<b>; title=\"x, <c>; rel=next\"; REL=\"last NEXT\""],
            Some("https://example.com/v2/x/tags/b"),
        ),
        (
            vec!["<https://example.com/2>; rel=\"next\", <https://evil/9>; rel=\"last\""],
            Some("https://example.com/2"),
        ),
        (vec!["<https://example.com:443/2>; rel=next"], Some("https://example.com/2")),
        (vec!["<a>; rel=prev"], None),
        (vec![], None),
        (vec!["", "<", "<a", "a>; rel=next", ";;;,,,=\"", "<a>; rel", "<a>; title=next"], None),
    ] {
        assert_eq!(next(&headers).unwrap().as_deref(), expected, "{headers:?}");
    }
    for elsewhere in [
        "<https://evil.example.com/?hidden>",
        "<http://example.com/>",
        "<https://example.com:444/>",
        "<//evil/>",
    ] {
        let error = next(&[&format!("{elsewhere}; rel=next")]).unwrap_err();
        assert!(matches!(error, TransportError::Redirect { .. }), "{error}");
        assert!(!error.to_string().contains("hidden"));
    }
    assert!(matches!(next(&["<http://[>; rel=next"]).unwrap_err(), TransportError::Malformed { .. }));
}

#[tokio::test]
async fn silent_host_is_not_waited_for_twice() {
    let options = || Options { silence: Duration::from_millis(200), ..options() };
    let asked = Arc::new(AtomicUsize::new(0));
    let (count, listener) = (Arc::clone(&asked), TcpListener::bind("127.0.0.1:0").await.unwrap());
    let url: Url = format!("http://{}/a", listener.local_addr().unwrap()).parse().unwrap();
    tokio::spawn(async move {
        let mut kept = Vec::new();
        while let Ok((stream, _)) = listener.accept().await {
            count.fetch_add(1, Ordering::SeqCst);
            kept.push(stream);
        }
    });
    let error = Client::new(options()).unwrap().ask(&Request::get(url.clone())).await.unwrap_err();
    assert!(matches!(error, TransportError::Silent { received: None, .. }), "{error}");
    let expected = format!("{url}: timed out after 0 s without a byte, waiting for the answer to begin");
    assert_eq!(error.to_string(), expected);
    assert_eq!(asked.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn silent_body_times_out() {
    let client = Client::new(Options { silence: Duration::from_millis(200), ..options() }).unwrap();
    let host = Host::start(|_| stalled(b"", 10)).await;
    let error = client.download(&Request::get(host.url.clone()), whole(b"0123456789"), Vec::new()).await;
    let error = error.unwrap_err();
    assert!(error.to_string().ends_with("waiting for the content of the answer"), "{error}");
    assert_eq!(host.seen().len(), 1);
    let rest = || with(reply(206, "456789"), "content-range", "bytes 4-9/10");
    let host = Host::start(in_turn([|| stalled(b"0123", 10), rest])).await;
    let download = client.download(&Request::get(host.url.clone()), whole(b"0123456789"), Vec::new()).await;
    assert_eq!(download.unwrap().0, b"0123456789", "what came is kept");
    let host = Host::start(|_| stalled(b"0123", 10)).await;
    let answer = client.follow(&Request::get(host.url.clone())).await.unwrap();
    let error = answer.bytes(100).await.unwrap_err();
    assert!(error.to_string().ends_with("waiting for the rest of the answer after 4 bytes"), "{error}");
}
