//! `stackflux.yaml`: the stages of a stack repository, in their order.

use std::collections::BTreeSet;

use jiff::SignedDuration;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_yaml::Spanned;

use super::yaml::{self, Problem, Problems};
use crate::api::Duration;
use crate::names::ReleaseName;
use crate::release::files::check_path;

/// The name of the file, at the root of the repository.
pub const FILE: &str = "stackflux.yaml";

/// Maximum number of stages in a repository, and of inputs of a stage.
const MAX_ENTRIES: usize = 64;

/// `stackflux.yaml`, at the root of a stack repository.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct StagesFile {
    /// The stages that a release passes through.
    pub stages: Vec<Stage>,
}

/// One stage: where its releases are, and what comes before it.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Stage {
    /// The name: lower-case letters, digits and `-`.
    pub name: String,
    /// The directory that holds one directory per release: `source.git.path` of the ClusterStacks of this stage.
    #[serde(default = "default_path")]
    pub path: String,
    /// The branch that holds that directory: `source.git.ref.branch` of the ClusterStacks of this stage. The branch of
    /// this file when absent.
    #[serde(default)]
    pub branch: Option<String>,
    /// The stage that releases are promoted from. Absent for a stage that releases are published to.
    #[serde(default)]
    pub after: Option<String>,
    /// Minimum time for which the clusters of the previous stage must have been ready with a release, such as `24h`. By
    /// default, their status is not queried.
    #[serde(default)]
    pub soak: Option<Duration>,
    /// Files and directories on the branch of the stage. They contain the objects for which stackflux plans the effect of
    /// a promotion: the ClusterStacks of this stage, its Clusters, and the objects that these refer to.
    #[serde(default)]
    pub inputs: Vec<String>,
}

fn default_path() -> String {
    "releases".to_owned()
}

impl Stage {
    /// Returns how long the clusters of the previous stage must have been ready; `None` if they are not checked.
    #[must_use]
    pub fn required_soak(&self) -> Option<SignedDuration> {
        // jiff parses every valid api::Duration; one that it could not parse would require an unlimited soak.
        self.soak.as_ref().map(|soak| soak.as_str().parse().unwrap_or(SignedDuration::MAX))
    }

    /// Returns the directory of a release in this stage.
    #[must_use]
    pub fn release_path(&self, release: &ReleaseName) -> String {
        format!("{}/{release}", self.path)
    }
}

/// The stages of a repository: their names are unique, each has its own directory, and none comes after itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stages(Vec<Stage>);

/// An error about the stages that a command names.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StageError {
    /// The file has no stage of this name.
    #[error("{FILE} has no stage {name:?}; it has {}", stages.join(", "))]
    Unknown {
        /// The name.
        name: String,
        /// The stages in the file.
        stages: Vec<String>,
    },
    /// The stage is the first one, so nothing is promoted to it.
    #[error("stage {0:?} comes after no other: releases are published to it, not promoted")]
    First(String),
    /// The source stage does not directly precede the target stage.
    #[error("stage {to:?} comes after {after:?}, not after {from:?}: promote from {after:?}")]
    NotNext {
        /// The stage that was named as the source.
        from: String,
        /// The stage that was named as the target.
        to: String,
        /// The stage that `stackflux.yaml` has before the target.
        after: String,
    },
}

impl Stages {
    /// Reads and checks the whole file. Except for YAML errors, all problems are reported at once. `file` is the name
    /// of the file in these reports; `branch` is the branch of stages that name none, if it is known.
    pub fn parse(file: &str, content: &[u8], branch: Option<&str>) -> Result<Self, Problems> {
        let source = yaml::text(file, content)?;
        let StagesFile { stages } = yaml::read(file, source)?;
        // Read again for the positions: problems between stages have none of their own.
        let Places { stages: places } = yaml::read(file, source)?;
        let problems: Vec<Problem> = problems(&stages, branch)
            .into_iter()
            .map(|(at, message)| match places.get(at) {
                Some(place) => Problem::at(file, source, place.referenced.line(), message),
                None => Problem::of(file, message),
            })
            .collect();
        if problems.is_empty() { Ok(Self(stages)) } else { Err(Problems(problems)) }
    }

    /// Iterates over all stages in the order of the file.
    pub fn iter(&self) -> impl Iterator<Item = &Stage> {
        self.0.iter()
    }

    /// Finds the stage with this name.
    pub fn stage(&self, name: &str) -> Result<&Stage, StageError> {
        self.0.iter().find(|stage| stage.name == name).ok_or_else(|| StageError::Unknown {
            name: name.to_owned(),
            stages: self.0.iter().map(|stage| stage.name.clone()).collect(),
        })
    }

    /// Finds the stages whose releases are in this directory of this branch, or of any branch if `branch` is `None`.
    ///
    /// A stage that names no branch matches, because it is on the branch of the file, which is taken to be this one.
    pub fn at<'a>(&'a self, path: &'a str, branch: Option<&'a str>) -> impl Iterator<Item = &'a Stage> {
        let is_here = move |stage: &&Stage| {
            let both = stage.branch.as_deref().zip(branch);
            stage.path == path && both.is_none_or(|(of_stage, branch)| of_stage == branch)
        };
        self.0.iter().filter(is_here)
    }

    /// Returns the source and the target stage of a promotion. Without `from`, the source is the stage before `to`.
    pub fn step(&self, from: Option<&str>, to: &str) -> Result<(&Stage, &Stage), StageError> {
        let to = self.stage(to)?;
        let after = to.after.as_deref().ok_or_else(|| StageError::First(to.name.clone()))?;
        let source = self.stage(from.unwrap_or(after))?;
        if source.name != after {
            let (from, to, after) = (source.name.clone(), to.name.clone(), after.to_owned());
            return Err(StageError::NotNext { from, to, after });
        }
        Ok((source, to))
    }
}

/// The position of each stage in the file.
#[derive(Deserialize)]
struct Places {
    stages: Vec<Spanned<serde::de::IgnoredAny>>,
}

/// Finds the problems of the stages: the index of the stage in the file, and the message.
fn problems(stages: &[Stage], branch: Option<&str>) -> Vec<(usize, String)> {
    if stages.is_empty() || stages.len() > MAX_ENTRIES {
        return vec![(0, format!("stages has {} entries: expected 1 to {MAX_ENTRIES}", stages.len()))];
    }
    let mut found = Vec::new();
    for (at, stage) in stages.iter().enumerate() {
        let name = &stage.name;
        let before = stages.get(..at).unwrap_or_default();
        let own = own_problems(stage);
        found.extend(own.into_iter().map(|problem| (at, format!("stage {name:?}: {problem}"))));
        if before.iter().any(|other| other.name == *name) {
            found.push((at, format!("duplicate stage {name:?}")));
        }
        if let Some(other) = before.iter().find(|other| overlap(other, stage, branch)) {
            let message = format!(
                "stage {name:?} has the directory {} and {:?} has {}: each stage needs one of its own",
                stage.path, other.name, other.path
            );
            found.push((at, message));
        }
        found.extend(order_problem(stage, stages).map(|problem| (at, problem)));
    }
    found
}

/// Finds the problems of a stage by itself.
fn own_problems(stage: &Stage) -> Vec<String> {
    let mut found = Vec::new();
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    if !(1..=63).contains(&stage.name.len()) || !stage.name.bytes().all(plain) {
        found.push("a name must have 1 to 63 lower-case letters, digits and '-'".to_owned());
    }
    for path in std::iter::once(&stage.path).chain(&stage.inputs) {
        if let Err(error) = check_path(path) {
            found.push(format!("{path:?}: {error}"));
        }
    }
    if stage.inputs.len() > MAX_ENTRIES {
        found.push(format!(
            "inputs exceeds the limit of {MAX_ENTRIES} entries: it has {}",
            stage.inputs.len()
        ));
    }
    if let Some(branch) = stage.branch.as_deref().filter(|branch| !is_branch(branch)) {
        found.push(format!("invalid branch name {branch:?}"));
    }
    if stage.soak.is_some() && stage.after.is_none() {
        found.push("soak is about the stage before, but `after` is missing".to_owned());
    }
    found
}

/// Whether Git accepts the name for a branch (`git help check-ref-format`), as far as a person would write it.
fn is_branch(name: &str) -> bool {
    let plain = |character: char| {
        !character.is_whitespace() && !character.is_control() && !"~^:?*[\\\"'".contains(character)
    };
    let part = |part: &str| {
        let ends_as_lock = part.rsplit_once('.').is_some_and(|(_, ending)| ending == "lock");
        !part.is_empty() && !part.starts_with('.') && !part.ends_with('.') && !ends_as_lock
    };
    let fits = name.len() <= 255 && !name.starts_with('-') && !name.contains("..") && !name.contains("@{");
    fits && name.chars().all(plain) && name.split('/').all(part)
}

/// Whether one stage's directory is the other's, or inside it, on the same branch.
fn overlap(one: &Stage, other: &Stage, branch: Option<&str>) -> bool {
    let within = |inner: &str, outer: &str| {
        inner.strip_prefix(outer).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    let [one_is_on, other_is_on] = [one, other].map(|stage| stage.branch.as_deref().or(branch));
    one_is_on == other_is_on && (within(&one.path, &other.path) || within(&other.path, &one.path))
}

fn order_problem(stage: &Stage, stages: &[Stage]) -> Option<String> {
    let named = |name: &str| stages.iter().find(|other| other.name == name);
    let after = stage.after.as_deref()?;
    if named(after).is_none() {
        return Some(format!("stage {:?} comes after {after:?}, which does not exist", stage.name));
    }
    let mut seen = BTreeSet::new();
    let mut before = named(after);
    while let Some(other) = before {
        if other.name == stage.name {
            return Some(format!("stage {:?} comes after itself", stage.name));
        }
        // A cycle that does not include this stage is reported for its own stages.
        if !seen.insert(&other.name) {
            return None;
        }
        before = other.after.as_deref().and_then(named);
    }
    None
}

#[cfg(test)]
mod tests;
