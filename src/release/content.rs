//! The findings about any file of a release, whatever its content.

use std::collections::BTreeMap;

use super::files::{Files, Limits};
use super::finding::{Finding, Findings, Reason};
use super::{CLUSTER_ADDON, CLUSTER_CLASS, NODE_IMAGES};

/// Maximum number of placeholders reported per file.
const MAX_PLACEHOLDERS: usize = 20;

/// Maximum number of paths reported for differing from another one only in case.
const MAX_CASE_CONFLICTS: usize = 20;

/// Checks sizes, links, ignored files, paths that differ only in case, and placeholders.
pub(super) fn check(files: &Files, limits: &Limits, findings: &mut Findings) {
    check_limits(files, limits, findings);
    findings.extend(link_findings(files));
    let is_unused = |path: &str| is_for_sops(files, path);
    for path in files.ignored().filter(|path| is_needed_by_a_chart(path) && !is_unused(path)) {
        let message = "Flux leaves this file out of an artifact, so the chart would be packaged without it";
        let hint = "give it another name, or add a .sourceignore with a line `!…` for it";
        findings.push(Finding::error(Reason::FileIgnored, path, message).hint(hint));
    }
    findings.extend(case_conflicts(files).into_iter().take(MAX_CASE_CONFLICTS));
    for (path, file) in files.iter().filter(|(path, _)| is_read(path)) {
        if let Ok(source) = std::str::from_utf8(&file.content) {
            findings.extend(placeholders(path, source));
        }
    }
}

/// Returns the findings about the links among files.
pub(crate) fn link_findings(files: &Files) -> Findings {
    let mut findings = Findings::default();
    for (path, target) in files.links() {
        let message = format!("it is a link to {target:?}: Flux leaves links out of an artifact");
        findings.push(Finding::error(Reason::LinkNotAllowed, path, message));
    }
    findings
}

fn check_limits(files: &Files, limits: &Limits, findings: &mut Findings) {
    if files.size() > limits.unpacked {
        let (most, has) = (limits.unpacked, files.size());
        let message = format!("the release exceeds the limit of {most} bytes: it has {has}");
        findings.push(Finding::error(Reason::LimitExceeded, "", message));
    }
    if files.len() > limits.entries {
        let (most, has) = (limits.entries, files.len());
        let message = format!("the release exceeds the limit of {most} files: it has {has}");
        findings.push(Finding::error(Reason::LimitExceeded, "", message));
    }
}

/// Finds the files and directories whose paths differ from an earlier one only in case. Linux, and so Flux,
/// distinguishes them; a clone on macOS or Windows has only one of the two.
fn case_conflicts(files: &Files) -> Vec<Finding> {
    let (mut first_spelled, mut conflicts) = (BTreeMap::new(), BTreeMap::new());
    for path in files.iter().map(|(path, _)| path).chain(files.ignored()) {
        let ends = path.match_indices('/').map(|(at, _)| at).chain([path.len()]);
        let mut parts = ends.filter_map(|end| path.get(..end));
        // All files below a conflicting directory conflict with it.
        let conflict = parts.find_map(|part| {
            let first = *first_spelled.entry(part.to_lowercase()).or_insert(part);
            (first != part).then_some((part, first))
        });
        conflicts.extend(conflict);
    }
    let reported = conflicts.into_iter().map(|(path, first)| {
        let message = format!(
            "the path differs from {first:?} in case alone: file systems that ignore case (macOS, Windows) keep only \
             one of them"
        );
        Finding::warning(Reason::CaseConflict, path, message).hint("rename one of them")
    });
    reported.collect()
}

fn is_in_directory(path: &str) -> bool {
    [CLUSTER_CLASS, CLUSTER_ADDON, NODE_IMAGES]
        .iter()
        .any(|directory| path.strip_prefix(directory).is_some_and(|rest| rest.starts_with('/')))
}

/// Whether a chart may need the file at this path in a release: it is in a chart's directory and is not meant for
/// readers or version control.
#[must_use]
pub fn is_needed_by_a_chart(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    is_in_directory(path)
        && !name.starts_with(".git")
        && !path.contains("/.github/")
        && !path.contains("/.circleci/")
}

/// Whether the file tells the command line of SOPS how to encrypt, in an addon of plain manifests: Flux decrypts without it.
fn is_for_sops(files: &Files, path: &str) -> bool {
    let addon = path.strip_prefix(CLUSTER_ADDON).and_then(|rest| rest.strip_prefix('/')?.split_once('/'));
    addon.is_some_and(|(addon, rest)| {
        let is_chart = [CLUSTER_ADDON.to_owned(), format!("{CLUSTER_ADDON}/{addon}")]
            .iter()
            .any(|directory| files.get(&format!("{directory}/Chart.yaml")).is_some());
        !is_chart && rest.rsplit('/').next() == Some(".sops.yaml")
    })
}

/// Whether stackflux, Flux or Helm reads the file: placeholders elsewhere are harmless.
fn is_read(path: &str) -> bool {
    let named = ["metadata.yaml", "csctl.yaml", "clusteraddon.yaml", "cluster-addon-values.yaml"];
    is_in_directory(path) || named.contains(&path)
}

/// Finds the build-time placeholders of csctl in a text, such as `<< .ClusterAddonVersion >>`.
fn placeholders(path: &str, source: &str) -> Vec<Finding> {
    if !source.contains("<<") {
        return Vec::new();
    }
    let mut found = Vec::new();
    for (number, line) in (1..).zip(source.lines()) {
        for (at, _) in line.match_indices("<<") {
            let Some(name) = line.get(at..).and_then(placeholder) else { continue };
            if found.len() == MAX_PLACEHOLDERS {
                return found;
            }
            let column = 1 + line.get(..at).unwrap_or_default().chars().count() as u64;
            let message =
                format!("the placeholder << .{name} >> was not replaced: Flux refuses such a chart");
            let hint =
                "publish the release with the tool that fills placeholders in, or write the version here";
            found.push(
                Finding::error(Reason::PlaceholderLeft, path, message).at(number, column, source).hint(hint),
            );
        }
    }
    found
}

/// Reads the name in `<< .Name >>` at the beginning of the text.
fn placeholder(text: &str) -> Option<&str> {
    let inner = text.strip_prefix("<<")?.trim_start().strip_prefix('.')?;
    let end = inner.find(|character: char| !character.is_ascii_alphanumeric())?;
    let (name, rest) = inner.split_at(end);
    (!name.is_empty() && rest.trim_start().starts_with(">>")).then_some(name)
}
