//! A small stack with two releases of which one chart differs, and clusters of it.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::api::ClusterAddonOverride;
use crate::foreign::capi::Cluster;
use crate::gate::upgrade::Phase;
use crate::inputs::content::{self, Catalog, CatalogEntry, Contents, Existing};
use crate::inputs::line::Line;
use crate::inputs::stack::{Followed, Stack, StackSource};
use crate::inputs::{ClusterInputs, ReleaseInputs, platform};
use crate::plan::stages::Course;
use crate::plan::{self, Plan};
use crate::release::{File, Files, Limits, Release};

pub(crate) struct Fixture {
    pub(crate) stack: Stack,
    pub(crate) edit_cluster: fn(&mut Value),
    pub(crate) ccm_template: &'static str,
    pub(crate) addons: &'static [&'static str],
    /// The addons that the release applies before an upgrade, too.
    pub(crate) before_upgrade: &'static [&'static str],
    /// The addons that the release applies after an upgrade, too.
    pub(crate) after_upgrade: &'static [&'static str],
    /// The phase of the upgrade of the clusters.
    pub(crate) phase: Phase,
    /// The requests for the addons of the clusters.
    pub(crate) requested: Option<Arc<ClusterAddonOverride>>,
    /// More files of each release: path and content.
    pub(crate) more: Vec<(String, &'static str)>,
}

impl Fixture {
    pub(crate) fn new() -> Self {
        let source = StackSource {
            name: "demo-catalog".parse().unwrap(),
            namespace: "stacks".parse().unwrap(),
            url: "https://git.example.org/stacks.git".to_owned(),
            access: crate::foreign::flux::source::Access::default(),
            path: "releases".to_owned(),
            followed: Some(Followed { reference: json!({"branch": "main"}), interval: "1m".to_owned() }),
            is_builtin: false,
        };
        let stack = Stack {
            name: "demo".parse().unwrap(),
            namespace: "stacks".parse().unwrap(),
            uid: String::new(),
            line: Line {
                provider: "docker".to_owned(),
                stack: "demo".to_owned(),
                channel: "stable".to_owned(),
            },
            source,
            flux: serde_json::from_value(json!({})).unwrap(),
            delivery: crate::api::Delivery::default(),
            components: crate::api::ComponentSettings::default(),
            upgrade_gate: crate::api::cluster_stack::UpgradeGate::Enforce,
        };
        Self {
            stack,
            edit_cluster: |_| {},
            ccm_template: "values: |\n  cluster: {{ .Cluster.metadata.name }}\n  port: {{ .Cluster.spec.controlPlaneEndpoint.port }}\n",
            addons: &["cni", "ccm", "policies"],
            before_upgrade: &[],
            after_upgrade: &[],
            phase: Phase::Steady,
            requested: None,
            more: Vec::new(),
        }
    }

    /// A release with the components of the stack.
    pub(crate) fn release(&self, version: &str) -> Release {
        platform::with_components(&self.stack, &self.published(version)).into_owned()
    }

    /// A release as it is in the stack repository.
    pub(crate) fn published(&self, version: &str) -> Release {
        load(version, self.ccm_template, [self.addons, self.before_upgrade, self.after_upgrade], &self.more)
    }

    /// Plans the stack, one release, and clusters that use it.
    pub(crate) fn plan(&self, version: &str, clusters: &[&str]) -> Plan {
        let (release, contents) = (self.release(version), self.contents(version));
        let inputs = ReleaseInputs { stack: &self.stack, release: &release, contents: &contents };
        let mut plan = plan::stack(&self.stack).unwrap();
        plan.merge(plan::release(&inputs).unwrap()).unwrap();
        for name in clusters {
            let cluster = self.inputs(name, version);
            plan.merge(plan::cluster(&inputs, &cluster, &Course::ended(self.phase)).unwrap()).unwrap();
        }
        plan
    }

    /// Locates the contents of a release.
    pub(crate) fn contents(&self, version: &str) -> Contents {
        let entry = |release: &Release| {
            let commit = format!("{:0>40}", release.name.version().to_string().trim_start_matches('v'));
            (release.name.clone(), CatalogEntry::of(release, commit.parse().unwrap()))
        };
        let catalog: Catalog = ["v1", "v2"].map(|version| entry(&self.published(version))).into();
        content::resolve(&self.stack, &self.release(version), &catalog, &Existing::default()).unwrap()
    }

    /// A cluster that refers to no other objects.
    pub(crate) fn inputs(&self, name: &str, version: &str) -> ClusterInputs {
        let inputs = ClusterInputs::new(Cluster::new(self.cluster(name, version)).unwrap(), |_| None);
        inputs.with_requested(self.requested.clone())
    }

    fn cluster(&self, name: &str, version: &str) -> Value {
        let mut cluster = json!({
            "apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Cluster",
            "metadata": {"name": name, "namespace": "stacks"},
            "spec": {
                "controlPlaneEndpoint": {"host": "10.0.0.1", "port": 6443},
                "topology": {"classRef": {"name": format!("docker-demo-1-34-{version}")}, "version": "v1.34.2"},
            },
            "status": {"initialization": {"controlPlaneInitialized": true}},
        });
        (self.edit_cluster)(&mut cluster);
        cluster
    }
}

fn load(version: &str, ccm_template: &str, addons: [&[&str]; 3], more: &[(String, &str)]) -> Release {
    let chart = |name: &str| format!("apiVersion: v2\nname: {name}\nversion: v1\n");
    let metadata = format!("versions: {{clusterStack: {version}, kubernetes: v1.34.2}}\n");
    let class = format!("apiVersion: v2\nname: class\nversion: {version}\n");
    let stages = ["AfterControlPlaneInitialized", "BeforeClusterUpgrade", "AfterClusterUpgrade"];
    let stages = stages.iter().zip(addons).filter(|(_, addons)| !addons.is_empty()).map(|(stage, addons)| {
        let list = addons.iter().map(|addon| format!("  - {{name: {addon}, action: apply}}\n"));
        format!("  {stage}:\n{}", list.collect::<String>())
    });
    let stages = format!("addonStages:\n{}", stages.collect::<String>());
    let mut files = Files::default();
    let (cni, ccm, values) = (chart("cni"), chart("ccm"), format!("release: {version}\n"));
    let usual = [
        ("metadata.yaml", metadata.as_str()),
        ("clusteraddon.yaml", stages.as_str()),
        ("cluster-class/Chart.yaml", class.as_str()),
        ("cluster-addon/cni/Chart.yaml", cni.as_str()),
        ("cluster-addon/cni/values.yaml", values.as_str()),
        ("cluster-addon/ccm/Chart.yaml", ccm.as_str()),
        ("cluster-addon/ccm/overwrite.yaml", ccm_template),
        (
            "cluster-addon/policies/namespace.yaml",
            "apiVersion: v1\nkind: Namespace\nmetadata: {name: policies}\n",
        ),
        ("node-images/image.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: image}\n"),
    ];
    let more = more.iter().map(|(path, content)| (path.as_str(), *content));
    for (path, content) in usual.into_iter().chain(more) {
        files.insert(path, File { content: content.as_bytes().to_vec(), executable: false }).unwrap();
    }
    let name = format!("docker-demo-1-34-{version}").parse().unwrap();
    Release::load(&name, files, &Limits::default()).unwrap_or_else(|findings| panic!("{findings}")).release
}
