//! The releases that must not come: they were taken back from the stage that has the directory of the releases.

use super::PublishError;
use crate::names::ReleaseName;
use crate::promote::holds::{self, Hold, Holds};
use crate::promote::stages::{self, Stages};
use crate::promote::yaml::Problems;

/// A directory of releases, and the stack repository that it is in.
pub(super) struct GitTarget<'a> {
    /// The stack repository, for people.
    pub(super) repository: &'a str,
    /// The branch; `None` where it is whichever a work tree has.
    pub(super) branch: Option<&'a str>,
    /// The directory, from the top of the repository.
    pub(super) directory: &'a str,
}

/// The hold on a release in the stage that has this directory. `read` gives the files at the top of the repository.
///
/// Without a `stackflux.yaml` beside it a hold counts for whichever stage it is: the branch is a stage's own then.
pub(super) fn held(
    name: &ReleaseName,
    place: &GitTarget,
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
