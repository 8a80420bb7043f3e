//! Registries that lie: the error names what was wrong and the URL that sent it, and nothing of the answer is used.

use super::*;

fn blob(content: &[u8]) -> String {
    format!("/v2/{REPOSITORY}/blobs/{}", digest(content))
}

/// Starts a registry that gives a wrong answer for the layer of the cluster class.
async fn lying_about_the_class(lie: impl Fn(&Seen) -> Reply + Send + Sync + 'static) -> Host {
    let path = blob(b"the class");
    registry(release(), move |seen| (seen.path() == path).then(|| lie(seen))).await
}

#[tokio::test]
async fn layer_with_wrong_digest_is_refused() {
    let host = lying_about_the_class(|_| reply(200, "the glass")).await;
    let error = refusal(&host, &access()).await;
    assert!(matches!(error, OriginError::Transport(TransportError::Digest { .. })), "{error}");
    for part in [host.address(), digest(b"the class"), digest(b"the glass")] {
        assert!(error.to_string().contains(&part), "{error}");
    }
}

#[tokio::test]
async fn layer_with_wrong_size_is_refused() {
    for (lie, expected) in [
        (endless as fn() -> Reply, "exceeds the limit of 9 bytes"),
        (|| reply(200, "the class is longer"), "expected 9 bytes, got 19"),
        (|| reply(200, "the"), "expected 9 bytes, got 3"),
        (|| broken(200, b"the cl", Some(9)), "the answer broke off"),
    ] {
        let host = lying_about_the_class(move |_| lie()).await;
        let error = refusal(&host, &access()).await;
        assert!(error.to_string().contains(expected), "{error}");
        assert!(error.to_string().contains(&host.address()), "{error}");
    }
}

#[tokio::test]
async fn layer_resumed_with_other_bytes_is_refused() {
    let host = lying_about_the_class(|seen| match seen.header("range") {
        None => broken(200, b"the c", Some(9)),
        Some(range) => {
            assert_eq!(range, "bytes=5-");
            with(reply(206, "rime"), "content-range", "bytes 5-8/9")
        }
    })
    .await;
    let error = refusal(&host, &access()).await;
    assert!(matches!(error, OriginError::Transport(TransportError::Digest { .. })), "{error}");
}

#[tokio::test]
async fn interrupted_layer_is_resumed() {
    let host = lying_about_the_class(|seen| match seen.header("range") {
        None => broken(200, b"the c", Some(9)),
        Some(_) => with(reply(206, "lass"), "content-range", "bytes 5-8/9"),
    })
    .await;
    assert_eq!(open(&host, &access()).await.fetch(&name()).await.unwrap().files.len(), 3);
}

#[tokio::test]
async fn manifest_of_other_digest_is_refused() {
    let claims = |claimed: &'static [u8]| {
        move |seen: &Seen| {
            let reply = reply(200, release().manifest);
            seen.path()
                .contains("/manifests/")
                .then(|| with(reply, "docker-content-digest", &digest(claimed)))
        }
    };
    let host = registry(release(), claims(b"other")).await;
    let error = refusal(&host, &access()).await;
    assert!(matches!(error, OriginError::Transport(TransportError::Digest { .. })), "the header: {error}");
    let host = registry(release(), claims(b"pinned")).await;
    let pinned = format!("{}/{REPOSITORY}:{NAME}@{}", host.address(), digest(b"pinned"));
    let error = open_at(&pinned, &access()).await.fetch(&name()).await.unwrap_err();
    assert!(matches!(error, OriginError::Transport(TransportError::Digest { .. })), "the pin: {error}");
}

#[tokio::test]
async fn oversized_manifest_is_refused() {
    let large = vec![b' '; 10 << 20];
    let host = registry(release(), move |seen| {
        seen.path().contains("/manifests/").then(|| reply(200, large.clone()))
    })
    .await;
    let error = refusal(&host, &access()).await;
    assert!(
        matches!(error, OriginError::Transport(TransportError::TooLarge { most: 4_194_304, .. })),
        "{error}"
    );
    let host = registry(release(), |seen| seen.path().contains("/manifests/").then(endless)).await;
    let error = refusal(&host, &access()).await;
    assert!(matches!(error, OriginError::Transport(TransportError::TooLarge { .. })), "{error}");
}

#[tokio::test]
async fn oversized_descriptors_are_refused() {
    for size in [1_u64 << 20, u64::MAX] {
        let store = Store::with_layers(&[("metadata.yaml", b"x"), ("a", b"y")], |mut layers| {
            layers[1]["size"] = size.into();
            layers
        });
        let host = registry(store, |_| None).await;
        let error = refusal(&host, &access()).await;
        assert!(error.to_string().contains("the release exceeds the limit of 1048576 bytes"), "{error}");
        assert_eq!(host.seen().len(), 1, "nothing is fetched: {:?}", host.targets());
    }
}

#[tokio::test]
async fn invalid_layer_titles_are_refused() {
    let long = "x/".repeat(600);
    for (titles, expected) in [
        (vec!["../evil"], "has a `..` in it"),
        (vec!["/etc/passwd"], "absolute"),
        (vec!["a\\..\\b"], "has a `..` in it"),
        (vec!["a\u{1b}[31m"], "not plain"),
        (vec![""], "not plain"),
        (vec![long.as_str()], "1,024 bytes"),
        (vec!["metadata.yaml", "metadata.yaml"], "the same path"),
        (vec!["a", "a/b"], "the same path"),
    ] {
        let files: Vec<(&str, &[u8])> = titles.iter().map(|title| (*title, b"x".as_slice())).collect();
        let host = registry(Store::of(&files), |_| None).await;
        let error = refusal(&host, &access()).await;
        assert!(matches!(error, OriginError::Transport(TransportError::Malformed { .. })), "{error}");
        assert!(error.to_string().contains(expected), "{titles:?}: {error}");
        assert!(!error.to_string().contains('\x1b'));
        assert_eq!(host.seen().len(), 1, "nothing is fetched: {:?}", host.targets());
    }
}

#[tokio::test]
async fn more_files_than_a_release_has() {
    let names: Vec<String> = (0..21).map(|number| format!("file-{number}")).collect();
    let files: Vec<(&str, &[u8])> = names.iter().map(|name| (name.as_str(), b"x".as_slice())).collect();
    let host = registry(Store::of(&files), |_| None).await;
    let error = refusal(&host, &access()).await;
    assert!(error.to_string().contains("the release exceeds the limit of 20 files: it has 21"), "{error}");
}

#[tokio::test]
async fn untitled_and_packed_layers_are_refused() {
    let untitled = Store::with_layers(&[("a", b"x")], |mut layers| {
        layers[0]["annotations"] = Value::Null;
        layers
    });
    let error = refusal(&registry(untitled, |_| None).await, &access()).await;
    assert!(error.to_string().contains("no layer has the annotation"), "{error}");
    let unpack = Store::with_layers(&[("a", b"x")], |mut layers| {
        layers[0]["annotations"]["io.deis.oras.content.unpack"] = "true".into();
        layers
    });
    let error = refusal(&registry(unpack, |_| None).await, &access()).await;
    assert!(error.to_string().contains("push files instead"), "{error}");
}

#[tokio::test]
async fn pages_of_tags_without_end() {
    let host = registry(release(), |seen| {
        let page: u32 = seen.target.split("page=").nth(1).map_or(0, |page| page.parse().unwrap());
        let next = format!("</v2/{REPOSITORY}/tags/list?page={}>; rel=\"next\"", page + 1);
        Some(with(reply(200, json!({"tags": [format!("tag-{page}")]}).to_string()), "link", &next))
    })
    .await;
    let error = open(&host, &access()).await.list().await.unwrap_err();
    assert!(
        matches!(
            error,
            OriginError::Transport(TransportError::TooLarge { most: 200, unit: "pages of tags", .. })
        ),
        "{error}"
    );
    assert_eq!(host.seen().len(), 200);
}

#[tokio::test]
async fn more_tags_than_anybody_has() {
    let host = registry(release(), |seen| {
        let page = seen.target.split("page=").nth(1).unwrap_or("0");
        let tags: Vec<String> = (0..60_000).map(|tag| format!("tag-{page}-{tag}")).collect();
        let next = format!("</v2/{REPOSITORY}/tags/list?page={page}1>; rel=\"next\"");
        Some(with(reply(200, json!({"tags": tags}).to_string()), "link", &next))
    })
    .await;
    let error = open(&host, &access()).await.list().await.unwrap_err();
    assert!(
        matches!(error, OriginError::Transport(TransportError::TooLarge { most: 100_000, unit: "tags", .. })),
        "{error}"
    );
    assert_eq!(host.seen().len(), 2);
}

#[tokio::test]
async fn repeated_page_ends_the_listing() {
    let host = registry(release(), |_| {
        let next = format!("</v2/{REPOSITORY}/tags/list>; rel=\"next\"");
        Some(with(reply(200, json!({"tags": [NAME]}).to_string()), "link", &next))
    })
    .await;
    assert_eq!(open(&host, &access()).await.list().await.unwrap().releases.len(), 1);
    assert_eq!(host.seen().len(), 2);
}

#[tokio::test]
async fn next_page_on_other_host_is_refused() {
    let other = Host::start(|_| reply(200, "{}")).await;
    let next = format!("<{}v2/x/tags/list?hidden>; rel=\"next\"", other.url);
    let host =
        registry(release(), move |_| Some(with(reply(200, "{\"tags\":[\"a\"]}"), "link", &next))).await;
    let error = open(&host, &with_password(access())).await.list().await.unwrap_err();
    assert!(matches!(error, OriginError::Transport(TransportError::Redirect { .. })), "{error}");
    assert!(
        error.to_string().contains(&host.address()) && error.to_string().contains(&other.address()),
        "{error}"
    );
    assert!(!error.to_string().contains("hidden"));
    assert!(other.seen().is_empty());
}

#[tokio::test]
async fn invalid_answers_are_refused() {
    for body in ["", "{", "[]", "<html>", "{\"schemaVersion\": 1, \"layers\": []}", "{\"schemaVersion\": 2}"]
    {
        let host =
            registry(release(), move |seen| seen.path().contains("/manifests/").then(|| reply(200, body)))
                .await;
        let error = refusal(&host, &access()).await;
        assert!(matches!(error, OriginError::Transport(TransportError::Malformed { .. })), "{body}: {error}");
        assert!(error.to_string().contains(&host.address()), "{error}");
    }
    for body in ["", "[]", "{\"tags\": 1}", "{\"tags\": [1]}"] {
        let host = Host::start(move |_| reply(200, body)).await;
        let error = open(&host, &access()).await.list().await.unwrap_err();
        assert!(matches!(error, OriginError::Transport(TransportError::Malformed { .. })), "{body}: {error}");
    }
}
