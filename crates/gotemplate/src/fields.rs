//! The fields of the data that a template reads.

mod reads;

use std::collections::BTreeSet;
use std::fmt;

use serde_json::Value as Json;

pub(super) use reads::fields_read;

/// The part of the value at a path that a template reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Extent {
    /// Only whether the path exists: a value without fields on the path makes the template fail.
    Way,
    /// Whether the field has content: it is only tested (`if`, `with`, `default`).
    Presence,
    /// The value, which may be an object.
    Value,
    /// Everything below: the template decides when it is rendered (`range`, a computed key, a whole object printed).
    Below,
}

/// The part of the data that a template can see at a [`FieldPath`].
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Seen<'d> {
    /// The field is absent, or only the path to it is read.
    Nothing,
    /// A value on the path that is not an object, and so does not have the field. It can make the template fail.
    NoField(&'d str, &'d Json),
    /// Whether the value of the field counts as true, if the template tests no more than that.
    Presence(bool),
    /// The value of the field.
    Value(&'d Json),
}

/// A place in the data, from their root, and how much of it is read.
///
/// Shown as `.cluster.status.network.id`; with `?` at the end when only its presence matters, with `.*` when
/// everything below it does. A key that is not a name is shown in brackets: `.cluster.metadata.labels["a/b"]`.
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

    /// Returns the keys from the root to the place; an element of a list has its index as key.
    #[must_use]
    pub fn segments(&self) -> &[String] {
        &self.segments
    }

    /// Returns what is read of the place.
    #[must_use]
    pub fn extent(&self) -> Extent {
        self.extent
    }

    /// Selects what the template can see there. If the answers for two data are equal, this path does not require another
    /// render.
    #[must_use]
    pub fn select<'d>(&'d self, data: &'d Json) -> Seen<'d> {
        let mut place = data;
        for segment in &self.segments {
            let next = match place {
                Json::Object(fields) => fields.get(segment),
                Json::Array(items) if element(items, segment).is_some() => element(items, segment),
                // Below a null everything is absent.
                Json::Null => None,
                _ => return Seen::NoField(segment, place),
            };
            let Some(next) = next else { return Seen::Nothing };
            place = next;
        }
        match self.extent {
            Extent::Way => Seen::Nothing,
            Extent::Presence => Seen::Presence(is_true(place)),
            Extent::Value | Extent::Below => Seen::Value(place),
        }
    }

    /// Whether this path selects everything that the other path selects.
    fn covers(&self, other: &FieldPath) -> bool {
        if other.extent == Extent::Way {
            // Every path through the same container sees whether that container exists.
            let container = other.segments.split_last().map_or(&[][..], |(_, container)| container);
            let goes_further = self.extent != Extent::Way || self.segments.len() > other.segments.len();
            return goes_further
                && self.segments.starts_with(container)
                && (self.segments.len() > container.len() || self.extent >= Extent::Value);
        }
        self != other
            && other.segments.starts_with(&self.segments)
            && match self.extent {
                Extent::Way | Extent::Presence => false,
                Extent::Value => {
                    other.segments.len() > self.segments.len() || other.extent == Extent::Presence
                }
                Extent::Below => true,
            }
    }
}

/// Returns the element of a list that a segment names by its index.
fn element<'a>(items: &'a [Json], segment: &str) -> Option<&'a Json> {
    let is_index = segment.bytes().all(|byte| byte.is_ascii_digit());
    segment.parse::<usize>().ok().filter(|_| is_index).and_then(|index| items.get(index))
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

/// Returns the paths without those that another one covers.
fn without_covered(paths: &BTreeSet<FieldPath>) -> BTreeSet<FieldPath> {
    let is_covered = |path: &FieldPath| {
        // The root always has fields.
        (path.extent == Extent::Way && path.segments.len() < 2)
            || paths.iter().any(|other| other.covers(path))
    };
    paths.iter().filter(|path| !is_covered(path)).cloned().collect()
}

impl fmt::Display for FieldPath {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, segment) in self.segments.iter().enumerate() {
            if index == 0 && segment.starts_with('$') {
                // A field of a value that the template made has the name that the template uses for it.
                formatter.write_str(segment)?;
                continue;
            }
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
            Extent::Way | Extent::Presence if self.segments.is_empty() => ".?",
            Extent::Way | Extent::Presence => "?",
            Extent::Value => "",
            Extent::Below => ".*",
        })
    }
}
