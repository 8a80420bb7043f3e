//! What is known of a YAML value without its content.

use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, SeqAccess, Visitor};
use serde_yaml::{Location, Spanned};

/// A YAML value, of which only what the review asks for is kept.
#[derive(Clone, Debug, Default)]
pub(super) struct Shape {
    pub(super) kind: Kind,
    /// The first key in the value that is no scalar, or null.
    pub(super) odd_key: Option<Key>,
    /// The text of a scalar, shortened.
    text: String,
    /// The text below the key `apiVersion`.
    api_version: String,
    /// The text below the key `kind`.
    pub(super) object_kind: String,
    /// The texts below the keys `namespace` and `name`.
    names: Names,
    /// Those below `metadata`.
    metadata: Names,
    /// Whether it has the key `mac`.
    has_mac: bool,
    /// Whether it is encrypted with SOPS, which leaves its own data below the key `sops`.
    pub(super) is_encrypted: bool,
}

/// A namespace and a name, each empty if absent.
type Names = (String, String);

/// The identity of a Kubernetes object: group, kind, namespace and name.
pub(super) type Identity = (String, String, String, String);

/// The kind of a YAML value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Kind {
    #[default]
    Nothing,
    /// A mapping, and whether it has entries.
    Mapping(bool),
    List,
    /// A scalar, by its name for readers.
    Scalar(&'static str),
}

/// A key that no JSON has.
#[derive(Clone, Copy, Debug)]
pub(super) struct Key {
    pub(super) place: Location,
    /// Its kind, by its name for readers.
    pub(super) kind: &'static str,
}

impl Key {
    /// The kind of null.
    pub(super) const NULL: &str = "null";
}

impl Kind {
    /// Returns the name for readers of anything but a mapping or nothing.
    pub(super) fn other(self) -> Option<&'static str> {
        match self {
            Self::Nothing | Self::Mapping(_) => None,
            Self::List => Some("a list"),
            Self::Scalar(name) => Some(name),
        }
    }
}

/// Maximum number of characters kept of a scalar.
const MAX_TEXT: usize = 256;

impl Shape {
    /// Whether there is a text below `metadata.name`.
    pub(super) fn has_metadata_name(&self) -> bool {
        !self.metadata.1.is_empty()
    }

    /// Returns the identity of the object; `None` if it has no name.
    pub(super) fn identity(&self) -> Option<Identity> {
        let group = self.api_version.rsplit_once('/').map(|(group, _)| group).unwrap_or_default();
        let (namespace, name) = self.metadata.clone();
        self.has_metadata_name().then(|| (group.to_owned(), self.object_kind.clone(), namespace, name))
    }

    fn scalar(name: &'static str, text: &str) -> Self {
        Self { kind: Kind::Scalar(name), text: text.chars().take(MAX_TEXT).collect(), ..Self::default() }
    }

    /// Adds what is asked for of an entry of this mapping.
    fn add(&mut self, key: Spanned<Self>, value: Self) {
        let place = key.referenced;
        let key = key.value;
        let kind = match key.kind {
            Kind::Nothing => Some(Key::NULL),
            Kind::Mapping(_) => Some("a mapping"),
            Kind::List => Some("a list"),
            Kind::Scalar(_) => None,
        };
        let odd_key = kind.map(|kind| Key { place, kind }).or(value.odd_key);
        // Null is the mildest.
        if self.odd_key.is_none_or(|known| known.kind == Key::NULL) {
            self.odd_key = odd_key.or(self.odd_key);
        }
        match key.text.as_str() {
            "apiVersion" => self.api_version = value.text,
            "kind" => self.object_kind = value.text,
            "namespace" => self.names.0 = value.text,
            "name" => self.names.1 = value.text,
            "metadata" => self.metadata = value.names,
            "mac" => self.has_mac = true,
            "sops" => self.is_encrypted = value.has_mac,
            _ => {}
        }
    }
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
        Ok(Shape::default())
    }

    fn visit_none<E>(self) -> Result<Shape, E> {
        Ok(Shape::default())
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Shape, D::Error> {
        deserializer.deserialize_any(self)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Shape, E> {
        Ok(Shape::scalar("a boolean", if value { "true" } else { "false" }))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Shape, E> {
        Ok(Shape::scalar("a number", &value.to_string()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Shape, E> {
        Ok(Shape::scalar("a number", &value.to_string()))
    }

    fn visit_i128<E>(self, value: i128) -> Result<Shape, E> {
        Ok(Shape::scalar("a number", &value.to_string()))
    }

    fn visit_u128<E>(self, value: u128) -> Result<Shape, E> {
        Ok(Shape::scalar("a number", &value.to_string()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Shape, E> {
        Ok(Shape::scalar("a number", &value.to_string()))
    }

    fn visit_str<E>(self, text: &str) -> Result<Shape, E> {
        Ok(Shape::scalar("a text", text))
    }

    fn visit_bytes<E>(self, _: &[u8]) -> Result<Shape, E> {
        Ok(Shape::scalar("bytes", "bytes"))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Shape, A::Error> {
        let mut shape = Shape { kind: Kind::List, ..Shape::default() };
        while let Some(item) = list.next_element::<Shape>()? {
            shape.odd_key = shape.odd_key.or(item.odd_key);
        }
        Ok(shape)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut mapping: A) -> Result<Shape, A::Error> {
        let mut shape = Shape { kind: Kind::Mapping(false), ..Shape::default() };
        while let Some((key, value)) = mapping.next_entry::<Spanned<Shape>, Shape>()? {
            shape.kind = Kind::Mapping(true);
            shape.add(key, value);
        }
        Ok(shape)
    }
}
