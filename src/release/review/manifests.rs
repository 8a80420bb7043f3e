//! Plain manifests, as kustomize-controller reads them: every YAML file of the directory, or what its
//! `kustomization.yaml` names.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use crate::release::files::{File, Files};
use crate::release::finding::{Finding, Findings, Reason};

use super::kustomization;
use super::pointers::is_pointer;
use super::shape::{Identity, Kind, Shape};
use super::text::{Keys, first_finding};

/// The objects that Flux applies as they are in the files of a directory, and the file of each.
pub(super) type Objects = BTreeMap<Identity, String>;

/// Maximum number of shared objects reported at an addon: the file is read again for each.
const MAX_SHARED: usize = 20;

/// Checks the manifests in this directory of a release, which Flux applies. Returns its objects; none if a
/// `kustomization.yaml` may change them.
pub(super) fn check(files: &Files, directory: &str, findings: &mut Findings) -> Objects {
    let read = RefCell::default();
    let mut manifests =
        Manifests { files, root: directory, seen: BTreeSet::new(), read: &read, is_plain: true, findings };
    manifests.directory(directory);
    if manifests.is_plain { read.into_inner().objects } else { Objects::new() }
}

/// Returns the first file of manifests in this directory that SOPS has encrypted.
pub(super) fn encrypted(files: &Files, directory: &str) -> Option<String> {
    let (read, findings) = (RefCell::<Read>::default(), &mut Findings::default());
    let mut manifests =
        Manifests { files, root: directory, seen: BTreeSet::new(), read: &read, is_plain: true, findings };
    manifests.directory(directory);
    read.into_inner().encrypted.into_iter().next()
}

/// What was found in manifests.
#[derive(Default)]
struct Read {
    /// The objects in the files.
    objects: Objects,
    /// The files that are encrypted.
    encrypted: BTreeSet<String>,
}

/// Reports the objects that two addons have, at both: each would take them from the other, again and again.
pub(super) fn check_shared(files: &Files, addons: &BTreeMap<&str, Objects>, findings: &mut Findings) {
    for (addon, objects) in addons {
        let other = |identity: &Identity| {
            let has = |(other, theirs): &(&&str, &Objects)| *other != addon && theirs.contains_key(identity);
            addons.iter().find(has).map(|(other, _)| *other)
        };
        let shared = objects.iter().filter_map(|(identity, path)| Some((identity, path, other(identity)?)));
        for (identity, path, other) in shared.take(MAX_SHARED) {
            let (_, kind, namespace, name) = identity;
            let place = if namespace.is_empty() { name.clone() } else { format!("{namespace}/{name}") };
            let message = format!(
                "the addons {addon} and {other} both have {kind} {place}: each takes it from the other"
            );
            let Some(file) = files.get(path) else { continue };
            findings.extend(first_finding(path, &file.content, Keys::Kustomize, |document| {
                let is_it = document.identity().is_some_and(|found| found == *identity);
                let finding = Finding::error(Reason::SharedObject, path, &message);
                is_it.then(|| finding.hint("leave it in one of them"))
            }));
        }
    }
}

/// Reads the manifests of one Kustomization of Flux.
struct Manifests<'a> {
    files: &'a Files,
    /// The directory that Flux applies.
    root: &'a str,
    /// The files and directories that were read already.
    seen: BTreeSet<String>,
    read: &'a RefCell<Read>,
    /// Whether no `kustomization.yaml` may change them.
    is_plain: bool,
    findings: &'a mut Findings,
}

impl Manifests<'_> {
    /// Checks what Flux applies of a directory.
    fn directory(&mut self, directory: &str) {
        if !self.seen.insert(directory.to_owned()) {
            return;
        }
        if let Some(path) = kustomization::find(self.files, directory) {
            return self.named(directory, &path);
        }
        let mut applied = Vec::new();
        for (path, file) in self.files.below(directory) {
            let inner = path.rsplit_once('/').map(|(inner, _)| inner);
            let nested = inner.and_then(|inner| self.nested(directory, inner));
            match nested {
                Some(nested) => self.directory(&nested),
                None if is_yaml(path) => applied.push((format!("{directory}/{path}"), file)),
                None => {}
            }
        }
        for (path, file) in applied {
            self.manifest(path, file);
        }
    }

    /// Checks a kustomization and what it names.
    fn named(&mut self, directory: &str, path: &str) {
        self.is_plain = false;
        let (resources, findings) = kustomization::read(self.files, self.root, directory, path);
        self.findings.extend(findings);
        for path in resources {
            match self.files.get(&path) {
                Some(file) => self.manifest(path, file),
                None => self.directory(&path),
            }
        }
    }

    /// Checks one file of manifests.
    fn manifest(&mut self, path: String, file: &File) {
        if is_pointer(&file.content) || self.seen.contains(&path) {
            return;
        }
        let found = first_finding(&path, &file.content, Keys::Kustomize, |document| {
            if let Some(identity) = document.identity() {
                self.read.borrow_mut().objects.insert(identity, path.clone());
            }
            if document.is_encrypted {
                self.read.borrow_mut().encrypted.insert(path.clone());
            }
            let message = refused(document)?;
            let finding = Finding::error(Reason::InvalidField, &path, message);
            Some(finding.hint("write objects with apiVersion, kind and metadata.name, or remove the file"))
        });
        self.findings.extend(found);
        self.seen.insert(path);
    }

    /// Finds the uppermost directory with a kustomization that has the files of `inner`, below `directory`.
    fn nested(&self, directory: &str, inner: &str) -> Option<String> {
        let ends = inner.match_indices('/').map(|(at, _)| at).chain([inner.len()]);
        let mut directories = ends.filter_map(|end| Some(format!("{directory}/{}", inner.get(..end)?)));
        directories.find(|nested| kustomization::find(self.files, nested).is_some())
    }
}

/// Returns why Kustomize refuses a document, if it does.
fn refused(document: &Shape) -> Option<String> {
    if let Some(kind) = document.kind.other() {
        return Some(format!("a document of the file is {kind}: Flux applies only Kubernetes objects"));
    }
    let object = document.object_kind.as_str();
    match document.kind {
        // Kustomize leaves out what is empty, and needs no name for a list.
        Kind::Mapping(true) if object.is_empty() => {
            Some("the object has no kind: Flux refuses it".to_owned())
        }
        Kind::Mapping(true) if !document.has_metadata_name() && !object.ends_with("List") => {
            Some(format!("the {object} has no metadata.name: Flux refuses it"))
        }
        _ => None,
    }
}

fn is_yaml(path: &str) -> bool {
    path.rsplit_once('.').is_some_and(|(_, ending)| matches!(ending, "yaml" | "yml"))
}
