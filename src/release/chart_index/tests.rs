use super::*;

const INDEX: &str = "apiVersion: v1
entries:
  cilium:
    - {version: 1.18.9, digest: ab, urls: [cilium-1.18.9.tgz], created: '2026-01-01T00:00:00Z', keywords: [x]}
    - {version: 1.18.10, urls: null}
    - {version: 1.19.0-rc.1}
    - {version: 1.17.4+build1}
    - {version: 1.17.4+build2}
    - {version: latest}
  other: null
generated: now
";

fn chosen<'a>(index: &'a Index, wanted: &str) -> Option<&'a str> {
    choose(index.versions("cilium").iter().map(|entry| entry.version.as_str()), wanted).unwrap()
}

#[test]
fn the_version_that_is_meant() {
    let index = Index::parse(INDEX.as_bytes()).unwrap();
    for (wanted, version) in [
        ("1.18.9", Some("1.18.9")),
        ("v1.18.9", Some("1.18.9")),
        ("~1.18", Some("1.18.10")),
        ("", Some("1.18.10")),
        ("*", Some("1.18.10")),
        (">=1.18.0-0", Some("1.19.0-rc.1")),
        ("1.17.x", Some("1.17.4+build1")),
        ("1.17.4+build2", Some("1.17.4+build2")),
        ("latest", Some("latest")),
        ("2", None),
    ] {
        assert_eq!(chosen(&index, wanted), version, "{wanted}");
    }
    let there = index.versions("cilium").iter().map(|entry| entry.version.as_str());
    assert!(choose(there, "newest").is_err());
    assert_eq!(index.versions("other"), []);
    assert_eq!(index.versions("nothing"), []);
    assert_eq!(Index::parse(b"{}").unwrap().versions("x"), []);
}

#[test]
fn an_index_that_is_none() {
    let bomb = format!("entries: {{a: &a [{{version: x}}], b: [{}]}}", "*a, ".repeat(100));
    let deep = format!("entries: {}", "[".repeat(1000));
    for text in ["<html>", "entries: [x]", "entries: {x: [{digest: y}]}", "\u{0}", &bomb, &deep] {
        assert!(Index::parse(text.as_bytes()).is_err(), "{text:.40}");
    }
    assert!(Index::parse(&[0xff, 0xfe]).is_err());
}
