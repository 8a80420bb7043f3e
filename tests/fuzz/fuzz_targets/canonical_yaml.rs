//! Any value written as YAML: a reader of YAML gives the same value.
#![no_main]

use libfuzzer_sys::fuzz_target;
use serde_json::{Value, json};
use stackflux::plan::canonical::{documents, to_yaml};

// The input is a value as JSON, or else a text that is written in every place where one can stand.
fuzz_target!(|text: &str| {
    let value = serde_json::from_str(text).unwrap_or_else(|_| everywhere(text));
    let written = to_yaml(&value);
    assert_eq!(read(&written), value, "{written}");
    let stream = documents([&value, &value].into_iter());
    assert_eq!(stream, format!("{written}---\n{written}"));
});

fn everywhere(text: &str) -> Value {
    let key = text.to_owned();
    json!([text, {"a": text}, {key.clone(): text}, [text, [text, {"a": {"b": text}}]], {key: {"a": [text]}}, text])
}

fn read(written: &str) -> Value {
    serde_yaml::from_str(written).unwrap_or_else(|error| panic!("{error}\n{written}"))
}
