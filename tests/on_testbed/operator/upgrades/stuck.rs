//! An upgrade that Cluster API cannot begin.

use std::thread;
use std::time::Duration;

use stackflux_testbed::Testbed;

use super::super::record::record;
use super::super::scenario::condition;
use super::{NEW, OLD, Release, Upgrades, release_of, topology};

/// A correction of the release for the same version of Kubernetes.
const MENDED: Release = ("docker-demo-1-35-v2", "v1.35.0");
/// The start of a class's spec, and the same with a patch that fits none of its templates.
const SPEC: &str = "spec:\n  infrastructure:";
const BROKEN: &str = "spec:
  patches:
    - name: broken
      definitions:
        - selector:
            apiVersion: controlplane.cluster.x-k8s.io/v1beta2
            kind: KubeadmControlPlaneTemplate
            matchResources: {controlPlane: true}
          jsonPatches: [{op: remove, path: /spec/template/spec/missing}]
  infrastructure:";

/// Cluster API cannot apply the class: no addon moves, and the gate repeats Cluster API's words. Another release for the same version
/// ends the wait.
pub(super) fn cluster_api_cannot_apply_the_class(testbed: &Testbed) {
    let upgrades = Upgrades::new(testbed, "stuck-gate", &[OLD, NEW, MENDED]);
    let scenario = &upgrades.scenario;
    scenario.edit(&format!("releases/{}/cluster-class/templates/cluster-class.yaml", NEW.0), SPEC, BROKEN);
    scenario.push("a patch of nothing");
    let _operator = upgrades.start(&[("stuck", "one")]);
    upgrades.apply_stack("1.35", &["v1", "v2"]);
    scenario.wait_ready("clusterstackrelease", MENDED.0);
    upgrades.move_to("stuck", NEW);
    scenario.wait("clusteraddon", "cluster-addon-stuck", "Cluster API's words", |addon| {
        let (status, reason, message) = condition(addon, "UpgradeGate");
        (status, reason) == ("False", "WaitingForClusterAPI") && message.contains("failed to apply patch")
    });
    record("gate-class", scenario);
    thread::sleep(Duration::from_secs(5));
    assert_eq!(upgrades.control_plane("stuck"), OLD.1);
    assert_eq!(release_of(&upgrades.addon("stuck", "cni")), OLD.0, "nothing moves");
    assert_eq!(upgrades.hook("stuck"), OLD.1);
    upgrades.patch("stuck", &topology(Some(MENDED.0), None));
    upgrades.wait_upgraded("stuck", MENDED);
    scenario.assert_nothing_uninstalled("one");
}
