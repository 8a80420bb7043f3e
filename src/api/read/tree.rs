//! A YAML document as a tree in which every node knows its place.

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_yaml::{Location, Spanned};

/// A node and where it is.
pub(super) struct Tree {
    /// The kind of the node.
    pub(super) node: Node,
    /// The place where it begins.
    pub(super) location: Location,
}

/// The kinds of nodes.
pub(super) enum Node {
    /// Keys with their places, and values.
    Mapping(Vec<(String, Location, Tree)>),
    /// Items.
    Sequence(Vec<Tree>),
    /// Anything else: its type as a schema names it, and its text where it is a string.
    Scalar { type_name: &'static str, text: Option<String> },
}

impl Node {
    /// The type as a schema names it.
    pub(super) fn type_name(&self) -> &'static str {
        match self {
            Self::Mapping(_) => "object",
            Self::Sequence(_) => "array",
            Self::Scalar { type_name, .. } => type_name,
        }
    }
}

impl Tree {
    fn field(&self, key: &str) -> Option<&Self> {
        match &self.node {
            Node::Mapping(entries) => entries.iter().find(|(name, ..)| name == key).map(|(.., value)| value),
            _ => None,
        }
    }

    /// The text of a string at the top level.
    pub(super) fn text(&self, key: &str) -> Option<&str> {
        match &self.field(key)?.node {
            Node::Scalar { text, .. } => text.as_deref(),
            _ => None,
        }
    }

    /// The place of a field such as `spec.flux.interval`, or of the last node on the way to it that is there.
    pub(super) fn nearest(&self, field: &str) -> Location {
        let mut tree = self;
        for key in field.split(['.', '[', ']']).filter(|key| !key.is_empty()) {
            match tree.field(key) {
                Some(value) => tree = value,
                None => break,
            }
        }
        tree.location
    }
}

impl<'de> Deserialize<'de> for Tree {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let spanned = Spanned::<Node>::deserialize(deserializer)?;
        Ok(Self { node: spanned.value, location: spanned.referenced })
    }
}

impl<'de> Deserialize<'de> for Node {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(NodeVisitor)
    }
}

struct NodeVisitor;

fn scalar(type_name: &'static str) -> Node {
    Node::Scalar { type_name, text: None }
}

impl<'de> Visitor<'de> for NodeVisitor {
    type Value = Node;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a YAML value")
    }

    fn visit_bool<E>(self, _: bool) -> Result<Node, E> {
        Ok(scalar("boolean"))
    }

    fn visit_i64<E>(self, _: i64) -> Result<Node, E> {
        Ok(scalar("integer"))
    }

    fn visit_u64<E>(self, _: u64) -> Result<Node, E> {
        Ok(scalar("integer"))
    }

    fn visit_f64<E>(self, _: f64) -> Result<Node, E> {
        Ok(scalar("number"))
    }

    fn visit_str<E>(self, text: &str) -> Result<Node, E> {
        Ok(Node::Scalar { type_name: "string", text: Some(text.to_owned()) })
    }

    fn visit_unit<E>(self) -> Result<Node, E> {
        Ok(scalar("null"))
    }

    fn visit_none<E>(self) -> Result<Node, E> {
        Ok(scalar("null"))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Node, A::Error> {
        let mut sequence = Vec::new();
        while let Some(item) = items.next_element()? {
            sequence.push(item);
        }
        Ok(Node::Sequence(sequence))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Node, A::Error> {
        let mut mapping = Vec::new();
        while let Some(key) = entries.next_key::<Spanned<String>>()? {
            mapping.push((key.value, key.referenced, entries.next_value()?));
        }
        Ok(Node::Mapping(mapping))
    }
}
