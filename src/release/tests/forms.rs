//! The supported forms of releases.

use super::builder::{NAME, Stack, archive, chart_archive, expect};
use crate::release::{Action, AddonKind, Digest, Form, Hook, Reason, Release, Severity};

const STAGES: &str = "clusteraddon.yaml";

fn names(release: &Release) -> Vec<&str> {
    release.addons.iter().map(|addon| addon.name.as_str()).collect()
}

#[test]
fn multi_stage_release_is_read() {
    let release = Stack::good().clean();
    assert_eq!(release.name.to_string(), NAME);
    assert_eq!((release.form, release.packed), (Form::MultiStage, false));
    assert_eq!(release.kubernetes.to_string(), "v1.34.2");
    assert_eq!(release.parts.cluster_addon.as_deref(), Some("v2"));
    assert_eq!(release.parts.node_image.as_deref(), Some("v1"));
    assert_eq!(
        (release.cluster_class.name.as_str(), release.cluster_class.version.as_str()),
        ("demo-class", "v2")
    );
    assert_eq!(names(&release), ["cni", "ccm", "storage-classes"]);
    assert_eq!(release.node_images.as_ref().unwrap().path, "node-images");
}

#[test]
fn charts_have_dependencies_and_templates() {
    let release = Stack::good().clean();
    let cni = release.addon(&"cni".parse().unwrap()).unwrap();
    assert!(cni.template.is_none());
    let chart = cni.chart().unwrap();
    assert_eq!(chart.description.as_deref(), Some("The network"));
    let [cilium] = chart.dependencies.as_slice() else { panic!("one dependency") };
    assert_eq!((cilium.alias.as_deref(), cilium.vendored.as_deref()), (Some("net"), Some("1.18.9")));
    assert_eq!(cilium.repository.as_deref(), Some("https://charts.example.com"));

    let ccm = release.addon(&"ccm".parse().unwrap()).unwrap();
    assert_eq!(ccm.path, "cluster-addon/ccm");
    assert_eq!(ccm.chart().unwrap().app_version.as_deref(), Some("1.34"));
    assert_eq!(ccm.template.as_ref().unwrap().file, "cluster-addon/ccm/overwrite.yaml");

    let storage = release.addon(&"storage-classes".parse().unwrap()).unwrap();
    assert_eq!(storage.kind, AddonKind::Manifests);
}

#[test]
fn stages_in_the_order_of_the_file() {
    let release = Stack::good().clean();
    let upgrade = &release.stages[&Hook::BeforeClusterUpgrade];
    let steps: Vec<_> = upgrade.iter().map(|stage| (stage.addon.as_str(), stage.action)).collect();
    assert_eq!(steps, [("cni", Action::Apply), ("storage-classes", Action::Apply)]);
}

/// The good release, with a stage for `ccm` in an upgrade.
fn with_stage(more: &str) -> Stack {
    let stage = format!("- {{name: ccm, action: apply{more}}}\n    - name: storage-classes");
    Stack::good().replacing(STAGES, "- name: storage-classes", &stage)
}

#[test]
fn wait_is_an_error_that_a_cluster_stack_may_ignore() {
    let stack = with_stage(", waitForPreCondition: {conditions: ready}");
    let message = "waitForPreCondition is not supported: ccm moves at BeforeClusterUpgrade without it";
    expect(&stack.warned(), Reason::WaitNotSupported, STAGES, 12, message);
    let release = stack.load().unwrap().release;
    let [wait] = release.waits.as_slice() else { panic!("{:?}", release.waits) };
    assert_eq!((wait.addon.as_str(), wait.field), ("ccm", "waitForPreCondition"));
    expect(&wait.finding, Reason::WaitNotSupported, STAGES, 12, message);
    assert_eq!(wait.finding.severity, Severity::Error);
    let findings = stack.lint().unwrap_err();
    assert!(findings.errors().any(|error| *error == wait.finding), "lint refuses it: {findings}");
}

#[test]
fn new_and_upgraded_clusters_end_alike() {
    let hooks = ["AfterControlPlaneInitialized", "BeforeClusterUpgrade", "AfterClusterUpgrade"];
    let stack = |stages: [&str; 3]| {
        let stage = |action: &str| format!("    - {{name: ccm, action: {action}}}");
        let list = |actions: &str| actions.split_whitespace().map(stage).collect::<Vec<_>>().join("\n");
        let hook = |(hook, of): (&&str, &str)| format!("  {hook}:\n{}", list(of)).trim_end().to_owned();
        let stages = hooks.iter().zip(stages).map(hook).collect::<Vec<_>>().join("\n");
        Stack::good().with(STAGES, &format!("addonStages:\n{stages}"))
    };
    let conflicts = |stages| {
        let findings = stack(stages).load().map_or_else(|findings| findings, |loaded| loaded.warnings);
        let conflicts = findings.iter().filter(|finding| finding.reason == Reason::StageConflict);
        conflicts.map(|finding| (finding.line.unwrap(), finding.message.clone())).collect::<Vec<_>>()
    };
    let gone = "new clusters have ccm in the end, and upgraded ones do not have it";
    let left = "new clusters do not have ccm in the end, and upgraded ones have it";
    for (stages, expected) in [
        (["apply", "", ""], None),
        (["apply", "apply", "apply"], None),
        (["", "apply", ""], None),
        (["", "apply delete", ""], None),
        (["", "apply", "delete"], None),
        (["apply", "delete apply", ""], None),
        (["apply", "delete", "apply"], None),
        (["apply delete", "apply", "delete"], None),
        (["apply", "delete", ""], Some((5, gone))),
        (["apply", "apply delete", ""], Some((6, gone))),
        (["apply", "apply", "delete"], Some((7, gone))),
        (["apply", "", "apply delete"], Some((7, gone))),
        (["apply delete", "apply", ""], Some((6, left))),
        (["delete", "", "apply"], Some((6, left))),
    ] {
        let expected: Vec<_> =
            expected.into_iter().map(|(line, message)| (line, message.to_owned())).collect();
        assert_eq!(conflicts(stages), expected, "{stages:?}");
    }
}

#[test]
fn empty_wait_is_none() {
    assert_eq!(with_stage(", waitForPreCondition: ").clean().waits, []);
}

#[test]
fn addon_with_delete_stages_only_is_not_installed() {
    let text = "    - name: storage-classes\n      action: apply";
    let release =
        Stack::good().replacing("clusteraddon.yaml", text, &text.replace("apply", "delete")).clean();
    assert_eq!(names(&release), ["cni", "ccm"]);
    assert_eq!(release.stages[&Hook::BeforeClusterUpgrade][1].action, Action::Delete);
}

#[test]
fn common_template_applies_without_own_template() {
    let release = Stack::good().with("cluster-addon-values.yaml", "a: 1\n").clean();
    let template = |name: &str| {
        release
            .addon(&name.parse().unwrap())
            .unwrap()
            .template
            .as_ref()
            .map(|template| template.file.as_str())
    };
    assert_eq!(template("cni"), Some("cluster-addon-values.yaml"));
    assert_eq!(template("ccm"), Some("cluster-addon/ccm/overwrite.yaml"));
    assert_eq!(template("storage-classes"), None);
}

#[test]
fn single_chart_release_is_read() {
    let release = Stack::single().clean();
    assert_eq!(release.form, Form::SingleChart);
    assert_eq!(names(&release), ["cluster-addon"]);
    assert_eq!(release.addons[0].path, "cluster-addon");
    assert_eq!(release.addons[0].template.as_ref().unwrap().file, "cluster-addon-values.yaml");
    assert!(release.stages.is_empty());
}

#[test]
fn source_form_release_is_read() {
    let csctl =
        "config:\n  clusterStackName: demo\n  kubernetesVersion: v1.34.2\n  provider:\n    type: openstack\n";
    let release = Stack::good().without("metadata.yaml").with("csctl.yaml", csctl).clean();
    assert_eq!(release.kubernetes.to_string(), "v1.34.2");
    assert_eq!(release.parts.cluster_addon, None);
}

#[test]
fn packed_and_unpacked_digests_agree() {
    let unpacked = Stack::single();
    let text = |path: &str| String::from_utf8(unpacked.files.get(path).unwrap().content.clone()).unwrap();
    let class = archive(&[("demo-class/Chart.yaml", &text("cluster-class/Chart.yaml"))]);
    let addons = archive(&[
        ("CCM/Chart.yaml", &text("cluster-addon/Chart.yaml")),
        ("CCM/templates/all.yaml", &text("cluster-addon/templates/all.yaml")),
    ]);
    let packed = Stack::empty()
        .with("metadata.yaml", &text("metadata.yaml"))
        .with("cluster-addon-values.yaml", &text("cluster-addon-values.yaml"))
        .with_bytes("openstack-demo-1-34-cluster-class-v2.tgz", class)
        .with_bytes("openstack-demo-1-34-cluster-addon-v1.tgz", addons);
    let (packed, unpacked) = (packed.clean(), unpacked.clean());
    assert!(packed.packed);
    assert_eq!(packed.digest, unpacked.digest);
    assert_eq!(packed.addons[0].digest, unpacked.addons[0].digest);
}

#[test]
fn packed_multi_stage_release_keeps_directories() {
    let text = "addonStages:\n  AfterControlPlaneInitialized:\n    - {name: cni, action: apply}\n";
    let chart = "name: CNI\nversion: v1\n";
    let release = Stack::empty()
        .with("metadata.yaml", "versions: {clusterStack: v2, kubernetes: v1.34.2}\n")
        .with("clusteraddon.yaml", text)
        .with_bytes("openstack-demo-1-34-cluster-class-v2.tgz", chart_archive("demo-class", "v2"))
        .with_bytes("openstack-demo-1-34-cluster-addon-v2.tgz", archive(&[("./cni/Chart.yaml", chart)]))
        .with_bytes("openstack-demo-1-34-node-image-v2.tgz", archive(&[("image.yaml", "kind: Image\n")]))
        .clean();
    assert_eq!(names(&release), ["cni"]);
    assert_eq!(release.addons[0].path, "cluster-addon/cni");
    assert!(release.node_images.is_some());
}

#[test]
fn class_versions_are_compared_in_the_form_with_a_dot() {
    let mut stack = Stack::single()
        .with("metadata.yaml", "versions: {clusterStack: v0-sha.abc, kubernetes: v1.34.2}\n")
        .with("cluster-class/Chart.yaml", "name: demo-class\nversion: v0-sha.abc\n");
    stack.name = "openstack-demo-1-34-v0-sha-abc".to_owned();
    assert_eq!(stack.clean().name.class_name(), "openstack-demo-1-34-v0-sha.abc");
}

#[test]
fn digests_are_pinned_to_their_definition() {
    // Computed by printf over `path NUL (x|-) SHA-256(content)` and sha256sum.
    let stack = Stack::empty().with("a/b", "one").with("a/c", "");
    let digest = Digest::of(&stack.files, "a");
    assert_eq!(digest.to_string(), DIGEST);
    assert_eq!(digest.short(), DIGEST["sha256:".len()..][..12]);
    assert_eq!(DIGEST.parse(), Ok(digest));
    assert_ne!(Digest::of(&stack.files, ""), digest, "paths are relative to the directory");
}

const DIGEST: &str = "sha256:804a2fe5a7bfd1ec787408cc9471bc1f9c39dfa0ac68463cb96be8df2f14d270";

#[test]
fn digest_covers_content_path_and_executability() {
    let base = Stack::empty().with("a", "one").files;
    let mut executable = base.clone();
    let mut file = executable.remove("a").unwrap();
    file.executable = true;
    executable.insert("a", file).unwrap();
    let others = [
        executable,
        Stack::empty().with("b", "one").files,
        Stack::empty().with("a", "two").files,
        Stack::empty().with("a", "one").with("b", "").files,
    ];
    for other in others {
        assert_ne!(Digest::of(&base, ""), Digest::of(&other, ""));
    }
    let mut with_link = base.clone();
    with_link.insert_link("link", "a").unwrap();
    with_link.insert_ignored("logo.png").unwrap();
    assert_eq!(Digest::of(&base, ""), Digest::of(&with_link, ""));
}

#[test]
fn digest_is_parsed_strictly() {
    for text in ["", "sha256:", "sha256:ab", &DIGEST.to_uppercase(), &format!("{DIGEST}0"), &DIGEST[7..]] {
        assert!(text.parse::<Digest>().is_err(), "{text}");
    }
}

#[test]
fn manifests_that_sops_has_encrypted_are_found() {
    let encrypted = |stack: &Stack| stack.load().unwrap().encrypted().into_values().collect::<Vec<_>>();
    let secret = "kind: Secret\nmetadata: {name: a}\nstringData: {a: 'ENC[x]'}\nsops: {mac: 'ENC[x]', version: 3.9.0}\n";
    let path = "cluster-addon/storage-classes/keys/secret.yaml";
    let stack = Stack::good().with(path, &format!("kind: Namespace\nmetadata: {{name: a}}\n---\n{secret}"));
    assert_eq!(encrypted(&stack), [path]);
    let unlisted = "resources: [default.yaml]\n";
    let stack = stack.with("cluster-addon/storage-classes/kustomization.yaml", unlisted);
    assert!(encrypted(&stack).is_empty(), "Flux does not apply it");
    for other in ["data: {sops: {mac: a}}", "sops: {version: 1}", "sops: a", "mac: a"] {
        let text = format!("kind: ConfigMap\nmetadata: {{name: a}}\n{other}\n");
        assert!(encrypted(&Stack::good().with(path, &text)).is_empty(), "{other}");
    }
    assert!(encrypted(&Stack::good().with("cluster-addon/cni/templates/a.yaml", secret)).is_empty());
}
