//! Formats findings.

use std::fmt::Write as _;
use std::path::Path;

use anstyle::{AnsiColor, Style};
use serde::Serialize;

use super::run::Linted;
use crate::cli::output::{self, NOTHING};
use crate::release::finding::Printable;
use crate::release::{Finding, Severity};

const RED: Style = AnsiColor::Red.on_default().bold();
const YELLOW: Style = AnsiColor::Yellow.on_default().bold();
const BLUE: Style = AnsiColor::Blue.on_default().bold();
const BOLD: Style = Style::new().bold();

/// All findings, in the order of releases, files and lines.
#[derive(Debug, Serialize)]
pub(super) struct Report {
    findings: Vec<FindingLine>,
    errors: usize,
    warnings: usize,
}

/// A finding with its full location.
#[derive(Debug, Serialize)]
struct FindingLine {
    /// Null if the finding is about the stack repository.
    release: Option<String>,
    severity: &'static str,
    reason: &'static str,
    file: String,
    line: Option<u64>,
    column: Option<u64>,
    text: Option<String>,
    message: String,
    hint: Option<String>,
}

impl Report {
    /// Collects the findings.
    pub(super) fn of(all: &[Linted]) -> Self {
        let lines = |linted: &Linted| {
            linted.findings.iter().map(|finding| FindingLine::of(linted, finding)).collect()
        };
        let findings: Vec<FindingLine> =
            all.iter().flat_map(|linted| -> Vec<FindingLine> { lines(linted) }).collect();
        let is_error = |line: &&FindingLine| line.is_error();
        let errors = findings.iter().filter(is_error).count();
        let warnings = findings.len() - errors;
        Self { findings, errors, warnings }
    }

    pub(super) fn errors(&self) -> usize {
        self.errors
    }

    pub(super) fn warnings(&self) -> usize {
        self.warnings
    }

    /// Formats the findings for people, with colours: each with the text of its line, separated by empty lines.
    pub(super) fn text(&self) -> String {
        self.findings.iter().map(FindingLine::text).collect::<Vec<_>>().join("\n")
    }

    /// Formats the findings as a table with one line each.
    pub(super) fn table(&self) -> String {
        if self.findings.is_empty() {
            return String::new();
        }
        let rows = self.findings.iter().map(|line| {
            let release = line.release.clone().unwrap_or_else(|| NOTHING.to_owned());
            [release, line.severity.to_owned(), line.reason.to_owned(), line.place(), line.message.clone()]
        });
        output::table(["RELEASE", "SEVERITY", "REASON", "PLACE", "MESSAGE"], rows)
    }
}

impl FindingLine {
    fn of(linted: &Linted, finding: &Finding) -> Self {
        Self {
            release: linted.release.as_ref().map(ToString::to_string),
            severity: finding.severity.as_str(),
            reason: finding.reason.as_str(),
            file: file(&linted.place, &finding.file),
            line: finding.line,
            column: finding.column,
            text: finding.text.clone(),
            message: finding.message.clone(),
            hint: finding.hint.clone(),
        }
    }

    fn is_error(&self) -> bool {
        self.severity == Severity::Error.as_str()
    }

    /// Returns `file:line:column`, as far as they are known.
    fn place(&self) -> String {
        let numbers = [self.line, self.column].into_iter().flatten().map(|number| format!(":{number}"));
        numbers.fold(self.file.clone(), |place, number| place + &number)
    }

    /// Formats the finding like a compiler:
    /// ```text
    /// error[UnknownAction]: "aply" is not an action
    ///  --> stacks/releases/openstack-scs-1-34-v2/clusteraddon.yaml:7:15
    ///   |
    /// 7 |       action: aply
    ///   |               ^
    ///   = hint: write apply or delete
    /// ```
    fn text(&self) -> String {
        let colour = if self.is_error() { RED } else { YELLOW };
        let number = self.line.map(|line| line.to_string()).unwrap_or_default();
        let margin = " ".repeat(number.len().max(1));
        let mut text = format!(
            "{colour}{}[{}]{colour:#}{BOLD}: {}{BOLD:#}\n{BLUE}{margin}-->{BLUE:#} {}\n",
            self.severity,
            self.reason,
            Printable(&self.message),
            Printable(&self.place()),
        );
        if let Some(line) = &self.text {
            let _ = writeln!(text, "{BLUE}{margin} |{BLUE:#}");
            let _ = writeln!(text, "{BLUE}{number} |{BLUE:#} {}", Printable(line));
            if let Some(before) = self.before(line) {
                let _ = writeln!(text, "{BLUE}{margin} |{BLUE:#} {:before$}{colour}^{colour:#}", "");
            }
        }
        if let Some(release) = self.release.as_ref().filter(|release| !self.file.contains(release.as_str())) {
            let _ = writeln!(text, "{BLUE}{margin} ={BLUE:#} {BOLD}release{BOLD:#}: {release}");
        }
        if let Some(hint) = &self.hint {
            let _ = writeln!(text, "{BLUE}{margin} ={BLUE:#} {BOLD}hint{BOLD:#}: {}", Printable(hint));
        }
        text
    }

    /// Returns the number of characters before the column, if the column is in the shown part of the line.
    fn before(&self, line: &str) -> Option<usize> {
        let before = self.column?.checked_sub(1)?;
        (0..=line.chars().count()).find(|shown| *shown as u64 == before)
    }
}

/// Returns the path of a file of a release: below its directory, or prefixed with the archive that it is in.
fn file(place: &Path, file: &str) -> String {
    if file.is_empty() {
        return place.display().to_string();
    }
    if !place.is_file() {
        return place.join(file).display().to_string();
    }
    // A finding about the archive itself already has the archive's name.
    let archive = place.file_name().unwrap_or_default().to_string_lossy();
    let inner = file.strip_prefix(&*archive).map(|inner| inner.trim_start_matches(": "));
    match inner.unwrap_or(file) {
        "" => place.display().to_string(),
        inner => format!("{}: {inner}", place.display()),
    }
}
