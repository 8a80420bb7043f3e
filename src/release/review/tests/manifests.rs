use super::*;
use crate::release::Reason;

const OBJECT: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n";
const ADDON: &str = "cluster-addon/storage-classes";

/// A release whose addon of manifests has this kustomization and the file `a.yaml`.
fn with_kustomization(text: &str) -> Stack {
    Stack::good().with(&format!("{ADDON}/a.yaml"), OBJECT).with(&format!("{ADDON}/kustomization.yaml"), text)
}

#[test]
fn broken_yaml_among_manifests_is_refused() {
    for (path, content, place) in [
        (
            "cluster-addon/storage-classes/a.yaml",
            "a: 1\nb: [\n",
            "error InvalidYaml cluster-addon/storage-classes/a.yaml:2:4",
        ),
        (
            "cluster-addon/storage-classes/x/a.yml",
            "- a\n",
            "error InvalidField cluster-addon/storage-classes/x/a.yml:1:1",
        ),
        ("node-images/a.yaml", "kind: a\n---\nb: [\n", "error InvalidYaml node-images/a.yaml:3:4"),
    ] {
        assert_eq!(one(&Stack::good().with(path, content)).0, place);
    }
    let not_utf8 = Stack::good().with_bytes(&format!("{ADDON}/a.yaml"), b"kind: A\n# \xff\n".to_vec());
    assert_eq!(one(&not_utf8).0, format!("error InvalidYaml {ADDON}/a.yaml:2:3"));
    for (path, content) in [
        ("a.txt", "- a\n"),
        ("a.json", "{"),
        ("a.yaml", "# a\n---\n{}\n---\nkind: ConfigMapList\n"),
        ("a.yaml", ""),
    ] {
        assert_eq!(found(&Stack::good().with(&format!("{ADDON}/{path}"), content)), []);
    }
}

#[test]
fn manifest_that_kustomize_refuses_is_an_error() {
    for (content, place, message) in [
        ("a: 1\n", "error InvalidField :1:1", "the object has no kind: Flux refuses it"),
        ("# x\n---\nkind: A\n", "error InvalidField :3:1", "the A has no metadata.name: Flux refuses it"),
        (
            "kind: A\nmetadata:\n  generateName: a\n",
            "error InvalidField :1:1",
            "the A has no metadata.name: Flux refuses it",
        ),
        (
            "kind: A\nmetadata: {name: a}\nkind: A\n",
            "error DuplicateKey :3:1",
            "duplicate key \"kind\" in one mapping: Flux refuses the manifests",
        ),
        (
            "kind: A\nmetadata: {name: a}\nspec:\n  {{ .a }}: 1\n",
            "error InvalidYaml :4:3",
            "a key is a mapping: no reader of Kubernetes accepts it",
        ),
        (
            "kind: A\nmetadata: {name: a}\n---\n- a\n",
            "error InvalidField :4:1",
            "a document of the file is a list: Flux applies only Kubernetes objects",
        ),
    ] {
        let place = place.replace(" :", &format!(" {ADDON}/a.yaml:"));
        let stack = Stack::good().with(&format!("{ADDON}/a.yaml"), content);
        assert_eq!(one(&stack), (place, message.to_owned()), "{content}");
    }
    for content in [
        "kind: A\nmetadata: &a {name: 1, x: 2}\nspec:\n  <<: *a\n  x: 3\n  ~: 1\n",
        "{\"kind\": \"A\", \"metadata\": {\"name\": \"a\"}}\n",
    ] {
        assert_eq!(found(&Stack::good().with(&format!("{ADDON}/a.yaml"), content)), [], "{content}");
    }
}

#[test]
fn kustomization_selects_what_is_read() {
    let stack = with_kustomization("resources: [a.yaml, base]\n")
        .with(&format!("{ADDON}/base/kustomization.yml"), "resources:\n- b.yaml\n")
        .with(&format!("{ADDON}/base/b.yaml"), OBJECT)
        .with(&format!("{ADDON}/unread.yaml"), "a: [\n");
    assert_eq!(found(&stack), []);
    let broken = stack.with(&format!("{ADDON}/base/b.yaml"), "- a\n");
    assert_eq!(one(&broken).0, format!("error InvalidField {ADDON}/base/b.yaml:1:1"));
    // Without a kustomization of its own, the directory above applies those below.
    let nested = Stack::good()
        .with(&format!("{ADDON}/base/Kustomization"), "resources: [b.yaml]\n")
        .with(&format!("{ADDON}/base/b.yaml"), OBJECT)
        .with(&format!("{ADDON}/base/x/unread.yaml"), "a: [\n");
    assert_eq!(found(&nested), []);
}

#[test]
fn path_outside_is_refused() {
    for (text, place, message) in [
        (
            "resources:\n- a.yaml\n- ../../../shared/a.yaml\n",
            "error PathOutside :3:3",
            "../../../shared/a.yaml leads out of the release: Flux has only the release's directory",
        ),
        (
            "patches:\n- path: /etc/passwd\n",
            "error PathOutside :2:9",
            "/etc/passwd leads out of the release: Flux has only the release's directory",
        ),
        (
            "configMapGenerator:\n- name: a\n  files: [\"key=../../../a\"]\n",
            "error PathOutside :3:11",
            "../../../a leads out of the release: Flux has only the release's directory",
        ),
        (
            "resources: [../../node-images/image.yaml]\n",
            "warning PathOutside :1:13",
            "../../node-images/image.yaml leads out of cluster-addon/storage-classes: a change of it alone does not \
             reach clusters that have the addon",
        ),
        ("resources: [b.yaml]\n", "error MissingFile :1:13", "b.yaml is missing: Flux refuses the manifests"),
        (
            "patches:\n- path: b.yaml\n",
            "error MissingFile :2:9",
            "b.yaml is missing: Flux refuses the manifests",
        ),
        (
            "patchesStrategicMerge: [b.yaml]\n",
            "error MissingFile :1:25",
            "b.yaml is missing: Flux refuses the manifests",
        ),
        (
            "secretGenerator:\n- name: a\n  files: [a.yaml, k=b.txt]\n",
            "error MissingFile :3:19",
            "b.txt is missing: Flux refuses the manifests",
        ),
        (
            "configMapGenerator:\n- name: a\n  envs: [b.env]\n",
            "error MissingFile :3:10",
            "b.env is missing: Flux refuses the manifests",
        ),
        (
            "namespace: a\nnamespace: b\nresources: [b.yaml]\n",
            "error MissingFile :3:13",
            "b.yaml is missing: Flux refuses the manifests",
        ),
        ("- a.yaml\n", "error InvalidField :1:1", "the file must be a mapping, but is a list"),
        ("resources: a.yaml\n", "error InvalidField :1:12", "resources must be a list, but is a string"),
        ("resources: [\"\"]\n", "error InvalidField :1:13", "the entry is empty: Kustomize refuses it"),
        (
            "resources: [{a: b}]\n",
            "error InvalidField :1:13",
            "resources[0] must be a string, but is a mapping",
        ),
        (
            "kind: ConfigMap\nmetadata: {name: a}\n",
            "error InvalidField :1:7",
            "the file is of kind ConfigMap: Kustomize refuses it",
        ),
        (
            "resources: [dir]\n",
            "error MissingFile :1:13",
            "dir has no kustomization.yaml: Flux refuses a directory without one",
        ),
        (
            "resources: ['https://example.org/a.yaml']\n",
            "warning RemoteResource :1:13",
            "https://example.org/a.yaml is in another place: Flux fetches it whenever it applies the manifests, and \
             what it gets is not part of the release",
        ),
    ] {
        let stack = with_kustomization(text).with(&format!("{ADDON}/dir/b.yaml"), OBJECT);
        let place = place.replace(" :", &format!(" {ADDON}/kustomization.yaml:"));
        assert_eq!(one(&stack), (place, message.to_owned()), "{text}");
    }
}

#[test]
fn kustomization_of_usual_form_is_accepted() {
    for text in [
        "",
        "resources: [a.yaml, ./a.yaml]\nnamespace: x\nunknown: 1\n",
        "kind: Component\nresources: [b.yaml]\nresources: [a.yaml]\npatches:\n",
        "resources: [a.yaml]\npatches:\n- patch: |\n    a: ../../../../b\n- path: a.yaml\npatchesStrategicMerge:\n- |-\n  kind: A\n  x: ../../..\n",
        "configMapGenerator:\n- name: a\n  files: [a.yaml, k=a.yaml]\n  literals: [x=../../../../y]\n",
        "images:\n- name: x\n  newName: ../../../../y\nreplacements:\n- path: a.yaml\n",
    ] {
        assert_eq!(found(&with_kustomization(text)), [], "{text}");
    }
}

#[test]
fn number_of_findings_about_a_kustomization_is_limited() {
    let remote = "- https://example.org/a.yaml\n".repeat(50);
    let text = format!("resources:\n{remote}- b.yaml\n{}", "- c.yaml\n".repeat(2_000));
    let findings = found(&with_kustomization(&text));
    assert_eq!(findings.len(), 20);
    assert!(findings.iter().all(|finding| finding.severity == Severity::Error), "errors first");
}

#[test]
fn broken_kustomization_is_refused() {
    assert_eq!(
        one(&with_kustomization("resources: [\n")).0,
        format!("error InvalidYaml {ADDON}/kustomization.yaml:1:12")
    );
    assert_eq!(
        one(&with_kustomization("resources: [a.yaml]\n---\nresources: [b.yaml]\n")).0,
        format!("warning InvalidYaml {ADDON}/kustomization.yaml:3:1")
    );
    let endless = with_kustomization("resources: [base]\n")
        .with(&format!("{ADDON}/base/kustomization.yaml"), "resources: [..]\n");
    assert_eq!(found(&endless), []);
}

#[test]
fn object_of_two_addons_is_refused_at_both() {
    let (own, theirs) = ("cluster-addon/storage-classes/default.yaml", "cluster-addon/extra/all.yaml");
    let class = "kind: StorageClass\napiVersion: storage.k8s.io/v1\nmetadata: {name: fast}\n";
    let stages = |action: &str| {
        format!(
            "addonStages:\n  AfterControlPlaneInitialized: [{{name: storage-classes, action: apply}}, {{name: extra, action: \
             {action}}}]\n"
        )
    };
    let stack = |content: &str, action: &str| {
        let stack = Stack::good().with("clusteraddon.yaml", &stages(action)).with(own, class);
        stack.with(theirs, &format!("kind: Namespace\napiVersion: v1\nmetadata: {{name: a}}\n---\n{content}"))
    };
    let shared = |stack: &Stack| {
        let findings = stack.lint().map_or_else(|findings| findings, |loaded| loaded.warnings);
        let shared = findings.iter().filter(|finding| finding.reason == Reason::SharedObject);
        shared
            .map(|finding| (finding.file.clone(), finding.line.unwrap(), finding.message.clone()))
            .collect::<Vec<_>>()
    };
    let message = |first, second| {
        format!("the addons {first} and {second} both have StorageClass fast: each takes it from the other")
    };
    let expected = [
        (theirs.to_owned(), 5, message("extra", "storage-classes")),
        (own.to_owned(), 1, message("storage-classes", "extra")),
    ];
    assert_eq!(shared(&stack(class, "apply")), expected);
    let newer = class.replace("/v1", "/v2");
    assert_eq!(shared(&stack(&newer, "apply")), expected, "the version is not part of the identity");
    for (content, action, why) in [
        (class.replace("fast", "slow"), "apply", "another name"),
        (class.replace("name:", "namespace: a, name:"), "apply", "another namespace"),
        (class.replace("storage.k8s.io", "other.k8s.io"), "apply", "another group"),
        (class.replace("StorageClass", "OtherClass"), "apply", "another kind"),
        (class.to_owned(), "delete", "it is never applied"),
    ] {
        assert_eq!(shared(&stack(&content, action)), [], "{why}");
    }
    let changed = stack(class, "apply")
        .with("cluster-addon/extra/kustomization.yaml", "namePrefix: a-\nresources: [all.yaml]\n");
    assert_eq!(shared(&changed), [], "Kustomize gives it another name");
}
