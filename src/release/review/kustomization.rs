//! The paths that a `kustomization.yaml` names. Flux has only the release's directory, and the content of an addon is
//! known by its own directory.

use crate::release::document::{Document, Value};
use crate::release::files::{Files, Limits};
use crate::release::finding::{Finding, Findings, Reason};

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

/// Something that a kustomization names, to be applied.
pub(super) struct Resource {
    /// The path in the release.
    pub(super) path: String,
    /// The finding if there is nothing to apply at the path.
    pub(super) missing: Finding,
}

/// The place of a kustomization.
struct Place<'a> {
    files: &'a Files,
    /// The directory that Flux applies.
    root: &'a str,
    /// The directory of the kustomization.
    directory: &'a str,
}

/// Reads the kustomization at a path, in a directory below the one that Flux applies: what it names to be applied, and
/// what is wrong.
pub(super) fn read(files: &Files, root: &str, directory: &str, path: &str) -> (Vec<Resource>, Findings) {
    let mut own = Findings::default();
    let Some(document) = Document::read(files, path, false, &Limits::default(), &mut own) else {
        // A file that only this reader refuses is none of Flux's business.
        let mut sure = Findings::default();
        sure.extend(own.into_iter().filter(|finding| finding.reason == Reason::InvalidYaml));
        return (Vec::new(), sure);
    };
    let place = Place { files, root, directory };
    let (document, mut findings) = (document.root(), Findings::default());
    let named = list(&document, &RESOURCES);
    let resources = named.iter().filter_map(|value| place.resource(value, &mut findings)).collect();
    let named = list(&document, &FILES).into_iter().chain(list(&document, &FILES_OR_TEXT));
    let with_path = list(&document, &WITH_PATH).into_iter().filter_map(|item| item.get("path"));
    let named = named.chain(with_path).chain(document.get("openapi").and_then(|value| value.get("path")));
    for value in named {
        // A text of several lines, or with a colon, is YAML in place of a path.
        if let Some(text) = text(&value).filter(|text| !text.contains(['\n', '{', ':'])) {
            place.resolve(&value, &text, &mut findings);
        }
    }
    for generator in list(&document, &GENERATORS) {
        for value in list(&generator, &["files", "envs"]).into_iter().chain(generator.get("env")) {
            let Some(text) = text(&value) else { continue };
            let path = text.split_once('=').map_or(text.as_str(), |(_, path)| path);
            place.resolve(&value, path, &mut findings);
        }
    }
    (resources, findings)
}

/// Returns the items of the lists below these keys. Flux reports what is no list.
fn list<'a>(value: &Value<'a>, keys: &[&str]) -> Vec<Value<'a>> {
    keys.iter()
        .filter_map(|key| value.get(key))
        .flat_map(|list| list.items(&mut Findings::default()))
        .collect()
}

fn text(value: &Value<'_>) -> Option<String> {
    value.text(&mut Findings::default())
}

impl Place<'_> {
    /// Reads an entry of `resources`; `None`, with a finding, if it is not in the release.
    fn resource(&self, value: &Value<'_>, findings: &mut Findings) -> Option<Resource> {
        let text = text(value)?;
        if is_remote(&text) {
            let message = format!(
                "{text} is in another place: Flux fetches it whenever it applies the manifests, and what it gets is \
                 not part of the release"
            );
            let finding = value.warning(Reason::RemoteResource, message);
            findings.push(finding.hint("copy its files into the release"));
            return None;
        }
        let path = self.resolve(value, &text, findings)?;
        let message = if self.files.has_directory(&path) {
            format!("{text} has no kustomization.yaml: Flux refuses a directory without one")
        } else {
            format!("{text} is missing: Flux refuses the manifests")
        };
        let missing = value.error(Reason::MissingFile, message).hint("add the file, or remove the entry");
        Some(Resource { path, missing })
    }

    /// Returns the path in the release that a text names; `None`, with a finding, if it leads out.
    fn resolve(&self, value: &Value<'_>, text: &str, findings: &mut Findings) -> Option<String> {
        if is_remote(text) {
            return None;
        }
        let Some(path) = join(self.directory, text) else {
            let message = format!("{text} leads out of the release: Flux has only the release's directory");
            let finding = value.error(Reason::PathOutside, message);
            findings.push(finding.hint("copy the file into the directory"));
            return None;
        };
        let root = self.root;
        let is_inside = path == root || path.strip_prefix(root).is_some_and(|rest| rest.starts_with('/'));
        if !is_inside {
            let message = format!(
                "{text} leads out of {root}: a change of it alone does not reach clusters that have the addon"
            );
            let finding = value.warning(Reason::PathOutside, message);
            findings.push(finding.hint("copy the file into the directory"));
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
