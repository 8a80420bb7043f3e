//! Formats findings.

use std::fmt::Write as _;
use std::path::Path;

use anstyle::{AnsiColor, Style};
use serde::{Serialize, Serializer};
use serde_json::json;

use super::run::Linted;
use crate::cli::output::{self, NOTHING};
use crate::release::finding::Printable;
use crate::release::{Finding, Severity};

const RED: Style = AnsiColor::Red.on_default().bold();
const YELLOW: Style = AnsiColor::Yellow.on_default().bold();
const BLUE: Style = AnsiColor::Blue.on_default().bold();
const BOLD: Style = Style::new().bold();

/// All findings, in the order of releases, files and lines.
#[derive(Serialize)]
pub(super) struct Report<'a> {
    findings: Vec<FindingLine<'a>>,
    pub(super) errors: usize,
    pub(super) warnings: usize,
}

/// A finding with its full location.
struct FindingLine<'a> {
    /// `None` if the finding is about the stack repository.
    release: Option<String>,
    file: String,
    finding: &'a Finding,
}

impl Serialize for FindingLine<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Finding { severity, reason, line, column, text, message, hint, .. } = self.finding;
        let line = json!({
            "release": self.release,
            "severity": severity.as_str(),
            "reason": reason.as_str(),
            "file": self.file,
            "line": line,
            "column": column,
            "text": text,
            "message": message,
            "hint": hint,
        });
        line.serialize(serializer)
    }
}

impl<'a> Report<'a> {
    /// Collects the findings.
    pub(super) fn of(all: &'a [Linted]) -> Self {
        let line = |linted: &'a Linted, finding: &'a Finding| FindingLine {
            release: linted.release.as_ref().map(ToString::to_string),
            file: file(&linted.place, &finding.file),
            finding,
        };
        let lines = all.iter().flat_map(|of| of.findings.iter().map(move |finding| line(of, finding)));
        let findings: Vec<FindingLine> = lines.collect();
        let errors = findings.iter().filter(|line| line.is_error()).count();
        Self { errors, warnings: findings.len() - errors, findings }
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
            let Finding { severity, reason, message, .. } = line.finding;
            [release, severity.as_str().to_owned(), reason.as_str().to_owned(), line.place(), message.clone()]
        });
        output::table(["RELEASE", "SEVERITY", "REASON", "PLACE", "MESSAGE"], rows)
    }
}

impl FindingLine<'_> {
    fn is_error(&self) -> bool {
        self.finding.severity == Severity::Error
    }

    /// Returns `file:line:column`, as far as they are known.
    fn place(&self) -> String {
        let numbers =
            [self.finding.line, self.finding.column].into_iter().flatten().map(|number| format!(":{number}"));
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
        let Finding { severity, reason, line, text: written, message, hint, .. } = self.finding;
        let number = line.map(|line| line.to_string()).unwrap_or_default();
        let margin = " ".repeat(number.len().max(1));
        let mut text = format!(
            "{colour}{}[{}]{colour:#}{BOLD}: {}{BOLD:#}\n{BLUE}{margin}-->{BLUE:#} {}\n",
            severity.as_str(),
            reason.as_str(),
            Printable(message),
            Printable(&self.place()),
        );
        if let Some(line) = written {
            let _ = writeln!(text, "{BLUE}{margin} |{BLUE:#}");
            let _ = writeln!(text, "{BLUE}{number} |{BLUE:#} {}", Printable(line));
            if let Some(before) = self.before(line) {
                let _ = writeln!(text, "{BLUE}{margin} |{BLUE:#} {:before$}{colour}^{colour:#}", "");
            }
        }
        if let Some(release) = self.release.as_ref().filter(|release| !self.file.contains(release.as_str())) {
            let _ = writeln!(text, "{BLUE}{margin} ={BLUE:#} {BOLD}release{BOLD:#}: {release}");
        }
        if let Some(hint) = hint {
            let _ = writeln!(text, "{BLUE}{margin} ={BLUE:#} {BOLD}hint{BOLD:#}: {}", Printable(hint));
        }
        text
    }

    /// Returns the number of characters before the column, if the column is in the shown part of the line.
    fn before(&self, line: &str) -> Option<usize> {
        let before = self.finding.column?.checked_sub(1)?;
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
