//! The warnings with which a release is accepted.

use super::builder::{Stack, archive, expect};
use crate::release::Reason;

const STAGES: &str = "clusteraddon.yaml";
const CNI: &str = "cluster-addon/cni/Chart.yaml";

#[test]
fn unknown_hook_is_warned_about() {
    let finding = Stack::good()
        .replacing(STAGES, "  BeforeClusterUpgrade:", "  AfterClusterDelete: []\n  BeforeClusterUpgrade:")
        .warned();
    let message = "unknown hook \"AfterClusterDelete\": its stages are not run";
    expect(&finding, Reason::UnknownHook, STAGES, 9, message);
    let hint = "known hooks: AfterControlPlaneInitialized, BeforeClusterUpgrade, AfterClusterUpgrade";
    assert_eq!(finding.hint.as_deref(), Some(hint));
}

#[test]
fn unknown_fields_are_warned_about() {
    let finding = Stack::good().replacing(STAGES, "addonStages:", "stages: []\naddonStages:").warned();
    expect(&finding, Reason::UnknownField, STAGES, 3, "unknown field \"stages\"");
    let stage = "- {name: ccm, action: apply, waitForPostConditions: {}}\n    - name: storage-classes";
    let finding = Stack::good().replacing(STAGES, "- name: storage-classes", stage).warned();
    let message = "unknown field \"waitForPostConditions\"";
    expect(&finding, Reason::UnknownField, STAGES, 12, message);
    assert_eq!(
        finding.hint.as_deref(),
        Some("known fields: name, action, waitForPreCondition, waitForPostCondition")
    );
}

#[test]
fn paths_that_differ_in_case_warn_once() {
    let (upper, lower) = ("cluster-addon/cni/templates/A.yaml", "cluster-addon/cni/templates/a.yaml");
    let finding = Stack::good().with(upper, "").with(lower, "").warned();
    let message = "the path differs from \"cluster-addon/cni/templates/A.yaml\" in case alone: file systems that ignore \
                   case (macOS, Windows) keep only one of them";
    expect(&finding, Reason::CaseConflict, lower, None, message);
    // Two directories are one finding, whatever their content; letters beyond ASCII have cases too.
    let stack = Stack::good().with("docs/Ä/one", "").with("docs/ä/one", "").with("docs/ä/two", "");
    expect(
        &stack.warned(),
        Reason::CaseConflict,
        "docs/ä",
        None,
        "the path differs from \"docs/Ä\" in case alone: file systems that ignore case (macOS, Windows) keep only one of \
         them",
    );
}

#[test]
fn duplicate_stage_is_warned_about() {
    let stack = Stack::good().replacing(
        STAGES,
        "  BeforeClusterUpgrade:",
        "    - {name: cni, action: apply}\n  BeforeClusterUpgrade:",
    );
    expect(&stack.warned(), Reason::DuplicateStage, STAGES, 9, "the hook lists cni with apply twice");
}

#[test]
fn addon_without_stage_is_warned_about() {
    let finding = Stack::good().with("cluster-addon/csi/Chart.yaml", "name: csi\nversion: v1\n").warned();
    let message = "no stage of clusteraddon.yaml names this addon: it is not installed";
    expect(&finding, Reason::AddonWithoutStage, "cluster-addon/csi", None, message);
}

#[test]
fn dependency_to_fetch_is_warned_about() {
    let finding = Stack::good().without("cluster-addon/cni/charts/cilium-1.18.9.tgz").warned();
    let message = "dependency cilium 1.18.9 is not vendored: source-controller fetches it from \
                   https://charts.example.com when it packages the chart, and needs network access to that repository";
    expect(&finding, Reason::DependencyNotVendored, CNI, 7, message);
}

#[test]
fn dependency_vendored_as_directory_is_found() {
    Stack::good()
        .without("cluster-addon/cni/charts/cilium-1.18.9.tgz")
        .with("cluster-addon/cni/charts/cilium/Chart.yaml", "name: cilium\nversion: 1.18.9\n")
        .clean();
}

#[test]
fn other_vendored_chart_is_not_the_dependency() {
    let other = archive(&[("hubble/Chart.yaml", "name: hubble\nversion: 1.18.9\n")]);
    let finding = Stack::good().with_bytes("cluster-addon/cni/charts/cilium-1.18.9.tgz", other).warned();
    assert_eq!(finding.reason, Reason::DependencyNotVendored);
}

#[test]
fn class_chart_of_other_version_is_warned_about() {
    let finding = Stack::good().replacing("cluster-class/Chart.yaml", "version: v2", "version: v1").warned();
    let message = "the class chart has version v1, but the release has v2: a ClusterClass named by .Chart.Version is \
                   openstack-demo-1-34-v1, but Clusters of this release look for openstack-demo-1-34-v2";
    expect(&finding, Reason::VersionMismatch, "cluster-class/Chart.yaml", 3, message);
}

#[test]
fn class_chart_of_other_stack_is_warned_about() {
    let path = "cluster-class/Chart.yaml";
    let finding = Stack::good().replacing(path, "demo-class", "docker-demo-1-34-cluster-class").warned();
    let message = "the class chart is named docker-demo-1-34-cluster-class, but that of openstack-demo-1-34-v2 must be \
                   named openstack-demo-1-34-cluster-class";
    expect(&finding, Reason::MetadataMismatch, path, 2, message);
    Stack::good().replacing(path, "demo-class", "openstack-demo-1-34-cluster-class").clean();
}

#[test]
fn unversioned_name_in_class_is_warned_about() {
    let path = "cluster-class/templates/image.yaml";
    let text =
        "apiVersion: v1\nkind: Image\nmetadata:\n  labels:\n    name: x\n  name: '{{ .Values.image }}'\n";
    let finding = Stack::good().with(path, text).warned();
    let message = "the name of this Image does not show the chart's version: two releases of the class would share \
                   the object, and removing one release would remove it from the other";
    expect(&finding, Reason::UnversionedObject, path, 6, message);
    assert_eq!(finding.column, Some(9));
}

#[test]
fn versioned_names_are_not_warned_about() {
    for name in
        ["{{ .Release.Name }}-{{ .Chart.Version }}-worker", "\"image-v2\"", "{{ include \"worker\" . }}"]
    {
        let text = format!("---\n# the image\nkind: Image\nmetadata:\n  name: {name}\nspec:\n  name: x\n");
        Stack::good()
            .with("cluster-class/templates/image.yaml", &text)
            .with(
                "cluster-class/templates/_helpers.tpl",
                "{{ define \"worker\" }}{{ .Chart.Version }}{{ end }}",
            )
            .clean();
    }
}

#[test]
fn helper_without_version_is_warned_about() {
    let finding = Stack::good()
        .with("cluster-class/templates/image.yaml", "kind: Image\nmetadata:\n  name: {{ include \"a\" . }}\n")
        .with(
            "cluster-class/templates/_h.tpl",
            "{{ define \"a\" }}x{{ end }}{{ define \"b\" }}{{ .Chart.Version }}{{ end }}",
        )
        .warned();
    assert_eq!(finding.reason, Reason::UnversionedObject);
}

#[test]
fn duplicate_key_in_template_is_warned_about() {
    let path = "cluster-addon/cni/templates/deployment.yaml";
    let finding = Stack::good()
        .with(path, "kind: Deployment\nmetadata:\n  name: {{ .Release.Name }}\n  labels: {}\n  name: cni\n")
        .warned();
    let message = "duplicate key \"name\" in one mapping, first in line 3: Flux refuses the manifest that Helm \
                   renders from it";
    expect(&finding, Reason::DuplicateKey, path, 5, message);
}

#[test]
fn class_of_other_name_is_warned_about() {
    let path = "cluster-class/templates/class.yaml";
    let finding = Stack::good().replacing(path, "{{ .Release.Name }}", "my-class").warned();
    let message = "Clusters of this release look for a ClusterClass openstack-demo-1-34-v2, but this one is named \
                   my-class-{{ .Chart.Version }}";
    expect(&finding, Reason::UnexpectedClassName, path, 4, message);
    assert_eq!(
        finding.hint.as_deref(),
        Some("build the name as {{ .Release.Name }}-{{ .Chart.Version }}"),
        "a name with more at its end is not the one that Clusters look for"
    );
    Stack::good()
        .replacing(path, "{{ .Release.Name }}-{{ .Chart.Version }}", "openstack-demo-1-34-v2")
        .clean();
}
