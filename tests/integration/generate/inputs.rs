//! `generate --inputs`: what the operator plans from, in one stream.

use std::fs;

use super::{Example, REVISION, examples};
use crate::support::{Run, stackflux};

const STACK: &str = "docker-demo-1-34";

/// The inputs of the example as `inputs export` prints them: its first release is pinned.
pub(super) fn exported(example: &Example) -> String {
    let golden = examples("output/sources/demo/gitrepository-docker-demo-1-34-v1.yaml");
    let golden = fs::read_to_string(golden).unwrap();
    let digest = golden.split("content-digest: ").nth(1).unwrap().lines().next().unwrap();
    let stack = fs::read_to_string(examples("clusterstack.yaml")).unwrap();
    let stack = stack.replace("metadata:\n", "metadata:\n  uid: \"1\"\n");
    let owner = format!("{{apiVersion: x, kind: ClusterStack, name: {STACK}, uid: \"1\"}}");
    let release = format!(
        "apiVersion: clusterstack.x-k8s.io/v1alpha1\nkind: ClusterStackRelease\n\
         metadata: {{name: docker-demo-1-34-v1, namespace: demo, ownerReferences: [{owner}]}}\n\
         spec: {{source: {{revision: {REVISION}, digest: \"{digest}\", path: releases/docker-demo-1-34-v1}}}}\n"
    );
    let clusters =
        ["one", "two"].map(|name| fs::read_to_string(example.clusters.join(format!("{name}.yaml"))).unwrap());
    [&[stack, release][..], &clusters].concat().join("\n---\n")
}

pub(super) fn generate(example: &Example, inputs: &str, more: &[&str]) -> Run {
    let file = example.clusters.join("../inputs.yaml");
    fs::write(&file, inputs).unwrap();
    let stack = examples("stack");
    stackflux(&[&["generate", &stack, "--inputs", file.to_str().unwrap()], more].concat())
}

#[test]
pub(super) fn exported_inputs_and_files_give_the_same() {
    let example = Example::new("inputs");
    let run = generate(&example, &exported(&example), &[]);
    let expected = example.run(&[]);
    assert_eq!(
        (run.code, run.stderr.as_str(), run.stdout == expected.stdout),
        (0, "", true),
        "{}",
        run.stdout
    );
    let output = ["--output-dir", example.output.to_str().unwrap()];
    assert_eq!(generate(&example, &exported(&example), &output).code, 0);
    let run = example.generate();
    assert!(run.stderr.contains(": 0 written,") && run.stderr.contains(" 0 removed"), "{}", run.stderr);
}

#[test]
fn incomplete_inputs_are_refused() {
    let example = Example::new("inputs-incomplete");
    let whole = exported(&example);
    let cases = [
        (
            whole.replace("spec:\n  provider", "spec:\n  suspend: true\n  provider"),
            "is suspended: nothing is written",
        ),
        (
            whole.replace("kind: ClusterStack\n", "kind: Cluster Stack\n"),
            "expected the inputs of one ClusterStack, got 0",
        ),
        (whole.replace("digest: \"sha256:", "digest: \"sha256:0"), "digest mismatch: expected"),
    ];
    for (inputs, expected) in cases {
        assert_ne!(inputs, whole, "{expected}");
        let run = generate(&example, &inputs, &[]);
        assert_eq!((run.code, run.stdout.as_str()), (2, ""), "{expected}");
        assert!(run.stderr.contains(expected), "{expected}: {}", run.stderr);
    }
    let run = generate(&example, &whole, &["--filename", "x"]);
    assert!(run.code == 2 && run.stderr.contains("cannot be used with"), "{}", run.stderr);
}

#[test]
fn suspended_cluster_keeps_its_files() {
    let example = Example::new("inputs-suspended");
    example.generate();
    let before = example.files();
    example.edit("one", "172.18.0.3", "172.18.0.4");
    let addon = "apiVersion: clusterstack.x-k8s.io/v1alpha1\nkind: ClusterAddon\n\
                 metadata: {name: cluster-addon-one, namespace: demo}\n\
                 spec: {suspend: true, clusterRef: {kind: Cluster, name: one}}\n";
    let inputs = format!("{}\n---\n{addon}", exported(&example));
    let run = generate(&example, &inputs, &["--output-dir", example.output.to_str().unwrap()]);
    assert_eq!(run.code, 1);
    assert!(run.stderr.contains("Cluster demo/one is held: Suspended"), "{}", run.stderr);
    assert_eq!(example.files(), before);
}

#[test]
fn requests_are_an_input_of_files_and_streams() {
    let example = Example::new("inputs-requests");
    let allow = "  flux: {addons: {monitoring: {overridable: {enabled: true}}, cni: {overridable: {values: [log]}}}}\n";
    let settings = fs::read_to_string(examples("clusterstack.yaml")).unwrap() + allow;
    let file = example.clusters.join("../settings.yaml");
    fs::write(&file, &settings).unwrap();
    let requests = |addons: &str| {
        format!(
            "apiVersion: clusterstack.x-k8s.io/v1alpha1\nkind: ClusterAddonOverride\n\
             metadata: {{name: one, namespace: demo}}\nspec: {{addons: {addons}}}\n"
        )
    };
    let generated = |addons: &str| {
        fs::write(example.clusters.join("override.yaml"), requests(addons)).unwrap();
        let (stack, clusters) = (examples("stack"), example.clusters.to_str().unwrap().to_owned());
        let settings = file.to_str().unwrap();
        let pinned = ["generate", &stack, "--settings", settings, "--revision", REVISION];
        let by_files = stackflux(&[&pinned[..], &["--filename", &clusters]].concat());
        let by_stream = exported(&example).replacen("\n---\n", &format!("\n{allow}\n---\n"), 1);
        let by_stream = generate(&example, &format!("{by_stream}\n---\n{}", requests(addons)), &[]);
        assert_eq!(
            (by_stream.code, &by_stream.stdout),
            (by_files.code, &by_files.stdout),
            "{}",
            by_stream.stderr
        );
        by_files
    };
    let all = generated("{}");
    assert!(all.code == 0 && all.stdout.contains("name: one.monitoring"), "{}", all.stderr);
    let some = generated("{monitoring: {enabled: false}, cni: {values: {log: debug}}}");
    assert_eq!(some.code, 0, "{}", some.stderr);
    assert!(!some.stdout.contains("name: one.monitoring") && some.stdout.contains("name: two.monitoring"));
    assert!(some.stdout.contains("log: debug"), "{}", some.stdout);
    let never = generated("{monitoring: {suspend: true}}");
    assert_eq!((never.code, never.stdout), (0, all.stdout), "a request that was never accepted");
    let accepted = "{addons: [{name: monitoring, inEffect: [enabled]}]}";
    let refused = generated(&format!("{{monitoring: {{suspend: true}}}}}}\nstatus: {accepted}\n#"));
    assert_eq!(refused.code, 1);
    let expected = "addon monitoring is held: OverrideRefused: the ClusterAddonOverride is refused: spec.addons.monitoring.suspend";
    assert!(refused.stderr.contains(expected), "{}", refused.stderr);
}
