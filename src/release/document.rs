//! YAML files of a release as a tree in which every key and value has its place, so that all errors in a file can be
//! reported together, with line and column.

use std::str::Utf8Error;

use serde_yaml::{DuplicateKeyPolicy, Error, Location};

use super::files::{Files, Limits};
use super::finding::{Finding, Findings, Reason};
use crate::yaml;
use crate::yaml::tree::{Node, Placed};

impl Node {
    /// Returns the name of the kind for readers.
    fn kind(&self) -> &'static str {
        match self {
            Self::Null => "nothing",
            Self::Bool(_) => "a boolean",
            Self::Integer(_) | Self::Float(_) => "a number",
            Self::Text(_) => "a string",
            Self::List(_) => "a list",
            Self::Mapping(_) => "a mapping",
        }
    }

    /// Returns the scalar as text; `None` for a list, a mapping or null. Go's reader of YAML turns numbers and booleans
    /// into strings if a string is expected, so `version: 1` is the same as `version: "1"`.
    fn text(&self) -> Option<String> {
        match self {
            Self::Bool(value) => Some(value.to_string()),
            Self::Integer(text) | Self::Float(text) | Self::Text(text) => Some(text.clone()),
            Self::Null | Self::List(_) | Self::Mapping(_) => None,
        }
    }
}

/// Maximum nesting of a file of a release: the format needs seven levels, and each takes much stack.
const DEPTH: usize = 24;

/// Maximum number of aliases in one file.
const ALIASES: usize = 1_000;

/// Maximum number of values that aliases stand for in one file.
const ALIASED: usize = 20_000;

/// The message about a file of several documents.
pub(super) const SECOND_DOCUMENT: &str = "the file has a second YAML document, where only one is read";

/// Returns the options for YAML of releases: legacy octal numbers, as in Go, and a limit on nesting.
pub(super) fn options(strict_booleans: bool, depth: usize) -> serde_yaml::Options {
    let mut options = serde_yaml::options! {
        budget: serde_yaml::budget! { max_depth: depth, max_aliases: ALIASES },
        legacy_octal_numbers: true,
        strict_booleans: strict_booleans,
        with_snippet: false,
    };
    options.alias_limits.max_total_replayed_events = ALIASED;
    options
}

/// A YAML file of a release, parsed.
pub(super) struct Document<'a> {
    path: &'a str,
    lines: Vec<&'a str>,
    root: Placed<Node>,
}

impl<'a> Document<'a> {
    /// Reads the file, with strict booleans if the Go operator's reader has them. `None` with a finding if it cannot be
    /// read, and without one if it does not exist.
    pub(super) fn read(
        files: &'a Files,
        path: &'a str,
        strict_booleans: bool,
        limits: &Limits,
        findings: &mut Findings,
    ) -> Option<Self> {
        Self::read_with(files, path, options(strict_booleans, DEPTH), limits, findings)
    }

    /// Reads the file as [`Document::read`] does, by the rules of Go's readers: the last one of equal keys counts.
    pub(super) fn read_leniently(
        files: &'a Files,
        path: &'a str,
        limits: &Limits,
        findings: &mut Findings,
    ) -> Option<Self> {
        let mut options = options(false, DEPTH);
        options.duplicate_keys = DuplicateKeyPolicy::LastWins;
        Self::read_with(files, path, options, limits, findings)
    }

    fn read_with(
        files: &'a Files,
        path: &'a str,
        options: serde_yaml::Options,
        limits: &Limits,
        findings: &mut Findings,
    ) -> Option<Self> {
        let source = read_text(files, path, limits.yaml_file, findings)?;
        match serde_yaml::from_str_with_options(source, options) {
            Ok(root) => Some(Self { path, lines: source.lines().collect(), root }),
            Err(error) => {
                findings.push(yaml_finding(&error, DEPTH, path, source));
                None
            }
        }
    }

    /// Returns the whole document.
    pub(super) fn root(&self) -> Value<'_> {
        Value { document: self, node: &self.root, name: String::new() }
    }
}

/// Reads the text of a file. `None` with a finding if it is too long or not UTF-8, and without one if it does not
/// exist.
pub(super) fn read_text<'a>(
    files: &'a Files,
    path: &str,
    limit: usize,
    findings: &mut Findings,
) -> Option<&'a str> {
    let content = &files.get(path)?.content;
    if content.len() > limit {
        let message = format!("the file exceeds the limit of {limit} bytes: it has {}", content.len());
        findings.push(Finding::error(Reason::LimitExceeded, path, message));
        return None;
    }
    match std::str::from_utf8(content) {
        Ok(text) => Some(text.strip_prefix('\u{feff}').unwrap_or(text)),
        Err(error) => {
            findings.push(not_utf8(path, content, &error));
            None
        }
    }
}

/// Returns the finding of a file that is not UTF-8.
pub(super) fn not_utf8(path: &str, content: &[u8], error: &Utf8Error) -> Finding {
    let before = content.get(..error.valid_up_to()).unwrap_or_default();
    let before = String::from_utf8_lossy(before);
    let line = 1 + before.matches('\n').count() as u64;
    let column = 1 + before.rsplit('\n').next().unwrap_or_default().chars().count() as u64;
    let finding = Finding::error(Reason::InvalidYaml, path, "the file is not UTF-8: invalid byte");
    finding.at(line, column, &String::from_utf8_lossy(content))
}

/// Converts an error of the YAML reader to a finding.
pub(super) fn yaml_finding(error: &Error, depth: usize, path: &str, source: &str) -> Finding {
    let (inner, options) = (yaml::innermost(error), options(false, depth));
    let (reason, message) = match inner {
        Error::DuplicateMappingKey { key: Some(key), .. } => {
            (Reason::DuplicateKey, format!("duplicate key {key:?} in one mapping"))
        }
        Error::DuplicateMappingKey { .. } => {
            (Reason::DuplicateKey, "duplicate key in one mapping".to_owned())
        }
        Error::NonFiniteFloat { value, .. } => (
            Reason::InvalidField,
            format!("{value} is a number in YAML, but not in JSON: Kubernetes cannot store it"),
        ),
        Error::MultipleDocuments { .. } => (Reason::InvalidYaml, SECOND_DOCUMENT.to_owned()),
        _ if yaml::limit(inner, &options).is_some() => {
            (Reason::YamlBudgetExceeded, yaml::message(inner, &options))
        }
        _ => (Reason::InvalidYaml, yaml::message(inner, &options)),
    };
    let finding = Finding::error(reason, path, message);
    match error.location() {
        Some(location) => finding.at(location.line(), location.column(), source),
        None => finding,
    }
}

/// A value of a document, with the name by which a reader finds it (`versions.kubernetes`).
pub(super) struct Value<'a> {
    document: &'a Document<'a>,
    node: &'a Placed<Node>,
    name: String,
}

/// A key of a mapping with its value.
pub(super) struct Entry<'a> {
    pub(super) key: &'a str,
    pub(super) value: Value<'a>,
    place: Location,
}

impl<'a> Value<'a> {
    /// Creates an error at this value.
    pub(super) fn error(&self, reason: Reason, message: impl Into<String>) -> Finding {
        self.place(Finding::error(reason, self.document.path, message), self.node.referenced)
    }

    /// Creates a warning at this value.
    pub(super) fn warning(&self, reason: Reason, message: impl Into<String>) -> Finding {
        self.place(Finding::warning(reason, self.document.path, message), self.node.referenced)
    }

    fn place(&self, finding: Finding, place: Location) -> Finding {
        let line = usize::try_from(place.line()).ok().and_then(|line| line.checked_sub(1));
        let text = line.and_then(|line| self.document.lines.get(line).copied());
        finding.on(place.line(), place.column(), text)
    }

    fn called(&self) -> &str {
        if self.name.is_empty() { "the file" } else { &self.name }
    }

    fn is_not(&self, wanted: &str) -> Finding {
        let message = format!("{} must be {wanted}, but is {}", self.called(), self.node.value.kind());
        self.error(Reason::InvalidField, message)
    }

    fn child(&self, key: &str, node: &'a Placed<Node>) -> Self {
        let name = if self.name.is_empty() { key.to_owned() } else { format!("{}.{key}", self.name) };
        Self { document: self.document, node, name }
    }

    /// Reads the entries of a mapping; none, with a finding, for any other value but null.
    pub(super) fn entries(&self, findings: &mut Findings) -> Vec<Entry<'a>> {
        match &self.node.value {
            Node::Mapping(entries) => entries
                .iter()
                .map(|(key, node)| Entry {
                    key: &key.value,
                    value: self.child(&key.value, node),
                    place: key.referenced,
                })
                .collect(),
            Node::Null => Vec::new(),
            _ => {
                findings.push(self.is_not("a mapping"));
                Vec::new()
            }
        }
    }

    /// Reads the items of a list; none, with a finding, for any other value but null.
    pub(super) fn items(&self, findings: &mut Findings) -> Vec<Self> {
        match &self.node.value {
            Node::List(items) => items
                .iter()
                .enumerate()
                .map(|(at, node)| Self {
                    document: self.document,
                    node,
                    name: format!("{}[{at}]", self.name),
                })
                .collect(),
            Node::Null => Vec::new(),
            _ => {
                findings.push(self.is_not("a list"));
                Vec::new()
            }
        }
    }

    /// Finds the value below this key; `None` if it is missing or null.
    pub(super) fn get(&self, key: &str) -> Option<Self> {
        let node = self.node.value.get(key)?;
        (!matches!(node.value, Node::Null)).then(|| self.child(key, node))
    }

    /// Reads the scalar as text; `None`, with a finding, for any other value.
    pub(super) fn text(&self, findings: &mut Findings) -> Option<String> {
        let text = self.node.value.text();
        if text.is_none() {
            findings.push(self.is_not("a string"));
        }
        text
    }

    /// Reads the value below a required key; otherwise `None` with a finding of this reason, or with one about this
    /// value if it cannot have keys.
    pub(super) fn present(&self, key: &str, reason: Reason, findings: &mut Findings) -> Option<Self> {
        let value = self.get(key);
        if value.is_none() {
            findings.push(match &self.node.value {
                Node::Mapping(_) | Node::Null => {
                    self.error(reason, format!("{} is missing", self.child(key, self.node).name))
                }
                _ => self.is_not("a mapping"),
            });
        }
        value
    }

    /// Reads the non-empty text below a required key; otherwise `None` with a finding of this reason.
    pub(super) fn required(&self, key: &str, reason: Reason, findings: &mut Findings) -> Option<String> {
        let value = self.present(key, reason, findings)?;
        let text = value.text(findings)?;
        if text.is_empty() {
            findings.push(value.error(reason, format!("{} is empty", value.name)));
            return None;
        }
        Some(text)
    }

    /// Reads the text below an optional key.
    pub(super) fn optional(&self, key: &str, findings: &mut Findings) -> Option<String> {
        self.get(key)?.text(findings)
    }
}

impl Entry<'_> {
    /// Creates an error at the key.
    pub(super) fn error(&self, reason: Reason, message: impl Into<String>) -> Finding {
        self.value.place(Finding::error(reason, self.value.document.path, message), self.place)
    }

    /// Creates a warning at the key.
    pub(super) fn warning(&self, reason: Reason, message: impl Into<String>) -> Finding {
        self.value.place(Finding::warning(reason, self.value.document.path, message), self.place)
    }

    /// Warns that the key is never read, unless it is one of these.
    pub(super) fn check_known(&self, known: &[&str], findings: &mut Findings) {
        if !known.contains(&self.key) {
            let message = format!("unknown field {:?}", self.key);
            let hint = format!("known fields: {}", known.join(", "));
            findings.push(self.warning(Reason::UnknownField, message).hint(hint));
        }
    }
}
