//! Every refusal, each by a broken copy of the good release: reason, file, line and message.

use std::fmt::Write as _;

use super::builder::{Stack, expect};
use crate::release::Reason;

const STAGES: &str = "clusteraddon.yaml";
const CNI: &str = "cluster-addon/cni/Chart.yaml";

#[test]
fn missing_metadata_is_refused() {
    let finding = Stack::good().without("metadata.yaml").refused();
    let message = "the release has no metadata.yaml, so its Kubernetes version is unknown";
    expect(&finding, Reason::MissingFile, "metadata.yaml", None, message);
}

#[test]
fn missing_kubernetes_version_is_refused() {
    let stack = Stack::good().replacing("metadata.yaml", "  kubernetes: v1.34.2\n", "");
    let message = "versions.kubernetes is missing";
    expect(&stack.refused(), Reason::InvalidField, "metadata.yaml", 3, message);
    let stack = Stack::good().with("metadata.yaml", "apiVersion: metadata.clusterstack.x-k8s.io/v1alpha1\n");
    expect(&stack.refused(), Reason::InvalidField, "metadata.yaml", 1, "versions is missing");
    for (text, message) in [
        ("- versions\n", "the file must be a mapping, but is a list"),
        ("versions: [v2]\n", "versions must be a mapping, but is a list"),
        ("versions: v2\n", "versions must be a mapping, but is a string"),
    ] {
        let finding = Stack::good().with("metadata.yaml", text).refused();
        expect(&finding, Reason::InvalidField, "metadata.yaml", 1, message);
    }
}

#[test]
fn kubernetes_version_without_v_is_refused() {
    let finding = Stack::good().replacing("metadata.yaml", "v1.34.2", "1.34.2").refused();
    let message =
        "\"1.34.2\" is not a Kubernetes version: expected v<major>.<minor>.<patch>, such as v1.34.2";
    expect(&finding, Reason::InvalidField, "metadata.yaml", 4, message);
    assert_eq!((finding.column, finding.text.as_deref()), (Some(15), Some("  kubernetes: 1.34.2")));
}

#[test]
fn kubernetes_minor_must_match_the_name() {
    let finding = Stack::good().replacing("metadata.yaml", "v1.34.2", "v1.33.9").refused();
    let message = "Kubernetes v1.33.9 does not match the minor version 1.34 of the release's name";
    expect(&finding, Reason::MetadataMismatch, "metadata.yaml", 4, message);
}

#[test]
fn version_must_match_the_name() {
    let finding = Stack::good().replacing("metadata.yaml", "clusterStack: v2", "clusterStack: v3").refused();
    let message = "versions.clusterStack is v3, but the release's name says v2";
    expect(&finding, Reason::MetadataMismatch, "metadata.yaml", 3, message);
}

#[test]
fn source_form_of_other_stack_is_refused() {
    let csctl = "config:\n  clusterStackName: other\n  kubernetesVersion: v1.34.2\n";
    let finding = Stack::good().without("metadata.yaml").with("csctl.yaml", csctl).refused();
    let message = "it says other, but the release's name says demo";
    expect(&finding, Reason::MetadataMismatch, "csctl.yaml", 2, message);
    let finding = Stack::good().without("metadata.yaml").with("csctl.yaml", "a: b\n").refused();
    expect(&finding, Reason::InvalidField, "csctl.yaml", 1, "config is missing");
}

#[test]
fn duplicate_keys_are_refused() {
    let finding = Stack::good()
        .replacing(STAGES, "  BeforeClusterUpgrade:", "  AfterControlPlaneInitialized:")
        .refused();
    let message = "duplicate key \"AfterControlPlaneInitialized\" in one mapping";
    expect(&finding, Reason::DuplicateKey, STAGES, 9, message);
}

#[test]
fn alias_bomb_is_refused() {
    let mut bomb = "a: &a [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
    for (name, of) in ["b", "c", "d", "e", "f", "g", "h"].iter().zip(["a", "b", "c", "d", "e", "f", "g"]) {
        let list = vec![format!("*{of}"); 10].join(", ");
        writeln!(bomb, "{name}: &{name} [{list}]").unwrap();
    }
    let finding = Stack::good().with("metadata.yaml", &bomb).refused();
    assert_eq!((finding.reason, finding.file.as_str()), (Reason::YamlBudgetExceeded, "metadata.yaml"));
    assert!(finding.line.is_some(), "{finding}");
    assert!(finding.message.starts_with("exceeds the limit of "), "{finding}");
}

#[test]
fn nesting_without_end() {
    let finding = Stack::good().with("metadata.yaml", &"[".repeat(100_000)).refused();
    assert_eq!(finding.file, "metadata.yaml");
    assert!(matches!(finding.reason, Reason::YamlBudgetExceeded | Reason::InvalidYaml), "{finding}");
    let deep = (0..1000).fold(String::new(), |text, depth| text + &" ".repeat(depth) + "a:\n");
    let finding = Stack::good().with("metadata.yaml", &deep).refused();
    assert_eq!((finding.reason, finding.file.as_str()), (Reason::YamlBudgetExceeded, "metadata.yaml"));
}

#[test]
fn invalid_yaml_is_refused() {
    let finding = Stack::good().replacing(STAGES, "addonStages:", "addonStages: [").refused();
    assert_eq!((finding.reason, finding.file.as_str()), (Reason::InvalidYaml, STAGES));
    assert!(finding.line.is_some() && finding.text.is_some(), "{finding}");
    let finding = Stack::good().with_bytes("metadata.yaml", b"a: b\nc: \xff\n".to_vec()).refused();
    expect(&finding, Reason::InvalidYaml, "metadata.yaml", 2, "the file is not UTF-8: invalid byte");
    assert_eq!(finding.column, Some(4));
}

#[test]
fn values_of_other_types_are_refused() {
    let stack = Stack::good().with("metadata.yaml", "versions:\n  kubernetes: [v1.34.2]\n");
    let message = "versions.kubernetes must be a string, but is a list";
    expect(&stack.refused(), Reason::InvalidField, "metadata.yaml", 2, message);
    let stack = Stack::single().with(STAGES, "addonStages: cni\n");
    let message = "addonStages must be a mapping, but is a string";
    expect(&stack.refused(), Reason::InvalidField, STAGES, 1, message);
    let stack = Stack::single().with(STAGES, "addonStages:\n  AfterClusterUpgrade:\n    name: cni\n");
    let message = "addonStages.AfterClusterUpgrade must be a list, but is a mapping";
    expect(&stack.refused(), Reason::InvalidField, STAGES, 3, message);
}

#[test]
fn file_without_stages_is_refused() {
    let finding = Stack::good().with(STAGES, "apiVersion: clusteraddonconfig.x-k8s.io/v1alpha1\n").refused();
    expect(&finding, Reason::InvalidField, STAGES, 1, "addonStages is missing");
}

#[test]
fn unknown_action_is_refused() {
    let text = "- name: ccm\n      action: apply";
    let finding = Stack::good().replacing(STAGES, text, "- name: ccm\n      action: aply").refused();
    expect(&finding, Reason::UnknownAction, STAGES, 8, "\"aply\" is not an action");
    assert_eq!(
        finding.to_string(),
        "error: UnknownAction: clusteraddon.yaml:8:15: \"aply\" is not an action\n  \
         8 |       action: aply\n    |               ^\n  hint: write apply or delete"
    );
}

#[test]
fn invalid_stage_hides_no_other_error() {
    let stack = Stack::good().with("cluster-addon/ccm/Chart.yaml", "apiVersion: v2\nname: CCM\n").replacing(
        STAGES,
        "- name: ccm\n      action: apply",
        "- name: ccm\n      action: aply",
    );
    let reported = |stack: &Stack| -> Vec<_> {
        stack.load().unwrap_err().iter().map(|finding| (finding.reason, finding.line)).collect()
    };
    assert_eq!(reported(&stack), [(Reason::InvalidChart, Some(1)), (Reason::UnknownAction, Some(8))]);
    let stack = stack.with(STAGES, "addonStages: [\n");
    assert_eq!(reported(&stack), [(Reason::InvalidChart, Some(1)), (Reason::InvalidYaml, Some(1))]);
}

#[test]
fn booleans_are_strict_in_stages() {
    let text = "- name: ccm\n      action: apply";
    let finding = Stack::good().replacing(STAGES, text, "- name: ccm\n      action: yes").refused();
    expect(&finding, Reason::UnknownAction, STAGES, 8, "\"yes\" is not an action");
}

#[test]
fn stage_without_name_or_action_is_refused() {
    let finding =
        Stack::good().replacing(STAGES, "- name: ccm\n      action: apply", "- name: ccm").refused();
    let message = "addonStages.AfterControlPlaneInitialized[1].action is missing";
    expect(&finding, Reason::InvalidField, STAGES, 7, message);
    let finding =
        Stack::good().replacing(STAGES, "- name: storage-classes\n      action", "- action").refused();
    let message = "addonStages.BeforeClusterUpgrade[1].name is missing";
    expect(&finding, Reason::InvalidField, STAGES, 12, message);
}

#[test]
fn stage_without_directory_is_refused() {
    let finding = Stack::good().replacing(STAGES, "- name: ccm", "- name: cmm").refused();
    let message = "the stage names the addon cmm, but there is neither a directory cluster-addon/cmm nor a component cmm";
    expect(&finding, Reason::StageWithoutDirectory, STAGES, 7, message);
    assert_eq!(finding.hint.as_deref(), Some("existing addons: ccm, cni, storage-classes"));
    let stages = "addonStages:\n  AfterClusterUpgrade: [{name: cni, action: apply}]\n";
    let finding =
        Stack::single().without("cluster-addon/Chart.yaml").without("cluster-addon/templates/all.yaml");
    let finding = finding.with(STAGES, stages).refused();
    assert_eq!(
        finding.hint.as_deref(),
        Some("each addon is a directory of cluster-addon/, or a component of components.yaml")
    );
}

#[test]
fn invalid_addon_name_is_refused() {
    let finding = Stack::good().replacing(STAGES, "- name: ccm", "- name: ../ccm").refused();
    let message =
        "\"../ccm\" is not an addon's name: lower-case letters, digits and '-', at most 53 characters";
    expect(&finding, Reason::InvalidName, STAGES, 7, message);
}

#[test]
fn missing_addons_are_refused() {
    let finding = Stack::single().without("cluster-addon/Chart.yaml").refused();
    let message = "the release has neither clusteraddon.yaml nor a chart in cluster-addon/";
    expect(&finding, Reason::MissingFile, STAGES, None, message);
}

#[test]
fn missing_cluster_class_is_refused() {
    let finding = Stack::good().without("cluster-class/Chart.yaml").refused();
    let message = "cluster-class is not a chart: Chart.yaml is missing";
    expect(&finding, Reason::MissingFile, "cluster-class/Chart.yaml", None, message);
}

#[test]
fn chart_without_name_or_version_is_refused() {
    let finding = Stack::good().replacing(CNI, "name: CNI\n", "").refused();
    expect(&finding, Reason::InvalidChart, CNI, 1, "name is missing");
    let finding = Stack::good().replacing(CNI, "version: v1\n", "version: ''\n").refused();
    expect(&finding, Reason::InvalidChart, CNI, 3, "version is empty");
}

#[test]
fn chart_versions_invalid_for_helm_are_refused() {
    for version in ["latest", "1.2.3.4", "v", "1.2.x", "vv1", "1-", "1.2.3-01"] {
        let finding =
            Stack::good().replacing(CNI, "version: v1\n", &format!("version: {version}\n")).refused();
        let message = format!("invalid version {version}: Helm does not accept it");
        expect(&finding, Reason::InvalidChart, CNI, 3, &message);
    }
    for version in ["1", "v1.2", "1.2.3-rc.1+build.2", "v0-sha.abc"] {
        Stack::good().replacing(CNI, "version: v1\n", &format!("version: {version}\n")).clean();
    }
}

#[test]
fn dependency_without_source_is_refused() {
    let finding = Stack::good()
        .without("cluster-addon/cni/charts/cilium-1.18.9.tgz")
        .replacing(CNI, "    repository: https://charts.example.com\n", "")
        .refused();
    let message = "dependency cilium is not in charts/ and has no repository: Helm would install the chart without \
                   it and report success";
    expect(&finding, Reason::DependencyUnresolved, CNI, 7, message);
}

#[test]
fn values_for_plain_manifests_are_refused() {
    let path = "cluster-addon/storage-classes/overwrite.yaml";
    let finding = Stack::good().with(path, "a: 1\n").refused();
    let message = "no Chart.yaml: an addon of plain manifests takes no values, and Flux would apply this file as a manifest";
    expect(&finding, Reason::InvalidTemplate, path, None, message);
}

#[test]
fn invalid_templates_are_refused() {
    let path = "cluster-addon/ccm/overwrite.yaml";
    let finding = Stack::good().with(path, "values: |\n  a: {{ .Cluster.metadata.name | quot }}\n").refused();
    expect(&finding, Reason::InvalidTemplate, path, 2, "function \"quot\" not defined");
    assert_eq!((finding.column, finding.hint.as_deref()), (Some(34), Some("did you mean quote?")));
    let finding = Stack::good().with(path, "a: 1\n{{ if .Cluster }}\n").refused();
    assert_eq!((finding.reason, finding.file.as_str()), (Reason::InvalidTemplate, path));
    assert!(finding.line.is_some(), "{finding}");
}

#[test]
fn invalid_shared_template_is_reported_once() {
    let finding = Stack::good()
        .without("cluster-addon/ccm/overwrite.yaml")
        .with("cluster-addon-values.yaml", "a: {{ env \"HOME\" }}\n")
        .refused();
    let place = (finding.reason, finding.file.as_str(), finding.line);
    assert_eq!(place, (Reason::InvalidTemplate, "cluster-addon-values.yaml", Some(1)));
    assert!(finding.message.contains("\"env\""), "{finding}");
}

#[test]
fn placeholders_are_refused() {
    let finding =
        Stack::good().replacing(CNI, "version: v1\n", "version: << .ClusterAddonVersion >>\n").refused();
    let message = "the placeholder << .ClusterAddonVersion >> was not replaced: Flux refuses such a chart";
    expect(&finding, Reason::PlaceholderLeft, CNI, 3, message);
    assert_eq!(finding.column, Some(10));
    let path = "cluster-class/templates/x.yaml";
    let script = "a: |\n  cat <<EOF >>file\n  <<.NodeImageVersion>>\n";
    let finding = Stack::good().with(path, script).refused();
    let message = "the placeholder << .NodeImageVersion >> was not replaced: Flux refuses such a chart";
    expect(&finding, Reason::PlaceholderLeft, path, 3, message);
}

#[test]
fn placeholders_outside_templates_are_ignored() {
    Stack::good().with("README.md", "<< .ClusterAddonVersion >>\n").clean();
}

#[test]
fn all_errors_are_reported_in_order() {
    let findings = Stack::good()
        .replacing(STAGES, "- name: ccm\n      action: apply", "- name: cmm\n      action: aply")
        .replacing(STAGES, "  BeforeClusterUpgrade:", "  BeforeClusterUpgrades:")
        .replacing("metadata.yaml", "clusterStack: v2", "clusterStack: v3")
        .replacing(CNI, "name: CNI\n", "")
        .load()
        .unwrap_err();
    let reported: Vec<_> = findings.iter().map(|finding| (finding.reason, finding.line)).collect();
    let expected = [
        (Reason::InvalidChart, Some(1)),
        (Reason::StageWithoutDirectory, Some(7)),
        (Reason::UnknownAction, Some(8)),
        (Reason::UnknownHook, Some(9)),
        (Reason::MetadataMismatch, Some(3)),
    ];
    assert_eq!(reported, expected, "{findings}");
    let lines = findings.to_string();
    assert_eq!(
        lines.lines().filter(|line| line.starts_with("error: ") || line.starts_with("warning: ")).count(),
        5
    );
}
