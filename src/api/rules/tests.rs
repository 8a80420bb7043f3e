//! The patterns in CEL and the offline checks agree on any text.

use std::sync::LazyLock;

use proptest::prelude::*;
use regex::Regex;

use super::check::delivery::{is_author, is_branch, is_http_url, is_upstream_url};
use super::check::{is_minor_version, is_secret_key, is_secret_name, is_url, is_version, is_word};
use super::*;
use crate::names::credentials::has_credentials;
use crate::names::{AddonName, Namespace, ObjectName};

/// The rules that are one pattern, the maximum length of a text that the schema admits, and the offline check.
type Pattern = (Rule, usize, fn(&str) -> bool);

const PATTERNS: [Pattern; 13] = [
    (PROVIDER, 63, is_word),
    (KUBERNETES_VERSION, 15, is_minor_version),
    (VERSIONS, 63, is_version),
    (URL, 2048, is_url),
    (CREDENTIALS, usize::MAX, |text| !has_credentials(text)),
    (OBJECT_NAME, 253, |text| text.parse::<ObjectName>().is_ok()),
    (NAMESPACE, 63, |text| text.parse::<Namespace>().is_ok()),
    (ADDON_NAMES, 63, |text| text.parse::<AddonName>().is_ok()),
    (SECRET_NAME, 253, is_secret_name),
    (SECRET_KEY, 253, is_secret_key),
    (UPSTREAM_URL, 2048, is_upstream_url),
    (AUTHOR, 255, is_author),
    (HTTP_URL, 2048, is_http_url),
];

/// The pattern in a rule, as its regular expression.
fn pattern(rule: Rule) -> Regex {
    let (_, quoted) = rule.cel.split_once("matches('").unwrap();
    let (quoted, _) = quoted.split_once("')").unwrap();
    Regex::new(&quoted.replace(r"\\", r"\")).unwrap()
}

static COMPILED: LazyLock<Vec<Regex>> = LazyLock::new(|| PATTERNS.map(|(rule, ..)| pattern(rule)).into());

/// Texts close to valid ones: of the right form and near a limit, or pieces of valid ones with an odd character in between.
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
    fn patterns_agree_with_checks(text in texts()) {
        for ((rule, longest, check), pattern) in PATTERNS.into_iter().zip(&*COMPILED) {
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
