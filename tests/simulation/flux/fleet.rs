//! The Git repository that the operator commits to, and how Flux applies it.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use git2::{ObjectType, Repository, Signature, TreeWalkMode, TreeWalkResult};
use serde_json::{Value, json};

use super::status::done;
use super::{number, place};
use crate::api_server::kinds::{KINDS, Kind};
use crate::api_server::{ApiServer, Place};

/// The name of the `GitRepository` and of the `Kustomization` that follow the repository.
pub(crate) const FLEET: &str = "fleet";
/// The directory of the repository that the operator writes.
pub(crate) const PATH: &str = "fleet/stage";
/// The branch.
const BRANCH: &str = "refs/heads/main";

/// The repository, and the objects that Flux has applied from it.
#[derive(Debug)]
pub(crate) struct Fleet {
    directory: PathBuf,
    applied: BTreeSet<Place>,
    /// The objects at the commit that was read last.
    read: Option<(String, Vec<(Place, Value)>)>,
    /// Whether the directory is another one's.
    is_borrowed: bool,
    /// Whether somebody else than the operator moved the branch.
    is_moved: Cell<bool>,
}

impl Fleet {
    /// An empty repository of this name.
    pub(crate) fn new(name: &str) -> Self {
        let directory =
            std::env::temp_dir().join(format!("stackflux-simulation-{}-{name}", std::process::id()));
        Repository::init_bare(&directory).unwrap();
        Self {
            directory,
            applied: BTreeSet::new(),
            read: None,
            is_borrowed: false,
            is_moved: Cell::default(),
        }
    }

    /// The same repository with what Flux has applied so far.
    pub(super) fn borrow(&self) -> Self {
        let (directory, applied) = (self.directory.clone(), self.applied.clone());
        Self { directory, applied, read: None, is_borrowed: true, is_moved: self.is_moved.clone() }
    }

    /// Whether somebody else than the operator moved the branch.
    pub(crate) fn is_moved(&self) -> bool {
        self.is_moved.get()
    }

    /// Moves the branch to a commit, or deletes it.
    pub(crate) fn reset(&self, commit: Option<&str>) {
        match commit {
            Some(commit) => {
                let commit = commit.parse().unwrap();
                self.repository().reference(BRANCH, commit, true, "").unwrap();
            }
            None => _ = self.repository().find_reference(BRANCH).map(|mut branch| branch.delete()),
        }
    }

    /// The address of the repository.
    pub(crate) fn url(&self) -> String {
        self.directory.to_str().unwrap().to_owned()
    }

    /// The commit at the head of the branch.
    pub(crate) fn head(&self) -> Option<String> {
        let commit = fs::read_to_string(self.directory.join(BRANCH)).ok()?;
        Some(commit.trim().to_owned())
    }

    /// The subject of the commit at the head of the branch.
    pub(super) fn subject(&self) -> Option<String> {
        let repository = self.repository();
        let commit = repository.find_reference(BRANCH).ok()?.peel_to_commit().ok()?;
        Some(commit.summary().ok()??.to_owned())
    }

    /// The number of commits.
    pub(crate) fn commits(&self) -> usize {
        let repository = self.repository();
        let mut walk = repository.revwalk().unwrap();
        walk.push_ref(BRANCH).map_or(0, |()| walk.count())
    }

    /// The files below [`PATH`] at the head of the branch.
    pub(crate) fn files(&self) -> BTreeMap<String, String> {
        self.files_at(self.head().as_deref())
    }

    fn files_at(&self, commit: Option<&str>) -> BTreeMap<String, String> {
        let below = |(path, text): (String, String)| {
            Some((path.strip_prefix(PATH)?.strip_prefix('/')?.to_owned(), text))
        };
        self.all_files_at(commit).into_iter().filter_map(below).collect()
    }

    /// All files at a commit.
    pub(crate) fn all_files_at(&self, commit: Option<&str>) -> BTreeMap<String, String> {
        let (repository, mut files) = (self.repository(), BTreeMap::new());
        let commit = commit.map(|commit| repository.find_commit(commit.parse().unwrap()).unwrap());
        let Some(commit) = commit else { return files };
        let tree = commit.tree().unwrap();
        let walked = tree.walk(TreeWalkMode::PreOrder, |directory, entry| {
            if entry.kind() == Some(ObjectType::Blob) {
                let blob = repository.find_blob(entry.id()).unwrap();
                let text = String::from_utf8(blob.content().to_vec()).unwrap();
                files.insert(format!("{directory}{}", entry.name().unwrap()), text);
            }
            TreeWalkResult::Ok
        });
        walked.unwrap();
        files
    }

    /// Changes a file as another author does: a commit on top.
    pub(crate) fn edit(&self, file: &str, change: impl Fn(&str) -> String) {
        let repository = self.repository();
        let parent = repository.find_reference(BRANCH).unwrap().peel_to_commit().unwrap();
        let text = change(&self.files()[file]);
        let blob = repository.blob(text.as_bytes()).unwrap();
        let mut update = git2::build::TreeUpdateBuilder::new();
        update.upsert(format!("{PATH}/{file}"), blob, git2::FileMode::Blob);
        let tree = update.create_updated(&repository, &parent.tree().unwrap()).unwrap();
        let author = Signature::new("Someone", "someone@example.org", &git2::Time::new(0, 0)).unwrap();
        let tree = repository.find_tree(tree).unwrap();
        repository.commit(Some(BRANCH), &author, &author, "by hand", &tree, &[&parent]).unwrap();
        self.is_moved.set(true);
    }

    /// Moves the branch to the parent of its commit, as a force push does.
    pub(crate) fn drop_commit(&self) {
        let repository = self.repository();
        let parent =
            repository.find_reference(BRANCH).unwrap().peel_to_commit().unwrap().parent_id(0).unwrap();
        repository.reference(BRANCH, parent, true, "").unwrap();
        self.is_moved.set(true);
    }

    /// Deletes the branch.
    pub(crate) fn delete_branch(&self) {
        self.is_moved.set(true);
        self.repository().find_reference(BRANCH).unwrap().delete().unwrap();
    }

    /// The status of the `GitRepository`.
    pub(super) fn fetched(&self, object: &Value) -> Option<Value> {
        let commit = self.head()?;
        let artifact = json!({
            "url": "http://localhost/fleet", "path": "fleet", "digest": format!("sha256:{commit:0>64}"),
            "revision": format!("main@sha1:{commit}"), "size": 1, "lastUpdateTime": "2026-11-20T20:42:54Z",
        });
        Some(done(object, "Succeeded", "stored artifact", &json!({"artifact": artifact})))
    }

    /// Applies or deletes one object, as the directory has it at a commit. Whether there was anything to do.
    pub(super) fn apply(&mut self, server: &mut ApiServer, applier: &Value, commit: &str) -> bool {
        if self.read.as_ref().is_none_or(|(read, _)| read != commit) {
            self.read = Some((commit.to_owned(), self.objects(applier, commit)));
        }
        let objects = self.read.as_ref().map(|(_, objects)| objects.as_slice()).unwrap_or_default();
        for (at, object) in objects {
            let found = server.get(at);
            if found.is_some_and(|found| found["metadata"].get("deletionTimestamp").is_some()) {
                continue;
            }
            let before = server.log.len();
            if server.apply_as("kustomize-controller", object).code < 300 {
                self.applied.insert(at.clone());
            }
            if server.log.len() > before {
                return true;
            }
        }
        let is_there = |at: &&Place| objects.iter().any(|(found, _)| found == *at);
        let Some(gone) = self.applied.iter().find(|at| !is_there(at)).cloned() else { return false };
        self.applied.remove(&gone);
        server.delete_now(&gone);
        true
    }

    /// The inventory of the `Kustomization`: what it has applied, and would delete.
    pub(super) fn inventory(&self) -> Value {
        let id = |(kind, namespace, name): &Place| {
            let Kind { group, name: kind, .. } = &KINDS[*kind];
            json!({"id": format!("{namespace}_{name}_{group}_{kind}"), "v": "v1"})
        };
        json!({"entries": self.applied.iter().map(id).collect::<Vec<_>>()})
    }

    /// The objects of the directory at a commit, with the labels of the `Kustomization` that applies them.
    fn objects(&self, applier: &Value, commit: &str) -> Vec<(Place, Value)> {
        let is_manifest = |path: &str| {
            Path::new(path).extension().is_some_and(|kind| kind == "yaml")
                && !path.ends_with("kustomization.yaml")
        };
        let mut files = self.files_at(Some(commit));
        files.retain(|path, _| is_manifest(path));
        let object = |text: &String| {
            let mut object: Value = serde_yaml::from_str(text).unwrap();
            for field in ["name", "namespace"] {
                let label = format!("kustomize.toolkit.fluxcd.io/{field}");
                object["metadata"]["labels"][label] = applier["metadata"][field].clone();
            }
            (place(number(object["kind"].as_str().unwrap()), &object), object)
        };
        files.values().map(object).collect()
    }

    fn repository(&self) -> Repository {
        Repository::open_bare(&self.directory).unwrap()
    }
}

impl Drop for Fleet {
    fn drop(&mut self) {
        if !self.is_borrowed {
            _ = fs::remove_dir_all(&self.directory);
        }
    }
}
