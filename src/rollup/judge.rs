//! The table of each kind.

use super::helm_release::helm_release;
use super::kustomization::kustomization;
use super::source::{git_repository, helm_chart};
use super::verdict::{Expected, Moment, Verdict};
use crate::foreign::flux::observed::{FluxObject, KindStatus};

/// Reads the status of a Flux object by the table of its kind.
#[must_use]
pub fn judge(object: &FluxObject, expected: &Expected, moment: &Moment) -> Verdict {
    match &object.status {
        KindStatus::HelmRelease(status) => helm_release(object, status, expected, moment),
        KindStatus::Kustomization(status) => kustomization(object, status, expected, moment),
        KindStatus::GitRepository(status) => git_repository(object, status, expected, moment),
        KindStatus::HelmChart(status) => helm_chart(object, status, expected, moment),
    }
}
