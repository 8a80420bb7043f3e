//! Why a release does not go to a stage, or does not come back from it.

use std::collections::BTreeSet;

use super::holds::{self, Hold};
use super::stages::Stage;
use crate::names::ReleaseName;

/// How many releases an error names.
const MAX_LISTED: usize = 10;

/// Why a release stays where it is.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// The stage does not have it.
    #[error("stage {stage} has no release {release} in {path}; it has {has}")]
    NotThere {
        /// The stage.
        stage: String,
        /// The release.
        release: String,
        /// The directory of the stage.
        path: String,
        /// What it has of the same stack.
        has: String,
    },
    /// The next stage has something else under this name.
    #[error(
        "stage {stage} has {release} already, with other content: a release never changes once it is written"
    )]
    OtherContent {
        /// The stage.
        stage: String,
        /// The release.
        release: String,
    },
    /// It was rolled back there.
    #[error("{release} is held back from stage {stage}: {reason}")]
    Held {
        /// The stage.
        stage: String,
        /// The release.
        release: String,
        /// The reason of the hold.
        reason: String,
    },
    /// It is not held, so that nothing can be lifted.
    #[error("{release} is not held back from stage {stage}: there is nothing to lift")]
    NotHeld {
        /// The stage.
        stage: String,
        /// The release.
        release: String,
    },
    /// No commit says what to roll back.
    #[error("stage {0} has none of the releases that were brought to it: there is nothing to roll back")]
    Nothing(String),
    /// The last thing that happened is a rollback, which may be the one that is wanted.
    #[error("the last commit to stage {stage} is a rollback of {releases}")]
    RolledBack {
        /// The stage.
        stage: String,
        /// What it took back.
        releases: String,
    },
    /// One commit brought several.
    #[error("the last commit that brought releases to stage {stage} brought several: {releases}")]
    Several {
        /// The stage.
        stage: String,
        /// The releases.
        releases: String,
    },
}

impl Refusal {
    /// A release that a stage does not have.
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

    /// A release that is held.
    #[must_use]
    pub fn held(hold: &Hold) -> Self {
        let Hold { release, stage, reason, .. } = hold.clone();
        Self::Held { stage, release, reason }
    }

    /// What to do about it.
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
