use super::*;

fn proxies(set: &[(&str, &str)]) -> Proxies {
    Proxies::new(|variable| {
        let found = set.iter().find(|(name, _)| *name == variable);
        found.map(|(_, value)| (*value).to_owned())
    })
}

fn through(proxies: &Proxies, url: &str) -> Option<String> {
    proxies.of(&url.parse().unwrap()).unwrap().map(ToString::to_string)
}

#[test]
fn scheme_decides_the_variable() {
    let all = [("HTTPS_PROXY", "s:1"), ("http_proxy", "http://u:hidden@h:2/"), ("all_proxy", "https://a")];
    let (http, https) = ("http://example.org/", "https://example.org/");
    assert_eq!(through(&proxies(&all), https).as_deref(), Some("http://s:1"));
    assert_eq!(through(&proxies(&all), http).as_deref(), Some("http://h:2"));
    assert_eq!(through(&proxies(&all[2..]), https).as_deref(), Some("https://a"));
    assert_eq!(through(&proxies(&all[..1]), http), None);
    assert_eq!(through(&proxies(&all), "ssh://git@example.org/a"), None);
    let set = [("HTTPS_PROXY", " "), ("https_proxy", "lower"), ("ALL_PROXY", "")];
    assert_eq!(through(&proxies(&set), https).as_deref(), Some("http://lower"));
    assert_eq!(through(&proxies(&[]), https), None);
}

#[test]
fn loopback_bypasses_the_proxy() {
    let proxies = proxies(&[("ALL_PROXY", "p")]);
    for url in ["https://127.0.0.1:6443/", "https://localhost/", "http://[::1]/", "http://a.localhost/"] {
        assert_eq!(through(&proxies, url), None, "{url}");
    }
}

#[test]
fn no_proxy_entries_are_matched() {
    let except = "example.org, .example.com,*.example.net:8443,10.0.0.0/8,192.0.2.1,fd00::/8,[2001:db8::1]:443,,a/b,:x";
    let some = proxies(&[("ALL_PROXY", "p"), ("NO_PROXY", except)]);
    for (url, is_straight) in [
        ("https://example.org/", true),
        ("https://EXAMPLE.org./", true),
        ("https://git.example.org/", true),
        ("https://notexample.org/", false),
        ("https://example.com/", true),
        ("https://git.example.com/", true),
        ("https://git.example.net:8443/", true),
        ("https://git.example.net/", false),
        ("https://10.96.0.1:443/", true),
        ("https://[::ffff:10.96.0.1]/", true),
        ("https://11.0.0.1/", false),
        ("http://192.0.2.1/", true),
        ("http://192.0.2.2/", false),
        ("http://[fd12::1]/", true),
        ("http://[fe80::1]/", false),
        ("https://[2001:db8::1]/", true),
        ("http://[2001:db8::1]/", false),
        ("https://other.test/", false),
    ] {
        assert_eq!(through(&some, url).is_none(), is_straight, "{url}");
    }
    let all = proxies(&[("ALL_PROXY", "p"), ("no_proxy", "x, *")]);
    assert_eq!(through(&all, "https://other.test/"), None);
    let every = proxies(&[("ALL_PROXY", "p"), ("NO_PROXY", "0.0.0.0/0,10.0.0.0/33")]);
    assert_eq!(through(&every, "https://198.51.100.1/"), None);
    assert!(through(&every, "https://[2001:db8::1]/").is_some());
}

#[test]
fn malformed_proxy_names_the_variable() {
    for (value, why) in [
        ("socks5://u:hidden@p:1080", "unsupported scheme socks5: use http or https"),
        ("http://u:hidden@p:99999", "invalid port number"),
        (
            "http://u:12/hidden@p:1",
            "there is a path after the host; write / and @ of a password as %2F and %40",
        ),
        ("https:/u:hidden@p:1", "there is a path after the host; write / and @ of a password as %2F and %40"),
        ("http://", "empty host"),
        ("://u:hidden@p", "relative URL without a base"),
    ] {
        for variable in ["HTTPS_PROXY", "https_proxy", "ALL_PROXY"] {
            let proxies = proxies(&[(variable, value), ("NO_PROXY", "example.com")]);
            let error = proxies.of(&"https://example.org/".parse().unwrap()).unwrap_err();
            assert_eq!(error.to_string(), format!("{variable}: invalid proxy: {why}"));
            assert!(!format!("{proxies:?}").contains("hidden"), "{proxies:?}");
            assert_eq!(through(&proxies, "https://example.com/"), None, "it is not asked through one");
        }
    }
}

#[test]
fn no_proxy_is_repaired_for_kube() {
    for (value, expected) in [
        ("", ""),
        (" ", ""),
        (",", ""),
        ("a,b,", "a,b"),
        (",a, ,b:1,10.0.0.0/8", "a,b:1,10.0.0.0/8"),
        ("a.example.org", "a.example.org"),
        ("*", "*"),
        ("localhost,*", "*"),
    ] {
        assert_eq!(repaired(value), expected, "{value:?}");
    }
}
