//! A `ClusterStack` from a file, read strictly.
//!
//! The API server drops a field that it does not know, and `kubectl` refuses it; a program that reads the file itself
//! has to do the latter, or a misspelt setting would silently not be one. The tree of the file is compared with the
//! schema of the custom resource definition, so that unknown fields and wrong types are those of the API server, and
//! each has its line.

use std::fmt;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    JSONSchemaProps, JSONSchemaPropsOrArray, JSONSchemaPropsOrBool,
};
use kube::CustomResourceExt as _;
use serde_yaml::Location;

use super::{ClusterStack, GROUP, VERSION};
use tree::{Node, Tree};

mod tree;

/// Something wrong at a place in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The line, counted from one.
    pub line: u64,
    /// The column, counted from one.
    pub column: u64,
    /// The field, such as `spec.flux.interval`.
    pub field: String,
    /// What is wrong with it.
    pub message: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}, column {}: {}: {}", self.line, self.column, self.field, self.message)
    }
}

/// Why a file is no `ClusterStack` that the API server would admit.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// Not one YAML document, or a value that no type holds; the text names line and column.
    #[error("{0}")]
    Yaml(Box<serde_yaml::Error>),
    /// Something else.
    #[error("expected kind ClusterStack of {GROUP}/{VERSION}, found {found}")]
    Kind {
        /// Its kind and version, as far as it has any.
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

impl ClusterStack {
    /// The `ClusterStack` in a file of one YAML document. Everything that the API server would refuse, or drop
    /// because it does not know it, is an error.
    pub fn from_yaml(text: &str) -> Result<Self, ReadError> {
        let tree: Tree = serde_yaml::from_str(text)?;
        let found = [tree.text("kind"), tree.text("apiVersion")];
        if found != [Some("ClusterStack"), Some(&format!("{GROUP}/{VERSION}"))] {
            let [kind, version] = found.map(|word| word.unwrap_or("nothing"));
            return Err(ReadError::Kind { found: format!("{kind} of {version}") });
        }
        let mut problems = Vec::new();
        let versions = Self::crd().spec.versions.into_iter();
        for schema in versions.filter_map(|version| version.schema?.open_api_v3_schema) {
            compare(&tree, &schema, "", &mut problems);
        }
        if !problems.is_empty() {
            return Err(ReadError::Refused(problems));
        }
        let stack: Self = serde_yaml::from_str(text)?;
        let violations = stack.validate().into_iter();
        let mut problems: Vec<Problem> = violations
            .map(|violation| {
                problem(tree.nearest(&violation.field), &violation.field, violation.message.to_owned())
            })
            .collect();
        problems.sort_by_key(|problem| (problem.line, problem.column));
        if problems.is_empty() { Ok(stack) } else { Err(ReadError::Refused(problems)) }
    }
}

fn problem(location: Location, field: &str, message: String) -> Problem {
    Problem { line: location.line(), column: location.column(), field: field.to_owned(), message }
}

/// Adds what the schema does not know, or has another type for, at `path` and below.
fn compare(tree: &Tree, schema: &JSONSchemaProps, path: &str, problems: &mut Vec<Problem>) {
    let expected = schema.type_.as_deref().unwrap_or_default();
    if expected != tree.node.type_name() {
        let found = tree.node.type_name();
        let hint = if (expected, found) == ("string", "number") { ": put it in quotes" } else { "" };
        problems.push(problem(tree.location, path, format!("expected {expected}, found {found}{hint}")));
        return;
    }
    match &tree.node {
        Node::Mapping(entries) => {
            for (key, location, value) in entries {
                let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
                match field_schema(schema, key) {
                    Field::Known(schema) => compare(value, schema, &path, problems),
                    Field::Open => {}
                    Field::Unknown => problems.push(problem(*location, &path, unknown(schema, key))),
                }
            }
        }
        Node::Sequence(items) => {
            let Some(JSONSchemaPropsOrArray::Schema(schema)) = &schema.items else { return };
            for (index, item) in items.iter().enumerate() {
                compare(item, schema, &format!("{path}[{index}]"), problems);
            }
        }
        Node::Scalar { .. } => {}
    }
}

/// What a schema says about a field.
enum Field<'a> {
    /// This.
    Known(&'a JSONSchemaProps),
    /// Nothing: it belongs to Kubernetes' own part of the object.
    Open,
    /// There is no such field.
    Unknown,
}

fn field_schema<'a>(schema: &'a JSONSchemaProps, key: &str) -> Field<'a> {
    if let Some(JSONSchemaPropsOrBool::Schema(schema)) = &schema.additional_properties {
        return Field::Known(schema);
    }
    match schema.properties.as_ref().and_then(|properties| properties.get(key)) {
        Some(schema) => Field::Known(schema),
        None if ["apiVersion", "kind", "metadata"].contains(&key) && is_root(schema) => Field::Open,
        None => Field::Unknown,
    }
}

/// Whether a schema is that of the whole object.
fn is_root(schema: &JSONSchemaProps) -> bool {
    schema.properties.as_ref().is_some_and(|properties| properties.contains_key("spec"))
}

/// What to say about an unknown field: which ones there are.
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
