//! `stackflux.holds.yaml`: releases that must not be added to a stage, because they were rolled back from it. Promotion
//! and publishing check this file.
//!
//! The holds have a file of their own because `stackflux.yaml` is written by hand, with comments and an order that a
//! program would have to preserve. The file is at the root of the stage's branch, so that a rollback and its hold are
//! one commit.

use schemars::JsonSchema;
use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};
use serde_json::json;
use serde_yaml::Spanned;

use super::stages::Stages;
use super::yaml::{self, Problem, Problems};
use crate::names::ReleaseName;
use crate::plan::canonical;

/// The name of the file, at the root of the branch of the stages that its holds are for.
pub const FILE: &str = "stackflux.holds.yaml";

/// Maximum number of holds on a branch.
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

/// A release that must not be added to a stage.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Hold {
    /// The name of the release.
    pub release: String,
    /// The stage that the release must not be added to.
    pub stage: String,
    /// The reason for the hold, as free text.
    pub reason: String,
    /// The commit that added the release to the stage. `stackflux history` shows when the release was removed.
    pub commit: String,
}

/// The holds on a branch, in the order in which they were added.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Holds(Vec<Hold>);

impl Holds {
    /// Reads the file; `content` is `None` if there is no file, and then there are no holds. Refuses a hold on a stage
    /// that is not among `stages`, because it would have no effect; `stages` is `None` if the stages are unknown.
    pub fn parse(content: Option<&[u8]>, stages: Option<&Stages>) -> Result<Self, Problems> {
        let Some(content) = content else { return Ok(Self::default()) };
        let source = yaml::text(FILE, content)?;
        let HoldsFile { holds } = yaml::read(FILE, source)?;
        if holds.len() > MAX_HOLDS {
            let message = format!("holds exceeds the limit of {MAX_HOLDS} entries: it has {}", holds.len());
            return Err(Problem::of(FILE, message).into());
        }
        // Read again for the positions.
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

    /// Returns the holds on a release in any stage.
    pub fn of(&self, release: &ReleaseName) -> impl Iterator<Item = &Hold> {
        let release = release.to_string();
        self.0.iter().filter(move |hold| hold.release == release)
    }

    /// Returns the hold on a release in a stage.
    #[must_use]
    pub fn on(&self, release: &ReleaseName, stage: &str) -> Option<&Hold> {
        self.of(release).find(|hold| hold.stage == stage)
    }

    /// Returns the holds with another one. A hold on the same release in the same stage is replaced.
    #[must_use]
    pub fn with(&self, release: &ReleaseName, stage: &str, reason: &str, commit: &str) -> Self {
        let (release, stage) = (release.to_string(), stage.to_owned());
        let mut holds: Vec<Hold> = self
            .0
            .iter()
            .filter(|hold| (&hold.release, &hold.stage) != (&release, &stage))
            .cloned()
            .collect();
        // One line, because every refusal of the release repeats it.
        let reason = reason.split_whitespace().collect::<Vec<_>>().join(" ");
        holds.push(Hold { release, stage, reason, commit: commit.to_owned() });
        Self(holds)
    }

    /// Returns the holds without that on a release in a stage.
    #[must_use]
    pub fn without(&self, release: &ReleaseName, stage: &str) -> Self {
        Self(self.0.iter().filter(|hold| !is_on(hold, release, stage)).cloned().collect())
    }

    /// Returns the text of the file; `None` if there are no holds, so that no file is needed.
    #[must_use]
    pub fn to_yaml(&self) -> Option<String> {
        let yaml = || format!("{HEAD}{}", canonical::to_yaml(&json!({"holds": self.0})));
        (!self.0.is_empty()).then(yaml)
    }
}

/// The position of each hold in the file.
#[derive(Deserialize)]
struct Places {
    holds: Vec<Spanned<IgnoredAny>>,
}

/// Returns the reason why a hold has no effect; `None` if it has one.
fn problem(hold: &Hold, stages: Option<&Stages>) -> Option<String> {
    let release = hold.release.parse::<ReleaseName>().err().map(|error| error.to_string());
    release.or_else(|| stages?.stage(&hold.stage).err().map(|error| error.to_string()))
}

fn is_on(hold: &Hold, release: &ReleaseName, stage: &str) -> bool {
    hold.stage == stage && hold.release == release.to_string()
}

#[cfg(test)]
mod tests;
