//! Reads a `ClusterStack`, or a `ClusterAddonOverride`, from a file, strictly.
//!
//! The API server drops an unknown field, and `kubectl` refuses it. A program that reads the file itself has to refuse
//! it too, because a misspelt setting would otherwise silently have no effect. The tree of the file is compared with the
//! schema of the custom resource definition, so that unknown fields and wrong types are those of the API server, and
//! each has its line.

use std::fmt;
use std::sync::LazyLock;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    JSONSchemaProps, JSONSchemaPropsOrArray, JSONSchemaPropsOrBool,
};
use kube::CustomResourceExt;
use serde::Deserialize as _;
use serde::de::DeserializeOwned;
use serde_json::Value;
use serde_yaml::Location;

use super::{ClusterAddonOverride, ClusterStack, GROUP, VERSION};
use crate::yaml::tree::{Node, Placed};

/// A problem at a place in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The line, counted from one.
    pub line: u64,
    /// The column, counted from one.
    pub column: u64,
    /// The field, such as `spec.flux.interval`.
    pub field: String,
    /// Description of the problem.
    pub message: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}, column {}: {}: {}", self.line, self.column, self.field, self.message)
    }
}

/// The reason why a file gives no `ClusterStack` that the API server would admit.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The file is not YAML, or a value fits no type; the text names line and column.
    #[error("{0}")]
    Yaml(Box<serde_yaml::Error>),
    /// The file has no `ClusterStack`, or more than one.
    #[error("expected one ClusterStack, found {found}")]
    Count {
        /// Number of `ClusterStack`s.
        found: usize,
    },
    /// The `ClusterStack` has a version that this program does not know.
    #[error("expected a ClusterStack of {GROUP}/{VERSION}, found one of {found}")]
    Version {
        /// The `apiVersion`, or `nothing` if there is none.
        found: String,
    },
    /// A `ClusterStack` with mistakes: all of them, in the order of their lines.
    #[error("{}", .0.iter().map(Problem::to_string).collect::<Vec<_>>().join("\n"))]
    Refused(Vec<Problem>),
}

impl From<serde_yaml::Error> for ReadError {
    fn from(error: serde_yaml::Error) -> Self {
        Self::Yaml(Box::new(error))
    }
}

/// The schemas of the kind's versions, which take longer to make than a file to read.
static SCHEMAS: LazyLock<Vec<JSONSchemaProps>> = LazyLock::new(schemas::<ClusterStack>);
static OVERRIDE_SCHEMAS: LazyLock<Vec<JSONSchemaProps>> = LazyLock::new(schemas::<ClusterAddonOverride>);

fn schemas<K: CustomResourceExt>() -> Vec<JSONSchemaProps> {
    let versions = K::crd().spec.versions.into_iter();
    versions.filter_map(|version| version.schema?.open_api_v3_schema).collect()
}

impl ClusterStack {
    /// Reads the one `ClusterStack` in a file of YAML documents; other kinds are skipped.
    ///
    /// Everything that `kubectl apply` would refuse is an error, and so is a null, which the API server drops.
    pub fn from_yaml(text: &str) -> Result<Self, ReadError> {
        Self::from_document(&Self::document(text)?)
    }

    /// Finds the line and the column of a field, such as `spec.flux.interval`, or of the last existing value on its path, in a
    /// file with one `ClusterStack`.
    #[must_use]
    pub fn place_in(text: &str, field: &str) -> Option<(u64, u64)> {
        let tree: Placed<Node> = parse(&Self::document(text).ok()?).ok()?;
        let place = nearest(&tree, field);
        Some((place.line(), place.column()))
    }

    /// Returns the document of the one `ClusterStack` in a file, at its lines.
    fn document(text: &str) -> Result<String, ReadError> {
        let mut stacks = Vec::new();
        for document in documents(text).filter(|document| document.text.contains("ClusterStack")) {
            let Ok(tree) = parse::<Placed<Node>>(document.text) else {
                parse::<Placed<Node>>(&document.at_its_lines())?;
                continue;
            };
            if string_at(&tree, "kind") == Some("ClusterStack") {
                stacks.push(document);
            }
        }
        let [stack] = stacks.as_slice() else { return Err(ReadError::Count { found: stacks.len() }) };
        Ok(stack.at_its_lines())
    }

    fn from_document(source: &str) -> Result<Self, ReadError> {
        let tree: Placed<Node> = parse(source)?;
        let version = string_at(&tree, "apiVersion").unwrap_or("nothing");
        if version != format!("{GROUP}/{VERSION}") {
            return Err(ReadError::Version { found: version.to_owned() });
        }
        let mut problems = Vec::new();
        for schema in SCHEMAS.iter() {
            compare(&tree, schema, "", &mut problems);
        }
        if !problems.is_empty() {
            return Err(ReadError::Refused(problems));
        }
        let stack: Self = parse(source)?;
        let violations = stack.validate().into_iter();
        let mut problems: Vec<Problem> = violations
            .map(|violation| {
                problem(nearest(&tree, &violation.field), &violation.field, violation.message.to_owned())
            })
            .collect();
        problems.sort_by_key(|problem| (problem.line, problem.column));
        if problems.is_empty() { Ok(stack) } else { Err(ReadError::Refused(problems)) }
    }
}

impl ClusterAddonOverride {
    /// Reads an object of a file. Everything that `kubectl apply` would refuse is an error, one for each field; the place of the
    /// object in the file is not known.
    pub fn from_object(object: &Value) -> Result<Self, Vec<String>> {
        let version = object.get("apiVersion").and_then(Value::as_str).unwrap_or("nothing");
        if version != format!("{GROUP}/{VERSION}") {
            return Err(vec![format!(
                "expected a ClusterAddonOverride of {GROUP}/{VERSION}, found one of {version}"
            )]);
        }
        // The values of requests may be nested deeply, and are judged elsewhere.
        let options =
            serde_yaml::options! { budget: serde_yaml::budget! { max_depth: 160, max_nodes: 1_000_000 } };
        let tree: Placed<Node> = serde_yaml::from_str_with_options(&object.to_string(), options)
            .map_err(|error| vec![error.to_string()])?;
        let mut problems = Vec::new();
        for schema in OVERRIDE_SCHEMAS.iter() {
            compare(&tree, schema, "", &mut problems);
        }
        if !problems.is_empty() {
            return Err(problems.iter().map(|of| format!("{}: {}", of.field, of.message)).collect());
        }
        let found = Self::deserialize(object).map_err(|error| vec![error.to_string()])?;
        let violations = found.validate();
        if violations.is_empty() {
            Ok(found)
        } else {
            Err(violations.iter().map(ToString::to_string).collect())
        }
    }
}

/// Reads a value from one document, within limits that no `ClusterStack` comes near.
fn parse<T: DeserializeOwned>(text: &str) -> Result<T, serde_yaml::Error> {
    let options = serde_yaml::options! {
        budget: serde_yaml::budget! { max_depth: 32, max_nodes: 50_000 },
        alias_limits: serde_yaml::alias_limits! { max_total_replayed_events: 10_000 },
    };
    serde_yaml::from_str_with_options(text, options)
}

/// One document of a YAML stream.
struct Document<'a> {
    /// Number of lines before the document.
    lines_before: usize,
    /// The text from the document's `---`, if it has one, to the next.
    text: &'a str,
}

impl Document<'_> {
    /// Puts as many empty lines before the text as precede the document in the file, so that messages have the file's
    /// line numbers.
    fn at_its_lines(&self) -> String {
        "\n".repeat(self.lines_before) + self.text
    }
}

/// Splits a stream into its documents. A line that begins with `---` begins a document, whatever its context (YAML 1.2,
/// 9.1.2).
fn documents(text: &str) -> impl Iterator<Item = Document<'_>> {
    let mut rest = Some(text);
    let mut lines_before = 0;
    std::iter::from_fn(move || {
        let remaining = rest?;
        let end = remaining.match_indices("\n---").map(|(index, _)| index + 1).find(|end| {
            remaining
                .get(end + 3..)
                .is_some_and(|after| after.is_empty() || after.starts_with(char::is_whitespace))
        });
        let (document, after) = end.map_or((remaining, None), |end| {
            let (document, after) = remaining.split_at(end);
            (document, Some(after))
        });
        rest = after;
        let found = Document { lines_before, text: document };
        lines_before += document.matches('\n').count();
        Some(found)
    })
}

fn problem(location: Location, field: &str, message: String) -> Problem {
    Problem { line: location.line(), column: location.column(), field: field.to_owned(), message }
}

/// Returns the type of a value as a schema names it.
fn type_name(node: &Node) -> &'static str {
    match node {
        Node::Null => "null",
        Node::Bool(_) => "boolean",
        Node::Integer(_) => "integer",
        Node::Float(_) => "number",
        Node::Text(_) => "string",
        Node::List(_) => "array",
        Node::Mapping(_) => "object",
    }
}

/// Returns the string at a key of the top level.
fn string_at<'a>(root: &'a Placed<Node>, key: &str) -> Option<&'a str> {
    match &root.value.get(key)?.value {
        Node::Text(text) => Some(text),
        _ => None,
    }
}

/// Finds the place of a field such as `spec.flux.interval`, or of the last existing value on its path.
fn nearest(root: &Placed<Node>, field: &str) -> Location {
    let mut node = root;
    for key in field.split(['.', '[', ']']).filter(|key| !key.is_empty()) {
        match node.value.get(key) {
            Some(value) => node = value,
            None => break,
        }
    }
    node.referenced
}

/// Adds the problems at `path` and below: fields that the schema does not know, and values of another type.
fn compare(node: &Placed<Node>, schema: &JSONSchemaProps, path: &str, problems: &mut Vec<Problem>) {
    let (expected, found) = (schema.type_.as_deref().unwrap_or_default(), type_name(&node.value));
    if expected != found {
        let hint = if (expected, found) == ("string", "number") { ": put it in quotes" } else { "" };
        problems.push(problem(node.referenced, path, format!("expected {expected}, found {found}{hint}")));
        return;
    }
    match &node.value {
        Node::Mapping(entries) => {
            for (key, value) in entries {
                let name = &key.value;
                let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
                match field_schema(schema, name) {
                    Field::Known(schema) => compare(value, schema, &path, problems),
                    Field::Open => {}
                    Field::Unknown => problems.push(problem(key.referenced, &path, unknown(schema, name))),
                }
            }
        }
        Node::List(items) => {
            let Some(JSONSchemaPropsOrArray::Schema(schema)) = &schema.items else { return };
            for (index, item) in items.iter().enumerate() {
                compare(item, schema, &format!("{path}[{index}]"), problems);
            }
        }
        _ => {}
    }
}

/// The answer of a schema about a field.
enum Field<'a> {
    /// The schema of the field.
    Known(&'a JSONSchemaProps),
    /// No schema: the field belongs to Kubernetes' own part of the object, or may be any.
    Open,
    /// The field does not exist.
    Unknown,
}

fn field_schema<'a>(schema: &'a JSONSchemaProps, key: &str) -> Field<'a> {
    if let Some(JSONSchemaPropsOrBool::Schema(schema)) = &schema.additional_properties {
        return Field::Known(schema);
    }
    match schema.properties.as_ref().and_then(|properties| properties.get(key)) {
        Some(schema) => Field::Known(schema),
        None if schema.x_kubernetes_preserve_unknown_fields == Some(true) => Field::Open,
        None if ["apiVersion", "kind", "metadata"].contains(&key) && is_root(schema) => Field::Open,
        None => Field::Unknown,
    }
}

/// Whether a schema is that of the whole object.
fn is_root(schema: &JSONSchemaProps) -> bool {
    schema.properties.as_ref().is_some_and(|properties| properties.contains_key("spec"))
}

/// Describes an unknown field, with the fields that exist.
fn unknown(schema: &JSONSchemaProps, key: &str) -> String {
    let known: Vec<&str> =
        schema.properties.iter().flat_map(|properties| properties.keys()).map(String::as_str).collect();
    let meant = known.iter().find(|name| name.eq_ignore_ascii_case(key));
    match meant {
        Some(name) => format!("unknown field, did you mean {name}?"),
        None => format!("unknown field, known are {}", known.join(", ")),
    }
}

#[cfg(test)]
mod tests;
