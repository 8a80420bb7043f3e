//! The keys that a values template writes, as far as its text alone shows them.

use serde_json::{Map, Value};

/// Maximum nesting.
const DEPTH: usize = 64;

/// A line of YAML in block style: a key of a mapping.
struct Line<'a> {
    indent: usize,
    key: &'a str,
    value: &'a str,
}

/// Returns the mappings that the text of a values template has in block style, with null for every other value. Keys that an
/// action of the template gives are left out, and keys under a condition are not.
#[must_use]
pub fn skeleton(source: &str) -> Map<String, Value> {
    let wrapped = source.lines().find(|line| !is_skipped(line));
    let wrapped = wrapped.and_then(read).is_some_and(|line| line.key == "values" && is_block(line.value));
    let inner = source.lines().skip_while(|line| is_skipped(line)).skip(1);
    if wrapped { keys(inner) } else { keys(source.lines()) }
}

fn keys<'a>(lines: impl Iterator<Item = &'a str>) -> Map<String, Value> {
    let mut root = Map::new();
    let mut path: Vec<(usize, &str)> = Vec::new();
    // The indentation of a list or a text, whose deeper lines are not keys.
    let mut within: Option<usize> = None;
    for line in lines.filter(|line| !is_skipped(line)) {
        let indent = line.len() - line.trim_start().len();
        if within.is_some_and(|within| indent > within) {
            continue;
        }
        within = None;
        let Some(line) = read(line).filter(|_| path.len() < DEPTH) else {
            within = Some(indent);
            continue;
        };
        path.retain(|(of, _)| *of < line.indent);
        path.push((line.indent, line.key));
        insert(&mut root, &path);
        if !line.value.is_empty() && !line.value.starts_with('#') {
            within = Some(indent);
        }
    }
    root
}

/// Whether a line has neither a key nor an item: it is empty, a comment, or begins with an action.
fn is_skipped(line: &str) -> bool {
    let text = line.trim_start();
    // An action may give a key.
    text.is_empty() || text.starts_with('#') || (text.starts_with("{{") && !text.contains("}}:"))
}

fn is_block(value: &str) -> bool {
    value.starts_with(['|', '>'])
}

/// Reads the key in a line.
fn read(line: &str) -> Option<Line<'_>> {
    let text = line.trim();
    let (key, value) = match text.split_once(": ") {
        Some((key, value)) => (key, value.trim()),
        None => (text.strip_suffix(':')?, ""),
    };
    let quoted = ['"', '\''].iter().find_map(|quote| key.strip_prefix(*quote)?.strip_suffix(*quote));
    let key = quoted.unwrap_or(key);
    let is_key =
        !key.is_empty() && !key.starts_with(['-', '{', '[']) && !key.contains(['"', '\'', '{', '\\']);
    is_key.then(|| Line { indent: line.len() - line.trim_start().len(), key, value })
}

fn insert(root: &mut Map<String, Value>, path: &[(usize, &str)]) {
    let Some(((_, last), parents)) = path.split_last() else { return };
    let mut map = root;
    for (_, key) in parents {
        let value = map.entry(*key).or_insert(Value::Null);
        if !value.is_object() {
            *value = Value::Object(Map::new());
        }
        let Value::Object(inner) = value else { return };
        map = inner;
    }
    map.entry(*last).or_insert(Value::Null);
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn keys_of_a_template_are_read_from_its_text() {
        for (source, expected) in [
            ("", json!({})),
            ("a: 1\nb: {{ .Cluster.metadata.name }}\n", json!({"a": null, "b": null})),
            ("a:\n  b: 1\n  c:\n    d: 1\ne: 1\n", json!({"a": {"b": null, "c": {"d": null}}, "e": null})),
            ("# a: 1\n\n\"b.c\":\n  'd': 1 # e: 1\n", json!({"b.c": {"d": null}})),
            (
                "{{ if .Cluster.a }}\na:\n  b: 1\n{{ else }}\na:\n  c: 1\n{{ end }}\n",
                json!({"a": {"b": null, "c": null}}),
            ),
            ("a:\n  {{ .Cluster.metadata.name }}: 1\n  b: 1\n", json!({"a": {"b": null}})),
            ("a:\n  {{ .Cluster.metadata.name }}:\n    c: 1\n  b: 1\n", json!({"a": {"b": null}})),
            ("a:\n  x{{ .Cluster.metadata.name }}:\n    c: 1\n  b: 1\n", json!({"a": {"b": null}})),
            ("a:\n- b: 1\n  c: 2\nd: 1\n", json!({"a": null, "d": null})),
            ("a:\n  - b: 1\n    c: 2\n  -\n    e: 1\nd: 1\n", json!({"a": null, "d": null})),
            ("a: |\n  b: 1\n  c:\nd: 1\n", json!({"a": null, "d": null})),
            ("a: {b: 1}\nd: [1]\n", json!({"a": null, "d": null})),
            ("values: |\n  a:\n    b: 1\n", json!({"a": {"b": null}})),
            ("{{- $x := 1 }}\nvalues: |-\n  a: 1\n", json!({"a": null})),
            ("values:\n  a: 1\n", json!({"values": {"a": null}})),
            ("x: 1\nvalues: |\n  a: 1\n", json!({"x": null, "values": null})),
            ("just text\n", json!({})),
        ] {
            assert_eq!(Value::Object(skeleton(source)), expected, "{source}");
        }
    }

    #[test]
    fn deep_text_is_read_to_a_limit() {
        let source: String = (0..1000).map(|depth| " ".repeat(depth) + "a:\n").collect();
        let mut depth = 0;
        let mut value = Value::Object(skeleton(&source));
        while let Some(inner) = value.get_mut("a").map(Value::take) {
            (value, depth) = (inner, depth + 1);
        }
        assert_eq!(depth, DEPTH);
    }
}
