//! Everything that `plan::canonical` writes is read back as the same value by every reader that it meets: `serde_yaml`,
//! Flux, Helm and `kubectl` (`sigs.k8s.io/yaml`), kustomize (`go.yaml.in/yaml/v3`).

mod arbitrary;
mod texts;

use proptest::prelude::*;
use proptest::strategy::ValueTree as _;
use proptest::test_runner::{RngAlgorithm, TestRng, TestRunner};
use serde_json::{Value, json};
use stackflux::plan::canonical::{documents, to_yaml};

use crate::oracle;

/// Whether a reader got the value that was written.
///
/// A whole float may come back as an integer of the same worth: JSON does not tell them apart in Go, and `serde_yaml`
/// does as Go does. An integer has to come back as that integer. The order of keys is not part of a value.
fn is_same(written: &Value, read: &Value) -> bool {
    match (written, read) {
        (Value::Number(written), Value::Number(read)) if written.is_f64() => {
            written.as_f64() == read.as_f64()
        }
        (Value::Array(written), Value::Array(read)) => {
            written.len() == read.len()
                && written.iter().zip(read).all(|(written, read)| is_same(written, read))
        }
        (Value::Object(written), Value::Object(read)) => {
            written.len() == read.len()
                && written.iter().all(|(key, value)| read.get(key).is_some_and(|read| is_same(value, read)))
        }
        (written, read) => written == read,
    }
}

/// What is wrong with a document, by reader; nothing if every reader gets the value back.
fn differences(value: &Value, document: &str, answer: &Value) -> Vec<String> {
    let mut differences = Vec::new();
    match serde_yaml::from_str::<Value>(document) {
        Ok(read) if is_same(value, &read) => {}
        other => differences.push(format!("serde_yaml: {other:?}")),
    }
    for reader in ["flux", "kustomize"] {
        if !answer[reader].get("json").is_some_and(|read| is_same(value, read)) {
            differences.push(format!("{reader}: {}", answer[reader]));
        }
    }
    // A line that begins like this would end the document for those that split a stream without parsing it.
    if document.lines().any(|line| line.starts_with("---") || line.starts_with("...")) {
        differences.push("a document marker inside".to_owned());
    }
    differences
}

/// Writes all values, has them read by all readers, and fails with the first ones that came back different.
fn assert_all_read_back(what: &str, values: &[Value]) {
    let requests: Vec<Value> = (0..)
        .zip(values)
        .map(|(id, value): (usize, _)| json!({ "id": id, "yaml": to_yaml(value) }))
        .collect();
    let answers = oracle::ask(&oracle::build("yaml"), &requests);
    let mut wrong = Vec::new();
    for ((value, request), answer) in values.iter().zip(&requests).zip(&answers) {
        assert_eq!(request["id"], answer["id"]);
        let document = request["yaml"].as_str().expect("a text");
        let differences = differences(value, document, answer);
        if !differences.is_empty() {
            wrong.push(format!("{value}\n{document}{}\n", differences.join("\n")));
        }
    }
    println!("{what}: {} documents, {} read differently", values.len(), wrong.len());
    assert!(wrong.is_empty(), "{}", wrong.iter().take(10).cloned().collect::<String>());
}

/// A text in every place where one can stand, each with something after it that must not become part of it.
fn shapes(text: &str) -> Vec<Value> {
    vec![
        json!(text),
        json!([text]),
        json!({ "a": text }),
        json!({ text: "a" }),
        json!({ "a": text, "z": 1 }),
        json!({ "a": { "b": { "c": text }, "z": text }, "z": 1 }),
        json!([text, [text, [text, text]], text]),
        json!({ "a": [text, { "b": text, "c": [text], text: text }, text], "z": 1 }),
        json!({ text: { text: [text] } }),
        json!([{ text: text }, { text: [text, { text: text }] }]),
        json!({ "a": [[{ "b": text }, 1], 2], "z": [[text]] }),
    ]
}

/// Structures and numbers that have been written or read wrong by YAML tools.
fn structures() -> Vec<Value> {
    let mut structures = vec![
        json!({}),
        json!([]),
        json!(null),
        json!(true),
        json!(false),
        json!([[]]),
        json!([{}]),
        json!({ "a": {} }),
        json!({ "a": [] }),
        json!({ "a": null }),
        json!([null]),
        json!([[[[]]]]),
        json!([[[[{}]]]]),
        json!({ "a": [[], {}, null, [[]], [{}]] }),
        json!([[1], [2], [[3, 4], 5]]),
        json!([{ "a": [{ "b": [{ "c": [] }] }] }]),
        json!({ "a": [{ "b": 1, "c": { "d": [1] } }, { "b": 2 }], "e": 1 }),
        json!({ "": { "": [""] } }),
        json!({ "a": { "b": [], "c": {} }, "d": [{}, []] }),
        json!([{ "a": "x\n", "b": ["y\n\n", "z"] }, "w\n\n"]),
        json!([["a\n\n"], ["b\n\n"]]),
        json!({ "k".repeat(2_000): { "k".repeat(2_000): ["v"] } }),
        json!([{ ": ".repeat(600): [{ "ä".repeat(1_020): 1 }] }]),
        json!({ "long": "word ".repeat(2_000) + "end" }),
        json!({ "lines": "a line\n".repeat(2_000) }),
    ];
    let integers =
        [0, 1, -1, 8, 10, 100, 1_000_000, i64::from(i32::MAX), i64::from(i32::MIN), i64::MAX, i64::MIN];
    let floats = [
        0.0,
        -0.0,
        0.5,
        -0.5,
        0.1,
        1.0,
        1e-5,
        1e-6,
        1e-7,
        1e15,
        1e16,
        1e20,
        1e21,
        1e22,
        1e23,
        -1e21,
        1.5e300,
        5e-324,
        f64::MIN_POSITIVE,
        f64::MAX,
        f64::MIN,
        f64::EPSILON,
        9_007_199_254_740_993.0,
        1.8e19,
        123_456_789.125,
        std::f64::consts::PI,
        1.1e-45,
    ];
    structures.extend(integers.map(|number| json!({ "n": number, "list": [number] })));
    structures.extend(floats.map(|number| json!({ "n": number, "list": [number] })));
    structures.extend([json!(u64::MAX), json!([i64::MAX as u64 + 1])]);
    structures
}

#[test]
fn tricky_texts_are_read_back_by_all_readers() {
    let texts = texts::all();
    println!("{} texts", texts.len());
    assert!(texts.len() >= 400);
    let values: Vec<Value> = texts.iter().flat_map(|text| shapes(text)).collect();
    assert_all_read_back("tricky texts", &values);
}

#[test]
fn tricky_structures_are_read_back_by_all_readers() {
    assert_all_read_back("structures", &structures());
}

#[test]
fn random_values_are_read_back_by_all_readers() {
    let seed = TestRng::from_seed(RngAlgorithm::ChaCha, b"stackflux: canonical YAML seed 1");
    let mut runner = TestRunner::new_with_rng(ProptestConfig::default(), seed);
    let strategy = arbitrary::value();
    let values: Vec<Value> =
        (0..10_000).map(|_| strategy.new_tree(&mut runner).expect("a value").current()).collect();
    assert_all_read_back("random values", &values);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn serde_yaml_reads_back_arbitrary_json(value in arbitrary::value()) {
        let document = to_yaml(&value);
        let read: Value = serde_yaml::from_str(&document).map_err(|error| TestCaseError::fail(error.to_string()))?;
        prop_assert!(is_same(&value, &read), "{value}\n{document}{read}");
    }

    #[test]
    fn serde_yaml_reads_back_streams(values in prop::collection::vec(arbitrary::value(), 0..4)) {
        let stream = documents(values.iter());
        let read: Vec<Value> =
            serde_yaml::from_multiple(&stream).map_err(|error| TestCaseError::fail(error.to_string()))?;
        // The reader leaves out documents that are null.
        let written: Vec<Value> = values.into_iter().filter(|value| !value.is_null()).collect();
        prop_assert!(is_same(&json!(written), &json!(read)), "{stream}");
    }
}
