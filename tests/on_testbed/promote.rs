//! Promotion of a release from stage to prod, and its rollback: two ClusterStacks in two namespaces that follow two
//! directories of one repository, each with a cluster, and one operator for both.

mod gitea;
mod pull_request;

use std::collections::BTreeMap;
use std::fs;

use serde_json::{Value, json};
use stackflux_testbed::{NewCluster, Object};

use crate::operator::platform::Platform;
use crate::operator::scenario::{STACK, Scenario, TIMEOUT, V1, V2, condition, eventually};
use crate::support::{Run, copy, stackflux};

/// A repository with both stages. The scenario's own namespace is the stage `stage`.
struct Stages {
    stage: Scenario<'static>,
    /// The namespace of the stage `prod`.
    prod: String,
}

impl Stages {
    /// Stage has both releases and prod the first one; both offer the latest.
    fn new() -> Self {
        let stage = Scenario::shared("promote");
        stage.publish(&[V1, V2]);
        let platform = Platform::new(&stage);
        for release in [V1, V2] {
            add_component(&stage, release, &platform.push(release));
        }
        let prod = stage.testbed.namespace("promoted").unwrap();
        let stages = Self { stage, prod };
        let releases = stages.stage.path("prod/releases");
        fs::create_dir_all(&releases).unwrap();
        copy(&stages.stage.path("releases").join(V1), &releases);
        stages.require("1h");
        let components = stages.components();
        stages.stage.apply_stack(&[], &json!({"autoSubscribe": true, "components": components}));
        stages.apply_prod();
        stages
    }

    /// Writes `stackflux.yaml` with this soak and pushes it.
    fn require(&self, soak: &str) {
        let text = format!(
            "stages:\n- name: stage\n- name: prod\n  path: prod/releases\n  after: stage\n  soak: {soak}\n"
        );
        fs::write(self.stage.path("stackflux.yaml"), text).unwrap();
        self.stage.push(&format!("a soak of {soak}"));
    }

    /// The settings for the components of releases.
    fn components(&self) -> Value {
        json!({"credentials": [{"url": Platform::new(&self.stage).url(), "insecure": true}]})
    }

    /// The addresses of the `GitRepository`s in a namespace.
    fn sources(&self, namespace: &str) -> Vec<String> {
        let namespace = format!("--namespace={namespace}");
        let list = ["get", "gitrepositories", &namespace, "--output=jsonpath={.items[*].spec.url}"];
        let urls = self.stage.management().kubectl(&list).unwrap();
        urls.split(' ').map(str::to_owned).collect()
    }

    fn apply_prod(&self) {
        let labels = json!({"test": self.stage.namespace});
        let git = json!({"url": self.stage.url(), "path": "prod/releases", "ref": {"branch": "main"}, "interval": "2s"});
        let stack = json!({
            "apiVersion": "clusterstack.x-k8s.io/v1alpha1", "kind": "ClusterStack",
            "metadata": {"name": STACK, "namespace": self.prod, "labels": labels},
            "spec": {
                "provider": "docker", "name": "demo", "kubernetesVersion": "1.34", "noProvider": true,
                "autoSubscribe": true, "source": {"git": git}, "components": self.components(),
            },
        });
        self.stage.management().apply(&stack.to_string()).unwrap();
    }

    /// Cluster `b` of prod, at the first release.
    fn create_prod_cluster(&self) {
        self.stage.testbed.add_kubeconfig_secret(&self.prod, "b", "two").unwrap();
        let cluster = NewCluster { namespace: self.prod.clone(), ..self.stage.new_cluster("b", V1) };
        self.stage.clusters.create(&[cluster]).unwrap();
    }

    /// Waits for an object of prod.
    fn wait_prod(&self, kind: &str, name: &str, what: &str, is_so: impl Fn(&Value) -> bool) -> Value {
        let object = Object { kind, namespace: &self.prod, name };
        self.stage.management().wait(object, what, TIMEOUT, is_so).unwrap()
    }

    /// Waits until cluster `b` is at a release and ready.
    fn wait_prod_at(&self, release: &str) {
        self.wait_prod("clusteraddon", "cluster-addon-b", release, |addon| {
            addon["status"]["release"]["applied"] == release && condition(addon, "Ready").0 == "True"
        });
    }

    fn move_prod_to(&self, release: &str) {
        self.stage.clusters.upgrade(&self.prod, "b", release, "v1.34.0").unwrap();
        self.wait_prod_at(release);
    }

    /// The generations of the addons of cluster `b`.
    fn generations(&self) -> BTreeMap<String, i64> {
        let namespace = format!("--namespace={}", self.prod);
        let list = ["get", "helmreleases,kustomizations", &namespace, "--output=json"];
        let list: Value = serde_json::from_str(&self.stage.management().kubectl(&list).unwrap()).unwrap();
        let of = |object: &Value| {
            let name = crate::text(object, "/metadata/name").to_owned();
            name.starts_with("b.").then(|| (name, object["metadata"]["generation"].as_i64().unwrap()))
        };
        list["items"].as_array().unwrap().iter().filter_map(of).collect()
    }

    /// The output of kubectl for prod, in a file.
    fn prod_objects(&self) -> String {
        let namespace = format!("--namespace={}", self.prod);
        let kinds = "clusterstacks,clusters,devclusters,kubeadmcontrolplanes";
        let text = self.stage.management().kubectl(&["get", kinds, &namespace, "--output=json"]).unwrap();
        let file = self.stage.path(".git/prod.json");
        fs::write(&file, text).unwrap();
        file.display().to_string()
    }

    fn run(&self, arguments: &[&str]) -> Run {
        let url = self.stage.url();
        let more = ["--repository", &url, "--author", "Ada <ada@example.org>"];
        stackflux(&[arguments, &more].concat())
    }

    /// Runs `promote`, which queries the clusters of stage.
    fn promote(&self, more: &[&str]) -> Run {
        let kubeconfig = self.stage.management().kubeconfig().display().to_string();
        // Without the namespace: the Clusters of the stage are queried in all namespaces.
        let asked = ["--kubeconfig", &kubeconfig];
        self.run(&[&["promote", V2, "--from", "stage", "--to", "prod"], &asked[..], more].concat())
    }
}

/// Lists a chart of the platform's repository at a commit in a release.
fn add_component(stage: &Scenario<'_>, release: &str, commit: &str) {
    let name = stage.addon("edge");
    let url = Platform::new(stage).url();
    let list = format!(
        "repositories:\n- name: platform\n  git: {{url: '{url}', ref: {{branch: main, commit: {commit}}}}}\n  \
         components: [{{name: {name}, chart: charts/edge}}]\n"
    );
    fs::write(stage.path(&format!("releases/{release}/components.yaml")), list).unwrap();
    let (stages, next) = (format!("releases/{release}/clusteraddon.yaml"), "  BeforeClusterUpgrade:");
    stage.edit(&stages, next, &format!("    - name: {name}\n      action: apply\n{next}"));
}

#[test]
fn release_is_promoted_to_prod_and_rolled_back() {
    let stages = Stages::new();
    let _operator = stages.stage.operator();
    stages.stage.wait_ready("clusterstack", STACK);
    stages.stage.create_cluster("a", V1, "one");
    stages.stage.wait_at("a", V1);
    stages.create_prod_cluster();
    stages.wait_prod_at(V1);
    // Two ClusterStacks have the component of the first release, and each has a source of its own.
    let platform = Platform::new(&stages.stage).url();
    for (namespace, releases) in [(&stages.stage.namespace, 2), (&stages.prod, 1)] {
        eventually("the sources of the component are there", || {
            stages.sources(namespace).iter().filter(|url| **url == platform).count() == releases
        });
    }

    promotion_before_soak_is_refused(&stages);
    stages.require("1s");
    promoted_as_shown(&stages);
    rolled_back(&stages);
}

fn promotion_before_soak_is_refused(stages: &Stages) {
    let other = stages.promote(&["--push"]);
    assert_eq!(other.code, 1, "{}{}", other.stdout, other.stderr);
    let expected = format!("Cluster {}/a runs {V1}", stages.stage.namespace);
    assert!(other.stdout.contains(&expected), "{}", other.stdout);

    stages.stage.upgrade("a", V2);
    stages.stage.wait_at("a", V2);
    let young = stages.promote(&["--push"]);
    assert_eq!(young.code, 1, "{}{}", young.stdout, young.stderr);
    assert!(
        young.stderr.contains("refused: the clusters of stage have not completed the soak"),
        "{}",
        young.stderr
    );
    let expected = format!("Cluster {}/a has been ready with it for ", stages.stage.namespace);
    assert!(
        young.stdout.contains(&expected) && young.stdout.contains("but 1h are required"),
        "{}",
        young.stdout
    );
    let latest = stages.wait_prod("clusterstack", STACK, "there", |_| true);
    assert_eq!(latest["status"]["latestRelease"], V1, "nothing came to prod");
}

fn promoted_as_shown(stages: &Stages) {
    let objects = stages.prod_objects();
    let mut last = String::new();
    eventually("the soak is over", || {
        let run = stages.promote(&["--output", "json"]);
        if run.stdout != last {
            eprintln!("{}{}", run.stdout, run.stderr);
        }
        last = run.stdout;
        last.contains("vouched")
    });
    let shown = stages.promote(&["--filename", &objects, "--output", "json"]);
    assert_eq!(shown.code, 1, "shown only: {}", shown.stderr);
    let shown: Value = serde_json::from_str(&shown.stdout).unwrap();
    assert_eq!(shown["stacks"][0]["offered"], "latest", "{shown:#}");
    let cluster = &shown["upgrades"][0]["clusters"][0];
    let changed: Vec<&str> =
        cluster["objects"].as_array().unwrap().iter().map(|object| crate::text(object, "/name")).collect();
    let expected = ["edge", "monitoring"].map(|addon| stages.stage.object("b", addon));
    assert_eq!(changed, expected, "{shown:#}");
    let parts = shown["upgrades"][0]["parts"].as_array().unwrap();
    let edge =
        parts.iter().find(|part| part["part"] == format!("addon {}", stages.stage.addon("edge"))).unwrap();
    let repository = &edge["charts"][0];
    assert!(repository["name"] == "platform" && repository["from"] != repository["to"], "{edge:#}");

    let before = stages.generations();
    let pushed = stages.promote(&["--filename", &objects, "--push"]);
    assert_eq!(pushed.code, 0, "{}{}", pushed.stdout, pushed.stderr);
    stages.wait_prod("clusterstackrelease", V2, "ready", |release| condition(release, "Ready").0 == "True");
    assert_eq!(stages.generations(), before, "a promotion changes no cluster");
    stages.move_prod_to(V2);
    let moved: Vec<String> = stages
        .generations()
        .into_iter()
        .filter(|(name, generation)| before.get(name) != Some(generation))
        .map(|(name, _)| name)
        .collect();
    assert_eq!(moved, changed, "what was shown is what changed");
}

fn rolled_back(stages: &Stages) {
    let objects = stages.prod_objects();
    let rollback =
        ["rollback", "prod", "--reason", "monitoring loses samples", "--filename", &objects, "--push"];
    let rolled_back = stages.run(&rollback);
    assert_eq!(rolled_back.code, 0, "{}{}", rolled_back.stdout, rolled_back.stderr);
    let expected = format!("{}/b: nothing changes", stages.prod);
    assert!(rolled_back.stdout.contains(&expected), "{}", rolled_back.stdout);
    let before = stages.generations();
    stages.wait_prod("clusterstack", STACK, "back at v1", |stack| stack["status"]["latestRelease"] == V1);
    stages.wait_prod("clusterstack", STACK, "ready", |stack| condition(stack, "Ready").0 == "True");
    stages.wait_prod_at(V2);
    assert_eq!(stages.generations(), before, "a rollback changes no cluster");

    let again = stages.promote(&["--push"]);
    assert_eq!(again.code, 2, "{}", again.stdout);
    assert!(
        again.stderr.contains("is held back from stage prod: monitoring loses samples"),
        "{}",
        again.stderr
    );
    stages.move_prod_to(V1);
    let history = stages_history(stages);
    assert_eq!(history, ["rolledBack", "promoted", "other"]);
}

fn stages_history(stages: &Stages) -> Vec<String> {
    let url = stages.stage.url();
    let history = stackflux(&["history", "prod", "--repository", &url, "--output", "json"]).stdout;
    let history: Value = serde_json::from_str(&history).unwrap();
    history.as_array().unwrap().iter().map(|entry| crate::text(entry, "/cause").to_owned()).collect()
}
