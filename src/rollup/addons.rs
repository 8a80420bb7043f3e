//! Derives the conditions of `ClusterAddon` and `ClusterStackRelease` from verdicts.

use std::fmt::Display;

use crate::api::conditions::Reason;
use crate::error::Class;
use crate::gate::Hold;

use super::cause;
use super::report::{ConditionStatus, Report, summary};
use super::verdict::{REPEATED_ATTEMPTS, Verdict};

/// Returns the readiness for a phase or the reason of a hold. An issue may require action by a user. A state that is in
/// progress, resolves by itself or cannot be determined is unknown.
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
        | Reason::ComponentInvalid
        | Reason::FluxTooOld
        | Reason::SettingsInvalid
        | Reason::OverrideRefused
        | Reason::ChartNameCollision
        | Reason::AlreadyExists
        | Reason::FileEdited
        | Reason::PublishFailed
        | Reason::SecretInvalid
        | Reason::Deleting => ConditionStatus::False,
        _ => ConditionStatus::Unknown,
    }
}

impl Verdict {
    /// Returns the verdict as one word, for lists in a status.
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
            Self::Retrying { attempt, .. } if *attempt >= REPEATED_ATTEMPTS => Reason::RepeatedlyFailing,
            Self::Retrying { .. } => Reason::Retrying,
            Self::Progressing { .. } => Reason::Progressing,
            Self::Fetched => Reason::Fetched,
            Self::ApplierUnavailable(_) => Reason::ApplierUnavailable,
        }
    }

    /// Reports on the object alone. Its reason is the cause in Flux's message if a retry alone does not fix that cause,
    /// otherwise Flux's reason if there is one, otherwise the phase.
    #[must_use]
    pub fn report(&self) -> Report {
        let reason = match (self.cause(), self) {
            (Some(cause), _) => cause.as_str(),
            (None, Self::Failed { reason, .. } | Self::Waiting { reason, .. }) => reason,
            (None, _) => self.phase().as_str(),
        };
        Report::new(status_of(self.phase()), reason, &self.message())
    }

    /// Returns the cause of the failure, if the message names one.
    fn cause(&self) -> Option<Reason> {
        match self {
            Self::Failed { message, .. } | Self::Retrying { message, .. } => cause::reason(message),
            _ => None,
        }
    }

    pub(super) fn message(&self) -> String {
        match self {
            Self::Terminating => "is being deleted".to_owned(),
            Self::Suspended => "is suspended, its state is not known".to_owned(),
            Self::Foreign { wait: Some(wait), .. } => wait.to_string(),
            Self::Foreign { manager, wait: None } => {
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
            // The number stops here, so that the message does not change with every attempt.
            Self::Retrying { attempt, message } if *attempt >= REPEATED_ATTEMPTS => {
                format!("{REPEATED_ATTEMPTS} or more attempts have failed: {message}")
            }
            Self::Retrying { attempt, message } => format!("attempt {attempt} failed: {message}"),
            Self::Applied | Self::Fetched => String::new(),
            Self::ApplierUnavailable(silence) => silence.to_string(),
        }
    }
}

/// Computes `AddonsReady` of a `ClusterAddon` over the addons of one Cluster, in the release's order. An addon without a
/// report was not seen yet. `of` names the release of the addons: ` of <release>`.
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

/// Computes a condition about a single object: `SourceReady`, `ClusterClassReady`, `NodeImagesReady`. Without a verdict
/// the object was not seen yet.
#[must_use]
pub fn object_ready(verdict: Option<&Verdict>) -> Report {
    verdict.map_or_else(Report::not_yet_reported, Verdict::report)
}

/// Computes kstatus' `Reconciling`, which exists only while it is true: an object is being reconciled.
#[must_use]
pub fn reconciling<'a>(verdicts: impl IntoIterator<Item = &'a Verdict>) -> Option<Report> {
    let on_its_way =
        |verdict: &&Verdict| verdict.awaits_applier() || matches!(verdict, Verdict::Foreign { .. });
    verdicts.into_iter().find(on_its_way).map(|verdict| verdict.report().become_true())
}

/// Computes kstatus' `Stalled`, which exists only while it is true: Flux gave up on an object.
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
    /// Returns the report of a hold.
    #[must_use]
    pub fn held(hold: &Hold) -> Self {
        Self::new(status_of(hold.reason), hold.reason.as_str(), &hold.message)
    }

    /// The same report for a condition that exists only while it is true.
    pub(super) fn become_true(self) -> Self {
        Self { status: ConditionStatus::True, ..self }
    }
}
