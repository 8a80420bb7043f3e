//! Mirrors: tried first, and trusted no more than the registry.

use super::*;

/// Returns access with a mirror for this host.
fn mirrored(host: &Host, mirror: &Url) -> Access {
    let mirror = format!("{}={mirror}", host.address()).parse().unwrap();
    Access { mirrors: vec![mirror], ..with_password(access()) }
}

#[tokio::test]
async fn prefixed_mirror_is_tried_first_anonymously() {
    let host = registry(release(), |_| None).await;
    let answer = |_: &Seen| None;
    let mirror = registry(release(), answer).await;
    let origin = open(&host, &mirrored(&host, &mirror.at("proxy/scs/"))).await;
    let fetched = origin.fetch(&name()).await.unwrap();
    assert!(
        fetched.provenance.source.starts_with(&format!("oci://{}/", host.address())),
        "the address stays"
    );
    assert!(host.seen().is_empty());
    for seen in mirror.seen() {
        assert!(seen.target.starts_with("/v2/proxy/scs/kaas/stacks/"), "{}", seen.target);
        assert_eq!(seen.header("authorization"), None);
    }
}

#[tokio::test]
async fn registry_password_is_not_sent_to_mirror() {
    let host = registry(release(), |_| None).await;
    let challenge = "Basic realm=\"x\"";
    let mirror = Host::start(move |_| with(reply(401, ""), "www-authenticate", challenge)).await;
    open(&host, &mirrored(&host, &mirror.url)).await.fetch(&name()).await.unwrap();
    assert!(mirror.seen().iter().all(|seen| seen.header("authorization").is_none()));
    assert_eq!(mirror.seen().len(), 1, "it is not asked again");
}

#[tokio::test]
async fn empty_mirror_falls_back_to_the_registry() {
    let host = registry(release(), |_| None).await;
    for status in [404, 500, 403] {
        let mirror = Host::start(move |_| reply(status, "")).await;
        let origin = open(&host, &mirrored(&host, &mirror.url)).await;
        assert_eq!(origin.fetch(&name()).await.unwrap().files.len(), 3, "{status}");
        assert_eq!(origin.list().await.unwrap().releases.len(), 1, "{status}");
    }
    let gone = unused_port().await;
    assert_eq!(open(&host, &mirrored(&host, &gone)).await.fetch(&name()).await.unwrap().files.len(), 3);
}

#[tokio::test]
async fn partial_mirror_falls_back_for_missing_layers() {
    let host = registry(release(), |_| None).await;
    let missing = digest(b"the class");
    let mirror =
        registry(release(), move |seen| seen.path().ends_with(&missing).then(|| reply(404, ""))).await;
    let fetched = open(&host, &mirrored(&host, &mirror.url)).await.fetch(&name()).await.unwrap();
    assert_eq!(fetched.files.len(), 3);
    assert_eq!(host.targets(), [format!("/v2/{REPOSITORY}/blobs/{}", digest(b"the class"))]);
}

#[tokio::test]
async fn wrong_content_of_a_mirror_names_the_mirror() {
    let host = registry(release(), |_| None).await;
    let mirror = registry(release(), |seen| seen.path().contains("/blobs/").then(|| reply(200, "x"))).await;
    let error = open(&host, &mirrored(&host, &mirror.url)).await.fetch(&name()).await.unwrap_err();
    assert!(error.to_string().contains(&mirror.address()), "{error}");
    assert!(host.seen().is_empty());
    let pinned = format!("{}/{REPOSITORY}:{NAME}@{}", host.address(), digest(&release().manifest));
    let other = Store::of(&[("metadata.yaml", b"other")]).manifest;
    let mirror = registry(release(), move |seen| {
        seen.path().contains("/manifests/").then(|| reply(200, other.clone()))
    })
    .await;
    let error = open_at(&pinned, &mirrored(&host, &mirror.url)).await.fetch(&name()).await.unwrap_err();
    assert!(matches!(error, OriginError::Transport(TransportError::Digest { .. })), "{error}");
}

#[tokio::test]
async fn malformed_mirror_answer_names_the_mirror() {
    let host = registry(release(), |_| None).await;
    let list =
        json!({"manifests": [{"mediaType": "x", "digest": digest(b"rubbish"), "size": 7}]}).to_string();
    let in_a_list = move |seen: &Seen| {
        let rubbish = seen.path().ends_with(&digest(b"rubbish"));
        reply(200, if rubbish { "rubbish".to_owned() } else { list.clone() })
    };
    for mirror in [Host::start(|_| reply(200, "rubbish")).await, Host::start(in_a_list).await] {
        let error = open(&host, &mirrored(&host, &mirror.url)).await.fetch(&name()).await.unwrap_err();
        assert!(matches!(error, OriginError::Transport(TransportError::Malformed { .. })), "{error}");
        let text = error.to_string();
        assert!(text.contains(&mirror.address()) && !text.contains(&host.address()), "{text}");
    }
}

#[tokio::test]
async fn mirror_of_other_registry_is_not_used() {
    let (host, mirror) = (registry(release(), |_| None).await, registry(release(), |_| None).await);
    let mirrors = vec![format!("registry.example.com={}", mirror.url).parse().unwrap()];
    open(&host, &Access { mirrors, ..access() }).await.fetch(&name()).await.unwrap();
    assert!(mirror.seen().is_empty());
}

#[test]
fn mirror_configuration_is_parsed() {
    let mirror: Mirror = "registry.example.com:5000=https://mirror.example.com/prefix".parse().unwrap();
    assert_eq!(mirror.registry, "registry.example.com:5000");
    for wrong in [
        "",
        "registry.example.com",
        "=https://mirror.example.com",
        "a/b=https://mirror.example.com",
        "a=mirror.example.com",
        "a=oci://mirror.example.com",
        "a=https://user:hidden@mirror.example.com",
        "a=https://mirror.example.com/?hidden",
        "a=https:///",
    ] {
        let error = wrong.parse::<Mirror>().unwrap_err();
        assert!(!error.to_string().contains("hidden"), "{error}");
    }
}
