//! The charts that a part of a release installs, with their versions, and the custom resource definitions in them.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use serde_json::{Map, Value};

use super::Side;
use super::change::Change;
use super::values::{self, ValueChange};
use crate::api::components::AddonSource;
use crate::release::values::read_values;
use crate::release::{Addon, CLUSTER_CLASS, Chart, Digest, Files, Limits, archive};

/// Maximum depth of nested charts.
const DEPTH: usize = 4;

/// The charts, values and CRDs in which a part differs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ChartsAndKinds {
    /// The dependencies whose versions differ, then the chart itself if its version or name differs. Of a component, the
    /// repository, with the commit or the digest as the version.
    pub charts: Vec<VersionChange>,
    /// The differences in the chart's own `values.yaml`; empty unless both sides have the chart and its values can be
    /// read.
    pub values: Vec<ValueChange>,
    /// The CRDs that differ.
    pub kinds: Vec<KindChange>,
    /// The dependencies that only one side has without vendoring them, as `<name> <version>`; their content is unknown.
    pub unseen: Vec<String>,
}

/// A chart whose version or name differs, or that only one side has.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct VersionChange {
    /// The chart's name.
    pub name: String,
    /// The version in the first release.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// The version in the second release.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
    /// The name in the first release, if the second release has another one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub was: Option<String>,
}

/// A `CustomResourceDefinition` that differs between both sides.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct KindChange {
    /// The name, such as `ciliumnodes.cilium.io`. If the name is a template, the text of the template.
    pub name: String,
    /// The kind of change.
    pub change: Change,
    /// The controller that deletes the CRD, and with it all objects of its kind.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deleted_by: Option<Owner>,
}

/// The controller that deletes an object that is no longer in what the controller applies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Owner {
    /// Helm, if the CRD was a template of a chart. A CRD in `crds/` has no owner, because Helm keeps it
    /// (<https://helm.sh/docs/chart_best_practices/custom_resource_definitions/>).
    Helm,
    /// Flux, if the CRD was a manifest of an addon without a chart.
    Flux,
}

/// Compares the charts and CRDs of an addon; `None` on the side that does not have the addon.
#[must_use]
pub fn of_addon(from: (&Side, Option<&Addon>), to: (&Side, Option<&Addon>)) -> ChartsAndKinds {
    let one = |(side, addon): (&Side, Option<&Addon>)| {
        let Some(addon) = addon else { return Contents::default() };
        let mut contents = Contents::of(&side.files, &addon.path, addon.chart());
        if let Some(component) = addon.component() {
            let version = component.source.exact().map_or_else(|| component.source.followed(), str::to_owned);
            contents.versions.insert(component.repository.clone(), version);
        }
        contents
    };
    one(from).compare(&one(to))
}

/// Shortens a commit or a digest for people; the version of a chart stays whole.
fn short(version: String) -> String {
    AddonSource { url: String::new(), revision: version, follows: None }.short_revision()
}

/// Compares the charts and CRDs of the cluster class.
#[must_use]
pub fn of_class(from: &Side, to: &Side) -> ChartsAndKinds {
    let one = |side: &Side| Contents::of(&side.files, CLUSTER_CLASS, Some(&side.release.cluster_class));
    one(from).compare(&one(to))
}

/// The content of one side.
#[derive(Default)]
struct Contents {
    /// Name and version of the chart itself.
    chart: Option<(String, String)>,
    /// Its default values.
    values: Option<Value>,
    versions: BTreeMap<String, String>,
    kinds: BTreeMap<String, Definition>,
    unseen: BTreeSet<String>,
}

struct Definition {
    digest: Digest,
    owner: Option<Owner>,
    /// Whether its metadata ask the owner not to delete it.
    keep: bool,
}

impl Definition {
    /// Returns the controller that deletes the CRD on an upgrade to `to`; `None` if the CRD is kept.
    fn deleted_by(&self, to: Option<&Self>) -> Option<Owner> {
        self.owner.filter(|_| !self.keep && to.is_none_or(|to| to.owner != self.owner))
    }
}

impl Contents {
    fn of(files: &Files, path: &str, chart: Option<&Chart>) -> Self {
        let mut contents = Self::default();
        if let Some(chart) = chart {
            contents.chart = Some((chart.name.clone(), chart.version.clone()));
            contents.values = defaults(files, path);
        }
        for dependency in chart.into_iter().flat_map(|chart| &chart.dependencies) {
            let version = dependency.vendored.as_ref().unwrap_or(&dependency.version).clone();
            if dependency.vendored.is_none() {
                contents.unseen.insert(format!("{} {version}", dependency.name));
            }
            contents.versions.insert(dependency.name.clone(), version);
        }
        let mut limits = Limits::default();
        contents.take(files, path, chart.is_some(), DEPTH, &mut limits);
        contents
    }

    /// Adds the CRDs of a directory, which is a chart or has plain manifests, and those of the charts nested in it.
    fn take(&mut self, files: &Files, path: &str, is_chart: bool, depth: usize, limits: &mut Limits) {
        for (name, file) in files.below(path) {
            let ending = name.rsplit_once('.').map_or("", |(_, ending)| ending);
            if let "yaml" | "yml" = ending {
                let place = name.split('/').rev().find(|part| ["crds", "templates"].contains(part));
                let owner = match (is_chart, place) {
                    (true, None) => continue,
                    (true, Some("crds")) => None,
                    (true, Some(_)) => Some(Owner::Helm),
                    (false, _) => Some(Owner::Flux),
                };
                for (name, definition) in definitions(&String::from_utf8_lossy(&file.content), owner) {
                    // If a chart has a CRD in both places, Helm deletes the template.
                    if owner.is_some() || !self.kinds.contains_key(&name) {
                        self.kinds.insert(name, definition);
                    }
                }
            } else if ending == "tgz" && name.contains("charts/") && depth > 0 {
                // Loading the release has refused archives that cannot be read.
                let Ok(inner) = archive::unpack_within(&file.content, name, limits) else { continue };
                self.take(&inner, "", true, depth - 1, limits);
            }
        }
    }

    fn compare(&self, other: &Self) -> ChartsAndKinds {
        let names: BTreeSet<&String> = self.versions.keys().chain(other.versions.keys()).collect();
        let charts = names.into_iter().filter_map(|name| {
            let (from, to) = (self.versions.get(name).cloned(), other.versions.get(name).cloned());
            let is_changed = from != to;
            let (from, to) = (from.map(short), to.map(short));
            is_changed.then(|| VersionChange { name: name.clone(), from, to, was: None })
        });
        let kinds: BTreeSet<&String> = self.kinds.keys().chain(other.kinds.keys()).collect();
        let kinds = kinds.into_iter().filter_map(|name| {
            let (from, to) = (self.kinds.get(name), other.kinds.get(name));
            let content = |kind: Option<&Definition>| kind.map(|kind| (kind.digest, kind.owner));
            let change = Change::between(content(from).as_ref(), content(to).as_ref());
            let deleted_by = from.and_then(|kind| kind.deleted_by(to));
            (change != Change::Unchanged).then(|| KindChange { name: name.clone(), change, deleted_by })
        });
        ChartsAndKinds {
            charts: charts.chain(itself(self.chart.as_ref(), other.chart.as_ref())).collect(),
            values: match (&self.values, &other.values) {
                (Some(old), Some(new)) => values::differences(Some(old), Some(new)),
                _ => Vec::new(),
            },
            kinds: kinds.collect(),
            unseen: self.unseen.symmetric_difference(&other.unseen).cloned().collect(),
        }
    }
}

/// Returns the default values of a chart; `None` if they cannot be read.
fn defaults(files: &Files, path: &str) -> Option<Value> {
    let Some(file) = files.get(&format!("{path}/values.yaml")) else {
        return Some(Value::Object(Map::new()));
    };
    // The comparison only leaves out unreadable values: Helm reports them when it loads the chart.
    let values = std::str::from_utf8(&file.content).ok().and_then(|text| read_values(text).ok());
    values.map(Value::Object)
}

/// Returns the change of the chart itself, if its version or its name differs.
fn itself(from: Option<&(String, String)>, to: Option<&(String, String)>) -> Option<VersionChange> {
    let (name, _) = to.or(from).filter(|_| from != to)?;
    let version = |chart: Option<&(String, String)>| chart.map(|(_, version)| version.clone());
    let was = from.map(|(was, _)| was).filter(|was| *was != name).cloned();
    Some(VersionChange { name: name.clone(), from: version(from), to: version(to), was })
}

/// Finds the CRDs in a text, which may be a Helm template and therefore not YAML: documents with the kind at the
/// beginning of a line. The name is the first one below the metadata.
fn definitions(text: &str, owner: Option<Owner>) -> Vec<(String, Definition)> {
    let mut found = Vec::new();
    for document in documents(text) {
        let mut lines = document.iter();
        let is_kind = |line: &str| {
            let value = line.strip_prefix("kind:").map(|value| value.trim().trim_matches(['"', '\'']));
            value == Some("CustomResourceDefinition")
        };
        if !document.iter().any(|line| is_kind(line)) {
            continue;
        }
        let in_metadata = lines.by_ref().any(|line| line.trim_end() == "metadata:");
        let below = lines.take_while(|line| in_metadata && (line.starts_with(' ') || line.starts_with("{{")));
        let below: Vec<&str> = below.copied().collect();
        let indent = |line: &str| line.len() - line.trim_start().len();
        let least = below.iter().map(|line| indent(line)).filter(|indent| *indent > 0).min();
        let mut name = below.iter().filter(|line| Some(indent(line)) == least);
        let name = name.find_map(|line| line.trim_start().strip_prefix("name:"));
        let name = name.map(|name| name.trim().trim_matches(['"', '\'']).to_owned());
        let digest = Digest::of_bytes(document.join("\n").as_bytes());
        let definition = Definition { digest, owner, keep: is_kept(&below, owner) };
        found.push((name.unwrap_or_else(|| "without a name".to_owned()), definition));
    }
    found
}

/// Whether metadata ask the owner not to delete the object. A request that depends on a condition of the template does
/// not count: a superfluous warning is better than a missing one.
fn is_kept(metadata: &[&str], owner: Option<Owner>) -> bool {
    let (key, wanted) = match owner {
        Some(Owner::Helm) => ("helm.sh/resource-policy", "keep"),
        Some(Owner::Flux) => ("kustomize.toolkit.fluxcd.io/prune", "disabled"),
        None => return false,
    };
    let mut open = 0_u32;
    for line in metadata {
        let action = line.trim_start().trim_start_matches("{{").trim_start_matches(['-', ' ']);
        match (line.contains("{{"), action.split(' ').next()) {
            (true, Some("if" | "with" | "range")) => open += 1,
            (true, Some("end" | "end}}" | "end-}}")) => open = open.saturating_sub(1),
            _ => {}
        }
        let value = line.split_once(key).map(|(_, rest)| rest.trim_start_matches(['"', '\'', ' ', ':']));
        if open == 0 && value.is_some_and(|value| value.starts_with(wanted)) {
            return true;
        }
    }
    false
}

/// Splits a text into documents. Their lines have no trailing white space; comments and empty lines are left out.
fn documents(text: &str) -> Vec<Vec<&str>> {
    let mut documents = vec![Vec::new()];
    for line in text.lines() {
        if line.starts_with("---") {
            documents.push(Vec::new());
        } else if let Some(last) = documents.last_mut()
            && !line.trim().is_empty()
            && !line.trim_start().starts_with('#')
        {
            last.push(line.trim_end());
        }
    }
    documents
}

#[cfg(test)]
mod tests;
