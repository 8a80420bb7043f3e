//! Searching in bytes.

use super::super::super::value::decode_character;

/// Finds the offset of the first occurrence of the needle.
pub(super) fn find(haystack: &[u8], needle: &[u8]) -> Option<usize> {
    if needle.is_empty() {
        return Some(0);
    }
    let last = haystack.len().checked_sub(needle.len())?;
    // The crate's search takes linear time for any needle.
    match (std::str::from_utf8(haystack), std::str::from_utf8(needle)) {
        (Ok(haystack), Ok(needle)) => haystack.find(needle),
        _ => (0..=last).find(|start| haystack.get(*start..).is_some_and(|rest| rest.starts_with(needle))),
    }
}

/// Splits a text as Go's `strings.SplitN` does: into at most that many parts; an empty separator separates all
/// characters.
pub(super) fn split<'t>(text: &'t [u8], separator: &[u8], most: usize) -> Vec<&'t [u8]> {
    let mut parts = Vec::new();
    if most == 0 || (separator.is_empty() && text.is_empty()) {
        return parts;
    }
    if let (Ok(text), Ok(separator)) = (std::str::from_utf8(text), std::str::from_utf8(separator))
        && !separator.is_empty()
    {
        return text.splitn(most, separator).map(str::as_bytes).collect();
    }
    let mut rest = text;
    while parts.len() + 1 < most {
        let end = if separator.is_empty() {
            decode_character(rest).map(|(_, width)| width).filter(|width| *width < rest.len())
        } else {
            find(rest, separator)
        };
        let Some((part, after)) = end.and_then(|end| rest.split_at_checked(end)) else {
            break;
        };
        parts.push(part);
        rest = after.get(separator.len()..).unwrap_or_default();
    }
    parts.push(rest);
    parts
}

/// Trims the matching characters at the start of a text.
pub(super) fn trim_start(text: &[u8], matches: impl Fn(char) -> bool) -> &[u8] {
    let mut rest = text;
    while let Some((character, width)) = decode_character(rest) {
        if !matches(character.unwrap_or(char::REPLACEMENT_CHARACTER)) {
            break;
        }
        rest = rest.get(width..).unwrap_or_default();
    }
    rest
}

/// Trims the matching characters at the end of a text.
pub(super) fn trim_end(text: &[u8], matches: impl Fn(char) -> bool) -> &[u8] {
    let mut rest = text;
    while !rest.is_empty() {
        let (character, width) = last_character(rest);
        if !matches(character) {
            break;
        }
        rest = rest.get(..rest.len() - width).unwrap_or_default();
    }
    rest
}

fn last_character(text: &[u8]) -> (char, usize) {
    for width in 1..=text.len().min(4) {
        if let Some(character) = text
            .get(text.len() - width..)
            .and_then(|end| std::str::from_utf8(end).ok())
            .and_then(|end| end.chars().next())
        {
            return (character, width);
        }
    }
    (char::REPLACEMENT_CHARACTER, 1)
}
