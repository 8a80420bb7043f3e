//! The cause of a failure while Flux tries again: its status then says nothing about it, but ours does.

use super::verdict::{OVERDUE, Verdict};
use crate::api::cluster_addon::AddonStatus;
use crate::api::conditions::Reason;
use crate::error::Class;

/// The message while Flux tries again what has failed.
const TRIES_AGAIN: &str = "Flux tries again";

/// What was reported of an object.
#[derive(Clone, Copy, Debug)]
pub struct Reported<'a> {
    /// The state.
    pub phase: &'a str,
    /// The reason.
    pub reason: &'a str,
    /// The sentence.
    pub message: &'a str,
}

impl<'a> Reported<'a> {
    /// Reads what was reported of the object of an addon.
    #[must_use]
    pub fn of(addon: &'a AddonStatus) -> Option<Self> {
        let (phase, reason) = (addon.phase.as_deref()?, addon.reason.as_deref()?);
        Some(Self { phase, reason, message: addon.message.as_deref()? })
    }
}

impl Verdict {
    /// Creates the verdict for an object whose last attempt failed with this reason, while Flux tries again.
    pub(super) fn tries_again(reason: &str) -> Self {
        Self::Failed { class: Class::Transient, reason: reason.to_owned(), message: TRIES_AGAIN.to_owned() }
    }

    /// Keeps the cause that was reported of an object before: while Flux tries again, its status says nothing about it.
    #[must_use]
    pub fn with_cause_of(self, reported: Option<Reported>) -> Self {
        let Self::Failed { class, reason, message } = &self else { return self };
        let Some(Reported { phase, reason: before, message: said }) = reported else { return self };
        let is_unknown = |reason: &str| reason == Reason::DeadlineExceeded.as_str();
        let (is_late, was_late) = (message.starts_with(OVERDUE), said.starts_with(OVERDUE));
        let is_silent = message.ends_with(TRIES_AGAIN) || (is_unknown(reason) && was_late);
        let said = match (is_late, was_late) {
            (true, false) => message.replace(TRIES_AGAIN, said),
            (false, true) => return self,
            (true, true) | (false, false) => said.to_owned(),
        };
        if !is_silent || is_unknown(before) {
            self
        } else if phase == Reason::Failed.as_str() {
            Self::Failed { class: *class, reason: before.to_owned(), message: said }
        } else if phase == Reason::Waiting.as_str() {
            Self::Waiting { reason: before.to_owned(), message: said, last_good: None }
        } else {
            self
        }
    }
}
