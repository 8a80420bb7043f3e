//! Renders a template and data of any bytes: it must not panic, must end, and must give the same answer twice. Checks its
//! syntax as that of another program's template, and follows its reads of roots.
#![no_main]

use gotemplate::{Template, check_syntax};
use libfuzzer_sys::fuzz_target;
use serde_json::{Value, json};

// The input is a template, and after a zero byte its data as JSON.
fuzz_target!(|bytes: &[u8]| {
    let mut parts = bytes.splitn(2, |byte| *byte == 0);
    let (template, data) = (parts.next().unwrap_or_default(), parts.next());
    let Ok(template) = std::str::from_utf8(template) else { return };
    let is_syntax = check_syntax("template", template).is_ok();
    let Ok(parsed) = Template::parse("template", template) else { return };
    assert!(is_syntax, "what is parsed has the right syntax");
    for roots in [&["a"][..], &["a", "i", "f", "s", "t", "l", "m"]] {
        assert_eq!(parsed.reads_outside(roots), parsed.reads_outside(roots));
    }
    let data = data.and_then(|data| serde_json::from_slice(data).ok()).unwrap_or_else(usual_data);
    assert_eq!(parsed.render(&data), parsed.render(&data));
    for field in parsed.fields() {
        assert_eq!(field.select(&data), field.select(&data));
    }
});

/// Returns the data for a template whose input brings none.
fn usual_data() -> Value {
    json!({
        "a": {"b": {"c": 1}, "n": null}, "i": 42, "f": 2.5, "s": "Straße", "t": true, "l": [3, "a", null, 1.5], "m": {"b": 1, "a": "x"},
    })
}
