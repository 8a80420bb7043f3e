use super::*;

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
            "error InvalidField cluster-addon/storage-classes/x/a.yml",
        ),
        ("node-images/a.yaml", "kind: a\n---\nb: [\n", "error InvalidYaml node-images/a.yaml:3:4"),
    ] {
        assert_eq!(one(&Stack::good().with(path, content)).0, place);
    }
    for (path, content) in
        [("a.txt", "- a\n"), ("a.json", "{"), ("a.yaml", "# a\n---\n---\nkind: A\n"), ("a.yaml", "")]
    {
        assert_eq!(found(&Stack::good().with(&format!("{ADDON}/{path}"), content)), []);
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
    assert_eq!(one(&broken).0, format!("error InvalidField {ADDON}/base/b.yaml"));
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
        "resources: [a.yaml]\npatches:\n- patch: |\n    a: ../../../../b\n- path: a.yaml\npatchesStrategicMerge:\n- |-\n  kind: A\n  x: ../../..\n",
        "configMapGenerator:\n- name: a\n  files: [a.yaml, k=a.yaml]\n  literals: [x=../../../../y]\n",
        "images:\n- name: x\n  newName: ../../../../y\nreplacements:\n- path: a.yaml\n",
    ] {
        assert_eq!(found(&with_kustomization(text)), [], "{text}");
    }
}

#[test]
fn broken_kustomization_is_refused() {
    assert_eq!(
        one(&with_kustomization("resources: [\n")).0,
        format!("error InvalidYaml {ADDON}/kustomization.yaml:1:12")
    );
    let endless = with_kustomization("resources: [base]\n")
        .with(&format!("{ADDON}/base/kustomization.yaml"), "resources: [..]\n");
    assert_eq!(found(&endless), []);
}
