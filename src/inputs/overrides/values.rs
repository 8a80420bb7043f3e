//! The values of a request: whether they are allowed, and which have no effect. Each function visits each value at most once.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde_json::{Map, Value};

use super::MAX_ENTRIES;
use crate::api::labels;
use crate::release::RequestSchema;

/// Maximum size of the values for one addon, as JSON.
const MAX_BYTES: usize = 64 * 1024;
/// Maximum nesting of the values.
const MAX_DEPTH: usize = 32;
/// Maximum length of a path in a message, in characters.
const MAX_SHOWN: usize = 128;
/// The path of all values.
const ALL: &str = "*";

/// The values that are allowed at a place.
#[derive(Default)]
struct Allowed {
    /// Whether everything is, from here on.
    is_all: bool,
    /// What is allowed below a key.
    keys: BTreeMap<String, Allowed>,
}

impl Allowed {
    fn of(paths: &[String]) -> Self {
        let mut root = Self::default();
        for path in paths {
            let keys = if path == ALL { Vec::new() } else { keys(path) };
            let mut at = &mut root;
            for key in keys {
                at = at.keys.entry(key).or_default();
            }
            at.is_all = true;
        }
        root
    }
}

/// Splits a dotted path into its keys. A backslash takes the next character as it is.
fn keys(path: &str) -> Vec<String> {
    let (mut keys, mut key) = (Vec::new(), String::new());
    let mut characters = path.chars();
    while let Some(character) = characters.next() {
        match character {
            '.' => keys.push(std::mem::take(&mut key)),
            '\\' => key.extend(characters.next()),
            _ => key.push(character),
        }
    }
    keys.push(key);
    keys
}

/// Reports what is not allowed of the values for a chart. `lower` has the values of the lower ranks, the highest of them first;
/// `rule` names the setting that allows values.
pub(super) fn check(
    values: &Map<String, Value>,
    (paths, schema): (&[String], Option<&RequestSchema>),
    (lower, rule): (&[&Map<String, Value>], &str),
    refuse: &mut impl FnMut(&str, &str),
) {
    if values.values().any(|value| is_deeper(value, MAX_DEPTH - 1)) {
        return refuse("values", &format!("values must not be nested deeper than {MAX_DEPTH}"));
    }
    let size = serde_json::to_vec(values).map_or(usize::MAX, |bytes| bytes.len());
    if size > MAX_BYTES {
        return refuse("values", &format!("values must have at most {MAX_BYTES} bytes, and have {size}"));
    }
    if values.contains_key(labels::CONTENT_DIGEST) {
        return refuse("values", &format!("only stackflux sets {}", labels::CONTENT_DIGEST));
    }
    let mut found = Vec::new();
    let mut walk = Walk { path: Path::default(), rule, found: &mut found };
    let allowed = Allowed::of(paths);
    if !allowed.is_all {
        walk.below(values, (Some(&allowed), schema), lower);
    }
    for (path, why) in found {
        refuse(&format!("values.{path}"), &why);
    }
}

fn is_deeper(value: &Value, most: usize) -> bool {
    match value {
        Value::Object(fields) => most == 0 || fields.values().any(|field| is_deeper(field, most - 1)),
        Value::Array(items) => most == 0 || items.iter().any(|item| is_deeper(item, most - 1)),
        _ => false,
    }
}

/// The rule of a mapping above an allowed path that would replace something else.
const REPLACES: &str =
    "it would replace a value of the ClusterStack that is not a mapping, above an allowed path";

/// Returns the mappings at a key of the lower ranks, which values of a request are merged with. `None` if the value there is not a
/// mapping: Helm would replace it.
fn mappings<'a>(lower: &[&'a Map<String, Value>], key: &str) -> Option<Vec<&'a Map<String, Value>>> {
    let mut found = Vec::new();
    for value in lower.iter().filter_map(|layer| layer.get(key)) {
        match value {
            Value::Object(fields) => found.push(fields),
            _ if found.is_empty() => return None,
            _ => break,
        }
    }
    Some(found)
}

/// A walk over requested values, which ends when it has found enough.
struct Walk<'a, 'f> {
    path: Path<'a>,
    /// Names the setting that allows values.
    rule: &'f str,
    found: &'f mut Vec<(String, String)>,
}

impl<'a> Walk<'a, '_> {
    fn is_full(&self) -> bool {
        self.found.len() >= MAX_ENTRIES
    }

    fn report(&mut self, why: String) {
        self.found.push((self.path.to_string(), why));
    }

    /// Reports what of a mapping neither a path nor the schema of the component allows.
    fn below(
        &mut self,
        values: &'a Map<String, Value>,
        (allowed, schema): (Option<&Allowed>, Option<&RequestSchema>),
        lower: &[&Map<String, Value>],
    ) {
        for (key, value) in values {
            if self.is_full() {
                return;
            }
            self.path.0.push(key);
            let allowed = allowed.and_then(|allowed| allowed.keys.get(key));
            let schema = schema.and_then(|schema| schema.property(key));
            match (allowed, value) {
                (Some(allowed), _) if allowed.is_all => {}
                (Some(_), Value::Object(fields)) if !fields.is_empty() => match mappings(lower, key) {
                    Some(lower) => self.below(fields, (allowed, schema), &lower),
                    None => self.report(REPLACES.to_owned()),
                },
                _ => match schema {
                    Some(schema) => self.by_schema(value, schema, mappings(lower, key).as_deref()),
                    None if allowed.is_some() => {
                        self.report(format!("it sets what is above an allowed path: {}", self.rule));
                    }
                    None => self.report(self.rule.to_owned()),
                },
            }
            self.path.0.pop();
        }
    }

    /// Reports what of a value the schema of the component does not allow. `lower` has the mappings of the lower ranks at its
    /// place; it is `None` if something else is there.
    fn by_schema(&mut self, value: &'a Value, schema: &RequestSchema, lower: Option<&[&Map<String, Value>]>) {
        if let Some(why) = schema.broken(value) {
            return self.report(format!("{why}, as the schema of the component says"));
        }
        match value {
            Value::Object(fields) if schema.is_closed() => match lower {
                Some(lower) => self.below(fields, (None, Some(schema)), lower),
                None => self.report(REPLACES.to_owned()),
            },
            Value::Array(items) => {
                let Some(schema) = schema.items() else { return };
                for item in items {
                    if self.is_full() {
                        return;
                    }
                    // A list takes the place of that of a lower rank as a whole.
                    self.by_schema(item, schema, Some(&[]));
                }
            }
            _ => {}
        }
    }
}

/// Returns the paths of the values that a schema names.
pub(super) fn paths(schema: &RequestSchema) -> Vec<String> {
    let mut found = Vec::new();
    leaves(schema, &mut Path::default(), &mut found);
    found
}

fn leaves<'a>(schema: &'a RequestSchema, path: &mut Path<'a>, found: &mut Vec<String>) {
    for (name, schema) in schema.properties() {
        path.0.push(name);
        if schema.is_closed() {
            leaves(schema, path, found);
        } else {
            found.push(path.to_string());
        }
        path.0.pop();
    }
}

/// Returns the paths of requested values that have no effect, because the rendered ones rank above them.
#[must_use]
pub fn without_effect(requested: &Map<String, Value>, rendered: &Map<String, Value>) -> Vec<String> {
    let mut found = Vec::new();
    overlap(requested, rendered, &mut Path::default(), &mut found);
    found
}

fn overlap<'a>(
    requested: &'a Map<String, Value>,
    rendered: &Map<String, Value>,
    path: &mut Path<'a>,
    found: &mut Vec<String>,
) {
    for (key, value) in requested {
        let Some(above) = rendered.get(key) else { continue };
        if found.len() == MAX_ENTRIES {
            return;
        }
        path.0.push(key);
        match (value, above) {
            (Value::Object(value), Value::Object(above)) => overlap(value, above, path, found),
            _ => found.push(path.to_string()),
        }
        path.0.pop();
    }
}

/// A path of values.
#[derive(Default)]
struct Path<'a>(Vec<&'a str>);

impl std::fmt::Display for Path<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let is_special = |character| matches!(character, '.' | '\\' | '[' | ']' | '*');
        let escaped = |character| is_special(character).then_some('\\').into_iter().chain([character]);
        let dotted = self.0.iter().flat_map(|key| ['.'].into_iter().chain(key.chars().flat_map(escaped)));
        let mut shown = dotted.skip(1).map(|character| if character.is_control() { '?' } else { character });
        shown.by_ref().take(MAX_SHOWN).try_for_each(|character| f.write_char(character))?;
        shown.next().map_or(Ok(()), |_| f.write_char('…'))
    }
}
