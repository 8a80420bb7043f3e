//! The values of a chart: those of each rank, and what `valuesFrom` of Flux adds to them.
//!
//! | rank, the lowest first | merged by |
//! |---|---|
//! | the chart's own `values.yaml` | Helm |
//! | `valuesFrom` without `targetPath` | Flux |
//! | a component's `values` | [`of_chart`] |
//! | `values` of the `ClusterStack` | [`of_chart`] |
//! | `values` of the `ClusterAddonOverride`, but for each `targetPath` | [`of_chart`] |
//! | what the values template renders | [`of_chart`] |
//! | `valuesFrom` with `targetPath` | Flux |

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::overlaps::{in_the_way, replaced_path, target_paths};
use crate::api::flux_fields::ValuesReference;
use crate::api::{AddonSettings, Reason, labels};
use crate::foreign::capi::field;
use crate::gate::Hold;
use crate::inputs::ClusterInputs;
use crate::inputs::content::Content;
use crate::names::ObjectName;
use crate::release::values::{ROOTS, read_values};
use crate::release::{Addon, ValuesTemplate};
use gotemplate::{FieldPath, RenderError};

/// Returns `spec.values` of an addon that is a chart, from the settings of the platform, the values that the owner of the Cluster
/// requests, and the rendered ones.
pub(super) fn of_chart(
    (settings, requested): (Option<&AddonSettings>, Option<&Map<String, Value>>),
    addon: &Addon,
    content: &Content,
    rendered: Map<String, Value>,
) -> Map<String, Value> {
    let of_component = addon.component().map(|component| component.values.clone());
    let of_platform = settings.map(|settings| sorted(without_mark(settings.values.clone())));
    let mut of_owner = requested.map(|requested| sorted(without_mark(requested.clone())));
    if let Some(of_owner) = &mut of_owner {
        // Flux merges these values over an item of a list, and in place of an optional object that is missing: no request may
        // take the place of what the platform sets there.
        target_paths(settings).for_each(|path| remove(of_owner, &path.keys));
    }
    let below = [of_component, of_platform, of_owner].map(Option::unwrap_or_default);
    let mut values = ranked(below.into_iter().chain([rendered]));
    for reference in settings.into_iter().flat_map(|settings| &settings.values_from) {
        if let Some(path) = replaced_path(reference) {
            remove(&mut values, &path.keys);
        }
    }
    if addon.component().is_some() { values } else { marked(values, addon, content) }
}

/// Merges values by rank, the lowest first, as Helm and Flux merge them: maps by key, everything else whole. A null stays,
/// with which Helm removes the chart's key, unless a higher rank has the key, too.
fn ranked(layers: impl IntoIterator<Item = Map<String, Value>>) -> Map<String, Value> {
    layers.into_iter().fold(Map::new(), merged)
}

/// Returns values with others merged over them, as Helm merges values: maps by key, everything else whole.
fn merged(mut below: Map<String, Value>, above: Map<String, Value>) -> Map<String, Value> {
    for (key, value) in above {
        let value = match (below.remove(&key), value) {
            (Some(Value::Object(below)), Value::Object(above)) => Value::Object(merged(below, above)),
            (_, value) => value,
        };
        below.insert(key, value);
    }
    below
}

/// Sorts the keys at all levels, as the API server does: a file with a `ClusterStack` gives the same bytes.
fn sorted(mut values: Map<String, Value>) -> Map<String, Value> {
    values.sort_keys();
    values.values_mut().for_each(Value::sort_all_objects);
    values
}

/// Returns the references of an addon for one Cluster. Those without `targetPath` come first: Flux would let one that
/// comes later replace the value at a `targetPath`.
pub(super) fn references(settings: &AddonSettings, cluster: &ObjectName) -> Vec<ValuesReference> {
    let mut references: Vec<_> =
        settings.values_from.iter().map(|reference| reference.for_cluster(cluster.as_str())).collect();
    references.sort_by_key(|reference| reference.target_path.is_some());
    references
}

/// Removes the value at a path, or the one that is in its way.
fn remove(values: &mut Map<String, Value>, path: &[String]) {
    let Some(depth) = in_the_way(values, path) else { return };
    let Some((last, parents)) = path.get(..depth).and_then(<[String]>::split_last) else { return };
    let mut map = Some(values);
    for key in parents {
        map = map.and_then(|map| map.get_mut(key)?.as_object_mut());
    }
    if let Some(map) = map {
        map.shift_remove(last);
    }
}

/// Returns the texts that Flux substitutes in the manifests of a component: `postBuild.substitute` takes no other values.
pub(super) fn substitutions(
    rendered: Map<String, Value>,
    file: &str,
) -> Result<BTreeMap<String, String>, Hold> {
    let invalid =
        |message: String| Hold { reason: Reason::ValuesInvalid, message: format!("{file}: {message}") };
    let is_name = |name: &str| {
        let mut characters = name.chars();
        let is_first = characters.next().is_some_and(|first| first.is_ascii_alphabetic() || first == '_');
        is_first && characters.all(|other| other.is_ascii_alphanumeric() || other == '_')
    };
    rendered
        .into_iter()
        .map(|(name, value)| match value {
            _ if !is_name(&name) => Err(invalid(format!(
                "{name:?} is not a variable: use letters, digits and '_', but no digit at its start"
            ))),
            Value::String(text) => Ok((name, text)),
            _ => Err(invalid(format!("the value of {name} must be a string: write it in quotes"))),
        })
        .collect()
}

/// Adds the digest of the content to the values. helm-controller compares name and version of the chart and the values
/// to decide whether a Helm release is up to date, and two contents that entered the repository with one commit have the
/// same name and version. Without the digest, helm-controller would take a failed upgrade that it rolled back for a success.
fn marked(mut values: Map<String, Value>, addon: &Addon, content: &Content) -> Map<String, Value> {
    if addon.chart().is_some_and(|chart| chart.ignores_unknown_values) {
        values.insert(labels::CONTENT_DIGEST.to_owned(), content.digest.to_string().into());
    }
    values
}

/// Removes the digest of the content, which is not a setting.
fn without_mark(mut values: Map<String, Value>) -> Map<String, Value> {
    values.shift_remove(labels::CONTENT_DIGEST);
    values
}

/// Returns the values of a `HelmRelease` without the digest of its content; `None` if it has no values.
#[must_use]
pub fn rendered_values(release: &Value) -> Option<Value> {
    let values = without_mark(field(release, &["spec", "values"])?.as_object()?.clone());
    (!values.is_empty()).then_some(Value::Object(values))
}

/// Renders the values of an addon for a Cluster; fails with a hold if the template gives none.
pub fn rendered(source: &ValuesTemplate, cluster: &ClusterInputs) -> Result<Map<String, Value>, Hold> {
    if let Some(missing) = cluster.missing_object(source.template.fields().iter()) {
        let message = format!(
            "{} reads {} {}, which the Cluster refers to but which is missing",
            source.file, missing.kind, missing.name
        );
        return Err(Hold { reason: Reason::WaitingForObject, message });
    }
    let text = source.template.render(cluster.data()).map_err(|error| match &error {
        RenderError::Missing { path, .. } => {
            let message =
                if never_exists(source, path) { format!("{error}: {NEVER}") } else { error.to_string() };
            Hold { reason: Reason::WaitingForField, message }
        }
        _ => Hold { reason: Reason::ValuesInvalid, message: error.to_string() },
    })?;
    read_values(&text)
        .map_err(|error| Hold { reason: Reason::ValuesInvalid, message: format!("{}: {error}", source.file) })
}

/// Says why a wait for a field does not end.
const NEVER: &str = "this wait does not end, because no Cluster ever has this field: a values template reads .Cluster, \
                     .ControlPlane and .InfraCluster alone. Publish a release with a corrected template";

/// Whether the data of no Cluster have a field that the template waits for: its root does not exist. The path of a value
/// that the template made does not begin at a root.
fn never_exists(source: &ValuesTemplate, path: &FieldPath) -> bool {
    let root = path.segments().first();
    root.is_some_and(|root| !ROOTS.contains(&root.as_str()))
        && source.template.fields().iter().any(|field| field.segments().first() == root)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::gate::settings::TargetPath;

    fn map(value: &Value) -> Map<String, Value> {
        value.as_object().unwrap().clone()
    }

    /// As `MergeMaps` of Flux and Helm.
    #[test]
    fn higher_ranks_are_merged_over_lower_ones() {
        for (layers, expected) in [
            (json!([{"a": 1}, {"a": 2}, {}]), json!({"a": 2})),
            (json!([{"a": 1}, {}, {"a": 3}]), json!({"a": 3})),
            (
                json!([{"a": {"x": 1, "y": 1}}, {"a": {"y": 2, "z": 2}}, {"a": {"z": 3}}]),
                json!({"a": {"x": 1, "y": 2, "z": 3}}),
            ),
            (json!([{"a": [1, 2]}, {"a": [3]}, {}]), json!({"a": [3]})),
            (json!([{"a": [1, 2]}, {}, {"a": []}]), json!({"a": []})),
            (json!([{"a": {"x": 1}}, {"a": null}, {}]), json!({"a": null})),
            (json!([{}, {"a": {"x": null}}, {"a": {"y": 3}}]), json!({"a": {"x": null, "y": 3}})),
            // The chart's own keys of such a map stay: the null of a lower rank has no effect.
            (json!([{"a": null}, {"a": {"x": 2}}, {}]), json!({"a": {"x": 2}})),
            (json!([{}, {"a": {"x": 2}}, {"a": null}]), json!({"a": null})),
            (json!([{}, {"a": {"x": 2}}, {"a": "text"}]), json!({"a": "text"})),
            (json!([{"a": "text"}, {"a": {"x": 2}}, {"a": {}}]), json!({"a": {"x": 2}})),
            (json!([{"a.b": 1}, {"a": {"b": 2}}, {}]), json!({"a.b": 1, "a": {"b": 2}})),
        ] {
            let merged = ranked(layers.as_array().unwrap().iter().map(map));
            assert_eq!(Value::Object(merged), expected, "{layers}");
        }
    }

    #[test]
    fn value_at_a_target_path_is_left_out() {
        let values = json!({"a": {"b": 1, "c": {"d": 1}}, "e.f": 1, "g": [1], "h": null});
        for (path, expected) in [
            ("a.b", json!({"a": {"c": {"d": 1}}, "e.f": 1, "g": [1], "h": null})),
            ("a.c", json!({"a": {"b": 1}, "e.f": 1, "g": [1], "h": null})),
            ("a.c.d", json!({"a": {"b": 1, "c": {}}, "e.f": 1, "g": [1], "h": null})),
            ("a", json!({"e.f": 1, "g": [1], "h": null})),
            // A text is in the way of the value.
            ("a.b.x.y", json!({"a": {"c": {"d": 1}}, "e.f": 1, "g": [1], "h": null})),
            (r"e\.f", json!({"a": {"b": 1, "c": {"d": 1}}, "g": [1], "h": null})),
            ("h", json!({"a": {"b": 1, "c": {"d": 1}}, "e.f": 1, "g": [1]})),
            ("e.f", values.clone()),
            ("a.x", values.clone()),
            ("a.c.x", values.clone()),
            ("x", values.clone()),
        ] {
            let mut left = map(&values);
            remove(&mut left, &TargetPath::parse(path).keys);
            assert_eq!(Value::Object(left), expected, "{path}");
        }
    }
}
