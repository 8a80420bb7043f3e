//! The truth table of sources: `GitRepository`, `OCIRepository` and `HelmChart`.

use crate::foreign::flux::observed::{FluxObject, HelmChartStatus, RepositoryStatus, Status};

use super::verdict::{Expected, Moment, Verdict, doing};

/// Reads the status of a `GitRepository` or `OCIRepository`. `expected.version` is the commit or the digest.
pub(super) fn repository(
    object: &FluxObject,
    status: &RepositoryStatus,
    expected: &Expected,
    moment: &Moment,
) -> Verdict {
    let revision = status.artifact.as_ref().map(|artifact| artifact.revision.as_str());
    source(object, revision, expected, moment)
}

/// Reads the status of a `HelmChart`. `expected.version` is the commit that it is packaged from.
///
/// The version of a chart contains twelve digits of the commit, or none if `reconcileStrategy` is `ChartVersion`; the
/// whole commit is in the revision of the source.
pub(super) fn helm_chart(
    object: &FluxObject,
    status: &HelmChartStatus,
    expected: &Expected,
    moment: &Moment,
) -> Verdict {
    let packaged = status.artifact.is_some();
    let revision = status.observed_source_artifact_revision.as_deref().filter(|_| packaged);
    source(object, revision, expected, moment)
}

/// Reasons of `Ready=False` of a chart whose source does not exist yet.
const WAITING: [&str; 2] = ["SourceUnavailable", "NoSourceArtifact"];

fn source(object: &FluxObject, revision: Option<&str>, expected: &Expected, moment: &Moment) -> Verdict {
    let not_ready = object.current_with("Ready", Status::False);
    let verdict = if let Some(verdict) = Verdict::before_status(object, expected) {
        verdict
    } else if let Some(stalled) = object.current_with("Stalled", Status::True) {
        Verdict::stalled(object, stalled)
    } else if is_fetched(object) && object.is_observed() && has_version(revision, expected) {
        Verdict::Fetched
    } else if let Some(ready) = not_ready.filter(|ready| WAITING.contains(&ready.reason.as_str())) {
        Verdict::Waiting { reason: ready.reason.clone(), message: ready.message.clone(), last_good: None }
    } else if let Some(ready) = not_ready {
        Verdict::failing(ready)
    } else if object.current("Ready").is_none() {
        Verdict::Pending
    } else {
        let message = match (revision, &expected.version) {
            (Some(fetched), Some(version)) if !has_version(revision, expected) => {
                let what = if version.contains(':') { "manifest" } else { "commit" };
                format!("{what} {version} is expected, {fetched} is fetched")
            }
            _ => doing(object),
        };
        Verdict::Progressing { message, deadline: moment.deadline_of(expected) }
    };
    moment.judge(verdict, object, expected)
}

/// The conditions by which source-controller remembers that its last attempt failed.
const FAILURES: [&str; 3] = ["FetchFailed", "BuildFailed", "StorageOperationFailed"];

/// Whether Flux has an artifact that it does not complain about. While it fetches or packages another one, `Ready` is unknown, and
/// the artifact of before is served.
fn is_fetched(object: &FluxObject) -> bool {
    let has = |kind, status| object.conditions.with(kind, status).is_some();
    // These stay while Flux tries again.
    let is_failing =
        || FAILURES.into_iter().any(|kind| has(kind, Status::True)) || has("SourceVerified", Status::False);
    has("Ready", Status::True)
        || (has("Ready", Status::Unknown) && has("Reconciling", Status::True) && !is_failing())
}

/// Whether a revision (`<branch>@sha1:<commit>` or `<tag>@sha256:<digest>`, either without the name, Flux RFC 5) has the
/// expected commit or digest.
pub(super) fn has_version(revision: Option<&str>, expected: &Expected) -> bool {
    let hex = |text: &'_ str| text.rsplit(':').next().map(str::to_owned);
    let found = revision.and_then(hex);
    found.is_some() && found == expected.version.as_deref().and_then(hex)
}
