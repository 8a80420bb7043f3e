//! Plans with the settings of single addons: values, references, patches and decryption.

use super::*;

fn fixture(addons: &Value) -> Fixture {
    let mut fixture = Fixture::new();
    fixture.stack.flux = serde_json::from_value(json!({"addons": addons})).unwrap();
    fixture
}

/// A component with values, a template and settings.
fn of_component(settings: &Value) -> Fixture {
    let mut fixture = fixture(&json!({"edge": settings}));
    fixture.stack.components = serde_json::from_value(json!({"repositories": [{
        "name": "edge", "oci": {"url": "oci://registry.example.org/edge", "digest": format!("sha256:{}", "3a".repeat(32))},
        "components": [{
            "name": "edge", "chart": ".", "values": {"a": {"component": 1, "platform": 1, "rendered": 1}},
            "template": "a: {rendered: {{ .Cluster.metadata.name }}}\n",
        }],
    }]}))
    .unwrap();
    fixture
}

fn spec(fixture: &Fixture, name: &str) -> Value {
    let plan = fixture.plan("v1", &["one"]);
    let found = plan.objects().find(|object| object.id.name == name);
    found.unwrap_or_else(|| panic!("{name}: {:?}", plan.held())).value["spec"].clone()
}

fn held(fixture: &Fixture) -> Vec<String> {
    let plan = fixture.plan("v1", &["one"]);
    let held = plan.held().iter();
    held.map(|held| format!("{} {}: {}", held.addon.as_ref().unwrap(), held.hold.reason, held.hold.message))
        .collect()
}

#[test]
fn platform_values_rank_between_component_and_template() {
    let settings = json!({"values": {"a": {"platform": 2, "rendered": 2, "own": 2}, "b": null}});
    let values = json!({"a": {"component": 1, "platform": 2, "rendered": "one", "own": 2}, "b": null});
    assert_eq!(spec(&of_component(&settings), "one.edge")["values"], values);
    let without = json!({"a": {"component": 1, "platform": 1, "rendered": "one"}});
    assert_eq!(spec(&of_component(&json!({})), "one.edge")["values"], without);

    let settings = json!({"values": {"port": 1, "proxy": {"http": "p"}}});
    let release = json!({"spec": spec(&fixture(&json!({"ccm": settings})), "one.ccm")});
    let values = json!({"cluster": "one", "port": 6443, "proxy": {"http": "p"}});
    assert_eq!(rendered_values(&release), Some(values));
}

/// The API server sorts the keys that a file has in any order.
#[test]
fn order_of_keys_in_values_has_no_effect() {
    let bytes = |values: &str| {
        let values: Value = serde_json::from_str(values).unwrap();
        spec(&fixture(&json!({"cni": {"values": values}})), "one.cni")["values"].to_string()
    };
    let sorted = bytes(r#"{"a": 1, "b": [{"c": 1, "d": 2}], "e": {"f": 1, "g": 2}}"#);
    assert_eq!(bytes(r#"{"e": {"g": 2, "f": 1}, "b": [{"d": 2, "c": 1}], "a": 1}"#), sorted);
}

#[test]
fn platform_values_leave_the_mark_alone() {
    let mark = |fixture: &Fixture| spec(fixture, "one.cni")["values"][labels::CONTENT_DIGEST].clone();
    let own = mark(&Fixture::new());
    assert!(own.is_string(), "{own}");
    for value in [json!(null), json!("sha256:0"), json!({"a": 1})] {
        let fixture = fixture(&json!({"cni": {"values": {labels::CONTENT_DIGEST: value, "a": 1}}}));
        assert_eq!(mark(&fixture), own);
    }
    let path = labels::CONTENT_DIGEST.replace('.', r"\.");
    let reference = json!({"kind": "Secret", "name": "x", "targetPath": path});
    let held = held(&fixture(&json!({"cni": {"valuesFrom": [reference]}})));
    let message = "cni SettingsInvalid: spec.flux.addons.cni.valuesFrom: targetPath of Secret x replaces the digest of the addon's \
                   content: name another path";
    assert_eq!(held, [message]);
}

#[test]
fn references_name_the_cluster_and_replace_what_is_planned() {
    let references = json!([
        {"kind": "Secret", "name": "proxy-{cluster}", "valuesKey": "port", "targetPath": "port", "literal": true},
        {"kind": "ConfigMap", "name": "all"},
        {"kind": "Secret", "name": "may-be-missing", "targetPath": "cluster", "optional": true},
    ]);
    let release = spec(&fixture(&json!({"ccm": {"valuesFrom": references}})), "one.ccm");
    let expected = json!([
        {"kind": "ConfigMap", "name": "all"},
        {"kind": "Secret", "name": "proxy-one", "valuesKey": "port", "targetPath": "port", "literal": true},
        {"kind": "Secret", "name": "may-be-missing", "targetPath": "cluster", "optional": true},
    ]);
    assert_eq!(release["valuesFrom"], expected);
    assert_eq!(rendered_values(&json!({"spec": release})), Some(json!({"cluster": "one"})));
}

#[test]
fn patches_and_decryption_are_those_of_flux() {
    let renderers = json!([{"kustomize": {
        "patches": [{"patch": "- {op: remove, path: /data}", "target": {"kind": "ConfigMap", "labelSelector": "a=b"}}],
        "images": [{"name": "a", "newName": "b", "newTag": "v1", "digest": "sha256:0"}],
    }}]);
    let decryption =
        json!({"provider": "sops", "secretRef": {"name": "keys-{cluster}"}, "serviceAccountName": "kms"});
    let both = fixture(&json!({"cni": {"postRenderers": renderers}, "policies": {"decryption": decryption}}));
    assert_eq!(spec(&both, "one.cni")["postRenderers"], renderers);
    let expected =
        json!({"provider": "sops", "secretRef": {"name": "keys-one"}, "serviceAccountName": "kms"});
    assert_eq!(spec(&both, "one.policies")["decryption"], expected);
}

#[test]
fn settings_for_another_form_hold_the_addon() {
    let reference = json!({"kind": "Secret", "name": "x"});
    for (addon, settings, expected) in [
        (
            "cni",
            json!({"values": {"a": 1}, "valuesFrom": [reference], "postRenderers": [{"kustomize": {}}]}),
            "",
        ),
        ("policies", json!({"decryption": {"provider": "sops"}}), ""),
        ("unknown", json!({"values": {"a": 1}}), ""),
        ("policies", json!({"values": {"a": 1}}), "values"),
        ("policies", json!({"valuesFrom": [reference]}), "valuesFrom"),
        ("policies", json!({"postRenderers": [{"kustomize": {}}]}), "postRenderers"),
        ("cni", json!({"decryption": {"provider": "sops"}}), "decryption"),
    ] {
        let held = held(&fixture(&json!({addon: settings})));
        let begin = format!("{addon} SettingsInvalid: spec.flux.addons.{addon}.{expected}: {addon} is ");
        assert_eq!(held.len(), usize::from(!expected.is_empty()), "{settings}: {held:?}");
        assert!(held.iter().all(|held| held.starts_with(&begin)), "{settings}: {held:?}");
    }
}

#[test]
fn values_beyond_64_kib_hold_the_addon() {
    for (text, is_held) in [("a".repeat(65_536 - 8), false), ("a".repeat(65_536 - 7), true)] {
        let held = held(&fixture(&json!({"cni": {"values": {"a": text}}})));
        assert_eq!(held.len(), usize::from(is_held), "{}", text.len());
        let message = "cni SettingsInvalid: spec.flux.addons.cni.values: the values have 65537 bytes as JSON, and at most 65536";
        assert!(held.iter().all(|held| held.starts_with(message)), "{held:?}");
    }
}
