//! Writes objects as YAML in exactly one way, for readers of pull requests.
//!
//! The layout is that of `kubectl` and of Flux's own tools (`sigs.k8s.io/yaml`): block style, two spaces, a sequence on
//! the column of the key that holds it, keys in the order of the value. Texts of several lines are literal blocks, and
//! lines are never folded. Every reader of YAML 1.1 or 1.2 reads the same value.

mod plain;
mod scalar;
#[cfg(test)]
mod tests;

use serde_json::{Map, Value};

/// Spaces by which a mapping is indented below its parent.
const INDENT: usize = 2;

/// The length in bytes that most Flux objects stay below.
const USUAL_LENGTH: usize = 2048;

/// Maximum length in bytes of a written key that is on one line before its colon. YAML readers look at most 1024
/// characters ahead for the colon (YAML 1.2.2, 7.4.2), so `?` introduces longer ones.
const MAX_SIMPLE_KEY: usize = 1000;

/// Writes one value as one YAML document that ends with a newline and has no `---`.
///
/// Equal values give equal bytes. Deeper values use no more stack.
#[must_use]
pub fn to_yaml(value: &Value) -> String {
    let mut out = String::with_capacity(USUAL_LENGTH);
    write_document(&mut out, value);
    out
}

/// Writes values as a stream of YAML documents with a line `---` between them, and nothing for no values.
#[must_use]
pub fn documents<'a>(values: impl Iterator<Item = &'a Value>) -> String {
    let mut out = String::new();
    for value in values {
        if !out.is_empty() {
            out.push_str("---\n");
        }
        write_document(&mut out, value);
    }
    out
}

fn write_document(out: &mut String, value: &Value) {
    let mut writer = Writer { out, open: Vec::new(), on_line: false };
    match value {
        Value::Object(entries) if !entries.is_empty() => writer.open_mapping(entries, 0),
        Value::Array(items) if !items.is_empty() => writer.open_sequence(items, 0),
        leaf => {
            scalar::write_root(writer.out, leaf);
            writer.out.push('\n');
        }
    }
    writer.write_open();
}

/// A collection that is being written: the rest of it, and the column on which its lines start.
enum Open<'a> {
    Mapping { entries: serde_json::map::Iter<'a>, indent: usize },
    Sequence { items: std::slice::Iter<'a, Value>, indent: usize },
}

struct Writer<'a, 'out> {
    out: &'out mut String,
    /// The collections around the place that is being written, outermost first.
    open: Vec<Open<'a>>,
    /// Whether the line has begun with the dash of the sequence that holds the next value.
    on_line: bool,
}

impl<'a> Writer<'a, '_> {
    fn write_open(&mut self) {
        while let Some(innermost) = self.open.last_mut() {
            match innermost {
                Open::Mapping { entries, indent } => {
                    let indent = *indent;
                    match entries.next() {
                        Some((key, value)) => self.write_entry(key, value, indent),
                        None => drop(self.open.pop()),
                    }
                }
                Open::Sequence { items, indent } => {
                    let indent = *indent;
                    match items.next() {
                        Some(item) => self.write_item(item, indent),
                        None => drop(self.open.pop()),
                    }
                }
            }
        }
    }

    fn write_entry(&mut self, key: &str, value: &'a Value, indent: usize) {
        self.begin_line(indent);
        let start = self.out.len();
        scalar::write_key(self.out, key);
        if self.out.len() - start > MAX_SIMPLE_KEY {
            self.out.insert_str(start, "? ");
            self.out.push('\n');
            self.begin_line(indent);
        }
        self.out.push(':');
        match value {
            Value::Object(entries) if !entries.is_empty() => {
                self.out.push('\n');
                self.open_mapping(entries, indent + INDENT);
            }
            Value::Array(items) if !items.is_empty() => {
                self.out.push('\n');
                self.open_sequence(items, indent);
            }
            leaf => self.write_leaf(leaf, indent + INDENT),
        }
    }

    fn write_item(&mut self, item: &'a Value, indent: usize) {
        self.begin_line(indent);
        self.out.push('-');
        match item {
            Value::Object(entries) if !entries.is_empty() => {
                self.out.push(' ');
                self.on_line = true;
                self.open_mapping(entries, indent + INDENT);
            }
            Value::Array(items) if !items.is_empty() => {
                self.out.push(' ');
                self.on_line = true;
                self.open_sequence(items, indent + INDENT);
            }
            leaf => self.write_leaf(leaf, indent + INDENT),
        }
    }

    /// Writes a value without lines of its own after a colon or a dash; `indent` is the column of a text's further lines.
    fn write_leaf(&mut self, leaf: &Value, indent: usize) {
        self.out.push(' ');
        scalar::write_value(self.out, leaf, indent);
        self.out.push('\n');
    }

    fn open_mapping(&mut self, entries: &'a Map<String, Value>, indent: usize) {
        self.open.push(Open::Mapping { entries: entries.iter(), indent });
    }

    fn open_sequence(&mut self, items: &'a [Value], indent: usize) {
        self.open.push(Open::Sequence { items: items.iter(), indent });
    }

    fn begin_line(&mut self, indent: usize) {
        if !std::mem::take(&mut self.on_line) {
            scalar::indent_to(self.out, indent);
        }
    }
}
