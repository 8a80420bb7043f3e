//! Plans of releases with the components of their `ClusterStack`.

use std::collections::BTreeMap;

use super::*;
use crate::api::platform::ComponentHook;
use crate::gate::upgrade::Phase;
use crate::inputs::platform::{check, with_components};
use crate::names::{AddonName, ReleaseName};
use crate::release::{Action, ComponentForm, Hook, Stage};

fn repositories() -> Value {
    json!([
        {
            "name": "platform",
            "git": {"url": "https://git.example.org/platform.git", "ref": {"branch": "main"}},
            "interval": "2m",
            "components": [
                {"name": "ingress", "chart": "./charts/ingress/", "values": {"replicas": 2},
                    "template": "cluster: {{ .Cluster.metadata.name }}\n", "dependsOn": ["cni"],
                    "targetNamespace": "ingress", "createNamespace": true},
                {"name": "limits", "manifests": "deploy", "substitute": "cluster: {{ .Cluster.metadata.name | quote }}\n",
                    "clusterSelector": {"matchLabels": {"limits": "on"}}},
            ],
        },
        {
            "name": "monitoring",
            "oci": {"url": "oci://registry.example.org/charts/monitoring", "digest": format!("sha256:{}", "3a".repeat(32))},
            "components": [{"name": "monitoring", "chart": ".", "hook": "BeforeClusterUpgrade"}],
        },
    ])
}

fn fixture(repositories: &Value) -> Fixture {
    let mut fixture = Fixture::new();
    fixture.stack.components = serde_json::from_value(json!({"repositories": repositories})).unwrap();
    fixture
}

/// The repositories with changes of the first component.
fn edited(changes: &Value) -> Value {
    let mut all = repositories();
    merge(&mut all[0]["components"][0], changes);
    all
}

fn merge(into: &mut Value, changes: &Value) {
    for (field, change) in changes.as_object().unwrap() {
        into[field] = change.clone();
    }
}

fn of_kind<'p>(plan: &'p Plan, kind: &str) -> Vec<&'p Value> {
    plan.objects().filter(|object| object.id.kind == kind).map(|object| &object.value).collect()
}

fn named<'p>(plan: &'p Plan, kind: &str, name: &str) -> Option<&'p Value> {
    of_kind(plan, kind).into_iter().find(|object| text(object, &["metadata", "name"]) == name)
}

/// The addons that are held, each with its reason and message.
fn held(plan: &Plan) -> Vec<String> {
    let held = plan.held().iter();
    held.map(|held| format!("{:?} {}: {}", held.addon, held.hold.reason, held.hold.message)).collect()
}

#[test]
fn components_are_planned_beside_the_addons_of_each_release() {
    let fixture = fixture(&repositories());
    let [plan, next] = ["v1", "v2"].map(|version| fixture.plan(version, &["one"]));
    let ingress = named(&plan, "HelmRelease", "one.ingress").unwrap();
    assert_eq!(ingress["spec"]["values"], json!({"replicas": 2, "cluster": "one"}));
    assert_eq!(ingress["spec"]["targetNamespace"], "ingress");
    assert_eq!(ingress["spec"]["storageNamespace"], "kube-system");
    assert_eq!(ingress["spec"]["install"]["createNamespace"], true);
    assert_eq!(ingress["spec"]["dependsOn"][0]["name"], "one.cni");
    assert!(ingress["metadata"]["labels"]["clusterstack.x-k8s.io/release"].is_null(), "{ingress}");
    let [before, after] = [&plan, &next].map(|plan| named(plan, "HelmRelease", "one.monitoring"));
    assert!(before.is_some() && before == after, "a release does not change it");
    let git: Vec<&Value> = of_kind(&plan, "GitRepository").into_iter().collect();
    let followed = git
        .iter()
        .find(|git| git["spec"]["ref"] == json!({"branch": "main"}) && git["spec"]["interval"] == "2m");
    assert_eq!(text(followed.unwrap(), &["spec", "url"]), "https://git.example.org/platform.git");
    assert_eq!(of_kind(&plan, "OCIRepository").len(), 1);
}

#[test]
fn plan_without_components_does_not_change() {
    let with_none = fixture(&json!([]));
    assert_eq!(with_none.plan("v1", &["one"]).digest(), Fixture::new().plan("v1", &["one"]).digest());
}

#[test]
fn label_of_the_cluster_decides() {
    let mut fixture = fixture(&repositories());
    assert!(named(&fixture.plan("v1", &["one"]), "Kustomization", "one.limits").is_none());
    fixture.edit_cluster = |cluster| cluster["metadata"]["labels"] = json!({"limits": "on"});
    let plan = fixture.plan("v1", &["one"]);
    let limits = named(&plan, "Kustomization", "one.limits").unwrap();
    assert_eq!(limits["spec"]["postBuild"], json!({"substitute": {"cluster": "one"}}));
    assert_eq!(limits["spec"]["path"], "./deploy");
}

#[test]
fn component_that_cannot_be_used_keeps_its_place() {
    for (changes, expected) in [
        (json!({"template": "{{ .Cluster"}), "template, line 1, column 12: unclosed action"),
        (json!({"chart": "a//b"}), "a//b"),
        (
            json!({"clusterSelector": {"matchExpressions": [{"key": "a", "operator": "Like"}]}}),
            "clusterSelector",
        ),
    ] {
        let fixture = fixture(&edited(&changes));
        let plan = fixture.plan("v1", &["one"]);
        let held = held(&plan).into_iter().find(|held| held.contains("ingress")).unwrap_or_default();
        assert!(held.contains("ComponentInvalid") && held.contains(expected), "{changes}: {held}");
        assert!(named(&plan, "HelmRelease", "one.ingress").is_none());
        assert!(named(&plan, "HelmRelease", "one.monitoring").is_some(), "others are delivered");
    }
    let mut http = repositories();
    http[0]["git"]["url"] = "http://git.example.org/platform.git".into();
    let held = held(&fixture(&http).plan("v1", &["one"]));
    assert!(held[0].contains("is not encrypted"), "{held:?}");
}

#[test]
fn name_of_an_addon_is_refused_or_replaced() {
    let cni =
        |replaces: bool| fixture(&edited(&json!({"name": "cni", "replaces": replaces, "dependsOn": []})));
    let own = |fixture: &Fixture| {
        let plan = fixture.plan("v1", &["one"]);
        let cni = named(&plan, "HelmRelease", "one.cni").unwrap();
        cni["metadata"]["labels"]["clusterstack.x-k8s.io/release"].is_string()
    };
    let (name, addons): (ReleaseName, [AddonName; 2]) =
        ("docker-demo-1-34-v1".parse().unwrap(), ["cni", "ccm"].map(|name| name.parse().unwrap()));
    let problems = |fixture: &Fixture| {
        let releases = BTreeMap::from([(&name, addons.iter().map(|addon| (addon, None)).collect())]);
        check(&fixture.stack, &releases).problems
    };
    let refused = cni(false);
    assert!(own(&refused), "the addon of the release stays");
    assert!(
        problems(&refused)[0].contains("docker-demo-1-34-v1 has an addon of this name"),
        "{:?}",
        problems(&refused)
    );
    let replaced = cni(true);
    assert!(!own(&replaced));
    assert_eq!(problems(&replaced), Vec::<String>::new());
}

/// The stages of a release are not about what the platform has in the place of its addon.
#[test]
fn release_does_not_delete_what_the_platform_adds() {
    let fixture = fixture(&edited(&json!({"name": "ccm", "replaces": true})));
    let mut release = fixture.published("v1");
    let stage = |addon: &str, action| Stage { addon: addon.parse().unwrap(), action };
    let before = vec![
        stage("ccm", Action::Apply),
        stage("cni", Action::Apply),
        stage("ccm", Action::Delete),
        stage("monitoring", Action::Delete),
    ];
    release.stages = BTreeMap::from([(Hook::BeforeClusterUpgrade, before)]);
    let whole = with_components(&fixture.stack, &release);
    assert_eq!(whole.stages[&Hook::BeforeClusterUpgrade], [stage("cni", Action::Apply)]);
}

#[test]
fn only_exact_component_moves_before_an_upgrade() {
    let mut fixture = fixture(&edited(&json!({"name": "ccm", "replaces": true})));
    fixture.before_upgrade = &["cni", "ccm"];
    fixture.phase = Phase::Waiting;
    let plan = fixture.plan("v1", &["one"]);
    let held = held(&plan).join("\n");
    assert!(named(&plan, "HelmRelease", "one.monitoring").is_some(), "{held}");
    assert!(held.contains("ccm") && held.contains("WaitingForUpgrade"), "its content can change: {held}");
    let mut exact = fixture;
    exact.stack.components.repositories[0].git.as_mut().unwrap().reference.as_mut().unwrap().commit =
        Some("9f1c2a3b4c5d6e7f8091a2b3c4d5e6f708192a3b".to_owned());
    assert!(named(&exact.plan("v1", &["one"]), "HelmRelease", "one.ccm").is_some());
    exact.before_upgrade = &["cni"];
    assert!(named(&exact.plan("v1", &["one"]), "HelmRelease", "one.ccm").is_none(), "as the addon was");
    exact.stack.components.repositories[0].components[0].hook = Some(ComponentHook::BeforeClusterUpgrade);
    assert!(named(&exact.plan("v1", &["one"]), "HelmRelease", "one.ccm").is_some(), "its own hook counts");
}

#[test]
fn state_names_what_can_change_and_doubles() {
    let none = BTreeMap::new();
    let state = check(&fixture(&repositories()).stack, &none);
    assert_eq!(state.count, 3);
    assert_eq!(
        state.mutable,
        ["ingress", "limits"]
            .map(|name| format!("{name} follows branch main of https://git.example.org/platform.git"))
    );
    assert_eq!(state.problems, Vec::<String>::new());
    let double = check(&fixture(&edited(&json!({"name": "monitoring"}))).stack, &none);
    assert_eq!(double.problems, ["monitoring: another component of the ClusterStack has this name"]);
}

/// What `ComponentsReady` and `lint` say, and the hold in a Cluster without the label.
#[test]
fn dependency_that_a_cluster_cannot_have_is_reported() {
    let (release, cni): (ReleaseName, AddonName) =
        ("docker-demo-1-34-v1".parse().unwrap(), "cni".parse().unwrap());
    let releases = |form| BTreeMap::from([(&release, BTreeMap::from([(&cni, form)]))]);
    let (chart, manifests) = (Some(ComponentForm::Chart), Some(ComponentForm::Manifests));
    for (needed, form, in_stack, in_cluster) in [
        ("cni", chart, "", ""),
        ("cni", None, "", ""),
        ("cni", manifests, "", ""),
        ("monitoring", None, "", ""),
        (
            "limits",
            None,
            "",
            "\"limits\", which this Cluster does not have: clusterSelector is not for its labels",
        ),
        (
            "none",
            None,
            "ingress: dependsOn: docker-demo-1-34-v1 has no addon none, and the ClusterStack no component",
            "\"none\", which docker-demo-1-34-v1 and the components of the ClusterStack do not have",
        ),
    ] {
        let fixture = fixture(&edited(&json!({"dependsOn": [needed]})));
        assert_eq!(check(&fixture.stack, &releases(form)).problems.join("; "), in_stack, "{needed}");
        let held = held(&fixture.plan("v1", &["one"])).join("\n");
        assert!(held.contains(in_cluster), "{needed}: {held}");
        assert_eq!(held.contains("DependencyInvalid"), !in_cluster.is_empty(), "{needed}: {held}");
    }
    let mut all = edited(&json!({"dependsOn": ["monitoring"]}));
    all[1]["components"][0]["template"] = json!("{{ .Cluster");
    let held = held(&fixture(&all).plan("v1", &["one"])).join("\n");
    let why = "\"ingress\")) ComponentInvalid: waits for monitoring, which cannot be used: spec.components of the ClusterStack: template, line 1";
    assert!(held.contains(why), "{held}");
}

#[test]
fn components_that_wait_for_each_other_are_reported() {
    let mut all = edited(&json!({"dependsOn": ["monitoring"]}));
    all[1]["components"][0]["dependsOn"] = json!(["ingress"]);
    let state = check(&fixture(&all).stack, &BTreeMap::new());
    let back = |name: &str| format!("{name}: dependsOn leads back to the component itself");
    assert_eq!(state.problems, [back("ingress"), back("monitoring")]);
    assert!(state.is_invalid);
}

#[test]
fn two_components_of_one_name_hold_what_clusters_have() {
    let mut all = repositories();
    let other = json!({"name": "ingress", "chart": "b", "clusterSelector": {"matchLabels": {"env": "dev"}}});
    all[0]["components"].as_array_mut().unwrap().insert(0, other);
    let held = held(&fixture(&all).plan("v1", &["one"])).join("\n");
    assert!(held.contains("ingress") && held.contains("another component"), "without the label: {held}");

    let mut all = edited(&json!({"name": "cni", "replaces": true, "dependsOn": []}));
    all[0]["components"].as_array_mut().unwrap().insert(0, json!({"name": "cni", "chart": "b"}));
    let plan = fixture(&all).plan("v1", &["one"]);
    assert!(named(&plan, "HelmRelease", "one.cni").is_none(), "the addon of the release stays away");
}

#[test]
fn selector_without_values_holds_what_clusters_have() {
    for operator in ["In", "NotIn"] {
        let expression = json!([{"key": "a", "operator": operator, "values": []}]);
        let all = edited(&json!({"clusterSelector": {"matchExpressions": expression}}));
        let held = held(&fixture(&all).plan("v1", &["one"])).join("\n");
        assert!(held.contains(&format!("clusterSelector: a {operator} has no values")), "{held}");
    }
}

#[test]
fn release_without_components_is_not_copied() {
    let fixture = Fixture::new();
    let release = fixture.published("v1");
    assert!(matches!(with_components(&fixture.stack, &release), std::borrow::Cow::Borrowed(_)));
}
