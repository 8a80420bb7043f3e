//! Reads the values of a chart from the text that a values template renders.

use serde_json::{Map, Number, Value};

use super::document::{options, yaml_finding};
use super::finding::Finding;

/// The roots of the data of values templates. A template that reads another root waits for it for ever.
pub const ROOTS: [&str; 3] = ["Cluster", "ControlPlane", "InfraCluster"];

/// The key under which authors may wrap the values: `values: |`.
const WRAPPER: &str = "values";

/// Maximum nesting of values.
const DEPTH: usize = 64;

/// The reason why rendered text is not a mapping of values.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ValuesError {
    /// It is not YAML that JSON can represent, with the line of the first error.
    #[error("cannot read the rendered values{}: {message}", Position(*line, text.as_deref()))]
    Yaml {
        /// The line of the values document, from 1.
        line: Option<u64>,
        /// The text of the line.
        text: Option<String>,
        /// Description of the problem.
        message: String,
    },
    /// It is YAML, but not a mapping.
    #[error("the rendered values must be a mapping, but are {0}")]
    NotAMapping(&'static str),
}

/// Reads the values in the output of a values template. If it has a top-level string `values`, that string is the values
/// document; otherwise all of it is. An empty document is an empty mapping: a template may have left out everything.
/// Booleans are those of YAML 1.1, as Helm reads them, and numbers without a fraction are integers, as they are after Go
/// has turned YAML into JSON.
pub fn read_values(rendered: &str) -> Result<Map<String, Value>, ValuesError> {
    let mut values = read_mapping(rendered)?;
    match values.get_mut(WRAPPER) {
        Some(Value::String(inner)) => read_mapping(inner),
        _ => Ok(values),
    }
}

fn read_mapping(source: &str) -> Result<Map<String, Value>, ValuesError> {
    let read = serde_yaml::from_str_with_options(source, options(false, DEPTH));
    match read.map_err(|error| ValuesError::from(yaml_finding(&error, DEPTH, "", source)))? {
        Value::Object(mut values) => {
            values.values_mut().for_each(whole_numbers);
            Ok(values)
        }
        Value::Null => Ok(Map::new()),
        Value::Bool(_) => Err(ValuesError::NotAMapping("a boolean")),
        Value::Number(_) => Err(ValuesError::NotAMapping("a number")),
        Value::String(_) => Err(ValuesError::NotAMapping("a string")),
        Value::Array(_) => Err(ValuesError::NotAMapping("a list")),
    }
}

/// Turns floats without a fraction into integers: Go writes `1.0` as `1` into JSON. The reader limits the nesting.
fn whole_numbers(value: &mut Value) {
    match value {
        Value::Number(number) => {
            if let Some(whole) = whole(number) {
                *number = whole;
            }
        }
        Value::Array(items) => items.iter_mut().for_each(whole_numbers),
        Value::Object(entries) => entries.values_mut().for_each(whole_numbers),
        Value::Null | Value::Bool(_) | Value::String(_) => {}
    }
}

fn whole(number: &Number) -> Option<Number> {
    if !number.is_f64() {
        return None;
    }
    // Digits alone are an integer; Go writes an exponent from 1e21 on, which is beyond 64 bits.
    format!("{}", number.as_f64()?).parse::<i64>().ok().map(Number::from)
}

impl From<Finding> for ValuesError {
    fn from(finding: Finding) -> Self {
        Self::Yaml { line: finding.line, text: finding.text, message: finding.message }
    }
}

/// ` in line 3 ("a: [")`, or nothing if the place is unknown.
struct Position<'a>(Option<u64>, Option<&'a str>);

impl std::fmt::Display for Position<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Some(line) = self.0 else { return Ok(()) };
        write!(f, " in line {line}")?;
        self.1.map_or(Ok(()), |text| write!(f, " ({text:?})"))
    }
}

#[cfg(test)]
mod tests;
