//! Computes the new files and indexes, and how they differ from the existing ones.

use std::collections::{BTreeMap, BTreeSet};

use super::draft::{Draft, PlannedFile, Previous};
use super::prune::Removal;
use super::{MAX_FILE, Run};
use crate::sink::changes::{Changes, ObjectChange, RefusalReason, Refused};
use crate::sink::index::{Entry, Index, sha256};
use crate::sink::layout::{INDEX, KUSTOMIZATION, Part, kustomization};
use crate::sink::tree::{Found, Tree};

/// Returns the changes.
pub(super) fn finish<T: Tree>(run: Run<'_, T>, removal: &Removal) -> Result<Changes, T::Error> {
    let Run { tree, delivery, root, drafts, left, refused, .. } = run;
    let mut changes = Changes {
        refused,
        withheld: removal.withheld.clone(),
        gone: delivery.scope.gone.clone(),
        kept: left.len(),
        ..Changes::default()
    };
    let mut after = root.clone();
    for draft in drafts {
        let path = draft.part.to_string();
        match part(&delivery.stack, draft, removal, &mut changes) {
            Some(owners) => after.directories.insert(path, owners),
            None => after.directories.remove(&path),
        };
    }
    let root = Root {
        tree,
        before: &root,
        is_whole: delivery.scope.only.is_none(),
        overwrite: delivery.overwrite.allows(KUSTOMIZATION),
    };
    Ok(match list(&root, after, &mut changes)? {
        None => changes,
        Some(why) => {
            changes.refused.push(Refused { part: None, file: KUSTOMIZATION.to_owned(), why });
            Changes { refused: changes.refused, ..Changes::default() }
        }
    })
}

/// Writes the files of a part, and returns the `ClusterStack`s that then have files in it; `None` if no file is left.
fn part(stack: &str, draft: Draft<'_>, removal: &Removal, changes: &mut Changes) -> Option<BTreeSet<String>> {
    let Draft { part, before, kustomization: list, wanted, stale } = draft;
    let mut after = before.clone().unwrap_or_default();
    for (file, object) in &stale {
        if !removal.removals.contains(&(part.clone(), file.clone())) {
            changes.kept += 1;
            continue;
        }
        let Some(mut entry) = after.files.remove(file) else { continue };
        entry.cluster_stacks.remove(stack);
        if part.is_shared() && !entry.cluster_stacks.is_empty() {
            after.files.insert(file.clone(), entry);
            continue;
        }
        if !object.is_null() {
            changes.removes.insert(part.file(file));
        }
        changes.objects.push(ObjectChange::between(&part, entry.object, Some(object), None));
    }
    for (file, planned) in wanted {
        write(stack, &part, file, planned, &mut after.files, changes);
    }
    if after.files.is_empty() {
        changes.removes.extend(list.map(|_| part.file(KUSTOMIZATION)));
        changes.removes.extend(before.map(|_| part.file(INDEX)));
        return None;
    }
    let text = kustomization(after.files.keys().map(String::as_str));
    after.kustomization = sha256(text.as_bytes());
    if list.as_ref() != Some(&after.kustomization) {
        changes.writes.insert(part.file(KUSTOMIZATION), text.into_bytes());
    }
    if before.as_ref() != Some(&after) {
        changes.writes.insert(part.file(INDEX), after.to_text().into_bytes());
    }
    Some(after.files.into_values().flat_map(|entry| entry.cluster_stacks.into_keys()).collect())
}

/// Writes the file of a planned object.
fn write(
    stack: &str,
    part: &Part,
    file: String,
    planned: PlannedFile<'_>,
    files: &mut BTreeMap<String, Entry>,
    changes: &mut Changes,
) {
    let (path, object) = (part.file(&file), planned.object.id.to_string());
    let old = match planned.previous {
        Previous::Contested(other) => {
            changes.refused.push(Refused {
                part: Some(part.clone()),
                file: path,
                why: RefusalReason::Contested(other),
            });
            return;
        }
        Previous::Same => None,
        Previous::Nothing => Some(None),
        Previous::Other(old) => Some(Some(old)),
    };
    match old {
        None => changes.unchanged += 1,
        Some(old) => {
            let change =
                ObjectChange::between(part, object.clone(), old.as_deref(), Some(&planned.object.value));
            changes.objects.push(change);
            changes.writes.insert(path, planned.bytes);
        }
    }
    let mut cluster_stacks = match files.remove(&file) {
        // A cluster belongs to one ClusterStack: the one that has its class.
        Some(entry) if part.is_shared() => entry.cluster_stacks,
        _ => BTreeMap::new(),
    };
    cluster_stacks.insert(stack.to_owned(), planned.sha256.clone());
    files.insert(file, Entry { object, sha256: planned.sha256, cluster_stacks });
}

/// Writes the list and the index of the root, or returns why they cannot be written. If neither changes, an edited list is
/// only reported, and everything else is still written.
fn list<T: Tree>(
    run: &Root<'_, T>,
    mut after: Index,
    changes: &mut Changes,
) -> Result<Option<RefusalReason>, T::Error> {
    let before = run.before;
    let text = kustomization(after.directories.keys().map(String::as_str));
    after.kustomization = sha256(text.as_bytes());
    let (is_new, is_same) = (before.kustomization.is_empty(), *before == after);
    if (is_same && !run.is_whole) || (is_new && after.directories.is_empty()) {
        return Ok(None);
    }
    let mut is_cut_off = false;
    let why = match run.tree.read(KUSTOMIZATION, MAX_FILE)? {
        Found::File(found) if found == text.as_bytes() => None,
        // A full disk or a power cut has cut off the file.
        Found::File(found) if text.as_bytes().starts_with(&found) => {
            is_cut_off = true;
            None
        }
        Found::File(found) if sha256(&found) == before.kustomization => None,
        Found::File(_) if is_new => Some(RefusalReason::NotOurs),
        Found::File(_) => Some(RefusalReason::Edited),
        Found::Nothing if is_new => None,
        Found::Nothing => Some(RefusalReason::Removed),
        Found::TooLarge => Some(RefusalReason::TooLarge),
        Found::Other(what) => return Ok(Some(RefusalReason::NoFile(what))),
    };
    match why {
        Some(why) if !run.overwrite && is_same => {
            changes.refused.push(Refused { part: None, file: KUSTOMIZATION.to_owned(), why });
            return Ok(None);
        }
        Some(why) if !run.overwrite => return Ok(Some(why)),
        None if is_same && !is_cut_off => return Ok(None),
        _ => {}
    }
    if after.kustomization != before.kustomization || is_same {
        changes.writes.insert(KUSTOMIZATION.to_owned(), text.into_bytes());
    }
    changes.writes.insert(INDEX.to_owned(), after.to_text().into_bytes());
    Ok(None)
}

/// The existing root.
struct Root<'r, T> {
    tree: &'r T,
    before: &'r Index,
    is_whole: bool,
    overwrite: bool,
}
