//! Whether the definitions of stackflux's kinds in the cluster are those of this program.
//!
//! Only the fields and their checks count, not their descriptions. A definition that lacks fields is older than the program, and
//! one that has others is newer.

use std::collections::BTreeMap;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use serde_json::{Map, Value};

use super::check::Check;
use super::facts::Facts;
use crate::api;
use crate::foreign::capi::{field, text};
use crate::release::finding::listed;

const DEFINITIONS: &str = "Definitions";
/// Number of fields that a message names.
const SHOWN: usize = 3;
/// What replaces the definitions.
const APPLY: &str = "stackflux crds | kubectl apply --server-side --force-conflicts -f -";

/// How a definition differs from that of this program.
#[derive(Debug, Default, PartialEq, Eq)]
struct Difference {
    /// The fields that it lacks.
    missing: Vec<String>,
    /// The fields that only it has.
    more: Vec<String>,
    /// The fields that both have, with other checks.
    other: Vec<String>,
}

/// Checks the definitions of an installation.
#[must_use]
pub fn installed(facts: &Facts) -> Check {
    check(facts, |name| {
        let message = format!("{name} is not installed, so that the operator does not become ready");
        Some(Check::problem(DEFINITIONS, message, APPLY))
    })
}

/// Checks the definitions that exist before the installation, which creates the missing ones and replaces older ones.
#[must_use]
pub fn before_install(facts: &Facts) -> Check {
    let check = check(facts, |_| None);
    if check.run.as_deref() != Some(APPLY) {
        return check;
    }
    Check::warning(DEFINITIONS, format!("{}; the installation replaces it", check.message), APPLY)
}

/// Checks the definitions, up to the first that is not as in this program.
fn check(facts: &Facts, missing: impl Fn(&str) -> Option<Check>) -> Check {
    let mut found = 0;
    for expected in api::custom_resource_definitions() {
        let name = expected.metadata.name.clone().unwrap_or_default();
        match facts.definitions.get(&name) {
            Some(Ok(Some(definition))) => {
                found += 1;
                if let Some(check) = differs(&name, &difference(definition, &expected)) {
                    return check;
                }
            }
            Some(Ok(None)) | None => {
                if let Some(check) = missing(&name) {
                    return check;
                }
            }
            Some(Err(why)) => return Check::unread(DEFINITIONS, why),
        }
    }
    if found == 0 {
        return Check::ok(DEFINITIONS, "none yet: the installation creates them");
    }
    Check::ok(DEFINITIONS, format!("those of this program ({})", env!("CARGO_PKG_VERSION")))
}

/// Reports a difference; `None` if there is none.
fn differs(name: &str, Difference { missing, more, other }: &Difference) -> Option<Check> {
    let (way, fields, run) = match (missing.is_empty(), more.is_empty(), other.is_empty()) {
        (true, true, true) => return None,
        (false, true, _) => ("older than this program: it lacks", missing, APPLY),
        (true, false, _) => {
            let message = format!("{name} is newer than this program: it has also {}", listed(more, SHOWN));
            let check = Check::problem(DEFINITIONS, message, "stackflux version");
            return Some(check.then("Install the command line of the operator's version."));
        }
        (false, false, _) => ("of another version than this program: it lacks", missing, APPLY),
        (true, true, false) => ("of another version than this program: it has other checks of", other, APPLY),
    };
    Some(Check::problem(DEFINITIONS, format!("{name} is {way} {}", listed(fields, SHOWN)), run))
}

fn difference(found: &CustomResourceDefinition, expected: &CustomResourceDefinition) -> Difference {
    let (found, expected) = (fields(found), fields(expected));
    let names = |of: &BTreeMap<String, Value>, but: &BTreeMap<String, Value>| -> Vec<String> {
        of.keys().filter(|name| !but.contains_key(*name)).cloned().collect()
    };
    let other =
        expected.iter().filter(|(name, checks)| found.get(*name).is_some_and(|found| found != *checks));
    Difference {
        missing: names(&expected, &found),
        more: names(&found, &expected),
        other: other.map(|(name, _)| name.clone()).collect(),
    }
}

/// Returns the fields of all served versions, each with its checks.
fn fields(definition: &CustomResourceDefinition) -> BTreeMap<String, Value> {
    let mut fields = BTreeMap::new();
    for version in definition.spec.versions.iter().filter(|version| version.served) {
        let schema = version.schema.as_ref().and_then(|schema| schema.open_api_v3_schema.as_ref());
        // Serializing one cannot fail: it has only text keys.
        let schema = serde_json::to_value(schema).unwrap_or_default();
        add(&mut fields, &version.name, &schema);
    }
    fields
}

/// Adds a field and the fields below it.
fn add(fields: &mut BTreeMap<String, Value>, path: &str, schema: &Value) {
    let below = ["properties", "items", "additionalProperties", "description"];
    let checks = schema.as_object().into_iter().flatten().filter(|(name, _)| !below.contains(&name.as_str()));
    let checks: Map<String, Value> = checks.map(|(name, value)| (name.clone(), value.clone())).collect();
    fields.insert(path.to_owned(), Value::Object(checks));
    for (name, schema) in field(schema, &["properties"]).and_then(Value::as_object).into_iter().flatten() {
        add(fields, &format!("{path}.{name}"), schema);
    }
    for (name, suffix) in [("items", "[]"), ("additionalProperties", ".*")] {
        if let Some(schema) = field(schema, &[name]).filter(|schema| !text(schema, &["type"]).is_empty()) {
            add(fields, &format!("{path}{suffix}"), schema);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::check::Outcome::{NotChecked, Ok as Good, Problem, Warning};
    use super::super::tests::{assert_found, forbidden, healthy};
    use super::*;

    const STACKS: &str = "clusterstacks.clusterstack.x-k8s.io";

    /// The facts with another definition of ClusterStacks.
    fn with(change: impl Fn(&mut Map<String, Value>)) -> Facts {
        let mut facts = healthy();
        let definition = facts.definitions.get(STACKS).unwrap().clone().unwrap();
        let mut value = serde_json::to_value(definition).unwrap();
        let spec = "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties";
        change(value.pointer_mut(spec).unwrap().as_object_mut().unwrap());
        facts.definitions.insert(STACKS.to_owned(), Ok(Some(serde_json::from_value(value).unwrap())));
        facts
    }

    #[test]
    fn definition_of_another_version_says_which_way_round() {
        let older = |fields: &mut Map<String, Value>| _ = fields.remove("upgradeGate");
        let newer = |fields: &mut Map<String, Value>| {
            fields.insert("tint".to_owned(), serde_json::json!({"type": "string"}));
        };
        let both = |fields: &mut Map<String, Value>| {
            older(fields);
            newer(fields);
        };
        let checks = |fields: &mut Map<String, Value>| fields["channel"]["maxLength"] = 7.into();
        let words = |fields: &mut Map<String, Value>| fields["channel"]["description"] = "another".into();
        for (facts, outcome, part) in [
            (healthy(), Good, "those of this program"),
            (with(words), Good, "those of this program"),
            (
                with(older),
                Problem,
                "clusterstack.x-k8s.io is older than this program: it lacks v1alpha1.spec.upgradeGate",
            ),
            (with(newer), Problem, "is newer than this program: it has also v1alpha1.spec.tint"),
            (
                with(both),
                Problem,
                "is of another version than this program: it lacks v1alpha1.spec.upgradeGate",
            ),
            (with(checks), Problem, "it has other checks of v1alpha1.spec.channel"),
        ] {
            assert_found(&[installed(&facts)], &[(DEFINITIONS, outcome, part)]);
            let replaced = matches!(outcome, Problem) && !part.contains("newer");
            let outcome = if replaced { Warning } else { outcome };
            assert_found(&[before_install(&facts)], &[(DEFINITIONS, outcome, part)]);
        }
    }

    #[test]
    fn missing_definition_is_expected_before_the_installation() {
        let mut facts = healthy();
        facts.definitions.values_mut().for_each(|read| *read = Ok(None));
        assert_found(&[installed(&facts)], &[(DEFINITIONS, Problem, "is not installed")]);
        assert_found(&[before_install(&facts)], &[(DEFINITIONS, Good, "none yet")]);
        let why = forbidden("get", "apiextensions.k8s.io", "customresourcedefinitions");
        facts.definitions.values_mut().for_each(|read| *read = Err(why.clone()));
        for check in [installed(&facts), before_install(&facts)] {
            assert_found(&[check], &[(DEFINITIONS, NotChecked, "you may not get customresourcedefinitions")]);
        }
    }
}
