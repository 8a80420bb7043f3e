//! Releases with components: addons whose content is in other repositories.

use std::time::Duration;

use serde_json::{Value, json};

use super::fixture::settle_with_budget;
use crate::driver::Simulation;
use crate::invariants::State;
use crate::properties::{run, settle};
use crate::repository::{COMPONENTS, OTHER_COMPONENTS, V2};

/// The kinds of objects that refer to a source, and the field that does.
const USERS: [(&str, &str); 3] =
    [("HelmRelease", "chartRef"), ("Kustomization", "sourceRef"), ("HelmChart", "sourceRef")];

/// The sources of components, which have the name of the ClusterStack and a digest.
pub(super) fn sources(simulation: &Simulation, kind: &str) -> Vec<String> {
    let is_component = |name: &String| name.starts_with("docker-") && !name.starts_with("docker-demo");
    let is_source = |name: &String| is_component(name) && !name.ends_with("-catalog");
    simulation.names(kind).into_iter().filter(is_source).collect()
}

/// Returns a reference of an object to a source that does not exist, if it has one.
pub(super) fn without_source(state: &State) -> Option<String> {
    USERS.into_iter().find_map(|(kind, field)| {
        state.list(kind).into_iter().find_map(|object| {
            let reference = &object["spec"][field];
            let (of, name) = (reference["kind"].as_str()?, reference["name"].as_str()?);
            let is_going = !object["metadata"]["deletionTimestamp"].is_null();
            (!is_going && state.get(of, name).is_none()).then(|| format!("{kind} refers to {of} {name}"))
        })
    })
}

impl Simulation {
    /// Delivers a release with components to a Cluster.
    fn deliver_components(&mut self) {
        self.begin_with(|simulation| {
            simulation.publish(5);
            simulation.offer(&["v2", "v7", "v8"], &json!({}));
            simulation.create_cluster("one", COMPONENTS);
            settle(simulation);
            simulation.expect_ready_at("one", COMPONENTS);
        });
        self.begin_golden("a Cluster has the addons and components of docker-demo-1-34-v7");
        self.always("a source that something uses exists", |state| without_source(state).is_none());
    }
}

#[test]
fn components_come_and_change_their_form() {
    run("components", |simulation| {
        simulation.deliver_components();
        let sources_before = [sources(simulation, "GitRepository"), sources(simulation, "OCIRepository")];
        assert_eq!(
            sources_before.each_ref().map(Vec::len),
            [2, 1],
            "one commit of each release: {sources_before:?}"
        );
        for (kind, name) in
            [("HelmRelease", "one.ingress"), ("Kustomization", "one.limits"), ("HelmRelease", "one.metrics")]
        {
            assert!(simulation.has(kind, name), "{kind} {name}");
        }
        let substitute = simulation.field("Kustomization", "one.limits", "/spec/postBuild/substitute");
        assert_eq!(substitute, json!({"cluster": "one"}));
        let expected = simulation.field("ClusterAddon", "cluster-addon-one", "/status/addons");
        let of = |name: &str| -> Value {
            let all = expected.as_array().unwrap();
            all.iter().find(|addon| addon["name"] == name).unwrap()["expected"]["version"].clone()
        };
        assert_eq!(of("metrics"), format!("sha256:{}", "1".repeat(64)));
        assert_eq!(of("limits"), "ab".repeat(20));

        simulation.upgrade("one", OTHER_COMPONENTS);
        settle_with_budget(simulation);
        simulation.expect_ready_at("one", OTHER_COMPONENTS);
        assert!(
            simulation.has("HelmRelease", "one.limits") && !simulation.has("Kustomization", "one.limits")
        );
        assert!(!simulation.has("HelmRelease", "one.metrics"));
        let mut uninstalled = simulation.uninstalled();
        uninstalled.sort_unstable();
        assert_eq!(uninstalled, ["one.limits", "one.metrics"]);
    });
}

#[test]
fn sources_of_components_end_with_the_last_release() {
    run("components-retired", |simulation| {
        simulation.deliver_components();
        simulation.upgrade("one", V2);
        settle_with_budget(simulation);
        simulation.expect_ready_at("one", V2);
        simulation.offer(&["v2"], &json!({"revisionHistoryLimit": 0}));
        settle_with_budget(simulation);
        simulation.wait(Duration::from_mins(10));
        settle_with_budget(simulation);
        simulation.wait(Duration::from_mins(61));
        settle_with_budget(simulation);
        for kind in ["GitRepository", "OCIRepository", "HelmChart"] {
            assert_eq!(sources(simulation, kind), [""; 0], "{kind}");
        }
        assert!(simulation.has("GitRepository", V2) && simulation.has("GitRepository", "docker-catalog"));
        simulation.expect_ready_at("one", V2);
    });
}
