//! Errors and warnings about a release, with hints.

use std::collections::BTreeSet;
use std::fmt;

use gotemplate::ParseError;

use crate::error::{Class, Classify};
use crate::names::words;
use crate::yaml::line_of;

words! {
    /// The severity of a finding.
    Severity {
        /// The release cannot be used.
        Error => "error",
        /// The release can be used, but its author should know.
        Warning => "warning",
    }
}

words! {
    /// The kinds of findings.
    Reason {
        /// The release's or an addon's name does not follow the grammar.
        InvalidName,
        /// A required file is missing.
        MissingFile,
        /// More files, more bytes or a longer file than the limits allow.
        LimitExceeded,
        /// Bytes that are not an archive, or an archive that ends too early.
        InvalidArchive,
        /// A path that is absolute, leaves its directory, or appears twice.
        InvalidPath,
        /// Two paths that differ only in case.
        CaseConflict,
        /// A symbolic or hard link.
        LinkNotAllowed,
        /// A device, a pipe or a socket.
        SpecialFile,
        /// A pointer of Git LFS in place of a file.
        LfsPointer,
        /// A `kustomization.yaml` names a path outside.
        PathOutside,
        /// A `kustomization.yaml` names something in another place that Flux has to fetch.
        RemoteResource,
        /// Flux leaves out a file that a chart needs.
        FileIgnored,
        /// A build-time placeholder `<< … >>` that was not replaced.
        PlaceholderLeft,
        /// The file is not YAML.
        InvalidYaml,
        /// The file is not JSON.
        InvalidJson,
        /// A mapping names a key twice.
        DuplicateKey,
        /// A YAML file with more aliases, nesting or nodes than any release needs.
        YamlBudgetExceeded,
        /// A field is missing, or its value has the wrong type.
        InvalidField,
        /// A field that is never read.
        UnknownField,
        /// A hook that stackflux does not know.
        UnknownHook,
        /// An action that is neither `apply` nor `delete`.
        UnknownAction,
        /// A stage names an addon that has no directory.
        StageWithoutDirectory,
        /// A hook lists the same addon with the same action twice.
        DuplicateStage,
        /// Two addons of manifests have one object.
        SharedObject,
        /// New and upgraded clusters would not have the same addons.
        StageConflict,
        /// A stage names a condition to wait for.
        WaitNotSupported,
        /// Two addons or two repositories with one name.
        DuplicateName,
        /// A reference to content that can change.
        MutableReference,
        /// A component of a ClusterStack cannot be used.
        ComponentInvalid,
        /// A setting of an addon in a ClusterStack is for another form, or beyond a limit.
        SettingsInvalid,
        /// The settings of an addon in a ClusterStack and its values template both give a value.
        ValueOverridden,
        /// A ClusterStack has settings of an addon that no release has.
        AddonUnknown,
        /// Manifests are encrypted, and their ClusterStack does not say how to decrypt them.
        DecryptionMissing,
        /// A component of a ClusterStack takes the place of an addon.
        AddonReplaced,
        /// A component waits for an addon that can never be ready before it.
        DependencyInvalid,
        /// An addon's directory that no stage names.
        AddonWithoutStage,
        /// `metadata.yaml`, `csctl.yaml` or the class chart's name contradicts the release's name.
        MetadataMismatch,
        /// A chart's version differs from the one that its release gives it.
        VersionMismatch,
        /// A chart without name or version.
        InvalidChart,
        /// A dependency that is not vendored and has no repository.
        DependencyUnresolved,
        /// A dependency that source-controller has to fetch.
        DependencyNotVendored,
        /// A values template that cannot be parsed.
        InvalidTemplate,
        /// A values template reads a root that no Cluster has.
        UnknownRoot,
        /// An object of the class chart whose name lacks the chart's version.
        UnversionedObject,
        /// Two releases of one class have an addon in two forms: a chart and manifests.
        AddonInTwoForms,
        /// A stack repository has a release in archives, which Flux does not open.
        PackedInRepository,
        /// The `ClusterClass` is not named as Clusters refer to it.
        UnexpectedClassName,
    }
}

impl Reason {
    /// Returns the hint, if it is the same in every case; other findings have hints of their own.
    fn remedy(self) -> Option<&'static str> {
        match self {
            Self::InvalidArchive => Some("pack or download it again"),
            Self::InvalidPath => Some("rename or remove it; pack archives again, with plain relative paths"),
            Self::LinkNotAllowed => Some("replace it with a copy of its target"),
            Self::SpecialFile => Some("remove it"),
            Self::LimitExceeded => Some("remove what the release does not need, or split the file"),
            Self::DuplicateKey => Some("remove one of them"),
            Self::YamlBudgetExceeded => Some("write it with fewer aliases and levels"),
            Self::MetadataMismatch => Some("make them agree"),
            Self::InvalidChart => Some("complete Chart.yaml: Helm needs a name and a version"),
            _ => None,
        }
    }
}

/// One problem, with its place. Findings sort by place.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Finding {
    /// The file, relative to the release's directory; empty if the finding is about the whole release. A file inside an
    /// archive is named by both: `…-cluster-class-v1.tgz: cluster-class/Chart.yaml`.
    pub file: String,
    /// The line, from 1.
    pub line: Option<u64>,
    /// The column in characters, from 1.
    pub column: Option<u64>,
    /// The severity.
    pub severity: Severity,
    /// The kind of finding.
    pub reason: Reason,
    /// Description of the problem.
    pub message: String,
    /// The text of the line.
    pub text: Option<String>,
    /// The hint: how to fix it.
    pub hint: Option<String>,
}

/// Maximum length in characters of a line, a file's name or a message in a finding: all contain text from others.
const MAX_TEXT: usize = 200;
const MAX_FILE: usize = 500;
const MAX_MESSAGE: usize = 1000;

/// Shortens a text to at most `longest` characters, followed by `…` if it was cut.
#[must_use]
pub fn shortened(text: &str, longest: usize) -> String {
    match text.char_indices().nth(longest) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}

/// Joins the first `most` names with commas, and adds the number of those left out.
#[must_use]
pub fn listed(names: &[String], most: usize) -> String {
    let first = names.iter().take(most).cloned().collect::<Vec<_>>().join(", ");
    match names.len().saturating_sub(most) {
        0 => first,
        more => format!("{first} and {more} more"),
    }
}

impl Finding {
    /// Creates an error about a whole file, or about the whole release if `file` is empty.
    #[must_use]
    pub fn error(reason: Reason, file: &str, message: impl Into<String>) -> Self {
        Self::new(Severity::Error, reason, file, &message.into())
    }

    /// Creates a warning about a whole file, or about the whole release if `file` is empty.
    #[must_use]
    pub fn warning(reason: Reason, file: &str, message: impl Into<String>) -> Self {
        Self::new(Severity::Warning, reason, file, &message.into())
    }

    fn new(severity: Severity, reason: Reason, file: &str, message: &str) -> Self {
        let (file, message) = (shortened(file, MAX_FILE), shortened(message, MAX_MESSAGE));
        Self {
            severity,
            reason,
            file,
            line: None,
            column: None,
            text: None,
            message,
            hint: reason.remedy().map(str::to_owned),
        }
    }

    /// Creates the error about a template that cannot be parsed.
    #[must_use]
    pub fn of_template(file: &str, source: &str, error: &ParseError) -> Self {
        let position = error.place.position;
        let finding = Self::error(Reason::InvalidTemplate, file, &error.message);
        let finding = finding.at(position.line as u64, position.column as u64, source);
        match &error.suggestion {
            Some(name) => finding.hint(format!("did you mean {name}?")),
            None => finding,
        }
    }

    /// Adds the place in the file's source to the finding.
    #[must_use]
    pub fn at(self, line: u64, column: u64, source: &str) -> Self {
        self.on(line, column, line_of(source, line))
    }

    /// Adds the place and the text of that line to the finding.
    #[must_use]
    pub(super) fn on(mut self, line: u64, column: u64, text: Option<&str>) -> Self {
        self.line = Some(line);
        self.column = Some(column);
        self.text = text.map(|text| shortened(text.trim_end(), MAX_TEXT));
        self
    }

    /// Adds a hint to the finding.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

/// Without a line break at the end:
/// ```text
/// error: UnknownAction: clusteraddon.yaml:7:15: "aply" is not an action
///   7 |       action: aply
///     |               ^
///   hint: write apply or delete
/// ```
impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}: ", self.severity.as_str(), self.reason.as_str())?;
        if !self.file.is_empty() {
            write!(f, "{}", Printable(&self.file))?;
            for number in [self.line, self.column].into_iter().flatten() {
                write!(f, ":{number}")?;
            }
            write!(f, ": ")?;
        }
        write!(f, "{}", Printable(&self.message))?;
        if let (Some(line), Some(text)) = (self.line, &self.text) {
            let number = line.to_string();
            write!(f, "\n  {number} | {}", Printable(text))?;
            let before = self.column.and_then(|column| usize::try_from(column).ok()?.checked_sub(1));
            // Only the shown part of the line can be pointed at.
            if let Some(before) = before.filter(|before| *before <= text.chars().count()) {
                write!(f, "\n  {:width$} | {:before$}^", "", "", width = number.len())?;
            }
        }
        self.hint.as_ref().map_or(Ok(()), |hint| write!(f, "\n  hint: {}", Printable(hint)))
    }
}

/// Text from others, with control characters replaced one by one: a terminal obeys some of them.
pub struct Printable<'a>(pub &'a str);

impl fmt::Display for Printable<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.chars().try_for_each(|character| match character {
            '\t' => f.write_str(" "),
            _ if character.is_control() => f.write_str("\u{fffd}"),
            _ => write!(f, "{character}"),
        })
    }
}

/// All findings about one release: by file, line and column.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Findings(BTreeSet<Finding>);

impl Findings {
    /// Adds a finding, unless it is present already.
    pub fn push(&mut self, finding: Finding) {
        self.0.insert(finding);
    }

    /// Returns these findings, and those of the others that are about other files.
    #[must_use]
    pub fn in_place_of(self, others: Self) -> Self {
        let files: BTreeSet<String> = self.iter().map(|finding| finding.file.clone()).collect();
        let kept = others.0.into_iter().filter(|finding| !files.contains(&finding.file));
        Self(kept.chain(self.0).collect())
    }

    /// Returns all findings in order.
    pub fn iter(&self) -> impl Iterator<Item = &Finding> {
        self.0.iter()
    }

    /// Returns the findings that make the release unusable.
    pub fn errors(&self) -> impl Iterator<Item = &Finding> {
        self.iter().filter(|finding| finding.severity == Severity::Error)
    }

    /// Returns the findings that do not make the release unusable.
    pub fn warnings(&self) -> impl Iterator<Item = &Finding> {
        self.iter().filter(|finding| finding.severity == Severity::Warning)
    }

    /// Returns the findings without warnings.
    #[must_use]
    pub fn without_warnings(&self) -> Self {
        Self(self.errors().cloned().collect())
    }

    /// Returns the findings with those of one kind as warnings.
    #[must_use]
    pub fn as_warnings(self, reason: Reason) -> Self {
        let lenient = |finding: Finding| match finding.reason {
            found if found == reason => Finding { severity: Severity::Warning, ..finding },
            _ => finding,
        };
        Self(self.0.into_iter().map(lenient).collect())
    }

    /// Whether a finding makes the release unusable.
    #[must_use]
    pub fn has_errors(&self) -> bool {
        self.errors().next().is_some()
    }

    /// Whether there are no findings.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the number of findings.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }
}

impl From<Finding> for Findings {
    fn from(finding: Finding) -> Self {
        Self(BTreeSet::from([finding]))
    }
}

impl Extend<Finding> for Findings {
    fn extend<T: IntoIterator<Item = Finding>>(&mut self, findings: T) {
        self.0.extend(findings);
    }
}

impl IntoIterator for Findings {
    type Item = Finding;
    type IntoIter = std::collections::btree_set::IntoIter<Finding>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl fmt::Display for Findings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().enumerate().try_for_each(|(at, finding)| {
            if at > 0 {
                writeln!(f)?;
            }
            write!(f, "{finding}")
        })
    }
}

impl std::error::Error for Findings {}

impl Classify for Findings {
    fn class(&self) -> Class {
        Class::Terminal
    }

    fn reason(&self) -> &'static str {
        self.errors().next().map_or("ReleaseInvalid", |finding| finding.reason.as_str())
    }
}

#[cfg(test)]
mod tests;
