//! Releases of the stack repository: those of the example, and others that are built from them.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use super::{
    AGAIN, ALL_OTHER, BROKEN, COMPONENTS, HELPED, MONITORING_AS_MANIFESTS, OTHER_COMPONENTS, PATCHED, V1, V2,
    WITHOUT_MONITORING,
};

/// What makes an addon belong before and after an upgrade of the Cluster.
const CNI_AFTER: &str =
    "  AfterClusterUpgrade:\n    - name: cni\n      action: apply\n  BeforeClusterUpgrade:";

/// A list of components: a chart and manifests from Git, and a chart from a registry.
const LIST: &str = "\
repositories:
- name: platform
  git:
    url: https://git.example.org/platform.git
    ref: {branch: main, commit: abababababababababababababababababababab}
  components:
  - {name: ingress, chart: charts/ingress}
  - {name: limits, manifests: deploy/limits, substitute: components/limits.yaml}
- name: metrics
  oci:
    url: oci://registry.example.org/charts/metrics
    digest: sha256:1111111111111111111111111111111111111111111111111111111111111111
  components:
  - {name: metrics, chart: ., dependsOn: [cni]}
";
/// Another one: another commit, and another form of one component.
const OTHER_LIST: &str = "\
repositories:
- name: platform
  git:
    url: https://git.example.org/platform.git
    ref: {branch: main, commit: cdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcd}
  components:
  - {name: ingress, chart: charts/ingress}
  - {name: limits, chart: charts/limits}
";

/// Files by their paths in the repository.
pub(crate) type Files = BTreeMap<String, Vec<u8>>;

/// The release with a name.
pub(super) fn release(name: &str) -> Release {
    match name {
        WITHOUT_MONITORING => Release::like(V2, name).without("monitoring"),
        MONITORING_AS_MANIFESTS => Release::like(V2, name).with_manifest(
            "monitoring",
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: monitoring-form, namespace: kube-system}\n",
        ),
        PATCHED => Release::like(V2, name)
            .edited("metadata.yaml", "v1.34.0", "v1.34.1")
            .edited("clusteraddon.yaml", "  BeforeClusterUpgrade:", CNI_AFTER)
            .edited("cluster-addon/cni/values.yaml", "1.37.0", "1.37.1")
            .edited("cluster-addon/monitoring/values.yaml", "1.37.0", "1.37.1"),
        COMPONENTS => Release::like(V2, name).with_components(LIST, &["ingress", "limits", "metrics"]),
        OTHER_COMPONENTS => Release::like(V2, name).with_components(OTHER_LIST, &["ingress", "limits"]),
        ALL_OTHER => Release::like(V2, name)
            .edited("cluster-addon/ccm/values.yaml", "1.37.0", "1.37.1")
            .edited("cluster-addon/monitoring/values.yaml", "1.37.0", "1.37.1")
            .edited("cluster-addon/policies/resource-quota.yaml", "100", "200"),
        HELPED => Release::like(V2, name)
            .edited("metadata.yaml", "v1.34.0", "v1.34.1")
            .edited("cluster-addon/cni/values.yaml", "1.37.0", "1.37.1")
            .edited("cluster-addon/monitoring/values.yaml", "1.37.0", "1.37.1")
            .copied("monitoring", "helper")
            .with_stages_before_upgrade("+helper +cni +ccm -helper"),
        AGAIN => Release::like(V2, name)
            .edited("cluster-addon/monitoring/values.yaml", "1.37.0", "1.37.1")
            .with_stages_before_upgrade("+cni -monitoring +ccm +monitoring"),
        BROKEN => Release::like(V1, name).edited("clusteraddon.yaml", "action: apply", "action: aply"),
        _ => Release::example(name),
    }
}

/// A release under construction.
pub(super) struct Release {
    name: String,
    files: Files,
}

impl Release {
    /// A release of the example.
    fn example(name: &str) -> Self {
        let stack = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/stack");
        let mut paths = Vec::new();
        collect(&stack.join("releases").join(name), &mut paths);
        let file = |path: &PathBuf| {
            let below = path.strip_prefix(&stack).unwrap().to_str().unwrap().to_owned();
            (below, fs::read(path).unwrap())
        };
        Self { name: name.to_owned(), files: paths.iter().map(file).collect() }
    }

    /// A release with the content of one of the example, and another version.
    fn like(example: &str, name: &str) -> Self {
        let rename = |(path, content): (String, Vec<u8>)| (path.replace(example, name), content);
        let files = Self::example(example).files.into_iter().map(rename).collect();
        let version = |release: &str| release.rsplit('-').next().unwrap().to_owned();
        let (old, new) = (version(example), version(name));
        Self { name: name.to_owned(), files }
            .edited("metadata.yaml", &format!(": {old}\n"), &format!(": {new}\n"))
            .edited("cluster-class/Chart.yaml", &format!("version: {old}"), &format!("version: {new}"))
            .edited("node-images/image.yaml", example, name)
    }

    /// Takes an addon out.
    fn without(self, addon: &str) -> Self {
        let entry = format!("    - name: {addon}\n      action: apply\n");
        self.emptied(addon).edited("clusteraddon.yaml", &entry, "")
    }

    /// Copies a chart, which no stage names yet.
    fn copied(mut self, from: &str, to: &str) -> Self {
        let [old, new] = [from, to].map(|addon| self.path(&format!("cluster-addon/{addon}/")));
        let of = |(path, content): (&String, &Vec<u8>)| {
            Some((format!("{new}{}", path.strip_prefix(&old)?), content.clone()))
        };
        let files: Vec<_> = self.files.iter().filter_map(of).collect();
        self.files.extend(files);
        self
    }

    /// Replaces the stages before an upgrade: `+` applies an addon, and `-` deletes it.
    fn with_stages_before_upgrade(mut self, stages: &str) -> Self {
        let path = self.path("clusteraddon.yaml");
        let text = String::from_utf8(self.files[&path].clone()).unwrap();
        let (before, _) = text.split_once("  BeforeClusterUpgrade:\n").unwrap();
        let entry = |stage: &str| {
            let (action, addon) = stage.split_at(1);
            let action = if action == "+" { "apply" } else { "delete" };
            format!("    - name: {addon}\n      action: {action}\n")
        };
        let stages: Vec<String> = stages.split_whitespace().map(entry).collect();
        let text = format!("{before}  BeforeClusterUpgrade:\n{}", stages.concat());
        self.files.insert(path, text.into());
        self
    }

    /// Makes an addon one manifest instead of a chart.
    fn with_manifest(self, addon: &str, manifest: &str) -> Self {
        let mut release = self.emptied(addon);
        let path = release.path(&format!("cluster-addon/{addon}/manifest.yaml"));
        release.files.insert(path, manifest.into());
        release
    }

    /// Adds components, which a new cluster gets.
    fn with_components(mut self, list: &str, names: &[&str]) -> Self {
        let substitute = "cluster: {{ .Cluster.metadata.name | quote }}\n";
        for (path, content) in [("components.yaml", list), ("components/limits.yaml", substitute)] {
            let path = self.path(path);
            self.files.insert(path, content.into());
        }
        let stages: Vec<String> =
            names.iter().map(|name| format!("    - name: {name}\n      action: apply\n")).collect();
        let next = "  BeforeClusterUpgrade:";
        self.edited("clusteraddon.yaml", next, &format!("{}{next}", stages.concat()))
    }

    /// Replaces text in a file.
    pub(super) fn edited(mut self, path: &str, old: &str, new: &str) -> Self {
        let path = self.path(path);
        let text = String::from_utf8(self.files[&path].clone()).unwrap();
        assert!(text.contains(old), "{path} has no {old:?}");
        self.files.insert(path, text.replace(old, new).into());
        self
    }

    /// Its files.
    pub(super) fn into_files(self) -> Files {
        self.files
    }

    /// Takes the files of an addon out.
    fn emptied(mut self, addon: &str) -> Self {
        let directory = self.path(&format!("cluster-addon/{addon}/"));
        self.files.retain(|path, _| !path.starts_with(&directory));
        self
    }

    /// The path in the repository of a path in the release.
    fn path(&self, below: &str) -> String {
        format!("releases/{}/{below}", self.name)
    }
}

fn collect(directory: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(&path, files);
        } else {
            files.push(path);
        }
    }
}
