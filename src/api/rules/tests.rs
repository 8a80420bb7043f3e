//! The patterns in CEL and the offline checks agree on any text.

use proptest::prelude::*;

use super::check::is_branch;
use super::*;
use crate::names::credentials::has_credentials;
use crate::names::{AddonName, Namespace, ObjectName};

/// A rule that is one pattern, the maximum length of a text that the schema admits, and the offline check.
type Parsed = (Rule, usize, fn(&str) -> bool);

/// The rules whose offline check is a parser.
const PARSED: [Parsed; 4] = [
    (CREDENTIALS, usize::MAX, |text| !has_credentials(text)),
    (OBJECT_NAME, 253, |text| text.parse::<ObjectName>().is_ok()),
    (NAMESPACE, 63, |text| text.parse::<Namespace>().is_ok()),
    (ADDON_NAMES, 63, |text| text.parse::<AddonName>().is_ok()),
];

static COMPILED: LazyLock<Vec<Regex>> =
    LazyLock::new(|| PARSED.map(|(rule, ..)| rule.pattern().unwrap()).into());

/// Generates texts close to valid ones: of the right form and near a limit, or pieces of valid ones with an odd character
/// in between.
fn texts() -> impl Strategy<Value = String> {
    let pieces = [
        "v",
        "0",
        "1",
        "34",
        "-",
        ".",
        "beta",
        "a",
        "A",
        "_",
        "/",
        ":",
        "https://",
        "ssh://",
        "http:",
        "oci://",
        "github://",
        "@",
        "{cluster}",
        "{",
        "}",
        " ",
        "\n",
        "é",
        "١",
    ];
    let piece = prop_oneof![
        8 => prop::sample::select(pieces.to_vec()).prop_map(str::to_owned),
        1 => any::<char>().prop_map(String::from),
    ];
    prop_oneof![
        prop::collection::vec(piece, 0..7).prop_map(|pieces| pieces.concat()),
        "[a-z0-9]{60,66}",
        "[0-9]{1,7}[.][0-9]{1,7}",
        "v[0-9]{1,19}(-[a-z0-9]{1,4}[.][a-z0-9]{1,4})?",
        "v1-[a-z0-9]{40,50}[.][a-z0-9]{8,12}",
        "[a-z-][a-z0-9-]{58,64}[a-z]([.][a-z0-9-]{1,3}){0,2}",
        "([a-z]{49}[.]){4}[a-z]{45,55}",
        "[-.a-z]{110,130}[{]cluster[}][-.a-z]{110,140}",
        "(https?|ssh)://[ -~\n]{0,2}",
        "https://[a-z]{2030,2045}",
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn patterns_agree_with_parsers(text in texts()) {
        for ((rule, longest, check), pattern) in PARSED.into_iter().zip(&*COMPILED) {
            let admitted = text.chars().count() <= longest && pattern.is_match(&text);
            prop_assert_eq!(check(&text), admitted, "{} {:?}", rule.cel, text);
        }
    }
}

#[test]
fn branch_rule_agrees_with_git() {
    for good in ["main", "m", "release/1.34", "stackflux/prod-1a2b3c4d", "_x", "a-"] {
        assert!(is_branch(good), "{good}");
    }
    for bad in
        ["", "-x", ".x", "/x", "x/", "x.", "a..b", "a//b", "a/.b", "a.lock", "a b", "a~1", "a\n", "a@{1}"]
    {
        assert!(!is_branch(bad), "{bad:?}");
    }
}

#[test]
fn pattern_is_that_of_cel() {
    assert_eq!(PATTERNS.len(), 18, "each pattern compiles");
    for (rule, longest, good, bad) in [
        (PROVIDER, 63, "a1", "a-"),
        (KUBERNETES_VERSION, 15, "1.34", "1x34"),
        (VERSIONS, 63, "v0-beta.1", "v0-beta-1"),
        (AUTHOR, 255, "Ann", "Ann\n"),
        (SECRET_NAME, 253, "{cluster}-kubeconfig", "cluster"),
        (SECRET_KEY, 253, "value", "a/b"),
        (NAME_FOR_CLUSTER, 253, "proxy-{cluster}", "{cluster}{cluster}"),
        (TARGET_PATH, 250, r"proxy.http\.url[0]", "a[x]"),
        (UPSTREAM_URL, 2048, "oci://host/stacks", "oci://host/stacks:v1"),
        (COMPONENT_URL, 2048, "https://git.example.org/team", "https://me@git.example.org"),
        (GIT_COMPONENT, 2048, "ssh://git@git.example.org/a.git", "oci://registry.example.org/a"),
        (OCI_COMPONENT, 2048, "oci://registry.example.org:5000/a", "oci://registry.example.org/a:v1"),
        (VALUE_PATHS, 253, "a.b", "a..b"),
        (COMMIT, 64, "9f1c2a3b4c5d6e7f8091a2b3c4d5e6f708192a3b", "9f1c"),
        (
            MANIFEST_DIGEST,
            71,
            "sha256:3a5b7c9d1e2f4051627384950617283940516273849506172839405162738495",
            "sha256:3a",
        ),
    ] {
        assert!(rule.fits(good, longest) && !rule.fits(good, 1), "{good}");
        assert!(!rule.fits(bad, longest), "{bad}");
    }
}
