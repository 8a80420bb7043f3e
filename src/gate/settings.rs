//! Whether the settings of an addon in its `ClusterStack` are for an addon of its form.

use std::collections::BTreeSet;

use super::Hold;
use crate::api::cluster_stack::ClusterStackSpec;
use crate::api::flux_fields::ValuesReference;
use crate::api::{AddonSettings, FluxSettings, Reason, labels};
use crate::release::Addon;

/// Maximum size of the values of an addon, as JSON.
pub const MAX_VALUES_BYTES: usize = 65_536;

/// A setting of an addon that cannot be obeyed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The field, such as `spec.flux.addons.cni.values`.
    pub field: String,
    /// Description of the problem, and what to do.
    pub message: String,
}

/// Lists what is wrong with the settings of an addon. They are never ignored in silence: the addon is held.
#[must_use]
pub fn problems(flux: &FluxSettings, addon: &Addon) -> Vec<Problem> {
    let name = addon.name.as_str();
    let Some(settings) = flux.addons.get(name) else { return Vec::new() };
    let AddonSettings { values, values_from, post_renderers, decryption, .. } = settings;
    let of_charts = [
        ("values", !values.is_empty()),
        ("valuesFrom", !values_from.is_empty()),
        ("postRenderers", !post_renderers.is_empty()),
    ];
    let problem =
        |field: &str, message: String| Problem { field: format!("spec.flux.addons.{name}.{field}"), message };
    let is_given = |fields: &[(&'static str, bool)]| {
        fields.iter().filter(|(_, is_given)| *is_given).map(|(field, _)| *field).collect::<Vec<_>>()
    };
    if !addon.is_chart() {
        let message = format!("{name} is plain manifests, and the field is for charts: remove it");
        return is_given(&of_charts).into_iter().map(|field| problem(field, message.clone())).collect();
    }
    let message = format!("{name} is a chart, and the field is for plain manifests: remove it");
    let mut problems: Vec<_> = is_given(&[("decryption", decryption.is_some())])
        .into_iter()
        .map(|field| problem(field, message.clone()))
        .collect();
    let bytes =
        if values.is_empty() { 0 } else { serde_json::to_string(values).map_or(0, |json| json.len()) };
    if bytes > MAX_VALUES_BYTES {
        let message = format!(
            "the values have {bytes} bytes as JSON, and at most {MAX_VALUES_BYTES} are admitted: shorten them"
        );
        problems.push(problem("values", message));
    }
    if let Some(reference) = values_from.iter().find(|reference| replaces_mark(reference)) {
        let message = format!(
            "targetPath of {} {} replaces the digest of the addon's content: name another path",
            reference.kind.as_str(),
            reference.name
        );
        problems.push(problem("valuesFrom", message));
    }
    problems
}

/// Returns the hold of an addon whose settings cannot be obeyed.
#[must_use]
pub fn hold(flux: &FluxSettings, addon: &Addon) -> Option<Hold> {
    let problems = problems(flux, addon);
    let messages: Vec<String> =
        problems.into_iter().map(|problem| format!("{}: {}", problem.field, problem.message)).collect();
    (!messages.is_empty()).then(|| Hold { reason: Reason::SettingsInvalid, message: messages.join("; ") })
}

/// Says which settings of addons have no effect: those of names that are neither among these addons of releases, nor those of
/// components of the `ClusterStack`.
#[must_use]
pub fn without_addon(spec: &ClusterStackSpec, addons: &BTreeSet<&str>) -> Vec<String> {
    let components = spec.components.repositories.iter().flat_map(|repository| &repository.components);
    let components: BTreeSet<&str> = components.map(|component| component.name.as_str()).collect();
    let is_known = |name: &str| addons.contains(name) || components.contains(name);
    let unknown = spec.flux.addons.keys().filter(|name| !is_known(name));
    let message = |name| {
        format!(
            "spec.flux.addons.{name} has no effect, because no release has an addon of this name, and spec.components has none"
        )
    };
    unknown.map(message).collect()
}

/// Whether a reference gives the value that marks the content of a chart.
fn replaces_mark(reference: &ValuesReference) -> bool {
    let path = reference.target_path.as_ref().map(|path| TargetPath::parse(path));
    path.is_some_and(|path| path.keys.first().is_some_and(|key| key == labels::CONTENT_DIGEST))
}

/// A `targetPath` of Flux, as Helm's `--set` reads it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TargetPath {
    /// The keys up to the first item of a list.
    pub keys: Vec<String>,
    /// Whether the path is that of an item of a list, or of something in one.
    pub is_in_list: bool,
}

impl TargetPath {
    /// Reads a path. A dot separates keys, and a backslash takes the next character as it is.
    #[must_use]
    pub fn parse(path: &str) -> Self {
        let mut keys = vec![String::new()];
        let mut characters = path.chars();
        while let Some(character) = characters.next() {
            match character {
                '.' => keys.push(String::new()),
                '[' => return Self { keys, is_in_list: true },
                '\\' => keys.last_mut().into_iter().for_each(|key| key.extend(characters.next())),
                other => keys.last_mut().into_iter().for_each(|key| key.push(other)),
            }
        }
        Self { keys, is_in_list: false }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn settings_without_addon_are_named() {
        let spec: ClusterStackSpec = serde_json::from_value(json!({
            "provider": "docker", "name": "demo", "kubernetesVersion": "1.34",
            "components": {"repositories": [{
                "name": "own", "git": {"url": "https://git.example.org/own"},
                "components": [{"name": "ingress", "chart": "ingress"}],
            }]},
            "flux": {"addons": {"cni": {}, "ingress": {}, "polices": {"decryption": {"provider": "sops"}}}},
        }))
        .unwrap();
        let expected = "spec.flux.addons.polices has no effect, because no release has an addon of this name, and \
                        spec.components has none";
        assert_eq!(without_addon(&spec, &BTreeSet::from(["cni", "policies"])), [expected]);
        assert!(without_addon(&spec, &BTreeSet::from(["cni", "polices"])).is_empty());
    }

    /// As the parser of Helm's `strvals` splits a path.
    #[test]
    fn target_path_is_read_as_by_helm() {
        for (path, keys, is_in_list) in [
            ("a", &["a"][..], false),
            ("a.b-c/d", &["a", "b-c/d"], false),
            (r"a\.b.c", &["a.b", "c"], false),
            (r"a\\.b", &[r"a\", "b"], false),
            ("a.b[0].c", &["a", "b"], true),
            ("[0]", &[""], true),
            (r"a\", &["a"], false),
        ] {
            let keys = keys.iter().map(ToString::to_string).collect();
            assert_eq!(TargetPath::parse(path), TargetPath { keys, is_in_list }, "{path}");
        }
    }
}
