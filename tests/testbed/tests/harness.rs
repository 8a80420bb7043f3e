//! The harness itself: every promise of its API once, on the real components.
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "a test fails by unwrapping, its helpers too, and writes the directories that it pushes"
)]

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Value, json};
use stackflux_testbed::{HelmRevision, Object, Testbed};

const TIMEOUT: Duration = Duration::from_mins(1);

/// A directory with these files, below the build's own directory for temporary files.
fn directory(name: &str, files: &[(&str, &str)]) -> PathBuf {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    if directory.exists() {
        fs::remove_dir_all(&directory).unwrap();
    }
    for (path, content) in files {
        let path = directory.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }
    directory
}

/// A GitRepository, a HelmChart and a HelmRelease that installs it in workload cluster `one`.
fn helm_release(testbed: &Testbed, namespace: &str, repository: &str) -> String {
    let url = testbed.git().url(repository);
    format!(
        r#"
apiVersion: source.toolkit.fluxcd.io/v1
kind: GitRepository
metadata: {{name: source, namespace: {namespace}}}
spec: {{interval: 10m, url: "{url}", ref: {{branch: main}}}}
---
apiVersion: source.toolkit.fluxcd.io/v1
kind: HelmChart
metadata: {{name: chart, namespace: {namespace}}}
spec: {{interval: 10m, chart: ./chart, reconcileStrategy: Revision, sourceRef: {{kind: GitRepository, name: source}}}}
---
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {{name: release, namespace: {namespace}}}
spec:
  interval: 10m
  timeout: 30s
  chartRef: {{kind: HelmChart, name: chart}}
  releaseName: {namespace}
  targetNamespace: default
  storageNamespace: default
  kubeConfig: {{secretRef: {{name: c1-kubeconfig, key: value}}}}
"#
    )
}

const DEPLOYMENT: &str = r"
apiVersion: apps/v1
kind: Deployment
metadata: {name: '{{ .Release.Name }}'}
spec:
  replicas: 2
  selector: {matchLabels: {app: '{{ .Release.Name }}'}}
  template:
    metadata: {labels: {app: '{{ .Release.Name }}'}}
    spec: {containers: [{name: main, image: example.invalid/nothing}]}
";

const CHART: &str = "apiVersion: v2\nname: chart\nversion: 0.1.0\n";

#[test]
fn pushed_chart_becomes_ready_in_workload_cluster() {
    let testbed = Testbed::shared();
    let namespace = testbed.namespace("ready").unwrap();
    testbed.add_kubeconfig_secret(&namespace, "c1", "one").unwrap();
    let files = [("chart/Chart.yaml", CHART), ("chart/templates/deployment.yaml", DEPLOYMENT)];
    let pushed = directory("ready", &files);
    let commit = testbed.git().push_directory(&namespace, "main", &pushed, "a chart").unwrap();
    testbed.management().apply(&helm_release(testbed, &namespace, &namespace)).unwrap();

    let release = Object { kind: "helmrelease", namespace: &namespace, name: "release" };
    testbed.management().wait_ready(release, TIMEOUT).unwrap();
    let source = Object { kind: "gitrepository", namespace: &namespace, name: "source" };
    let source = testbed.management().get(source).unwrap().unwrap();
    assert_eq!(source["status"]["artifact"]["revision"], json!(format!("main@sha1:{commit}")));
    let deployment = Object { kind: "deployment", namespace: "default", name: &namespace };
    let deployment = testbed.workload("one").unwrap().get(deployment).unwrap().unwrap();
    assert_eq!(deployment["status"]["readyReplicas"], json!(2));
    let elsewhere = Object { kind: "deployment", namespace: "default", name: &namespace };
    assert_eq!(testbed.workload("two").unwrap().get(elsewhere).unwrap(), None);

    let one = testbed.workload("one").unwrap();
    let deployed = HelmRevision { revision: 1, status: "deployed".to_owned() };
    assert_eq!(one.helm_revisions("default", &namespace).unwrap(), [deployed]);
    one.assert_no_helm_uninstall("default", &namespace).unwrap();
    testbed.management().kubectl(&["delete", "helmrelease", "release", "-n", &namespace]).unwrap();
    let error = one.assert_no_helm_uninstall("default", &namespace).unwrap_err().to_string();
    assert!(error.contains(&format!("Helm uninstalled default/{namespace} in one")), "{error}");
}

#[test]
fn timeout_error_shows_status_and_controller_logs() {
    let testbed = Testbed::shared();
    let namespace = testbed.namespace("timeout").unwrap();
    testbed.add_kubeconfig_secret(&namespace, "c1", "one").unwrap();
    let pushed = directory("timeout", &[("README", "no chart here")]);
    testbed.git().push_directory(&namespace, "main", &pushed, "no chart").unwrap();
    testbed.management().apply(&helm_release(testbed, &namespace, &namespace)).unwrap();

    let chart = Object { kind: "helmchart", namespace: &namespace, name: "chart" };
    let error = testbed.management().wait_ready(chart, Duration::from_secs(8)).unwrap_err().to_string();
    for part in [
        "no Ready=True within 8s",
        "\"status\": \"False\"",
        "no such file or directory",
        "source-controller:",
    ] {
        assert!(error.contains(part), "{part:?} is not in:\n{error}");
    }
    let absent = Object { kind: "configmap", namespace: &namespace, name: "absent" };
    let error = testbed.management().wait(absent, "data", Duration::ZERO, |_| true).unwrap_err().to_string();
    assert!(error.contains("it does not exist"), "{error}");
}

#[test]
fn second_push_replaces_the_content() {
    let git = Testbed::shared().git();
    let repository = format!("replaced-{}", std::process::id());
    // Above git's buffer for posts (1 MiB), so that it is sent in chunks; bytes that do not compress.
    let mut state = 1_u32;
    let large: String = std::iter::repeat_with(|| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        format!("{state:08x}")
    })
    .take(400_000)
    .collect();
    let files = [("old", "1"), (".gitignore", "ignored"), ("ignored", "2"), ("large", large.as_str())];
    let first = git.push_directory(&repository, "main", &directory("first", &files), "first").unwrap();
    let second =
        git.push_directory(&repository, "main", &directory("second", &[("new", "3")]), "second").unwrap();

    let clone = directory("clone", &[]);
    run_git(&["clone", "--quiet", &git.url(&repository), clone.to_str().unwrap()]);
    let show = |arguments: &[&str]| run_git(&[&["-C", clone.to_str().unwrap()], arguments].concat());
    assert_eq!(show(&["log", "--format=%H %s"]), format!("{second} second\n{first} first\n"));
    assert_eq!(show(&["ls-tree", "--name-only", &first]), ".gitignore\nignored\nlarge\nold\n");
    assert_eq!(show(&["ls-tree", "--name-only", &second]), "new\n");
    assert_eq!(show(&["cat-file", "-s", &format!("{first}:large")]), "3200000\n");
}

fn run_git(arguments: &[&str]) -> String {
    let output = std::process::Command::new("git").args(arguments).output().unwrap();
    assert!(output.status.success(), "git {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn old_cluster_class_keeps_fields_unconverted() {
    let testbed = Testbed::shared();
    let namespace = testbed.namespace("class").unwrap();
    let reference = json!({
        "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta1",
        "kind": "OpenStackClusterTemplate",
        "name": "template",
    });
    let class = json!({
        "apiVersion": "cluster.x-k8s.io/v1beta1",
        "kind": "ClusterClass",
        "metadata": {"name": "class", "namespace": namespace},
        "spec": {"infrastructure": {"ref": reference}},
    });
    testbed.management().apply(&class.to_string()).unwrap();
    let stored =
        Object { kind: "clusterclass.v1beta1.cluster.x-k8s.io", namespace: &namespace, name: "class" };
    let stored = testbed.management().get(stored).unwrap().unwrap();
    assert_eq!(stored["spec"]["infrastructure"]["ref"], reference);

    let wrong =
        class.to_string().replace("\"infrastructure\":{", "\"infrastructure\":{\"machineInfrastructure\":1,");
    let wrong = wrong.replace("\"ref\":{", "\"ref\":[],\"other\":{");
    let refusal = testbed.management().apply(&wrong).unwrap_err().to_string();
    assert!(refusal.contains("spec.infrastructure.ref"), "{refusal}");
}

#[test]
fn management_cluster_collects_orphaned_objects() {
    let testbed = Testbed::shared();
    let namespace = testbed.namespace("owner").unwrap();
    let config_map = |name: &str, owners: Value| {
        json!({"apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": name, "namespace": namespace, "ownerReferences": owners}})
    };
    testbed.management().apply(&config_map("owner", json!([])).to_string()).unwrap();
    let owner = Object { kind: "configmap", namespace: &namespace, name: "owner" };
    let uid = testbed.management().get(owner).unwrap().unwrap()["metadata"]["uid"].clone();
    let owners = json!([{"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": uid}]);
    testbed.management().apply(&config_map("owned", owners).to_string()).unwrap();
    testbed.management().kubectl(&["delete", "configmap", "owner", "-n", &namespace]).unwrap();
    let left = Object { kind: "configmap", namespace: &namespace, name: "owned" };
    testbed.management().wait_gone(left, TIMEOUT).unwrap();
}

#[test]
fn objects_are_applied_changed_and_listed_as_by_kubectl() {
    let testbed = Testbed::shared();
    let (management, namespace) = (testbed.management(), testbed.namespace("requests").unwrap());
    let config_map = |name: &str, namespace: &str| {
        format!(
            "{{apiVersion: v1, kind: ConfigMap, metadata: {{name: {name}, namespace: {namespace}}}, data: {{of: a}}}}\n"
        )
    };
    let documents = format!("---\n{}---\n{}", config_map("one", &namespace), config_map("two", &namespace));
    management.apply(&documents).unwrap();
    let listed = management.list("configmap", &namespace).unwrap();
    let names: Vec<_> = listed.iter().map(|object| (&object["kind"], &object["metadata"]["name"])).collect();
    let kind = &json!("ConfigMap");
    assert_eq!(names, [(kind, &json!("one")), (kind, &json!("two"))]);

    let one = Object { kind: "configmap", namespace: &namespace, name: "one" };
    management.merge(one, "somebody", &json!({"data": {"key": "value"}})).unwrap();
    let found = management.get(one).unwrap().unwrap();
    assert_eq!(found["data"]["key"], "value");
    let managers = found["metadata"]["managedFields"].as_array().unwrap().iter();
    assert_eq!(
        managers.map(|by| &by["manager"]).collect::<Vec<_>>(),
        [&json!("kubectl"), &json!("somebody")]
    );

    let refusal = |result: stackflux_testbed::Result<()>| result.unwrap_err().to_string();
    let unknown = config_map("three", &namespace).replace("kind:", "datum: {}, kind:");
    assert!(refusal(management.apply(&unknown)).contains("datum"));
    assert!(
        refusal(management.apply(&config_map("three", "none"))).contains("namespaces \"none\" not found")
    );
    let absent = Object { name: "absent", ..one };
    assert!(refusal(management.merge(absent, "somebody", &json!({}))).contains("absent on cluster"));
    assert!(refusal(management.apply("# nothing\n")).contains("no object"));
    assert!(management.list("unknown", &namespace).is_err());
}
