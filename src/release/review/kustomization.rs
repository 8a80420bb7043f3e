//! The paths that a `kustomization.yaml` names. Flux has only the release's directory, and the content of an addon is
//! known by its own directory.

use crate::release::document::{Document, SECOND_DOCUMENT, Value};
use crate::release::files::{Files, Limits};
use crate::release::finding::{Findings, Reason, Severity};

/// The lists of files and directories.
const RESOURCES: [&str; 3] = ["resources", "bases", "components"];
/// The lists of files.
const FILES: [&str; 2] = ["crds", "configurations"];
/// The lists of files, or of YAML in place of a file.
const FILES_OR_TEXT: [&str; 4] = ["patchesStrategicMerge", "transformers", "generators", "validators"];
/// The lists of mappings with a `path`.
const WITH_PATH: [&str; 3] = ["patches", "patchesJson6902", "replacements"];
/// The lists of mappings with files of content.
const GENERATORS: [&str; 2] = ["configMapGenerator", "secretGenerator"];

/// The names of a kustomization, in the order in which Kustomize looks for them.
const NAMES: [&str; 3] = ["kustomization.yaml", "kustomization.yml", "Kustomization"];
/// Maximum number of findings about one kustomization, errors first.
const MAX_FINDINGS: usize = 20;
/// Number of findings after which the rest of a list is not read.
const MANY: usize = 1_000;

/// Finds the kustomization in a directory.
pub(super) fn find(files: &Files, directory: &str) -> Option<String> {
    let mut paths = NAMES.iter().map(|name| format!("{directory}/{name}"));
    paths.find(|path| files.get(path).is_some())
}

/// Reads the kustomization at a path, in a directory below the one that Flux applies: the existing files and directories
/// that it names to be applied, and what is wrong.
pub(super) fn read(files: &Files, root: &str, directory: &str, path: &str) -> (Vec<String>, Findings) {
    let mut own = Findings::default();
    let Some(document) = Document::read_leniently(files, path, &Limits::default(), &mut own) else {
        // A file that only this reader refuses is none of Flux's business, and Kustomize reads the first document.
        let mut sure = Findings::default();
        let invalid = own.into_iter().filter(|finding| finding.reason == Reason::InvalidYaml);
        sure.extend(invalid.map(|mut finding| {
            if finding.message == SECOND_DOCUMENT {
                finding.severity = Severity::Warning;
            }
            finding
        }));
        return (Vec::new(), sure);
    };
    let mut place = Place { files, root, directory, findings: Findings::default() };
    let resources = place.kustomization(&document.root());
    let all = place.findings;
    let mut most = Findings::default();
    most.extend(all.errors().chain(all.warnings()).take(MAX_FINDINGS).cloned());
    (resources, most)
}

/// The place of a kustomization, and what is wrong with it.
struct Place<'a> {
    files: &'a Files,
    /// The directory that Flux applies.
    root: &'a str,
    /// The directory of the kustomization.
    directory: &'a str,
    findings: Findings,
}

impl Place<'_> {
    /// Checks a kustomization and returns what it names to be applied.
    fn kustomization(&mut self, document: &Value<'_>) -> Vec<String> {
        document.entries(&mut self.findings);
        if let Some(value) = document.get("kind") {
            let kind = value.text(&mut self.findings).unwrap_or_default();
            if !matches!(kind.as_str(), "Kustomization" | "Component" | "") {
                let message = format!("the file is of kind {kind}: Kustomize refuses it");
                let finding = value.error(Reason::InvalidField, message);
                self.findings.push(finding.hint("write kind: Kustomization, or rename the file"));
            }
        }
        let mut resources = Vec::new();
        for value in self.list(document, &RESOURCES) {
            resources.extend(self.text(&value).and_then(|text| self.resource(&value, &text)));
        }
        let named = self.list(document, &FILES).into_iter().chain(self.list(document, &FILES_OR_TEXT));
        let with_path = self.list(document, &WITH_PATH).into_iter().filter_map(|item| item.get("path"));
        let named: Vec<_> = named.chain(with_path).collect();
        let schema = document.get("openapi").and_then(|value| value.get("path"));
        for value in named.iter().chain(&schema) {
            // A text of several lines, or with a colon, is YAML in place of a path.
            if let Some(text) = self.text(value).filter(|text| !text.contains(['\n', '{', ':'])) {
                self.existing(value, &text);
            }
        }
        for generator in self.list(document, &GENERATORS) {
            for value in self.list(&generator, &["files", "envs"]).iter().chain(&generator.get("env")) {
                let Some(text) = self.text(value) else { continue };
                let path = text.split_once('=').map_or(text.as_str(), |(_, path)| path);
                self.existing(value, path);
            }
        }
        resources
    }

    /// Reads the items of the lists below these keys.
    fn list<'v>(&mut self, value: &Value<'v>, keys: &[&str]) -> Vec<Value<'v>> {
        let lists = keys.iter().filter_map(|key| value.get(key));
        lists.flat_map(|list| list.items(&mut self.findings)).collect()
    }

    /// Reads an item that is a text; `None`, with a finding, for any other one. Of very many bad ones only the first are
    /// read.
    fn text(&mut self, value: &Value<'_>) -> Option<String> {
        if self.findings.len() >= MANY {
            return None;
        }
        let text = value.text(&mut self.findings)?;
        if text.is_empty() {
            let message = "the entry is empty: Kustomize refuses it";
            self.findings.push(value.error(Reason::InvalidField, message).hint("remove the entry"));
            return None;
        }
        Some(text)
    }

    /// Reads an entry of `resources`; `None`, with a finding, if it is not in the release.
    fn resource(&mut self, value: &Value<'_>, text: &str) -> Option<String> {
        if is_remote(text) {
            let message = format!(
                "{text} is in another place: Flux fetches it whenever it applies the manifests, and what it gets is \
                 not part of the release"
            );
            let finding = value.warning(Reason::RemoteResource, message);
            self.findings.push(finding.hint("copy its files into the release"));
            return None;
        }
        self.existing(value, text)
    }

    /// Returns the path in the release of the file, or of the directory with a kustomization, that a text names; `None`, with
    /// a finding, if there is none.
    fn existing(&mut self, value: &Value<'_>, text: &str) -> Option<String> {
        let path = self.resolve(value, text)?;
        if self.files.get(&path).is_some() || find(self.files, &path).is_some() {
            return Some(path);
        }
        let message = if self.files.has_directory(&path) {
            format!("{text} has no kustomization.yaml: Flux refuses a directory without one")
        } else {
            format!("{text} is missing: Flux refuses the manifests")
        };
        let finding = value.error(Reason::MissingFile, message);
        self.findings.push(finding.hint("add the file, or remove the entry"));
        None
    }

    /// Returns the path in the release that a text names; `None`, with a finding, if it leads out.
    fn resolve(&mut self, value: &Value<'_>, text: &str) -> Option<String> {
        if is_remote(text) {
            return None;
        }
        let Some(path) = join(self.directory, text) else {
            let message = format!("{text} leads out of the release: Flux has only the release's directory");
            let finding = value.error(Reason::PathOutside, message);
            self.findings.push(finding.hint("copy the file into the directory"));
            return None;
        };
        let root = self.root;
        let is_inside = path == root || path.strip_prefix(root).is_some_and(|rest| rest.starts_with('/'));
        if !is_inside {
            let message = format!(
                "{text} leads out of {root}: a change of it alone does not reach clusters that have the addon"
            );
            let finding = value.warning(Reason::PathOutside, message);
            self.findings.push(finding.hint("copy the file into the directory"));
        }
        Some(path)
    }
}

/// Whether Kustomize would fetch what a text names.
fn is_remote(text: &str) -> bool {
    let host = text.split(['/', ':']).next().unwrap_or_default();
    text.contains("://")
        || text.contains("::")
        || text.contains("?ref=")
        || text.starts_with("git@")
        || (matches!(host, "github.com" | "gitlab.com" | "bitbucket.org") && text.len() > host.len())
}

/// Joins a directory of the release and a relative path; `None` if the result is not in the release.
fn join(directory: &str, path: &str) -> Option<String> {
    if path.starts_with('/') {
        return None;
    }
    let mut parts: Vec<&str> = directory.split('/').collect();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => _ = parts.pop()?,
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}
