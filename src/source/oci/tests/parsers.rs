//! Property tests of headers and manifests.

use proptest::prelude::*;

use super::super::challenge::parse;
use super::super::manifest::{Document, Manifest};
use super::*;

#[test]
fn challenges_are_parsed() {
    let shown = |header: &str| -> Vec<String> {
        let shown = |challenge: challenge::Challenge| {
            let parameters: Vec<String> =
                challenge.parameters.iter().map(|(name, value)| format!("{name}={value}")).collect();
            format!("{} {}", challenge.scheme, parameters.join("; "))
        };
        parse(header).into_iter().map(shown).collect()
    };
    for (header, expected) in [
        (
            "Bearer realm=\"https://auth.docker.io/token\",service=\"registry.docker.io\",scope=\"repository:a/b:pull,push\"",
            vec![
                "bearer realm=https://auth.docker.io/token; scope=repository:a/b:pull,push; service=registry.docker.io",
            ],
        ),
        ("Basic realm=\"x\", Bearer realm=y, service=z", vec!["basic realm=x", "bearer realm=y; service=z"]),
        ("BEARER Realm = \"a\\\"b\\\\\" , error=\"x, y\"", vec!["bearer error=x, y; realm=a\"b\\"]),
        ("Basic realm=\"first\", realm=\"second\"", vec!["basic realm=first"]),
        ("Negotiate, Basic realm=\"x\"", vec!["negotiate ", "basic realm=x"]),
        ("Bearer", vec!["bearer "]),
        ("Bearer realm=\"no end", vec!["bearer realm=no end"]),
        ("realm=\"x\"", vec![]),
        ("", vec![]),
        (",, ,\t", vec![]),
        ("Bearer realm=", vec!["bearer realm="]),
        ("\u{e9}Bearer realm=x", vec!["bearer realm=x"]),
    ] {
        assert_eq!(shown(header), expected, "{header}");
    }
}

proptest! {
    #[test]
    fn random_headers_never_panic(header in "\\PC{0,80}|[Bbearc=\", \\\\]{0,60}") {
        for challenge in parse(&header) {
            prop_assert!(!challenge.scheme.is_empty());
        }
        let page: Url = "https://example.com/a".parse().unwrap();
        if let Ok(Some(next)) = crate::http::next_page(&page, [header.as_str()].into_iter()) {
            prop_assert_eq!(next.origin(), page.origin());
        }
    }
}

#[test]
fn manifests_are_parsed() {
    let parse = |json: Value| Document::parse(json.to_string().as_bytes());
    let layer = json!({"mediaType": "x", "digest": digest(b"x"), "size": 1, "annotations": {"org.opencontainers.image.title": "a"}});
    let plain =
        parse(json!({"schemaVersion": 2, "layers": [layer], "annotations": null, "unknown": 1})).unwrap();
    let Document::Manifest(Manifest { layers, .. }) = plain else { panic!() };
    assert_eq!((layers[0].title(), layers[0].size), (Some("a"), 1));
    for (json, expected) in [
        (json!({"schemaVersion": 2, "layers": [], "manifests": []}), "ambiguous"),
        (json!({"schemaVersion": 3, "layers": []}), "schema version 3"),
        (json!({"schemaVersion": 2}), "no layers"),
        (
            json!({"schemaVersion": 2, "layers": [{"digest": "sha512:00", "size": 1}]}),
            "invalid OCI or Docker manifest",
        ),
        (
            json!({"schemaVersion": 2, "layers": [{"digest": digest(b"x"), "size": -1}]}),
            "invalid OCI or Docker manifest",
        ),
        (
            json!({"schemaVersion": 2, "layers": [{"digest": digest(b"x"), "size": 1.5}]}),
            "invalid OCI or Docker manifest",
        ),
        (json!({"schemaVersion": 2, "layers": [{"digest": digest(b"x")}]}), "invalid OCI or Docker manifest"),
        (json!({"schemaVersion": 2, "layers": {"hidden": 1}}), "invalid OCI or Docker manifest"),
    ] {
        let error = parse(json).unwrap_err();
        assert!(error.contains(expected) && !error.contains("hidden"), "{error}");
    }
    let twice = b"{\"schemaVersion\": 2, \"layers\": [], \"layers\": []}";
    assert!(Document::parse(twice).is_err(), "one of them would be somebody else's");
    let deep = format!("{{\"schemaVersion\": 2, \"layers\": {}", "[".repeat(100_000));
    assert!(Document::parse(deep.as_bytes()).is_err());
}

#[test]
fn empty_manifest_is_refused() {
    let manifest = Manifest { layers: Vec::new(), annotations: BTreeMap::new() };
    assert!(manifest.files(&limits()).unwrap_err().contains("no layer has"));
    assert_eq!(manifest.created(), None);
    let annotations =
        BTreeMap::from([("org.opencontainers.image.created".to_owned(), "yesterday".to_owned())]);
    assert_eq!(Manifest { layers: Vec::new(), annotations }.created(), None);
}
