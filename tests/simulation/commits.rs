//! The rules of the operator's commits and of uninstalls: each needs a cause, and no file of others is changed.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::api_server::Place;
use crate::causes::had_cause;
use crate::flux::fleet::PATH;
use crate::flux::number;
use crate::operator::Millis;
use crate::properties::Rule;
use crate::wire::{Cluster, Process};

/// The files of a repository, by path.
pub(crate) type Files = BTreeMap<String, String>;

/// A commit of the operator.
pub(crate) struct Commit {
    pub(crate) process: Process,
    /// The files before it and after it.
    pub(crate) files: [Files; 2],
    /// The position in the API server's log at which nothing was left to do before.
    pub(crate) since: usize,
    pub(crate) now: Millis,
}

/// What the operator has committed so far.
#[derive(Clone, Debug, Default)]
pub(crate) struct Committed {
    /// The contents of each file.
    contents: BTreeMap<String, BTreeSet<String>>,
    /// The objects whose files it removed.
    removed: BTreeSet<Place>,
}

impl Committed {
    /// Whether the file of an object was removed.
    pub(crate) fn has_removed(&self, place: &Place) -> bool {
        self.removed.contains(place)
    }
}

impl Cluster {
    /// Checks a commit: its process leads, the files that it changes are the operator's, and each removed object has a cause
    /// and was counted.
    pub(crate) fn check_commit(&mut self, commit: &Commit) {
        if commit.process != self.leader {
            let what = format!("process {} commits, and {} leads", commit.process, self.leader);
            self.broke(Rule::NotLeader, what);
        }
        let [before, after] = &commit.files;
        for (path, old) in before.iter().filter(|(path, old)| after.get(*path) != Some(old)) {
            let is_ours = self.committed.contents.get(path).is_some_and(|contents| contents.contains(old));
            if !is_ours || !path.starts_with(PATH) {
                self.broke(
                    Rule::ForeignWrite,
                    format!("a commit changes {path}, which another author wrote"),
                );
            }
            if !after.contains_key(path) {
                self.check_removal(path, old, commit);
            }
        }
        for (path, new) in after.iter().filter(|(path, new)| before.get(*path) != Some(new)) {
            if !path.starts_with(PATH) {
                self.broke(Rule::ForeignWrite, format!("a commit writes {path}"));
            }
            self.committed.contents.entry(path.clone()).or_default().insert(new.clone());
            self.committed.removed.retain(|place| object_of(path, new).as_ref() != Some(place));
        }
    }

    /// Checks the removal of a file.
    fn check_removal(&mut self, path: &str, text: &str, commit: &Commit) {
        let Some(place) = object_of(path, text) else { return };
        let object = self.server.get(&place);
        self.committed.removed.insert(place);
        let Some(object) = object else { return };
        let checked = self.deletions.check_removal(&self.server, &object, commit.since, commit.now);
        if let Err((rule, what)) = checked {
            self.broke(rule, format!("a commit removes {path}: {what}"));
        }
    }

    /// Checks that the content of an object is uninstalled for a reason: a user deleted the object, the operator did, with a
    /// cause, or what it was made for is gone.
    pub(crate) fn check_uninstall(&mut self, place: &Place, object: &Value, since: usize) {
        let uid = object["metadata"]["uid"].as_str().unwrap_or_default();
        let is_known = self.deleted_by_users.contains(uid)
            || self.deletions.is_checked(uid)
            || self.committed.has_removed(place);
        if !is_known && !had_cause(&self.server, object, since) {
            let (kind, name) = (&object["kind"], &place.2);
            self.broke(
                Rule::Uninstall,
                format!("the content of {kind} {name} is uninstalled without a cause"),
            );
        }
    }
}

/// The place of a generated Flux object that delivers content, from its file.
fn object_of(path: &str, text: &str) -> Option<Place> {
    let name = path.rsplit('/').next()?;
    let is_object = ["helmrelease-", "kustomization-"].iter().any(|kind| name.starts_with(kind));
    let object: Value = serde_yaml::from_str(text).ok().filter(|_| is_object)?;
    let field = |pointer| object.pointer(pointer).and_then(Value::as_str).map(str::to_owned);
    Some((number(&field("/kind")?), field("/metadata/namespace")?, field("/metadata/name")?))
}
