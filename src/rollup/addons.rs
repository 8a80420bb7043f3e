//! Verdicts to the conditions of `ClusterAddon` and `ClusterStackRelease`.

use crate::error::Class;
use crate::names::AddonName;

use super::report::{ConditionStatus, Report, summary};
use super::verdict::{Silence, Verdict};

impl Verdict {
    /// What a condition about the object alone says.
    ///
    /// An issue is what somebody may have to look at. What is only on its way or cannot be known is unknown.
    #[must_use]
    pub fn report(&self) -> Report {
        use ConditionStatus::{False, True, Unknown};
        match self {
            Self::Terminating => Report::new(False, "Terminating", "is being deleted"),
            Self::Suspended => Report::new(Unknown, "Suspended", "is suspended, its state is not known"),
            Self::Foreign { manager: Some(manager) } => {
                Report::new(False, "ForeignEdit", &format!("its spec was changed by {manager}"))
            }
            Self::Foreign { manager: None } => {
                Report::new(False, "ForeignEdit", "its spec was changed by somebody else")
            }
            Self::RolledBack { exhausted, message } => {
                let then = if *exhausted { "no retries are left" } else { "Flux tries again" };
                Report::new(False, "RolledBack", &format!("{message}; {then}"))
            }
            Self::Failed { reason, message, .. } => Report::new(False, reason, message),
            Self::Waiting { reason, message, last_good: None } => Report::new(Unknown, reason, message),
            Self::Waiting { reason, message, last_good: Some(version) } => {
                Report::new(Unknown, reason, &format!("{message} ({version} works meanwhile)"))
            }
            Self::Pending => Report::new(Unknown, "Pending", "Flux has not looked at it yet"),
            Self::Applied { drifted: false } => Report::new(True, "Applied", ""),
            Self::Applied { drifted: true } => {
                Report::new(True, "Drifted", "somebody changed it, Flux repairs it")
            }
            Self::Retrying { attempt, message } => {
                Report::new(False, "Retrying", &format!("attempt {attempt} failed: {message}"))
            }
            Self::Progressing { message, .. } => Report::new(Unknown, "Progressing", message),
            Self::Fetched => Report::new(True, "Fetched", ""),
            Self::ApplierUnavailable(Silence::NoAnswer) => {
                Report::new(Unknown, "ApplierUnavailable", "the Flux controller does not answer")
            }
            Self::ApplierUnavailable(Silence::LeaseNotRenewed) => {
                Report::new(Unknown, "ApplierUnavailable", "the Flux controller does not renew its lease")
            }
        }
    }
}

/// `ClusterAddon`'s `AddonsReady`: over all addons of one cluster, in the release's order. An addon without a verdict was
/// not seen yet.
#[must_use]
pub fn addons_ready(addons: &[(AddonName, Option<Verdict>)]) -> Report {
    let parts: Vec<_> =
        addons.iter().map(|(name, verdict)| (name.as_str(), verdict.as_ref().map(Verdict::report))).collect();
    summary(&parts, ("Applied", &format!("{0} of {0} addons", addons.len())))
}

/// A condition about a single object: `SourceReady`, `ClusterClassReady`, `NodeImagesReady`. Without a verdict the
/// object was not seen yet.
#[must_use]
pub fn object_ready(verdict: Option<&Verdict>) -> Report {
    verdict.map_or_else(Report::not_yet_reported, Verdict::report)
}

/// kstatus' `Reconciling`, which is there only while it is true: an object is on its way.
#[must_use]
pub fn reconciling<'a>(verdicts: impl IntoIterator<Item = &'a Verdict>) -> Option<Report> {
    let on_its_way =
        |verdict: &&Verdict| verdict.awaits_applier() || matches!(verdict, Verdict::Foreign { .. });
    verdicts.into_iter().find(on_its_way).map(|verdict| verdict.report().become_true())
}

/// kstatus' `Stalled`, which is there only while it is true: Flux gave up on an object.
#[must_use]
pub fn stalled<'a>(verdicts: impl IntoIterator<Item = &'a Verdict>) -> Option<Report> {
    let given_up = |verdict: &&Verdict| match verdict {
        Verdict::Failed { class, .. } => *class == Class::Terminal,
        Verdict::RolledBack { exhausted, .. } => *exhausted,
        _ => false,
    };
    verdicts.into_iter().find(given_up).map(|verdict| verdict.report().become_true())
}

impl Report {
    /// The same words on a condition that is there only while it is true.
    fn become_true(self) -> Self {
        Self { status: ConditionStatus::True, ..self }
    }
}
