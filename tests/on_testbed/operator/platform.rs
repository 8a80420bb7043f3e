//! Components of a ClusterStack: what a platform adds to the clusters of all releases.

use std::fs;

use serde_json::{Value, json};
use stackflux_testbed::{Object, Registry};

use super::components::{allow_removal, push_chart};
use super::fleet::Fleet;
use super::record::record;
use super::releases::live;
use super::scenario::{STACK, Scenario, V1, addon_status, condition, eventually};
use crate::git::git;
use crate::support::scratch;

const ADDON: &str = "cluster-addon-a";

/// The repository of the platform: a chart and manifests.
pub(crate) struct Platform<'a> {
    scenario: &'a Scenario<'a>,
    name: String,
}

impl<'a> Platform<'a> {
    pub(crate) fn new(scenario: &'a Scenario<'a>) -> Self {
        Self { name: format!("{}-platform", scenario.namespace), scenario }
    }

    pub(crate) fn url(&self) -> String {
        self.scenario.testbed.git().url(&self.name)
    }

    /// Pushes both charts, which have one name and version, and returns the commit.
    pub(crate) fn push(&self, text: &str) -> String {
        let work = scratch(&format!("{}-platform-files", self.scenario.namespace));
        let write = |path: &str, text: &str| {
            fs::create_dir_all(work.join(path).parent().unwrap()).unwrap();
            fs::write(work.join(path), text).unwrap();
        };
        for (directory, begin) in [("edge", ""), ("other", "other ")] {
            let chart = format!("charts/{directory}");
            let text = format!("\"{begin}{text} for {{{{ .Values.cluster }}}}\"");
            write(&format!("{chart}/Chart.yaml"), "apiVersion: v2\nname: edge\nversion: 0.1.0\n");
            write(&format!("{chart}/templates/map.yaml"), &map("platform-{{ .Release.Name }}", &text));
        }
        write("deploy/quota/map.yaml", &map("platform-quota", "\"of ${cluster}\""));
        self.scenario.testbed.git().push_directory(&self.name, "main", &work, text).unwrap()
    }

    /// The settings of the ClusterStack. The first component has changes.
    fn settings(&self, edge: &Value, credentials: &Value) -> Value {
        let git = self.url();
        let protected = self.scenario.testbed.protected_registry().address();
        let mut component = json!({
            "name": "edge", "chart": "charts/edge", "template": "cluster: {{ .Cluster.metadata.name }}\n",
        });
        for (field, value) in edge.as_object().unwrap() {
            component[field] = value.clone();
        }
        let mut credentials = credentials.as_array().unwrap().clone();
        credentials.push(json!({"url": git.trim_end_matches(".git"), "insecure": true}));
        credentials.push(json!({"url": git, "insecure": true}));
        json!({"components": {"credentials": credentials, "repositories": [
            {
                "name": "platform", "git": {"url": git, "ref": {"branch": "main"}}, "interval": "2s",
                "components": [component, {
                    "name": "quota", "manifests": "deploy/quota",
                    "substitute": "cluster: {{ .Cluster.metadata.name | quote }}\n",
                    "clusterSelector": {"matchLabels": {"quota": "on"}},
                }],
            },
            {
                "name": "probe", "interval": "2s",
                "oci": {"url": format!("oci://{protected}/{}/probe", self.scenario.namespace), "semver": "1.x"},
                "components": [{"name": "probe", "chart": "."}],
            },
        ]}})
    }

    /// One component at a commit, in the form of `spec`.
    pub(super) fn exact(&self, commit: &str, more: &Value) -> Value {
        let git = self.url();
        let mut component = json!({
            "name": self.scenario.addon("edge"), "chart": "charts/edge",
            "template": "cluster: {{ .Cluster.metadata.name }}\n",
        });
        for (field, value) in more.as_object().unwrap() {
            component[field] = value.clone();
        }
        json!({"components": {
            "credentials": [{"url": git, "insecure": true}],
            "repositories": [{
                "name": "platform", "git": {"url": git, "ref": {"commit": commit}}, "components": [component],
            }],
        }})
    }

    /// The text in the workload cluster.
    fn text(&self, name: &str) -> Option<String> {
        let name = format!("platform-{name}");
        let map = Object { kind: "configmap", namespace: "kube-system", name: &name };
        let found = self.scenario.testbed.workload("one").unwrap().get(map).unwrap();
        found.and_then(|found| Some(found["data"]["text"].as_str()?.to_owned()))
    }

    fn label(&self, value: &Value) {
        self.scenario.patch(
            "cluster.cluster.x-k8s.io",
            "a",
            &json!({"metadata": {"labels": {"quota": value}}}),
        );
    }
}

fn map(name: &str, text: &str) -> String {
    format!(
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}, namespace: kube-system}}\ndata: {{text: {text}}}\n"
    )
}

/// The Secret with which Flux authenticates at a registry.
fn registry_secret(scenario: &Scenario<'_>, registry: &Registry, password: &str) {
    let (user, _) = registry.user().unwrap();
    let auths = json!({"auths": {registry.address(): {"username": user, "password": password}}}).to_string();
    let secret = json!({
        "apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/dockerconfigjson",
        "metadata": {"name": "registry", "namespace": scenario.namespace},
        "stringData": {".dockerconfigjson": auths},
    });
    scenario.management().apply(&secret.to_string()).unwrap();
}

#[test]
fn platform_components_follow_branch_label_and_secret() {
    let scenario = Scenario::shared("platform");
    scenario.publish(&[V1]);
    let platform = Platform::new(&scenario);
    let first = platform.push("first");
    let registry = scenario.testbed.protected_registry();
    push_chart(&scenario, registry, ("probe", "1.2.3"), &map("platform-probe", "\"{{ .Chart.Version }}\""));
    registry_secret(&scenario, registry, "wrong");
    let credentials = json!([
        {"url": format!("oci://{}", registry.address()), "insecure": true, "secretRef": {"name": "registry"}},
    ]);
    let _operator = scenario.operator();
    scenario.apply_stack(&["v1"], &platform.settings(&json!({}), &credentials));
    scenario.create_cluster("a", V1, "one");
    // A private repository with the wrong Secret.
    let failing = scenario.wait("clusterstackrelease", V1, "the Secret is wrong", |release| {
        let (status, _, message) = condition(release, "SourcesReady");
        status == "False" && message.contains("1 Cluster uses the release")
    });
    let (_, reason, message) = condition(&failing, "SourcesReady");
    assert_eq!(reason, "ReadOperationFailed", "Flux asks for the tags: {message}");
    assert!(message.contains("probe") && message.contains("UNAUTHORIZED"), "{message}");
    registry_secret(&scenario, registry, registry.user().unwrap().1);
    let addon = scenario.wait_at("a", V1);
    assert_eq!(platform.text("edge").as_deref(), Some("first for a"));
    assert!(platform.text("probe").unwrap().starts_with("1.2.3+"));
    assert_eq!(platform.text("quota"), None, "the Cluster lacks the label");
    let source = &addon_status(&addon, "edge").unwrap()["source"];
    assert_eq!(source["follows"], "branch main", "{source}");
    assert!(source["revision"].as_str().unwrap().ends_with(&first[..12]), "{source}");
    let stack = scenario.get("clusterstack", STACK).unwrap();
    let (status, _, message) = condition(&stack, "ComponentsReady");
    assert!(status == "True" && message.contains("edge follows branch main of "), "{message}");
    let tree = live(&scenario, &["tree"]).stdout;
    assert!(tree.contains("(branch main)") && tree.contains("(semver 1.x)"), "{tree}");

    // The branch and the range move.
    let second = platform.push("second");
    push_chart(&scenario, registry, ("probe", "1.3.0"), &map("platform-probe", "\"{{ .Chart.Version }}\""));
    scenario.wait("clusteraddon", ADDON, "the new revisions", |addon| {
        let revision = |name: &str| {
            let source = addon_status(addon, name).map(|addon| addon["observed"]["version"].clone());
            source.and_then(|version| Some(version.as_str()?.to_owned())).unwrap_or_default()
        };
        let is_new = revision("edge").ends_with(&second[..12]) && revision("probe").starts_with("1.3.0");
        is_new && condition(addon, "Ready").0 == "True"
    });
    assert_eq!(platform.text("edge").as_deref(), Some("second for a"));
    assert!(platform.text("probe").unwrap().starts_with("1.3.0+"));

    // By label on and off.
    platform.label(&json!("on"));
    scenario.wait("clusteraddon", ADDON, "quota is installed", |addon| {
        addon_status(addon, "quota").is_some() && condition(addon, "Ready").0 == "True"
    });
    assert_eq!(platform.text("quota").as_deref(), Some("of a"));
    platform.label(&Value::Null);
    scenario.wait("clusteraddon", ADDON, "quota is removed", |addon| {
        addon_status(addon, "quota").is_none() && condition(addon, "Ready").0 == "True"
    });
    assert_eq!(platform.text("quota"), None);
    replace(&scenario, &platform, &credentials);
}

/// Lets a component take the place of an addon of the release, and gives that back.
fn replace(scenario: &Scenario<'_>, platform: &Platform<'_>, credentials: &Value) {
    let name = scenario.addon("monitoring");
    let helm_release = |field: &str| {
        let found = scenario.get("helmrelease", &scenario.object("a", "monitoring")).unwrap();
        found["spec"][field].clone()
    };
    let (before, chart) = (helm_release("releaseName"), helm_release("chartRef"));
    let edge = json!({"name": name});
    scenario.apply_stack(&["v1"], &platform.settings(&edge, credentials));
    let refused = scenario.wait("clusterstack", STACK, "the name is refused", |stack| {
        condition(stack, "ComponentsReady").0 == "False"
    });
    let (_, reason, message) = condition(&refused, "ComponentsReady");
    assert_eq!(reason, "ComponentInvalid");
    record("component-refused", scenario);
    assert!(message.contains(&name) && message.contains("set replaces: true"), "{message}");
    assert_eq!(helm_release("chartRef"), chart, "the addon of the release stays");

    let edge = json!({"name": name, "replaces": true});
    scenario.apply_stack(&["v1"], &platform.settings(&edge, credentials));
    allow_removal(scenario);
    scenario.wait("clusteraddon", ADDON, "the component is installed", |addon| {
        let source = addon_status(addon, &name).is_some_and(|addon| !addon["source"].is_null());
        source && condition(addon, "Ready").0 == "True"
    });
    assert_eq!(platform.text(&name).as_deref(), Some("second for a"));
    assert_eq!(platform.text("edge"), None, "it has another name now");
    assert_eq!(helm_release("releaseName"), before, "the Helm release is the same");
    scenario.apply_stack(&["v1"], &json!({}));
    allow_removal(scenario);
    scenario.wait("clusteraddon", ADDON, "the addon of the release is back", |addon| {
        let source = addon_status(addon, &name).is_some_and(|addon| addon["source"].is_null());
        source && condition(addon, "Ready").0 == "True"
    });
    assert_eq!((helm_release("releaseName"), helm_release("chartRef")), (before, chart));
    assert_eq!((platform.text(&name), platform.text("probe")), (None, None));
    // The sources of the release, and the stack repository, are left.
    for (kind, is_left) in [("gitrepositories", 2), ("ocirepositories", 0)] {
        let what = format!("the {kind} that nothing uses are gone");
        eventually(&what, || scenario.list(kind).len() == is_left);
    }
}

/// The component, its sources, and everything of it that the operator commits, end with its entry in the ClusterStack.
#[test]
fn platform_component_is_committed_with_its_sources() {
    let scenario = Scenario::shared("platformgit");
    let fleet = Fleet::followed(&scenario);
    scenario.publish(&[V1]);
    let platform = Platform::new(&scenario);
    let commit = platform.push("first");
    let edge = scenario.addon("edge");
    let _operator = scenario.operator();
    let with = |more: &Value| {
        let (mut spec, components) = (fleet.delivery(), platform.exact(&commit, more));
        spec["components"] = components["components"].clone();
        spec
    };
    scenario.apply_stack(&["v1"], &with(&json!({})));
    scenario.create_cluster("a", V1, "one");
    scenario.wait_at("a", V1);
    assert_eq!(platform.text(&edge).as_deref(), Some("first for a"));
    let sources = |fleet: &Fleet<'_>, name: &str| {
        let clone = fleet.clone(name);
        let files = git(&clone, &["ls-files"]);
        let is_ours = |file: &&str| {
            let file = file.rsplit('/').next().unwrap();
            let name = file.split_once('-').map_or("", |(_, name)| name);
            (file.starts_with("gitrepository-") || file.starts_with("helmchart-"))
                && name.starts_with(&format!("{STACK}-"))
                && !name.contains(V1)
                && !name.contains("catalog")
        };
        files.lines().filter(is_ours).map(str::to_owned).collect::<Vec<_>>()
    };
    let before = sources(&fleet, "with");
    assert_eq!(before.len(), 2, "{before:?}");

    // Another directory of the same commit: a chart of the same name and version.
    scenario.apply_stack(&["v1"], &with(&json!({"chart": "charts/other"})));
    eventually("the other chart is installed", || {
        platform.text(&edge).as_deref() == Some("other first for a")
    });
    scenario.wait_at("a", V1);
    eventually("the chart of before is removed from the repository", || {
        let now = sources(&fleet, "moved");
        now.len() == 2 && now != before
    });

    let mut without = fleet.delivery();
    without["components"] = json!({});
    scenario.apply_stack(&["v1"], &without);
    scenario.wait("clusteraddon", ADDON, "the component is removed", |addon| {
        addon_status(addon, &edge).is_none() && condition(addon, "Ready").0 == "True"
    });
    assert_eq!(platform.text(&edge), None);
    eventually("the files of its sources are removed", || sources(&fleet, "without").is_empty());
    eventually("Flux has deleted its sources", || {
        let names = ["gitrepositories", "helmcharts"].map(|kind| scenario.names(kind)).concat();
        before.iter().all(|file| {
            let name = file.rsplit('/').next().unwrap().trim_end_matches(".yaml");
            names.iter().all(|left| left != name.split_once('-').unwrap().1)
        })
    });
}
