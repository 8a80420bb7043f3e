//! A directory with one file per object that is itself a valid Kustomize root.
//!
//! The list of resources in `kustomization.yaml` is at once the inventory: what it names and the new plan does not is
//! removed, unless the plan holds it back: a Cluster that is paused keeps what it has. Files that the list does not
//! name are never touched, and a `kustomization.yaml` that is not ours is refused.

#![allow(clippy::disallowed_methods, reason = "a sink writes files")]

mod kept;

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Component, Path, PathBuf};

use serde_json::{Value, json};

use crate::api::labels;
use crate::foreign::capi::text;
use crate::plan::canonical::{documents, to_yaml};
use crate::plan::{Plan, PlannedObject, Step};

const ROOT: &str = "kustomization.yaml";
const HEADER: &str =
    "# Written by stackflux generate: it removes files that this list names and the next plan does not.\n";

/// Why a directory was not written.
#[derive(Debug, thiserror::Error)]
pub enum DirectoryError {
    /// Somebody else's Kustomize root.
    #[error("{0} was not written by stackflux: name another directory, or remove that file")]
    NotOurs(PathBuf),
    /// A file that an earlier plan wrote is no YAML any more.
    #[error("{path}: {error}; it is an object that is not planned any more: mend it, or remove it")]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        error: Box<serde_yaml::Error>,
    },
    /// The file system refused.
    #[error("{path}: {source}")]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

/// What a write changed, in files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Written {
    /// New or with other content.
    pub changed: usize,
    /// As they were.
    pub unchanged: usize,
    /// Not planned now, and kept because it is held back.
    pub kept: usize,
    /// Removed.
    pub removed: usize,
}

/// Writes the plan to `directory`. Files whose bytes are right are not touched.
pub fn write(plan: &Plan, directory: &Path) -> Result<Written, DirectoryError> {
    let before = inventory(directory)?;
    let files: BTreeMap<String, &PlannedObject> =
        plan.objects().map(|object| (path(object), object)).collect();
    let stale = before.into_iter().filter(|path| !files.contains_key(path));
    let stale = stale.map(|path| Ok((read(&directory.join(&path))?, path)));
    let (kept, stale) = kept::split(plan, &stale.collect::<Result<Vec<_>, DirectoryError>>()?);
    let mut written = Written { kept: kept.len(), ..Written::default() };
    for (path, object) in &files {
        let changed = write_file(&directory.join(path), &documents(std::iter::once(&object.value)))?;
        *if changed { &mut written.changed } else { &mut written.unchanged } += 1;
    }
    let resources: BTreeSet<&String> = files.keys().chain(&kept).collect();
    let root = json!({"apiVersion": "kustomize.config.k8s.io/v1beta1", "kind": "Kustomization", "resources": resources});
    write_file(&directory.join(ROOT), &format!("{HEADER}{}", to_yaml(&root)))?;
    for path in stale {
        let path = directory.join(path);
        match std::fs::remove_file(&path) {
            Ok(()) => written.removed += 1,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(source) => return Err(DirectoryError::Io { path, source }),
        }
    }
    Ok(written)
}

/// The objects that earlier plans wrote to `directory`; none where there were none.
pub fn objects(directory: &Path) -> Result<Vec<Value>, DirectoryError> {
    inventory(directory)?.iter().map(|path| read(&directory.join(path))).collect()
}

/// The object in a file that an earlier plan wrote; null where somebody removed the file.
fn read(path: &Path) -> Result<Value, DirectoryError> {
    match std::fs::read_to_string(path) {
        Ok(text) => serde_yaml::from_str(&text)
            .map_err(|error| DirectoryError::Unreadable { path: path.to_owned(), error: Box::new(error) }),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Value::Null),
        Err(source) => Err(DirectoryError::Io { path: path.to_owned(), source }),
    }
}

/// The file of an object: by what it is for, then by namespace and cluster, so that a pull request reads in the order
/// in which people think.
fn path(object: &PlannedObject) -> String {
    let (kind, id) = (object.id.kind.to_lowercase(), &object.id);
    let directory = match object.step {
        Step::Sources => "sources".to_owned(),
        Step::NodeImages => "node-images".to_owned(),
        Step::ClusterClass => "cluster-class".to_owned(),
        Step::Addons => {
            let cluster = text(&object.value, &["metadata", "labels", labels::CLUSTER_NAME]);
            format!("clusters/{}/{cluster}", id.namespace)
        }
    };
    let namespace = match object.step {
        Step::Addons => String::new(),
        _ if id.namespace.is_empty() => String::new(),
        _ => format!("{}/", id.namespace),
    };
    format!("{directory}/{namespace}{kind}-{}.yaml", id.name)
}

/// The files that the last write named, in `directory`; none where there was none.
fn inventory(directory: &Path) -> Result<Vec<String>, DirectoryError> {
    let path = directory.join(ROOT);
    let text = match std::fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(source) => return Err(DirectoryError::Io { path, source }),
    };
    if !text.starts_with(HEADER) {
        return Err(DirectoryError::NotOurs(path));
    }
    let root: Value = serde_yaml::from_str(&text).map_err(|_| DirectoryError::NotOurs(path))?;
    let resources = root.get("resources").and_then(Value::as_array);
    let names = resources.into_iter().flatten().filter_map(Value::as_str);
    Ok(names.filter(|name| is_below(name)).map(str::to_owned).collect())
}

/// Whether a path of the inventory stays below the directory: it decides what is removed.
fn is_below(path: &str) -> bool {
    Path::new(path).components().all(|component| matches!(component, Component::Normal(_)))
}

fn write_file(path: &Path, content: &str) -> Result<bool, DirectoryError> {
    let failed = |source| DirectoryError::Io { path: path.to_owned(), source };
    if std::fs::read(path).is_ok_and(|old| old == content.as_bytes()) {
        return Ok(false);
    }
    if let Some(parent) = path.parent() {
        std::fs::create_dir_all(parent).map_err(failed)?;
    }
    std::fs::write(path, content).map_err(failed)?;
    Ok(true)
}
