//! The files in `crds/` are what the types say.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::{env, fs};

use serde_json::Value;
use stackflux::api::read::ReadError;
use stackflux::api::{ClusterStack, custom_resource_definitions};
use stackflux::plan::canonical::to_yaml;

use crate::cluster_stack_cases::{Refused, cases, cluster_stack};

/// The file of each definition, named as the resource, and what must be in it.
fn files() -> Vec<(PathBuf, String)> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("crds");
    let file = |definition: &Value| {
        let plural = definition.pointer("/spec/names/plural").unwrap().as_str().unwrap();
        (directory.join(format!("{plural}.yaml")), to_yaml(definition))
    };
    let definitions = custom_resource_definitions();
    definitions.iter().map(|definition| file(&serde_json::to_value(definition).unwrap())).collect()
}

#[test]
#[allow(clippy::disallowed_methods, reason = "a test may read files and how it was called")]
fn crd_files_are_those_of_the_types() {
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

/// `flux uninstall` deletes every CRD with this label, and so all objects of its kind.
#[test]
#[allow(clippy::disallowed_methods, reason = "a test may read files")]
fn definitions_are_never_part_of_flux() {
    let is_of_flux = |text: &str| {
        let line = |line: &str| line.replace(['"', '\'', ' '], "");
        text.lines().any(|text| line(text).contains("app.kubernetes.io/part-of:flux"))
    };
    assert!(is_of_flux("  app.kubernetes.io/part-of: \"flux\"\n"));
    for definition in custom_resource_definitions() {
        let labels = definition.metadata.labels.unwrap_or_default();
        assert_ne!(labels.get("app.kubernetes.io/part-of").map(String::as_str), Some("flux"));
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut directories = vec![root.join("crds"), root.join("flux"), root.join("examples")];
    let mut files = 0;
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(&directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                directories.push(path);
            } else if let Ok(text) = fs::read_to_string(&path) {
                files += 1;
                assert!(!is_of_flux(&text), "{} has the label part-of of Flux", path.display());
            }
        }
    }
    assert!(files > 20, "{files} files");
}

#[test]
fn own_fields_have_descriptions() {
    for definition in custom_resource_definitions() {
        let schema = serde_json::to_value(&definition).unwrap();
        let root = schema.pointer("/spec/versions/0/schema/openAPIV3Schema").unwrap();
        assert_described(root, &definition.spec.names.kind);
    }
}

fn assert_described(schema: &Value, path: &str) {
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

#[test]
fn offline_rules_refuse_exactly_the_broken_cases() {
    for case in cases() {
        let text = to_yaml(&cluster_stack("stack", "default", &case.change));
        match (case.refused, ClusterStack::from_yaml(&text)) {
            (Refused::Not, Ok(_)) | (Refused::Schema, Err(_)) => {}
            (Refused::Rule(field, message), Err(ReadError::Refused(problems))) => {
                let found = problems
                    .iter()
                    .any(|problem| problem.field == field && problem.message.contains(message));
                assert!(found, "{}: {problems:?} lacks {field}: {message}", case.change);
            }
            (_, result) => panic!("{}: {result:?}", case.change),
        }
    }
}

/// A rule of the `ClusterStack`'s definition: the path of the field that it is at, and its message.
fn rules() -> BTreeSet<(String, String)> {
    let definition =
        custom_resource_definitions().into_iter().find(|found| found.spec.names.kind == "ClusterStack");
    let definition = serde_json::to_value(definition.unwrap()).unwrap();
    let mut rules = BTreeSet::new();
    collect(&definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"], "", &mut rules);
    rules
}

fn collect(schema: &Value, path: &str, rules: &mut BTreeSet<(String, String)>) {
    for rule in schema["x-kubernetes-validations"].as_array().into_iter().flatten() {
        rules.insert((path.to_owned(), rule["message"].as_str().unwrap().to_owned()));
    }
    for (name, property) in schema["properties"].as_object().into_iter().flatten() {
        collect(property, &format!("{path}/{name}"), rules);
    }
    if schema["additionalProperties"].is_object() {
        collect(&schema["additionalProperties"], &format!("{path}/cni"), rules);
    }
}

#[test]
fn rules_have_passing_and_failing_cases() {
    let rules = rules();
    assert!(rules.len() > 30, "{rules:?}");
    let mut broken = vec!["cannot be changed", "a duration must be more than zero"];
    let mut kept = Vec::new();
    for case in cases() {
        match case.refused {
            Refused::Rule(_, message) => broken.push(message),
            Refused::Not => kept.push(cluster_stack("stack", "default", &case.change)),
            Refused::Schema => {}
        }
    }
    for (path, message) in &rules {
        assert!(broken.iter().any(|part| message.contains(part)), "no case breaks {path}: {message}");
        assert!(kept.iter().any(|stack| stack.pointer(path).is_some()), "no admitted case has {path}");
    }
}
