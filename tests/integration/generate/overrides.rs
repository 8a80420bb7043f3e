//! `ClusterAddonOverride`s among the files of `generate`.

use std::fs;

use super::{Example, REVISION, examples};
use crate::support::{Run, stackflux};

const OVERRIDABLE: &str = "  flux: {addons: {ccm: {overridable: {suspend: true, values: [log]}}, cni: {overridable: {enabled: true}}}}\n";

fn requested(name: &str, addons: &str) -> String {
    format!(
        "apiVersion: clusterstack.x-k8s.io/v1alpha1\nkind: ClusterAddonOverride\n\
         metadata: {{name: {name}, namespace: demo}}\nspec: {{addons: {addons}}}\n"
    )
}

/// Generates the example with these documents beside its Clusters.
fn generate(example: &Example, documents: &[String]) -> Run {
    let settings = example.clusters.join("../clusterstack.yaml");
    fs::write(&settings, fs::read_to_string(examples("clusterstack.yaml")).unwrap() + OVERRIDABLE).unwrap();
    fs::write(example.clusters.join("overrides.yaml"), documents.join("---\n")).unwrap();
    let (stack, clusters) = (examples("stack"), example.clusters.to_str().unwrap());
    let settings = settings.to_str().unwrap();
    stackflux(&["generate", &stack, "--settings", settings, "--revision", REVISION, "--filename", clusters])
}

#[test]
fn override_among_files_is_planned() {
    let example = Example::new("overrides");
    let run = generate(&example, &[requested("one", "{ccm: {values: {log: debug}}}")]);
    assert_eq!((run.code, run.stderr.as_str()), (0, ""));
    assert!(run.stdout.contains("    log: debug\n"), "{}", run.stdout);
}

#[test]
fn invalid_override_among_files_is_an_error() {
    let example = Example::new("overrides-invalid");
    let one = |addons: &str| requested("one", addons);
    let cases = [
        (
            vec![one("{cni: {enable: false}}")],
            "overrides.yaml: ClusterAddonOverride demo/one: spec.addons.cni.enable: unknown field, known are enabled, \
             suspend, values",
        ),
        (vec![one("{cni: {enabled: \"no\"}}")], "spec.addons.cni.enabled: expected boolean, found string"),
        (vec![one("{}").replace("spec:", "extra: 1\nspec:")], "extra: unknown field, known are spec, status"),
        (vec![one("{CNI: {enabled: false}}")], "spec.addons: the name of an addon must consist of"),
        (
            vec![one("{}").replace("v1alpha1", "v9")],
            "expected a ClusterAddonOverride of clusterstack.x-k8s.io/v1alpha1",
        ),
        (
            vec![one("{}"), one("{}")],
            "overrides.yaml: another ClusterAddonOverride demo/one is in the files given",
        ),
    ];
    for (documents, expected) in cases {
        let run = generate(&example, &documents);
        assert_eq!((run.code, run.stdout.as_str()), (2, ""), "{expected}");
        assert!(run.stderr.contains(expected), "{expected}: {}", run.stderr);
    }
}

#[test]
fn override_without_full_effect_is_warned_of() {
    let example = Example::new("overrides-warnings");
    for (document, expected) in [
        (
            requested("three", "{}"),
            "ClusterAddonOverride demo/three has no effect: there is no Cluster of its namespace and name in the files given",
        ),
        (
            requested("one", "{ccm: {values: {image: x}}}"),
            "ClusterAddonOverride demo/one: the request for ccm is refused: spec.addons.ccm.values.image: \
             spec.flux.addons.ccm.overridable.values of the ClusterStack does not allow it",
        ),
        (
            requested("one", "{ccm: {suspend: true}}"),
            "ClusterAddonOverride demo/one: spec.addons.ccm.suspend has no effect here: only the operator suspends the \
             objects of an addon",
        ),
    ] {
        let run = generate(&example, &[document]);
        assert!(run.stderr.contains(expected), "{expected}: {}", run.stderr);
        assert!(!run.stdout.is_empty());
    }
}
