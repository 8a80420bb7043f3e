//! The CEL rules of the `ClusterStack`'s definition, evaluated, beside the offline rules: both refuse the same objects for
//! the same reasons. The CEL text is what the API server has, and so the source; the offline rules are held equal to it.

use std::collections::BTreeSet;

use kube::core::cel::{CompiledSchema, ErrorKind, Validator, compile_schema};
use proptest::prelude::*;
use proptest::sample::subsequence;
use proptest::string::string_regex;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use serde_json::{Value, json};
use stackflux::api::{ClusterStack, custom_resource_definitions};

use crate::cluster_stack_cases::{cases, cluster_stack, merge};

/// Fields, and the messages of the rules that they break.
type Broken = BTreeSet<(String, String)>;

/// A definition's schema, and the rules in it, compiled.
struct Definition {
    schema: Value,
    compiled: CompiledSchema,
}

impl Definition {
    fn of(schema: Value) -> Self {
        Self { compiled: compile_schema(&schema), schema }
    }

    /// That of the `ClusterStack`.
    fn current() -> Self {
        Self::of_kind("ClusterStack")
    }

    fn of_kind(kind: &str) -> Self {
        let definitions = custom_resource_definitions();
        let found = definitions.into_iter().find(|found| found.spec.names.kind == kind).unwrap();
        let found = serde_json::to_value(found).unwrap();
        Self::of(found["spec"]["versions"][0]["schema"]["openAPIV3Schema"].clone())
    }

    /// What the CEL rules refuse.
    fn broken(&self, object: &Value) -> Broken {
        let Err(errors) = Validator::new().validate_compiled(&self.compiled, object, None) else {
            return Broken::new();
        };
        let broken = errors.into_vec().into_iter().map(|error| {
            assert_eq!(error.kind, ErrorKind::ValidationFailure, "{error}");
            (plain(&error.field_path), error.message)
        });
        broken.collect()
    }

    /// What only one of CEL and the offline rules refuses. The API server evaluates no rule of an object with a field
    /// beyond a limit of the schema; the offline rules include the limits, and must refuse such a field.
    fn disagreement(&self, stack: &ClusterStack) -> Broken {
        let object = serde_json::to_value(stack).unwrap();
        let (by_cel, offline) = (self.broken(&object), offline(stack));
        let mut beyond = BTreeSet::new();
        beyond_limits(&self.schema, &object, "", &mut beyond);
        let is_beyond = |field: &String| beyond.contains(field);
        let missed = beyond.iter().filter(|field| !offline.iter().any(|(refused, _)| refused == *field));
        let missed = missed.map(|field| (field.clone(), "is beyond a limit of the schema".to_owned()));
        let different = by_cel.symmetric_difference(&offline).filter(|(field, _)| !is_beyond(field));
        missed.chain(different.cloned()).collect()
    }
}

fn offline(stack: &ClusterStack) -> Broken {
    let violations = stack.validate().into_iter();
    violations.map(|violation| (plain(&violation.field), violation.message.to_owned())).collect()
}

/// `spec.flux.addons[cni]` and `spec.flux.addons.cni` are the same field.
fn plain(field: &str) -> String {
    field.replace('[', ".").replace(']', "")
}

/// Adds the fields that exceed a limit of the schema; a text in a list counts as the list.
fn beyond_limits(schema: &Value, value: &Value, path: &str, beyond: &mut BTreeSet<String>) {
    let size = match value {
        Value::String(text) => Some(("maxLength", text.chars().count())),
        Value::Array(items) => Some(("maxItems", items.len())),
        Value::Object(fields) => Some(("maxProperties", fields.len())),
        _ => None,
    };
    if size.is_some_and(|(limit, size)| schema[limit].as_u64().is_some_and(|most| size as u64 > most)) {
        beyond.insert(path.to_owned());
    }
    for (at, item) in value.as_array().into_iter().flatten().enumerate() {
        let of_item = if item.is_object() { format!("{path}.{at}") } else { path.to_owned() };
        beyond_limits(&schema["items"], item, &of_item, beyond);
    }
    for (key, field) in value.as_object().into_iter().flatten() {
        let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
        let known = schema["properties"].get(key).unwrap_or(&schema["additionalProperties"]);
        beyond_limits(known, field, &path, beyond);
    }
}

const NAME: &str = "[-.a-z0-9A]{0,5}|[a-z][-a-z0-9]{60,64}[.][a-z]{1,3}|([a-z]{49}[.]){4}[a-z]{51,55}";
const URL: &str = "(https?|ssh|ftp|SSH)://[a-z@:/\n]{0,8}|https://[a-z]{2038,2043}";
const PATH: &str = "(/|[.]{1,2}|[a-z]){0,6}|[a-z]{254,258}";
const AUTHOR: &str = "[<>a-z\n\r ]{0,5}|[a-zé]{253,257}";

/// Fields of the spec, and texts for each around what is valid and around its limits.
const FIELDS: [(&str, &str); 43] = [
    ("/provider", "[a-z0-9]{62,64}|[a-zA-Z0-9-]{0,4}"),
    ("/name", "[a-z0-9]{62,64}|[a-zA-Z0-9-]{0,4}"),
    ("/kubernetesVersion", "[0-9]{1,7}[.][0-9]{1,8}"),
    ("/channel", "stable|custom|beta|[a-z0-9]{62,64}|[a-zA-Z-]{0,4}"),
    ("/versions/0", "v[0-9]{1,19}(-[a-z]{1,4}[.][a-z0-9]{1,4})?|v1-[a-z]{50,56}[.][a-z]{1,6}"),
    ("/versions/1", "v[0-9]{1,2}-(beta|stable|sha)[.-][a-z0-9]{0,2}"),
    ("/source/path", PATH),
    ("/source/gitRepositoryRef/name", NAME),
    ("/source/gitRepositoryRef/namespace", "[-.a-z0-9A]{0,5}|[a-z]{62,65}"),
    ("/source/secretRef/name", NAME),
    ("/source/git/url", URL),
    ("/source/git/path", PATH),
    ("/source/git/ref/tag", "v1"),
    ("/source/git/secretRef/name", NAME),
    ("/source/git/verify/secretRef/name", NAME),
    ("/source/git/proxySecretRef/name", NAME),
    ("/source/upstream/url", "(oci|github|http)://[a-z@:/]{0,8}|github://[a-z]{2037,2041}"),
    ("/source/upstream/secretRef/name", NAME),
    ("/source/upstream/certSecretRef/name", NAME),
    ("/source/upstream/verify/secretRef/name", NAME),
    ("/source/upstream/pushSecretRef/name", NAME),
    ("/source/upstream/commit/author/name", AUTHOR),
    ("/source/upstream/commit/author/email", AUTHOR),
    ("/source/upstream/commit/signingKey/secretRef/name", NAME),
    ("/delivery/git/url", URL),
    ("/delivery/git/branch", "[-._a-zA-Z0-9/]{0,6}([.]lock)?|[a-z]{253,257}"),
    ("/delivery/git/path", PATH),
    ("/delivery/git/secretRef/name", NAME),
    ("/delivery/git/commit/author/name", AUTHOR),
    ("/delivery/git/commit/author/email", AUTHOR),
    ("/delivery/git/commit/signingKey/secretRef/name", NAME),
    ("/delivery/git/pullRequest/api", URL),
    ("/delivery/git/pullRequest/secretRef/name", NAME),
    (
        "/flux/kubeConfig/secretName",
        "[-.a-zA]{0,3}([{]cluster[}]){0,2}[-.a-z]{0,3}|[a-z]{240}[{]cluster[}][a-z]{2,6}",
    ),
    ("/flux/kubeConfig/key", "[-._a-zA-Z/]{0,4}|[a-z]{252,254}"),
    ("/flux/serviceAccountName", NAME),
    ("/flux/addons/cni/dependsOn/0", "[-a-z0-9A.]{0,4}|[a-z]{52,54}|cni"),
    ("/flux/addons/cni/valuesFrom/0/name", "[-.a-zA_]{0,4}([{]cluster[}]){0,2}[a-z]{0,2}|[a-z]{252,254}"),
    ("/flux/addons/cni/valuesFrom/0/valuesKey", "[-._a-zA-Z/]{0,4}|[a-z]{252,254}"),
    ("/flux/addons/cni/valuesFrom/0/targetPath", r"([-a-zA-Z0-9_./\\=]|\[[0-9]{0,6}\]){0,6}|[a-z]{249,251}"),
    ("/flux/addons/cni/decryption/secretRef/name", "[-.a-zA_]{0,4}([{]cluster[}]){0,2}|[a-z]{252,254}"),
    ("/flux/addons/cni/decryption/serviceAccountName", NAME),
    ("/flux/addons/cni/overridable/values/0", "[a.*\\\\\\[]{0,5}|[a-z]{252,254}"),
];

/// Changes of the spec that concern more than one field, or more than one value, as JSON merge patches.
fn shapes() -> Vec<Value> {
    let many = |count: usize| (0..count).map(|index| format!("v{index}")).collect::<Vec<_>>();
    let addons = |count: usize| many(count).into_iter().map(|name| (name, json!({}))).collect::<Value>();
    vec![
        json!({"source": null}),
        json!({"source": {"git": null}}),
        json!({"source": {"upstream": null}}),
        json!({"source": {"git": null, "upstream": null, "gitRepositoryRef": {"name": "stacks"}}}),
        json!({"source": {"gitRepositoryRef": {"name": "stacks"}}}),
        json!({"source": {"git": {"ref": {"branch": null}}}}),
        json!({"source": {"git": {"ref": null}}}),
        json!({"delivery": null}),
        json!({"delivery": {"git": null}}),
        json!({"delivery": {"mode": "Cluster"}}),
        json!({"noProvider": true}),
        json!({"providerRef": null}),
        json!({"channel": "beta", "versions": ["v1-beta.1", "v2-beta.1"]}),
        json!({"channel": "custom", "versions": ["v1-sha.1", "v2-beta.1"]}),
        json!({"versions": many(256)}),
        json!({"versions": many(257)}),
        json!({"revisionHistoryLimit": 1001}),
        json!({"flux": null}),
        json!({"flux": {"addons": addons(62)}}),
        json!({"flux": {"addons": addons(63)}}),
        json!({"flux": {"addons": {"cni": {"dependsOn": many(65)}}}}),
        json!({"flux": {"addons": {"cni": {"valuesFrom": vec![json!({"kind": "Secret", "name": "a"}); 17]}}}}),
        json!({"flux": {"addons": {"cni": {"postRenderers": vec![json!({"kustomize": {}}); 9]}}}}),
        patches(&json!({"patches": vec![json!({"patch": "a"}); 33]})),
        patches(&json!({"patches": [{"patch": "a".repeat(16_385)}]})),
        patches(&json!({"patches": [{"patch": "a", "target": {"labelSelector": "a".repeat(1025)}}]})),
        patches(&json!({"images": [{"name": "a", "newTag": "a".repeat(129)}]})),
        json!({"flux": {"addons": {"Not-A-Name": {}, "a".repeat(53): {}}}}),
        json!({"flux": {"addons": {"a".repeat(54): {}}}}),
    ]
}

fn patches(kustomize: &Value) -> Value {
    json!({"flux": {"addons": {"cni": {"postRenderers": [{"kustomize": kustomize}]}}}})
}

/// Text of a form, or odd pieces.
fn text(form: &str) -> impl Strategy<Value = String> + use<> {
    let odd = prop_oneof![4 => "[-a-z0-9./:@_{}A-Z <>\n]", 1 => any::<char>().prop_map(String::from)];
    prop_oneof![
        3 => string_regex(form).unwrap(),
        1 => prop::collection::vec(odd, 0..5).prop_map(|pieces| pieces.concat()),
    ]
}

/// Valid and invalid `ClusterStack`s, of those that the types can hold.
fn stacks() -> impl Strategy<Value = ClusterStack> {
    let texts = subsequence(FIELDS.to_vec(), 0..7).prop_flat_map(|fields| {
        fields.into_iter().map(|(pointer, form)| (Just(pointer), text(form))).collect::<Vec<_>>()
    });
    (subsequence(shapes(), 0..6), texts).prop_filter_map("not of the types", |(shapes, texts)| {
        let mut object = cluster_stack("stack", "default", &json!({}));
        for shape in &shapes {
            merge(&mut object["spec"], shape);
        }
        for (pointer, text) in texts {
            set(&mut object["spec"], pointer, text);
        }
        read(object)
    })
}

/// Sets a field, if the spec has what the field is in.
fn set(spec: &mut Value, pointer: &str, text: String) {
    if let Some(value) = spec.pointer_mut(pointer) {
        *value = text.into();
    } else if let Some((parent, key)) = pointer.rsplit_once('/')
        && let Some(Value::Object(fields)) = spec.pointer_mut(parent)
    {
        fields.insert(key.to_owned(), text.into());
    }
}

fn config(cases: u32) -> Config {
    Config { cases, failure_persistence: None, ..Config::default() }
}

#[test]
fn cel_and_offline_rules_agree_on_random_specs() {
    let definition = Definition::current();
    let outcome = TestRunner::new(config(64)).run(&stacks(), |stack| {
        let found = definition.disagreement(&stack);
        prop_assert!(found.is_empty(), "{found:#?}");
        Ok(())
    });
    outcome.unwrap();
}

/// Replaces the text of each rule that one object can break, and adds its field and its message to `found`.
fn replace_rules(schema: &mut Value, by: &str, path: &str, found: &mut Broken) {
    for rule in schema["x-kubernetes-validations"].as_array_mut().into_iter().flatten() {
        let (text, message) = (rule["rule"].as_str().unwrap(), rule["message"].as_str().unwrap());
        // One object shows no change, and a duration that the type holds is more than zero.
        if !text.contains("oldSelf") && !message.starts_with("a duration") {
            found.insert((path.to_owned(), message.to_owned()));
            rule["rule"] = by.into();
        }
    }
    for (name, property) in schema["properties"].as_object_mut().into_iter().flatten() {
        let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
        replace_rules(property, by, &path, found);
    }
    // The full object has items of these lists alone.
    if path.starts_with("spec.flux") && schema["items"].is_object() {
        replace_rules(&mut schema["items"], by, &format!("{path}.0"), found);
    }
    if schema["additionalProperties"].is_object() {
        replace_rules(&mut schema["additionalProperties"], by, &format!("{path}.cni"), found);
    }
}

/// The current definition with other rules, and the rules that it had.
fn with_rules(by: &str) -> (Definition, Broken) {
    let (mut schema, mut found) = (Definition::current().schema, Broken::new());
    replace_rules(&mut schema, by, "", &mut found);
    assert!(found.len() > 40, "{found:?}");
    (Definition::of(schema), found)
}

fn read(object: Value) -> Option<ClusterStack> {
    serde_json::from_value(object).ok()
}

/// With every field that has a rule.
fn full() -> Value {
    let reference = json!({
        "gitRepositoryRef": {"name": "stacks", "namespace": "flux"}, "path": "releases", "secretRef": {"name": "stacks"},
    });
    cluster_stack("stack", "default", &json!({"source": reference}))
}

#[test]
fn rules_missing_in_cel_are_noticed() {
    let (without_rules, rules) = with_rules("true");
    let mut wrong = full();
    for (pointer, _) in FIELDS {
        set(&mut wrong["spec"], pointer, "/A<\n@".to_owned());
    }
    let cases = cases().into_iter().map(|case| cluster_stack("stack", "default", &case.change));
    let stacks = cases.chain([wrong]).filter_map(read);
    let noticed: Broken = stacks.flat_map(|stack| without_rules.disagreement(&stack)).collect();
    let missed: Vec<_> = rules.difference(&noticed).collect();
    assert!(missed.is_empty(), "{missed:#?}");
}

#[test]
fn rules_missing_offline_are_noticed() {
    let (refusing, rules) = with_rules("false");
    // The full one has two sources, which the offline rules refuse as well.
    let stacks = [full(), cluster_stack("stack", "default", &json!({}))].into_iter().filter_map(read);
    let noticed: Broken = stacks.flat_map(|stack| refusing.disagreement(&stack)).collect();
    let missed: Vec<_> = rules.difference(&noticed).collect();
    assert!(missed.is_empty(), "{missed:#?}");
}

#[test]
fn limit_off_by_one_is_detected() {
    let mut schema = Definition::current().schema;
    let rule = "/properties/spec/properties/kubernetesVersion/x-kubernetes-validations/0/rule";
    let rule = schema.pointer_mut(rule).unwrap();
    let narrower = rule.as_str().unwrap().replacen("{0,5}", "{0,4}", 1);
    assert_ne!(rule.as_str(), Some(narrower.as_str()));
    *rule = narrower.into();
    let (definition, (_, form)) = (Definition::of(schema), FIELDS[2]);
    let bare = json!({"source": null, "delivery": null, "flux": null, "versions": null});
    let rng = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    let outcome = TestRunner::new_with_rng(config(200), rng).run(&text(form), |text| {
        let mut object = cluster_stack("stack", "default", &bare);
        set(&mut object["spec"], FIELDS[2].0, text);
        prop_assert!(definition.disagreement(&read(object).unwrap()).is_empty());
        Ok(())
    });
    assert!(outcome.is_err(), "nothing was noticed");
}

/// The API server evaluates this rule at each write, also of the status: the operator may put back what it recorded.
#[test]
fn content_of_a_release_cannot_be_changed() {
    let definition = Definition::of_kind("ClusterStackRelease");
    let pin = |revision: &str| json!({"revision": revision, "digest": "sha256:0", "path": "releases/r"});
    let object = |spec: Option<&str>, status: Option<&str>| {
        let source =
            |revision: Option<&str>| revision.map_or_else(|| json!({}), |at| json!({"source": pin(at)}));
        json!({"spec": source(spec), "status": source(status)})
    };
    for (before, after, is_allowed) in [
        (object(None, None), object(Some("a"), None), true),
        (object(Some("a"), None), object(Some("a"), Some("a")), true),
        (object(Some("a"), None), object(Some("b"), None), false),
        (object(Some("a"), Some("a")), object(Some("b"), Some("a")), false),
        (object(Some("a"), None), object(None, None), false),
        // Changed while an earlier version of the definition was installed.
        (object(Some("b"), Some("a")), object(Some("a"), Some("a")), true),
        (object(Some("b"), Some("a")), object(Some("c"), Some("a")), false),
        // Who may write the status in the same request has no more rights: the status before counts.
        (object(Some("a"), Some("a")), object(Some("b"), Some("b")), false),
    ] {
        let result = Validator::new().validate_compiled(&definition.compiled, &after, Some(&before));
        assert_eq!(result.is_ok(), is_allowed, "{before} {after}: {result:?}");
    }
}
