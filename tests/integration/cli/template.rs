//! `stackflux template`: over the examples, and over templates of a test's own.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::{expect, run, scratch};

fn examples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("examples")
}

/// A directory with a template, a Cluster `one` with its infrastructure, and a Cluster `two` whose is not there.
fn directory(name: &str, template: &str) -> PathBuf {
    let directory = scratch(name);
    fs::write(directory.join("overwrite.yaml"), template).unwrap();
    let clusters = "\
apiVersion: cluster.x-k8s.io/v1beta2
kind: Cluster
metadata: {name: one, namespace: demo, labels: {tier: gold}}
spec:
  infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: OpenStackCluster, name: one}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta1
kind: OpenStackCluster
metadata: {name: one, namespace: demo}
status: {network: {name: net}}
---
apiVersion: cluster.x-k8s.io/v1beta2
kind: Cluster
metadata: {name: two, namespace: demo}
spec:
  infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: OpenStackCluster, name: two}
";
    fs::write(directory.join("clusters.yaml"), clusters).unwrap();
    directory
}

const ARGUMENTS: [&str; 4] = ["template", "overwrite.yaml", "--filename", "clusters.yaml"];

#[test]
fn release_is_rendered_for_each_cluster() {
    let release = "stack/releases/docker-demo-1-34-v1";
    expect(&examples(), "template-release", &["template", release, "--filename", "clusters"]);
    let arguments =
        ["template", release, "-f", "clusters", "--cluster", "two", "--addon", "ccm", "-o", "json"];
    let values: Value = serde_json::from_str(&run(&examples(), &arguments).stdout).unwrap();
    let values = values.as_array().unwrap();
    assert_eq!(values.len(), 1);
    assert_eq!((&values[0]["cluster"], &values[0]["addon"]), (&json!("two"), &json!("ccm")));
    assert_eq!(values[0]["values"]["cluster"]["name"], "two");
}

#[test]
fn missing_fields_are_reported() {
    let template = "\
name: {{ .Cluster.metadata.name }}
{{- if .Cluster.metadata.labels.tier }}
tier: {{ .Cluster.metadata.labels.tier }}
{{- end }}
network: {{ .InfraCluster.status.network.id }}
";
    let directory = directory("template-missing", template);
    expect(&directory, "template-missing", &ARGUMENTS);
}

#[test]
fn long_values_are_cut_and_control_characters_escaped() {
    let template = "tiers: {{ toJson .Cluster.metadata }}\n";
    let directory = directory("template-long", template);
    let cluster = json!({
        "apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Cluster",
        "metadata": {"name": "one", "annotations": {"a": "\u{1b}[31m", "b": "ü".repeat(100)}},
    });
    fs::write(directory.join("clusters.yaml"), cluster.to_string()).unwrap();
    expect(&directory, "template-long", &ARGUMENTS);
}

#[test]
fn template_without_fields_needs_no_cluster() {
    let directory = directory("template-constant", "replicas: {{ add 1 1 }}\n");
    expect(&directory, "template-constant", &[&ARGUMENTS[..], &["--cluster", "one"]].concat());
}

#[test]
fn errors_show_their_position() {
    let unparsable = directory("template-unparsable", "a: 1\nname: {{ indnt 2 .Cluster.metadata.name }}\n");
    expect(&unparsable, "template-unparsable", &ARGUMENTS);
    let failing = directory("template-failing", "a: 1\nname: {{ fail \"no\" }}\n");
    expect(&failing, "template-failing", &ARGUMENTS);
    let list = directory("template-list", "- {{ .Cluster.metadata.name }}\n");
    expect(&list, "template-list", &[&ARGUMENTS[..], &["--cluster", "one"]].concat());
}

#[test]
fn arguments_without_match_are_refused() {
    let release = "stack/releases/docker-demo-1-34-v1";
    let clusters = ["--filename", "clusters"];
    for (name, arguments) in [
        ("template-no-addon", ["template", release, "--addon", "dns"]),
        ("template-no-template", ["template", release, "--addon", "cni"]),
        ("template-no-cluster", ["template", release, "--cluster", "three"]),
    ] {
        expect(&examples(), name, &[&arguments[..], &clusters].concat());
    }
    let directory = directory("template-addon-of-file", "a: 1\n");
    expect(&directory, "template-addon-of-file", &[&ARGUMENTS[..], &["--addon", "cni"]].concat());
}
