//! Charts with Helm's hooks, and with definitions of kinds.

use std::fs;

use serde_json::json;
use stackflux_testbed::{Object, Testbed};

use super::super::scenario::CHARTS;
use super::{NEW, OLD, Upgrades};
use crate::text;

/// A Job that Helm runs before an upgrade.
const JOB: &str = "apiVersion: batch/v1
kind: Job
metadata:
  name: {{ .Release.Name }}-migrate
  namespace: {{ .Release.Namespace }}
  annotations: {helm.sh/hook: pre-upgrade}
spec:
  template:
    spec:
      restartPolicy: Never
      containers:
        - {name: migrate, image: \"busybox:1.37.0\", resources: {requests: {cpu: 1m, memory: 1Mi}}}
";

/// The definition of a kind, which is new in the second release, and an object of it.
const DEFINITION: &str = "apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: peers.gate.example.org}
spec:
  group: gate.example.org
  scope: Namespaced
  names: {kind: Peer, plural: peers, singular: peer}
  versions:
    - name: v1
      served: true
      storage: true
      schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, x-kubernetes-preserve-unknown-fields: true}}}}
";
const PEER: &str = "apiVersion: gate.example.org/v1
kind: Peer
metadata: {name: \"{{ .Release.Name }}\", namespace: \"{{ .Release.Namespace }}\"}
spec: {asn: 64512}
";

/// Helm runs the hook of a chart and adds its definitions before the control plane moves.
pub(super) fn charts_with_hooks_and_definitions_move_through_the_gate(testbed: &Testbed) {
    let upgrades = Upgrades::new(testbed, "charted-gate", &[OLD, NEW]);
    let scenario = &upgrades.scenario;
    let chart = format!("releases/{}/cluster-addon/{}", NEW.0, scenario.addon("cni"));
    fs::create_dir_all(scenario.path(&format!("{chart}/crds"))).unwrap();
    for (file, content) in
        [("templates/job.yaml", JOB), ("crds/peers.yaml", DEFINITION), ("templates/peer.yaml", PEER)]
    {
        fs::write(scenario.path(&format!("{chart}/{file}")), content).unwrap();
    }
    scenario.push("hooks and definitions");
    let _operator = upgrades.start(&[("charted", "two")]);
    upgrades.move_to("charted", NEW);
    upgrades.wait_upgraded("charted", NEW);
    let workload = testbed.workload("two").unwrap();
    let name = scenario.addon("cni");
    let peer = Object { kind: "peers.gate.example.org", namespace: "kube-system", name: &name };
    let peer = workload.get(peer).unwrap().expect("the object of the new kind");
    assert_eq!(peer["spec"]["asn"], json!(64512));
    let job = format!("{name}-migrate");
    let job = workload
        .get(Object { kind: "job", namespace: "kube-system", name: &job })
        .unwrap()
        .expect("Helm's hook");
    assert_eq!(text(&job, "/status/conditions/0/status"), "True", "{job:#}");
}

/// The ClusterStack of the next minor has another `adopt`: installed releases keep their names, and nothing is uninstalled.
pub(super) fn names_of_helm_releases_stay(testbed: &Testbed) {
    let upgrades = Upgrades::new(testbed, "adopted-gate", &[OLD, NEW]);
    let scenario = &upgrades.scenario;
    let workload = testbed.workload("one").unwrap();
    for addon in CHARTS {
        workload.kubectl(&["create", "namespace", &format!("{}-helm", scenario.addon(addon))]).unwrap();
    }
    let _operator = scenario.operator();
    upgrades.apply_stack_with("1.34", &["v1"], &json!({"flux": {"adopt": true}}));
    upgrades.apply_stack("1.35", &["v1"]);
    upgrades.create_cluster(&scenario.namespace, "adopted", "one", 0);
    scenario.wait_at("adopted", OLD.0);
    upgrades.move_to("adopted", NEW);
    upgrades.wait_upgraded("adopted", NEW);
    for addon in CHARTS {
        let found = upgrades.addon("adopted", addon);
        let storage = format!("{}-helm", scenario.addon(addon));
        assert_eq!(text(&found, "/spec/releaseName"), "cluster-addon");
        assert_eq!(text(&found, "/spec/storageNamespace"), storage);
        workload.assert_no_helm_uninstall(&storage, "cluster-addon").unwrap();
    }
}
