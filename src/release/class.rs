//! The cluster class's chart: checks whether two releases of one class can have its objects side by side, by their names.
//!
//! The names that Helm would render are not known here. The templates' text is read line by line, so these are hints: a
//! name that gets its version in a way that the text does not show is reported without need.

use std::collections::BTreeMap;
use std::ops::BitOr;

use crate::names::ReleaseName;

use super::document::{Document, Value};
use super::files::{Files, Limits};
use super::finding::{Finding, Findings, Reason};
use super::{CLUSTER_CLASS, bound};

/// The texts that make a name differ between two releases of a class.
const VERSION: &str = ".Chart.Version";
/// The texts that make a name begin with the class's prefix.
const RELEASE: &str = ".Release.Name";

/// Maximum number of objects reported per file.
const MAX_OBJECTS: usize = 20;

/// Warns of a chart name or version that is not the release's, and of names without a version. Templates beyond the size
/// of one YAML file are skipped: no class is as large.
pub(super) fn check(name: &ReleaseName, files: &Files, limits: &Limits, findings: &mut Findings) {
    check_chart(name, files, limits, findings);
    let mut left = limits.yaml_file;
    let templates: Vec<(&str, &str)> = files
        .below(&format!("{CLUSTER_CLASS}/templates"))
        .map_while(|(path, file)| {
            left = left.checked_sub(file.content.len())?;
            Some((path, std::str::from_utf8(&file.content).unwrap_or_default()))
        })
        .collect();
    let helpers = helpers(&templates);
    for (path, source) in templates {
        if path.rsplit_once('.').is_none_or(|(_, ending)| !matches!(ending, "yaml" | "yml")) {
            continue;
        }
        let path = format!("{CLUSTER_CLASS}/templates/{path}");
        let judged = objects(source)
            .into_iter()
            .filter_map(|object| judge(name, &object, &helpers).map(|judgement| (object, judgement)));
        for (object, (reason, message)) in judged.take(MAX_OBJECTS) {
            let finding = Finding::warning(reason, &path, message).at(object.line, object.column, source);
            findings.push(finding.hint(match reason {
                Reason::UnexpectedClassName => "build the name as {{ .Release.Name }}-{{ .Chart.Version }}",
                _ => "build the name as {{ .Release.Name }}-{{ .Chart.Version }}-…",
            }));
        }
    }
}

/// Checks the chart's metadata.
fn check_chart(name: &ReleaseName, files: &Files, limits: &Limits, findings: &mut Findings) {
    let path = format!("{CLUSTER_CLASS}/Chart.yaml");
    // Reading the chart reports the other errors in the file.
    let Some(document) = Document::read(files, &path, false, limits, &mut Findings::default()) else {
        return;
    };
    if let Some(value) = document.root().get("name") {
        check_name(name, &value, findings);
    }
    if let Some(value) = document.root().get("version") {
        check_version(name, &value, findings);
    }
}

/// Reports a chart with the name of another release's chart: it may belong to that release.
fn check_name(name: &ReleaseName, value: &Value<'_>, findings: &mut Findings) {
    let (found, own) = (value.text(&mut Findings::default()).unwrap_or_default(), bound::chart_name(name));
    if found.ends_with(bound::CHART) && found != own {
        let message = format!("the class chart is named {found}, but that of {name} must be named {own}");
        findings.push(value.warning(Reason::MetadataMismatch, message));
    }
}

/// Checks the chart's version: `.Chart.Version` is part of the names that Clusters refer to, so it must be the release's
/// version.
fn check_version(name: &ReleaseName, value: &Value<'_>, findings: &mut Findings) {
    let version = value.text(&mut Findings::default()).unwrap_or_default();
    if version.is_empty() || version == name.version().dotted() {
        return;
    }
    let prefix = name.prefix();
    let message = format!(
        "the class chart has version {version}, but the release has {}: a ClusterClass named by .Chart.Version is \
         {prefix}-{version}, but Clusters of this release look for {}",
        name.version(),
        name.class_name(),
    );
    let hint = format!("set version: {} when the release is published", name.version().dotted());
    findings.push(value.warning(Reason::VersionMismatch, message).hint(hint));
}

/// A template's document that has a kind and a name.
struct Object<'a> {
    kind: &'a str,
    name: &'a str,
    line: u64,
    column: u64,
}

/// Reads the objects of a template from its text: `kind` and `metadata.name`, regardless of the actions around them.
fn objects(source: &str) -> Vec<Object<'_>> {
    let mut found = Vec::new();
    let mut kind = "";
    let mut in_metadata = false;
    let mut child_indent = None;
    for (number, line) in (1..).zip(source.lines()) {
        let text = line.trim_start();
        let indent = line.len() - text.len();
        if text.is_empty() || text.starts_with('#') || text.starts_with("{{") {
            continue;
        }
        if indent == 0 {
            in_metadata = text.trim_end() == "metadata:";
            child_indent = None;
            if text.starts_with("---") {
                kind = "";
            } else if let Some(value) = text.strip_prefix("kind:") {
                kind = scalar(value);
            }
        } else if in_metadata
            && indent == *child_indent.get_or_insert(indent)
            && let Some(value) = text.strip_prefix("name:")
        {
            let column = 1 + (line.chars().count() - value.trim_start().chars().count()) as u64;
            found.push(Object { kind, name: scalar(value), line: number, column });
        }
    }
    found
}

/// Returns the scalar on one line, without quotes around it.
fn scalar(value: &str) -> &str {
    let value = value.trim();
    let quoted = ['"', '\''].into_iter().find_map(|quote| value.strip_prefix(quote)?.strip_suffix(quote));
    quoted.unwrap_or(value)
}

fn judge(
    name: &ReleaseName,
    object: &Object<'_>,
    helpers: &BTreeMap<&str, Parts>,
) -> Option<(Reason, String)> {
    let written = object.name;
    let parts = Parts::of(written)
        | called(written).and_then(|helper| helpers.get(helper).copied()).unwrap_or_default();
    if object.kind == "ClusterClass" {
        let fits = (parts.version && parts.release) || written == name.class_name();
        let expected = name.class_name();
        let message = format!(
            "Clusters of this release look for a ClusterClass {expected}, but this one is named {written}"
        );
        return (!fits).then_some((Reason::UnexpectedClassName, message));
    }
    if parts.version || written.contains(&name.version().dotted()) {
        return None;
    }
    let kind = if object.kind.is_empty() { "object" } else { object.kind };
    let message = format!(
        "the name of this {kind} does not show the chart's version: two releases of the class would share the \
         object, and removing one release would remove it from the other"
    );
    Some((Reason::UnversionedObject, message))
}

/// The parts of a name that a text shows.
#[derive(Clone, Copy, Default)]
struct Parts {
    version: bool,
    release: bool,
}

impl Parts {
    fn of(text: &str) -> Self {
        Self { version: text.contains(VERSION), release: text.contains(RELEASE) }
    }
}

impl BitOr for Parts {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self { version: self.version || other.version, release: self.release || other.release }
    }
}

/// Returns the name of the helper that renders a name: `{{ include "…" . }}`.
fn called(name: &str) -> Option<&str> {
    let (_, call) = name.split_once("include").or_else(|| name.split_once("template"))?;
    call.split('"').nth(1)
}

/// Reads the helpers of a chart, each with the parts that its text shows up to the next helper.
fn helpers<'a>(templates: &[(&str, &'a str)]) -> BTreeMap<&'a str, Parts> {
    let definitions = templates.iter().flat_map(|(_, source)| source.split("define \"").skip(1));
    definitions.filter_map(|text| text.split_once('"')).map(|(name, body)| (name, Parts::of(body))).collect()
}
