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

/// The file, at the root of the repository.
pub const FILE: &str = "stackflux.yaml";

/// The most stages of a repository, and the most inputs of a stage.
const MAX_ENTRIES: usize = 64;

/// `stackflux.yaml`, at the root of a stack repository.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct StagesFile {
    /// The stages that a release goes through.
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
    /// How long the clusters of the stage before must have been ready with a release, such as `24h`. Absent, their
    /// status is not asked for.
    #[serde(default)]
    pub soak: Option<Duration>,
    /// Files and directories, on the branch of the stage, with the ClusterStacks of this stage, its Clusters and the
    /// objects that these refer to: what the effect of a promotion is planned for.
    #[serde(default)]
    pub inputs: Vec<String>,
}

fn default_path() -> String {
    "releases".to_owned()
}

impl Stage {
    /// How long the clusters of the stage before must have been ready; `None` where their status is not asked for.
    #[must_use]
    pub fn required_soak(&self) -> Option<SignedDuration> {
        // What api::Duration lets through jiff reads; what it could not read would be asked for without end.
        self.soak.as_ref().map(|soak| soak.as_str().parse().unwrap_or(SignedDuration::MAX))
    }

    /// The directory of a release of this stage.
    #[must_use]
    pub fn release_path(&self, release: &ReleaseName) -> String {
        format!("{}/{release}", self.path)
    }
}

/// The stages of a repository: names are unique, each stage has a directory of its own, and none comes after itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stages(Vec<Stage>);

/// Why a release cannot go from one stage to another.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StageError {
    /// There is no stage of that name.
    #[error("{FILE} has no stage {name:?}; it has {}", stages.join(", "))]
    Unknown {
        /// The name.
        name: String,
        /// The stages that there are.
        stages: Vec<String>,
    },
    /// Nothing is promoted to that stage.
    #[error("stage {0:?} comes after no other: releases are published to it, not promoted")]
    First(String),
    /// Another stage is in between, or comes later.
    #[error("stage {to:?} comes after {after:?}, not after {from:?}: promote from {after:?}")]
    NotNext {
        /// The stage that was named as the source.
        from: String,
        /// The stage that was named as the target.
        to: String,
        /// What `stackflux.yaml` has before the target.
        after: String,
    },
}

impl Stages {
    /// Reads the file and checks it whole; everything that is wrong besides YAML is told at once. `file` is what the
    /// file is called in that; `branch` the one of stages that name none, where that is known.
    pub fn parse(file: &str, content: &[u8], branch: Option<&str>) -> Result<Self, Problems> {
        let source = yaml::text(file, content)?;
        let StagesFile { stages } = yaml::read(file, source)?;
        // The same once more for the places: what is wrong between stages has no place of its own.
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

    /// All stages in the order of the file.
    pub fn iter(&self) -> impl Iterator<Item = &Stage> {
        self.0.iter()
    }

    /// The stage of this name.
    pub fn stage(&self, name: &str) -> Result<&Stage, StageError> {
        self.0.iter().find(|stage| stage.name == name).ok_or_else(|| StageError::Unknown {
            name: name.to_owned(),
            stages: self.0.iter().map(|stage| stage.name.clone()).collect(),
        })
    }

    /// The stages whose releases are in this directory of this branch; `None` is whichever branch there is.
    ///
    /// A stage without a branch is on that of the file, which is taken to be this one.
    pub fn at<'a>(&'a self, path: &'a str, branch: Option<&'a str>) -> impl Iterator<Item = &'a Stage> {
        let is_here = move |stage: &&Stage| {
            let both = stage.branch.as_deref().zip(branch);
            stage.path == path && both.is_none_or(|(of_stage, branch)| of_stage == branch)
        };
        self.0.iter().filter(is_here)
    }

    /// The two stages of a promotion. Without `from` it is the stage before `to`.
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

/// Where each stage stands in the file.
#[derive(Deserialize)]
struct Places {
    stages: Vec<Spanned<serde::de::IgnoredAny>>,
}

/// What is wrong: the stage's number in the file, and what it is.
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

/// What is wrong with a stage by itself.
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

/// Whether Git takes it as the name of a branch (`git help check-ref-format`), as far as a person would write one.
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

/// Whether one stage's directory is the other's, or in it, on the same branch.
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
        // A circle further up is told of its own stages.
        if !seen.insert(&other.name) {
            return None;
        }
        before = other.after.as_deref().and_then(named);
    }
    None
}

#[cfg(test)]
mod tests;
