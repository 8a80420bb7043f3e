//! The stack repository of a scenario.

use std::fs;
use std::path::{Path, PathBuf};

use stackflux::names::ReleaseName;

use super::{ADDONS, Scenario, V1};
use crate::git::commit_and_push;
use crate::support::{copy, scratch};

impl Scenario<'_> {
    /// The URL of the stack repository.
    pub(crate) fn url(&self) -> String {
        self.testbed.git().url(&self.namespace)
    }

    /// A path in the work tree of the stack repository.
    pub(crate) fn path(&self, below: &str) -> PathBuf {
        self.directory.join(below)
    }

    /// Copies releases of the example into the stack repository, their addons under the names of this scenario.
    pub(crate) fn publish(&self, releases: &[&str]) -> String {
        for release in releases {
            let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/stack/releases").join(release);
            copy(&example, &self.path("releases"));
            self.rename_addons(release);
        }
        self.push(&format!("publish {releases:?}"))
    }

    /// Publishes the first release of the example under another name, for another version of Kubernetes.
    pub(crate) fn publish_as(&self, release: &str, kubernetes: &str) -> String {
        let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/stack/releases").join(V1);
        copy(&example, &self.path("releases"));
        self.rename_addons(V1);
        fs::rename(self.path("releases").join(V1), self.path("releases").join(release)).unwrap();
        let (name, old): (ReleaseName, ReleaseName) = (release.parse().unwrap(), V1.parse().unwrap());
        let version = name.version().dotted();
        let metadata = format!("releases/{release}/metadata.yaml");
        self.edit(&metadata, "clusterStack: v1", &format!("clusterStack: {version}"));
        self.edit(&metadata, "kubernetes: v1.34.0", &format!("kubernetes: {kubernetes}"));
        let class = format!("releases/{release}/cluster-class/Chart.yaml");
        self.edit(&class, &old.prefix(), &name.prefix());
        self.edit(&class, "version: v1", &format!("version: {version}"));
        self.edit(&format!("releases/{release}/node-images/image.yaml"), V1, release);
        self.push(&format!("publish {release}"))
    }

    /// Commits all of the work tree and pushes it.
    pub(crate) fn push(&self, message: &str) -> String {
        commit_and_push(&self.directory, &self.url(), message)
    }

    /// Replaces text in a file of the work tree.
    pub(crate) fn edit(&self, file: &str, old: &str, new: &str) {
        let path = self.path(file);
        let text = fs::read_to_string(&path).unwrap();
        assert!(text.contains(old), "{file} has no {old:?}");
        fs::write(path, text.replace(old, new)).unwrap();
    }

    /// Renames the addons of a release. Charts name their objects after themselves; the manifests get a namespace of the
    /// scenario.
    fn rename_addons(&self, release: &str) {
        let addon = |name: &str| format!("releases/{release}/cluster-addon/{name}");
        for name in ADDONS {
            let own = self.addon(name);
            fs::rename(self.path(&addon(name)), self.path(&addon(&own))).unwrap();
            let stages = format!("releases/{release}/clusteraddon.yaml");
            self.edit(&stages, &format!("name: {name}\n"), &format!("name: {own}\n"));
        }
        for manifest in ["namespace", "network-policy", "resource-quota"] {
            let file = addon(&format!("{}/{manifest}.yaml", self.addon("policies")));
            self.edit(&file, ": apps\n", &format!(": {}\n", self.addon("apps")));
        }
    }

    /// Derives another release from one in the work tree: the same except for its name.
    pub(crate) fn derive(&self, from: &str, to: &str) {
        let scratch = scratch(&format!("{}-derived", self.namespace));
        copy(&self.path("releases").join(from), &scratch);
        fs::rename(scratch.join(from), self.path("releases").join(to)).unwrap();
        let version = |release: &str| release.rsplit('-').next().unwrap().to_owned();
        let (old, new) = (version(from), version(to));
        self.edit(&format!("releases/{to}/metadata.yaml"), &format!(": {old}\n"), &format!(": {new}\n"));
        let class = format!("releases/{to}/cluster-class/Chart.yaml");
        self.edit(&class, &format!("version: {old}"), &format!("version: {new}"));
        self.edit(&format!("releases/{to}/node-images/image.yaml"), from, to);
    }
}
