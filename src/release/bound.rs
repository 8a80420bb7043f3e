//! Checks whether content belongs to its release: a signature or a digest covers the content, not the name.

use crate::names::ReleaseName;

use super::CLUSTER_CLASS;
use super::document::Document;
use super::files::{Files, Limits};
use super::finding::{Findings, Reason};
use super::metadata::METADATA;

/// Checks that the files of an unpacked release belong to `name`. Errors are evidence of another release, or a missing
/// version; they come in addition to those of [`Release::load`](super::Release::load). A release in source form has its
/// version nowhere: its class chart has the version `v1` whatever the release, which is a warning.
#[must_use]
pub fn check(name: &ReleaseName, files: &Files, limits: &Limits) -> Findings {
    let mut findings = Findings::default();
    let chart = format!("{CLUSTER_CLASS}/Chart.yaml");
    // Loading the release reports the other errors in the files.
    let unread = &mut Findings::default();
    if let Some(document) = Document::read(files, &chart, false, limits, unread)
        && let Some(value) = document.root().get("name")
        && let Some(found) = value.text(unread).filter(|found| *found != chart_name(name))
    {
        let expected = chart_name(name);
        let message =
            format!("the class chart is named {found}, but that of {name} must be named {expected}");
        findings.push(value.error(Reason::MetadataMismatch, message));
    }
    if let Some(document) = Document::read(files, METADATA, false, limits, unread)
        && document.root().get("versions").is_none_or(|versions| versions.get("clusterStack").is_none())
    {
        let version = name.version();
        let message =
            format!("versions.clusterStack is missing: the content does not say that it is {version}");
        findings.push(document.root().error(Reason::MetadataMismatch, message));
    }
    findings
}

/// Returns the name of the chart of a release's cluster class.
pub(super) fn chart_name(name: &ReleaseName) -> String {
    format!("{}{CHART}", name.prefix())
}

/// The suffix of the name of a cluster class's chart.
pub(super) const CHART: &str = "-cluster-class";
