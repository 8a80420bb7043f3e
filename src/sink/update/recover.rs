//! Recovers a lost index from the directory's list: the files may belong to other `ClusterStack`s, and Flux deletes what
//! is no longer listed.

use std::collections::{BTreeMap, BTreeSet};

use super::{MAX_FILE, Overwrite, index, object};
use crate::foreign::capi::field;
use crate::sink::index::{Entry, Index, is_file};
use crate::sink::layout::{INDEX, KUSTOMIZATION, Part};
use crate::sink::tree::{Found, Tree};

/// Returns the parts that the root's list names, each with the owners in its own index. The digest of the list as it was
/// written is lost: a list that differs from the planned one counts as edited.
pub(super) fn root<T: Tree>(tree: &T) -> Result<Index, T::Error> {
    let mut root = Index::default();
    for part in listed(tree, KUSTOMIZATION)?.iter().filter_map(|path| path.parse::<Part>().ok()) {
        let of = index(tree, &part.file(INDEX), &Overwrite::default())?.ok().flatten().unwrap_or_default();
        let owners: BTreeSet<String> =
            of.files.into_values().flat_map(|entry| entry.cluster_stacks.into_keys()).collect();
        root.directories.insert(part.to_string(), owners);
    }
    Ok(root)
}

/// Returns the files that a part's list names, without owners and with empty digests; `None` if it names none.
pub(super) fn part<T: Tree>(tree: &T, part: &Part) -> Result<Option<Index>, T::Error> {
    let mut found = Index::default();
    let files = listed(tree, &part.file(KUSTOMIZATION))?.into_iter().filter(|path| is_file(path));
    for file in files {
        let entry = Entry { object: file.clone(), sha256: String::new(), cluster_stacks: BTreeMap::new() };
        found.files.insert(file, entry);
    }
    Ok((!found.files.is_empty()).then_some(found))
}

/// Returns the resources of a `kustomization.yaml`.
fn listed<T: Tree>(tree: &T, path: &str) -> Result<Vec<String>, T::Error> {
    let Found::File(bytes) = tree.read(path, MAX_FILE)? else { return Ok(Vec::new()) };
    let list = object(&bytes);
    let names = field(&list, &["resources"]).and_then(serde_json::Value::as_array).into_iter().flatten();
    Ok(names.filter_map(|name| name.as_str().map(str::to_owned)).collect())
}
