//! Quoted texts: Go's `strconv.Quote`.

use std::fmt::Write;

use super::super::value::decode_character;

/// Quotes a text. Unprintable characters are escaped; with `ascii`, so are all others that are not ASCII.
pub(crate) fn quoted(bytes: &[u8], quote: char, ascii: bool) -> String {
    let mut text = String::with_capacity(bytes.len() + 2);
    text.push(quote);
    let mut rest = bytes;
    while let Some((character, width)) = decode_character(rest) {
        let (unit, after) = rest.split_at(width);
        match (character, unit) {
            (Some(character), _) => push_escaped(&mut text, character, quote, ascii),
            (None, &[byte, ..]) => push(&mut text, format_args!("\\x{byte:02x}")),
            (None, []) => {}
        }
        rest = after;
    }
    text.push(quote);
    text
}

fn push(text: &mut String, escape: std::fmt::Arguments<'_>) {
    // Writing to a String cannot fail.
    let _ = text.write_fmt(escape);
}

fn push_escaped(text: &mut String, character: char, quote: char, ascii: bool) {
    match character {
        '\\' => text.push_str("\\\\"),
        _ if character == quote => {
            text.push('\\');
            text.push(quote);
        }
        '\u{7}' => text.push_str("\\a"),
        '\u{8}' => text.push_str("\\b"),
        '\u{c}' => text.push_str("\\f"),
        '\n' => text.push_str("\\n"),
        '\r' => text.push_str("\\r"),
        '\t' => text.push_str("\\t"),
        '\u{b}' => text.push_str("\\v"),
        _ if is_printable(character) && (character.is_ascii() || !ascii) => text.push(character),
        '\0'..=' ' | '\u{7f}' => push(text, format_args!("\\x{:02x}", u32::from(character))),
        '\u{80}'..='\u{ffff}' => push(text, format_args!("\\u{:04x}", u32::from(character))),
        _ => push(text, format_args!("\\U{:08x}", u32::from(character))),
    }
}

/// Whether a character is a letter, mark, number, punctuation, symbol or the plain space (`unicode.IsPrint`).
pub(crate) fn is_printable(character: char) -> bool {
    if character.is_ascii() {
        return (' '..='~').contains(&character);
    }
    // Debug output escapes unprintable characters; after another character it leaves combining marks alone.
    let mut buffer = [b'a', 0, 0, 0, 0];
    let (_, rest) = buffer.split_at_mut(1);
    let length = 1 + character.encode_utf8(rest).len();
    let probe = buffer.get(..length).and_then(|bytes| std::str::from_utf8(bytes).ok()).unwrap_or_default();
    probe.escape_debug().nth(1) == Some(character)
}

/// Whether a text can stand between backquotes (`strconv.CanBackquote`).
pub(super) fn can_be_raw(bytes: &[u8]) -> bool {
    std::str::from_utf8(bytes).is_ok_and(|text| {
        text.chars().all(|character| {
            !matches!(character, '\u{feff}' | '`' | '\u{7f}') && (character >= ' ' || character == '\t')
        })
    })
}

/// Counts the characters; a byte that belongs to no character counts as one.
pub(super) fn character_count(bytes: &[u8]) -> usize {
    if let Ok(text) = std::str::from_utf8(bytes) {
        return text.chars().count();
    }
    let mut count = 0;
    let mut rest = bytes;
    while let Some((_, width)) = decode_character(rest) {
        count += 1;
        rest = rest.get(width..).unwrap_or_default();
    }
    count
}
