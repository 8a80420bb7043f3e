//! Puts the content of components into the files of a release, as directories of `cluster-addon`.

use std::fmt::Write as _;

use serde_json::{Map, Value};

use super::vendor::VendoredComponent;
use crate::release::values::read_values;
use crate::release::{Addon, CLUSTER_ADDON, COMPONENTS, Component, File, Files, Form, Release};

/// The directory of the files that `components.yaml` names.
const OWN: &str = "components/";

/// Returns the files of a release with the content of its components, or why a directory cannot have the place of one.
pub(super) fn with_contents(
    files: &Files,
    release: &Release,
    vendored: &[VendoredComponent],
) -> Result<Files, String> {
    if release.form == Form::SingleChart {
        return Err(
            "components cannot become directories without clusteraddon.yaml, which lists them".to_owned()
        );
    }
    let mut placed = Files::default();
    for (path, file) in files.iter().filter(|(path, _)| *path != COMPONENTS && !path.starts_with(OWN)) {
        insert(&mut placed, path, file.clone())?;
    }
    for (path, target) in files.links() {
        placed.insert_link(path, target).map_err(|error| format!("{path}: {error}"))?;
    }
    for path in files.ignored() {
        placed.insert_ignored(path).map_err(|error| format!("{path}: {error}"))?;
    }
    for one in vendored {
        let addon = release.addon(&one.name);
        let Some((addon, component)) = addon.and_then(|addon| Some((addon, addon.component()?))) else {
            continue;
        };
        let directory = format!("{CLUSTER_ADDON}/{}", one.name);
        for (path, file) in content(files, (addon, component), &one.files)?.iter() {
            insert(&mut placed, &format!("{directory}/{path}"), file.clone())?;
        }
    }
    insert(&mut placed, COMPONENTS, text(list(vendored)))?;
    Ok(placed)
}

/// Returns the files of a directory: those of the component, for a chart with its static values as defaults, and its template.
fn content(
    files: &Files,
    (addon, component): (&Addon, &Component),
    fetched: &Files,
) -> Result<Files, String> {
    if !addon.is_chart() {
        return Ok(fetched.clone());
    }
    let name = &addon.name;
    let mut content = Files::default();
    let is_values = |path: &str| path == "values.yaml" && !component.values.is_empty();
    for (path, file) in fetched.iter().filter(|(path, _)| !is_values(path)) {
        insert(&mut content, path, file.clone())?;
    }
    if !component.values.is_empty() {
        let defaults =
            fetched.get("values.yaml").map(|file| String::from_utf8_lossy(&file.content).into_owned());
        let defaults = read_values(defaults.as_deref().unwrap_or_default());
        let mut values = defaults.map_err(|error| format!("values.yaml of the component {name}: {error}"))?;
        supply(&mut values, &component.values);
        let values = serde_yaml::to_string(&values).map_err(|error| format!("values of {name}: {error}"))?;
        insert(&mut content, "values.yaml", text(values))?;
    }
    // Without a template of its own, an addon has the common one.
    let template = addon.template.as_ref().and_then(|template| files.get(&template.file));
    let template = template.cloned().unwrap_or_else(|| text("{}\n".to_owned()));
    insert(&mut content, "overwrite.yaml", template)?;
    Ok(content)
}

/// Gives a chart other defaults, as Helm merges values: maps by key, everything else whole, and null removes a default.
fn supply(defaults: &mut Map<String, Value>, values: &Map<String, Value>) {
    for (key, value) in values {
        match (defaults.get_mut(key), value) {
            (_, Value::Null) => drop(defaults.remove(key)),
            (Some(Value::Object(below)), Value::Object(above)) => supply(below, above),
            _ => drop(defaults.insert(key.clone(), value.clone())),
        }
    }
}

/// Returns a `components.yaml` that lists nothing, and says where each component is from.
fn list(vendored: &[VendoredComponent]) -> String {
    let mut list =
        "# The content of these components is in cluster-addon/ since the release was published:\n"
            .to_owned();
    for VendoredComponent { name, from, .. } in vendored {
        // Writing to a String cannot fail.
        _ = writeln!(list, "# - {name}: {from}");
    }
    list + "apiVersion: clusterstack.x-k8s.io/v1alpha1\nkind: Components\nrepositories: []\n"
}

fn insert(files: &mut Files, path: &str, file: File) -> Result<(), String> {
    files.insert(path, file).map_err(|error| format!("{path}: {error}"))
}

fn text(content: String) -> File {
    File { content: content.into_bytes(), executable: false }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::names::AddonName;
    use crate::publish::tests::{NAME, files, prepare, with};

    const LIST: &str = "\
repositories:
- name: p
  git: {url: https://git.example.org/p.git, ref: {commit: 9f1c2a3b4c5d6e7f8091a2b3c4d5e6f708192a3b}}
  components:
  - {name: edge, chart: charts/edge, template: components/edge.yaml, values: components/static.yaml}
  - {name: limits, manifests: deploy}
";

    fn release() -> crate::publish::Prepared {
        let stages = "addonStages: {AfterControlPlaneInitialized: [{name: policies, action: apply}, {name: edge, action: apply}, \
             {name: limits, action: apply}]}\n";
        let more = [
            ("clusteraddon.yaml", stages),
            ("components.yaml", LIST),
            ("components/edge.yaml", "name: {{ .Cluster.metadata.name }}\n"),
            ("components/static.yaml", "port: {http: 81}\nlegacy: null\n"),
        ];
        let mut all = Files::default();
        for (path, file) in files(NAME).iter().filter(|(path, _)| *path != "clusteraddon.yaml") {
            all.insert(path, file.clone()).unwrap();
        }
        prepare(NAME, more.into_iter().fold(all, |files, (path, text)| with(files, path, text)))
    }

    fn vendored(name: &str, files: &[(&str, &str)]) -> VendoredComponent {
        let files = files.iter().fold(Files::default(), |all, (path, content)| with(all, path, content));
        VendoredComponent {
            name: name.parse::<AddonName>().unwrap(),
            from: format!("https://h/{name}@c"),
            files,
        }
    }

    #[test]
    fn component_becomes_a_directory() {
        let prepared = release();
        let edge = [
            ("Chart.yaml", "apiVersion: v2\nname: edge\nversion: 1.2.3\n"),
            ("values.yaml", "port: {http: 80, https: 443}\nlegacy: true\n"),
            ("templates/a.yaml", "kind: List\n"),
        ];
        let all = [vendored("edge", &edge), vendored("limits", &[("all.yaml", "kind: List\n")])];
        let placed = with_contents(&prepared.files, &prepared.release, &all).unwrap();
        let at = |path: &str| String::from_utf8(placed.get(path).unwrap().content.clone()).unwrap();
        assert_eq!(at("cluster-addon/edge/overwrite.yaml"), "name: {{ .Cluster.metadata.name }}\n");
        assert_eq!(at("cluster-addon/edge/values.yaml"), "port:\n  http: 81\n  https: 443\n");
        assert_eq!(at("cluster-addon/limits/all.yaml"), "kind: List\n");
        assert!(at("components.yaml").contains("# - edge: https://h/edge@c\n"));
        assert!(placed.iter().all(|(path, _)| !path.starts_with("components/")), "its files are in it");
        let again = prepare(NAME, placed);
        let kinds: Vec<(String, bool)> = again
            .release
            .addons
            .iter()
            .map(|addon| (addon.name.to_string(), addon.component().is_some()))
            .collect();
        assert_eq!(kinds, ["policies", "edge", "limits"].map(|name| (name.to_owned(), false)));
    }

    #[test]
    fn file_of_the_chart_in_the_place_of_the_template_is_refused() {
        let prepared = release();
        let chart =
            vendored("edge", &[("Chart.yaml", "name: edge\nversion: 1.2.3\n"), ("overwrite.yaml", "")]);
        let error = with_contents(&prepared.files, &prepared.release, &[chart]).unwrap_err();
        assert!(error.starts_with("overwrite.yaml: another entry has the same path"), "{error}");
    }
}
