//! Writes a single text, number, boolean, null or empty collection.

use std::fmt::Write as _;

use serde_json::{Number, Value};

use super::INDENT;
use super::plain::{self, is_invisible};

/// Writes a value that is a whole document.
///
/// Never as a literal block: readers differ in the base of an indentation indicator at the root.
pub(super) fn write_root(out: &mut String, leaf: &Value) {
    match leaf {
        Value::String(text) => write_text(out, text, None),
        other => write_value(out, other, INDENT),
    }
}

/// Writes the key of a mapping, on one line.
pub(super) fn write_key(out: &mut String, key: &str) {
    write_text(out, key, None);
}

/// Writes a value without a newline after it; a text's further lines start on column `indent`.
///
/// Collections are written as empty ones: the caller writes all others line by line.
pub(super) fn write_value(out: &mut String, leaf: &Value, indent: usize) {
    match leaf {
        Value::Null => out.push_str("null"),
        Value::Bool(true) => out.push_str("true"),
        Value::Bool(false) => out.push_str("false"),
        Value::Number(number) => write_number(out, number),
        Value::String(text) => write_text(out, text, Some(indent)),
        Value::Array(_) => out.push_str("[]"),
        Value::Object(_) => out.push_str("{}"),
    }
}

/// Writes integers exactly, and floats with the fewest digits that give the same 64-bit float.
///
/// An exponent has a point before the `e` and a sign after it: a reader of YAML 1.1 reads `1e21` as a text.
fn write_number(out: &mut String, number: &Number) {
    let digits = number.to_string();
    match digits.split_once('e') {
        Some((mantissa, exponent)) => {
            let point = if mantissa.contains('.') { "" } else { ".0" };
            let sign = if exponent.starts_with(['-', '+']) { "" } else { "+" };
            // Writing to a String does not fail.
            let _ = write!(out, "{mantissa}{point}e{sign}{exponent}");
        }
        None => out.push_str(&digits),
    }
}

/// Writes a text plain if that is safe, as a literal block if the text has several lines and loses nothing, otherwise
/// quoted.
///
/// `indent` is the column on which further lines start; `None` keeps all on one line.
fn write_text(out: &mut String, text: &str, indent: Option<usize>) {
    if plain::is_safe(text) {
        out.push_str(text);
        return;
    }
    match indent {
        Some(indent) if can_be_literal(text) => write_literal(out, text, indent),
        _ => write_quoted(out, text, indent),
    }
}

/// Whether a literal block preserves the text and shows all of it: no blanks at the ends of lines (editors remove them),
/// no invisible characters, at least one line that is not empty.
fn can_be_literal(text: &str) -> bool {
    let mut has_newline = false;
    let mut has_content = false;
    let mut after_blank = false;
    for character in text.chars() {
        if character == '\n' {
            if after_blank {
                return false;
            }
            has_newline = true;
        } else if character != '\t' && is_invisible(character) {
            return false;
        } else {
            has_content = true;
        }
        after_blank = character != '\n' && character.is_whitespace();
    }
    has_newline && has_content && !after_blank
}

fn write_literal(out: &mut String, text: &str, indent: usize) {
    out.push('|');
    if text.starts_with([' ', '\t', '\n']) {
        // Readers count the first line's blanks as indentation unless the header names the depth below the parent.
        let _ = write!(out, "{INDENT}");
    }
    let (lines, newlines_kept) = match text.strip_suffix('\n') {
        None => (text, "-"),
        Some(rest) if rest.ends_with('\n') => (rest, "+"),
        Some(rest) => (rest, ""),
    };
    out.push_str(newlines_kept);
    for line in lines.split('\n') {
        out.push('\n');
        if !line.is_empty() {
            indent_to(out, indent);
            out.push_str(line);
        }
    }
}

/// Writes a text in double quotes. With `indent` each line of the text is on a line of its own, joined by escaped line
/// breaks (YAML 1.2.2, 7.3.1), so that a changed line is also one line of a diff.
fn write_quoted(out: &mut String, text: &str, indent: Option<usize>) {
    out.push('"');
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        write_escaped(out, character);
        let Some(indent) = indent.filter(|_| character == '\n') else { continue };
        if characters.peek().is_some_and(|next| *next != '\n') {
            out.push_str("\\\n");
            indent_to(out, indent);
            if characters.peek() == Some(&' ') {
                // A reader drops unescaped blanks at the start of a line.
                out.push('\\');
            }
        }
    }
    out.push('"');
}

fn write_escaped(out: &mut String, character: char) {
    match character {
        '"' => out.push_str("\\\""),
        '\\' => out.push_str("\\\\"),
        '\n' => out.push_str("\\n"),
        '\r' => out.push_str("\\r"),
        '\t' => out.push_str("\\t"),
        ' ' => out.push(' '),
        other if is_invisible(other) || other.is_whitespace() => {
            let code = u32::from(other);
            let _ = match code {
                0..=0xff => write!(out, "\\x{code:02x}"),
                0x100..=0xffff => write!(out, "\\u{code:04x}"),
                _ => write!(out, "\\U{code:08x}"),
            };
        }
        other => out.push(other),
    }
}

/// Moves to a column of a line that has just begun.
pub(super) fn indent_to(out: &mut String, column: usize) {
    out.extend(std::iter::repeat_n(' ', column));
}
