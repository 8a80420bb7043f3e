//! Finds holds: a release that was rolled back from a stage must not be published there again.

use super::PublishError;
use crate::names::ReleaseName;
use crate::promote::holds::{self, Hold, Holds};
use crate::promote::stages::{self, Stages};
use crate::promote::yaml::Problems;

/// A directory of releases in a stack repository.
pub(super) struct HoldScope<'a> {
    /// The stack repository, for messages.
    pub(super) repository: &'a str,
    /// The branch; `None` if it is the current one of a work tree.
    pub(super) branch: Option<&'a str>,
    /// The directory, from the root of the repository.
    pub(super) directory: &'a str,
}

/// Returns the hold on a release in the stage that has this directory. `read` reads a file at the root of the repository.
///
/// Without a `stackflux.yaml` beside it, every hold counts: then the branch is a stage's own.
pub(super) fn held(
    name: &ReleaseName,
    place: &HoldScope,
    read: impl Fn(&str) -> Result<Option<Vec<u8>>, PublishError>,
) -> Result<Option<Hold>, PublishError> {
    let broken = |problems: Problems| PublishError::Place {
        place: place.repository.to_owned(),
        why: problems.to_string(),
    };
    let Some(text) = read(holds::FILE)? else { return Ok(None) };
    let stages = read(stages::FILE)?.map(|text| Stages::parse(stages::FILE, &text, None));
    let stages = stages.transpose().map_err(broken)?;
    let holds = Holds::parse(Some(&text), stages.as_ref()).map_err(broken)?;
    let is_here = |hold: &&Hold| {
        let here =
            |stages: &Stages| stages.at(place.directory, place.branch).any(|stage| stage.name == hold.stage);
        stages.as_ref().is_none_or(here)
    };
    Ok(holds.of(name).find(is_here).cloned())
}

#[cfg(test)]
mod tests;
