//! One part: its files as they are, beside what is wanted.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::{MAX_FILE, Run, index, object, recover};
use crate::plan::PlannedObject;
use crate::plan::canonical::to_yaml;
use crate::sink::changes::{Refused, Why};
use crate::sink::index::{Entry, Index, sha256};
use crate::sink::layout::{INDEX, KUSTOMIZATION, Part, kustomization};
use crate::sink::tree::{Found, Tree};

/// A part that may be written: nobody else has edited what is ours.
pub(super) struct Draft<'a> {
    pub(super) part: Part,
    /// The index as it was; `None` where there was none.
    pub(super) before: Option<Index>,
    /// The SHA-256 of the `kustomization.yaml` that is there.
    pub(super) kustomization: Option<String>,
    /// By file.
    pub(super) wanted: BTreeMap<String, Want<'a>>,
    /// What this `ClusterStack` has there and the plan has not, by file.
    pub(super) stale: BTreeMap<String, Value>,
}

/// A planned object's file.
pub(super) struct Want<'a> {
    pub(super) object: &'a PlannedObject,
    pub(super) bytes: Vec<u8>,
    pub(super) sha256: String,
    pub(super) was: Was,
}

/// What a planned object's file was.
pub(super) enum Was {
    /// There was none.
    Nothing,
    /// What it is to be.
    Same,
    /// Another form of the object.
    Other(Box<Value>),
    /// What another `ClusterStack` made of an object that both share.
    Contested(String),
}

impl Draft<'_> {
    /// Whether a file goes when this `ClusterStack` does not want it any more: no other one does.
    pub(super) fn is_last(&self, file: &str) -> bool {
        !self.part.is_shared() || self.entry(file).is_none_or(|entry| entry.cluster_stacks.len() <= 1)
    }

    /// The entry of a file in the index as it was.
    pub(super) fn entry(&self, file: &str) -> Option<&Entry> {
        self.before.as_ref().and_then(|index| index.files.get(file))
    }
}

/// Reads a part, or says why it has to stay as it is.
pub(super) fn read<'a, T: Tree>(
    run: &Run<'_, T>,
    part: Part,
    objects: BTreeMap<String, &'a PlannedObject>,
) -> Result<Result<Draft<'a>, Vec<Refused>>, T::Error> {
    let refused = |file: &str, why: Why| Refused { part: Some(part.clone()), file: part.file(file), why };
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
        let want = reader.want(&file, object)?;
        wanted.extend(want.map(|want| (file, want)));
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
    /// The files of the index as it was.
    files: &'r BTreeMap<String, Entry>,
    refused: Vec<(String, Why)>,
}

impl<T: Tree> Reader<'_, '_, T> {
    /// Whether a file that is not planned is this delivery's to remove.
    fn is_ours(&self, entry: &Entry) -> bool {
        let scope = &self.run.delivery.scope;
        let is_gone = self.part.cluster().is_some_and(|cluster| scope.gone.contains(cluster));
        match &scope.removes {
            Some(named) if !is_gone && !named.contains(&entry.object) => false,
            None if self.part.is_shared() && scope.only.is_some() => false,
            _ => !self.part.is_shared() || entry.cluster_stacks.contains_key(&self.run.delivery.stack),
        }
    }

    /// Notes what is wrong with a file, unless it is written over.
    fn refuse(&mut self, file: &str, why: Why) {
        // A link or a directory is not written over: what it leads to is not known.
        if matches!(why, Why::NoFile(_)) || !self.run.delivery.overwrite.allows(&self.part.file(file)) {
            self.refused.push((file.to_owned(), why));
        }
    }

    /// A planned object beside its file; `None` where somebody else has edited that.
    fn want<'p>(&mut self, file: &str, planned: &'p PlannedObject) -> Result<Option<Want<'p>>, T::Error> {
        let bytes = to_yaml(&planned.value).into_bytes();
        let sha = sha256(&bytes);
        let entry = self.files.get(file);
        let troubles = self.refused.len();
        let was = match self.run.tree.read(&self.part.file(file), MAX_FILE)? {
            Found::Nothing if entry.is_some() => {
                self.refuse(file, Why::Removed);
                Was::Nothing
            }
            Found::Nothing => Was::Nothing,
            Found::File(found) if found == bytes => Was::Same,
            // Nobody else's: what a full disk or a power cut has left of the file.
            Found::File(found) if bytes.starts_with(&found) => Was::Nothing,
            Found::File(found) => {
                match entry {
                    None => self.refuse(file, Why::NotOurs),
                    Some(entry) if entry.sha256 != sha256(&found) => self.refuse(file, Why::Edited),
                    Some(_) => {}
                }
                let contender = entry.and_then(|entry| contender(entry, &self.run.delivery.stack, &sha));
                contender.map_or_else(|| Was::Other(Box::new(object(&found))), Was::Contested)
            }
            Found::TooLarge => {
                self.refuse(file, Why::TooLarge);
                Was::Other(Box::default())
            }
            Found::Other(what) => {
                self.refuse(file, Why::NoFile(what));
                Was::Nothing
            }
        };
        let want = Want { object: planned, bytes, sha256: sha, was };
        Ok((self.refused.len() == troubles).then_some(want))
    }

    /// What a file has that is not planned; null where somebody has removed it already.
    fn stale(&mut self, file: &str, entry: &Entry) -> Result<Option<Value>, T::Error> {
        let troubles = self.refused.len();
        let value = match self.run.tree.read(&self.part.file(file), MAX_FILE)? {
            Found::Nothing => Value::Null,
            Found::File(found) => {
                if entry.sha256 != sha256(&found) {
                    self.refuse(file, Why::Edited);
                }
                object(&found)
            }
            Found::TooLarge => {
                self.refuse(file, Why::TooLarge);
                Value::Null
            }
            Found::Other(what) => {
                self.refuse(file, Why::NoFile(what));
                Value::Null
            }
        };
        Ok((self.refused.len() == troubles).then_some(value))
    }

    /// The digest of the part's list of files. `planned` is the text that it gets where all goes that is not planned.
    fn list(&mut self, before: Option<&Index>, planned: &str) -> Result<Option<String>, T::Error> {
        let written = before.map(|index| index.kustomization.as_str());
        match self.run.tree.read(&self.part.file(KUSTOMIZATION), MAX_FILE)? {
            Found::Nothing => {
                if before.is_some() {
                    self.refuse(KUSTOMIZATION, Why::Removed);
                }
                Ok(None)
            }
            Found::File(found) => {
                let sha = sha256(&found);
                if written != Some(&sha) && !planned.as_bytes().starts_with(&found) {
                    let why = if before.is_some() { Why::Edited } else { Why::NotOurs };
                    self.refuse(KUSTOMIZATION, why);
                }
                Ok(Some(sha))
            }
            Found::TooLarge => {
                self.refuse(KUSTOMIZATION, Why::TooLarge);
                Ok(None)
            }
            Found::Other(what) => {
                self.refuse(KUSTOMIZATION, Why::NoFile(what));
                Ok(None)
            }
        }
    }
}

/// The other `ClusterStack` that made a shared object what it is, after this one wanted it as it wants it still: to write it
/// again would go on for ever.
fn contender(entry: &Entry, stack: &str, wanted: &str) -> Option<String> {
    let is_unchanged = entry.cluster_stacks.get(stack).is_some_and(|before| before == wanted);
    let mut others = entry.cluster_stacks.iter().filter(|(other, _)| *other != stack);
    let maker = others.find(|(_, sha)| **sha == entry.sha256);
    maker.filter(|_| is_unchanged).map(|(other, _)| other.clone())
}
