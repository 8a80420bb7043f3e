//! `components.yaml`: addons whose content is in another repository, instead of in the release.
//!
//! The form is that of Flux: repositories, and what is applied from them. A reference is exact, because a release never
//! changes. A release has no Secrets and no keys for an address, so that its author cannot choose where they are sent.

mod dependencies;
mod pinning;
mod source;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use kube::core::Selector;
use serde_json::{Map, Value as Json};

use crate::names::AddonName;
use gotemplate::Template;

use super::digest::Digest;
use super::document::{Document, Value, read_text};
use super::files::{Files, Limits, check_path};
use super::finding::{Finding, Findings, Reason};
use super::hook::Hook;
use super::request_schema::RequestSchema;
use super::values::read_values;
use super::{Addon, AddonKind, ValuesTemplate};

pub(super) use dependencies::Dependencies;
pub use dependencies::leads;
pub use pinning::{ListedRepository, list_repositories};
pub use source::{ComponentSource, GitReference, HELM_INDEX_HINT, OciReference, is_manifest_digest};

/// The file of a release that lists its components.
pub const COMPONENTS: &str = "components.yaml";
/// The directory of the files that it names.
const DIRECTORY: &str = "components";

/// Maximum number of repositories, and of components in all of them.
const MAX_REPOSITORIES: usize = 64;
const MAX_COMPONENTS: usize = 256;

/// An addon whose content is in another repository.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Component {
    /// The name of the repository in the list.
    pub repository: String,
    /// The repository, and which of its content.
    pub source: ComponentSource,
    /// What is in the directory.
    pub form: ComponentForm,
    /// The directory from the root of the repository or artifact; `.` for the root itself.
    pub path: String,
    /// The values below the rendered ones.
    pub values: Map<String, Json>,
    /// The addons that must be ready first.
    pub depends_on: Vec<AddonName>,
    /// What its `ClusterStack` says about it; `None` for a component of the release itself.
    pub platform: Option<Platform>,
}

/// The part of a component that only a `ClusterStack` can say of its own ones.
#[derive(Clone, Debug, PartialEq)]
pub struct Platform {
    /// The labels of the Clusters that have it; `None` for all Clusters.
    pub selector: Option<Selector>,
    /// Whether it is off until the owner of a Cluster switches it on.
    pub optional: bool,
    /// What it is for.
    pub description: Option<String>,
    /// A page about it.
    pub homepage: Option<String>,
    /// The values that the owner of a Cluster may set; `None` for those that settings allow.
    pub schema: Option<RequestSchema>,
    /// The moments at which it moves; `None` for those of the addon that it replaces.
    pub hooks: Option<Vec<Hook>>,
    /// The namespace of the chart's objects; `None` for the default.
    pub target_namespace: Option<String>,
    /// Whether that namespace is created.
    pub creates_namespace: bool,
    /// Interval at which Flux looks for another revision, if the content can change.
    pub interval: String,
    /// The reason why it cannot be delivered, if there is one: its objects stay as they are.
    pub problem: Option<String>,
}

/// The content of a component.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ComponentForm {
    /// A Helm chart.
    Chart,
    /// Kubernetes manifests.
    Manifests,
}

impl Component {
    /// Returns the digest: that of its reference and of its files, each with the field that names it. A release that changes
    /// neither does not upgrade it.
    #[must_use]
    pub fn digest<'a>(&self, files: impl IntoIterator<Item = (&'a str, &'a [u8])>) -> Digest {
        let mut text = format!("{}{}: {}\n", self.source.canonical(), self.form.as_str(), self.path);
        for (field, content) in files {
            _ = writeln!(text, "{field}: {}", Digest::of_bytes(content));
        }
        Digest::of_bytes(text.as_bytes())
    }
}

impl ComponentForm {
    /// Returns the key of the form in `components.yaml`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Chart => "chart",
            Self::Manifests => "manifests",
        }
    }
}

/// The components of a release.
#[derive(Default)]
pub(super) struct Components {
    /// The names of all, also of those that are not usable.
    pub(super) names: BTreeSet<AddonName>,
    /// Those that are usable.
    pub(super) usable: BTreeMap<AddonName, Listed>,
    /// The addons that they wait for.
    pub(super) dependencies: Dependencies,
}

impl Components {
    /// Returns the files of the templates.
    pub(super) fn templates(&self) -> BTreeSet<String> {
        let templates = self.usable.values().filter_map(|listed| listed.addon.template.as_ref());
        templates.map(|template| template.file.clone()).collect()
    }
}

/// A component that was read, and the findings about it that depend on the rest of the release.
pub(super) struct Listed {
    pub(super) addon: Addon,
    /// The finding if no stage names it.
    pub(super) without_stage: Finding,
    /// The finding if a directory has its name.
    pub(super) also_directory: Finding,
}

/// Reads the components; none, with findings, if the file is not usable, and none if there is no file.
pub(super) fn read(files: &Files, limits: &Limits, findings: &mut Findings) -> Components {
    let mut components = Components::default();
    let Some(document) = Document::read(files, COMPONENTS, true, limits, findings) else { return components };
    let root = document.root();
    source::check_fields(&root, &["apiVersion", "kind", "metadata", "repositories"], findings);
    let Some(list) = root.present("repositories", Reason::InvalidField, findings) else { return components };
    let (repositories, mut seen) = (list.items(findings), BTreeSet::new());
    if repositories.len() > MAX_REPOSITORIES {
        let message = format!("more than {MAX_REPOSITORIES} repositories: {}", repositories.len());
        findings.push(list.error(Reason::LimitExceeded, message));
        return components;
    }
    for repository in &repositories {
        source::check_fields(repository, &["name", "git", "oci", "helm", "components"], findings);
        let name = repository.required("name", Reason::InvalidField, findings);
        if name.as_ref().is_some_and(|name| !seen.insert(name.clone())) {
            findings.push(repository.error(Reason::DuplicateName, "another repository has this name"));
        }
        let source = source::read(repository, findings);
        let Some(items) = repository.present("components", Reason::InvalidField, findings) else { continue };
        for item in items.items(findings) {
            let Some(name) = read_name(&item, &components.names, findings) else { continue };
            components.names.insert(name.clone());
            let depends_on = components.dependencies.read(&name, &item, findings);
            let of = (name.clone(), source.as_ref().zip(repository.get("name")), depends_on);
            let listed = read_component(files, &item, of, limits, findings);
            components.usable.extend(listed.map(|listed| (name, listed)));
        }
    }
    if components.names.len() > MAX_COMPONENTS {
        let message = format!("more than {MAX_COMPONENTS} components: {}", components.names.len());
        findings.push(list.error(Reason::LimitExceeded, message));
    }
    components
}

fn read_name(item: &Value<'_>, others: &BTreeSet<AddonName>, findings: &mut Findings) -> Option<AddonName> {
    let text = item.required("name", Reason::InvalidField, findings)?;
    let value = item.get("name")?;
    match text.parse::<AddonName>() {
        Ok(name) if others.contains(&name) => {
            findings.push(value.error(Reason::DuplicateName, format!("another component is called {name}")));
            None
        }
        Ok(name) => Some(name),
        Err(error) => {
            findings.push(value.error(Reason::InvalidName, error.to_string()));
            None
        }
    }
}

/// A file of a component: the field that names it, and its path.
type OwnFile = (String, String);

/// The name of a component, its repository if that is usable, and the addons that it waits for.
type Of<'a> = (AddonName, Option<(&'a ComponentSource, Value<'a>)>, Vec<AddonName>);

fn read_component(
    files: &Files,
    item: &Value<'_>,
    (name, repository, depends_on): Of<'_>,
    limits: &Limits,
    findings: &mut Findings,
) -> Option<Listed> {
    let (form, path) = read_content(item, findings)?;
    let (fields, template): (&[&str], _) = match form {
        ComponentForm::Chart => (&["name", "chart", "template", "values", "dependsOn"], "template"),
        ComponentForm::Manifests => (&["name", "manifests", "substitute", "dependsOn"], "substitute"),
    };
    source::check_fields(item, fields, findings);
    let mut own = Vec::new();
    let template = read_template(files, item, template, &mut own, limits, findings);
    let values = read_static(files, item, &mut own, limits, findings);
    let (source, named) = repository?;
    if matches!((source, form), (ComponentSource::Oci { .. }, ComponentForm::Chart)) && path != "." {
        let message = "the chart of an OCI artifact is the whole of it";
        findings.push(item.get("chart")?.error(Reason::InvalidPath, message).hint("write chart: ."));
    }
    let component = Component {
        repository: named.text(findings)?,
        source: source.clone(),
        form,
        path,
        values: values?,
        depends_on,
        platform: None,
    };
    let without_stage = item.warning(
        Reason::AddonWithoutStage,
        "no stage of clusteraddon.yaml names this component: it is not installed",
    );
    let also_directory =
        item.error(Reason::DuplicateName, format!("cluster-addon/{name} is an addon of the same name"));
    let own = own.iter().map(|(field, file)| {
        let content = files.get(file).map(|file| file.content.as_slice()).unwrap_or_default();
        (field.as_str(), content)
    });
    let digest = component.digest(own);
    let kind = AddonKind::Component(Box::new(component));
    let addon = Addon { name, kind, path: COMPONENTS.to_owned(), digest, template: template?.0 };
    let hint = "add it to a hook of clusteraddon.yaml, or remove it";
    Some(Listed { addon, without_stage: without_stage.hint(hint), also_directory })
}

/// Reads the form and the directory.
fn read_content(item: &Value<'_>, findings: &mut Findings) -> Option<(ComponentForm, String)> {
    let given = [ComponentForm::Chart, ComponentForm::Manifests]
        .into_iter()
        .filter_map(|form| Some((form, item.get(form.as_str())?)));
    let given: Vec<(ComponentForm, Value<'_>)> = given.collect();
    let [(form, value)] = given.as_slice() else {
        findings.push(item.error(Reason::InvalidField, "a component has either chart or manifests"));
        return None;
    };
    let text = value.text(findings)?;
    let path = text.strip_prefix("./").unwrap_or(&text).trim_end_matches('/');
    if path == "." || path.is_empty() {
        return Some((*form, ".".to_owned()));
    }
    match check_path(path) {
        Ok(()) => Some((*form, path.to_owned())),
        Err(error) => {
            findings.push(value.error(Reason::InvalidPath, error.to_string()));
            None
        }
    }
}

/// A template that was read, if there is one.
struct Optional(Option<ValuesTemplate>);

/// Reads the template that a field names; `None`, with findings, if it is unusable.
fn read_template(
    files: &Files,
    item: &Value<'_>,
    field: &str,
    own: &mut Vec<OwnFile>,
    limits: &Limits,
    findings: &mut Findings,
) -> Option<Optional> {
    let Some(value) = item.get(field) else { return Some(Optional(None)) };
    let (file, source) = read_file(files, &value, limits, findings)?;
    match Template::parse(&file, source) {
        Ok(template) => {
            own.push((field.to_owned(), file.clone()));
            Some(Optional(Some(ValuesTemplate { file, template })))
        }
        Err(error) => {
            findings.push(Finding::of_template(&file, source, &error));
            None
        }
    }
}

/// Reads the values in the file that `values` names; empty without the field, and `None`, with findings, if unusable.
fn read_static(
    files: &Files,
    item: &Value<'_>,
    own: &mut Vec<OwnFile>,
    limits: &Limits,
    findings: &mut Findings,
) -> Option<Map<String, Json>> {
    let Some(value) = item.get("values") else { return Some(Map::new()) };
    let (file, source) = read_file(files, &value, limits, findings)?;
    match read_values(source) {
        Ok(values) => {
            own.push(("values".to_owned(), file));
            Some(values)
        }
        Err(error) => {
            findings.push(Finding::error(Reason::InvalidYaml, &file, error.to_string()));
            None
        }
    }
}

/// Reads the file that a field names.
fn read_file<'a>(
    files: &'a Files,
    value: &Value<'_>,
    limits: &Limits,
    findings: &mut Findings,
) -> Option<(String, &'a str)> {
    let file = value.text(findings)?;
    let inner = file.strip_prefix(DIRECTORY).and_then(|inner| inner.strip_prefix('/'));
    if inner.is_none() || check_path(&file).is_err() {
        let message = format!("{file:?} is not the path of a file below {DIRECTORY}/");
        findings.push(value.error(Reason::InvalidPath, message));
        return None;
    }
    if files.get(&file).is_none() {
        findings.push(value.error(Reason::MissingFile, format!("the release has no file {file}")));
        return None;
    }
    Some((file.clone(), read_text(files, &file, limits.yaml_file, findings)?))
}

#[cfg(test)]
mod tests;
