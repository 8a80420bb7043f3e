//! `stackflux.holds.yaml`: releases that must not go to a stage, because they were rolled back there. Whatever promotes or
//! publishes looks at it.
//!
//! A file of its own, and not a part of `stackflux.yaml`: that one is written by people, with comments and in an order
//! that a program would have to keep. It lies at the root of the branch of the stage, so that a rollback and its hold
//! are one commit.

use schemars::JsonSchema;
use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};
use serde_json::json;
use serde_yaml::Spanned;

use super::stages::Stages;
use super::yaml::{self, Problem, Problems};
use crate::names::ReleaseName;
use crate::plan::canonical;

/// The file, at the root of the branch of the stages whose holds it has.
pub const FILE: &str = "stackflux.holds.yaml";

/// The most holds of a branch.
const MAX_HOLDS: usize = 1000;

const HEAD: &str = "\
# Releases that must not come to a stage. `stackflux rollback` adds to them, `stackflux promote --lift-hold` removes.
";

/// `stackflux.holds.yaml`, at the root of a branch of a stack repository.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct HoldsFile {
    /// The releases that are held.
    pub holds: Vec<Hold>,
}

/// A release that must not come to a stage.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Hold {
    /// The name of the release.
    pub release: String,
    /// The stage that it must not come to.
    pub stage: String,
    /// Why, in a person's words.
    pub reason: String,
    /// The commit that had brought it to the stage. `git log` and `stackflux history` say when it was taken back.
    pub commit: String,
}

/// The holds of a branch, in the order in which they were made.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Holds(Vec<Hold>);

impl Holds {
    /// Reads the file; no holds where there is none. A hold on a stage that is not among `stages` would hold nothing back,
    /// and is refused; `None` where they are not known.
    pub fn parse(content: Option<&[u8]>, stages: Option<&Stages>) -> Result<Self, Problems> {
        let Some(content) = content else { return Ok(Self::default()) };
        let source = yaml::text(FILE, content)?;
        let HoldsFile { holds } = yaml::read(FILE, source)?;
        if holds.len() > MAX_HOLDS {
            let message = format!("holds exceeds the limit of {MAX_HOLDS} entries: it has {}", holds.len());
            return Err(Problem::of(FILE, message).into());
        }
        // The same once more for the places.
        let Places { holds: places } = yaml::read(FILE, source)?;
        let problems: Vec<Problem> = holds
            .iter()
            .zip(&places)
            .filter_map(|(hold, place)| {
                let message = problem(hold, stages)?;
                Some(Problem::at(FILE, source, place.referenced.line(), message))
            })
            .collect();
        if problems.is_empty() { Ok(Self(holds)) } else { Err(Problems(problems)) }
    }

    /// The holds on a release, in whichever stage.
    pub fn of(&self, release: &ReleaseName) -> impl Iterator<Item = &Hold> {
        let release = release.to_string();
        self.0.iter().filter(move |hold| hold.release == release)
    }

    /// The hold on a release in a stage.
    #[must_use]
    pub fn on(&self, release: &ReleaseName, stage: &str) -> Option<&Hold> {
        self.of(release).find(|hold| hold.stage == stage)
    }

    /// The same with a hold more. One on the same release in the same stage is replaced.
    #[must_use]
    pub fn with(&self, release: &ReleaseName, stage: &str, reason: &str, commit: &str) -> Self {
        let (release, stage) = (release.to_string(), stage.to_owned());
        let mut holds: Vec<Hold> = self
            .0
            .iter()
            .filter(|hold| (&hold.release, &hold.stage) != (&release, &stage))
            .cloned()
            .collect();
        // One line: it is told again wherever the release is refused.
        let reason = reason.split_whitespace().collect::<Vec<_>>().join(" ");
        holds.push(Hold { release, stage, reason, commit: commit.to_owned() });
        Self(holds)
    }

    /// The same without the hold on a release in a stage.
    #[must_use]
    pub fn without(&self, release: &ReleaseName, stage: &str) -> Self {
        Self(self.0.iter().filter(|hold| !is_on(hold, release, stage)).cloned().collect())
    }

    /// The text of the file; `None` where nothing is held, and no file needed.
    #[must_use]
    pub fn to_yaml(&self) -> Option<String> {
        let yaml = || format!("{HEAD}{}", canonical::to_yaml(&json!({"holds": self.0})));
        (!self.0.is_empty()).then(yaml)
    }
}

/// Where each hold stands in the file.
#[derive(Deserialize)]
struct Places {
    holds: Vec<Spanned<IgnoredAny>>,
}

/// Why a hold holds nothing back.
fn problem(hold: &Hold, stages: Option<&Stages>) -> Option<String> {
    let release = hold.release.parse::<ReleaseName>().err().map(|error| error.to_string());
    release.or_else(|| stages?.stage(&hold.stage).err().map(|error| error.to_string()))
}

fn is_on(hold: &Hold, release: &ReleaseName, stage: &str) -> bool {
    hold.stage == stage && hold.release == release.to_string()
}

#[cfg(test)]
mod tests;
