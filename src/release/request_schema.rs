//! The JSON schema of a component for the values that the owner of a Cluster may set.
//!
//! Of JSON schema it has the part whose checks are linear: types, named properties, items, enumerations, limits and patterns. What
//! a schema does not name must not be set. Another keyword is refused: one that is not checked would allow what it forbids.

mod patterns;

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use patterns::{Pattern, Patterns};

/// Maximum size of a schema, as JSON.
const MAX_BYTES: usize = 32 * 1024;
/// Maximum nesting of a schema.
const MAX_DEPTH: usize = 16;

/// The keywords that say nothing about which values are valid.
const ANNOTATIONS: [&str; 8] =
    ["$schema", "$id", "$comment", "title", "description", "default", "examples", "deprecated"];

/// The types of JSON schema.
const TYPES: [&str; 7] = ["null", "boolean", "integer", "number", "string", "array", "object"];

/// A schema for values, or for a part of them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RequestSchema {
    /// The allowed types; empty for all.
    types: Vec<&'static str>,
    properties: BTreeMap<String, RequestSchema>,
    /// Whether a mapping must have no other properties.
    is_closed: bool,
    items: Option<Box<RequestSchema>>,
    /// The allowed values; empty for all.
    words: Vec<Value>,
    numbers: (Option<f64>, Option<f64>),
    length: (Option<u64>, Option<u64>),
    count: (Option<u64>, Option<u64>),
    pattern: Option<Pattern>,
    /// The number of patterns in the whole schema, and what they need, in bytes.
    patterns: (usize, usize),
}

impl RequestSchema {
    /// Reads a schema. Fails with a description of what it cannot check.
    pub fn read(schema: &Map<String, Value>) -> Result<Self, String> {
        if serde_json::to_vec(schema).map_or(usize::MAX, |bytes| bytes.len()) > MAX_BYTES {
            return Err(format!("a schema must have at most {MAX_BYTES} bytes"));
        }
        let mut patterns = Patterns::default();
        let mut read = Self::part(schema, MAX_DEPTH, &mut patterns)?;
        read.patterns = (patterns.count, patterns.bytes);
        if read.properties.is_empty() {
            return Err("a schema must have properties, which name the values that may be set".to_owned());
        }
        if !read.words.is_empty() {
            return Err("enum is for single values: set it below properties".to_owned());
        }
        Ok(read)
    }

    fn part(schema: &Map<String, Value>, depth: usize, patterns: &mut Patterns) -> Result<Self, String> {
        let mut read = Self::default();
        let depth = depth
            .checked_sub(1)
            .ok_or_else(|| format!("a schema must be nested at most {MAX_DEPTH} times"))?;
        let mut kinds: BTreeMap<Kind, &str> = BTreeMap::new();
        for (keyword, value) in schema {
            if let Some(kind) = kind_of(keyword) {
                kinds.entry(kind).or_insert(keyword);
            }
            let invalid = || format!("{keyword} has an invalid value");
            let mut below =
                |value: &Value| Self::part(value.as_object().ok_or_else(invalid)?, depth, patterns);
            match keyword.as_str() {
                "type" => read.types = types(value).ok_or_else(invalid)?,
                "properties" => {
                    let properties = value.as_object().ok_or_else(invalid)?.iter();
                    let properties = properties.map(|(name, schema)| Ok((name.clone(), below(schema)?)));
                    read.properties = properties.collect::<Result<_, String>>()?;
                    read.is_closed = true;
                }
                "items" => read.items = Some(Box::new(below(value)?)),
                "enum" => {
                    let words = value.as_array().filter(|it| !it.is_empty()).ok_or_else(invalid)?;
                    read.words.clone_from(words);
                }
                "minimum" => read.numbers.0 = Some(value.as_f64().ok_or_else(invalid)?),
                "maximum" => read.numbers.1 = Some(value.as_f64().ok_or_else(invalid)?),
                "minLength" => read.length.0 = Some(value.as_u64().ok_or_else(invalid)?),
                "maxLength" => read.length.1 = Some(value.as_u64().ok_or_else(invalid)?),
                "minItems" => read.count.0 = Some(value.as_u64().ok_or_else(invalid)?),
                "maxItems" => read.count.1 = Some(value.as_u64().ok_or_else(invalid)?),
                "pattern" => read.pattern = Some(patterns.compile(value.as_str().ok_or_else(invalid)?)?),
                "additionalProperties" if *value == Value::Bool(false) => read.is_closed = true,
                other if ANNOTATIONS.contains(&other) => {}
                _ => return Err(format!("{keyword} is not supported")),
            }
        }
        read.infer_type(&kinds)?;
        Ok(read)
    }

    /// Sets an absent type to the one that the keywords are about: otherwise a value of another type would break no rule. Fails
    /// if a keyword is about a type that the schema does not allow.
    fn infer_type(&mut self, kinds: &BTreeMap<Kind, &str>) -> Result<(), String> {
        if self.types.is_empty() {
            let mut kinds = kinds.iter();
            let Some((kind, keyword)) = kinds.next() else { return Ok(()) };
            if let Some((other, second)) = kinds.next() {
                return Err(format!(
                    "{keyword} is about {}, and {second} about {}: set type",
                    kind.name(),
                    other.name()
                ));
            }
            self.types = vec![kind.name()];
            return Ok(());
        }
        let allows = |kind: &Kind| {
            self.types.iter().any(|name| *name == kind.name() || (*kind, *name) == (Kind::Number, "integer"))
        };
        kinds.iter().find(|(kind, _)| !allows(kind)).map_or(Ok(()), |(kind, keyword)| {
            let types = self.types.join(" or ");
            Err(format!("{keyword} is about {}, and type is {types}", kind.name()))
        })
    }

    /// Returns the schema of a property, if this one names it.
    #[must_use]
    pub fn property(&self, name: &str) -> Option<&Self> {
        self.properties.get(name)
    }

    /// Whether a mapping may have the named properties alone, perhaps none. Otherwise it may have any.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.is_closed
    }

    /// Returns the rule that a value itself breaks, without the properties of a mapping and the items of a list.
    #[must_use]
    pub fn broken(&self, value: &Value) -> Option<String> {
        let is_of = |name: &&str| match (*name, value) {
            ("integer", Value::Number(number)) => number.is_i64() || number.is_u64(),
            (name, value) => type_of(value) == name,
        };
        if !self.types.is_empty() && !self.types.iter().any(is_of) {
            return Some(format!("expected {}, found {}", self.types.join(" or "), type_of(value)));
        }
        if !self.words.is_empty() && !self.words.contains(value) {
            return Some("the value is not one of the schema's enum".to_owned());
        }
        match value {
            Value::Number(number) => beyond("the value", &number.as_f64()?, &self.numbers),
            Value::String(text) => {
                let length = text.chars().count() as u64;
                let pattern = self.pattern.as_ref().filter(|pattern| !pattern.is_match(text));
                beyond("the length", &length, &self.length)
                    .or_else(|| Some(format!("the text does not match {:.100}", pattern?.as_str())))
            }
            Value::Array(items) => beyond("the number of items", &(items.len() as u64), &self.count),
            _ => None,
        }
    }

    /// Returns the number of patterns in the whole schema, and what they need, in bytes.
    #[must_use]
    pub fn patterns(&self) -> (usize, usize) {
        self.patterns
    }

    /// Returns the schema of the items of a list, if there is one.
    #[must_use]
    pub fn items(&self) -> Option<&Self> {
        self.items.as_deref()
    }

    /// Returns the names of the properties, each with its schema.
    pub fn properties(&self) -> impl Iterator<Item = (&str, &Self)> {
        self.properties.iter().map(|(name, schema)| (name.as_str(), schema))
    }
}

/// A type that keywords are about.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Array,
    Number,
    Object,
    String,
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Self::Array => "array",
            Self::Number => "number",
            Self::Object => "object",
            Self::String => "string",
        }
    }
}

/// Returns the type that a keyword is about, if it is about one.
fn kind_of(keyword: &str) -> Option<Kind> {
    match keyword {
        "items" | "minItems" | "maxItems" => Some(Kind::Array),
        "minimum" | "maximum" => Some(Kind::Number),
        "properties" | "additionalProperties" => Some(Kind::Object),
        "pattern" | "minLength" | "maxLength" => Some(Kind::String),
        _ => None,
    }
}

fn types(value: &Value) -> Option<Vec<&'static str>> {
    let one = |value: &Value| TYPES.into_iter().find(|name| value == name);
    match value {
        Value::Array(names) if !names.is_empty() => names.iter().map(one).collect(),
        value => Some(vec![one(value)?]),
    }
}

fn type_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

fn beyond<T: PartialOrd + std::fmt::Display>(
    what: &str,
    value: &T,
    (least, most): &(Option<T>, Option<T>),
) -> Option<String> {
    match (least, most) {
        (Some(least), _) if value < least => Some(format!("{what} must be at least {least}")),
        (_, Some(most)) if value > most => Some(format!("{what} must be at most {most}")),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(schema: &Value) -> Result<RequestSchema, String> {
        RequestSchema::read(schema.as_object().unwrap())
    }

    #[test]
    fn schema_with_unknown_keyword_is_refused() {
        let of = |part: Value| json!({"type": "object", "properties": {"a": part}});
        let deep = (0..16).fold(json!({}), |inner, _| json!({"properties": {"a": inner}}));
        for (schema, expected) in [
            (of(json!({"type": "string", "description": "d", "default": 1})), None),
            (of(json!({"type": ["string", "null"], "enum": ["a"], "pattern": "^a$", "maxLength": 3})), None),
            (of(json!({"properties": {}, "additionalProperties": false})), None),
            (of(json!({"additionalProperties": true})), Some("additionalProperties is not supported")),
            (of(json!({"$ref": "#/a"})), Some("$ref is not supported")),
            (of(json!({"anyOf": []})), Some("anyOf is not supported")),
            (of(json!({"type": "text"})), Some("type has an invalid value")),
            (of(json!({"type": []})), Some("type has an invalid value")),
            (of(json!({"enum": []})), Some("enum has an invalid value")),
            (of(json!({"minimum": "1"})), Some("minimum has an invalid value")),
            (of(json!({"maxLength": -1})), Some("maxLength has an invalid value")),
            (of(json!({"minimum": 1, "maximum": 2})), None),
            (of(json!({"type": "integer", "minimum": 1})), None),
            (of(json!({"type": ["string", "array"], "minLength": 1, "minItems": 1})), None),
            (
                of(json!({"minimum": 1, "pattern": "a"})),
                Some("minimum is about number, and pattern about string: set type"),
            ),
            (of(json!({"items": {}, "properties": {}})), Some("items is about array, and properties")),
            (
                of(json!({"type": ["string", "null"], "maximum": 1})),
                Some("maximum is about number, and type is string or null"),
            ),
            (of(json!({"type": "number", "additionalProperties": false})), Some("is about object")),
            (json!({"type": "array", "properties": {"a": {}}}), Some("is about object, and type is array")),
            (json!({"properties": {"a": {}}, "enum": [1]}), Some("set it below properties")),
            (of(json!(true)), Some("properties has an invalid value")),
            (of(json!({"pattern": "("})), Some("not a regular expression")),
            (of(json!({"pattern": "(a{1000}){1000}"})), Some("not a regular expression of a usual size")),
            (json!({}), Some("must have properties")),
            (deep, Some("nested at most 16 times")),
            (of(json!({"title": "x".repeat(32 * 1024)})), Some("at most 32768 bytes")),
        ] {
            let error = read(&schema).err();
            let is_expected = match (&error, expected) {
                (Some(error), Some(expected)) => error.contains(expected),
                (error, expected) => error.is_none() && expected.is_none(),
            };
            assert!(is_expected, "{error:?} instead of {expected:?}");
        }
    }

    #[test]
    fn value_is_compared_with_its_schema() {
        for (schema, good, bad) in [
            (json!({"type": "string"}), json!("a"), json!(1)),
            (json!({"type": "integer"}), json!(1), json!(1.5)),
            (json!({"type": "number"}), json!(1.5), json!("1")),
            (json!({"type": "boolean"}), json!(true), json!("true")),
            (json!({"type": ["string", "null"]}), json!(null), json!([])),
            (json!({"type": "string"}), json!(""), json!(null)),
            (json!({"enum": ["a", 1]}), json!(1), json!("b")),
            (json!({"minimum": 2}), json!(2), json!(1)),
            (json!({"maximum": 2}), json!(2), json!(2.5)),
            (json!({"minLength": 2}), json!("éé"), json!("é")),
            (json!({"maxLength": 2}), json!("éé"), json!("ééé")),
            (json!({"pattern": "^a+$"}), json!("aa"), json!("ab")),
            (json!({"minItems": 1}), json!([1]), json!([])),
            (json!({"maxItems": 1}), json!([1]), json!([1, 2])),
            (json!({"properties": {"a": {}}}), json!({}), json!(null)),
            (json!({"properties": {"a": {}}}), json!({}), json!([])),
            (json!({"additionalProperties": false}), json!({}), json!("a")),
            (json!({"minimum": 1}), json!(1.5), json!("100")),
            (json!({"maxLength": 3}), json!("a"), json!(1)),
            (json!({"pattern": "^a$"}), json!("a"), json!({})),
            (json!({"items": {}}), json!([]), json!({})),
            (json!({"type": ["string", "null"], "pattern": "^a$"}), json!(null), json!("b")),
        ] {
            let whole = read(&json!({"properties": {"a": schema}})).unwrap();
            let part = whole.property("a").unwrap();
            assert_eq!(part.broken(&good), None, "{schema}");
            assert!(part.broken(&bad).is_some(), "{schema}");
        }
    }
}
