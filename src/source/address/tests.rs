use super::*;

const RELEASE: &str = "openstack-scs-1-34-v2";
const DIGEST: &str = "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

fn parse(text: &str) -> Address {
    text.parse().unwrap()
}

fn refused(text: &str) -> String {
    text.parse::<Address>().unwrap_err().to_string()
}

#[test]
fn address_round_trips() {
    for text in [
        "oci://registry.example.com/kaas/cluster-stacks",
        &format!("oci://127.0.0.1:5000/stacks:{RELEASE}"),
        &format!("oci://[::1]:5000/stacks:{RELEASE}@{DIGEST}"),
        &format!("oci://localhost/a__b/c-d.e@{DIGEST}"),
        "github://SovereignCloudStack/cluster-stacks",
        &format!("github://SovereignCloudStack/cluster-stacks@{RELEASE}"),
        "git+https://git.example.com/stacks.git",
        "git+https://git.example.com/stacks.git//releases?ref=feature/x",
        &format!("git+https://git.example.com/stacks.git//releases/{RELEASE}?ref=v1"),
        &format!("git+ssh://git@git.example.com:2222/stacks.git//{RELEASE}"),
        "git+file:///srv/stacks.git//a/b",
        "git+file:///srv/with@at.git//a@b?ref=stacks@1.0",
        "git+https://host/%40scope/stacks.git",
        "stacks/releases",
        "/srv/with:colon@and-at",
    ] {
        assert_eq!(parse(text).to_string(), text);
    }
}

#[test]
fn address_parts_are_parsed() {
    let Address::Oci(oci) = parse(&format!("oci://host:5000/a/b:{RELEASE}@{DIGEST}")) else { panic!() };
    assert_eq!((oci.registry.as_str(), oci.repository.as_str()), ("host:5000", "a/b"));
    assert_eq!(oci.release, Some(RELEASE.parse().unwrap()));
    assert_eq!(oci.digest, Some(DIGEST.parse().unwrap()));
    assert_eq!(oci.without_release().to_string(), "oci://host:5000/a/b");

    let Address::Git(git) = parse(&format!("git+https://host/a.git//x/{RELEASE}/?ref=main")) else {
        panic!()
    };
    assert_eq!((git.url.as_str(), git.directory.as_str()), ("https://host/a.git", "x"));
    assert_eq!((git.release, git.reference.as_deref()), (Some(RELEASE.parse().unwrap()), Some("main")));

    assert_eq!(parse(&format!("github://a/b@{RELEASE}")).release(), Some(&RELEASE.parse().unwrap()));
    assert_eq!(parse(RELEASE).release(), None, "a path has to be looked at");
}

#[test]
fn password_is_never_shown() {
    for text in [
        "oci://user:geheim@host/stacks",
        "oci://user:geheim@host",
        "github://user:geheim@/x",
        "https://user:geheim@host/stacks.git",
        "git+https://user:geheim@host/stacks.git",
        "git+https://geheim@host/stacks.git",
        "git+ssh://git:geheim@host/stacks.git",
        "git+https://user:geheim@/",
        "ftp://user:geheim@host",
        "git+https://git.example.com/x.git?access_token=geheim",
        "https://git.example.com/x.git?private_token=geheim",
        "git+https://host/x.git?ref=main&access_token=geheim",
        "git+https://host/x.git#geheim",
        "git+https://host/x.git//stacks#geheim",
        "git+https://user:pa/geheim@git.example.com/x.git",
        "git+https://user:80/geheim@git.example.com/x.git",
        "git+https://user:pa?geheim@git.example.com/x.git",
        "git+https://user:geheim#x@git.example.com/x.git",
        "git+ssh://git:pa/geheim@git.example.com/x.git",
        "oci://user:pa/geheim@host/repo",
        "oci://user:geheim/pa@host/repo",
        "oci://user:pa/geheim@host",
        &format!("oci://user:geheim@{DIGEST}"),
        &format!("oci://user:pa/geheim@{DIGEST}"),
        &format!("github://user:geheim@{RELEASE}"),
        &format!("git+https://user:80/geheim@{RELEASE}"),
        "oci://host/repo?token=geheim",
        "oci://host?token=geheim",
        "oci://host/repo:v1#geheim",
        "github://user/geheim@github.com/x",
        "github://organisation/repo@v1?token=geheim",
        "github://user/pa:geheim@github.com",
        "https:/user:geheim@host/x",
        "geheim:x@ftp://host",
    ] {
        let error = refused(text);
        assert!(!error.contains("geheim") && !error.contains("user:"), "{text}: {error}");
    }
    for text in
        [&format!("oci://user:geheim@host/x:{RELEASE}@{DIGEST}"), &format!("github://geheim@a/b@{RELEASE}")]
    {
        let error = refused(text);
        assert!(!error.contains("geheim") && error.contains(RELEASE), "{text}: {error}");
    }
    assert!(refused("git+https://user:x@host/stacks.git").contains("credentials come from files"));
}

#[test]
fn invalid_addresses_are_refused() {
    for (text, why) in [
        ("", "expected oci://"),
        ("https://host/stacks.git", "use git+https://"),
        ("ftp://host/stacks", "unknown scheme before ://: expected oci://"),
        ("oci:/host/stacks", "expected oci://"),
        ("github:SovereignCloudStack/cluster-stacks", "expected oci://"),
        ("oci://host", "the repository is missing"),
        ("oci:///stacks", "invalid host"),
        ("oci://ho st/stacks", "invalid host"),
        ("oci://host:x/stacks", "invalid host"),
        ("oci://host/Stacks", "invalid repository"),
        ("oci://host/a//b", "invalid repository"),
        ("oci://host/a/../b", "invalid repository"),
        ("oci://host/a___b", "invalid repository"),
        ("oci://host/stacks:latest", "not a release name"),
        ("oci://host/stacks@sha256:12", "not a digest"),
        ("oci://host/stacks@md5:12", "not a digest"),
        ("github://org", "expected github://"),
        ("github://org/repo/more", "expected github://"),
        ("github://org/..", "expected github://"),
        ("github://org/repo@v1", "not a release name"),
        ("git+https://host", "names no repository"),
        ("git+https:///stacks.git", "names no repository"),
        ("git+https://host/stacks.git//a/../b", "invalid directory"),
        ("git+https://host/stacks.git//.git/hooks", "invalid directory"),
        ("git+https://host/stacks.git?ref=", "expected a branch"),
        ("git+https://host/stacks.git?ref=--upload-pack=x", "expected a branch"),
        ("git+https://host/stacks.git?ref=a..b", "expected a branch"),
        ("git+https://host/@scope/stacks.git", "write %40"),
        ("git+https://host/stacks.git?branch=main", "only ref="),
        ("git+https://host/stacks.git#main", "use ?ref="),
    ] {
        let error = refused(text);
        assert!(error.contains(why), "{text}: {error}");
    }
}
