use super::*;
use crate::release::tests::builder::{Stack, expect};
use crate::release::{Form, Hook};

const COMMIT: &str = "9f1c2a3b4c5d6e7f8091a2b3c4d5e6f708192a3b";
const DIGEST: &str = "sha256:3a5b7c9d1e2f4051627384950617283940516273849506172839405162738495";

/// One component of each form.
const LIST: &str = "\
apiVersion: clusterstack.x-k8s.io/v1alpha1
kind: Components
repositories:
- name: platform
  git: {url: https://git.example.org/platform.git, ref: {branch: main, commit: COMMIT}}
  components:
  - name: policies
    manifests: deploy/policies
    substitute: components/policies.yaml
  - name: ingress
    chart: ./charts/ingress
    template: components/ingress.yaml
- name: monitoring
  oci: {url: oci://registry.example.org/charts/monitoring, digest: DIGEST}
  components:
  - name: monitoring
    chart: .
    values: components/monitoring.values.yaml
    dependsOn: [cni]
";

const STAGES: &str = "\
addonStages:
  AfterControlPlaneInitialized:
    - {name: monitoring, action: apply}
    - {name: cni, action: apply}
    - {name: policies, action: apply}
    - {name: ingress, action: apply}
  BeforeClusterUpgrade:
    - {name: cni, action: apply}
    - {name: ingress, action: apply}
";

fn list() -> String {
    LIST.replace("COMMIT", COMMIT).replace("DIGEST", DIGEST)
}

/// The good release with components, and the directory `cni` alone.
fn stack() -> Stack {
    let cut = |stack: Stack, paths: &[&str]| paths.iter().fold(stack, |stack, path| stack.without(path));
    cut(
        Stack::good(),
        &[
            "cluster-addon/ccm/Chart.yaml",
            "cluster-addon/ccm/overwrite.yaml",
            "cluster-addon/storage-classes/default.yaml",
        ],
    )
    .with("clusteraddon.yaml", STAGES)
    .with(COMPONENTS, &list())
    .with("components/policies.yaml", "cluster: {{ .Cluster.metadata.name }}\n")
    .with("components/ingress.yaml", "name: {{ .Cluster.metadata.name }}\n")
    .with("components/monitoring.values.yaml", "replicas: 2\n")
}

/// The text of the list with something replaced.
#[track_caller]
fn with(old: &str, new: &str) -> Stack {
    let text = list();
    assert_eq!(text.matches(old).count(), 1, "{old}");
    stack().with(COMPONENTS, &text.replace(old, new))
}

#[test]
fn components_are_addons_in_the_order_of_stages() {
    let release = stack().clean();
    let names: Vec<&str> = release.addons.iter().map(|addon| addon.name.as_str()).collect();
    assert_eq!(names, ["monitoring", "cni", "policies", "ingress"]);
    let [monitoring, cni, policies, ingress] = release.addons.as_slice() else { panic!() };
    assert!(cni.component().is_none() && monitoring.chart().is_none());
    assert_eq!([monitoring, policies, ingress].map(Addon::is_chart), [true, false, true]);
    assert_eq!(monitoring.path, COMPONENTS);
    let component = |addon: &'_ Addon| addon.component().unwrap().clone();
    let (monitoring, policies, ingress) = (component(monitoring), component(policies), component(ingress));
    assert_eq!(
        [&policies.path, &ingress.path, &monitoring.path].map(String::as_str),
        ["deploy/policies", "charts/ingress", "."]
    );
    assert_eq!(policies.repository, "platform");
    assert_eq!(policies.source.exact(), Some(COMMIT));
    assert_eq!(monitoring.source.exact(), Some(DIGEST));
    assert_eq!(monitoring.values["replicas"], 2);
    assert_eq!(monitoring.depends_on, ["cni".parse().unwrap()]);
    let hooks = |name: &str| release.hooks_of(&name.parse().unwrap()).collect::<Vec<_>>();
    assert_eq!(hooks("ingress"), [Hook::AfterControlPlaneInitialized, Hook::BeforeClusterUpgrade]);
    assert_eq!(hooks("policies"), [Hook::AfterControlPlaneInitialized]);
}

#[test]
fn digest_is_that_of_reference_and_files() {
    let digests =
        |stack: &Stack| -> Vec<Digest> { stack.clean().addons.iter().map(|addon| addon.digest).collect() };
    let before = digests(&stack());
    for (changed, expected) in [
        (stack().with("clusteraddon.yaml", &format!("{STAGES}# x\n")), [false; 4]),
        (with("branch: main", "branch: trunk"), [false, false, true, true]),
        (with("deploy/policies", "deploy/others"), [false, false, true, false]),
        (stack().with("components/ingress.yaml", "name: one\n"), [false, false, false, true]),
        (stack().with("components/monitoring.values.yaml", "replicas: 3\n"), [true, false, false, false]),
        (with("charts/monitoring", "charts/others"), [true, false, false, false]),
        (with("dependsOn: [cni]", "dependsOn: []"), [false; 4]),
    ] {
        let changed: Vec<bool> = digests(&changed).iter().zip(&before).map(|(a, b)| a != b).collect();
        assert_eq!(changed, expected);
    }
}

#[test]
fn release_without_stages_has_all_components_at_all_hooks() {
    let single = |stack: Stack| {
        let files = ["policies.yaml", "ingress.yaml", "monitoring.values.yaml"];
        let stack =
            files.iter().fold(stack, |stack, file| stack.with(&format!("components/{file}"), "a: 1\n"));
        stack.with(COMPONENTS, &list().replace("    dependsOn: [cni]\n", ""))
    };
    let beside = single(Stack::single()).clean();
    let names: Vec<&str> = beside.addons.iter().map(|addon| addon.name.as_str()).collect();
    assert_eq!(
        (beside.form, names),
        (Form::SingleChart, vec!["cluster-addon", "ingress", "monitoring", "policies"])
    );
    let hooks = |name: &str| beside.hooks_of(&name.parse().unwrap()).collect::<Vec<_>>();
    assert_eq!((hooks("ingress"), hooks("cluster-addon")), (Hook::ALL.to_vec(), vec![]));

    let bare =
        Stack::single().without("cluster-addon/Chart.yaml").without("cluster-addon/templates/all.yaml");
    let instead = single(bare.without("cluster-addon-values.yaml")).clean();
    assert_eq!(instead.addons.len(), 3);
}

#[test]
fn references_that_can_change_are_refused() {
    let exact = format!("ref: {{branch: main, commit: {COMMIT}}}");
    let digest = format!("digest: {DIGEST}");
    for (old, new, line, message) in [
        (
            exact.as_str(),
            "ref: {branch: main}",
            5,
            "branch main can change, and a release cannot: name the commit",
        ),
        (&exact, "ref: {tag: v1}", 5, "tag v1 can change, and a release cannot: name the commit"),
        (&exact, "ref: {semver: '>=1'}", 5, "semver >=1 can change, and a release cannot: name the commit"),
        (&digest, "tag: '1'", 14, "tag 1 can change, and a release cannot: name the digest"),
        (
            "git: {url: https://git.example.org/platform.git, ref: {branch: main, commit: 9f1c2a3b4c5d6e7f8091a2b3c4d5e6f708192a3b}}",
            "helm: {url: https://charts.example.org}",
            5,
            "the index of a Helm repository can change, and a release cannot: name the digest",
        ),
    ] {
        expect(&with(old, new).refused(), Reason::MutableReference, COMPONENTS, line, message);
    }
    let hint = with(&exact, "ref: {branch: main}").refused().hint.unwrap();
    assert_eq!(hint, "stackflux pin writes the commit that it stands for now");
}

#[test]
fn dependency_that_is_never_ready_is_refused() {
    let (dependency, ingress) = ("dependsOn: [cni]", "template: components/ingress.yaml\n");
    for (old, new, line, message) in [
        (dependency, "dependsOn: [nothing]", 19, "the release has no addon nothing"),
        (dependency, "dependsOn: [monitoring]", 19, "monitoring waits for itself"),
        (
            "substitute: components/policies.yaml",
            "dependsOn: [nothing]",
            9,
            "the release has no addon nothing",
        ),
    ] {
        expect(&with(old, new).refused(), Reason::DependencyInvalid, COMPONENTS, line, message);
    }
    let circle = list().replace(dependency, "dependsOn: [ingress]");
    let circle = circle.replace(ingress, &format!("{ingress}    dependsOn: [cni, monitoring]\n"));
    let findings = stack().with(COMPONENTS, &circle).load().unwrap_err();
    let messages: Vec<&str> = findings.iter().map(|finding| finding.message.as_str()).collect();
    assert_eq!(
        messages,
        [
            "monitoring waits for ingress: neither can be installed first",
            "ingress waits for monitoring: neither can be installed first",
        ]
    );
    with(dependency, "dependsOn: [ingress, cni]").clean();
    // The operator waits where Flux cannot.
    with(dependency, "dependsOn: [policies]").clean();
    with("substitute: components/policies.yaml", "dependsOn: [cni]").clean();

    // The upgrade waits for what it needs before: that cannot wait for the upgrade.
    let later = list().replace(ingress, &format!("{ingress}    dependsOn: [monitoring]\n"));
    let later = stack().with(COMPONENTS, &later.replace(dependency, "dependsOn: [cni]"));
    let message =
        "ingress moves before an upgrade of the cluster, and monitoring only after it: neither would move";
    expect(&later.refused(), Reason::DependencyInvalid, COMPONENTS, 13, message);
    let stages = STAGES.replace("    - {name: ingress, action: apply}\n  Before", "  Before");
    later.with("clusteraddon.yaml", &format!("{stages}    - {{name: monitoring, action: apply}}\n")).clean();
}

#[test]
fn secrets_and_keys_are_refused() {
    for (old, new) in [
        ("- name: platform\n", "- name: platform\n  secretRef: {name: a}\n"),
        ("branch: main, ", "branch: main, provider: aws, "),
        ("charts/monitoring, ", "charts/monitoring, verify: {provider: cosign}, "),
        ("platform.git, ", "platform.git, insecure: true, "),
    ] {
        let finding = with(old, new).refused();
        assert!(finding.message.starts_with("a release names addresses, and not the "), "{finding}");
        assert!(finding.hint.as_deref().unwrap_or_default().contains("spec.components"), "{finding}");
    }
}

/// Credentials are those of the path that is written in an address, so a server must not read another one.
#[test]
fn address_with_another_path_than_written_is_refused() {
    for bad in ["team/../other.git", "team/./a.git", "team//a.git", "team/%2e%2e/other.git", "team\\a.git"] {
        let finding = with("platform.git", bad).refused();
        let message =
            "a segment of the address is empty, `.` or `..`, or the address has a `%` or a backslash";
        expect(&finding, Reason::InvalidField, COMPONENTS, 5, message);
    }
    with("platform.git", "team/platform.git/").clean();
}

#[test]
fn broken_lists_are_refused() {
    use Reason::{DuplicateName, InvalidField, InvalidName, InvalidPath, MissingFile};
    for (old, new, reason, line, message) in [
        (
            "https://git",
            "git://git",
            InvalidField,
            5,
            "the address must begin with https://, ssh://, http://, and name a host",
        ),
        (
            "https://git",
            "https://me:secret@git",
            InvalidField,
            5,
            "the address has credentials, which everybody who reads the release would see",
        ),
        (
            "charts/monitoring,",
            "charts/monitoring:1,",
            InvalidField,
            14,
            "the address has a tag or a digest in it",
        ),
        (
            "commit: 9f1c",
            "commit: 9F1C",
            InvalidField,
            5,
            "\"9F1C2a3b4c5d6e7f8091a2b3c4d5e6f708192a3b\" is not a Git commit: expected its 40 (or 64) lower-case hex digits, not a branch, a tag or a short form",
        ),
        (
            "branch: main,",
            "tag: v1,",
            InvalidField,
            5,
            "of tag, semver, name and commit only one is taken; a branch stands beside a commit alone",
        ),
        (
            "sha256:3a",
            "sha256:XX",
            InvalidField,
            14,
            "\"sha256:XX5b7c9d1e2f4051627384950617283940516273849506172839405162738495\" is not the digest of a manifest",
        ),
        (
            "name: ingress",
            "name: Ingress",
            InvalidName,
            10,
            "\"Ingress\" is not an addon's name: lower-case letters, digits and '-', at most 53 characters",
        ),
        ("name: ingress", "name: policies", DuplicateName, 10, "another component is called policies"),
        (
            "- name: monitoring\n  oci",
            "- name: platform\n  oci",
            DuplicateName,
            13,
            "another repository has this name",
        ),
        ("name: ingress", "name: cni", DuplicateName, 10, "cluster-addon/cni is an addon of the same name"),
        ("manifests: deploy/policies", "manifests: ../policies", InvalidPath, 8, "the path has a `..` in it"),
        (
            "chart: .\n",
            "chart: charts/a\n",
            InvalidPath,
            17,
            "the chart of an OCI artifact is the whole of it",
        ),
        (
            "chart: .\n",
            "chart: .\n    manifests: .\n",
            InvalidField,
            16,
            "a component has either chart or manifests",
        ),
        (
            "components/ingress.yaml",
            "cluster-addon/ingress.yaml",
            InvalidPath,
            12,
            "\"cluster-addon/ingress.yaml\" is not the path of a file below components/",
        ),
        (
            "components/ingress.yaml",
            "components/missing.yaml",
            MissingFile,
            12,
            "the release has no file components/missing.yaml",
        ),
    ] {
        let findings = with(old, new).load().expect_err(new);
        let found = findings.errors().find(|finding| finding.reason == reason);
        let found = found.unwrap_or_else(|| panic!("{new}: {findings}"));
        expect(found, reason, COMPONENTS, line, message);
    }
}

#[test]
fn component_that_no_stage_names_is_not_installed() {
    let stack = stack().replacing("clusteraddon.yaml", "    - {name: policies, action: apply}\n", "");
    let message = "no stage of clusteraddon.yaml names this component: it is not installed";
    expect(&stack.warned(), Reason::AddonWithoutStage, COMPONENTS, 7, message);
    let unknown = stack.replacing("clusteraddon.yaml", "name: monitoring", "name: missing").load();
    let text = unknown.expect_err("unknown").to_string();
    assert!(text.contains("existing addons: cni, ingress, monitoring, policies"), "{text}");
}

#[test]
fn unknown_fields_are_warned_of() {
    let warning = with("    chart: .\n", "    chart: .\n    version: 1\n").warned();
    expect(&warning, Reason::UnknownField, COMPONENTS, 18, "unknown field \"version\"");
}

#[test]
fn broken_files_of_components_are_refused() {
    let template = stack().with("components/ingress.yaml", "a: {{ .Cluster\n").refused();
    assert_eq!(
        (template.reason, template.file.as_str()),
        (Reason::InvalidTemplate, "components/ingress.yaml")
    );
    let values = stack().with("components/monitoring.values.yaml", "- a\n").refused();
    assert_eq!(values.file, "components/monitoring.values.yaml");
    assert_eq!(values.message, "the rendered values must be a mapping, but are a list");
}
