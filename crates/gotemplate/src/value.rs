//! The values that a template computes with: Go's, as far as data decoded from JSON and the functions have them.

mod compare;
mod heap;
mod path;
mod text;

pub(super) use compare::deep_equal;
pub(super) use heap::{Entries, Heap, ListId, MapId, deeper};
pub(super) use path::FieldNames;
pub(super) use text::{Text, TextBuilder, decode_character, joined};

/// One value. Small and cheap to clone: lists and maps live in the [`Heap`] of the render.
#[derive(Clone, Debug)]
pub(super) enum Value<'a> {
    Nil(Nil<'a>),
    Bool(bool),
    /// Go's `int`: literals, lengths and indexes.
    Int(i64),
    /// Go's `int64`: the integers of the data and of arithmetic.
    Int64(i64),
    /// Go's `uint8`: one byte of a text.
    Byte(u8),
    Float(f64),
    Text(Text<'a>),
    List(ListId),
    Map(MapId),
}

/// The kinds of missing values. Go distinguishes the first two as well.
#[derive(Clone, Debug)]
pub(super) enum Nil<'a> {
    /// There is nothing at all: a key that a map does not have, the literal `nil`.
    Nothing,
    /// A place that holds nothing: an element that is nil.
    Empty,
    /// A field that is absent. The path names it.
    Absent(FieldNames<'a>),
    /// A field of the data that is null, or an absent field as an element.
    Null(FieldNames<'a>),
}

/// The type that Go declares for the elements of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ListType {
    Any,
    Text,
    Int,
    Lists,
}

/// The type that Go declares for the values of a map. The keys are always texts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MapType {
    Any,
    Text,
}

impl ListType {
    pub(super) fn name(self) -> &'static str {
        match self {
            ListType::Any => "[]interface {}",
            ListType::Text => "[]string",
            ListType::Int => "[]int",
            ListType::Lists => "[][]interface {}",
        }
    }
}

impl MapType {
    pub(super) fn name(self) -> &'static str {
        match self {
            MapType::Any => "map[string]interface {}",
            MapType::Text => "map[string]string",
        }
    }
}

impl<'a> Value<'a> {
    pub(super) const NOTHING: Value<'static> = Value::Nil(Nil::Nothing);

    /// Returns the field that must exist for this value to exist.
    pub(super) fn missing_field(&self) -> Option<&FieldNames<'a>> {
        match self {
            Value::Nil(Nil::Absent(path) | Nil::Null(path)) => Some(path),
            _ => None,
        }
    }

    pub(super) fn is_nil(&self) -> bool {
        matches!(self, Value::Nil(_))
    }

    /// Returns the value as an element of a list or map: `nothing` becomes an element that is nil.
    pub(super) fn into_element(self) -> Self {
        match self {
            Value::Nil(Nil::Nothing) => Value::Nil(Nil::Empty),
            Value::Nil(Nil::Absent(path)) => Value::Nil(Nil::Null(path)),
            other => other,
        }
    }

    /// Returns the value as the result of a pipeline: an element that is nil becomes `nothing`.
    pub(super) fn into_result(self) -> Self {
        match self {
            Value::Nil(Nil::Empty) => Value::NOTHING,
            Value::Nil(Nil::Null(path)) => Value::Nil(Nil::Absent(path)),
            other => other,
        }
    }

    /// Returns Go's name of the value's type, as `typeOf` gives it.
    pub(super) fn type_name(&self, heap: &Heap<'a>) -> &'static str {
        match self {
            Value::Nil(_) => "<nil>",
            Value::List(list) => heap.list_type(*list).name(),
            Value::Map(map) => heap.map_type(*map).name(),
            scalar => scalar.kind_name(),
        }
    }

    /// Returns Go's name of the value's kind, as `kindOf` gives it.
    pub(super) fn kind_name(&self) -> &'static str {
        match self {
            Value::Nil(_) => "invalid",
            Value::Bool(_) => "bool",
            Value::Int(_) => "int",
            Value::Int64(_) => "int64",
            Value::Byte(_) => "uint8",
            Value::Float(_) => "float64",
            Value::Text(_) => "string",
            Value::List(_) => "slice",
            Value::Map(_) => "map",
        }
    }

    /// Whether the value counts as true: not zero, not empty, not nil.
    pub(super) fn truth(&self, heap: &Heap<'a>) -> bool {
        match self {
            Value::Nil(_) => false,
            Value::Bool(value) => *value,
            Value::Int(value) | Value::Int64(value) => *value != 0,
            Value::Byte(value) => *value != 0,
            Value::Float(value) => *value != 0.0,
            Value::Text(text) => !text.bytes().is_empty(),
            Value::List(list) => heap.list_length(*list) > 0,
            Value::Map(map) => heap.map_length(*map) > 0,
        }
    }

    /// Returns the value of any integer type.
    pub(super) fn integer(&self) -> Option<i64> {
        match self {
            Value::Int(value) | Value::Int64(value) => Some(*value),
            Value::Byte(value) => Some(i64::from(*value)),
            _ => None,
        }
    }
}
