//! The exact text for each decision of the layout. `tests/integration/yaml.rs` tests that readers read the same values.

use serde_json::{Value, json};

use super::{documents, to_yaml};

/// Joins the lines of an expected document, without the indentation of the test.
fn lines(lines: &[&str]) -> String {
    lines.iter().flat_map(|line| [*line, "\n"]).collect()
}

/// Writes a text as the value of a key.
fn written(text: &str) -> String {
    let document = to_yaml(&json!({ "k": text }));
    document.strip_prefix("k: ").and_then(|rest| rest.strip_suffix('\n')).expect("a value").to_owned()
}

#[test]
fn object_layout_is_that_of_kubectl() {
    let object = json!({
        "apiVersion": "helm.toolkit.fluxcd.io/v2",
        "kind": "HelmRelease",
        "metadata": {"name": "demo.ccm", "labels": {"app.kubernetes.io/managed-by": "stackflux"}},
        "spec": {
            "interval": "10m",
            "suspend": false,
            "maxHistory": 3,
            "dependsOn": [{"name": "demo.cni", "readyExpr": "dep.ready"}, {"name": "x"}],
            "args": ["--v=2", ["a", ["b"], {"c": 1}], {}, []],
            "values": {"empty": {}, "none": null, "list": [], "ratio": 0.5},
        },
    });
    let expected = lines(&[
        "apiVersion: helm.toolkit.fluxcd.io/v2",
        "kind: HelmRelease",
        "metadata:",
        "  name: demo.ccm",
        "  labels:",
        "    app.kubernetes.io/managed-by: stackflux",
        "spec:",
        "  interval: 10m",
        "  suspend: false",
        "  maxHistory: 3",
        "  dependsOn:",
        "  - name: demo.cni",
        "    readyExpr: dep.ready",
        "  - name: x",
        "  args:",
        "  - --v=2",
        "  - - a",
        "    - - b",
        "    - c: 1",
        "  - {}",
        "  - []",
        "  values:",
        "    empty: {}",
        "    none: null",
        "    list: []",
        "    ratio: 0.5",
    ]);
    assert_eq!(to_yaml(&object), expected);
}

#[test]
fn documents_stand_between_separators() {
    let values = [json!({"a": 1}), json!(["b"]), json!("c")];
    assert_eq!(documents(values.iter()), "a: 1\n---\n- b\n---\nc\n");
    assert_eq!(documents(values[..1].iter()), "a: 1\n");
    assert_eq!(documents(std::iter::empty()), "");
}

#[test]
fn plain_texts_are_not_quoted() {
    for text in [
        "demo",
        "10m",
        "1Gi",
        "100m",
        "v1.32.0",
        "1.32.0",
        "10.96.0.1",
        "10.0.0.0/16",
        "fe80::1",
        "--v=2",
        "-a",
        "a b",
        "https://example.org/x?y=z#f",
        "it's",
        "a\"b",
        "a{{ b }}",
        "user@host",
        "50%",
        "~/x",
        "=x",
        "a, b",
        "a#b",
        "a:b",
        "registry/image:v1@sha256:0a",
        "12345e7x",
        "2024-01-05-a",
        "nö",
        "日本語",
        "🚀",
        ".example.org",
        "x-y",
        "yesterday",
        "none",
        "Null and void",
        ".hidden",
        "..",
        "1.2.3",
        "0a",
        "dep.status == 'x'",
        "_",
        "$x",
    ] {
        assert_eq!(written(text), text);
    }
}

#[test]
fn ambiguous_texts_are_quoted() {
    for text in [
        "",
        "~",
        "null",
        "Null",
        "NULL",
        "true",
        "False",
        "yes",
        "No",
        "ON",
        "off",
        "y",
        "N",
        "tRuE",
        "<<",
        "=",
        "0",
        "-1",
        "+1",
        "0777",
        "0o7",
        "0O7",
        "0x1F",
        "-0x1f",
        "0b11",
        "1_000",
        "1,000",
        "1.5",
        "1.",
        ".5",
        "-.5",
        "1e3",
        "1E+3",
        "1.5e-3",
        ".inf",
        "-.Inf",
        "+.INF",
        ".nan",
        ".NaN",
        "1:20",
        "190:20:30.15",
        "8080:80",
        "2024-01-05",
        "2024-1-5",
        "2024-01-05T10:00:00Z",
        "2024-01-05 10:00:00",
        "2001-12-14t21:59:43.10-05:00",
        "-",
        "+",
        "- a",
        "--- a",
        "---",
        "...",
        "?",
        "? a",
        ":a",
        "a:",
        "a: b",
        "a #b",
        "#a",
        "&a",
        "*a",
        "!a",
        "|",
        ">",
        "'a'",
        "[a",
        "]",
        "{a",
        "}",
        ",a",
        "%a",
        "@a",
        "`a",
        " a",
        "a ",
        "123_456.7_8e9",
        "18446744073709551616",
    ] {
        assert_eq!(written(text), format!("\"{text}\""));
        let key = to_yaml(&json!({ text: 1 }));
        assert_eq!(key, format!("\"{text}\": 1\n"));
    }
}

#[test]
fn invisible_characters_are_escaped() {
    for (text, expected) in [
        ("a\tb", r#""a\tb""#),
        ("a\\\"b\tc", r#""a\\\"b\tc""#),
        ("a\rb", r#""a\rb""#),
        ("\u{0}\u{7}\u{1b}\u{7f}", r#""\x00\x07\x1b\x7f""#),
        ("a\u{85}b", r#""a\x85b""#),
        ("a\u{a0}", r#""a\xa0""#),
        ("a\u{2028}b", r#""a\u2028b""#),
        ("a\u{2029}b", r#""a\u2029b""#),
        ("\u{feff}a", r#""\ufeffa""#),
        ("\u{202e}a\u{200b}", r#""\u202ea\u200b""#),
        ("\u{ffff}\u{1fffe}\u{e0041}", r#""\uffff\U0001fffe\U000e0041""#),
        ("\n", r#""\n""#),
        ("\n\n", r#""\n\n""#),
    ] {
        assert_eq!(written(text), expected);
    }
}

#[test]
fn lines_are_a_literal_block() {
    let object = json!({
        "clip": "a\nb\n",
        "strip": "a\n\n# b",
        "keep": "a\n\n",
        "deep": {"list": ["x\n  y\n", {"k": " x\ny\n"}, ["\tx\ny"]]},
        "first": "\nx",
    });
    let expected = lines(&[
        "clip: |",
        "  a",
        "  b",
        "strip: |-",
        "  a",
        "",
        "  # b",
        "keep: |+",
        "  a",
        "",
        "deep:",
        "  list:",
        "  - |",
        "    x",
        "      y",
        "  - k: |2",
        "       x",
        "      y",
        "  - - |2-",
        "      \tx",
        "      y",
        "first: |2-",
        "",
        "  x",
    ]);
    assert_eq!(to_yaml(&object), expected);
}

#[test]
fn lines_lost_in_a_block_are_quoted() {
    let object = json!({"a": {"b": ["x \n\n  y\r\nz", "\tx\t\n"]}});
    let expected =
        lines(&["a:", "  b:", r#"  - "x \n\n\"#, r"    \  y\r\n\", r#"    z""#, r#"  - "\tx\t\n""#]);
    assert_eq!(to_yaml(&object), expected);
    assert_eq!(written("a\r\nb"), "\"a\\r\\n\\\n  b\"");
    assert_eq!(written("a\nb "), "\"a\\n\\\n  b \"");
}

#[test]
fn keys_stay_on_one_line() {
    assert_eq!(to_yaml(&json!({"a\nb": {"c d": 1}})), "\"a\\nb\":\n  c d: 1\n");
}

#[test]
fn long_key_starts_with_a_question_mark() {
    let key = "k".repeat(1001);
    let object = json!({"a": [{key.clone(): "v"}], key.clone(): {"b": 1}});
    assert_eq!(to_yaml(&object), format!("a:\n- ? {key}\n  : v\n? {key}\n:\n  b: 1\n"));
    let short = "k".repeat(1000);
    assert_eq!(to_yaml(&json!({short.clone(): 1})), format!("{short}: 1\n"));
}

#[test]
fn numbers_keep_their_value_and_their_type() {
    for (value, expected) in [
        (json!(0), "0"),
        (json!(i64::MIN), "-9223372036854775808"),
        (json!(u64::MAX), "18446744073709551615"),
        (json!(1.0), "1.0"),
        (json!(-0.0), "-0.0"),
        (json!(0.1), "0.1"),
        (json!(1e21), "1.0e+21"),
        (json!(-1.5e-9), "-1.5e-9"),
        (json!(f64::MAX), "1.7976931348623157e+308"),
        (json!(5e-324), "5.0e-324"),
    ] {
        assert_eq!(to_yaml(&value), format!("{expected}\n"));
    }
}

#[test]
fn document_can_be_a_single_value() {
    for (value, expected) in [
        (json!(null), "null"),
        (json!(true), "true"),
        (json!({}), "{}"),
        (json!([]), "[]"),
        (json!(""), "\"\""),
        (json!("a\n b\n"), r#""a\n b\n""#),
    ] {
        assert_eq!(to_yaml(&value), format!("{expected}\n"));
    }
}

#[test]
fn deep_value_does_not_overflow_the_stack() {
    const DEPTH: usize = 5_000;
    let mut value = Value::Null;
    for _ in 0..DEPTH {
        value = Value::Array(vec![value]);
    }
    let written = to_yaml(&value);
    assert_eq!(written, format!("{}null\n", "- ".repeat(DEPTH)));
}
