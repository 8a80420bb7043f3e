//! Capital and small letters: one character becomes one character, as in Go's `unicode`.

use super::super::super::value::decode_character;

/// Replaces each character of a text; a byte that belongs to no character becomes U+FFFD.
pub(super) fn map(text: &[u8], mut replace: impl FnMut(char) -> char) -> Vec<u8> {
    let mut mapped = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((character, width)) = decode_character(rest) {
        let replaced = replace(character.unwrap_or(char::REPLACEMENT_CHARACTER));
        mapped.extend_from_slice(replaced.encode_utf8(&mut [0; 4]).as_bytes());
        rest = rest.get(width..).unwrap_or_default();
    }
    mapped
}

/// Returns the only character of a mapping, or the other one if there are several.
fn single(mut mapping: impl Iterator<Item = char>, other: char) -> char {
    match (mapping.next(), mapping.next()) {
        (Some(only), None) => only,
        _ => other,
    }
}

pub(super) fn upper(character: char) -> char {
    let code = u32::from(character);
    // Greek letters with iota below have a capital form of one character and one of two.
    let simple = match code {
        0x1f80..=0x1f87 | 0x1f90..=0x1f97 | 0x1fa0..=0x1fa7 => char::from_u32(code + 8),
        0x1fb3 | 0x1fc3 | 0x1ff3 => char::from_u32(code + 9),
        _ => None,
    };
    simple.unwrap_or_else(|| single(character.to_uppercase(), character))
}

pub(super) fn lower(character: char) -> char {
    if character == '\u{130}' {
        return 'i';
    }
    single(character.to_lowercase(), character)
}

pub(super) fn title(character: char) -> char {
    match character {
        'Ǆ' | 'ǅ' | 'ǆ' => 'ǅ',
        'Ǉ' | 'ǈ' | 'ǉ' => 'ǈ',
        'Ǌ' | 'ǋ' | 'ǌ' => 'ǋ',
        'Ǳ' | 'ǲ' | 'ǳ' => 'ǲ',
        // Georgian letters have no title form of their own.
        '\u{10d0}'..='\u{10ff}' => character,
        other => upper(other),
    }
}

/// Whether a word starts after this character (`isSeparator` of Go's `strings`).
pub(super) fn separates(character: char) -> bool {
    if character.is_ascii() {
        return !character.is_ascii_alphanumeric() && character != '_';
    }
    !character.is_alphanumeric() && character.is_whitespace()
}
