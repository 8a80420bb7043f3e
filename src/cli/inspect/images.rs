//! Finds the container images that the text of a release names.
//!
//! Which images a chart uses is only known when Helm renders it with a cluster's values. This search covers the default
//! values of a chart and of its vendored charts (with the values that the chart sets for them), and images written out
//! in templates and manifests. Parts with `enabled: false` are left out. An image that a template composes in another
//! way is not found.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use crate::release::values::read_values;
use crate::release::{Addon, AddonKind, CLUSTER_CLASS, Dependency, Files, Limits, NODE_IMAGES, archive};

/// Maximum depth of nested charts; real charts have fewer levels.
const MAX_LEVELS: usize = 4;

/// The images found in an addon.
pub(super) struct Images {
    /// The images, sorted. An image whose tag is chosen by the chart has no tag here.
    pub(super) names: Vec<String>,
    /// The values that could not be read, each with the error: the images in them are unknown.
    pub(super) unreadable: Vec<String>,
}

/// Finds the images of an addon.
pub(super) fn of_addon(addon: &Addon, files: &Files, limits: &Limits) -> Images {
    let mut search = Search { limits: limits.clone(), images: BTreeSet::new(), unreadable: Vec::new() };
    match &addon.kind {
        AddonKind::Chart(chart) => {
            let values = search.values_of(files, &addon.path);
            search.chart(files, &addon.path, values, &chart.dependencies, MAX_LEVELS);
        }
        AddonKind::Manifests => written(files, &addon.path, &["image"], &mut search.images),
        // Its content is in another repository.
        AddonKind::Component(_) => {}
    }
    Images { names: search.images.into_iter().collect(), unreadable: search.unreadable }
}

/// Finds the images of nodes, sorted: those that the manifests of node images and the templates of the cluster class
/// name or fetch.
pub(super) fn of_nodes(files: &Files) -> Vec<String> {
    let mut images = BTreeSet::new();
    written(files, NODE_IMAGES, &["image", "url"], &mut images);
    written(files, &format!("{CLUSTER_CLASS}/templates"), &["image", "url"], &mut images);
    images.into_iter().collect()
}

struct Search {
    /// The limits of what may still be unpacked.
    limits: Limits,
    images: BTreeSet<String>,
    unreadable: Vec<String>,
}

impl Search {
    /// Collects the images of the chart at `path` with these values, and of the charts below its `charts/`.
    fn chart(
        &mut self,
        files: &Files,
        path: &str,
        mut values: Map<String, Value>,
        dependencies: &[Dependency],
        levels: usize,
    ) {
        written(files, &format!("{path}/templates"), &["image"], &mut self.images);
        let charts = format!("{path}/charts");
        if let Some(levels) = levels.checked_sub(1) {
            for name in files.directories(&charts) {
                let path = format!("{charts}/{name}");
                let own = self.set_by_parent(files, &path, name, &mut values, dependencies);
                self.chart(files, &path, own, &[], levels);
            }
            for (name, archive) in files.below(&charts).filter(|(name, _)| is_archive(name)) {
                let Some(inner) = self.unpack(&archive.content) else { continue };
                let before = self.unreadable.len();
                for top in inner.directories("") {
                    let own = self.set_by_parent(&inner, top, top, &mut values, dependencies);
                    self.chart(&inner, top, own, &[], levels);
                }
                for unreadable in self.unreadable.iter_mut().skip(before) {
                    *unreadable = format!("{charts}/{name}: {unreadable}");
                }
            }
        }
        named(&values, &mut self.images);
    }

    /// Unpacks a vendored chart; `None` if it cannot be read, which loading the release has reported for the charts
    /// that Helm would use.
    fn unpack(&mut self, archive: &[u8]) -> Option<Files> {
        let Ok(inner) = archive::unpack(archive, "", &self.limits) else { return None };
        self.limits.unpacked = self.limits.unpacked.saturating_sub(inner.size());
        self.limits.entries = self.limits.entries.saturating_sub(inner.len());
        Some(inner)
    }

    /// Returns the values of a vendored chart: its own, overridden by those that the parent chart sets for it.
    fn set_by_parent(
        &mut self,
        files: &Files,
        path: &str,
        name: &str,
        parent: &mut Map<String, Value>,
        dependencies: &[Dependency],
    ) -> Map<String, Value> {
        let dependency = dependencies.iter().find(|dependency| dependency.name == name);
        let key = dependency.and_then(|dependency| dependency.alias.as_deref()).unwrap_or(name);
        let mut values = self.values_of(files, path);
        if let Some(Value::Object(set)) = parent.remove(key) {
            merge(&mut values, set);
        }
        values
    }

    /// Reads the chart's `values.yaml`; empty if it is missing or cannot be read.
    fn values_of(&mut self, files: &Files, path: &str) -> Map<String, Value> {
        let path = format!("{path}/values.yaml");
        let Some(file) = files.get(&path) else { return Map::new() };
        let text = std::str::from_utf8(&file.content).map_err(|error| error.to_string());
        let values = text.and_then(|text| read_values(text).map_err(|error| error.to_string()));
        values.unwrap_or_else(|error| {
            self.unreadable.push(format!("{path}: {error}"));
            Map::new()
        })
    }
}

/// Whether a path below `charts/` is the archive of a chart.
fn is_archive(name: &str) -> bool {
    !name.contains('/') && name.rsplit_once('.').is_some_and(|(_, ending)| ending == "tgz")
}

/// Merges values into others like Helm: mappings are merged, null removes a key.
fn merge(under: &mut Map<String, Value>, over: Map<String, Value>) {
    for (key, value) in over {
        match (under.get_mut(&key), value) {
            (_, Value::Null) => drop(under.remove(&key)),
            (Some(Value::Object(under)), Value::Object(over)) => merge(under, over),
            (_, value) => drop(under.insert(key, value)),
        }
    }
}

/// Collects images from values: the keys that end in `image` with a reference, or with a repository and a tag.
fn named(values: &Map<String, Value>, images: &mut BTreeSet<String>) {
    if values.get("enabled") == Some(&Value::Bool(false)) {
        return;
    }
    for (key, value) in values {
        let is_image = key.to_ascii_lowercase().ends_with("image");
        match value {
            Value::String(text) if is_image => images.extend(reference(text)),
            Value::Object(inner) => {
                images.extend(is_image.then(|| from_parts(inner)).flatten());
                named(inner, images);
            }
            Value::Array(items) => {
                items.iter().filter_map(Value::as_object).for_each(|inner| named(inner, images));
            }
            _ => {}
        }
    }
}

/// Builds the reference from a mapping with `registry`, `repository`, `tag` and `digest`.
fn from_parts(image: &Map<String, Value>) -> Option<String> {
    let part = |key| match image.get(key) {
        Some(Value::String(text)) if !text.is_empty() => Some(text.clone()),
        Some(Value::Number(number)) => Some(number.to_string()),
        _ => None,
    };
    let with = |key, mark: &str| part(key).map(|text| format!("{mark}{text}")).unwrap_or_default();
    let registry = part("registry").map(|registry| format!("{registry}/")).unwrap_or_default();
    reference(&format!("{registry}{}{}{}", part("repository")?, with("tag", ":"), with("digest", "@")))
}

/// Collects images written out in YAML files, with or without templates in other lines.
fn written(files: &Files, directory: &str, keys: &[&str], images: &mut BTreeSet<String>) {
    for (path, file) in files.below(directory) {
        let is_yaml = path.rsplit_once('.').is_some_and(|(_, ending)| matches!(ending, "yaml" | "yml"));
        // Only a string names an image.
        let Ok(source) = std::str::from_utf8(&file.content) else { continue };
        if !is_yaml {
            continue;
        }
        for line in source.lines() {
            let line = line.trim_start().trim_start_matches("- ");
            let Some((key, value)) = line.split_once(':') else { continue };
            if keys.contains(&key) {
                let value = value.split(" #").next().unwrap_or_default();
                images.extend(reference(value.trim().trim_matches(['"', '\''])));
            }
        }
    }
}

/// Returns the text if it can be a reference, so that a template has nothing left to insert.
fn reference(text: &str) -> Option<String> {
    let can_be = |character: char| character.is_ascii_alphanumeric() || "/:._-@+%~=?&".contains(character);
    (!text.is_empty() && text.chars().all(can_be)).then(|| text.to_owned())
}
