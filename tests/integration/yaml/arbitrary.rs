//! Arbitrary JSON, made mostly of what YAML readers trip over.

use proptest::prelude::*;
use serde_json::{Number, Value};

/// Any JSON value, at most six collections deep.
pub(crate) fn value() -> impl Strategy<Value = Value> {
    leaf().prop_recursive(6, 40, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::vec((text(), inner), 0..6)
                .prop_map(|entries| Value::Object(entries.into_iter().collect())),
        ]
    })
}

fn leaf() -> impl Strategy<Value = Value> {
    prop_oneof![
        1 => Just(Value::Null),
        1 => any::<bool>().prop_map(Value::from),
        1 => any::<i64>().prop_map(Value::from),
        1 => any::<u64>().prop_map(Value::from),
        2 => any::<f64>().prop_filter_map("not in JSON", |float| Number::from_f64(float).map(Value::Number)),
        10 => text().prop_map(Value::from),
    ]
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        prop::collection::vec(piece(), 0..9).prop_map(|pieces| pieces.concat()),
        prop::collection::vec(line(), 1..6).prop_map(|lines| lines.concat()),
        any::<String>(),
        "[ \t\na#:-]{0,12}",
        "[-+0-9._:,eExXoObBTZ ]{0,10}",
        "[yYnNoOfFtTrRuUeElLsS~<=]{1,5}",
    ]
}

fn piece() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        " ", "\n", "\t", "\r", "a", "0", "1", "-", ":", "#", "?", ".", "e", "_", "~", "'", "\"", "\\", "{",
        "}", "[", "]", ",", "&", "*", "!", "|", ">", "%", "@", "`", "<<", "=", "yes", "null", "---", "...",
        "\u{85}", "\u{a0}", "\u{2028}", "\u{2029}", "\u{feff}", "\u{fffe}", "\u{200d}", "é", "語", "🚀",
        "\u{0}", "\u{7f}", "0x", "{{ ", " }}",
    ])
}

/// Lines as texts in values have them: scripts, configuration, certificates.
fn line() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        "\n",
        "\n\n",
        "  \n",
        "\t\n",
        "a\n",
        " a\n",
        "  b: c\n",
        "\tx\n",
        "- y\n",
        "# z\n",
        "end",
        "end \n",
        "end\t\n",
        "crlf\r\n",
        "---\n",
        "...\n",
        "key: |\n",
        "%x\n",
        "\u{a0}a\n",
        "'q' \"r\" \\\n",
        " ",
        "  - a\n",
        "日本\n",
    ])
}
