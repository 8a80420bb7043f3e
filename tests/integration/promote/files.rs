//! `docs/reference/promotion-files.md`: each field of the files of promotion, out of their types.

use std::fmt::Write as _;

use schemars::generate::SchemaSettings;
use serde_json::Value;
use stackflux::promote::holds::HoldsFile;
use stackflux::promote::stages::StagesFile;

use crate::documents::assert_is;
use crate::reference::Rows;

const HEAD: &str = "\
# The files of promotion

<!-- Generated from the types by tests/integration/promote/files.rs; to update, run UPDATE_GOLDEN=1 cargo test. -->

[Promotion](../do/promote.md) explains them. `[]` stands for each entry of a list. A field with a `*` is required. stackflux
refuses unknown fields, with file and line.
";

/// A schema without references, and without the null that an optional field may be.
fn schema<T: schemars::JsonSchema>() -> Value {
    let settings = SchemaSettings::draft2020_12().with(|settings| settings.inline_subschemas = true);
    let mut schema = settings.into_generator().into_root_schema_for::<T>().to_value();
    without_null(&mut schema);
    schema
}

fn without_null(schema: &mut Value) {
    if let Some(kinds) = schema.get("type").and_then(Value::as_array) {
        schema["type"] = kinds[0].clone();
    }
    match schema {
        Value::Object(entries) => {
            entries.shift_remove("format");
            if entries.get("default").is_some_and(Value::is_null) {
                entries.shift_remove("default");
            }
            entries.values_mut().for_each(without_null);
        }
        Value::Array(items) => items.iter_mut().for_each(without_null),
        _ => {}
    }
}

#[test]
fn file_reference_is_that_of_the_types() {
    let mut text = HEAD.to_owned();
    for (file, schema) in
        [("stackflux.yaml", schema::<StagesFile>()), ("stackflux.holds.yaml", schema::<HoldsFile>())]
    {
        let mut rows = Rows(String::new());
        rows.fields(&schema, "");
        let about = schema["description"].as_str().unwrap();
        let head = "| field | type | default | checks | what it is |\n|---|---|---|---|---|";
        write!(text, "\n## {file}\n\n{about}\n\n{head}\n{}", rows.0).unwrap();
    }
    assert_is(&text, "docs/reference/promotion-files.md");
}
