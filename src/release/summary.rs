//! The summary of a release from its small files, for lists of releases that are not fetched whole.

use crate::names::{KubernetesVersion, ReleaseName};

use super::files::{Files, Limits};
use super::finding::Findings;
use super::{CLUSTER_ADDON, addons, metadata, stages};

/// The files that a summary is read from. No release has all of them.
pub const FILES: [&str; 3] = [metadata::METADATA, metadata::CSCTL, stages::FILE];

/// The content of the small files of a release.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Summary {
    /// The full Kubernetes version; `None` if both `metadata.yaml` and `csctl.yaml` are missing.
    pub kubernetes: Option<KubernetesVersion>,
    /// The addons that a stage applies, in the order in which stages name them first.
    pub addons: Vec<String>,
}

/// Reads the small files of a release ([`FILES`]) and no others. A missing `metadata.yaml` is not an error here; an
/// error in one of the files is.
pub fn read(name: &ReleaseName, files: &Files, limits: &Limits) -> Result<Summary, Findings> {
    let mut findings = Findings::default();
    let dated = [metadata::METADATA, metadata::CSCTL].into_iter().any(|file| files.get(file).is_some());
    let kubernetes = dated.then(|| metadata::read(name, files, limits, &mut findings)).flatten();
    let addons = match stages::read_alone(files, limits, &mut findings) {
        Some(stages) => addons::applied(&stages).iter().map(ToString::to_string).collect(),
        None => vec![CLUSTER_ADDON.to_owned()],
    };
    let kubernetes = kubernetes.map(|(version, _)| version);
    if findings.has_errors() { Err(findings) } else { Ok(Summary { kubernetes, addons }) }
}
