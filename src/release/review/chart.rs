//! Charts as Helm loads and renders them: the YAML and JSON in them, and the syntax of their templates, also in the
//! charts that they vendor.

use gotemplate::check_syntax;

use crate::release::archive;
use crate::release::files::{File, Files, Limits};
use crate::release::finding::{Finding, Findings, Reason, Severity};

use super::helmignore::Rules;
use super::pointers::is_pointer;
use super::text::{Shape, documents, json_error};
use super::{metadata, pointers};

/// Maximum depth of charts in charts.
const DEPTH: usize = 8;

/// A chart in a release, or in another chart.
struct Chart<'a> {
    files: &'a Files,
    /// The directory among the files.
    path: String,
    /// The archive that holds the files, as findings name it; empty for the files of the release.
    archive: String,
    /// The directory of the chart whose `.helmignore` counts, and the rules; `None` in an archive.
    rules: Option<(&'a str, &'a Rules)>,
    /// The number of charts around it.
    depth: usize,
    /// Whether the values of the chart around it may disable it: then Helm loads it and does not render it.
    may_be_disabled: bool,
}

/// Checks the chart in this directory of a release. Reading the chart reports a missing `Chart.yaml`.
pub(super) fn check(files: &Files, path: &str, limits: &Limits, findings: &mut Findings) {
    if files.get(&format!("{path}/Chart.yaml")).is_none() {
        return;
    }
    let rules = match Rules::read(files, path) {
        Ok(rules) => rules,
        Err(finding) => return findings.push(*finding),
    };
    let (archive, rules) = (String::new(), Some((path, &rules)));
    let chart = Chart { files, path: path.to_owned(), archive, rules, depth: 0, may_be_disabled: false };
    chart.check(&mut limits.clone(), findings);
}

impl<'a> Chart<'a> {
    fn check(&self, limits: &mut Limits, findings: &mut Findings) {
        let mut own = Findings::default();
        let file = format!("{}/Chart.yaml", self.path);
        metadata::check(self.files, &file, self.depth > 0, limits, &mut own);
        let (_, is_library) = metadata::name_and_kind(self.files, &file, limits);
        for (path, file) in self.loaded().filter(|(path, _)| !path.starts_with("charts/")) {
            own.extend(self.file(path, file, is_library));
        }
        findings.extend(own.into_iter().map(|finding| archive::inside(finding, &self.archive)));
        if self.depth < DEPTH {
            self.vendored(limits, findings);
        }
    }

    /// Returns the files that Helm loads, their paths relative to the chart.
    fn loaded(&self) -> impl Iterator<Item = (&'a str, &'a File)> + '_ {
        let files = self.files.below(&self.path);
        files.filter(|(path, _)| {
            self.rules.is_none_or(|(root, rules)| {
                let whole = format!("{}/{path}", self.path);
                !rules.leave_out(
                    whole.strip_prefix(root).and_then(|path| path.strip_prefix('/')).unwrap_or(path),
                )
            })
        })
    }

    /// Checks one file.
    fn file(&self, path: &str, file: &File, is_library: bool) -> Option<Finding> {
        let whole = format!("{}/{path}", self.path);
        let content = &file.content;
        if is_pointer(content) {
            return None;
        }
        let ending = path.rsplit_once('.').map_or("", |(_, ending)| ending);
        match path {
            "values.yaml" => not_objects(&whole, content, "the values of a chart must be a mapping"),
            "values.schema.json" => json_error(&whole, content),
            _ if path.starts_with("crds/") && matches!(ending, "yaml" | "yml" | "json") => {
                not_objects(&whole, content, "Helm applies only Kubernetes objects")
                    .map(|finding| self.if_rendered(finding))
            }
            _ if path.starts_with("templates/") => {
                let name = path.rsplit('/').next().unwrap_or(path);
                let is_rendered = !is_library || name.starts_with('_');
                is_rendered
                    .then(|| template(&whole, content))
                    .flatten()
                    .map(|finding| self.if_rendered(finding))
            }
            _ => None,
        }
    }

    /// Turns an error about what Helm only renders into a warning if the chart may be disabled.
    fn if_rendered(&self, mut finding: Finding) -> Finding {
        if self.may_be_disabled {
            finding.severity = Severity::Warning;
        }
        finding
    }

    /// Checks the charts below `charts/`, as Helm loads them: directories and archives.
    fn vendored(&self, limits: &mut Limits, findings: &mut Findings) {
        let mut directory = "";
        for (path, file) in self.loaded() {
            let Some(path) = path.strip_prefix("charts/") else { continue };
            let name = path.split('/').next().unwrap_or(path);
            if name.starts_with(['_', '.']) || name == directory {
                continue;
            }
            let place = format!("{}/charts/{name}", self.path);
            if name != path {
                directory = name;
                self.directory(place, limits, findings);
            } else if path.rsplit_once('.').is_some_and(|(_, ending)| ending == "tgz") {
                self.archived(&place, file, limits, findings);
            }
        }
    }

    fn directory(&self, path: String, limits: &mut Limits, findings: &mut Findings) {
        let file = format!("{path}/Chart.yaml");
        if self.files.get(&file).is_none() {
            let message = "it is not a chart: Chart.yaml is missing, and Helm refuses the chart around it";
            let finding = Finding::error(Reason::InvalidChart, &path, message);
            let finding = finding.hint("add Chart.yaml, or move the directory out of charts/");
            return findings.push(archive::inside(finding, &self.archive));
        }
        let may_be_disabled = self.may_disable(self.files, &file, limits);
        let (files, archive, rules) = (self.files, self.archive.clone(), self.rules);
        let chart = Chart { files, path, archive, rules, depth: self.depth + 1, may_be_disabled };
        chart.check(limits, findings);
    }

    /// Checks the chart in an archive. Reading the charts reports an archive that cannot be read.
    fn archived(&self, path: &str, file: &File, limits: &mut Limits, findings: &mut Findings) {
        let Ok(files) = archive::unpack_within(&file.content, path, limits) else { return };
        let archive =
            if self.archive.is_empty() { path.to_owned() } else { format!("{}: {path}", self.archive) };
        let mut pointers = Findings::default();
        pointers::check_archived(&files, &mut pointers);
        findings.extend(pointers.into_iter().map(|finding| archive::inside(finding, &archive)));
        for top in files.directories("") {
            let path = top.to_owned();
            let chart = format!("{path}/Chart.yaml");
            if files.get(&chart).is_none() {
                continue;
            }
            let may_be_disabled = self.may_disable(&files, &chart, limits);
            let (archive, depth) = (archive.clone(), self.depth + 1);
            let chart = Chart { files: &files, path, archive, rules: None, depth, may_be_disabled };
            chart.check(limits, findings);
        }
    }

    /// Whether a vendored chart may be disabled.
    fn may_disable(&self, files: &Files, chart: &str, limits: &Limits) -> bool {
        let (name, _) = metadata::name_and_kind(files, chart, limits);
        let own = format!("{}/Chart.yaml", self.path);
        self.may_be_disabled || metadata::may_be_disabled(self.files, &own, &name, limits)
    }
}

/// Returns the finding of a file whose documents are not all mappings.
fn not_objects(path: &str, content: &[u8], rule: &str) -> Option<Finding> {
    match documents(path, content) {
        Ok(shapes) => shapes.into_iter().find_map(|shape| match shape {
            Shape::Other(kind) => {
                let message = format!("the file is {kind}: {rule}");
                Some(
                    Finding::error(Reason::InvalidField, path, message)
                        .hint("write keys with values, or remove the file"),
                )
            }
            Shape::Mapping | Shape::Nothing => None,
        }),
        Err(finding) => Some(*finding),
    }
}

/// Returns the finding of a template that no Helm can parse, whatever functions it has.
fn template(path: &str, content: &[u8]) -> Option<Finding> {
    let source = String::from_utf8_lossy(content);
    let error = check_syntax(path, &source).err()?;
    let position = error.place.position;
    let message = format!("Helm cannot parse the template: {}", error.message);
    let finding = Finding::error(Reason::InvalidTemplate, path, message);
    Some(finding.at(position.line as u64, position.column as u64, &source))
}
