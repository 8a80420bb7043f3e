//! The main task, end to end: kubectl applies the output of `generate` for the example, and everything gets Ready.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::Value;
use stackflux_testbed::{Object, Testbed};

use crate::git::{commit_and_push, git};
use crate::support::{copy, scratch, stackflux};
use crate::text;

const TIMEOUT: Duration = Duration::from_mins(2);
const CHARTS: [&str; 3] = ["cni", "ccm", "monitoring"];

/// The example, with its stack repository on the testbed's Git server and its clusters in a namespace of the test.
struct Example {
    testbed: &'static Testbed,
    namespace: String,
    directory: PathBuf,
}

impl Example {
    fn new(name: &str) -> Self {
        let testbed = Testbed::shared();
        let (namespace, directory) = (testbed.namespace(name).unwrap(), scratch(name));
        let example = Self { testbed, namespace, directory };
        fs::create_dir_all(example.path("stack/releases")).unwrap();
        git(&example.path("stack"), &["init", "--quiet", "--initial-branch=main"]);
        let settings = fs::read_to_string(examples("clusterstack.yaml")).unwrap();
        let settings = settings.replace("https://git.example.org/stacks.git", &example.url());
        example.write("clusterstack.yaml", &settings.replace("namespace: demo", &example.in_namespace()));
        for workload in ["one", "two"] {
            testbed.add_kubeconfig_secret(&example.namespace, workload, workload).unwrap();
            example.use_class(workload, "docker-demo-1-34-v1");
        }
        example
    }

    fn path(&self, below: &str) -> PathBuf {
        self.directory.join(below)
    }

    fn write(&self, below: &str, content: &str) {
        let path = self.path(below);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    fn url(&self) -> String {
        self.testbed.git().url(&self.namespace)
    }

    fn in_namespace(&self) -> String {
        format!("namespace: {}", self.namespace)
    }

    fn use_class(&self, cluster: &str, class: &str) {
        let file = format!("clusters/{cluster}.yaml");
        let object = fs::read_to_string(examples(&file)).unwrap();
        let object = object.replace("namespace: demo", &self.in_namespace());
        self.write(&file, &object.replace("docker-demo-1-34-v1", class));
    }

    fn publish(&self, release: &str) -> String {
        copy(&examples("stack/releases").join(release), &self.path("stack/releases"));
        commit_and_push(&self.path("stack"), &self.url(), release)
    }

    /// Derives another release from the second one, with another image in its chart `monitoring`. Not committed yet.
    fn derive(&self, version: &str, image: &str) {
        let (from, name) = ("docker-demo-1-34-v2", format!("docker-demo-1-34-{version}"));
        let scratch = self.path(version);
        fs::create_dir_all(&scratch).unwrap();
        copy(&examples("stack/releases").join(from), &scratch);
        fs::rename(scratch.join(from), self.path("stack/releases").join(&name)).unwrap();
        for (file, old, new) in [
            ("metadata.yaml", ": v2", format!(": {version}")),
            ("cluster-class/Chart.yaml", "version: v2", format!("version: {version}")),
            ("node-images/image.yaml", from, name.clone()),
            ("cluster-addon/ccm/values.yaml", "busybox:1.37.0", image.to_owned()),
        ] {
            let file = format!("stack/releases/{name}/{file}");
            let text = fs::read_to_string(self.path(&file)).unwrap();
            assert!(text.contains(old), "{file}");
            self.write(&file, &text.replace(old, &new));
        }
    }

    /// Moves the cluster to a release and applies.
    fn upgrade(&self, version: &str) {
        self.use_class("one", &format!("docker-demo-1-34-{version}"));
        self.apply();
    }

    fn suspend(&self, name: &str, suspend: bool) {
        let patch = format!("{{\"spec\":{{\"suspend\":{suspend}}}}}");
        let namespace = format!("--namespace={}", self.namespace);
        let patch = ["patch", "helmrelease", name, &namespace, "--type=merge", "--patch", &patch];
        self.testbed.management().kubectl(&patch).unwrap();
    }

    fn generate(&self, more: &[&str]) -> String {
        let (stack, settings) = (self.path("stack"), self.path("clusterstack.yaml"));
        let (stack, settings) = (stack.to_str().unwrap(), settings.to_str().unwrap());
        let clusters = self.path("clusters");
        let arguments = ["generate", stack, "--settings", settings, "--filename", clusters.to_str().unwrap()];
        let run = stackflux(&[&arguments, more].concat());
        assert_eq!(run.code, 0, "{}", run.stderr);
        run.stdout
    }

    fn apply(&self) {
        let output = self.path("output");
        self.generate(&["--output-dir", output.to_str().unwrap()]);
        self.testbed
            .management()
            .kubectl(&["apply", "--server-side", "--kustomize", output.to_str().unwrap()])
            .unwrap();
    }

    fn release_of(&self, cluster: &str, addon: &str) -> Value {
        let name = format!("{cluster}.{addon}");
        let object = Object { kind: "helmrelease", namespace: &self.namespace, name: &name };
        self.testbed.management().wait_ready(object, TIMEOUT).unwrap()
    }

    fn all_ready(&self) -> Vec<Value> {
        for workload in ["one", "two"] {
            let name = format!("{workload}.policies");
            let object = Object { kind: "kustomization", namespace: &self.namespace, name: &name };
            self.testbed.management().wait_ready(object, TIMEOUT).unwrap();
        }
        let addons = ["one", "two"].into_iter().flat_map(|cluster| CHARTS.map(|addon| (cluster, addon)));
        addons.map(|(cluster, addon)| self.release_of(cluster, addon)).collect()
    }
}

fn examples(below: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("examples").join(below)
}

/// Name, generation, and Helm's revision of the deployed release.
fn state(release: &Value) -> (String, i64, i64) {
    let number = |pointer: &str| {
        release
            .pointer(pointer)
            .and_then(Value::as_i64)
            .unwrap_or_else(|| panic!("no number at {pointer}: {release:#}"))
    };
    let name = text(release, "/metadata/name").to_owned();
    (name, number("/metadata/generation"), number("/status/history/0/version"))
}

/// The documents of a kind in generated YAML, as text.
fn documents<'a>(yaml: &'a str, kind: &str) -> Vec<&'a str> {
    yaml.split("---\n").filter(|document| document.contains(&format!("kind: {kind}\nmetadata:"))).collect()
}

#[test]
fn example_becomes_ready_and_upgrades_one_addon() {
    let example = Example::new("example");
    let first = example.publish("docker-demo-1-34-v1");
    example.apply();
    let before = example.all_ready();
    assert!(before.iter().all(|release| state(release).2 == 1), "{before:#?}");

    for (cluster, host) in [("one", "172.18.0.3"), ("two", "172.18.0.7")] {
        let values = &example.release_of(cluster, "ccm")["spec"]["values"];
        assert!(values.to_string().contains(host), "{values:#}");
        let workload = example.testbed.workload(cluster).unwrap();
        let seen =
            workload.kubectl(&["get", "configmaps", "--namespace=kube-system", "--output=yaml"]).unwrap();
        assert!(seen.contains(host) && seen.contains(cluster), "{seen}");
    }
    let class = Object { kind: "clusterclass", namespace: &example.namespace, name: "docker-demo-1-34-v1" };
    example.testbed.management().get(class).unwrap().unwrap();

    // Another commit, then a release in which one chart changed; the clusters move to it.
    example.write("stack/README.md", "Our stacks.\n");
    commit_and_push(&example.path("stack"), &example.url(), "a commit to something else");
    let second = example.publish("docker-demo-1-34-v2");
    for cluster in ["one", "two"] {
        example.use_class(cluster, "docker-demo-1-34-v2");
    }
    let anew = example.generate(&[]);
    example.apply();
    let management = example.testbed.management();
    for cluster in ["one", "two"] {
        let name = format!("{cluster}.monitoring");
        let object = Object { kind: "helmrelease", namespace: &example.namespace, name: &name };
        let upgraded = |found: &Value| found.pointer("/status/history/0/version") == Some(&2.into());
        management.wait(object, "upgraded", TIMEOUT, upgraded).unwrap();
    }
    let after = example.all_ready();
    for (before, after) in before.iter().zip(&after) {
        let (name, generation, revision) = state(before);
        let expected =
            if name.ends_with(".monitoring") { (generation + 1, 2) } else { (generation, revision) };
        assert_eq!((name, expected.0, expected.1), state(after));
        if !state(after).0.ends_with(".monitoring") {
            assert_eq!(
                before["metadata"]["resourceVersion"], after["metadata"]["resourceVersion"],
                "written"
            );
        }
    }

    // Without existing objects the same sources are found: the first release is pinned where it was published.
    let kept = example.generate(&["--existing", example.path("output").to_str().unwrap()]);
    for kind in ["GitRepository", "HelmChart", "HelmRelease"] {
        assert_eq!(documents(&anew, kind), documents(&kept, kind));
    }
    let sources = documents(&anew, "GitRepository").concat();
    assert!(sources.contains(&first) && sources.contains(&second), "{sources}");

    two_releases_of_one_commit_are_distinguished(&example);
}

/// Both releases have the same chart name and version, so that Helm's own comparison finds nothing to do. Dependants of
/// the changed addon wait for it, also while it is suspended and its status still says that it is ready. (Part of the
/// one test: a second example in the same workload clusters would conflict with it.)
fn two_releases_of_one_commit_are_distinguished(example: &Example) {
    let settings = fs::read_to_string(example.path("clusterstack.yaml")).unwrap();
    let depends = "  flux:\n    addons:\n      monitoring: {dependsOn: [ccm]}\n";
    example.write("clusterstack.yaml", &(settings + depends));
    example.derive("v3", "busybox:1.37.3");
    example.derive("v4", "busybox:1.37.4");
    commit_and_push(&example.path("stack"), &example.url(), "two releases");
    example.upgrade("v3");
    let deployment = Object { kind: "deployment", namespace: "kube-system", name: "ccm" };
    let workload = example.testbed.workload("one").unwrap();
    let has = |image: &str| {
        let image = image.to_owned();
        move |found: &Value| text(found, "/spec/template/spec/containers/0/image") == image
    };
    workload.wait(deployment, "the third release's image", TIMEOUT, has("busybox:1.37.3")).unwrap();
    example.all_ready();

    example.suspend("one.ccm", true);
    example.upgrade("v4");
    let monitoring = Object { kind: "helmrelease", namespace: &example.namespace, name: "one.monitoring" };
    let waits = |found: &Value| found.to_string().contains("is not ready according to readyExpr eval");
    example.testbed.management().wait(monitoring, "waiting for its dependency", TIMEOUT, waits).unwrap();
    example.suspend("one.ccm", false);
    workload.wait(deployment, "the fourth release's image", TIMEOUT, has("busybox:1.37.4")).unwrap();
    example.all_ready();
}
