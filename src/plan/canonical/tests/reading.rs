//! `serde_yaml` reads back what was written, for arbitrary JSON.

use proptest::prelude::*;
use serde_json::{Number, Value};

use crate::plan::canonical::{documents, to_yaml};

/// Whole floats become integers when YAML is read (as in Go): compare numbers by what they are worth.
fn by_worth(value: Value) -> Value {
    match value {
        Value::Number(number) => match number.as_f64().filter(|_| number.is_f64()) {
            Some(float) => Number::from_f64(float + 0.0).map_or(Value::Null, whole_as_integer),
            None => Value::Number(number),
        },
        Value::Array(items) => items.into_iter().map(by_worth).collect(),
        Value::Object(entries) => entries.into_iter().map(|(key, value)| (key, by_worth(value))).collect(),
        other => other,
    }
}

/// Integers that JSON holds exactly, out of floats that are whole.
fn whole_as_integer(number: Number) -> Value {
    let text = format!("{:.0}", number.as_f64().unwrap_or_default());
    let integer = text.parse::<i64>().map(Number::from).or_else(|_| text.parse::<u64>().map(Number::from));
    match integer {
        Ok(integer) if integer.as_f64() == number.as_f64() => Value::Number(integer),
        _ => Value::Number(number),
    }
}

fn any_text() -> impl Strategy<Value = String> {
    let pieces = prop::sample::select(vec![
        " ", "\n", "\t", "\r", "a", "0", "1", "-", ":", "#", "?", ".", "e", "_", "~", "'", "\"", "\\", "{",
        "}", "[", "]", ",", "&", "*", "!", "|", ">", "%", "@", "`", "<<", "=", "yes", "null", "---", "...",
        "\u{85}", "\u{a0}", "\u{2028}", "\u{feff}", "é", "🚀", "\u{0}",
    ]);
    prop_oneof![
        prop::collection::vec(pieces, 0..9).prop_map(|pieces| pieces.concat()),
        any::<String>(),
        "[ \t\na#:-]{0,12}",
        "[-+0-9._:eExXoObBTZ ]{0,10}",
    ]
}

fn any_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>()
            .prop_filter_map("JSON has no such number", |float| Number::from_f64(float).map(Value::Number)),
        any_text().prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 40, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::vec((any_text(), inner), 0..6)
                .prop_map(|entries| Value::Object(entries.into_iter().collect())),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_document_is_read_back(value in any_value()) {
        let written = to_yaml(&value);
        prop_assert!(written.ends_with('\n'));
        let read: Value = serde_yaml::from_str(&written).map_err(|error| TestCaseError::fail(format!("{error}\n{written}")))?;
        prop_assert_eq!(by_worth(read), by_worth(value), "{}", written);
    }

    #[test]
    fn a_stream_is_read_back(values in prop::collection::vec(any_value(), 1..4)) {
        let written = documents(values.iter());
        let read: Vec<Value> = serde_yaml::from_multiple(&written).map_err(|error| TestCaseError::fail(format!("{error}\n{written}")))?;
        // The reader leaves out documents that are null.
        let expected: Vec<Value> = values.into_iter().filter(|value| !value.is_null()).map(by_worth).collect();
        prop_assert_eq!(read.into_iter().map(by_worth).collect::<Vec<_>>(), expected, "{}", written);
    }
}
