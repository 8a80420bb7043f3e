//! Plain manifests, as kustomize-controller reads them: every YAML file of the directory, or what its
//! `kustomization.yaml` names.

use std::collections::BTreeSet;

use crate::release::files::{File, Files};
use crate::release::finding::{Finding, Findings, Reason};

use super::kustomization::{self, Resource};
use super::pointers::is_pointer;
use super::text::{Shape, documents};

/// The names of a kustomization, in the order in which Kustomize looks for them.
const KUSTOMIZATIONS: [&str; 3] = ["kustomization.yaml", "kustomization.yml", "Kustomization"];

/// Checks the manifests in this directory of a release, which Flux applies.
pub(super) fn check(files: &Files, directory: &str, findings: &mut Findings) {
    Manifests { files, root: directory, seen: BTreeSet::new(), findings }.directory(directory);
}

/// Reads the manifests of one Kustomization of Flux.
struct Manifests<'a> {
    files: &'a Files,
    /// The directory that Flux applies.
    root: &'a str,
    /// The files and directories that were read already.
    seen: BTreeSet<String>,
    findings: &'a mut Findings,
}

impl Manifests<'_> {
    /// Checks what Flux applies of a directory.
    fn directory(&mut self, directory: &str) {
        if !self.seen.insert(directory.to_owned()) {
            return;
        }
        if let Some(path) = self.kustomization(directory) {
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
        let (resources, findings) = kustomization::read(self.files, self.root, directory, path);
        self.findings.extend(findings);
        for Resource { path, missing } in resources {
            if let Some(file) = self.files.get(&path) {
                self.manifest(path, file);
            } else if self.kustomization(&path).is_some() {
                self.directory(&path);
            } else {
                self.findings.push(missing);
            }
        }
    }

    /// Checks one file of manifests.
    fn manifest(&mut self, path: String, file: &File) {
        if is_pointer(&file.content) || self.seen.contains(&path) {
            return;
        }
        match documents(&path, &file.content) {
            Err(finding) => self.findings.push(*finding),
            Ok(shapes) => {
                let other = shapes.into_iter().find_map(|shape| match shape {
                    Shape::Other(kind) => Some(kind),
                    Shape::Mapping | Shape::Nothing => None,
                });
                if let Some(kind) = other {
                    let message =
                        format!("a document of the file is {kind}: Flux applies only Kubernetes objects");
                    let finding = Finding::error(Reason::InvalidField, &path, message);
                    self.findings.push(
                        finding.hint(
                            "write objects with apiVersion, kind and metadata.name, or remove the file",
                        ),
                    );
                }
            }
        }
        self.seen.insert(path);
    }

    /// Finds the kustomization in a directory.
    fn kustomization(&self, directory: &str) -> Option<String> {
        let mut paths = KUSTOMIZATIONS.iter().map(|name| format!("{directory}/{name}"));
        paths.find(|path| self.files.get(path).is_some())
    }

    /// Finds the uppermost directory with a kustomization that has the files of `inner`, below `directory`.
    fn nested(&self, directory: &str, inner: &str) -> Option<String> {
        let ends = inner.match_indices('/').map(|(at, _)| at).chain([inner.len()]);
        let mut directories = ends.filter_map(|end| Some(format!("{directory}/{}", inner.get(..end)?)));
        directories.find(|nested| self.kustomization(nested).is_some())
    }
}

fn is_yaml(path: &str) -> bool {
    path.rsplit_once('.').is_some_and(|(_, ending)| matches!(ending, "yaml" | "yml"))
}
