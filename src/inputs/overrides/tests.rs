//! Tables of what is accepted.

use serde_json::{Value, json};

use super::*;
use crate::api::platform::PlatformComponent;
use crate::plan::tests::fixture::Fixture;

/// A stack whose releases have the charts `cni` and `ccm` and the manifests `policies`; `ccm` depends on `cni`. The platform adds
/// the optional components `ingress` and `dns`, of which the first depends on the second, and `limits` for some Clusters.
fn fixture(overridable: &Value) -> Fixture {
    let mut fixture = Fixture::new();
    fixture.stack.flux = serde_json::from_value(json!({"addons": {
        "cni": {"overridable": overridable}, "policies": {"overridable": overridable},
        "ccm": {"overridable": overridable, "dependsOn": ["cni"]}, "ingress": {"overridable": {"values": ["*"]}},
    }}))
    .unwrap();
    fixture.stack.components = serde_json::from_value(json!({"repositories": [{
        "name": "platform", "git": {"url": "https://git.example.org/platform.git"},
        "components": [
            {"name": "ingress", "chart": "ingress", "optional": true, "dependsOn": ["dns"]},
            {"name": "dns", "chart": "dns", "optional": true},
            {"name": "limits", "manifests": "limits", "clusterSelector": {"matchLabels": {"limits": "on"}}},
        ],
    }]}))
    .unwrap();
    fixture
}

fn requested(addons: &Value) -> Arc<ClusterAddonOverride> {
    let object = json!({"metadata": {"name": "one", "namespace": "stacks"}, "spec": {"addons": addons}});
    Arc::new(serde_json::from_value(object).unwrap())
}

fn decide(overridable: &Value, addons: &Value) -> (Requests, Release) {
    let fixture = fixture(overridable);
    let (release, cluster) = (fixture.release("v1"), fixture.inputs("one", "v1").cluster);
    (Requests::decide(Some(&requested(addons)), &fixture.stack, &release, &cluster), release)
}

/// Returns the fields that are refused, each with its rule.
fn refusals(overridable: &Value, addons: &Value) -> Vec<String> {
    let (requests, _) = decide(overridable, addons);
    let all = requests.refused.values().flatten();
    all.map(|refused| format!("{}: {}", refused.field, refused.rule)).collect()
}

/// Expects that these fields are refused, each for a reason with this text, and no others.
fn expect(overridable: &Value, addons: &Value, expected: &[(&str, &str)]) {
    let found = refusals(overridable, addons);
    let is_expected = found.len() == expected.len()
        && found.iter().zip(expected).all(|(found, (field, rule))| {
            found.strip_prefix("spec.addons.").is_some_and(|found| found.starts_with(&format!("{field}: ")))
                && found.contains(rule)
        });
    assert!(is_expected, "{overridable} {addons}: {found:#?}");
}

#[test]
fn request_is_accepted_as_far_as_the_platform_allows() {
    let (none, all) = (json!({}), json!({"enabled": true, "suspend": true, "values": ["*"]}));
    for (allowed, addons, expected) in [
        (&none, json!({"policies": {"enabled": false}}), vec![("policies.enabled", "overridable.enabled")]),
        (&all, json!({"policies": {"enabled": false}}), vec![]),
        (&none, json!({"cni": {"suspend": true}}), vec![("cni.suspend", "overridable.suspend")]),
        (&all, json!({"cni": {"suspend": true}}), vec![]),
        (&none, json!({"cni": {"values": {"a": 1}}}), vec![("cni.values.a", "overridable.values")]),
        (&all, json!({"cni": {"values": {"a": 1}}}), vec![]),
        (&all, json!({"policies": {"values": {"a": 1}}}), vec![("policies.values", "plain manifests")]),
        // What is so by default needs no permission.
        (&none, json!({"cni": {"enabled": true, "suspend": false, "values": {}}, "policies": {}}), vec![]),
        (&none, json!({"dns": {"enabled": true}}), vec![]),
        (&none, json!({"dns": {"enabled": false}}), vec![]),
        (
            &none,
            json!({"dns": {"enabled": true, "suspend": true}}),
            vec![("dns.suspend", "overridable.suspend")],
        ),
        (&all, json!({"nothing": {"suspend": true}}), vec![("nothing", "neither docker-demo-1-34-v1 nor")]),
        (&all, json!({"limits": {"enabled": true}}), vec![("limits", "with these labels")]),
        // One of them does not affect the others, and each thing is named.
        (
            &json!({"enabled": true}),
            json!({"cni": {"suspend": true, "values": {"a": 1}}, "policies": {"enabled": false}}),
            vec![("cni.suspend", "overridable.suspend"), ("cni.values.a", "overridable.values")],
        ),
    ] {
        expect(allowed, &addons, &expected);
    }
}

#[test]
fn dependencies_decide_about_both_directions() {
    let all = json!({"enabled": true, "suspend": true, "values": ["*"]});
    for (addons, expected) in [
        (json!({"cni": {"enabled": false}}), vec![("cni.enabled", "ccm depends on it")]),
        (json!({"ccm": {"enabled": false}}), vec![]),
        (json!({"cni": {"enabled": false}, "ccm": {"enabled": false}}), vec![]),
        (json!({"cni": {"suspend": true}}), vec![]),
        (json!({"ingress": {"enabled": true}}), vec![("ingress.enabled", "depends on dns, which is off")]),
        (json!({"ingress": {"enabled": true}, "dns": {"enabled": true}}), vec![]),
        (json!({"ingress": {"enabled": false}, "dns": {"enabled": true}}), vec![]),
        (
            json!({"ingress": {"enabled": true}, "dns": {"enabled": false}}),
            vec![("ingress.enabled", "depends on dns, which is off")],
        ),
        // The Cluster has the addon of a refused request, which still depends on the other.
        (
            json!({"cni": {"enabled": false}, "ccm": {"enabled": false, "values": {"clusterstack.x-k8s.io/content-digest": 1}}}),
            vec![("ccm.values", "only stackflux sets"), ("cni.enabled", "ccm depends on it")],
        ),
        (
            json!({"ingress": {"enabled": true}, "dns": {"enabled": true, "suspend": true}}),
            vec![("dns.suspend", ""), ("ingress.enabled", "depends on dns, which is off")],
        ),
    ] {
        expect(&all, &addons, &expected);
    }
}

#[test]
fn chain_of_dependencies_is_refused_from_its_end() {
    let mut fixture = fixture(&json!({"enabled": true}));
    let policies = fixture.stack.flux.addons.get_mut("policies").unwrap();
    policies.depends_on = vec!["ccm".to_owned()];
    let (release, cluster) = (fixture.release("v1"), fixture.inputs("one", "v1").cluster);
    let requested = requested(&json!({"cni": {"enabled": false}, "ccm": {"enabled": false}}));
    let requests = Requests::decide(Some(&requested), &fixture.stack, &release, &cluster);
    let refused: Vec<&str> = requests.refused.keys().map(String::as_str).collect();
    assert_eq!(refused, ["ccm", "cni"], "policies depends on ccm, which then depends on cni");
}

#[test]
fn values_are_accepted_below_allowed_paths_only() {
    for (paths, values, expected) in [
        (json!(["a.b"]), json!({"a": {"b": 1}}), vec![]),
        (json!(["a.b"]), json!({"a": {"b": {"c": [1]}}}), vec![]),
        (json!(["a.b"]), json!({"a": {"b": null}}), vec![]),
        (json!(["a.b"]), json!({"a": {"c": 1}}), vec![("cni.values.a.c", "overridable.values")]),
        (json!(["a.b"]), json!({"a": 1}), vec![("cni.values.a", "above an allowed path")]),
        (json!(["a.b"]), json!({"a": null}), vec![("cni.values.a", "above an allowed path")]),
        (json!(["a.b"]), json!({"a": {}}), vec![("cni.values.a", "above an allowed path")]),
        (json!(["a.b"]), json!({"a": [{"b": 1}]}), vec![("cni.values.a", "above an allowed path")]),
        (json!(["a.b"]), json!({"ab": 1}), vec![("cni.values.ab", "overridable.values")]),
        (json!(["a.b", "a"]), json!({"a": {"c": 1}}), vec![]),
        (json!(["a", "a.b"]), json!({"a": null}), vec![]),
        (json!(["a\\.b"]), json!({"a.b": 1}), vec![]),
        (json!(["a\\.b"]), json!({"a": {"b": 1}}), vec![("cni.values.a", "overridable.values")]),
        (json!(["a.b"]), json!({"a.b": 1}), vec![("cni.values.a\\.b", "overridable.values")]),
        (json!(["a\\\\"]), json!({"a\\": 1}), vec![]),
        (json!(["*"]), json!({"a": null, "b": {"c": 1}}), vec![]),
        (json!(["a.*"]), json!({"a": {"b": 1}}), vec![("cni.values.a.b", "overridable.values")]),
        (
            json!(["*"]),
            json!({"clusterstack.x-k8s.io/content-digest": "x"}),
            vec![("cni.values", "only stackflux")],
        ),
    ] {
        expect(&json!({"values": paths}), &json!({"cni": {"values": values}}), &expected);
    }
}

/// A mapping of this depth around a value.
fn nested(depth: usize) -> Value {
    (0..depth).fold(json!(1), |inner, _| json!({"a": inner}))
}

#[test]
fn values_beyond_a_limit_are_refused() {
    let text = |size: usize| json!({"a": "x".repeat(size)});
    let of_size = |bytes: usize| text(bytes - text(0).to_string().len());
    for (values, expected) in [
        (nested(32), vec![]),
        (nested(33), vec![("cni.values", "deeper than 32")]),
        (of_size(64 * 1024), vec![]),
        (of_size(64 * 1024 + 1), vec![("cni.values", "at most 65536 bytes, and have 65537")]),
    ] {
        expect(&json!({"values": ["*"]}), &json!({"cni": {"values": values}}), &expected);
    }
}

#[test]
fn many_refused_values_give_few_findings() {
    let many: Value = (0..2000).map(|at| (format!("{}{at}", "é\n".repeat(2)), json!({}))).collect();
    let found = refusals(&json!({"values": ["a.b"]}), &json!({"cni": {"values": many}}));
    assert_eq!(found.len(), MAX_ENTRIES);
    assert!(found.iter().all(|found| found.is_ascii() || !found.contains('\n')), "{found:?}");
    let long = json!({"x".repeat(10_000): 1});
    let found = refusals(&json!({}), &json!({"cni": {"values": long}}));
    assert!(found.len() == 1 && found[0].len() < 400, "{found:?}");
}

#[test]
fn answer_decides_which_addons_a_cluster_has() {
    let all = json!({"enabled": true, "suspend": true, "values": ["*"]});
    let bad = json!({"clusterstack.x-k8s.io/content-digest": 1});
    // The addon, its request, what was in effect before, and whether the Cluster has it, it is held, and what exists of an unknown
    // one is kept.
    for (addon, request, before, expected) in [
        ("ccm", None, &[][..], (true, false, false)),
        ("dns", None, &["enabled"], (false, false, false)),
        ("ccm", Some(json!({"enabled": false})), &[], (false, false, false)),
        ("ccm", Some(json!({"suspend": true})), &[], (true, false, false)),
        ("dns", Some(json!({"enabled": true})), &[], (true, false, false)),
        ("dns", Some(json!({})), &[], (false, false, false)),
        // What was never accepted makes no difference.
        ("ccm", Some(json!({"values": bad})), &[], (true, false, false)),
        ("ccm", Some(json!({"enabled": false, "values": bad})), &[], (true, false, false)),
        ("dns", Some(json!({"enabled": true, "values": bad})), &[], (false, false, false)),
        ("gone", Some(json!({"enabled": true})), &[], (false, false, false)),
        // What was accepted is held.
        ("ccm", Some(json!({"values": bad})), &["values"], (true, true, false)),
        ("ccm", Some(json!({"enabled": false, "values": bad})), &["enabled"], (true, true, false)),
        ("ccm", Some(json!({"enabled": true, "values": bad})), &["values"], (true, true, false)),
        ("dns", Some(json!({"values": bad})), &["enabled"], (false, true, false)),
        ("dns", Some(json!({"enabled": true, "values": bad})), &["enabled"], (true, true, true)),
        ("dns", Some(json!({"enabled": false, "values": bad})), &["enabled"], (true, true, false)),
        ("gone", Some(json!({"enabled": true})), &["enabled"], (false, true, true)),
        ("gone", Some(json!({"enabled": true})), &["values"], (false, true, false)),
        ("gone", Some(json!({"suspend": true})), &["suspend"], (false, true, false)),
    ] {
        let addons: Value = request.iter().map(|request| (addon.to_owned(), request.clone())).collect();
        let mut requested = (*requested(&if addons.is_null() { json!({}) } else { addons })).clone();
        let status = json!({"addons": [{"name": addon, "inEffect": before}]});
        requested.status = Some(serde_json::from_value(status).unwrap());
        let fixture = fixture(&all);
        let (release, cluster) = (fixture.release("v1"), fixture.inputs("one", "v1").cluster);
        let requests = Requests::decide(Some(&Arc::new(requested)), &fixture.stack, &release, &cluster);
        let found = release.addons.iter().find(|known| known.name.as_str() == addon);
        let has = found.is_some_and(|found| requests.has(found));
        let answer = (has, requests.is_held(addon), requests.keeps(addon));
        assert_eq!(answer, expected, "{addon} {request:?} {before:?}");
    }
}

#[test]
fn accepted_request_is_in_effect_if_it_differs() {
    let all = json!({"enabled": true, "suspend": true, "values": ["*"]});
    for (addon, request, expected) in [
        ("ccm", json!({"enabled": true, "suspend": false}), &[][..]),
        ("ccm", json!({"enabled": false}), &["enabled"]),
        ("ccm", json!({"suspend": true, "values": {"a": 1}}), &["suspend", "values"]),
        ("dns", json!({"enabled": false}), &[]),
        ("dns", json!({"enabled": true}), &["enabled"]),
    ] {
        let (requests, release) = decide(&all, &json!({addon: request}));
        let found = release.addons.iter().find(|known| known.name.as_str() == addon);
        assert_eq!(requests.in_effect(addon, found), expected, "{addon} {request}");
    }
}

#[test]
fn refused_request_has_no_effect() {
    let request = json!({"cni": {"suspend": true, "values": {"a": 1}}});
    for (allowed, is_accepted) in [
        (json!({"suspend": true, "values": ["a"]}), true),
        (json!({"suspend": true}), false),
        (json!({"values": ["a"]}), false),
    ] {
        let (requests, _) = decide(&allowed, &request);
        assert_eq!(requests.suspends("cni"), is_accepted, "{allowed}");
        assert_eq!(requests.values("cni").is_some(), is_accepted, "{allowed}");
        assert!(!requests.suspends("ccm"));
    }
}

#[test]
fn paths_of_both_are_without_effect() {
    for (requested, rendered, expected) in [
        (json!({"a": 1}), json!({"a": 2}), vec!["a"]),
        (json!({"a": 1}), json!({"b": 2}), vec![]),
        (json!({"a": {"b": 1, "c": 2}}), json!({"a": {"c": 3}}), vec!["a.c"]),
        (json!({"a": {"b": 1}}), json!({"a": null}), vec!["a"]),
        (json!({"a": null}), json!({"a": {"b": 1}}), vec!["a"]),
        (json!({"a": {}}), json!({"a": {"b": 1}}), vec![]),
        (json!({"a.b": 1}), json!({"a.b": 1}), vec!["a\\.b"]),
    ] {
        let [requested, rendered] = [requested, rendered].map(|it| it.as_object().unwrap().clone());
        assert_eq!(without_effect(&requested, &rendered), expected, "{requested:?} {rendered:?}");
    }
}

#[test]
fn schema_of_a_component_decides_about_its_values() {
    let schema = json!({"type": "object", "properties": {
        "replicas": {"type": "integer", "maximum": 3},
        "log": {"type": "object", "properties": {"level": {"enum": ["info", "debug"]}}},
        "labels": {"type": "object"}, "none": {"type": "object", "properties": {}}, "closed": {"additionalProperties": false},
        "hosts": {"type": "array", "items": {"type": "object", "properties": {"name": {"type": "string"}}}},
    }});
    // The paths that settings allow beside it, the values, and what is refused.
    for (paths, values, expected) in [
        (json!([]), json!({"replicas": 3, "log": {"level": "debug"}}), vec![]),
        (json!([]), json!({"replicas": 4}), vec![("dns.values.replicas", "at most 3, as the schema")]),
        (json!([]), json!({"replicas": null}), vec![("dns.values.replicas", "expected integer, found null")]),
        (json!([]), json!({"log": {"level": "trace"}}), vec![("dns.values.log.level", "enum")]),
        (json!([]), json!({"log": {"file": "x"}}), vec![("dns.values.log.file", "overridable.values")]),
        (json!([]), json!({"log": "debug"}), vec![("dns.values.log", "expected object, found string")]),
        (json!([]), json!({"labels": {"a": {"b": 1}}}), vec![]),
        (json!([]), json!({"none": {}, "closed": {}}), vec![]),
        (json!([]), json!({"none": {"a": 1}}), vec![("dns.values.none.a", "overridable.values")]),
        (json!([]), json!({"closed": {"a": {}}}), vec![("dns.values.closed.a", "overridable.values")]),
        (json!(["closed.a"]), json!({"closed": {"a": 1}}), vec![]),
        (json!([]), json!({"hosts": [{"name": "a"}, {"name": "b"}]}), vec![]),
        (json!([]), json!({"hosts": [{"name": 1}]}), vec![("dns.values.hosts.name", "expected string")]),
        (json!([]), json!({"hosts": [{"port": 1}]}), vec![("dns.values.hosts.port", "overridable.values")]),
        (json!([]), json!({"image": "x"}), vec![("dns.values.image", "overridable.values")]),
        (json!(["image"]), json!({"image": "x", "replicas": 1}), vec![]),
        (json!(["log.file"]), json!({"log": {"file": "x", "level": "info"}}), vec![]),
        (json!(["log.file"]), json!({"log": {"level": "trace"}}), vec![("dns.values.log.level", "enum")]),
        (json!(["replicas"]), json!({"replicas": 9}), vec![]),
    ] {
        let mut fixture = fixture(&json!({}));
        let dns = json!({"overridable": {"values": paths}});
        fixture.stack.flux.addons.insert("dns".to_owned(), serde_json::from_value(dns).unwrap());
        fixture.stack.components.repositories[0].components[1].schema = schema.as_object().unwrap().clone();
        let (release, cluster) = (fixture.release("v1"), fixture.inputs("one", "v1").cluster);
        let requested = requested(&json!({"dns": {"enabled": true, "values": values}}));
        let requests = Requests::decide(Some(&requested), &fixture.stack, &release, &cluster);
        let found = requests.refused("dns");
        let is_expected = found.len() == expected.len()
            && found.iter().zip(&expected).all(|(found, (field, rule))| {
                found.field == format!("spec.addons.{field}") && found.rule.contains(rule)
            });
        assert!(is_expected, "{paths} {values}: {found:?}");
    }
}

#[test]
fn invalid_schema_holds_its_component() {
    for (schema, expected) in [
        (json!({"properties": {"a": {"type": "string"}}}), None),
        (json!({"properties": {"a": {"$ref": "#/b"}}}), Some("schema: $ref is not supported")),
    ] {
        let mut fixture = fixture(&json!({}));
        fixture.stack.components.repositories[0].components[1].schema = schema.as_object().unwrap().clone();
        let release = fixture.release("v1");
        let dns = release.addons.iter().find(|addon| addon.name.as_str() == "dns").unwrap();
        assert_eq!(dns.platform().unwrap().problem.as_deref(), expected, "{schema}");
    }
}

#[test]
fn request_replaces_nothing_above_an_allowed_path() {
    let schema = json!({"properties": {
        "proxy": {"properties": {"https": {"type": "string"}, "tls": {"properties": {"on": {"type": "boolean"}}}}},
        "open": {"type": "object"},
    }});
    let https = json!({"proxy": {"https": "x"}});
    // The values of the component and of the ClusterStack, the requested ones, and the field that is refused.
    for (of_component, of_platform, values, expected) in [
        (json!({}), json!({}), https.clone(), None),
        (json!({}), json!({"proxy": {"http": "y"}}), https.clone(), None),
        (json!({}), json!({"proxy": null}), https.clone(), Some("proxy")),
        (json!({}), json!({"proxy": "off"}), https.clone(), Some("proxy")),
        (json!({}), json!({"proxy": ["a"]}), https.clone(), Some("proxy")),
        (json!({}), json!({"proxy": {"https": null}}), https.clone(), None),
        (json!({"proxy": null}), json!({}), https.clone(), Some("proxy")),
        (json!({"proxy": null}), json!({"proxy": {}}), https.clone(), None),
        (json!({"proxy": {}}), json!({"proxy": null}), https.clone(), Some("proxy")),
        (json!({}), json!({"proxy": null}), json!({"proxy": {}}), Some("proxy")),
        (json!({}), json!({"proxy": {"tls": 1}}), json!({"proxy": {"tls": {"on": true}}}), Some("proxy.tls")),
        (
            json!({"proxy": {"tls": 1}}),
            json!({"proxy": {"http": "y"}}),
            json!({"proxy": {"tls": {}}}),
            Some("proxy.tls"),
        ),
        (json!({}), json!({"open": null}), json!({"open": {"a": 1}}), None),
    ] {
        for by_schema in [true, false] {
            let mut fixture = fixture(&json!({}));
            let paths = if by_schema { json!([]) } else { json!(["proxy.https", "proxy.tls.on", "open"]) };
            let dns = json!({"overridable": {"values": paths}, "values": of_platform});
            fixture.stack.flux.addons.insert("dns".to_owned(), serde_json::from_value(dns).unwrap());
            let component = &mut fixture.stack.components.repositories[0].components[1];
            let empty = Map::new();
            component.schema = schema.as_object().filter(|_| by_schema).unwrap_or(&empty).clone();
            component.values = of_component.as_object().unwrap().clone();
            let (release, cluster) = (fixture.release("v1"), fixture.inputs("one", "v1").cluster);
            let requested = requested(&json!({"dns": {"enabled": true, "values": values}}));
            let requests = Requests::decide(Some(&requested), &fixture.stack, &release, &cluster);
            let found: Vec<_> = requests.refused("dns").iter().map(|of| of.field.as_str()).collect();
            let expected = expected.map(|path| format!("spec.addons.dns.values.{path}"));
            assert_eq!(
                found,
                Vec::from_iter(expected.as_deref()),
                "{by_schema} {of_component} {of_platform} {values}"
            );
        }
    }
}

fn of_stack(fixture: &mut Fixture) -> impl Iterator<Item = &mut PlatformComponent> {
    fixture.stack.components.repositories[0].components.iter_mut()
}

#[test]
fn patterns_of_all_components_are_bounded() {
    let of = |count: usize| -> Map<String, Value> {
        let properties: Value = (0..count).map(|at| (format!("p{at}"), json!({"pattern": "^a$"}))).collect();
        json!({"properties": properties}).as_object().unwrap().clone()
    };
    let mut fixture = fixture(&json!({}));
    let components = &mut fixture.stack.components.repositories[0].components;
    let dns = components[1].clone();
    *components = (0..9)
        .map(|at| {
            let (name, schema) = (format!("c{at}"), of(if at == 7 { 31 } else { 32 }));
            PlatformComponent { name, schema, ..dns.clone() }
        })
        .collect();
    components[8].schema = of(2);
    let problems = |fixture: &Fixture| -> Vec<(String, String)> {
        let release = fixture.release("v1");
        let of = release.addons.iter().filter_map(|addon| Some((addon, addon.platform()?.problem.clone()?)));
        of.map(|(addon, problem)| (addon.name.to_string(), problem)).collect()
    };
    let expected = "schema: the components of a ClusterStack must have at most 256 patterns together, which need at most \
        4194304 bytes";
    assert_eq!(problems(&fixture), [("c8".to_owned(), expected.to_owned())]);
    let letters: Value = (0..9).map(|at| (format!("p{at}"), json!({"pattern": r"^\w$"}))).collect();
    let letters = json!({"properties": letters}).as_object().unwrap().clone();
    let schemas: Vec<_> =
        of_stack(&mut fixture).map(|of| std::mem::replace(&mut of.schema, letters.clone())).collect();
    assert_eq!(problems(&fixture), [("c8".to_owned(), expected.to_owned())]);
    of_stack(&mut fixture).zip(schemas).for_each(|(of, schema)| of.schema = schema);
    fixture.stack.components.repositories[0].components[8].schema = of(1);
    assert_eq!(problems(&fixture), []);
}
