//! `generate --inputs`: what the operator plans from, in one stream.

use std::fs;

use super::{Example, REVISION, examples};
use crate::support::{Run, stackflux};

const STACK: &str = "docker-demo-1-34";

/// The inputs of the example as `inputs export` prints them: its first release is pinned.
fn exported(example: &Example) -> String {
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

fn generate(example: &Example, inputs: &str, more: &[&str]) -> Run {
    let file = example.clusters.join("../inputs.yaml");
    fs::write(&file, inputs).unwrap();
    let stack = examples("stack");
    stackflux(&[&["generate", &stack, "--inputs", file.to_str().unwrap()], more].concat())
}

#[test]
fn exported_inputs_and_files_give_the_same() {
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
