//! Charts as Helm loads and renders them: the YAML and JSON in them, and the syntax of their templates, also in the
//! charts that they vendor.

use std::collections::{BTreeMap, BTreeSet};

use gotemplate::check_syntax;

use crate::release::archive;
use crate::release::files::{File, Files, Limits};
use crate::release::finding::{Finding, Findings, Reason, Severity};

use super::helmignore::Rules;
use super::pointers::is_pointer;
use super::text::{Keys, first_finding, json_error};
use super::{metadata, pointers};

/// Maximum depth of charts in charts.
const DEPTH: usize = 8;

/// The longest template that is parsed, in bytes: its syntax tree takes a hundred times as much memory.
const MAX_TEMPLATE: usize = 1 << 20;

/// A chart in a release, or in another chart.
struct Chart<'a> {
    files: &'a Files,
    /// The directory among the files.
    path: String,
    /// The archive that holds the files, as findings name it; empty for the files of the release.
    archive: String,
    /// The paths of files that the outermost chart's `.helmignore` leaves out; none in an archive.
    left_out: &'a BTreeMap<String, u64>,
    /// The number of charts around it.
    depth: usize,
    /// Whether the values of the chart around it may disable it: then Helm loads it and does not render it.
    may_be_disabled: bool,
}

/// Checks the chart in this directory of a release. Reading the chart reports a missing `Chart.yaml`.
pub(super) fn check(files: &Files, path: &str, limits: &mut Limits, findings: &mut Findings) {
    let file = format!("{path}/Chart.yaml");
    if files.get(&file).is_none() {
        return;
    }
    let rules = match Rules::read(files, path) {
        Ok(rules) => rules,
        Err(finding) => return findings.push(*finding),
    };
    let left_out = &rules.left_out(files, path);
    if let Some(line) = left_out.get(&file) {
        let message = "the pattern leaves out Chart.yaml: Helm refuses a chart without it";
        findings.push(rules.at(*line, Reason::InvalidChart, message).hint("remove or narrow the pattern"));
    }
    let (path, archive) = (path.to_owned(), String::new());
    let chart = Chart { files, path, archive, left_out, depth: 0, may_be_disabled: false };
    chart.check(limits, findings);
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
        files.filter(|(path, _)| !self.left_out.contains_key(&format!("{}/{path}", self.path)))
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
        let own = format!("{}/Chart.yaml", self.path);
        let mut optional = None;
        let mut directory = "";
        for (path, file) in self.loaded() {
            let Some(path) = path.strip_prefix("charts/") else { continue };
            let name = path.split('/').next().unwrap_or(path);
            let ending = path.rsplit_once('.').map_or("", |(_, ending)| ending);
            if name.starts_with(['_', '.']) || name == directory || ending == "prov" {
                continue;
            }
            // Read once for all charts.
            let optional = optional.get_or_insert_with(|| {
                if self.may_be_disabled {
                    return Optional::All;
                }
                Optional::Named(metadata::may_be_disabled(self.files, &own, limits))
            });
            let place = format!("{}/charts/{name}", self.path);
            if name != path {
                directory = name;
                self.directory(place, optional, limits, findings);
            } else if ending == "tgz" {
                self.archived(&place, file, optional, limits, findings);
            } else {
                let message = "it is not a chart: Helm refuses the chart around it";
                let finding = Finding::error(Reason::InvalidChart, &place, message);
                let finding = finding.hint("move the file out of charts/, or name it in .helmignore");
                findings.push(archive::inside(finding, &self.archive));
            }
        }
    }

    fn directory(&self, path: String, optional: &Optional, limits: &mut Limits, findings: &mut Findings) {
        let file = format!("{path}/Chart.yaml");
        if self.files.get(&file).is_none() || self.left_out.contains_key(&file) {
            let message = "it is not a chart: Chart.yaml is missing, and Helm refuses the chart around it";
            let finding = Finding::error(Reason::InvalidChart, &path, message);
            let finding = finding.hint("add Chart.yaml, or move the directory out of charts/");
            return findings.push(archive::inside(finding, &self.archive));
        }
        let may_be_disabled = optional.has(self.files, &file, limits);
        let (files, archive, left_out) = (self.files, self.archive.clone(), self.left_out);
        let chart = Chart { files, path, archive, left_out, depth: self.depth + 1, may_be_disabled };
        chart.check(limits, findings);
    }

    /// Checks the chart in an archive. Reading the charts reports an archive that cannot be read.
    fn archived(
        &self,
        path: &str,
        file: &File,
        optional: &Optional,
        limits: &mut Limits,
        findings: &mut Findings,
    ) {
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
            let may_be_disabled = optional.has(&files, &chart, limits);
            let (archive, depth, left_out) = (archive.clone(), self.depth + 1, &BTreeMap::new());
            let chart = Chart { files: &files, path, archive, left_out, depth, may_be_disabled };
            chart.check(limits, findings);
        }
    }
}

/// The vendored charts that may be disabled.
enum Optional {
    All,
    Named(BTreeSet<String>),
}

impl Optional {
    fn has(&self, files: &Files, chart: &str, limits: &Limits) -> bool {
        match self {
            Self::All => true,
            Self::Named(names) => names.contains(&metadata::name_and_kind(files, chart, limits).0),
        }
    }
}

/// Returns the finding of a file whose documents are not all mappings.
fn not_objects(path: &str, content: &[u8], rule: &str) -> Option<Finding> {
    first_finding(path, content, Keys::Helm, |document| {
        let message = format!("the file is {}: {rule}", document.kind.other()?);
        let finding = Finding::error(Reason::InvalidField, path, message);
        Some(finding.hint("write keys with values, or remove the file"))
    })
}

/// Returns the finding of a template that no Helm can parse, whatever functions it has.
fn template(path: &str, content: &[u8]) -> Option<Finding> {
    if content.len() > MAX_TEMPLATE {
        let message = format!(
            "the template was not checked: it has {} bytes, and stackflux parses at most {MAX_TEMPLATE}",
            content.len()
        );
        let finding = Finding::warning(Reason::LimitExceeded, path, message);
        return Some(finding.hint("split the template, or read its data with .Files.Get"));
    }
    let source = String::from_utf8_lossy(content);
    let error = check_syntax(path, &source).err()?;
    let position = error.place.position;
    let message = format!("Helm cannot parse the template: {}", error.message);
    let finding = Finding::error(Reason::InvalidTemplate, path, message);
    Some(finding.at(position.line as u64, position.column as u64, &source))
}
