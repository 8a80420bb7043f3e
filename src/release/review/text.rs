//! YAML and JSON that stackflux does not read but Flux or Helm does: only whether they can, by the most lenient rules.

use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_yaml::DuplicateKeyPolicy;

use crate::release::finding::{Finding, Reason};
use crate::yaml;

/// The kind of a YAML document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    Mapping,
    Nothing,
    /// Any other kind, by its name for readers.
    Other(&'static str),
}

/// Returns the kinds of the documents of a file; none if the file exceeds a limit of this reader. Fails with the finding
/// of an error in the YAML.
pub(super) fn documents(path: &str, content: &[u8]) -> Result<Vec<Shape>, Box<Finding>> {
    let source = String::from_utf8_lossy(content);
    let source = source.strip_prefix('\u{feff}').unwrap_or(&source);
    serde_yaml::from_multiple_with_options(source, options()).or_else(|error| {
        if yaml::limit(&error, &options()).is_some() {
            return Ok(Vec::new());
        }
        let message = yaml::message(&error, &options());
        let is_sure = !MAY_WORK.iter().any(|part| message.contains(part));
        let finding = if is_sure { Finding::error } else { Finding::warning };
        let finding = finding(Reason::InvalidYaml, path, message);
        Err(Box::new(match error.location() {
            Some(location) => finding.at(location.line(), location.column(), source),
            None => finding,
        }))
    })
}

/// The errors of this reader about YAML that Go's reader accepts in some cases: only a warning.
const MAY_WORK: [&str; 6] = [
    "reference to unknown value",
    "plain scalar cannot start with",
    "comments must be separated",
    "invalid indentation in multiline quoted scalar",
    "wrongly indented line in block scalar",
    "document end marker",
];

/// Go's readers take the last of two equal keys, and any tag.
fn options() -> serde_yaml::Options {
    serde_yaml::options! {
        budget: serde_yaml::budget! {
            max_depth: 256, max_nodes: 5_000_000, max_events: 10_000_000, max_documents: 100_000,
        },
        duplicate_keys: DuplicateKeyPolicy::FirstWins,
        legacy_octal_numbers: true,
        ignore_binary_tag_for_string: true,
        with_snippet: false,
    }
}

/// Returns the finding of a file that is not JSON.
pub(super) fn json_error(path: &str, content: &[u8]) -> Option<Finding> {
    let content = content.strip_prefix(b"\xef\xbb\xbf").unwrap_or(content);
    let error = serde_json::from_slice::<IgnoredAny>(content).err()?;
    let message = error.to_string();
    let message = message.rsplit_once(" at line ").map_or(message.as_str(), |(message, _)| message);
    let finding = Finding::error(Reason::InvalidJson, path, format!("the file is not JSON: {message}"));
    let (line, column) = (error.line() as u64, error.column().max(1) as u64);
    let source = String::from_utf8_lossy(content);
    // The end of a file is in no line of it.
    Some(if yaml::line_of(&source, line).is_some() { finding.at(line, column, &source) } else { finding })
}

impl<'de> Deserialize<'de> for Shape {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ShapeVisitor)
    }
}

struct ShapeVisitor;

impl<'de> Visitor<'de> for ShapeVisitor {
    type Value = Shape;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a YAML document")
    }

    fn visit_unit<E>(self) -> Result<Shape, E> {
        Ok(Shape::Nothing)
    }

    fn visit_none<E>(self) -> Result<Shape, E> {
        Ok(Shape::Nothing)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Shape, D::Error> {
        deserializer.deserialize_any(self)
    }

    fn visit_bool<E>(self, _: bool) -> Result<Shape, E> {
        Ok(Shape::Other("a boolean"))
    }

    fn visit_i64<E>(self, _: i64) -> Result<Shape, E> {
        Ok(Shape::Other("a number"))
    }

    fn visit_u64<E>(self, _: u64) -> Result<Shape, E> {
        Ok(Shape::Other("a number"))
    }

    fn visit_i128<E>(self, _: i128) -> Result<Shape, E> {
        Ok(Shape::Other("a number"))
    }

    fn visit_u128<E>(self, _: u128) -> Result<Shape, E> {
        Ok(Shape::Other("a number"))
    }

    fn visit_f64<E>(self, _: f64) -> Result<Shape, E> {
        Ok(Shape::Other("a number"))
    }

    fn visit_str<E>(self, _: &str) -> Result<Shape, E> {
        Ok(Shape::Other("a text"))
    }

    fn visit_bytes<E>(self, _: &[u8]) -> Result<Shape, E> {
        Ok(Shape::Other("bytes"))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Shape, A::Error> {
        while list.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Shape::Other("a list"))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut mapping: A) -> Result<Shape, A::Error> {
        while mapping.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Shape::Mapping)
    }
}
