//! The container images that a chart names in its values.
//!
//! What Helm would render is not known here: these are the images of the chart's own defaults, in the two shapes that
//! charts use (`image: name`, and a mapping with `repository`), with what a chart says about its sub-charts merged over
//! theirs. An image whose tag the chart leaves to its templates is named without one.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::archive;
use super::document::options;
use super::files::{Files, Limits};

/// How many charts lie within each other at most.
const CHARTS: usize = 4;
/// The deepest nesting of values.
const DEPTH: usize = 64;

/// The images of the chart in this directory of an unpacked release, and of the charts in its `charts/`. What cannot be
/// read names no image: what is wrong with a chart is told when the release is loaded.
#[must_use]
pub fn images(files: &Files, chart: &str, limits: &Limits) -> BTreeSet<String> {
    let mut search = Search { left: limits.clone(), images: BTreeSet::new() };
    search.chart(files, chart, None, CHARTS);
    search.images
}

struct Search {
    left: Limits,
    images: BTreeSet<String>,
}

impl Search {
    /// Looks into the chart in a directory. `overrides` is what the chart around it says.
    fn chart(&mut self, files: &Files, directory: &str, overrides: Option<Value>, depth: usize) {
        let Some(depth) = depth.checked_sub(1) else { return };
        let mut values = self.mapping(files, &format!("{directory}/values.yaml"));
        if let Some(Value::Object(overrides)) = overrides {
            merge(&mut values, overrides);
        }
        let aliases = aliases(&self.mapping(files, &format!("{directory}/Chart.yaml")));
        let below = format!("{directory}/charts");
        for name in files.directories(&below) {
            self.sub_chart(files, &format!("{below}/{name}"), &aliases, &mut values, depth);
        }
        for (name, file) in files.below(&below).filter(|(name, _)| !name.contains('/')) {
            let Ok(inner) = archive::unpack_within(&file.content, name, &mut self.left) else { continue };
            for top in inner.directories("") {
                self.sub_chart(&inner, top, &aliases, &mut values, depth);
            }
        }
        collect(&Value::Object(values), &mut self.images);
    }

    /// Looks into a chart of another, once for each name that the other has for it.
    fn sub_chart(
        &mut self,
        files: &Files,
        directory: &str,
        aliases: &[(String, String)],
        values: &mut Map<String, Value>,
        depth: usize,
    ) {
        let chart = self.mapping(files, &format!("{directory}/Chart.yaml"));
        let Some(name) = chart.get("name").and_then(Value::as_str) else { return };
        let mut keys: Vec<&str> =
            aliases.iter().filter(|(of, _)| of == name).map(|(_, alias)| alias.as_str()).collect();
        if keys.is_empty() {
            keys.push(name);
        }
        for key in keys {
            let overrides = values.shift_remove(key);
            self.chart(files, directory, overrides, depth);
        }
    }

    /// The mapping in a YAML file; empty where there is none.
    fn mapping(&self, files: &Files, path: &str) -> Map<String, Value> {
        let file = files.get(path).filter(|file| file.content.len() <= self.left.yaml_file);
        let text = file.and_then(|file| std::str::from_utf8(&file.content).ok()).unwrap_or_default();
        match serde_yaml::from_str_with_options(text, options(false, DEPTH)) {
            Ok(Value::Object(mapping)) => mapping,
            _ => Map::new(),
        }
    }
}

/// The dependencies of a `Chart.yaml`: name, and the key of its values.
fn aliases(chart: &Map<String, Value>) -> Vec<(String, String)> {
    let dependencies = chart.get("dependencies").and_then(Value::as_array);
    let text = |dependency: &Value, key: &str| Some(dependency.get(key)?.as_str()?.to_owned());
    dependencies
        .into_iter()
        .flatten()
        .filter_map(|dependency| {
            let name = text(dependency, "name")?;
            let alias = text(dependency, "alias").filter(|alias| !alias.is_empty());
            Some((name.clone(), alias.unwrap_or(name)))
        })
        .collect()
}

/// Puts values over others, as Helm does: mappings are merged, null removes, all else replaces.
fn merge(values: &mut Map<String, Value>, over: Map<String, Value>) {
    for (key, value) in over {
        match (values.get_mut(&key), value) {
            (_, Value::Null) => drop(values.shift_remove(&key)),
            (Some(Value::Object(own)), Value::Object(over)) => merge(own, over),
            (_, value) => drop(values.insert(key, value)),
        }
    }
}

fn collect(value: &Value, images: &mut BTreeSet<String>) {
    match value {
        Value::Object(entries) => {
            images.extend(image(entries));
            let named = entries.get("image").and_then(Value::as_str).filter(|image| !image.is_empty());
            images.extend(named.map(str::to_owned));
            entries.values().for_each(|value| collect(value, images));
        }
        Value::Array(items) => items.iter().for_each(|item| collect(item, images)),
        _ => {}
    }
}

/// The image of a mapping with `repository` and a `tag`, with `registry` before it where there is one.
fn image(entries: &Map<String, Value>) -> Option<String> {
    let text = |key: &str| match entries.get(key)? {
        Value::String(text) => Some(text.clone()).filter(|text| !text.is_empty()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    };
    // A chart repository has no tag at all.
    entries.get("tag")?;
    let registry = text("registry").map(|registry| format!("{registry}/")).unwrap_or_default();
    let tag = text("tag").map(|tag| format!(":{tag}")).unwrap_or_default();
    Some(format!("{registry}{}{tag}", text("repository")?))
}

#[cfg(test)]
mod tests;
