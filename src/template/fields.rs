//! Which fields of the data a template reads.

mod reads;

use std::collections::BTreeSet;
use std::fmt;

use serde_json::Value as Json;

pub(super) use reads::fields_read;

/// How much of what is at a path a template reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Extent {
    /// Whether there is something: the field is only tested (`if`, `with`, `default`).
    Presence,
    /// The value, which may be an object.
    Value,
    /// Whatever is below: the template decides when it is rendered (`range`, a computed key, a whole object printed).
    Below,
}

/// A place in the data, from their root, and how much of it is read.
///
/// Shown as `.InfraCluster.status.network.id`; with `?` at the end when only its presence matters, with `.*` when
/// everything below it does. A key that is no name is shown in brackets: `.Cluster.metadata.labels["a/b"]`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct FieldPath {
    segments: Vec<String>,
    extent: Extent,
}

impl FieldPath {
    pub(super) fn new(segments: Vec<String>, extent: Extent) -> Self {
        FieldPath { segments, extent }
    }

    pub(super) fn value(segments: impl IntoIterator<Item = String>) -> Self {
        FieldPath { segments: segments.into_iter().collect(), extent: Extent::Value }
    }

    /// The keys from the root to the place; an element of a list has its index as key.
    #[must_use]
    pub fn segments(&self) -> &[String] {
        &self.segments
    }

    /// How much of the place is read.
    #[must_use]
    pub fn extent(&self) -> Extent {
        self.extent
    }

    /// What the template can see there: equal answers for two data mean that this path gives no reason to render again.
    ///
    /// `None` where the field is absent or null. Where only presence matters, whether the value counts as true.
    #[must_use]
    pub fn select(&self, data: &Json) -> Option<Json> {
        let mut place = data;
        for segment in &self.segments {
            let next = match place {
                Json::Object(fields) => fields.get(segment),
                Json::Array(items) => segment.parse::<usize>().ok().and_then(|index| items.get(index)),
                Json::Null => None,
                // A value that has no fields makes the template fail: it is part of what it sees.
                _ => return Some(place.clone()),
            };
            place = next?;
        }
        match self.extent {
            _ if place.is_null() => None,
            Extent::Presence => Some(Json::Bool(is_true(place))),
            Extent::Value | Extent::Below => Some(place.clone()),
        }
    }

    /// Whether all that the other path selects is selected by this one as well.
    fn covers(&self, other: &FieldPath) -> bool {
        self != other
            && other.segments.starts_with(&self.segments)
            && match self.extent {
                Extent::Presence => false,
                Extent::Value => {
                    other.segments.len() > self.segments.len() || other.extent == Extent::Presence
                }
                Extent::Below => true,
            }
    }
}

fn is_true(value: &Json) -> bool {
    match value {
        Json::Null => false,
        Json::Bool(value) => *value,
        Json::Number(number) => number.as_f64() != Some(0.0),
        Json::String(text) => !text.is_empty(),
        Json::Array(items) => !items.is_empty(),
        Json::Object(fields) => !fields.is_empty(),
    }
}

/// The paths without those that another one covers.
fn without_covered(paths: BTreeSet<FieldPath>) -> BTreeSet<FieldPath> {
    paths.iter().filter(|path| !paths.iter().any(|other| other.covers(path))).cloned().collect()
}

impl fmt::Display for FieldPath {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for segment in &self.segments {
            let mut characters = segment.chars();
            let starts_name = characters.next().is_some_and(|first| first.is_alphabetic() || first == '_');
            if starts_name && characters.all(|character| character.is_alphanumeric() || character == '_') {
                write!(formatter, ".{segment}")?;
            } else if !segment.is_empty() && segment.bytes().all(|byte| byte.is_ascii_digit()) {
                write!(formatter, "[{segment}]")?;
            } else {
                write!(formatter, "[{segment:?}]")?;
            }
        }
        formatter.write_str(match self.extent {
            Extent::Presence => "?",
            Extent::Value if self.segments.is_empty() => ".",
            Extent::Value => "",
            Extent::Below => ".*",
        })
    }
}
