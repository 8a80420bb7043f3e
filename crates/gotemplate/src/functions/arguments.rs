//! The arguments of a call, after the evaluator has checked them against the table.

use super::super::fault::Fault;
use super::super::value::{MapId, Text, Value};

/// The arguments of one call. Their number and types are those of the function's row in the table.
pub(crate) struct Arguments<'v, 'a>(&'v [Value<'a>]);

impl<'v, 'a> Arguments<'v, 'a> {
    pub(crate) fn new(values: &'v [Value<'a>]) -> Self {
        Arguments(values)
    }

    pub(super) fn all(&self) -> &'v [Value<'a>] {
        self.0
    }

    /// Returns all arguments from this index on.
    pub(super) fn from(&self, index: usize) -> &'v [Value<'a>] {
        self.0.get(index..).unwrap_or_default()
    }

    pub(super) fn any(&self, index: usize) -> Result<&'v Value<'a>, Fault<'a>> {
        self.0.get(index).ok_or_else(|| Fault::failed("an argument is missing"))
    }

    pub(super) fn text(&self, index: usize) -> Result<&'v Text<'a>, Fault<'a>> {
        match self.any(index)? {
            Value::Text(text) => Ok(text),
            _ => Err(Fault::failed("a text is needed")),
        }
    }

    pub(super) fn bytes(&self, index: usize) -> Result<&'v [u8], Fault<'a>> {
        Ok(self.text(index)?.bytes())
    }

    pub(super) fn int(&self, index: usize) -> Result<i64, Fault<'a>> {
        match self.any(index)? {
            Value::Int(value) => Ok(*value),
            _ => Err(Fault::failed("an int is needed")),
        }
    }

    pub(super) fn float(&self, index: usize) -> Result<f64, Fault<'a>> {
        match self.any(index)? {
            Value::Float(value) => Ok(*value),
            _ => Err(Fault::failed("a float64 is needed")),
        }
    }

    pub(super) fn bool(&self, index: usize) -> Result<bool, Fault<'a>> {
        match self.any(index)? {
            Value::Bool(value) => Ok(*value),
            _ => Err(Fault::failed("a bool is needed")),
        }
    }

    pub(super) fn map(&self, index: usize) -> Result<MapId, Fault<'a>> {
        match self.any(index)? {
            Value::Map(map) => Ok(*map),
            _ => Err(Fault::failed("a map is needed")),
        }
    }
}
