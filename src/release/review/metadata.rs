//! Fields of a `Chart.yaml` that Helm refuses, or with which it installs nothing.

use std::collections::BTreeSet;

use crate::release::document::{Document, Value};
use crate::release::files::{Files, Limits};
use crate::release::finding::{Finding, Findings, Reason};

/// Checks the metadata of a chart; that of one in another chart's `charts/` if it is `vendored`, where a library is
/// normal. Reading the chart reports the other errors in the file.
pub(super) fn check(files: &Files, path: &str, vendored: bool, limits: &Limits, findings: &mut Findings) {
    let unread = &mut Findings::default();
    let Some(document) = Document::read(files, path, false, limits, unread) else { return };
    let root = document.root();
    let mut text = |key: &str| root.get(key).and_then(|value| Some((value.text(unread)?, value)));
    if let Some((name, value)) = text("name") {
        findings.extend(check_name(&name, &value));
    }
    if let Some((version, value)) =
        text("apiVersion").filter(|(version, _)| !matches!(version.as_str(), "v1" | "v2" | ""))
    {
        let message = format!("unknown apiVersion {version}: Helm's charts have v1 or v2");
        let finding = if vendored { Value::warning } else { Value::error };
        findings.push(finding(&value, Reason::InvalidChart, message).hint("write apiVersion: v2"));
    }
    match text("type") {
        Some((kind, value)) if kind == "library" && !vendored => {
            let message = "the chart is a library: Helm installs nothing of it, and reports success";
            let hint = "write type: application, or vendor the library in the charts that use it";
            findings.push(value.error(Reason::InvalidChart, message).hint(hint));
        }
        Some((kind, value)) if !matches!(kind.as_str(), "application" | "library" | "") => {
            let message = format!("unknown type {kind}: Helm refuses the chart");
            findings.push(value.error(Reason::InvalidChart, message).hint("write type: application"));
        }
        _ => {}
    }
}

/// Helm accepts a name that could be the name of a file.
fn check_name(name: &str, value: &Value<'_>) -> Option<Finding> {
    if !name.contains('/') && !matches!(name, "." | "..") {
        return None;
    }
    let message = format!("invalid name {name:?}: Helm refuses a chart whose name is a path");
    Some(value.error(Reason::InvalidChart, message).hint("use a name without '/', such as cni"))
}

/// Lists the names of the charts in `charts/` that may be disabled: a dependency of that name has a condition or tags.
pub(super) fn may_be_disabled(files: &Files, parent: &str, limits: &Limits) -> BTreeSet<String> {
    let unread = &mut Findings::default();
    let document = Document::read(files, parent, false, limits, unread);
    let list = document.as_ref().and_then(|document| document.root().get("dependencies"));
    let items = list.map(|list| list.items(unread)).unwrap_or_default().into_iter();
    items
        .filter(|item| item.get("condition").is_some() || item.get("tags").is_some())
        .filter_map(|item| item.optional("name", unread))
        .collect()
}

/// Reads the name of a chart and whether it is a library.
pub(super) fn name_and_kind(files: &Files, path: &str, limits: &Limits) -> (String, bool) {
    let unread = &mut Findings::default();
    let document = Document::read(files, path, false, limits, unread);
    let mut text = |key| {
        document.as_ref().and_then(|document| document.root().optional(key, unread)).unwrap_or_default()
    };
    (text("name"), text("type") == "library")
}
