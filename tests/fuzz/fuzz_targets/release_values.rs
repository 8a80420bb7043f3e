//! What a values template rendered, any text: no panic, and values that are written as YAML read back the same.
#![no_main]

use libfuzzer_sys::fuzz_target;
use serde_json::Value;
use stackflux::plan::canonical::to_yaml;
use stackflux::release::values::read_values;

fuzz_target!(|rendered: &str| {
    let read = read_values(rendered);
    assert_eq!(read, read_values(rendered));
    match read {
        // A text in `values` would be taken for the document.
        Ok(values) if !values.get("values").is_some_and(Value::is_string) => {
            let written = to_yaml(&Value::Object(values.clone()));
            assert_eq!(read_values(&written), Ok(values), "{written}");
        }
        Ok(_) => {}
        Err(error) => assert!(!error.to_string().is_empty()),
    }
});
