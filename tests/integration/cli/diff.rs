//! `stackflux diff`: over the releases of `examples/`, and over two of a test's own that differ in every way they can.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::Value;

use super::{Run, expect, run, run_with, scratch};

const V1: &str = "stack/releases/docker-demo-1-34-v1";
const V2: &str = "stack/releases/docker-demo-1-34-v2";

fn examples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("examples")
}

fn write(directory: &Path, file: &str, content: impl AsRef<[u8]>) {
    let path = directory.join(file);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, content).unwrap();
}

/// A chart as Helm packs it.
fn packed_chart(name: &str, version: &str) -> Vec<u8> {
    let mut builder = tar::Builder::new(GzEncoder::new(Vec::new(), Compression::fast()));
    let chart = format!("apiVersion: v2\nname: {name}\nversion: {version}\n");
    let mut header = tar::Header::new_gnu();
    header.set_size(chart.len() as u64);
    header.set_mode(0o644);
    builder.append_data(&mut header, format!("{name}/Chart.yaml"), chart.as_bytes()).unwrap();
    let mut gzip = builder.into_inner().unwrap();
    gzip.flush().unwrap();
    gzip.finish().unwrap()
}

/// What every release of the test's own has.
fn release(releases: &Path, version: &str, kubernetes: &str, addons: &[&str]) -> PathBuf {
    let directory = releases.join(format!("docker-own-1-34-{version}"));
    let metadata = format!("versions:\n  clusterStack: {version}\n  kubernetes: {kubernetes}\n");
    write(&directory, "metadata.yaml", metadata);
    let class = format!("name: docker-own-1-34-cluster-class\nversion: {version}\n");
    write(&directory, "cluster-class/Chart.yaml", class);
    let name = "{{ .Release.Name }}-{{ .Chart.Version }}";
    let class =
        format!("apiVersion: cluster.x-k8s.io/v1beta2\nkind: ClusterClass\nmetadata:\n  name: {name}\n");
    write(&directory, "cluster-class/templates/class.yaml", class);
    let stages: Vec<String> =
        addons.iter().map(|addon| format!("    - name: {addon}\n      action: apply\n")).collect();
    let stages = format!(
        "clusterAddonVersion: clusteraddons.clusterstack.x-k8s.io/v1alpha1\naddonStages:\n  AfterControlPlaneInitialized:\n{}",
        stages.concat()
    );
    write(&directory, "clusteraddon.yaml", stages);
    for addon in addons {
        write(
            &directory,
            &format!("cluster-addon/{addon}/Chart.yaml"),
            format!("name: {addon}\nversion: v1\n"),
        );
    }
    directory
}

/// Two releases. The second one vendors another `cilium`, has `csi` instead of `storage`, another picture in `docs`, an
/// executable script, an escape sequence in a text, and a template that reads a field that is not there.
fn own_releases(directory: &Path) {
    let from = release(directory, "v1", "v1.34.1", &["cni", "ccm", "docs", "storage", "same"]);
    let to = release(directory, "v2", "v1.34.2", &["cni", "ccm", "docs", "csi", "same"]);
    for (release, version) in [(&from, "1.17.4"), (&to, "1.18.0")] {
        let dependency = format!(
            "name: cni\nversion: v1\ndependencies:\n  - name: cilium\n    version: {version}\n    repository: \"\"\n"
        );
        write(release, "cluster-addon/cni/Chart.yaml", dependency);
        let archive = format!("cluster-addon/cni/charts/cilium-{version}.tgz");
        write(release, &archive, packed_chart("cilium", version));
        let script = release.join("cluster-addon/docs/files/run.sh");
        write(release, "cluster-addon/docs/files/run.sh", "echo\n");
        let mode = if version == "1.18.0" { 0o755 } else { 0o644 };
        fs::set_permissions(script, fs::Permissions::from_mode(mode)).unwrap();
    }
    write(&from, "cluster-addon/docs/files/logo.ico", [0, 1, 2]);
    write(&to, "cluster-addon/docs/files/logo.ico", [0, 1, 2, 3]);
    write(&from, "cluster-addon/docs/values.yaml", "title: old");
    write(&to, "cluster-addon/docs/values.yaml", "title: \u{1b}[31mnew\n");
    write(&from, "cluster-addon/docs/overwrite.yaml", "name: {{ .Cluster.metadata.name }}\n");
    write(
        &to,
        "cluster-addon/docs/overwrite.yaml",
        "values: |\n  name: {{ .Cluster.metadata.name }}\n  more: 1\n",
    );
    write(&from, "cluster-addon/ccm/overwrite.yaml", "name: {{ .Cluster.metadata.name }}\n");
    write(&to, "cluster-addon/ccm/overwrite.yaml", "network: {{ .InfraCluster.status.network.id }}\n");
    write(&from, "README.md", "one\n");
    write(&to, "README.md", "two\n");
}

/// Clusters of the class, in both versions of Cluster API, and one of another class.
const CLUSTERS: &str = "\
apiVersion: cluster.x-k8s.io/v1beta2
kind: Cluster
metadata: {name: new, namespace: demo}
spec:
  topology:
    classRef: {name: docker-own-1-34-v1}
    version: v1.34.1
  infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: DockerCluster, name: new}
status:
  initialization: {controlPlaneInitialized: true}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: DockerCluster
metadata: {name: new, namespace: demo}
---
apiVersion: cluster.x-k8s.io/v1beta1
kind: Cluster
metadata: {name: paused, namespace: demo}
spec:
  paused: true
  topology: {class: docker-own-1-34-v1, version: v1.34.1}
---
apiVersion: cluster.x-k8s.io/v1beta1
kind: Cluster
metadata: {name: other, namespace: demo}
spec:
  topology: {class: openstack-scs-1-34-v1, version: v1.34.1}
";

fn json(run: &Run) -> Value {
    serde_json::from_str(&run.stdout).unwrap()
}

/// The names of the addons that differ.
fn changed_addons(differences: &Value) -> Vec<&str> {
    let addons = differences["addons"].as_array().unwrap().iter();
    addons
        .filter(|addon| addon["change"] != "unchanged")
        .map(|addon| addon["name"].as_str().unwrap())
        .collect()
}

#[test]
fn example_upgrade_changes_one_addon() {
    let arguments = ["diff", V1, V2, "--settings", "clusterstack.yaml", "--filename", "clusters"];
    expect(&examples(), "diff-example", &arguments);
    let run = run(&examples(), &[&arguments[..], &["--output", "json"]].concat());
    let differences = json(&run);
    assert_eq!((changed_addons(&differences), run.code), (vec!["monitoring"], 1));
    for cluster in differences["clusters"].as_array().unwrap() {
        let objects = cluster["objects"].as_array().unwrap();
        assert_eq!(objects.len(), 1, "{cluster}");
        assert_eq!(
            (&objects[0]["addon"], &objects[0]["effect"]),
            (&"monitoring".into(), &"upgradesChart".into())
        );
    }
}

#[test]
fn going_back_changes_the_same_addon() {
    let arguments =
        ["diff", V2, V1, "--settings", "clusterstack.yaml", "-f", "clusters/one.yaml", "-o", "json"];
    let differences = json(&run(&examples(), &arguments));
    assert_eq!(changed_addons(&differences), ["monitoring"]);
    assert_eq!(differences["clusters"][0]["unchanged"], serde_json::json!(["ccm", "cni", "policies"]));
}

#[test]
fn release_does_not_differ_from_itself() {
    let arguments = ["diff", V1, V1, "--settings", "clusterstack.yaml", "-f", "clusters"];
    expect(&examples(), "diff-same", &arguments);
}

#[test]
fn all_kinds_of_differences_are_shown() {
    let directory = scratch("diff-own");
    own_releases(&directory);
    write(&directory, "clusters.yaml", CLUSTERS);
    let releases = ["docker-own-1-34-v1", "docker-own-1-34-v2"];
    expect(&directory, "diff-files", &["diff", releases[0], releases[1]]);
    let stack = ["--url", "https://git.example.org/stacks.git", "--namespace", "demo", "-f", "clusters.yaml"];
    let arguments = [&["diff"], &releases[..], &stack].concat();
    expect(&directory, "diff-summary", &[&arguments[..], &["--summary"]].concat());
    expect(&directory, "diff-json", &[&arguments[..], &["--output", "json"]].concat());
    let text = run(&directory, &arguments).stdout;
    assert!(text.contains("   values:\n     name: new\n") && text.contains("\n+    more: 1\n"), "{text}");
}

#[test]
fn packed_and_unpacked_are_the_same() {
    let directory = scratch("diff-packed");
    own_releases(&directory.join("unpacked"));
    own_releases(&directory.join("packed"));
    let release = directory.join("packed/docker-own-1-34-v1");
    let archive = release.join("docker-own-1-34-cluster-class-v1.tgz");
    let mut builder =
        tar::Builder::new(GzEncoder::new(fs::File::create(archive).unwrap(), Compression::fast()));
    builder.append_dir_all("docker-own-1-34-cluster-class", release.join("cluster-class")).unwrap();
    builder.into_inner().unwrap().finish().unwrap();
    fs::remove_dir_all(release.join("cluster-class")).unwrap();
    let run =
        run(&directory, &["diff", "unpacked/docker-own-1-34-v1", "packed/docker-own-1-34-v1", "--summary"]);
    assert_eq!(run.code, 0, "{}", run.stdout);
}

#[test]
fn diff_fails_where_there_is_nothing_to_compare() {
    expect(&examples(), "diff-repository", &["diff", V1, "stack"]);
    expect(&examples(), "diff-nowhere", &["diff", V1, "nowhere"]);
    expect(&examples(), "diff-no-stack", &["diff", V1, V2, "--filename", "clusters"]);
}

#[test]
fn lines_have_colours_on_a_terminal_only() {
    let directory = scratch("diff-colours");
    own_releases(&directory);
    let arguments = ["diff", "docker-own-1-34-v1", "docker-own-1-34-v2"];
    let plain = run(&directory, &arguments).stdout;
    assert!(!plain.contains('\u{1b}'), "not even that of the release's text");
    let forced = run_with(&directory, &arguments, &[("CLICOLOR_FORCE", "1")]).stdout;
    assert!(forced.contains("\u{1b}[32m+title: \u{fffd}[31mnew\u{1b}[0m\n"), "{forced}");
}

/// The README's command over the releases and the Cluster of `examples/`, word for word but for the names of the releases.
#[test]
fn readme_diff_plans_clusters() {
    let directory = scratch("readme-diff");
    for file in ["clusterstack.yaml", "stack"] {
        super::copy(&examples().join(file), &directory.join(file));
    }
    super::copy(&examples().join("clusters/one.yaml"), &directory.join("cluster.yaml"));
    let readme = include_str!("../../../README.md").replace("\\\n", "");
    let line = readme.lines().find_map(|line| line.strip_prefix("stackflux diff ")).unwrap();
    let line = line.replace("releases/openstack-scs-1-32-v", "stack/releases/docker-demo-1-34-v");
    let words: Vec<&str> = std::iter::once("diff").chain(line.split_whitespace()).collect();
    let run = run(&directory, &words);
    assert_eq!(run.code, 1, "{}", run.stderr);
    assert!(run.stdout.contains("Cluster demo/one"), "{}\n{}", run.stdout, run.stderr);
}
