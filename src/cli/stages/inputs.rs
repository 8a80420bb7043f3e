//! The inputs of a stage: its `ClusterStacks`, its Clusters and the objects that these refer to, from the files that
//! `stackflux.yaml` and the command line name.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::api::{self, ClusterStack};
use crate::cli::clusters;
use crate::cli::error::CliError;
use crate::cli::git_access::explain;
use crate::cli::objects::{self, Sourced};
use crate::foreign::capi::text;
use crate::git::Snapshot;
use crate::inputs::ClusterInputs;
use crate::names::ReleaseName;
use crate::promote::compare::Target;
use crate::promote::follow::StageTarget;
use crate::promote::stages::Stage;
use crate::release::Limits;

/// The objects of a stage.
#[derive(Default)]
pub(in crate::cli) struct Inputs {
    stacks: Vec<ClusterStack>,
    clusters: Vec<ClusterInputs>,
    objects: Vec<Value>,
}

impl Inputs {
    /// Reads the files that the stage names, then those of the command line. If both have an object, the one of the
    /// command line is used.
    pub(in crate::cli) fn read(
        snapshot: &Snapshot,
        stage: &Stage,
        more: &[PathBuf],
    ) -> Result<Self, CliError> {
        let mut found = Vec::new();
        for path in &stage.inputs {
            of_repository(snapshot, stage, path, &mut found)?;
        }
        found.extend(objects::read(more)?);
        let found = latest(found);
        let is_stack = |object: &Value| {
            let group = text(object, &["apiVersion"]).split('/').next();
            text(object, &["kind"]) == "ClusterStack" && group == Some(api::GROUP)
        };
        let stacks = found.iter().filter(|sourced| is_stack(&sourced.object));
        let stack = |sourced: &Sourced| {
            let yaml = serde_json::to_string(&sourced.object)?;
            ClusterStack::from_yaml(&yaml).map_err(|error| CliError::io(&sourced.file, error))
        };
        Ok(Self {
            stacks: stacks.map(stack).collect::<Result<_, _>>()?,
            clusters: clusters::among(&found)?,
            objects: found.into_iter().map(|sourced| sourced.object).collect(),
        })
    }

    /// Combines the inputs with the stage's releases.
    pub(in crate::cli) fn target<'a>(
        &'a self,
        place: StageTarget<'a>,
        releases: &'a BTreeSet<ReleaseName>,
    ) -> Target<'a> {
        let Self { stacks, clusters, objects } = self;
        Target { place, releases, stacks, clusters, objects }
    }
}

/// Adds the objects of a file on the stage's branch, or of the YAML and JSON files of a directory.
fn of_repository(
    snapshot: &Snapshot,
    stage: &Stage,
    path: &str,
    found: &mut Vec<Sourced>,
) -> Result<(), CliError> {
    if let Some(file) = snapshot.file(path).map_err(|error| explain(&error))? {
        return objects::add_file(Path::new(path), &file.content, found);
    }
    let files = snapshot.files(path, &Limits::default()).map_err(|error| explain(&error))?;
    if files.is_empty() {
        let message = format!("stage {} names the input {path}, and its branch has no such file", stage.name);
        return Err(CliError::usage(message).hint("correct `inputs` in stackflux.yaml, or commit the file"));
    }
    let is_read = |name: &str| {
        let ending = Path::new(name).extension().and_then(|ending| ending.to_str());
        matches!(ending, Some("yaml" | "yml" | "json"))
    };
    files
        .iter()
        .filter(|(name, _)| is_read(name))
        .try_for_each(|(name, file)| objects::add_file(&Path::new(path).join(name), &file.content, found))
}

/// Removes every object that a later one with the same identity replaces.
fn latest(found: Vec<Sourced>) -> Vec<Sourced> {
    let identity = |object: &Value| {
        let at = |path: &[&str]| text(object, path).to_owned();
        let group = at(&["apiVersion"]).split_once('/').map_or(String::new(), |(group, _)| group.to_owned());
        (group, at(&["kind"]), at(&["metadata", "namespace"]), at(&["metadata", "name"]))
    };
    let mut seen = BTreeSet::new();
    let mut kept: Vec<Sourced> =
        found.into_iter().rev().filter(|sourced| seen.insert(identity(&sourced.object))).collect();
    kept.reverse();
    kept
}
