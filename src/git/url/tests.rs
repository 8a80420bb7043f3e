use proptest::prelude::*;

use super::*;

fn url(text: &str) -> GitUrl {
    text.parse().unwrap()
}

fn refused(text: &str) -> String {
    text.parse::<GitUrl>().map(|url| panic!("{text:?} was read as {url}")).unwrap_err().to_string()
}

#[test]
fn url_forms_work_for_libgit2_and_hide_the_user() {
    let cases = [
        ("https://host/a/b.git", Transport::Https, "https://host/a/b.git", "https://host/a/b.git", "a/b"),
        ("https://ann@host:8443/b", Transport::Https, "https://host:8443/b", "https://host:8443/b", "b"),
        ("http://[::1]:80/b", Transport::Http, "http://[::1]:80/b", "http://[::1]:80/b", "b"),
        ("ssh://host/a/b.git", Transport::Ssh, "ssh://host/a/b.git", "ssh://git@host/a/b.git", "a/b"),
        ("ssh://ann@host:22/~/b", Transport::Ssh, "ssh://host:22/~/b", "ssh://ann@host:22/~/b", "~/b"),
        ("git@host:a/b.git", Transport::Ssh, "host:a/b.git", "git@host:a/b.git", "a/b"),
        ("ann@host:/srv/b.git", Transport::Ssh, "ssh://host/srv/b.git", "ssh://ann@host/srv/b.git", "srv/b"),
        ("file:///srv/b.git", Transport::File, "/srv/b.git", "/srv/b.git", "srv/b"),
        ("../b.git", Transport::File, "../b.git", "../b.git", "../b"),
        ("b", Transport::File, "b", "b", "b"),
        ("./a:b", Transport::File, "./a:b", "./a:b", "./a:b"),
    ];
    for (text, transport, shown, remote, repository) in cases {
        let url = url(text);
        assert_eq!(url.transport(), transport, "{text}");
        assert_eq!(url.to_string(), shown, "{text}");
        assert_eq!(format!("{url:?}"), shown, "{text}");
        assert_eq!(url.remote(), remote, "{text}");
        assert_eq!(url.repository(), repository, "{text}");
    }
}

#[test]
fn password_in_url_is_refused_and_hidden() {
    for text in [
        "https://ann:s3cret@host/b",
        "https://:s3cret@host/b",
        "ssh://ann:s3cret@host/b",
        "https://ann:pa/s3cret@host/b",
        "https://ann:s3cret/pa@host/b",
        "https://an!n/s3cret@host/b",
        "https://ann:pa?s3cret@host/b",
        "https://ann:pa@host?s3cret",
        "https://host/b?access_token=s3cret",
        "https://host/b#s3cret",
        "git@host:b?access_token=s3cret",
    ] {
        let error = refused(text);
        assert!(!error.contains("s3cret") && !error.contains("ann") && error.contains("host"), "{error}");
    }
}

#[test]
fn url_that_git_would_execute_is_refused() {
    let hostile = [
        "ext::sh -c touch% /tmp/x",
        "fd::17",
        "git@host::x",
        "ftp://host/b",
        "git://host/b",
        "ssh://-oProxyCommand=x/b",
        "ssh://-x@host/b",
        "-oProxyCommand=x@host:b",
        "git@-oProxyCommand=x:b",
        "git@host:-b",
        "--upload-pack=x",
        "https://host/a\nb",
        "https://host/a b",
        "https://ho st/b",
        "https://host/b?ref=main",
        "https://host/b#x",
        "https://host",
        "https://host/",
        "https:///b",
        "https://host:0/b",
        "https://host:99999/b",
        "https://host:x/b",
        "https://@host/b",
        "host:b",
        "file://host/b",
        "",
    ];
    for text in hostile {
        refused(text);
    }
}

#[test]
fn credentials_are_for_one_scheme_host_and_port() {
    let own = url("https://host/a");
    for same in ["https://host/b", "https://HOST:443/b", "https://ann@host/b/info/refs"] {
        assert!(own.is_same_server(&url(same)), "{same}");
    }
    for other in
        ["http://host/a", "https://host:8443/a", "https://host.example/a", "ssh://host:443/a", "host/a"]
    {
        assert!(!own.is_same_server(&url(other)), "{other}");
    }
}

#[test]
fn loopback_is_this_machine_alone() {
    for text in ["http://localhost/b", "http://127.0.0.1:1/b", "http://127.9.9.9/b", "http://[::1]/b"] {
        assert!(url(text).is_loopback(), "{text}");
    }
    for text in ["http://localhost.example/b", "http://128.0.0.1/b", "http://127.0.0.1.example/b"] {
        assert!(!url(text).is_loopback(), "{text}");
    }
}

proptest! {
    /// Every accepted URL parses again to the same repository, and shows no user.
    #[test]
    fn random_url_is_refused_or_round_trips(text in "(https|ssh|http|file|ext|[a-z]{0,4})?:{0,2}/{0,2}[ -~]{0,40}") {
        if let Ok(url) = text.parse::<GitUrl>() {
            let again: GitUrl = url.remote().parse().unwrap();
            prop_assert_eq!(again.remote(), url.remote());
            prop_assert!(!url.host().starts_with('-'), "{}", text);
            if let (Some(user), true) = (url.user.as_deref(), url.transport() != Transport::File) {
                let shown = url.to_string();
                let shows = shown.contains(&format!("{user}@"));
                prop_assert!(!shows || url.path.contains('@'), "{}", text);
            }
        }
    }
}
