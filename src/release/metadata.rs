//! Reads `metadata.yaml`, or `csctl.yaml` of a release in source form without it.

use crate::names::{KubernetesVersion, ReleaseName};

use super::document::{Document, Value};
use super::files::{Files, Limits};
use super::finding::{Finding, Findings, Reason};

/// The file of a built release.
pub(super) const METADATA: &str = "metadata.yaml";
/// The file of a release in source form.
pub(super) const CSCTL: &str = "csctl.yaml";

/// The versions of a release's parts: `versions.components` of `metadata.yaml`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PartVersions {
    /// `clusterAddon`: may be older than the release.
    pub cluster_addon: Option<String>,
    /// `nodeImage`.
    pub node_image: Option<String>,
}

/// Reads the Kubernetes version and the parts' versions; `None`, with findings, if they are unknown.
pub(super) fn read(
    name: &ReleaseName,
    files: &Files,
    limits: &Limits,
    findings: &mut Findings,
) -> Option<(KubernetesVersion, PartVersions)> {
    if files.get(METADATA).is_some() {
        let document = Document::read(files, METADATA, false, limits, findings)?;
        return read_metadata(name, &document, findings);
    }
    if files.get(CSCTL).is_some() {
        let document = Document::read(files, CSCTL, false, limits, findings)?;
        return read_csctl(name, &document, findings).map(|kubernetes| (kubernetes, PartVersions::default()));
    }
    let message = "the release has no metadata.yaml, so its Kubernetes version is unknown";
    let hint = "a release in source form may have a csctl.yaml with config.kubernetesVersion instead";
    findings.push(Finding::error(Reason::MissingFile, METADATA, message).hint(hint));
    None
}

fn read_metadata(
    name: &ReleaseName,
    document: &Document<'_>,
    findings: &mut Findings,
) -> Option<(KubernetesVersion, PartVersions)> {
    let root = document.root();
    let versions = root.present("versions", Reason::InvalidField, findings)?;
    if let Some(version) = versions.get("clusterStack") {
        let text = version.text(findings);
        let own = name.version();
        if let Some(text) = text.filter(|text| *text != own.to_string() && *text != own.dotted()) {
            let message = format!("versions.clusterStack is {text}, but the release's name says {own}");
            findings.push(version.error(Reason::MetadataMismatch, message));
        }
    }
    let components = versions.get("components").map(|components| PartVersions {
        cluster_addon: components.optional("clusterAddon", findings),
        node_image: components.optional("nodeImage", findings),
    });
    let kubernetes = kubernetes_version(name, &versions, "kubernetes", findings)?;
    Some((kubernetes, components.unwrap_or_default()))
}

fn read_csctl(
    name: &ReleaseName,
    document: &Document<'_>,
    findings: &mut Findings,
) -> Option<KubernetesVersion> {
    let root = document.root();
    let config = root.present("config", Reason::InvalidField, findings)?;
    let provider = config.get("provider").and_then(|provider| provider.get("type"));
    let stack = config.get("clusterStackName");
    for (value, own) in [(provider, name.provider()), (stack, name.stack())] {
        let Some(value) = value else { continue };
        if let Some(text) = value.text(findings).filter(|text| text != own) {
            let message = format!("it says {text}, but the release's name says {own}");
            findings.push(value.error(Reason::MetadataMismatch, message));
        }
    }
    kubernetes_version(name, &config, "kubernetesVersion", findings)
}

fn kubernetes_version(
    name: &ReleaseName,
    parent: &Value<'_>,
    key: &str,
    findings: &mut Findings,
) -> Option<KubernetesVersion> {
    let text = parent.required(key, Reason::InvalidField, findings)?;
    let value = parent.get(key)?;
    let version: KubernetesVersion = text
        .parse()
        .map_err(|error: crate::names::NameError| {
            findings.push(value.error(Reason::InvalidField, error.to_string()));
        })
        .ok()?;
    let (major, minor) = name.kubernetes_minor();
    if version.minor() != (u64::from(major), u64::from(minor)) {
        let message = format!(
            "Kubernetes {version} does not match the minor version {major}.{minor} of the release's name"
        );
        findings.push(value.error(Reason::MetadataMismatch, message));
        return None;
    }
    Some(version)
}
