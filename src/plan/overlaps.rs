//! Paths that the settings of an addon and its values template both give, so that one of the two has no effect.

use serde_json::{Map, Value};

use crate::api::AddonSettings;
use crate::api::flux_fields::ValuesReference;
use crate::gate::settings::TargetPath;
use crate::release::finding::shortened;

/// Maximum number of paths that are listed, and of characters of one.
const MAX_PATHS: usize = 5;
const MAX_PATH: usize = 80;

/// Describes the paths that the settings of an addon and its values template both give.
#[must_use]
pub fn overlaps(settings: &AddonSettings, rendered: &Map<String, Value>) -> Vec<String> {
    let mut found = Vec::new();
    for reference in &settings.values_from {
        let Some(target) = reference.target_path.as_ref().map(|path| TargetPath::parse(path)) else {
            continue;
        };
        let Some(path) = in_the_way(rendered, &target.keys).and_then(|depth| target.keys.get(..depth)) else {
            continue;
        };
        let (kind, name, path) = (reference.kind.as_str(), &reference.name, dotted(path.iter()));
        found.push(if replaced_path(reference).is_some() {
            format!("valuesFrom {kind} {name} replaces rendered path {path}")
        } else {
            format!(
                "valuesFrom {kind} {name} may replace rendered path {path}: for an optional object and for an item of a list, \
                 Flux can keep the rendered value"
            )
        });
    }
    let mut paths = Paths::default();
    paths.add(&settings.values, rendered, &mut Vec::new());
    if paths.count > 0 {
        let left_out = paths.count.saturating_sub(paths.first.len());
        let more = if left_out > 0 { format!(" and {left_out} more") } else { String::new() };
        let first = paths.first.join(", ");
        found.push(format!("values has no effect at {first}{more}: the values template renders it"));
    }
    found
}

/// Returns the path whose value a reference replaces for certain. Flux merges `spec.values` over what it has put at a
/// `targetPath`, and the value at the `targetPath` stays only if no map of the path was merged before. So the plan leaves
/// out what is there, unless the object may be missing, or the path is that of an item of a list.
pub(super) fn replaced_path(reference: &ValuesReference) -> Option<TargetPath> {
    let path = TargetPath::parse(reference.target_path.as_ref()?);
    (!reference.optional && !path.is_in_list).then_some(path)
}

/// Returns the paths that the references of an addon give values for. That of an item of a list is the path of the list.
pub(super) fn target_paths(settings: Option<&AddonSettings>) -> impl Iterator<Item = TargetPath> {
    let references = settings.into_iter().flat_map(|settings| &settings.values_from);
    references.filter_map(|reference| Some(TargetPath::parse(reference.target_path.as_ref()?)))
}

/// Returns a mapping that has a null at each path that the references of an addon give a value for.
#[must_use]
pub fn targets(settings: Option<&AddonSettings>) -> Map<String, Value> {
    let mut found = Map::new();
    for path in target_paths(settings) {
        let Some((last, parents)) = path.keys.split_last() else { continue };
        let mut map = Some(&mut found);
        for key in parents {
            map = map
                .and_then(|map| map.entry(key.clone()).or_insert_with(|| Map::new().into()).as_object_mut());
        }
        if let Some(map) = map {
            map.insert(last.clone(), Value::Null);
        }
    }
    found
}

/// Returns how many keys of a path lead to the first value that is not a map, or to the end of the path; `None` if one of
/// the keys is missing.
pub(super) fn in_the_way(values: &Map<String, Value>, path: &[String]) -> Option<usize> {
    let mut map = values;
    for (at, key) in path.iter().enumerate() {
        match map.get(key)? {
            Value::Object(inner) => map = inner,
            _ => return Some(at + 1),
        }
    }
    Some(path.len())
}

/// The paths of values that a values template renders, too.
#[derive(Default)]
struct Paths {
    first: Vec<String>,
    count: usize,
}

impl Paths {
    fn add<'a>(
        &mut self,
        values: &'a Map<String, Value>,
        rendered: &Map<String, Value>,
        path: &mut Vec<&'a String>,
    ) {
        for (key, value) in values {
            let Some(above) = rendered.get(key) else { continue };
            path.push(key);
            if let (Value::Object(value), Value::Object(above)) = (value, above) {
                self.add(value, above, path);
            } else {
                self.count += 1;
                if self.first.len() < MAX_PATHS {
                    self.first.push(dotted(path.iter().copied()));
                }
            }
            path.pop();
        }
    }
}

/// Writes a path as `helm --set` has it.
fn dotted<'a>(path: impl Iterator<Item = &'a String>) -> String {
    let keys: Vec<String> = path.map(|key| key.replace('.', "\\.")).collect();
    let text: String = keys.join(".").chars().filter(|character| !character.is_control()).collect();
    shortened(&text, MAX_PATH)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn found(settings: &Value, rendered: &Value) -> Vec<String> {
        overlaps(&serde_json::from_value(settings.clone()).unwrap(), rendered.as_object().unwrap())
    }

    #[test]
    fn target_path_at_above_or_below_a_rendered_path_is_named() {
        let rendered = json!({"a": {"b": 1, "c": {"d": 1}}, "e.f": 1, "g": [1], "h": {}});
        for (path, expected) in [
            ("a.b", Some("a.b")),
            ("a", Some("a")),
            ("a.c", Some("a.c")),
            ("a.b.x", Some("a.b")),
            (r"e\.f", Some(r"e\.f")),
            ("h", Some("h")),
            ("e.f", None),
            ("a.x", None),
            ("a.c.x", None),
            ("h.x", None),
            ("x", None),
        ] {
            let settings = json!({"valuesFrom": [{"kind": "Secret", "name": "x", "targetPath": path}]});
            let expected = expected.map(|path| format!("valuesFrom Secret x replaces rendered path {path}"));
            assert_eq!(found(&settings, &rendered), expected.into_iter().collect::<Vec<_>>(), "{path}");
        }
    }

    #[test]
    fn reference_that_flux_may_ignore_says_so() {
        let rendered = json!({"a": {"b": 1}, "g": [1]});
        for (reference, expected) in [
            (
                json!({"targetPath": "a.b", "optional": true}),
                "valuesFrom ConfigMap x may replace rendered path a.b: ",
            ),
            (json!({"targetPath": "g[0]"}), "valuesFrom ConfigMap x may replace rendered path g: "),
            (json!({"targetPath": "a.x", "optional": true}), ""),
            (json!({"targetPath": "x[0]"}), ""),
            (json!({}), ""),
        ] {
            let mut whole = json!({"kind": "ConfigMap", "name": "x"});
            whole.as_object_mut().unwrap().extend(reference.as_object().unwrap().clone());
            let found = found(&json!({"valuesFrom": [whole]}), &rendered).join("; ");
            assert_eq!(found.is_empty(), expected.is_empty(), "{reference}: {found}");
            assert!(found.starts_with(expected), "{reference}: {found}");
        }
    }

    #[test]
    fn platform_values_that_are_rendered_are_named() {
        let rendered = json!({"a": {"b": 1, "c": {"d": 1}}, "e": 1, "n": null, "f.g": 1});
        for (values, expected) in [
            (json!({"a": {"b": 2}}), "a.b"),
            (json!({"a": {"b": 2, "x": 2}, "e": {"y": 2}}), "a.b, e"),
            (json!({"a": null}), "a"),
            (json!({"a": {"c": "text"}}), "a.c"),
            (json!({"n": 1, "f.g": 2}), r"n, f\.g"),
            (json!({"a": {"x": 1, "c": {"y": 1}}, "z": 1}), ""),
            (json!({"a": {}}), ""),
        ] {
            let found = found(&json!({"values": values}), &rendered).join("; ");
            let whole = format!("values has no effect at {expected}: the values template renders it");
            assert_eq!(found, if expected.is_empty() { "" } else { &whole }, "{values}");
        }
    }

    #[test]
    fn list_of_paths_is_bounded() {
        let values: Map<String, Value> = (0..2000).map(|at| (format!("{at:0>1000}\n"), json!(1))).collect();
        let found = found(&json!({"values": values}), &json!(values)).join("");
        assert!(found.contains("… and 1995 more: "), "{found}");
        assert!(found.len() < 600 && !found.contains('\n'), "{found}");
    }

    #[test]
    fn targets_have_all_paths_of_references() {
        let of = |paths: &[&str]| {
            let reference = |path: &&str| json!({"kind": "Secret", "name": "x", "targetPath": path});
            let references: Vec<Value> = paths.iter().map(reference).collect();
            let settings: AddonSettings = serde_json::from_value(json!({"valuesFrom": references})).unwrap();
            Value::Object(targets(Some(&settings)))
        };
        for (paths, expected) in [
            (&["a.b", r"a.c\.d", "e[0].f"][..], json!({"a": {"b": null, "c.d": null}, "e": null})),
            (&["a", "a.b"], json!({"a": null})),
            (&["a.b", "a"], json!({"a": null})),
            (&[], json!({})),
        ] {
            assert_eq!(of(paths), expected, "{paths:?}");
        }
    }

    #[test]
    fn optional_and_indexed_paths_are_not_certain() {
        for (reference, is_certain) in [
            (json!({"targetPath": "a.b"}), true),
            (json!({}), false),
            (json!({"targetPath": "a.b", "optional": true}), false),
            (json!({"targetPath": "a[0]"}), false),
            (json!({"targetPath": "a[0].b"}), false),
        ] {
            let mut whole = json!({"kind": "Secret", "name": "x"});
            whole.as_object_mut().unwrap().extend(reference.as_object().unwrap().clone());
            let reference = serde_json::from_value(whole).unwrap();
            assert_eq!(replaced_path(&reference).is_some(), is_certain, "{reference:?}");
        }
    }
}
