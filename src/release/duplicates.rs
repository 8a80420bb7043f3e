//! Keys that a chart's template names twice in one mapping. Helm takes the last one; Flux refuses the rendered object.
//!
//! A template is not YAML, so only duplicates that are certain without rendering count: two lines `key:` of one mapping,
//! without an action between them that could begin or leave out something. On any text that it does not know, this
//! reader forgets what it has seen, which hides a duplicate and never invents one.

use std::collections::BTreeMap;

use super::files::{Files, Limits};
use super::finding::{Finding, Findings, Reason};

/// Maximum number of duplicates reported per file.
const MAX_DUPLICATES: usize = 20;

/// Warns of duplicate keys in the templates of the chart in this directory, and of the charts that are unpacked in it.
pub(super) fn check(files: &Files, chart: &str, limits: &Limits, findings: &mut Findings) {
    let templates = files.below(chart).filter(|(path, _)| {
        let is_template = path.starts_with("templates/") || path.contains("/templates/");
        is_template && path.rsplit_once('.').is_some_and(|(_, ending)| matches!(ending, "yaml" | "yml"))
    });
    for (path, file) in templates.filter(|(_, file)| file.content.len() <= limits.yaml_file) {
        let Ok(source) = std::str::from_utf8(&file.content) else { continue };
        for Duplicate { key, line, first } in duplicates(source).into_iter().take(MAX_DUPLICATES) {
            let message = format!(
                "duplicate key {key:?} in one mapping, first in line {first}: Flux refuses the manifest that Helm \
                 renders from it"
            );
            let finding = Finding::warning(Reason::DuplicateKey, &format!("{chart}/{path}"), message);
            let column = source.lines().nth(line - 1).and_then(|text| text.find(key)).unwrap_or_default();
            findings.push(finding.at(line as u64, column as u64 + 1, source));
        }
    }
}

#[derive(Debug, PartialEq, Eq)]
struct Duplicate<'a> {
    key: &'a str,
    /// Both from 1.
    line: usize,
    first: usize,
}

/// An open mapping: the column at which its keys begin, and the keys with their lines.
struct Mapping<'a> {
    indent: usize,
    keys: BTreeMap<&'a str, usize>,
}

#[derive(Default)]
struct Reader<'a> {
    open: Vec<Mapping<'a>>,
    /// The indentation of the key whose block scalar contains the lines.
    scalar: Option<usize>,
    /// The end delimiter of an action of several lines, inside such an action.
    action_end: Option<&'static str>,
    /// Whether the line before took its line break away, and so the indentation of this one.
    glued: bool,
    found: Vec<Duplicate<'a>>,
}

fn duplicates(source: &str) -> Vec<Duplicate<'_>> {
    let mut reader = Reader::default();
    for (number, line) in (1..).zip(source.lines()) {
        if !reader.line(number, line) {
            break;
        }
    }
    reader.found
}

impl<'a> Reader<'a> {
    /// Reads a line; `false` if nothing can be known about the following lines.
    fn line(&mut self, number: usize, line: &'a str) -> bool {
        let text = line.trim();
        let indent = line.len() - line.trim_start().len();
        if let Some(end) = self.action_end {
            self.open.clear();
            self.action_end = self.action_end.filter(|_| !text.contains(end));
            self.glued = text.ends_with("-}}");
            return true;
        }
        if text.is_empty() || (text.starts_with('#') && !text.contains("{{")) {
            return true;
        }
        if text.starts_with("{{") {
            // A block scalar keeps its content, whatever the action prints.
            self.open.clear();
            self.action_end = unfinished(text);
            self.glued = text.ends_with("-}}");
            return true;
        }
        if self.scalar.is_some_and(|of| indent > of) {
            self.action_end = unfinished(text);
            return true;
        }
        self.scalar = None;
        if line.get(..indent).is_some_and(|space| space.contains('\t'))
            || unfinished(text).is_some()
            || text.ends_with("-}}")
        {
            return false;
        }
        if text.starts_with("---") || text.starts_with("...") {
            self.open.clear();
            return true;
        }
        let goes_on = self.entry(number, text, indent);
        if std::mem::take(&mut self.glued) {
            self.open.clear();
            return goes_on && self.scalar.is_none();
        }
        goes_on
    }

    /// Reads `key: value`, also after `- `.
    fn entry(&mut self, number: usize, text: &'a str, mut indent: usize) -> bool {
        let mut text = text;
        let mut dash = None;
        while let Some(item) = text.strip_prefix("- ") {
            dash = Some(indent);
            self.open.retain(|mapping| mapping.indent <= indent);
            let item_text = item.trim_start();
            indent += text.len() - item_text.len();
            // A new item has a new mapping.
            self.open.retain(|mapping| mapping.indent < indent);
            text = item_text;
        }
        if text == "-" {
            self.open.retain(|mapping| mapping.indent <= indent);
            return true;
        }
        let Some((key, value)) = split(text) else {
            match dash {
                Some(dash) if is_block_scalar(text) => self.scalar = Some(dash),
                Some(_) if is_plain(text) => {}
                _ => self.open.clear(),
            }
            return is_complete(text);
        };
        self.open.retain(|mapping| mapping.indent <= indent);
        if self.open.last().is_none_or(|mapping| mapping.indent != indent) {
            self.open.push(Mapping { indent, keys: BTreeMap::new() });
        }
        if let Some(mapping) = self.open.last_mut() {
            match mapping.keys.get(key) {
                Some(first) => self.found.push(Duplicate { key, line: number, first: *first }),
                None => drop(mapping.keys.insert(key, number)),
            }
        }
        if is_block_scalar(value) {
            self.scalar = Some(indent);
        } else if !is_plain(value) {
            self.open.clear();
        }
        is_complete(value)
    }
}

/// Splits `key: value` into key and value, if the key is a plain word, or quoted without escapes.
fn split(text: &str) -> Option<(&str, &str)> {
    let end = match text.strip_prefix(['"', '\'']) {
        Some(quoted) => {
            let quote = text.chars().next()?;
            quoted.split_once(quote).filter(|(key, _)| !key.contains(['\\', '{']))?.0.len() + 2
        }
        None => text.find(|letter: char| !(letter.is_ascii_alphanumeric() || "-_./".contains(letter)))?,
    };
    let (key, rest) = text.split_at_checked(end)?;
    let value = rest.strip_prefix(':')?;
    (!key.is_empty() && (value.is_empty() || value.starts_with(' '))).then(|| (key, value.trim()))
}

/// Returns what ends the action that begins on the line; `None` if the action ends on the line.
fn unfinished(text: &str) -> Option<&'static str> {
    if text.matches("/*").count() > text.matches("*/").count() {
        return Some("*/");
    }
    (text.matches("{{").count() != text.matches("}}").count()).then_some("}}")
}

fn is_block_scalar(value: &str) -> bool {
    // A tag or an anchor may precede it.
    let last = value.split(" #").next().unwrap_or_default().trim().rsplit(' ').next().unwrap_or_default();
    let marks = last.strip_prefix(['|', '>']);
    marks.is_some_and(|marks| marks.chars().all(|mark| matches!(mark, '+' | '-' | '0'..='9')))
}

/// Whether a value certainly ends on its line: not a flow collection or a quoted text that continues.
fn is_complete(value: &str) -> bool {
    let value = value.strip_prefix("- ").unwrap_or(value).trim();
    match value.chars().next() {
        Some('{') => value.starts_with("{{") || value.ends_with('}'),
        Some('[') => value.ends_with(']'),
        Some(quote @ ('"' | '\'')) => value.len() > 1 && value.ends_with(quote) && !value.ends_with("\\\""),
        _ => true,
    }
}

/// Whether the output of a value's actions stays on the line: no function that makes lines, no open condition.
fn is_plain(value: &str) -> bool {
    const LINES: [&str; 9] =
        ["indent", "toYaml", "include", "template", "tpl", "block", "define", "Files", "\\n"];
    let actions = value.split("{{").skip(1).map(|action| action.trim_start_matches('-').trim_start());
    let depth = actions.fold(0_i32, |depth, action| match action.split([' ', '-', '}']).next() {
        Some("if" | "with" | "range") => depth + 1,
        Some("end") => depth - 1,
        _ => depth,
    });
    depth == 0 && !(value.contains("{{") && LINES.iter().any(|word| value.contains(word)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(source: &str) -> Vec<String> {
        let all = duplicates(source).into_iter();
        all.map(|found| format!("{} {} {}", found.key, found.first, found.line)).collect()
    }

    #[test]
    fn certain_duplicates_are_found() {
        for (source, expected) in [
            ("a: 1\nb: 2\na: 3\n", "a 1 3"),
            ("metadata:\n  name: x\n  labels:\n    a: b\n  name: y\n", "name 2 5"),
            ("x:\n- name: a\n  image: b\n  name: c\n", "name 2 4"),
            (
                "x:\n  - name: {{ .Values.a }}\n    value: {{ .Values.b | quote }}\n    value: c\n",
                "value 3 4",
            ),
            ("{{- if .Values.a }}\nspec:\n  replicas: 1\n  replicas: 2\n{{- end }}\n", "replicas 3 4"),
            ("data:\n  a: |\n    a: 1\n    a: 2\n  b: 1\n  a: 2\n", "a 2 6"),
            ("a:\n  b: 1\n# b: 3\n\n  b: 2\n", "b 2 5"),
            ("c:\n- name: a\n  args:\n  - --x={{ .Values.x }}\n  - b\n  name: b\n", "name 2 6"),
            ("x:\n  \"a/b\": 1\n  c: 2\n  \"a/b\": 3\n", "\"a/b\" 2 4"),
            ("{{- if .Values.a -}}\na: 1\nb: 1\nb: 2\n{{- end }}\n", "b 3 4"),
        ] {
            assert_eq!(found(source), [expected], "{source}");
        }
    }

    #[test]
    fn uncertain_duplicates_are_not_reported() {
        for source in [
            "{{ if .Values.a }}\na: 1\n{{ else }}\na: 2\n{{ end }}\n",
            "a: 1\n{{ include \"x\" . }}\na: 2\n",
            "a: {{ toYaml .Values.a | nindent 2 }}\na: 2\n",
            "a: 1\n---\na: 2\n",
            "x:\n- a: 1\n- a: 2\n",
            "x:\n  - a: 1\n    b: 2\n  - b: 1\n    a: 2\n",
            "x:\n  - - a: 1\n    - a: 2\n",
            "x:\n  a: 1\ny:\n  a: 1\n",
            "data:\n  a: |\n    x: 1\n{{- if .Values.a }}\n    x: 2\n{{- end }}\n    x: 3\n",
            "data:\n  a: >-\n    x: 1\n    x: 2\n",
            "- |\n  a: 1\n  a: 2\n- |\n  a: 1\n  a: 2\n",
            "a: \"x\n  b: 1\n  b: 2\"\n",
            "a: {b: 1,\n  c: 2,\n  c: 3}\n",
            "{{- /*\na: 1\na: 2\n*/ -}}\n",
            "a: {{ .Values.a -}}\na: 1\n",
            "a: {{ if .Values.a }}1\na: 2{{ end }}\na: 3\n",
            "x:\n  {{ if .Values.a -}}\n      x:\n      x: 1\n{{ end }}\n",
            "{{/* }}\na: 1\na: 2\n*/}}\n",
            "{{ .Values.key }}: 1\n{{ .Values.key }}: 2\n",
        ] {
            assert_eq!(found(source), Vec::<String>::new(), "{source}");
        }
    }
}
