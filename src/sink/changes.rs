//! The changes of a delivery, with their reasons.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::index::IndexError;
use super::layout::{ClusterName, Part};
use crate::api::labels;
use crate::foreign::capi::{field, text};
use crate::names::words;
use crate::plan;
use crate::release::finding::listed;

/// Maximum number of values that the reason of a change names.
const MAX_VALUES: usize = 5;

/// The files to write and remove below the root, and those that are not written.
#[derive(Debug, Default)]
pub struct Changes {
    /// Content of the files to write, by path. Files that already have this content are not included.
    pub writes: BTreeMap<String, Vec<u8>>,
    /// Paths of the files to remove.
    pub removes: BTreeSet<String>,
    /// The changed objects.
    pub objects: Vec<ObjectChange>,
    /// Files that are not written, each with the reason.
    pub refused: Vec<Refused>,
    /// Removals that exceed the budget.
    pub withheld: Option<Withheld>,
    /// Number of objects that already are as planned.
    pub unchanged: usize,
    /// Number of objects that stay although they may not be planned: held, withheld, still referred to, or in a part that is
    /// left as it is.
    pub kept: usize,
    /// Clusters that are gone, from [`Scope::gone`](super::update::Scope::gone).
    pub gone: BTreeSet<ClusterName>,
}

impl Changes {
    /// Whether no file changes.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.writes.is_empty() && self.removes.is_empty()
    }

    /// Returns the number of objects with this change.
    #[must_use]
    pub fn count(&self, change: ChangeKind) -> usize {
        self.objects.iter().filter(|object| object.change == change).count()
    }
}

words! {
    /// The change of an object.
    ChangeKind {
        /// The object is new.
        Added => "added",
        /// The object differs.
        Changed => "changed",
        /// The object is removed.
        Removed => "removed",
    }
}

/// A changed object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectChange {
    /// The change.
    pub change: ChangeKind,
    /// The part that has the object.
    pub part: Part,
    /// Kind, namespace and name of the object.
    pub object: String,
    /// The release that the object comes from; for a removed object, its previous one.
    pub release: Option<String>,
    /// The differences.
    pub why: Vec<String>,
}

impl ObjectChange {
    /// Returns the change from `old` to `new`, at least one of which is there.
    pub(super) fn between(part: &Part, object: String, old: Option<&Value>, new: Option<&Value>) -> Self {
        let change = match (old, new) {
            (None, _) => ChangeKind::Added,
            (Some(_), Some(_)) => ChangeKind::Changed,
            (Some(_), None) => ChangeKind::Removed,
        };
        let label = text(new.or(old).unwrap_or(&Value::Null), &["metadata", "labels", labels::RELEASE]);
        let release = (!label.is_empty()).then(|| label.to_owned());
        let why = old.zip(new).map(|(old, new)| explained(old, new)).unwrap_or_default();
        Self { change, part: part.clone(), object, release, why }
    }
}

/// Path of the chart's name in a `HelmRelease`.
const CHART: &[&str] = &["spec", "chartRef", "name"];
/// Path of the chart's content digest in the values, which changes with the chart, or when stackflux begins to write it.
const MARK: &[&str] = &["spec", "values", labels::CONTENT_DIGEST];

/// Describes the differences between two versions of an object.
fn explained(old: &Value, new: &Value) -> Vec<String> {
    let mut why = Vec::new();
    let texts = [
        ("release", &["metadata", "labels", labels::RELEASE][..]),
        ("chart", CHART),
        ("commit", &["spec", "ref", "commit"]),
        ("path", &["spec", "path"]),
    ];
    for (name, path) in texts {
        let (before, after) = (text(old, path), text(new, path));
        if before != after {
            why.push(format!("{name} {} → {}", shown(before), shown(after)));
        }
    }
    let mut values = Vec::new();
    let [before, after] = [old, new].map(|object| plan::rendered_values(object).unwrap_or_default());
    differences(&before, &after, String::new(), &mut values);
    let has_new_mark = text(old, MARK) != text(new, MARK);
    if values.is_empty() && has_new_mark && text(old, CHART) == text(new, CHART) {
        values.push(labels::CONTENT_DIGEST.to_owned());
    }
    if !values.is_empty() {
        why.push(format!("values {}", listed(&values, MAX_VALUES)));
    }
    // The content digest changes with its chart, and the source of manifests with their release.
    let known = ["chartRef", "commonMetadata", "sourceRef", "ref", "path", "values"];
    let mut others = fields(old, new);
    others.retain(|name| !known.contains(&name.as_str()));
    if !others.is_empty() {
        why.push(format!("settings {}", listed(&others, MAX_VALUES)));
    }
    if why.is_empty() {
        why.push("metadata".to_owned());
    }
    why
}

fn shown(text: &str) -> &str {
    if text.is_empty() { "none" } else { text }
}

/// Returns the fields directly below `spec` that differ.
fn fields(old: &Value, new: &Value) -> Vec<String> {
    let specs = [old, new].map(|object| field(object, &["spec"]).and_then(Value::as_object));
    let names: BTreeSet<&String> = specs.iter().flatten().flat_map(|spec| spec.keys()).collect();
    let [old, new] = specs;
    let value = |spec: Option<&serde_json::Map<String, Value>>, name: &str| {
        spec.and_then(|spec| spec.get(name)).cloned()
    };
    names.into_iter().filter(|name| value(old, name) != value(new, name)).cloned().collect()
}

/// Collects the paths that differ: the topmost fields that only one side has, and the lowest ones that both have. The
/// nesting is limited by the reader of the files.
fn differences(old: &Value, new: &Value, path: String, found: &mut Vec<String>) {
    let (Value::Object(before), Value::Object(after)) = (old, new) else {
        if old != new {
            found.push(if path.is_empty() { ".".to_owned() } else { path });
        }
        return;
    };
    let names: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
    for name in names {
        let [before, after] = [before, after].map(|object| object.get(name).unwrap_or(&Value::Null));
        differences(before, after, format!("{path}.{name}"), found);
    }
}

/// A file that is not written.
#[derive(Debug)]
pub struct Refused {
    /// The part that is left as it is; `None` for all parts.
    pub part: Option<Part>,
    /// Path of the file, from the root.
    pub file: String,
    /// The reason.
    pub why: RefusalReason,
}

/// Reason for not writing a file.
#[derive(Debug, thiserror::Error)]
pub enum RefusalReason {
    /// The content is neither what was written nor what is planned.
    #[error("was edited since stackflux wrote it")]
    Edited,
    /// The file was written, and is missing.
    #[error("was removed since stackflux wrote it")]
    Removed,
    /// stackflux did not write the file.
    #[error("already exists, but stackflux did not write it")]
    NotOurs,
    /// The path is not a file.
    #[error("is {0}: expected a file")]
    NoFile(&'static str),
    /// The file is larger than any that stackflux writes.
    #[error("is larger than any file that stackflux writes")]
    TooLarge,
    /// The index is invalid.
    #[error("is an invalid index: {0}")]
    Index(IndexError),
    /// Another `ClusterStack` shares the object and has changed it.
    #[error("conflicts with ClusterStack {0}, which plans different content: use the same source in both")]
    Contested(String),
}

impl RefusalReason {
    /// Suggests how to resolve it, for the file that the message names.
    #[must_use]
    pub fn resolution(&self) -> &'static str {
        match self {
            Self::Contested(_) => "compare spec.source and spec.flux of both ClusterStacks",
            Self::Index(IndexError::Version(_)) => "update stackflux wherever it writes this directory",
            _ => "undo that, or overwrite it with stackflux generate --overwrite and its path",
        }
    }
}

/// Removals that exceed the budget.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Withheld {
    /// Names of the removals.
    pub names: Vec<String>,
    /// Digest of this set of removals, with which a user can allow it.
    pub digest: String,
}
