//! What a delivery changes in files, and why.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::index::IndexError;
use super::layout::{ClusterName, Part};
use crate::api::labels;
use crate::foreign::capi::{field, text};
use crate::plan;

/// The most values that the reason of a change names.
const MOST_VALUES: usize = 5;

/// What is to be written and removed, below the root, and what is not.
#[derive(Debug, Default)]
pub struct Changes {
    /// Files by their paths. Those that have these bytes already are not among them.
    pub writes: BTreeMap<String, Vec<u8>>,
    /// Paths of files.
    pub removes: BTreeSet<String>,
    /// What becomes of objects.
    pub objects: Vec<ObjectChange>,
    /// What is left as it is because somebody else has a hand in it.
    pub refused: Vec<Refused>,
    /// What should go, and is more than may go at once.
    pub withheld: Option<Withheld>,
    /// Objects that are as planned.
    pub unchanged: usize,
    /// Objects that are not planned now, and stay because something holds them back or refers to them.
    pub kept: usize,
    /// Clusters that are gone, by what was said of them.
    pub gone: BTreeSet<ClusterName>,
}

impl Changes {
    /// Whether no file changes.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.writes.is_empty() && self.removes.is_empty()
    }

    /// How many objects become this.
    #[must_use]
    pub fn count(&self, verb: Verb) -> usize {
        self.objects.iter().filter(|object| object.verb == verb).count()
    }
}

/// What becomes of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verb {
    /// It is new.
    Added,
    /// It is another one.
    Changed,
    /// It goes.
    Removed,
}

impl Verb {
    /// The word for it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Added => "added",
            Self::Changed => "changed",
            Self::Removed => "removed",
        }
    }
}

/// One object that changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectChange {
    /// What becomes of it.
    pub verb: Verb,
    /// Where it is.
    pub part: Part,
    /// Its kind, namespace and name.
    pub object: String,
    /// The release that it is made from; of a removed one, that it was.
    pub release: Option<String>,
    /// What differs, and by that why.
    pub why: Vec<String>,
}

impl ObjectChange {
    /// The change from one object to another, one of which is there.
    pub(super) fn between(part: &Part, object: String, old: Option<&Value>, new: Option<&Value>) -> Self {
        let verb = match (old, new) {
            (None, _) => Verb::Added,
            (Some(_), Some(_)) => Verb::Changed,
            (Some(_), None) => Verb::Removed,
        };
        let label = text(new.or(old).unwrap_or(&Value::Null), &["metadata", "labels", labels::RELEASE]);
        let release = (!label.is_empty()).then(|| label.to_owned());
        let why = old.zip(new).map(|(old, new)| explained(old, new)).unwrap_or_default();
        Self { verb, part: part.clone(), object, release, why }
    }
}

/// The chart of a `HelmRelease`.
const CHART: &[&str] = &["spec", "chartRef", "name"];
/// The digest of its content in its values, which changes with the chart, or when stackflux begins to write it.
const MARK: &[&str] = &["spec", "values", labels::CONTENT_DIGEST];

/// What differs between two forms of an object.
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
        why.push(format!("values {}", listed(&values)));
    }
    // The mark of a content goes with its chart, and the source of manifests with their release.
    let known = ["chartRef", "commonMetadata", "sourceRef", "ref", "path", "values"];
    let mut others = fields(old, new);
    others.retain(|name| !known.contains(&name.as_str()));
    if !others.is_empty() {
        why.push(format!("settings {}", listed(&others)));
    }
    if why.is_empty() {
        why.push("metadata".to_owned());
    }
    why
}

fn shown(text: &str) -> &str {
    if text.is_empty() { "none" } else { text }
}

/// The first of some names, and how many more there are.
fn listed(names: &[String]) -> String {
    let first = names.iter().take(MOST_VALUES).cloned().collect::<Vec<_>>().join(", ");
    match names.len().saturating_sub(MOST_VALUES) {
        0 => first,
        more => format!("{first} and {more} more"),
    }
}

/// The fields directly below `spec` that differ.
fn fields(old: &Value, new: &Value) -> Vec<String> {
    let specs = [old, new].map(|object| field(object, &["spec"]).and_then(Value::as_object));
    let names: BTreeSet<&String> = specs.iter().flatten().flat_map(|spec| spec.keys()).collect();
    let [old, new] = specs;
    let value = |spec: Option<&serde_json::Map<String, Value>>, name: &str| {
        spec.and_then(|spec| spec.get(name)).cloned()
    };
    names.into_iter().filter(|name| value(old, name) != value(new, name)).cloned().collect()
}

/// The topmost fields that only one side has, and the lowest that both have and that differ. Values nest as deep as the
/// reader of a file allows.
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

/// What is left as it is.
#[derive(Debug)]
pub struct Refused {
    /// The part that is left as it is; none for all of them.
    pub part: Option<Part>,
    /// The file, from the root.
    pub file: String,
    /// Why.
    pub why: Why,
}

/// Why a file is not written.
#[derive(Debug, thiserror::Error)]
pub enum Why {
    /// Its content is neither what was written nor what is planned.
    #[error("was edited since stackflux wrote it")]
    Edited,
    /// It was written, and is not there.
    #[error("was removed since stackflux wrote it")]
    Removed,
    /// It was never written by us.
    #[error("already exists, but stackflux did not write it")]
    NotOurs,
    /// It is no file.
    #[error("is {0}: expected a file")]
    NoFile(&'static str),
    /// It has more bytes than any file of ours.
    #[error("is larger than any file that stackflux writes")]
    TooLarge,
    /// It is an index that cannot be used.
    #[error("is an invalid index: {0}")]
    Index(IndexError),
    /// Another `ClusterStack` shares the object and has made it another one.
    #[error("conflicts with ClusterStack {0}, which plans different content: use the same source in both")]
    Contested(String),
}

impl Why {
    /// What to do about it, where the file is the one that is told of.
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
    /// What should go.
    pub names: Vec<String>,
    /// The name of this set of removals, by which somebody can allow them.
    pub digest: String,
}
