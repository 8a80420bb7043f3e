//! Compares the files of one part with its planned objects.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::{MAX_FILE, Run, index, object, recover};
use crate::plan::PlannedObject;
use crate::plan::canonical::to_yaml;
use crate::sink::changes::{RefusalReason, Refused};
use crate::sink::index::{Entry, Index, sha256};
use crate::sink::layout::{INDEX, KUSTOMIZATION, Part, kustomization};
use crate::sink::tree::{Found, Tree};

/// A part that may be written: none of stackflux's files in it was edited.
pub(super) struct Draft<'a> {
    pub(super) part: Part,
    /// The existing index; `None` if there is none.
    pub(super) before: Option<Index>,
    /// SHA-256 of the existing `kustomization.yaml`.
    pub(super) kustomization: Option<String>,
    /// The planned objects, by file.
    pub(super) wanted: BTreeMap<String, PlannedFile<'a>>,
    /// The objects of this `ClusterStack` that are not planned, by file.
    pub(super) stale: BTreeMap<String, Value>,
}

/// A planned object and its file.
pub(super) struct PlannedFile<'a> {
    pub(super) object: &'a PlannedObject,
    pub(super) bytes: Vec<u8>,
    pub(super) sha256: String,
    pub(super) previous: Previous,
}

/// The previous content of a planned object's file.
pub(super) enum Previous {
    /// The file is missing or incomplete.
    Nothing,
    /// The file is as planned.
    Same,
    /// The file has another version of the object.
    Other(Box<Value>),
    /// Another `ClusterStack` that shares the object has written another version.
    Contested(String),
}

impl Draft<'_> {
    /// Whether removing this `ClusterStack` from a file removes the file: no other one plans it.
    pub(super) fn is_last(&self, file: &str) -> bool {
        !self.part.is_shared() || self.entry(file).is_none_or(|entry| entry.cluster_stacks.len() <= 1)
    }

    /// Returns the entry of a file in the existing index.
    pub(super) fn entry(&self, file: &str) -> Option<&Entry> {
        self.before.as_ref().and_then(|index| index.files.get(file))
    }
}

/// Compares a part, or returns the reasons for leaving it as it is.
pub(super) fn read<'a, T: Tree>(
    run: &Run<'_, T>,
    part: Part,
    objects: BTreeMap<String, &'a PlannedObject>,
) -> Result<Result<Draft<'a>, Vec<Refused>>, T::Error> {
    let refused =
        |file: &str, why: RefusalReason| Refused { part: Some(part.clone()), file: part.file(file), why };
    let before = match index(run.tree, &part.file(INDEX), &run.delivery.overwrite)? {
        Ok(None) if run.delivery.overwrite.allows(&part.file(INDEX)) => recover::part(run.tree, &part)?,
        Ok(before) => before,
        Err(why) => return Ok(Err(vec![refused(INDEX, why)])),
    };
    let none = BTreeMap::new();
    let files = before.as_ref().map_or(&none, |index| &index.files);
    let mut reader = Reader { run, part: &part, files, refused: Vec::new() };
    let is_planned: BTreeSet<String> = objects.keys().cloned().collect();
    let mut wanted = BTreeMap::new();
    for (file, object) in objects {
        let planned_file = reader.planned_file(&file, object)?;
        wanted.extend(planned_file.map(|planned_file| (file, planned_file)));
    }
    let mut stale = BTreeMap::new();
    for (file, entry) in files.iter().filter(|(file, _)| !is_planned.contains(*file)) {
        if reader.is_ours(entry) {
            let value = reader.stale(file, entry)?;
            stale.extend(value.map(|value| (file.clone(), value)));
        }
    }
    let others = files.keys().filter(|file| !stale.contains_key(*file));
    let resources: BTreeSet<&String> = others.chain(&is_planned).collect();
    let planned = kustomization(resources.into_iter().map(String::as_str));
    let list = reader.list(before.as_ref(), &planned)?;
    let troubles = reader.refused;
    if !troubles.is_empty() {
        return Ok(Err(troubles.into_iter().map(|(file, why)| refused(&file, why)).collect()));
    }
    Ok(Ok(Draft { before, kustomization: list, wanted, stale, part }))
}

struct Reader<'r, 'a, T> {
    run: &'r Run<'a, T>,
    part: &'r Part,
    /// The files of the existing index.
    files: &'r BTreeMap<String, Entry>,
    refused: Vec<(String, RefusalReason)>,
}

impl<T: Tree> Reader<'_, '_, T> {
    /// Whether this delivery may remove a file that is not planned.
    fn is_ours(&self, entry: &Entry) -> bool {
        let scope = &self.run.delivery.scope;
        let is_gone = self.part.cluster().is_some_and(|cluster| scope.gone.contains(cluster));
        match &scope.removes {
            Some(named) if !is_gone && !named.contains(&entry.object) => false,
            None if self.part.is_shared() && scope.only.is_some() => false,
            _ => !self.part.is_shared() || entry.cluster_stacks.contains_key(&self.run.delivery.stack),
        }
    }

    /// Refuses a file, unless it is to be overwritten.
    fn refuse(&mut self, file: &str, why: RefusalReason) {
        // A link or a directory is never overwritten: its target is not known.
        if matches!(why, RefusalReason::NoFile(_))
            || !self.run.delivery.overwrite.allows(&self.part.file(file))
        {
            self.refused.push((file.to_owned(), why));
        }
    }

    /// Compares a planned object with its file; `None` if the file is refused.
    fn planned_file<'p>(
        &mut self,
        file: &str,
        planned: &'p PlannedObject,
    ) -> Result<Option<PlannedFile<'p>>, T::Error> {
        let bytes = to_yaml(&planned.value).into_bytes();
        let sha = sha256(&bytes);
        let entry = self.files.get(file);
        let troubles = self.refused.len();
        let previous = match self.run.tree.read(&self.part.file(file), MAX_FILE)? {
            Found::Nothing if entry.is_some() => {
                self.refuse(file, RefusalReason::Removed);
                Previous::Nothing
            }
            Found::Nothing => Previous::Nothing,
            Found::File(found) if found == bytes => Previous::Same,
            // A full disk or a power cut has cut off the file: not an edit.
            Found::File(found) if bytes.starts_with(&found) => Previous::Nothing,
            Found::File(found) => {
                match entry {
                    None => self.refuse(file, RefusalReason::NotOurs),
                    Some(entry) if entry.sha256 != sha256(&found) => self.refuse(file, RefusalReason::Edited),
                    Some(_) => {}
                }
                let contender = entry.and_then(|entry| contender(entry, &self.run.delivery.stack, &sha));
                contender.map_or_else(|| Previous::Other(Box::new(object(&found))), Previous::Contested)
            }
            Found::TooLarge => {
                self.refuse(file, RefusalReason::TooLarge);
                Previous::Other(Box::default())
            }
            Found::Other(what) => {
                self.refuse(file, RefusalReason::NoFile(what));
                Previous::Nothing
            }
        };
        let planned_file = PlannedFile { object: planned, bytes, sha256: sha, previous };
        Ok((self.refused.len() == troubles).then_some(planned_file))
    }

    /// Reads the object in a file that is not planned: null if the file is missing, `None` if it is refused.
    fn stale(&mut self, file: &str, entry: &Entry) -> Result<Option<Value>, T::Error> {
        let troubles = self.refused.len();
        let value = match self.run.tree.read(&self.part.file(file), MAX_FILE)? {
            Found::Nothing => Value::Null,
            Found::File(found) => {
                if entry.sha256 != sha256(&found) {
                    self.refuse(file, RefusalReason::Edited);
                }
                object(&found)
            }
            Found::TooLarge => {
                self.refuse(file, RefusalReason::TooLarge);
                Value::Null
            }
            Found::Other(what) => {
                self.refuse(file, RefusalReason::NoFile(what));
                Value::Null
            }
        };
        Ok((self.refused.len() == troubles).then_some(value))
    }

    /// Returns the SHA-256 of the part's list. `planned` is the list after all unplanned files are removed.
    fn list(&mut self, before: Option<&Index>, planned: &str) -> Result<Option<String>, T::Error> {
        let written = before.map(|index| index.kustomization.as_str());
        match self.run.tree.read(&self.part.file(KUSTOMIZATION), MAX_FILE)? {
            Found::Nothing => {
                if before.is_some() {
                    self.refuse(KUSTOMIZATION, RefusalReason::Removed);
                }
                Ok(None)
            }
            Found::File(found) => {
                let sha = sha256(&found);
                if written != Some(&sha) && !planned.as_bytes().starts_with(&found) {
                    let why = if before.is_some() { RefusalReason::Edited } else { RefusalReason::NotOurs };
                    self.refuse(KUSTOMIZATION, why);
                }
                Ok(Some(sha))
            }
            Found::TooLarge => {
                self.refuse(KUSTOMIZATION, RefusalReason::TooLarge);
                Ok(None)
            }
            Found::Other(what) => {
                self.refuse(KUSTOMIZATION, RefusalReason::NoFile(what));
                Ok(None)
            }
        }
    }
}

/// Returns the other `ClusterStack` that changed a shared object, if this one has already written its present plan: writing
/// it again would never end.
fn contender(entry: &Entry, stack: &str, wanted: &str) -> Option<String> {
    let is_unchanged = entry.cluster_stacks.get(stack).is_some_and(|before| before == wanted);
    let mut others = entry.cluster_stacks.iter().filter(|(other, _)| *other != stack);
    let maker = others.find(|(_, sha)| **sha == entry.sha256);
    maker.filter(|_| is_unchanged).map(|(other, _)| other.clone())
}
