use super::*;
use crate::release::tests::builder::{Stack, archive};

const CHART: &str =
    "name: wrapper\nversion: v1\ndependencies:\n- {name: cilium, alias: net}\n- {name: other}\n";

fn found(stack: &Stack) -> Vec<String> {
    images(&stack.files, "c", &Limits::default()).into_iter().collect()
}

#[test]
fn the_shapes_of_images() {
    let values = "\
image: example.com/a:1
b: {image: {registry: example.com, repository: b, tag: v2}}
c: [{image: {repository: example.com/c, tag: 3}}]
d: {repository: example.com/d, tag: ''}
e: {repository: https://charts.example.com}
f: {image: ''}
";
    let stack = Stack::empty().with("c/Chart.yaml", CHART).with("c/values.yaml", values);
    assert_eq!(found(&stack), ["example.com/a:1", "example.com/b:v2", "example.com/c:3", "example.com/d"]);
}

#[test]
fn sub_charts_with_what_the_chart_says_about_them() {
    let cilium = archive(&[
        ("cilium/Chart.yaml", "name: cilium\nversion: 1.18.9\n"),
        (
            "cilium/values.yaml",
            "image: {repository: example.com/cilium, tag: v1}\nsidecar: {image: example.com/s:1}\n",
        ),
        ("cilium/charts/hubble/Chart.yaml", "name: hubble\nversion: 1.0.0\n"),
        ("cilium/charts/hubble/values.yaml", "image: example.com/hubble:1\n"),
    ]);
    let stack = Stack::empty()
        .with("c/Chart.yaml", CHART)
        .with(
            "c/values.yaml",
            "net:\n  image: {tag: v2}\n  sidecar: ~\n  hubble: {image: example.com/hubble:2}\n",
        )
        .with_bytes("c/charts/cilium-1.18.9.tgz", cilium)
        .with("c/charts/other/Chart.yaml", "name: other\nversion: 1.0.0\n")
        .with("c/charts/other/values.yaml", "image: example.com/other:1\n");
    assert_eq!(found(&stack), ["example.com/cilium:v2", "example.com/hubble:2", "example.com/other:1"]);
}

#[test]
fn what_cannot_be_read_names_nothing() {
    let stack = Stack::empty()
        .with("c/Chart.yaml", "a: [")
        .with("c/values.yaml", "image: [")
        .with("c/charts/x.tgz", "no archive");
    assert_eq!(found(&stack), Vec::<String>::new());
}

#[test]
fn charts_within_charts_end() {
    let mut inner = archive(&[("x/Chart.yaml", "name: x\nversion: 1\n"), ("x/values.yaml", "image: deep\n")]);
    for _ in 0..10 {
        let bytes = std::mem::take(&mut inner);
        let chart = &b"name: x\nversion: 1\n"[..];
        inner = crate::release::tests::builder::raw_archive([
            ("x/Chart.yaml", tar::EntryType::Regular, "", chart),
            ("x/charts/x.tgz", tar::EntryType::Regular, "", &bytes[..]),
        ]);
    }
    let stack = Stack::empty().with("c/Chart.yaml", CHART).with_bytes("c/charts/x.tgz", inner);
    assert_eq!(found(&stack), Vec::<String>::new());
}
