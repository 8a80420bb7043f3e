//! Dependencies that Flux does not know: a chart waits for manifests, which wait for another chart.

use serde_json::{Value, json};

use super::fixture::{ADDON, OBJECTS};
use super::git;
use crate::driver::Simulation;
use crate::invariants::State;
use crate::properties::{run, settle};
use crate::repository::{ALL_OTHER, V2};

/// `monitoring` waits for the manifests `policies`, and these for `ccm`.
fn settings() -> Value {
    json!({"addons": {"monitoring": {"dependsOn": ["policies"]}, "policies": {"dependsOn": ["ccm"]}}})
}

/// Whether an object is that of the last release.
fn is_last(state: &State, (kind, name): (&str, &str)) -> bool {
    state.field(kind, name, "/metadata/labels/clusterstack.x-k8s.io~1release") == ALL_OTHER
}

/// Whether Flux has applied an object, as far as its status says.
fn is_applied(state: &State, (kind, name): (&str, &str)) -> bool {
    let object = state.get(kind, name).unwrap_or_default();
    let observed = &object["status"]["observedGeneration"];
    !observed.is_null() && *observed == object["metadata"]["generation"]
}

impl Simulation {
    /// States that no addon comes or moves before the one that it waits for.
    fn expect_dependencies(&mut self) {
        let [first, _, last, middle] = OBJECTS;
        for (needed, dependent) in [(first, middle), (middle, last)] {
            self.always("an addon comes after the one that it waits for", move |state| {
                let observed = state.field(needed.0, needed.1, "/status/observedGeneration");
                state.get(dependent.0, dependent.1).is_none() || !observed.is_null()
            });
            self.always("an addon moves after the one that it waits for", move |state| {
                !is_last(state, dependent) || (is_last(state, needed) && is_applied(state, needed))
            });
        }
    }

    fn expect_moved(&mut self) {
        self.expect_ready_at("one", V2);
        self.upgrade("one", ALL_OTHER);
        settle(self);
        self.expect_ready_at("one", ALL_OTHER);
        assert_eq!(self.revisions(), [2, 1, 2], "cni does not differ");
    }
}

#[test]
fn addon_waits_for_what_flux_does_not_wait_for() {
    run("dependencies", |simulation| {
        simulation.expect_dependencies();
        simulation.publish(6);
        simulation.offer(&["v2", "v9"], &json!({"flux": settings()}));
        simulation.create_cluster("one", V2);
        settle(simulation);
        simulation.expect_moved();
    });
}

#[test]
fn dependency_that_fails_holds_what_waits_for_it() {
    run("dependencies-failing", |simulation| {
        simulation.begin_with(|simulation| {
            simulation.publish(6);
            simulation.offer(&["v2", "v9"], &json!({"flux": settings()}));
            simulation.create_cluster("one", V2);
            settle(simulation);
            simulation.expect_ready_at("one", V2);
        });
        simulation.begin_golden("a Cluster has docker-demo-1-34-v2, in which addons wait for others");
        simulation.expect_dependencies();
        simulation.flux.failing.insert("one.policies".to_owned());
        simulation.upgrade("one", ALL_OTHER);
        settle(simulation);
        let message = simulation.message("ClusterAddon", ADDON, "Delivered");
        assert!(
            message.contains("monitoring: waits until policies is applied, as dependsOn says; policies: "),
            "{message}"
        );
        let revisions = simulation.revisions();
        assert_eq!(revisions[2], 1, "monitoring waits: {revisions:?}");
        simulation.mend_flux();
        settle(simulation);
        simulation.expect_ready_at("one", ALL_OTHER);
    });
}

#[test]
fn commits_wait_for_what_flux_does_not_wait_for() {
    run("dependencies-git", |simulation| {
        simulation.expect_dependencies();
        simulation.publish(6);
        git::deliver_with(simulation, &["v2", "v9"], V2, &settings());
        simulation.expect_moved();
    });
}
