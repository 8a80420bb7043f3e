//! A repository that the operator commits to and Flux applies.

use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};

use super::scenario::Scenario;
use crate::git::git;
use crate::support::scratch;

/// The directory of the repository that the operator writes.
pub(crate) const PATH: &str = "fleet/stage";

/// A repository with a directory that Flux applies.
pub(crate) struct Fleet<'a> {
    pub(crate) scenario: &'a Scenario<'a>,
    url: String,
}

impl<'a> Fleet<'a> {
    /// An empty repository, and a Flux `Kustomization` that waits for its directory.
    pub(crate) fn followed(scenario: &'a Scenario<'a>) -> Self {
        Self::of(scenario, &scenario.testbed.git().url(&format!("{}-fleet", scenario.namespace)))
    }

    /// The same with the repository of this URL.
    pub(crate) fn of(scenario: &'a Scenario<'a>, url: &str) -> Self {
        let metadata = json!({"name": "fleet", "namespace": scenario.namespace});
        let objects = [
            json!({
                "apiVersion": "source.toolkit.fluxcd.io/v1", "kind": "GitRepository", "metadata": metadata,
                "spec": {"url": url, "ref": {"branch": "main"}, "interval": "2s"},
            }),
            json!({
                "apiVersion": "kustomize.toolkit.fluxcd.io/v1", "kind": "Kustomization", "metadata": metadata,
                "spec": {
                    "sourceRef": {"kind": "GitRepository", "name": "fleet"}, "path": PATH, "prune": true,
                    "interval": "10s", "retryInterval": "2s", "timeout": "1m",
                },
            }),
        ];
        for object in objects {
            scenario.management().apply(&object.to_string()).unwrap();
        }
        Self { scenario, url: url.to_owned() }
    }

    /// The `delivery` of a ClusterStack through this repository.
    pub(crate) fn delivery(&self) -> Value {
        json!({"delivery": {"mode": "Git", "git": {"url": self.url, "path": PATH}}})
    }

    /// A clone of the branch in its current state.
    pub(crate) fn clone(&self, name: &str) -> PathBuf {
        let directory = scratch(&format!("{}-{name}", self.scenario.namespace));
        git(directory.parent().unwrap(), &["clone", "--quiet", &self.url, directory.to_str().unwrap()]);
        directory
    }

    /// The commits of the branch, the latest first.
    pub(crate) fn commits(&self, name: &str) -> Vec<String> {
        git(&self.clone(name), &["log", "--format=%H"]).lines().map(str::to_owned).collect()
    }

    /// Changes a file as another author would.
    pub(crate) fn edit(&self, name: &str, path: &str, change: impl Fn(&str) -> String) {
        let clone = self.clone(name);
        let file = clone.join(PATH).join(path);
        let text = fs::read_to_string(&file).unwrap();
        fs::write(&file, change(&text)).unwrap();
        git(&clone, &["commit", "--quiet", "--all", "--message=by hand"]);
        git(&clone, &["push", "--quiet"]);
    }
}
