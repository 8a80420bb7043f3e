//! The reasons to refuse a promotion or a rollback.

use std::collections::BTreeSet;

use super::holds::{self, Hold};
use super::stages::Stage;
use crate::names::ReleaseName;

/// Maximum number of releases that an error lists.
const MAX_LISTED: usize = 10;

/// A reason to refuse a promotion or a rollback.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// The stage does not have the release.
    #[error("stage {stage} has no release {release} in {path}; it has {has}")]
    NotThere {
        /// The stage.
        stage: String,
        /// The release.
        release: String,
        /// The directory of the stage.
        path: String,
        /// The stage's releases of the same stack.
        has: String,
    },
    /// The target stage has different content under this name.
    #[error(
        "stage {stage} has {release} already, with other content: a release never changes once it is written"
    )]
    OtherContent {
        /// The stage.
        stage: String,
        /// The release.
        release: String,
    },
    /// The release was rolled back from the stage.
    #[error("{release} is held back from stage {stage}: {reason}")]
    Held {
        /// The stage.
        stage: String,
        /// The release.
        release: String,
        /// The reason of the hold.
        reason: String,
    },
    /// The release is not held, so there is no hold to lift.
    #[error("{release} is not held back from stage {stage}: there is nothing to lift")]
    NotHeld {
        /// The stage.
        stage: String,
        /// The release.
        release: String,
    },
    /// No commit added a release that the stage still has.
    #[error("stage {0} has none of the releases that were brought to it: there is nothing to roll back")]
    Nothing(String),
    /// The last commit is already a rollback, possibly the requested one.
    #[error("the last commit to stage {stage} is a rollback of {releases}")]
    RolledBack {
        /// The stage.
        stage: String,
        /// The releases that it removed.
        releases: String,
    },
    /// One commit added several releases.
    #[error("the last commit that brought releases to stage {stage} brought several: {releases}")]
    Several {
        /// The stage.
        stage: String,
        /// The releases.
        releases: String,
    },
}

impl Refusal {
    /// Creates the refusal of a release that the stage does not have.
    #[must_use]
    pub fn not_there(stage: &Stage, release: &ReleaseName, releases: &BTreeSet<ReleaseName>) -> Self {
        let same: Vec<&ReleaseName> = releases.iter().filter(|other| other.same_line(release)).collect();
        let mut has: Vec<String> = same.iter().rev().take(MAX_LISTED).map(ToString::to_string).collect();
        if same.len() > MAX_LISTED {
            has.push("…".to_owned());
        }
        let has = if has.is_empty() { "none of its stack".to_owned() } else { has.join(", ") };
        let (stage, path) = (stage.name.clone(), stage.path.clone());
        Self::NotThere { stage, release: release.to_string(), path, has }
    }

    /// Creates the refusal of a release that is held.
    #[must_use]
    pub fn held(hold: &Hold) -> Self {
        let Hold { release, stage, reason, .. } = hold.clone();
        Self::Held { stage, release, reason }
    }

    /// Returns what to do about the refusal.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::NotThere { .. } => Some("publish it, or promote it to that stage first".to_owned()),
            Self::OtherContent { .. } => Some("publish the new content as another release".to_owned()),
            Self::Held { .. } => Some(format!(
                "once that is solved, promote with --lift-hold, or remove the entry from {}",
                holds::FILE
            )),
            Self::NotHeld { .. } => Some("promote without --lift-hold".to_owned()),
            Self::Several { .. } => Some("name one of them with --release".to_owned()),
            Self::RolledBack { .. } => {
                Some("to roll back another release, name it with --release".to_owned())
            }
            Self::Nothing(_) => None,
        }
    }
}
