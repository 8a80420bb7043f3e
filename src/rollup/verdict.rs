//! The verdict on the status of one Flux object, as a value.

use std::fmt;

use jiff::{SignedDuration, Timestamp};

use super::cause;
use super::pulse::{Applier, Pulse};
use crate::api::cluster_addon::AddonState;
use crate::api::conditions::Reason;
use crate::error::Class;
use crate::foreign::flux::observed::{Condition, FluxObject, SpecDigest, Status};
use crate::plan::repair::Wait;

/// Maximum time for an object to become ready. After that it counts as failed: Flux retries for ever and never reports
/// so itself.
pub const DEADLINE: SignedDuration = SignedDuration::from_mins(20);
/// Number of failed attempts that is not a coincidence: most failures right after the creation of a cluster end earlier.
pub(super) const REPEATED_ATTEMPTS: i64 = 5;
/// Flux's reasons that blame another object, which stackflux reports on as well: who waits for it is not late.
const WAITS_FOR_OTHERS: [&str; 5] =
    ["ArtifactFailed", "DependencyNotReady", "NoSourceArtifact", "SourceNotReady", "SourceUnavailable"];
/// The beginning of the message about an object that is late.
pub(super) const OVERDUE: &str = "not ready after ";
/// Maximum time for Flux to answer a change or a request.
pub const RESPONSE_TIMEOUT: SignedDuration = SignedDuration::from_mins(2);

/// The content that stackflux wrote and therefore expects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expected {
    /// The digest of the spec that our own write returned.
    pub spec_digest: SpecDigest,
    /// The version to deliver: for a `HelmRelease` the version of the chart that our `HelmChart` has packaged, for every
    /// other kind the full commit. Nothing counts as applied while it is unknown.
    pub version: Option<String>,
    /// The revision of the Helm release before its content was changed; `None` unless only another one has the content.
    pub revision_before: Option<i64>,
    /// Time of the write, or of the last [settled](Verdict::is_settled) state, whichever is later.
    pub since: Timestamp,
}

impl Expected {
    /// Reads the expectation that the status of a `ClusterAddon` keeps. `None` without a digest (first start, lost
    /// status): then the object is applied once more, which changes nothing if nothing differs, and returns the digest.
    #[must_use]
    pub fn kept(state: &AddonState, since: Timestamp) -> Option<Self> {
        let spec_digest = SpecDigest::kept(state.spec_digest.as_ref()?);
        Some(Self { spec_digest, version: state.version.clone(), revision_before: None, since })
    }
}

/// The facts that a verdict needs and that are in no object.
#[derive(Clone, Copy, Debug)]
pub struct Moment {
    /// The current time.
    pub now: Timestamp,
    /// The controller of the object.
    pub applier: Applier,
    /// [`DEADLINE`], unless the settings say otherwise.
    pub deadline: SignedDuration,
}

/// The state of an object now: exactly one applies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The object is being deleted.
    Terminating,
    /// The object is suspended. The rest of its status is as old as the suspension.
    Suspended,
    /// The object's spec is not what we wrote.
    Foreign {
        /// The field manager that wrote to the spec last, if `managedFields` still name one.
        manager: Option<String>,
        /// The repair that waits, if the object is changed again and again.
        wait: Option<Wait>,
    },
    /// An upgrade failed, and Helm rolled back to the release before.
    RolledBack {
        /// Whether Flux has no retries left.
        exhausted: bool,
        /// Flux's message.
        message: String,
    },
    /// The object failed. If the class is terminal, Flux has given up and waits for a change.
    Failed {
        /// Whether Flux retries.
        class: Class,
        /// Flux's reason, or `DeadlineExceeded`.
        reason: String,
        /// Flux's message.
        message: String,
    },
    /// Something else has to happen first. Flux retries by itself. It counts as failed after [`DEADLINE`], unless another object
    /// is to blame.
    Waiting {
        /// Flux's reason.
        reason: String,
        /// Flux's message.
        message: String,
        /// The chart version that is deployed meanwhile.
        last_good: Option<String>,
    },
    /// Flux has not handled the present spec yet.
    Pending,
    /// The object is in the cluster as expected, and was ready.
    Applied,
    /// The object was applied as expected, and objects in the workload cluster were changed since. Flux only reports that.
    Drifted {
        /// Flux's message, which names the objects.
        message: String,
    },
    /// The last attempt failed; Flux retries.
    Retrying {
        /// Failed attempts so far.
        attempt: i64,
        /// Flux's message about the last failed attempt.
        message: String,
    },
    /// Flux is reconciling the object.
    Progressing {
        /// Flux's message.
        message: String,
        /// The time from which the object is late.
        deadline: Timestamp,
    },
    /// The source has the expected content.
    Fetched,
    /// The controller does not answer: the object's state is unknown.
    ApplierUnavailable(Silence),
}

/// The signs that a controller is missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Silence {
    /// A change or a request got no answer for [`RESPONSE_TIMEOUT`], and nothing else of the kind changed meanwhile.
    NoAnswer {
        /// The controller.
        controller: &'static str,
        /// Time of the change or the request.
        since: Timestamp,
    },
    /// The controller's Lease was not renewed for [`LEASE_TIMEOUT`](super::LEASE_TIMEOUT).
    LeaseNotRenewed {
        /// The controller.
        controller: &'static str,
        /// Time of the last renewal of its Lease.
        since: Timestamp,
    },
}

impl fmt::Display for Silence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoAnswer { controller, since } => write!(
                f,
                "{controller} has not responded to a change or request of {since:.0}, and changed no other object of \
                 the kind for {RESPONSE_TIMEOUT:#}"
            ),
            Self::LeaseNotRenewed { controller, since } => {
                write!(
                    f,
                    "{controller} has not renewed its Lease {controller}-leader-election since {since:.0}"
                )
            }
        }
    }
}

impl Verdict {
    /// Judges by the rows that every table begins with, which trust nothing in the status; `None` if none of them
    /// applies.
    pub(super) fn before_status(object: &FluxObject, expected: &Expected) -> Option<Self> {
        if object.metadata.terminating {
            Some(Self::Terminating)
        } else if object.suspended {
            Some(Self::Suspended)
        } else if object.spec_digest != expected.spec_digest {
            Some(Self::Foreign { manager: object.metadata.foreign_manager().map(str::to_owned), wait: None })
        } else {
            None
        }
    }

    /// Returns the verdict on an object whose repair waits, if one does: the status that Flux reports is about what another
    /// client wrote.
    #[must_use]
    pub fn waiting_for(self, repair: Option<&Wait>) -> Self {
        match (self, repair) {
            (Self::Terminating, _) => Self::Terminating,
            (Self::Suspended, _) => Self::Suspended,
            (_, Some(wait)) => Self::Foreign { manager: wait.manager.clone(), wait: Some(wait.clone()) },
            (verdict, None) => verdict,
        }
    }

    /// Creates the verdict for a failure that Flux gave up on: with the message of `Stalled`, and that of `Ready`,
    /// which names the cause.
    pub(super) fn stalled(object: &FluxObject, stalled: &Condition) -> Self {
        let ready =
            object.current_with("Ready", Status::False).filter(|ready| ready.message != stalled.message);
        let message = join_messages([Some(stalled), ready]);
        Self::Failed { class: Class::Terminal, reason: stalled.reason.clone(), message }
    }

    /// Creates the verdict for a failure that Flux retries, with the message of `Ready`.
    pub(super) fn failing(ready: &Condition) -> Self {
        if let Some(waiting) = Self::without_kubeconfig(&ready.message, None) {
            return waiting;
        }
        Self::Failed { class: Class::Transient, reason: ready.reason.clone(), message: ready.message.clone() }
    }

    /// Creates the verdict for a wait for the Secret with the kubeconfig, if a message reports it as missing.
    pub(super) fn without_kubeconfig(message: &str, last_good: Option<String>) -> Option<Self> {
        let message = cause::missing_kubeconfig(message)?;
        Some(Self::Waiting { reason: Reason::KubeConfigNotFound.to_string(), message, last_good })
    }

    /// Whether the state stays until a user or another controller acts: deadlines do not run meanwhile.
    #[must_use]
    pub fn is_settled(&self) -> bool {
        matches!(self, Self::Applied | Self::Drifted { .. } | Self::Fetched | Self::Suspended)
    }

    /// Whether the controller has to act next.
    #[must_use]
    pub fn awaits_applier(&self) -> bool {
        match self {
            Self::RolledBack { exhausted, .. } => !exhausted,
            Self::Failed { class, .. } => *class == Class::Transient,
            Self::Waiting { .. } | Self::Pending | Self::Retrying { .. } | Self::Progressing { .. } => true,
            Self::Terminating
            | Self::Suspended
            | Self::Foreign { .. }
            | Self::Applied
            | Self::Drifted { .. }
            | Self::Fetched
            | Self::ApplierUnavailable(_) => false,
        }
    }
}

impl Moment {
    /// Creates a moment with this time, an unknown controller and the default deadline.
    #[must_use]
    pub fn at(now: Timestamp) -> Self {
        Self { now, applier: Applier::unknown(), deadline: DEADLINE }
    }

    /// Creates a moment for a reader who does not know whether the controller acts: its silence is not judged.
    #[must_use]
    pub fn of_reader(controller: &'static str, now: Timestamp) -> Self {
        Self {
            applier: Applier { name: controller, pulse: Pulse::Unknown { moved: Some(now) } },
            ..Self::at(now)
        }
    }

    /// Returns the sign that the controller of the object is dead, whatever its objects wait for; `None` if there is
    /// none.
    #[must_use]
    pub fn dead(&self) -> Option<Silence> {
        match self.applier.pulse {
            Pulse::Dead { since } => Some(Silence::LeaseNotRenewed { controller: self.applier.name, since }),
            Pulse::Alive | Pulse::Unknown { .. } => None,
        }
    }

    /// Applies the time limits to the verdict from the object's status alone: one that has passed overrides it.
    pub(super) fn judge(&self, verdict: Verdict, object: &FluxObject, expected: &Expected) -> Verdict {
        if matches!(verdict, Verdict::Terminating | Verdict::Suspended | Verdict::Foreign { .. }) {
            return verdict;
        }
        match self.silence(&verdict, object, expected) {
            Some(silence) => Verdict::ApplierUnavailable(silence),
            None if self.now >= self.deadline_of(expected) => self.overdue(verdict, object),
            None => verdict,
        }
    }

    /// Returns the time from which an object with this expectation is late.
    pub(super) fn deadline_of(&self, expected: &Expected) -> Timestamp {
        expected.since.saturating_add(self.deadline).unwrap_or(Timestamp::MAX)
    }

    /// Returns the time at which the verdict may change without a change of the object: the next of the time limits.
    #[must_use]
    pub fn next_limit(&self, verdict: &Verdict, since: Timestamp) -> Option<Timestamp> {
        if let Verdict::Foreign { wait: Some(wait), .. } = verdict {
            return Some(wait.until);
        }
        let after = |time: Timestamp, limit| time.saturating_add(limit).unwrap_or(Timestamp::MAX);
        // A renewal of a Lease is seen as soon as the Lease changes.
        let silent = match self.applier.pulse {
            Pulse::Unknown { moved } => {
                Some(after(moved.map_or(since, |moved| moved.max(since)), RESPONSE_TIMEOUT))
            }
            Pulse::Alive | Pulse::Dead { .. } => None,
        };
        let limits = silent.into_iter().chain([after(since, self.deadline)]);
        limits.filter(|limit| verdict.awaits_applier() && *limit > self.now).min()
    }

    fn silence(&self, verdict: &Verdict, object: &FluxObject, expected: &Expected) -> Option<Silence> {
        let controller = self.applier.name;
        match self.applier.pulse {
            Pulse::Alive => None,
            Pulse::Dead { .. } => self.dead().filter(|_| verdict.awaits_applier()),
            Pulse::Unknown { moved } => {
                let is_over = |since: Timestamp| self.now.duration_since(since) >= RESPONSE_TIMEOUT;
                let pending = (*verdict == Verdict::Pending).then_some(expected.since);
                let since = pending.or_else(|| unhandled_since(object))?;
                (is_over(since) && moved.is_none_or(is_over))
                    .then_some(Silence::NoAnswer { controller, since })
            }
        }
    }

    /// Returns the verdict after the deadline. A failure keeps its reason, which is its cause, also while Flux tries again: all
    /// verdicts that can alternate then become the same.
    fn overdue(&self, verdict: Verdict, object: &FluxObject) -> Verdict {
        let failed = ["Released", "Healthy"].iter().find_map(|kind| object.current_with(kind, Status::False));
        let last = || failed.map_or(Reason::DeadlineExceeded.to_string(), |failed| failed.reason.clone());
        let (reason, message) = match verdict {
            Verdict::Failed { class: Class::Transient, reason, message } => (reason, message),
            Verdict::Waiting { ref reason, .. } if !WAITS_FOR_OTHERS.contains(&reason.as_str()) => {
                (reason.clone(), verdict.message())
            }
            Verdict::Retrying { message, .. } | Verdict::Progressing { message, .. } => (last(), message),
            Verdict::Pending => (last(), format!("{} has not reported a reconciliation", self.applier.name)),
            other => return other,
        };
        let message = format!("{OVERDUE}{:#}: {message}", self.deadline);
        Verdict::Failed { class: Class::Transient, reason, message }
    }
}

/// Joins the messages of the existing conditions.
pub(super) fn join_messages<const COUNT: usize>(conditions: [Option<&Condition>; COUNT]) -> String {
    let messages = conditions.into_iter().flatten().map(|condition| condition.message.as_str());
    messages.filter(|message| !message.is_empty()).collect::<Vec<_>>().join(": ")
}

/// Returns Flux's message about its progress.
pub(super) fn doing(object: &FluxObject) -> String {
    let reconciling = object.conditions.with("Reconciling", Status::True);
    let condition = reconciling.or_else(|| object.conditions.get("Ready"));
    condition.map(|condition| condition.message.clone()).unwrap_or_default()
}

/// Returns the time since which a request to reconcile was not handled. Flux notes it only at the end of a
/// reconciliation, so while Flux reconciles nothing is overdue. A value that is not a time was not written by us and
/// does not count.
fn unhandled_since(object: &FluxObject) -> Option<Timestamp> {
    let requested = object.metadata.requested_at.as_ref()?;
    let handled = object.last_handled_reconcile_at.as_ref() == Some(requested);
    let at_work =
        object.conditions.with("Reconciling", Status::True).is_some_and(|now| now.reason == "Progressing");
    if handled || at_work { None } else { requested.parse().ok() }
}
