//! Verdicts to the conditions of `ClusterAddon` and `ClusterStackRelease`.

use std::fmt::Display;

use crate::api::conditions::Reason;
use crate::error::Class;

use super::cause;
use super::report::{ConditionStatus, Report, summary};
use super::verdict::{SEVERAL, Verdict};

/// The readiness of a phase or a hold. An issue may need a person to look at or to mend it; what is only on
/// its way, comes by itself or cannot be known is unknown.
#[must_use]
pub fn status_of(reason: Reason) -> ConditionStatus {
    match reason {
        Reason::Applied | Reason::Fetched => ConditionStatus::True,
        Reason::Terminating
        | Reason::Foreign
        | Reason::Drifted
        | Reason::RolledBack
        | Reason::Failed
        | Reason::Retrying
        | Reason::RepeatedlyFailing
        | Reason::KindNotInstalled
        | Reason::ManifestInvalid
        | Reason::RefusedByChart
        | Reason::KubernetesVersionMismatch
        | Reason::Unreachable
        | Reason::ValuesInvalid
        | Reason::DependencyInvalid
        | Reason::ChartNameCollision
        | Reason::FileEdited
        | Reason::PublishFailed
        | Reason::SecretInvalid
        | Reason::Deleting => ConditionStatus::False,
        _ => ConditionStatus::Unknown,
    }
}

impl Verdict {
    /// The verdict in one word, for the lists in a status.
    #[must_use]
    pub fn phase(&self) -> Reason {
        match self {
            Self::Terminating => Reason::Terminating,
            Self::Suspended => Reason::Suspended,
            Self::Foreign { .. } => Reason::Foreign,
            Self::RolledBack { .. } => Reason::RolledBack,
            Self::Failed { .. } => Reason::Failed,
            Self::Waiting { .. } => Reason::Waiting,
            Self::Pending => Reason::Pending,
            Self::Applied => Reason::Applied,
            Self::Drifted { .. } => Reason::Drifted,
            Self::Retrying { attempt, .. } if *attempt >= SEVERAL => Reason::RepeatedlyFailing,
            Self::Retrying { .. } => Reason::Retrying,
            Self::Progressing { .. } => Reason::Progressing,
            Self::Fetched => Reason::Fetched,
            Self::ApplierUnavailable(_) => Reason::ApplierUnavailable,
        }
    }

    /// The report about the object alone: its phase as the reason, Flux's reason if it has one, or the cause
    /// in Flux's message if a retry alone does not mend it.
    #[must_use]
    pub fn report(&self) -> Report {
        let reason = match (self.cause(), self) {
            (Some(cause), _) => cause.as_str(),
            (None, Self::Failed { reason, .. } | Self::Waiting { reason, .. }) => reason,
            (None, _) => self.phase().as_str(),
        };
        Report::new(status_of(self.phase()), reason, &self.message())
    }

    /// The cause of the failure, if the message has it.
    fn cause(&self) -> Option<Reason> {
        match self {
            Self::Failed { message, .. } | Self::Retrying { message, .. } => cause::told(message),
            _ => None,
        }
    }

    fn message(&self) -> String {
        match self {
            Self::Terminating => "is being deleted".to_owned(),
            Self::Suspended => "is suspended, its state is not known".to_owned(),
            Self::Foreign { manager } => {
                format!("its spec was changed by {}", manager.as_deref().unwrap_or("another field manager"))
            }
            Self::RolledBack { exhausted: true, message } => format!("{message}; no retries are left"),
            Self::RolledBack { exhausted: false, message } => format!("{message}; Flux tries again"),
            Self::Waiting { message, last_good: Some(version), .. } => {
                format!("{message} ({version} works meanwhile)")
            }
            Self::Failed { message, .. }
            | Self::Waiting { message, .. }
            | Self::Progressing { message, .. } => message.clone(),
            Self::Pending => "Flux has not reconciled it yet".to_owned(),
            Self::Drifted { message } => format!("{message}; Flux only reports it (driftDetection: warn)"),
            // The number of attempts does not move for ever.
            Self::Retrying { attempt, message } if *attempt >= SEVERAL => {
                format!("{SEVERAL} or more attempts have failed: {message}")
            }
            Self::Retrying { attempt, message } => format!("attempt {attempt} failed: {message}"),
            Self::Applied | Self::Fetched => String::new(),
            Self::ApplierUnavailable(silence) => silence.to_string(),
        }
    }
}

/// `ClusterAddon`'s `AddonsReady`: over the addons of one Cluster, in the release's order. An addon without a report was not
/// seen yet. `of` is what the addons are of: ` of <release>`.
#[must_use]
pub fn addons_ready<Name: Display>(addons: &[(Name, Option<Report>)], of: &str) -> Report {
    let is_ready = |report: &Option<Report>| {
        report.as_ref().is_some_and(|report| report.status == ConditionStatus::True)
    };
    let ready = addons.iter().filter(|(_, report)| is_ready(report)).count();
    let numbers = format!("{ready} of {} addons{of}", addons.len());
    let sum = summary(addons, (Reason::Applied, &numbers));
    if sum.status == ConditionStatus::True {
        return sum;
    }
    Report::new(sum.status, &sum.reason, &format!("{numbers}; {}", sum.message))
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
