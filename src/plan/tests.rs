//! Plans of a small stack: their objects, their holds, the changes by a new release, and facts that never matter.

mod acceptance;
mod components;
pub(crate) mod fixture;
mod overrides;
mod platform;
mod settings;
mod sources;
mod stages;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::diff::{Change, Inventory, diff};
use super::*;
use crate::api::{Reason, SourcePlacement, labels};
use crate::foreign::capi::{field, text};
use crate::foreign::flux::observed::HelmNames;
use crate::gate::upgrade::Phase;
use fixture::Fixture;

impl Plan {
    /// Creates a plan of only a Namespace.
    pub(crate) fn of_namespace(name: &str) -> Self {
        let mut plan = Self::default();
        let name = name.parse().unwrap();
        plan.insert(PlannedObject::namespace(Step::ClusterClass, &name)).unwrap();
        plan
    }
}

fn ids(plan: &Plan) -> Vec<String> {
    plan.objects().map(|object| object.id.to_string()).collect()
}

fn bytes(plan: &Plan) -> String {
    canonical::documents(plan.objects().map(|object| &object.value))
}

/// During an upgrade an addon is planned if the release applies it before the upgrade. The others are held, by name.
#[test]
fn upgrade_holds_addons_by_its_phase() {
    let holds = |phase: Phase| -> Vec<String> {
        let fixture = Fixture { before_upgrade: &["cni"], phase, ..Fixture::new() };
        let plan = fixture.plan("v1", &["one"]);
        let planned = plan.addons().map(|object| object.id.name.clone());
        let held = plan.held().iter().map(|held| {
            assert_eq!(held.hold.reason, Reason::WaitingForUpgrade);
            format!("{}: {}", held.addon.as_ref().unwrap(), held.hold.message)
        });
        planned.chain(held).collect()
    };
    let later = |addon: &str| {
        format!(
            "{addon}: stays as it is until the Cluster is upgraded to v1.34.2: docker-demo-1-34-v1 applies it at \
             AfterControlPlaneInitialized, and not at BeforeClusterUpgrade"
        )
    };
    let before = vec!["one.cni".to_owned(), later("ccm"), later("policies")];
    for phase in [Phase::Waiting, Phase::Open, Phase::Upgrading] {
        let mut found = holds(phase);
        found.sort();
        let mut before = before.clone();
        before.sort();
        assert_eq!(found, before, "{phase:?}");
    }
    assert_eq!(holds(Phase::Steady), ["one.ccm", "one.cni", "one.policies"]);
    let requested = holds(Phase::Requested);
    assert_eq!(requested.len(), 3, "{requested:?}");
    assert!(
        requested.iter().all(|held| held.contains("until Cluster API waits for the addons")),
        "{requested:?}"
    );
}

#[test]
fn plan_has_these_objects_in_this_order() {
    let fixture = Fixture::new();
    let plan = fixture.plan("v1", &["one"]);
    let release = fixture.release("v1");
    let charts = release.addons.iter().filter(|addon| addon.is_chart());
    let mut charts: Vec<String> =
        charts.map(|addon| format!("HelmChart stacks/{}-{}", addon.name, addon.digest.short())).collect();
    charts.sort();
    let expected = [
        vec![
            "GitRepository stacks/demo-catalog".to_owned(),
            "GitRepository stacks/docker-demo-1-34-v1".to_owned(),
        ],
        charts,
        [
            "Kustomization stacks/docker-demo-1-34-v1-node-images",
            "Namespace stacks-docker-demo-1-34-v1-helm",
            "HelmChart stacks/docker-demo-1-34-v1",
            "HelmRelease stacks/docker-demo-1-34-v1",
            "HelmRelease stacks/one.ccm",
            "HelmRelease stacks/one.cni",
            "Kustomization stacks/one.policies",
        ]
        .map(str::to_owned)
        .to_vec(),
    ];
    assert_eq!(ids(&plan), expected.concat());
    assert_eq!(plan.held(), []);
}

#[test]
fn planned_objects_have_values_and_no_suspend() {
    let plan = Fixture::new().plan("v1", &["one"]);
    let release = plan.objects().find(|object| object.id.name == "one.ccm").unwrap();
    assert_eq!(rendered_values(&release.value), Some(json!({"cluster": "one", "port": 6443})));
    for object in plan.objects() {
        assert_eq!(object.value["spec"].get("suspend"), None, "{}", object.id);
    }
}

#[test]
fn missing_field_holds_only_its_addon() {
    let mut fixture = Fixture::new();
    fixture.edit_cluster = |cluster| cluster["spec"]["controlPlaneEndpoint"] = json!({});
    let plan = fixture.plan("v1", &["one"]);
    let [held] = plan.held() else { panic!("{:?}", plan.held()) };
    assert_eq!(held.addon.as_ref().unwrap().as_str(), "ccm");
    assert_eq!(held.hold.reason, Reason::WaitingForField);
    assert!(held.hold.message.contains(".Cluster.spec.controlPlaneEndpoint.port"), "{}", held.hold.message);
    assert!(ids(&plan).contains(&"HelmRelease stacks/one.cni".to_owned()));
}

#[test]
fn wait_that_cannot_end_says_so() {
    for (template, ends) in [
        ("a: {{ .Values.x }}\n", false),
        ("a: {{ .cluster.metadata.name }}\n", false),
        ("a: {{ .Cluster.spec.nothing }}\n", true),
        ("{{ with dict \"a\" 1 }}b: {{ .Values }}{{ end }}\n", true),
    ] {
        let mut fixture = Fixture::new();
        fixture.ccm_template = template;
        let plan = fixture.plan("v1", &["one"]);
        let [held] = plan.held() else { panic!("{:?}", plan.held()) };
        assert_eq!(held.hold.reason, Reason::WaitingForField);
        assert_eq!(!held.hold.message.contains("this wait does not end"), ends, "{}", held.hold.message);
    }
}

#[test]
fn missing_referenced_object_holds_cluster_as_waiting() {
    let mut fixture = Fixture::new();
    fixture.ccm_template = "infra: {{ if .InfraCluster }}yes{{ end }}\n";
    fixture.edit_cluster = |cluster| {
        cluster["spec"]["infrastructureRef"] =
            json!({"apiGroup": "infrastructure.cluster.x-k8s.io", "kind": "DockerCluster", "name": "gone"});
    };
    let plan = fixture.plan("v1", &["one"]);
    let held = plan.held().first().unwrap();
    assert_eq!(held.hold.reason, Reason::WaitingForObject);
    assert!(held.hold.message.contains("DockerCluster gone"), "{}", held.hold.message);
}

#[test]
fn first_gate_holds_the_whole_cluster() {
    type Edit = fn(&mut serde_json::Value);
    let cases: [(Edit, Reason); 4] = [
        (
            |cluster| cluster["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z"),
            Reason::Deleting,
        ),
        (|cluster| cluster["spec"]["paused"] = json!(true), Reason::Paused),
        (
            |cluster| cluster["spec"]["topology"]["version"] = json!("v1.34.9"),
            Reason::KubernetesVersionMismatch,
        ),
        (|cluster| cluster["status"] = json!({}), Reason::ControlPlaneNotInitialized),
    ];
    for (edit, reason) in cases {
        let mut fixture = Fixture::new();
        fixture.edit_cluster = edit;
        let plan = fixture.plan("v1", &["one"]);
        let [held] = plan.held() else { panic!("{:?}", plan.held()) };
        assert_eq!((held.addon.as_ref(), held.hold.reason), (None, reason));
        assert!(!ids(&plan).iter().any(|id| id.contains("one.")), "{:?}", ids(&plan));
    }
}

#[test]
fn new_release_changes_only_changed_addons() {
    let fixture = Fixture::new();
    let (before, after) = (fixture.plan("v1", &["one", "two"]), fixture.plan("v2", &["one", "two"]));
    let inventory = Inventory::of(&before);
    let changes = diff(&after, &inventory);
    let upgraded: Vec<String> = changes
        .iter()
        .filter_map(|change| match change {
            Change::Changed(object) => Some(object.id.to_string()),
            _ => None,
        })
        .collect();
    assert_eq!(upgraded, ["HelmRelease stacks/one.cni", "HelmRelease stacks/two.cni"]);
    assert!(changes.iter().any(|change| matches!(change, Change::Removed(id) if id.kind == "Namespace")));
}

#[test]
fn per_namespace_source_is_referenced_locally() {
    let mut fixture = Fixture::new();
    fixture.stack.flux.sources = SourcePlacement::PerNamespace;
    fixture.edit_cluster = |cluster| {
        cluster["metadata"]["namespace"] = json!("team");
        cluster["spec"]["topology"]["classRef"]["namespace"] = json!("stacks");
    };
    let plan = fixture.plan("v1", &["one"]);
    let cni = plan.objects().find(|object| object.id.name == "one.cni").unwrap();
    let chart = text(&cni.value, &["spec", "chartRef", "name"]);
    assert_eq!(cni.value["spec"]["chartRef"].get("namespace"), None);
    for namespace in ["team", "stacks"] {
        assert!(ids(&plan).contains(&format!("HelmChart {namespace}/{chart}")));
        assert!(ids(&plan).contains(&format!("GitRepository {namespace}/docker-demo-1-34-v1")));
    }
    fixture.stack.flux.sources = SourcePlacement::Shared;
    let shared = fixture.plan("v1", &["one"]);
    let cni = shared.objects().find(|object| object.id.name == "one.cni").unwrap();
    assert_eq!(text(&cni.value, &["spec", "chartRef", "namespace"]), "stacks");
}

#[test]
fn settings_reach_the_helm_release() {
    let mut fixture = Fixture::new();
    let settings = json!({
        "timeout": "7m", "adopt": true, "kubeConfig": {"secretName": "flux-{cluster}", "key": "config"},
        "addons": {
            "cni": {"preset": "stateless", "driftDetection": "warn", "wait": false},
            "ccm": {"dependsOn": ["cni"], "timeout": "3m"},
        },
    });
    fixture.stack.flux = serde_json::from_value(settings).unwrap();
    let plan = fixture.plan("v1", &["one"]);
    let spec =
        |name: &str| plan.objects().find(|object| object.id.name == name).unwrap().value["spec"].clone();
    let (cni, ccm) = (spec("one.cni"), spec("one.ccm"));
    assert_eq!(cni["install"]["remediation"], json!({"retries": 2}));
    assert_eq!(
        (&cni["install"]["disableWait"], &cni["upgrade"]["disableWait"]),
        (&json!(true), &json!(true))
    );
    assert_eq!((text(&cni, &["driftDetection", "mode"]), text(&cni, &["timeout"])), ("warn", "7m"));
    assert_eq!(
        (text(&ccm, &["releaseName"]), text(&ccm, &["storageNamespace"])),
        ("cluster-addon", "ccm-helm")
    );
    assert_eq!(ccm["kubeConfig"], json!({"secretRef": {"name": "flux-one", "key": "config"}}));
    assert_eq!(text(&ccm, &["timeout"]), "3m");
    let dependency = &ccm["dependsOn"][0];
    assert_eq!(text(dependency, &["name"]), "one.cni");
    assert!(text(dependency, &["readyExpr"]).contains(text(&cni, &["chartRef", "name"])));
}

/// helm-controller compares the values of each revision with the planned ones, and the metadata once a generation.
#[test]
fn two_contents_of_one_commit_differ_for_helm() {
    let fixture = Fixture::new();
    for part in [&["values"][..], &["commonMetadata", "annotations"]] {
        let mark = |version: &str, addon: &str| {
            let plan = fixture.plan(version, &["one"]);
            let spec = &plan.objects().find(|object| object.id.name == addon).unwrap().value["spec"];
            part.iter().fold(spec, |value, key| &value[key])[labels::CONTENT_DIGEST].clone()
        };
        let cni = &fixture.release("v1").addons[0];
        assert_eq!(mark("v1", "one.cni"), json!(cni.digest.to_string()));
        assert_ne!(mark("v1", "one.cni"), mark("v2", "one.cni"));
        assert_eq!(mark("v1", "one.ccm"), mark("v2", "one.ccm"), "never the release: nothing changed in it");
    }
}

/// A schema may refuse a key that it does not name, and a template may take every key for an application.
#[test]
fn chart_reading_all_values_has_unmarked_values() {
    for (path, content, is_marked) in [
        ("values.schema.json", r#"{"type": "object", "additionalProperties": false}"#, false),
        ("values.schema.json", r#"{"type": "object", "properties": {"host": {"type": "string"}}}"#, true),
        ("templates/all.yaml", "{{ range $name, $app := .Values }}", false),
        ("templates/sub/all.yaml", "{{- toYaml .Values | nindent 2 }}", false),
        ("templates/_helpers.tpl", "{{ index $.Values \"host\" }}", false),
        ("templates/one.yaml", "{{ .Values.host }} {{ $.Values._x }} Values", true),
        ("README.md", "All of .Values", true),
        ("charts/sub/templates/all.yaml", "{{ toYaml .Values }}", true),
    ] {
        let mut fixture = Fixture::new();
        fixture.more = vec![(format!("cluster-addon/cni/{path}"), content)];
        let plan = fixture.plan("v1", &["one"]);
        let spec = &plan.objects().find(|object| object.id.name == "one.cni").unwrap().value["spec"];
        let mark = spec["values"].get(labels::CONTENT_DIGEST);
        assert_eq!(mark.is_some(), is_marked, "{path}: {content}");
        assert!(spec["commonMetadata"]["annotations"][labels::CONTENT_DIGEST].is_string());
    }
}

/// Flux uninstalls a release whose storage namespace or name changes.
#[test]
fn adopted_addon_keeps_its_place() {
    let mut fixture = Fixture::new();
    fixture.stack.flux = serde_json::from_value(json!({"adopt": true})).unwrap();
    let target = |fixture: &Fixture| {
        let plan = fixture.plan("v1", &["one"]);
        let spec = &plan.objects().find(|object| object.id.name == "one.cni").unwrap().value["spec"];
        (text(spec, &["releaseName"]).to_owned(), text(spec, &["storageNamespace"]).to_owned())
    };
    let stays = ("cluster-addon".to_owned(), "cni-helm".to_owned());
    assert_eq!(target(&fixture), stays);
    fixture.addons = &["cni"];
    assert_eq!(target(&fixture), stays);
}

#[test]
fn impossible_dependency_holds_the_addon() {
    for (settings, held, why) in [
        (json!({"cni": {"dependsOn": ["nothing"]}}), vec!["cni"], "do not have"),
        (json!({"policies": {"dependsOn": ["nothing"]}}), vec!["policies"], "do not have"),
        (
            json!({"cni": {"dependsOn": ["policies"]}, "policies": {"dependsOn": ["cni"]}}),
            vec!["cni", "policies"],
            "itself",
        ),
        (json!({"cni": {"dependsOn": ["ccm"]}, "ccm": {"dependsOn": ["cni"]}}), vec!["cni", "ccm"], "itself"),
    ] {
        let mut fixture = Fixture::new();
        fixture.stack.flux = serde_json::from_value(json!({"addons": settings})).unwrap();
        let plan = fixture.plan("v1", &["one"]);
        let names: Vec<&str> = plan.held().iter().map(|held| held.addon.as_ref().unwrap().as_str()).collect();
        assert_eq!(names, held);
        for held in plan.held() {
            assert_eq!(held.hold.reason, Reason::DependencyInvalid);
            assert!(held.hold.message.contains(why), "{}", held.hold.message);
        }
    }
}

/// Flux gets the dependencies that it can express; the operator holds an addon for all others.
#[test]
fn flux_gets_the_dependencies_that_it_knows() {
    let files = || {
        let limits = "apiVersion: v1\nkind: Namespace\nmetadata: {name: limits}\n";
        vec![("cluster-addon/limits/namespace.yaml".to_owned(), limits)]
    };
    for (addon, needed, by_flux, by_operator) in [
        ("cni", "ccm", true, false),
        ("cni", "policies", false, true),
        ("policies", "cni", false, true),
        ("policies", "limits", true, true),
    ] {
        let mut fixture =
            Fixture { addons: &["cni", "ccm", "policies", "limits"], more: files(), ..Fixture::new() };
        fixture.stack.flux =
            serde_json::from_value(json!({"addons": {addon: {"dependsOn": [needed]}}})).unwrap();
        let plan = fixture.plan("v1", &["one"]);
        assert_eq!(plan.held(), [], "{addon} waits for {needed}");
        let object = plan.addons().find(|object| object.addon() == addon).unwrap();
        let names = object.value["spec"]["dependsOn"].as_array().cloned().unwrap_or_default();
        let names: Vec<String> = names.iter().map(|of| text(of, &["name"]).to_owned()).collect();
        assert_eq!(
            names.contains(&format!("one.{needed}")),
            by_flux,
            "{addon} waits for {needed}: {names:?}"
        );
        let release = fixture.release("v1");
        let of = release.addons.iter().find(|of| of.name.as_str() == addon).unwrap();
        let held: Vec<&str> =
            held_by_operator(&fixture.stack, &release, of).iter().map(|name| name.as_str()).collect();
        assert_eq!(held == [needed], by_operator, "{addon} waits for {needed}: {held:?}");
    }
}

#[test]
fn two_plans_of_one_identity_must_agree() {
    let fixture = Fixture::new();
    let mut plan = fixture.plan("v1", &["one"]);
    plan.merge(fixture.plan("v1", &["one"])).unwrap();
    let mut other = Fixture::new();
    other.stack.source.url = "https://git.example.org/other.git".to_owned();
    assert!(matches!(plan.merge(other.plan("v1", &["one"])), Err(PlanError::Conflict(_))));
}

#[test]
fn conflicting_plan_is_not_merged_in_part() {
    let mut plan = Fixture::new().plan("v1", &["one"]);
    let before = plan.clone();
    let edit_cluster: fn(&mut Value) = |cluster| cluster["spec"]["controlPlaneEndpoint"]["port"] = json!(1);
    let other = Fixture { edit_cluster, ..Fixture::new() }.plan("v1", &["a", "one"]);
    let Err(PlanError::Conflict(conflict)) = plan.merge(other.clone()) else { panic!("no conflict") };
    let mut earlier = other.objects().map(|object| &object.id).take_while(|id| **id != conflict);
    assert!(earlier.any(|id| before.objects().all(|object| object.id != *id)), "nothing precedes {conflict}");
    assert_eq!(plan, before);
}

#[test]
fn second_delivery_changes_nothing() {
    let plan = Fixture::new().plan("v1", &["one", "two"]);
    assert_eq!(diff(&plan, &Inventory::of(&plan)), []);
    assert!(!diff(&plan, &Inventory::default()).is_empty());
}

#[test]
fn input_order_does_not_change_the_plan() {
    let fixture = Fixture::new();
    let (one, two) =
        (fixture.plan("v1", &["one", "two", "three"]), fixture.plan("v1", &["three", "one", "two"]));
    assert_eq!(bytes(&one), bytes(&two));
    assert_eq!(one.digest(), two.digest());
    assert_ne!(one.digest(), fixture.plan("v1", &["one"]).digest());
}

proptest! {
    /// Cluster and addon are distinct in an object's name, however long they are.
    #[test]
    fn names_of_addon_objects_are_valid_and_injective(
        one in ("[a-z][a-z0-9-]{0,60}[a-z0-9]", "[a-z][a-z0-9-]{0,40}[a-z0-9]"),
        two in ("[a-z][a-z0-9-]{0,60}[a-z0-9]", "[a-z][a-z0-9-]{0,40}[a-z0-9]"),
    ) {
        let name = |(cluster, addon): &(String, String)| ObjectName::bounded(&format!("{cluster}.{addon}")).unwrap();
        prop_assert!(name(&one).as_str().len() <= 63);
        prop_assert_eq!(name(&one) == name(&two), one == two);
    }
}

/// Flux uninstalls a Helm release whose names change.
#[test]
fn installed_release_keeps_its_names() {
    let mut fixture = Fixture::new();
    let (release, contents) = (fixture.release("v1"), fixture.contents("v1"));
    let names = |fixture: &Fixture, installed: &[(&str, &str)]| {
        let inputs = ReleaseInputs { stack: &fixture.stack, release: &release, contents: &contents };
        let helm = |release: &str| HelmNames {
            release: release.to_owned(),
            target_namespace: "kube-system".to_owned(),
            storage_namespace: "old".to_owned(),
        };
        let installed = installed.iter().map(|(name, release)| ((*name).to_owned(), helm(release)));
        let cluster = fixture.inputs("one", "v1").with_installed(installed);
        let plan = super::cluster(&inputs, &cluster, &Course::ended(Phase::Steady)).unwrap();
        let names = plan.addons().filter_map(|object| HelmNames::of(field(&object.value, &["spec"])?));
        let mut names: Vec<String> =
            names.map(|names| format!("{}/{}", names.storage_namespace, names.release)).collect();
        names.sort();
        names
    };
    assert_eq!(names(&fixture, &[]), ["kube-system/ccm", "kube-system/cni"]);
    fixture.stack.flux = serde_json::from_value(json!({"adopt": true})).unwrap();
    assert_eq!(names(&fixture, &[]), ["ccm-helm/cluster-addon", "cni-helm/cluster-addon"]);
    let kept = names(&fixture, &[("one.cni", "network"), ("two.ccm", "other")]);
    assert_eq!(kept, ["ccm-helm/cluster-addon", "old/network"], "that of another Cluster does not matter");
}
