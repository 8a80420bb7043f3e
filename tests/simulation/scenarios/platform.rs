//! Components of a ClusterStack: addons of the platform beside those of its releases.

use serde_json::{Value, json};

use super::components::{sources, without_source};
use super::fixture::{ADDON, STACK, settle_with_budget};
use crate::driver::Simulation;
use crate::properties::{run, settle};
use crate::repository::V1;

/// A repository whose branch Flux follows, and one whose content cannot change.
fn repositories(component: &Value) -> Value {
    let mut ingress = json!({"name": "ingress", "chart": "charts/ingress", "values": {"replicas": 2}});
    for (field, value) in component.as_object().unwrap() {
        ingress[field] = value.clone();
    }
    json!({"components": {"repositories": [
        {
            "name": "platform",
            "git": {"url": "https://git.example.org/platform.git", "ref": {"branch": "main"}},
            "components": [
                ingress,
                {"name": "limits", "manifests": "deploy", "clusterSelector": {"matchLabels": {"limits": "on"}}},
            ],
        },
        {
            "name": "metrics",
            "oci": {"url": "oci://registry.example.org/metrics", "digest": format!("sha256:{}", "1".repeat(64))},
            "components": [{"name": "metrics", "chart": ".", "hook": "BeforeClusterUpgrade"}],
        },
        {
            "name": "probe", "oci": {"url": "oci://registry.example.org/probe", "semver": "1.x"},
            "components": [{"name": "probe", "chart": "."}],
        },
    ]}})
}

impl Simulation {
    /// Delivers the first release with the components of the platform to a Cluster with the label `limits`.
    fn deliver_platform(&mut self, component: &Value) {
        let component = component.clone();
        self.begin_with(move |simulation| {
            simulation.offer(&["v1"], &repositories(&component));
            simulation.create_cluster("one", V1);
            simulation.label("one", &json!("on"));
            settle(simulation);
            simulation.expect("ClusterAddon", ADDON, "Ready", "True Applied");
        });
        self.begin_golden("a Cluster has docker-demo-1-34-v1 and the components of its ClusterStack");
        self.always("a source that something uses exists", |state| without_source(state).is_none());
        self.always("a source of a component is beside its ClusterStack", |state| {
            let sources = ["GitRepository", "OCIRepository"].into_iter().flat_map(|kind| state.list(kind));
            let mut ours =
                sources.filter(|source| source["metadata"]["name"].as_str().unwrap().starts_with(STACK));
            ours.all(|source| {
                state
                    .list("ClusterStack")
                    .iter()
                    .any(|stack| stack["metadata"]["namespace"] == source["metadata"]["namespace"])
            })
        });
    }

    fn label(&self, cluster: &str, value: &Value) {
        self.merge("Cluster", cluster, &json!({"metadata": {"labels": {"limits": value}}}));
    }

    fn uninstalled_names(&self) -> Vec<&str> {
        let mut uninstalled = self.uninstalled();
        uninstalled.sort_unstable();
        uninstalled
    }

    /// The version that an addon of the first Cluster has.
    fn observed(&self, addon: &str) -> Value {
        let addons = self.field("ClusterAddon", ADDON, "/status/addons");
        let found = addons.as_array().unwrap().iter().find(|known| known["name"] == addon).cloned();
        found.map_or(Value::Null, |found| found["observed"]["version"].clone())
    }
}

#[test]
fn platform_components_follow_their_branch_and_the_label() {
    run("platform", |simulation| {
        simulation.deliver_platform(&json!({}));
        simulation.expect("ClusterStack", STACK, "ComponentsReady", "True Usable");
        for (kind, name) in
            [("HelmRelease", "one.ingress"), ("Kustomization", "one.limits"), ("HelmRelease", "one.metrics")]
        {
            assert!(simulation.has(kind, name), "{kind} {name}");
        }
        let before = ["ingress", "probe"].map(|addon| simulation.observed(addon));
        simulation.publish(1);
        settle(simulation);
        simulation.expect("ClusterAddon", ADDON, "Ready", "True Applied");
        let after = ["ingress", "probe"].map(|addon| simulation.observed(addon));
        assert!(before[0] != after[0] && before[1] != after[1], "branch and range have moved: {after:?}");

        simulation.label("one", &json!("off"));
        settle_with_budget(simulation);
        assert_eq!(simulation.uninstalled_names(), ["one.limits"]);
        simulation.expect("ClusterAddon", ADDON, "Ready", "True Applied");

        simulation.offer(&["v1"], &json!({}));
        settle_with_budget(simulation);
        assert_eq!(simulation.uninstalled_names(), ["one.ingress", "one.limits", "one.metrics", "one.probe"]);
        simulation.expect("ClusterAddon", ADDON, "Ready", "True Applied");
        settle_with_budget(simulation);
        for kind in ["GitRepository", "OCIRepository", "HelmChart"] {
            assert_eq!(sources(simulation, kind), [""; 0], "{kind}");
        }
    });
}

#[test]
fn platform_component_replaces_an_addon_and_gives_it_back() {
    run("platform-replaces", |simulation| {
        simulation.deliver();
        simulation.offer(&["v1"], &repositories(&json!({"name": "monitoring", "replaces": true})));
        settle_with_budget(simulation);
        simulation.expect("ClusterAddon", ADDON, "Ready", "True Applied");
        let values = simulation.field("HelmRelease", "one.monitoring", "/spec/values");
        assert_eq!(values, json!({"replicas": 2}));
        simulation.offer(&["v1"], &json!({}));
        settle_with_budget(simulation);
        simulation.expect("ClusterAddon", ADDON, "Ready", "True Applied");
        assert_ne!(simulation.field("HelmRelease", "one.monitoring", "/spec/values"), values);
        assert_eq!(
            simulation.uninstalled_names(),
            ["one.metrics", "one.probe"],
            "it was not uninstalled in between"
        );
    });
}

#[test]
fn broken_platform_component_uninstalls_nothing() {
    run("platform-broken", |simulation| {
        simulation.deliver_platform(&json!({}));
        simulation.offer(&["v1"], &repositories(&json!({"template": "{{ .Cluster"})));
        settle_with_budget(simulation);
        simulation.expect("ClusterStack", STACK, "ComponentsReady", "False ComponentInvalid");
        simulation.expect("ClusterAddon", ADDON, "ValuesRendered", "False ComponentInvalid");
        assert_eq!(simulation.uninstalled_names(), [""; 0]);
        assert!(simulation.has("HelmRelease", "one.ingress"));
        simulation
            .offer(&["v1"], &repositories(&json!({"template": "cluster: {{ .Cluster.metadata.name }}"})));
        settle_with_budget(simulation);
        simulation.expect("ClusterAddon", ADDON, "Ready", "True Applied");
        let values = simulation.field("HelmRelease", "one.ingress", "/spec/values");
        assert_eq!(values, json!({"replicas": 2, "cluster": "one"}));
    });
}

#[test]
fn platform_components_are_committed_and_removed() {
    run("platform-git", |simulation| {
        deliver_by_git(simulation);
        let applier = "/metadata/labels/kustomize.toolkit.fluxcd.io~1name";
        for (kind, name) in [("HelmRelease", "one.ingress"), ("HelmRelease", "one.metrics")] {
            assert!(simulation.field(kind, name, applier).is_string(), "Flux applies {kind} {name}");
        }
        assert_eq!(committed_sources(simulation).len(), 4, "one of them is a chart");
        simulation.merge("ClusterStack", STACK, &json!({"spec": {"components": null}}));
        settle_with_budget(simulation);
        simulation.expect_ready_at("one", V1);
        assert_eq!(simulation.uninstalled_names(), ["one.ingress", "one.metrics", "one.probe"]);
        settle_with_budget(simulation);
        expect_no_sources(simulation);
        // Which statuses are written together depends on how long a commit takes.
        simulation.begin_golden("the components are gone, and nothing is written any longer");
    });
}

#[test]
fn committed_sources_of_components_end_with_the_stack() {
    run("platform-git-end", |simulation| {
        deliver_by_git(simulation);
        simulation.delete("Cluster", "one");
        settle_with_budget(simulation);
        simulation.delete("ClusterStack", STACK);
        settle_with_budget(simulation);
        expect_no_sources(simulation);
        assert!(!simulation.has("ClusterStack", STACK));
        simulation.begin_golden("everything is gone");
    });
}

/// Delivers the first release with the components of the platform through Git.
fn deliver_by_git(simulation: &mut Simulation) {
    super::git::deliver(simulation, &["v1"], V1);
    simulation.merge("ClusterStack", STACK, &json!({"spec": repositories(&json!({}))}));
    settle_with_budget(simulation);
    simulation.expect_ready_at("one", V1);
}

fn expect_no_sources(simulation: &Simulation) {
    assert_eq!(committed_sources(simulation), [""; 0]);
    for kind in ["GitRepository", "OCIRepository", "HelmChart"] {
        assert_eq!(sources(simulation, kind), [""; 0], "{kind}");
    }
}

/// The files of component sources that are in the repository of the fleet.
fn committed_sources(simulation: &Simulation) -> Vec<String> {
    let is_source = |file: &String| {
        let name = file.rsplit('/').next().and_then(|name| name.split_once('-')).map_or("", |(_, name)| name);
        let is_of_release = name.starts_with("docker-demo") || name.contains("catalog");
        name.starts_with(STACK) && !is_of_release && !file.contains("clusterstack")
    };
    super::git::fleet(simulation).files().into_keys().filter(is_source).collect()
}
