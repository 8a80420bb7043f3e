//! The files in `crds/` are what the types say.

use std::path::{Path, PathBuf};
use std::{env, fs};

use stackflux::api::custom_resource_definitions;
use stackflux::plan::canonical::to_yaml;

/// The file of each definition, named as the resource, and what must be in it.
fn files() -> Vec<(PathBuf, String)> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("crds");
    let file = |definition: &serde_json::Value| {
        let plural = definition.pointer("/spec/names/plural").unwrap().as_str().unwrap();
        (directory.join(format!("{plural}.yaml")), to_yaml(definition))
    };
    let definitions = custom_resource_definitions();
    definitions.iter().map(|definition| file(&serde_json::to_value(definition).unwrap())).collect()
}

#[test]
#[allow(clippy::disallowed_methods, reason = "a test may read files and how it was called")]
fn files_are_what_the_types_say() {
    if env::var("UPDATE_GOLDEN").is_ok() {
        for (path, text) in files() {
            fs::write(path, text).unwrap();
        }
    }
    for (path, text) in files() {
        let written = fs::read_to_string(&path).unwrap_or_default();
        assert!(written == text, "{} differs from the types: run with UPDATE_GOLDEN=1", path.display());
    }
}

#[test]
fn each_field_of_ours_is_described() {
    for definition in custom_resource_definitions() {
        let schema = serde_json::to_value(&definition).unwrap();
        let root = schema.pointer("/spec/versions/0/schema/openAPIV3Schema").unwrap();
        assert_described(root, &definition.spec.names.kind);
    }
}

fn assert_described(schema: &serde_json::Value, path: &str) {
    let description = schema.get("description").and_then(|text| text.as_str()).unwrap_or_default();
    assert!(description.ends_with('.') || description.contains("More info"), "{path}: {description:?}");
    for (name, property) in schema.get("properties").and_then(|value| value.as_object()).into_iter().flatten()
    {
        assert_described(property, &format!("{path}.{name}"));
    }
    for inner in ["items", "additionalProperties"] {
        if let Some(schema) = schema.get(inner).filter(|schema| schema.get("properties").is_some()) {
            assert_described(schema, &format!("{path}[]"));
        }
    }
}
