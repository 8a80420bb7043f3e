//! Addons by reference: charts and manifests that Flux fetches from other repositories than that of the stack.

use std::fs;

use serde_json::{Value, json};
use stackflux::release::Digest;
use stackflux_testbed::{Object, Registry};

use super::record::record;
use super::releases::live;
use super::scenario::{STACK, Scenario, V1, condition};
use crate::push::Pusher;
use crate::support::{scratch, stackflux};

/// The release with components, and the next one without.
const WITH: &str = "docker-demo-1-34-v3";
const WITHOUT: &str = "docker-demo-1-34-v4";
/// A release with the digest of a manifest that does not exist.
const BROKEN: &str = "docker-demo-1-34-v5";

/// The platform's repository, and a registry with a chart.
struct Platform<'a> {
    scenario: &'a Scenario<'a>,
    commit: String,
    digest: Digest,
}

impl<'a> Platform<'a> {
    fn publish(scenario: &'a Scenario<'a>) -> Self {
        let work = scratch(&format!("{}-platform-files", scenario.namespace));
        let write = |path: &str, text: &str| {
            fs::create_dir_all(work.join(path).parent().unwrap()).unwrap();
            fs::write(work.join(path), text).unwrap();
        };
        let map = |name: &str, data: &str| {
            format!(
                "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}, namespace: kube-system}}\ndata: {{text: {data}}}\n"
            )
        };
        write("deploy/limits/limits.yaml", &map("by-reference-limits", "\"of ${cluster}\""));
        write("charts/ingress/Chart.yaml", "apiVersion: v2\nname: ingress\nversion: v1\n");
        write("charts/ingress/values.yaml", "replicas: 1\n");
        let ingress = "\"{{ .Values.replicas }} for {{ .Values.cluster }}\"";
        write("charts/ingress/templates/map.yaml", &map("by-reference-ingress", ingress));
        let repository = format!("{}-platform", scenario.namespace);
        let commit = scenario.testbed.git().push_directory(&repository, "main", &work, "platform").unwrap();
        Self {
            scenario,
            commit,
            digest: push_chart(
                scenario,
                scenario.testbed.registry(),
                ("metrics", "1.2.3"),
                &map("by-reference-metrics", "\"{{ .Release.Name }}\""),
            ),
        }
    }

    /// Writes the components into a release, by a branch and a tag, and pins them.
    fn list(&self, release: &str) {
        let scenario = self.scenario;
        let (git, registry) = (
            scenario.testbed.git().url(&format!("{}-platform", scenario.namespace)),
            scenario.testbed.registry(),
        );
        let list = format!(
            "repositories:
- name: platform
  git:
    url: {git}
    ref:
      branch: main
  components:
  - name: limits
    manifests: deploy/limits
    substitute: components/limits.yaml
  - name: ingress
    chart: charts/ingress
    template: components/ingress.yaml
    values: components/static.yaml
- name: metrics
  oci: {{url: oci://{}/{}/metrics, tag: 1.2.3}}
  components:
  - {{name: metrics, chart: ., dependsOn: [ingress]}}
",
            registry.address(),
            scenario.namespace
        );
        let write = |path: &str, text: &str| {
            let path = scenario.path(&format!("releases/{release}/{path}"));
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        write("components.yaml", &list);
        write("components/limits.yaml", "cluster: {{ .Cluster.metadata.name | quote }}\n");
        write("components/ingress.yaml", "cluster: {{ .Cluster.metadata.name }}\n");
        write("components/static.yaml", "replicas: 2\n");
        let entries = ["limits", "ingress", "metrics"]
            .map(|name| format!("    - name: {name}\n      action: apply\n"))
            .concat();
        let (stages, next) = (format!("releases/{release}/clusteraddon.yaml"), "  BeforeClusterUpgrade:");
        scenario.edit(&stages, next, &format!("{entries}{next}"));
        self.pin(release, &list);
        scenario.push(&format!("components of {release}"));
    }

    fn pin(&self, release: &str, list: &str) {
        let directory = self.scenario.path(&format!("releases/{release}"));
        let directory = directory.to_str().unwrap();
        let found = stackflux(&["lint", directory]);
        assert_eq!(found.stdout.matches("MutableReference").count(), 2, "{}", found.stdout);
        let pin = stackflux(&["pin", directory, "--plain-http", "--git-plain-http"]);
        assert_eq!(pin.code, 0, "{}", pin.stderr);
        let exact = list
            .replace(
                "branch: main\n",
                &format!("branch: main\n      commit: {} # branch main\n", self.commit),
            )
            .replace("tag: 1.2.3}\n", &format!("digest: {}}} # tag 1.2.3\n", self.digest));
        assert_eq!(fs::read_to_string(format!("{directory}/components.yaml")).unwrap(), exact);
        assert_eq!(stackflux(&["lint", directory]).code, 0);
    }
}

/// Pushes a chart to a registry as Helm does, and returns the digest of its manifest.
pub(super) fn push_chart(
    scenario: &Scenario<'_>,
    registry: &Registry,
    (name, version): (&str, &str),
    template: &str,
) -> Digest {
    let work = scratch(&format!("{}-chart-{name}", scenario.namespace));
    fs::create_dir_all(work.join(name).join("templates")).unwrap();
    let chart = format!("apiVersion: v2\nname: {name}\nversion: {version}\n");
    fs::write(work.join(name).join("Chart.yaml"), chart).unwrap();
    fs::write(work.join(name).join("templates/map.yaml"), template).unwrap();
    let archive = std::process::Command::new("tar").arg("-C").arg(&work).args(["-czf", "-", name]).output();
    let archive = archive.unwrap().stdout;
    let repository = format!("{}/{name}", scenario.namespace);
    let pusher = Pusher::new(registry.address(), registry.user());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(pusher.chart(&repository, (name, version), &archive))
}

#[test]
fn components_of_a_release_are_installed_and_removed() {
    let scenario = Scenario::shared("components");
    scenario.publish(&[V1]);
    for release in [WITH, WITHOUT, BROKEN] {
        scenario.derive(V1, release);
    }
    let platform = Platform::publish(&scenario);
    platform.list(WITH);
    platform.list(BROKEN);
    let missing = Digest::of_bytes(b"no manifest").to_string();
    let list = format!("releases/{BROKEN}/components.yaml");
    scenario.edit(&list, &platform.digest.to_string(), &missing);
    scenario.push("a digest that does not exist");
    let _operator = scenario.operator();
    let git = scenario.testbed.git().url("");
    let (git, registry) = (git.trim_end_matches("/.git"), scenario.testbed.registry().address());
    let versions = ["v1", "v3", "v4", "v5"];
    scenario.apply_stack(&versions, &json!({}));
    let unencrypted = scenario.wait("clusterstackrelease", WITH, "the address is not encrypted", |release| {
        condition(release, "ReleaseValid").2.contains("is not encrypted: use https, or set insecure")
    });
    assert_eq!(condition(&unencrypted, "Ready").0, "False", "{unencrypted:#}");
    record("component-unencrypted", &scenario);

    let credentials = json!([
        {"url": git, "insecure": true},
        {"url": format!("oci://{registry}"), "insecure": true},
    ]);
    let more = json!({"components": {"credentials": credentials}, "revisionHistoryLimit": 0});
    scenario.apply_stack(&versions, &more);
    scenario.create_cluster("a", WITH, "one");
    scenario.wait_at("a", WITH);
    let text = |name: &str| {
        let map = Object { kind: "configmap", namespace: "kube-system", name };
        let found = scenario.testbed.workload("one").unwrap().get(map).unwrap();
        found.map(|found| found["data"]["text"].clone())
    };
    assert_eq!(text("by-reference-limits"), Some(json!("of a")));
    assert_eq!(text("by-reference-ingress"), Some(json!("2 for a")));
    assert_eq!(text("by-reference-metrics"), Some(json!("metrics")));
    let addon = scenario.get("clusteraddon", "cluster-addon-a").unwrap();
    let expected = |name: &str| -> Value {
        let addons = addon["status"]["addons"].as_array().unwrap();
        addons.iter().find(|addon| addon["name"] == name).unwrap()["expected"]["version"].clone()
    };
    assert_eq!(expected("metrics"), platform.digest.to_string());
    assert_eq!(expected("limits"), platform.commit);
    let url = format!("oci://{registry}/{}/metrics", scenario.namespace);
    let source = json!({"url": url, "revision": platform.digest.to_string()});
    let release = scenario.get("clusterstackrelease", WITH).unwrap();
    for object in [&addon, &release] {
        let addons = object["status"]["addons"].as_array().unwrap();
        let of_component = |addon: &&Value| !addon["source"].is_null();
        let mut names: Vec<&str> =
            addons.iter().filter(of_component).filter_map(|addon| addon["name"].as_str()).collect();
        names.sort_unstable();
        assert_eq!(names, ["ingress", "limits", "metrics"]);
        assert!(
            addons.iter().any(|addon| addon["name"] == "metrics" && addon["source"] == source),
            "{object:#}"
        );
    }
    let tree = live(&scenario, &["tree"]).stdout;
    assert!(tree.contains(&format!("from {url}@sha256:{}", platform.digest.short())), "{tree}");

    let broken = scenario.wait("clusterstackrelease", BROKEN, "a source fails", |release| {
        condition(release, "SourcesReady").0 == "False"
    });
    let (_, reason, message) = condition(&broken, "SourcesReady");
    assert_eq!(reason, "OCIArtifactPullFailed", "{message}");
    assert!(message.contains(&missing), "{message}");
    record("component-missing", &scenario);
    assert_eq!(condition(&release, "SourcesReady").0, "True", "{release:#}");

    scenario.upgrade("a", WITHOUT);
    allow_removal(&scenario);
    scenario.wait_at("a", WITHOUT);
    for name in ["limits", "ingress", "metrics"] {
        assert_eq!(text(&format!("by-reference-{name}")), None, "{name} is removed");
    }
    scenario.apply_stack(&["v1", "v4"], &more);
    scenario.retire(WITH);
    scenario.wait_gone("clusterstackrelease", WITH);
    let sources = ["get", "gitrepositories,ocirepositories,helmcharts", "--output=name"];
    let namespace = format!("--namespace={}", scenario.namespace);
    let left = scenario.management().kubectl(&[&sources[..], &[&namespace]].concat()).unwrap();
    let mut left: Vec<&str> = left
        .lines()
        .filter_map(|name| name.rsplit('/').next())
        .filter(|name| is_of_component(name))
        .collect();
    left.sort_unstable();
    let objects = broken["status"]["objects"].as_array().unwrap().iter();
    let mut others: Vec<&str> =
        objects.filter_map(|object| object["name"].as_str()).filter(|name| is_of_component(name)).collect();
    others.sort_unstable();
    assert_eq!(left, others, "its sources are gone, and those of the other release stay");
    assert!(scenario.get("gitrepository", &format!("{STACK}-catalog")).is_some());
}

/// A release that was published with `--vendor` has the content of its components, and Flux asks no other server for it.
#[test]
fn vendored_components_are_delivered_without_their_servers() {
    let scenario = Scenario::shared("vendored");
    scenario.publish(&[V1]);
    scenario.derive(V1, WITH);
    let platform = Platform::publish(&scenario);
    let [ingress, metrics] = ["ingress", "metrics"].map(|name| scenario.addon(name));
    let source = scratch(&format!("{}-source", scenario.namespace)).join(WITH);
    fs::rename(scenario.path(&format!("releases/{WITH}")), &source).unwrap();
    let write = |path: &str, text: &str| {
        fs::create_dir_all(source.join(path).parent().unwrap()).unwrap();
        fs::write(source.join(path), text).unwrap();
    };
    let (git, registry) = (
        scenario.testbed.git().url(&format!("{}-platform", scenario.namespace)),
        scenario.testbed.registry().address(),
    );
    let list = format!(
        "repositories:
- name: platform
  git: {{url: {git}, ref: {{commit: {}}}}}
  components:
  - {{name: {ingress}, chart: charts/ingress, template: components/ingress.yaml, values: components/static.yaml}}
- name: metrics
  oci: {{url: oci://{registry}/{}/metrics, digest: {}}}
  components:
  - {{name: {metrics}, chart: .}}
",
        platform.commit, scenario.namespace, platform.digest
    );
    write("components.yaml", &list);
    write("components/ingress.yaml", "cluster: {{ .Cluster.metadata.name }}\n");
    write("components/static.yaml", "replicas: 2\n");
    let entries =
        [&ingress, &metrics].map(|name| format!("    - name: {name}\n      action: apply\n")).concat();
    let stages = fs::read_to_string(source.join("clusteraddon.yaml")).unwrap();
    let next = "  BeforeClusterUpgrade:";
    write("clusteraddon.yaml", &stages.replace(next, &format!("{entries}{next}")));
    let publish = |to: &str| {
        let (source, more) = (source.to_str().unwrap(), ["--vendor", "--plain-http", "--git-plain-http"]);
        let published = stackflux(&[&["publish", source, "--to", to], &more[..]].concat());
        assert_eq!(published.code, 0, "{}", published.stderr);
        published.stderr
    };
    let to = scenario.path("");
    publish(to.to_str().unwrap());
    assert!(publish(to.to_str().unwrap()).contains("already exists"), "the same content again");
    let said = fs::read_to_string(scenario.path(&format!("releases/{WITH}/components.yaml"))).unwrap();
    for origin in [
        format!("# - {ingress}: {git}@{} charts/ingress\n", platform.commit),
        format!("# - {metrics}: oci://{registry}/{}/metrics@{}\n", scenario.namespace, platform.digest),
    ] {
        assert!(said.contains(&origin), "{said}");
    }
    scenario.push("vendored");

    let _operator = scenario.operator();
    scenario.apply_stack(&["v3"], &json!({}));
    scenario.create_cluster("a", WITH, "two");
    scenario.wait_at("a", WITH);
    let map = |name: &str| {
        let map = Object { kind: "configmap", namespace: "kube-system", name };
        scenario.testbed.workload("two").unwrap().get(map).unwrap().unwrap()["data"]["text"].clone()
    };
    assert_eq!(map("by-reference-ingress"), json!("2 for a"));
    assert_eq!(map("by-reference-metrics"), json!(metrics));
    let sources = ["get", "gitrepositories,ocirepositories", "--output=jsonpath={.items[*].spec.url}"];
    let namespace = format!("--namespace={}", scenario.namespace);
    let urls = scenario.management().kubectl(&[&sources[..], &[&namespace]].concat()).unwrap();
    assert!(urls.split_whitespace().all(|url| url == scenario.url()), "{urls}");
}

/// Allows the removal of more addons than the budget does, as the message says.
pub(super) fn allow_removal(scenario: &Scenario) {
    let exceeded = scenario.wait("clusteraddon", "cluster-addon-a", "held by the budget", |addon| {
        condition(addon, "Delivered").1 == "PruneBudgetExceeded"
    });
    let message = condition(&exceeded, "Delivered").2;
    let allowed = message.split("clusterstack.x-k8s.io/prune=").nth(1).unwrap();
    let allowed = allowed.split_whitespace().next().unwrap();
    let allow = json!({"metadata": {"annotations": {"clusterstack.x-k8s.io/prune": allowed}}});
    scenario.patch("clusterstack", STACK, &allow);
}

/// Whether a source has the name of the ClusterStack and a digest.
fn is_of_component(name: &str) -> bool {
    let own = name.rsplit('/').next().unwrap_or_default().strip_prefix(&format!("{STACK}-"));
    own.is_some_and(|rest| rest.rsplit('-').next().is_some_and(|digest| digest.len() == 12))
}
