//! Releases made in memory.

use flate2::Compression;
use flate2::write::GzEncoder;
use tar::{Builder, EntryType, Header};

use crate::names::ReleaseName;
use crate::release::{File, Files, Finding, Findings, Limits, Loaded, Reason, Release, Severity};

pub(super) const NAME: &str = "openstack-demo-1-34-v2";

const METADATA: &str = "\
apiVersion: metadata.clusterstack.x-k8s.io/v1alpha1
versions:
  clusterStack: v2
  kubernetes: v1.34.2
  components:
    clusterAddon: v2
    nodeImage: v1
";

const CLUSTER_ADDON: &str = "\
apiVersion: clusteraddonconfig.x-k8s.io/v1alpha1
clusterAddonVersion: clusteraddons.clusterstack.x-k8s.io/v1alpha1
addonStages:
  AfterControlPlaneInitialized:
    - name: cni
      action: apply
    - name: ccm
      action: apply
  BeforeClusterUpgrade:
    - name: cni
      action: apply
    - name: storage-classes
      action: apply
";

const CLASS: &str = "\
apiVersion: cluster.x-k8s.io/v1beta2
kind: ClusterClass
metadata:
  name: {{ .Release.Name }}-{{ .Chart.Version }}
";

const CNI_CHART: &str = "\
apiVersion: v2
name: CNI
version: v1
description: >
  The network
dependencies:
  - name: cilium
    alias: net
    version: 1.18.9
    repository: https://charts.example.com
";

const CCM_CHART: &str = "\
apiVersion: v2
name: CCM
version: v1
appVersion: 1.34
";

/// A release that tests make and break.
#[derive(Clone)]
pub(in crate::release) struct Stack {
    pub(super) name: String,
    pub(in crate::release) files: Files,
    pub(in crate::release) limits: Limits,
}

impl Stack {
    pub(in crate::release) fn empty() -> Self {
        Self { name: NAME.to_owned(), files: Files::default(), limits: Limits::default() }
    }

    /// Creates a multi-stage release: two charts, one of them with a vendored dependency, one addon of manifests, node
    /// images.
    pub(in crate::release) fn good() -> Self {
        Self::empty()
            .with("metadata.yaml", METADATA)
            .with("clusteraddon.yaml", CLUSTER_ADDON)
            .with("cluster-class/Chart.yaml", "apiVersion: v2\nname: demo-class\nversion: v2\n")
            .with("cluster-class/templates/class.yaml", CLASS)
            .with("cluster-addon/cni/Chart.yaml", CNI_CHART)
            .with_bytes("cluster-addon/cni/charts/cilium-1.18.9.tgz", chart_archive("cilium", "1.18.9"))
            .with("cluster-addon/ccm/Chart.yaml", CCM_CHART)
            .with("cluster-addon/ccm/overwrite.yaml", "values: |\n  cluster: {{ .Cluster.metadata.name }}\n")
            .with("cluster-addon/storage-classes/default.yaml", "kind: StorageClass\nmetadata: {name: a}\n")
            .with("node-images/image.yaml", "kind: Image\nmetadata: {name: a}\n")
    }

    /// Creates a single-chart release.
    pub(in crate::release) fn single() -> Self {
        Self::empty()
            .with("metadata.yaml", METADATA)
            .with("cluster-class/Chart.yaml", "apiVersion: v2\nname: demo-class\nversion: v2\n")
            .with("cluster-addon/Chart.yaml", CCM_CHART)
            .with("cluster-addon/templates/all.yaml", "kind: ConfigMap\n")
            .with("cluster-addon-values.yaml", "cluster: {{ .Cluster.metadata.name }}\n")
    }

    pub(in crate::release) fn with(self, path: &str, content: &str) -> Self {
        self.with_bytes(path, content.as_bytes().to_vec())
    }

    pub(in crate::release) fn with_bytes(mut self, path: &str, content: Vec<u8>) -> Self {
        self.files.remove(path);
        self.files.insert(path, File { content, executable: false }).unwrap();
        self
    }

    pub(in crate::release) fn without(mut self, path: &str) -> Self {
        self.files.remove(path).unwrap();
        self
    }

    /// Replaces text in a file, which must have it once.
    pub(in crate::release) fn replacing(self, path: &str, old: &str, new: &str) -> Self {
        let text = String::from_utf8(self.files.get(path).unwrap().content.clone()).unwrap();
        assert_eq!(text.matches(old).count(), 1, "{path} has {old:?} not once");
        let text = text.replace(old, new);
        self.with(path, &text)
    }

    pub(in crate::release) fn load(&self) -> Result<Loaded, Findings> {
        Release::load(&self.name.parse().unwrap(), self.files.clone(), &self.limits)
    }

    /// Reads the release as one that is not published yet.
    pub(in crate::release) fn lint(&self) -> Result<Loaded, Findings> {
        Release::lint(&self.name.parse().unwrap(), self.files.clone(), &self.limits)
    }

    /// Reads the release, which must have no findings at all.
    pub(in crate::release) fn clean(&self) -> Release {
        let loaded = self.load().unwrap_or_else(|findings| panic!("refused:\n{findings}"));
        assert!(loaded.warnings.is_empty(), "{}", loaded.warnings);
        loaded.release
    }

    /// Returns the one error for which the release is refused.
    #[track_caller]
    pub(in crate::release) fn refused(&self) -> Finding {
        let findings = self.load().expect_err("it was not refused");
        let errors: Vec<_> = findings.errors().cloned().collect();
        let [error] = errors.as_slice() else { panic!("not one error:\n{findings}") };
        error.clone()
    }

    /// Returns the one warning with which the release is accepted.
    #[track_caller]
    pub(in crate::release) fn warned(&self) -> Finding {
        let warnings = self.load().unwrap_or_else(|findings| panic!("refused:\n{findings}")).warnings;
        let all: Vec<_> = warnings.iter().cloned().collect();
        let [warning] = all.as_slice() else { panic!("not one warning:\n{warnings}") };
        assert_eq!(warning.severity, Severity::Warning);
        warning.clone()
    }
}

/// Compares the parts of a finding that a reader sees.
#[track_caller]
pub(in crate::release) fn expect(
    finding: &Finding,
    reason: Reason,
    file: &str,
    line: impl Into<Option<u64>>,
    message: &str,
) {
    let line = line.into();
    assert_eq!((finding.reason, finding.file.as_str(), finding.line), (reason, file, line), "{finding}");
    assert_eq!(finding.message, message);
    assert_eq!(finding.text.is_some(), line.is_some(), "a finding with a line has the line's text");
    assert!(finding.to_string().contains(message), "the whole message is shown");
}

/// Packs an archive of regular files.
pub(in crate::release) fn archive(files: &[(&str, &str)]) -> Vec<u8> {
    let entries = files.iter().map(|(path, content)| (*path, EntryType::Regular, "", content.as_bytes()));
    raw_archive(entries)
}

/// Packs an archive as Helm packs a chart.
pub(super) fn chart_archive(name: &str, version: &str) -> Vec<u8> {
    let chart = format!("apiVersion: v2\nname: {name}\nversion: {version}\n");
    archive(&[(&format!("{name}/Chart.yaml"), &chart), (&format!("{name}/values.yaml"), "a: 1\n")])
}

/// Packs an archive of any entries: path, type, link target, content. The path is written unchanged.
pub(in crate::release) fn raw_archive<'a>(
    entries: impl IntoIterator<Item = (&'a str, EntryType, &'a str, &'a [u8])>,
) -> Vec<u8> {
    let mut builder = Builder::new(GzEncoder::new(Vec::new(), Compression::fast()));
    for (path, kind, target, content) in entries {
        let mut header = Header::new_gnu();
        header.as_old_mut().name[..path.len()].copy_from_slice(path.as_bytes());
        header.as_old_mut().linkname[..target.len()].copy_from_slice(target.as_bytes());
        header.set_entry_type(kind);
        header.set_mode(0o644);
        header.set_size(content.len() as u64);
        header.set_cksum();
        builder.append(&header, content).unwrap();
    }
    builder.into_inner().unwrap().finish().unwrap()
}

/// Creates the files of the smallest release of that name, with a text that makes its content unique.
pub(crate) fn small_release(name: &str, own: &str) -> Vec<(String, String)> {
    let name: ReleaseName = name.parse().unwrap();
    let (major, minor) = name.kubernetes_minor();
    let version = name.version().dotted();
    vec![
        ("cluster-addon/Chart.yaml".to_owned(), "apiVersion: v2\nname: addons\nversion: v1\n".to_owned()),
        ("cluster-addon/templates/all.yaml".to_owned(), format!("kind: ConfigMap # {own}\n")),
        ("cluster-class/Chart.yaml".to_owned(), format!("apiVersion: v2\nname: class\nversion: {version}\n")),
        ("cluster-class/templates/class.yaml".to_owned(), CLASS.to_owned()),
        (
            "metadata.yaml".to_owned(),
            format!("versions: {{clusterStack: {version}, kubernetes: v{major}.{minor}.2}}\n"),
        ),
    ]
}

/// Packs a stack repository with the smallest releases of these names, as source-controller packs it.
pub(crate) fn stack_repository(releases: &[&str]) -> Vec<u8> {
    let mut entries = vec![("releases/".to_owned(), EntryType::Directory, String::new())];
    for name in releases {
        entries.push((format!("releases/{name}/"), EntryType::Directory, String::new()));
        for (path, content) in small_release(name, name) {
            entries.push((format!("releases/{name}/{path}"), EntryType::Regular, content));
        }
    }
    raw_archive(entries.iter().map(|(path, kind, content)| (path.as_str(), *kind, "", content.as_bytes())))
}
