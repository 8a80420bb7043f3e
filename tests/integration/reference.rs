//! `docs/reference/kinds.md`: each field of our kinds, out of their definitions.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use serde_json::Value;
use stackflux::api::custom_resource_definitions;

use crate::documents::{assert_is, cell};

const HEAD: &str = "\
# Reference of the kinds

<!-- Generated from the definitions by tests/integration/reference.rs; to update, run UPDATE_GOLDEN=1 cargo test. -->

All kinds are namespaced, in the API group `clusterstack.x-k8s.io`, version `v1alpha1`. You write ClusterStacks and
ClusterAddonOverrides; the operator writes ClusterStackReleases and ClusterAddons. `[]` stands for each entry of a list, `.*` for each key of a map. A field with
a `*` is required if its parent is set. A rule is an expression of
[CEL](https://kubernetes.io/docs/reference/using-api/cel/); the API server and the command line refuse an object with the
message of the rule.
";

/// Kubernetes' own types, which are described there: a field that only they have, their name and their page.
const OF_KUBERNETES: [(&str, &str, &str); 2] = [
    (
        "lastTransitionTime",
        "Condition",
        "https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/",
    ),
    (
        "fieldPath",
        "ObjectReference",
        "https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/object-reference/",
    ),
];

/// A kind's fields, as rows of a table.
pub(crate) struct Rows(pub(crate) String);

impl Rows {
    pub(crate) fn fields(&mut self, schema: &Value, path: &str) {
        let required: BTreeSet<_> =
            schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        for (name, field) in schema["properties"].as_object().into_iter().flatten() {
            let mark = if required.contains(name.as_str()) { " *" } else { "" };
            self.field(field, &format!("{path}{name}"), mark);
        }
    }

    fn field(&mut self, schema: &Value, path: &str, mark: &str) {
        let default = schema.get("default").map(|default| format!("`{default}`")).unwrap_or_default();
        let checks = checks(schema).join("; ");
        let description = schema["description"].as_str().unwrap_or_default();
        let cells = [kind(schema), default, checks, description.to_owned()].map(|text| cell(&text));
        writeln!(self.0, "| `{path}`{mark} | {} |", cells.join(" | ")).unwrap();
        self.below(schema, path);
    }

    /// What is in a list, a map or an object, but for types of Kubernetes.
    fn below(&mut self, schema: &Value, path: &str) {
        if of_kubernetes(schema).is_some() {
            return;
        }
        for (key, suffix) in [("items", "[]"), ("additionalProperties", ".*")] {
            let inner = &schema[key];
            if inner["properties"].is_object() && of_kubernetes(inner).is_none() {
                self.fields(inner, &format!("{path}{suffix}."));
            }
        }
        self.fields(schema, &format!("{path}."));
    }
}

fn of_kubernetes(schema: &Value) -> Option<String> {
    let has = |field: &str| schema["properties"].get(field).is_some();
    let (_, name, page) = OF_KUBERNETES.iter().find(|(field, ..)| has(field))?;
    Some(format!("[{name}]({page})"))
}

fn kind(schema: &Value) -> String {
    if let Some(known) = of_kubernetes(schema) {
        return known;
    }
    match schema["type"].as_str().unwrap_or_default() {
        "array" => format!("list of {}", kind(&schema["items"])),
        "object" if schema["additionalProperties"].is_object() => {
            format!("map of {}", kind(&schema["additionalProperties"]))
        }
        other => other.to_owned(),
    }
}

/// What the API server checks, in words.
fn checks(schema: &Value) -> Vec<String> {
    let mut checks = Vec::new();
    if let Some(words) = schema["enum"].as_array() {
        let words: Vec<_> = words.iter().map(|word| format!("`{}`", word.as_str().unwrap())).collect();
        checks.push(format!("one of {}", words.join(", ")));
    }
    for (key, words) in [
        ("minLength", "at least {} characters"),
        ("maxLength", "at most {} characters"),
        ("maxItems", "at most {} entries"),
        ("maxProperties", "at most {} keys"),
        ("minimum", "at least {}"),
        ("maximum", "at most {}"),
        ("pattern", "matches `{}`"),
    ] {
        let value = &schema[key];
        let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        if schema.get(key).is_some() {
            checks.push(words.replace("{}", &value));
        }
    }
    if schema["items"].is_object() && of_kubernetes(&schema["items"]).is_none() {
        let items = self::checks(&schema["items"]);
        checks.extend(items.into_iter().map(|check| format!("each {check}")));
    }
    let rules = schema["x-kubernetes-validations"].as_array().into_iter().flatten();
    checks.extend(rules.map(|rule| rule["message"].as_str().unwrap().to_owned()));
    checks
}

fn document() -> String {
    let mut text = HEAD.to_owned();
    let mut definitions = custom_resource_definitions();
    // In the order in which a reader meets them.
    definitions.sort_by_key(|definition| match definition.spec.names.kind.as_str() {
        "ClusterStack" => 0,
        "ClusterStackRelease" => 1,
        "ClusterAddon" => 2,
        _ => 3,
    });
    for definition in definitions {
        let names = &definition.spec.names;
        let short = names.short_names.as_deref().unwrap_or_default().join(", ");
        let definition = serde_json::to_value(&definition).unwrap();
        let root = &definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"];
        let about = root["description"].as_str().unwrap();
        let kind = definition["spec"]["names"]["kind"].as_str().unwrap();
        writeln!(text, "\n## {kind}\n\n{about}\n\nFor kubectl: `{short}`.").unwrap();
        for part in ["spec", "status"] {
            let schema = &root["properties"][part];
            let about = schema["description"].as_str().unwrap();
            let mut rows = Rows(String::new());
            rows.fields(schema, "");
            writeln!(text, "\n### {kind} `{part}`\n\n{about}").unwrap();
            let rules = checks(schema);
            if !rules.is_empty() {
                writeln!(text, "\nAs a whole: {}.", cell(&rules.join("; "))).unwrap();
            }
            let head = "| field | type | default | checks | what it is |\n|---|---|---|---|---|";
            write!(text, "\n{head}\n{}", rows.0).unwrap();
        }
    }
    text
}

#[test]
fn reference_is_that_of_the_definitions() {
    assert_is(&document(), "docs/reference/kinds.md");
}
