use serde_json::json;

use super::*;

fn read(rendered: &str) -> Value {
    Value::Object(read_values(rendered).unwrap_or_else(|error| panic!("{error}")))
}

#[test]
fn values_are_the_output_or_its_values_string() {
    assert_eq!(read("a: 1\nb: {c: x}\n"), json!({"a": 1, "b": {"c": "x"}}));
    assert_eq!(read("values: |\n  a: 1\n"), json!({"a": 1}));
    assert_eq!(read("values: |\n  a: 1\nother: 2\n"), json!({"a": 1}), "the string is the document");
    assert_eq!(read("values: {a: 1}\n"), json!({"values": {"a": 1}}), "a mapping is a value of that name");
    assert_eq!(read("values: |\n  values: |\n    a: 1\n"), json!({"values": "a: 1\n"}), "one wrapper only");
}

#[test]
fn empty_output_is_an_empty_mapping() {
    for rendered in ["", "\n", "# nothing\n", "values: ''\n", "values: |\n  # nothing\n"] {
        assert_eq!(read(rendered), json!({}), "{rendered:?}");
    }
}

#[test]
fn scalars_are_read_as_helm_reads_them() {
    let rendered = "a: yes\nb: 'yes'\nc: 1.0\nd: 1.5\ne: 017\nf: -2.0\ng: [3.0, {h: 4.0}]\ni: ~\nj: 1e21\nk: 2026-11-20\n";
    let expected = json!({"a": true, "b": "yes", "c": 1, "d": 1.5, "e": 15, "f": -2, "g": [3, {"h": 4}], "i": null,
        "j": 1e21, "k": "2026-11-20"});
    assert_eq!(read(rendered), expected);
}

#[test]
fn keys_keep_their_order() {
    let values = read_values("z: 1\na: 2\nm: 3\n").unwrap();
    assert_eq!(values.keys().collect::<Vec<_>>(), ["z", "a", "m"]);
}

#[test]
fn output_that_is_not_a_mapping_is_refused() {
    for (rendered, kind) in
        [("- a\n", "a list"), ("x\n", "a string"), ("1\n", "a number"), ("values: 'yes'", "a boolean")]
    {
        let error = read_values(rendered).unwrap_err();
        assert_eq!(error.to_string(), format!("the rendered values must be a mapping, but are {kind}"));
    }
}

#[test]
fn error_names_the_line_of_the_values() {
    let error = read_values("values: |\n  a: 1\n  b: x: y\n").unwrap_err();
    let ValuesError::Yaml { line, text, .. } = &error else { panic!("{error}") };
    assert_eq!((*line, text.as_deref()), (Some(2), Some("b: x: y")));
    assert!(
        error.to_string().starts_with("cannot read the rendered values in line 2 (\"b: x: y\"): "),
        "{error}"
    );
    let error = read_values("a: 1\na: 2\n").unwrap_err();
    let message = "cannot read the rendered values in line 2 (\"a: 2\"): duplicate key \"a\" in one mapping";
    assert_eq!(error.to_string(), message);
}

#[test]
fn number_without_json_form_is_named() {
    for number in [".inf", "-.inf", ".nan"] {
        let error = read_values(&format!("a: {number}\n")).unwrap_err().to_string();
        let expected = format!(
            "cannot read the rendered values in line 1 (\"a: {number}\"): {number} is a number in YAML, but not in \
             JSON: Kubernetes cannot store it"
        );
        assert_eq!(error, expected);
    }
}

#[test]
fn exceeded_limit_is_described() {
    let error =
        read_values(&format!("a: {}{}", "[".repeat(DEPTH), "]".repeat(DEPTH))).unwrap_err().to_string();
    assert!(error.ends_with(": exceeds the limit of 64 levels of nesting"), "{error}");
    let anchors = (0..1_500).map(|number| format!("a{number}: &a{number} 1\n"));
    let aliases = (0..1_500).map(|number| format!("b{number}: *a{number}\n"));
    let error = read_values(&anchors.chain(aliases).collect::<Vec<_>>().concat()).unwrap_err().to_string();
    assert!(error.ends_with(": exceeds the limit of 1000 aliases"), "{error}");
}

#[test]
fn nesting_is_limited() {
    let nested = |depth: usize| format!("a: {}{}", "[".repeat(depth), "]".repeat(depth));
    assert!(read_values(&nested(DEPTH - 1)).is_ok());
    assert!(read_values(&nested(DEPTH)).is_err());
    assert!(read_values(&nested(100_000)).is_err());
}
