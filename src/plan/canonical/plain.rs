//! Recognises texts that need no quotes: every reader of YAML 1.1 or 1.2 reads them as the same text.
//!
//! Sources: YAML 1.2.2 (7.3.3 plain style, 10.3.2 tag resolution), the types of YAML 1.1 (<https://yaml.org/type/>), and
//! the additions of the readers in use: Go's `yaml` accepts `0o7` and `1_000`, Ruby's accepts commas between digits.

/// Words that some reader reads as a boolean or null, in any case; `=` and `<<` have types of their own in YAML 1.1.
const WORDS: [&str; 12] = ["y", "n", "yes", "no", "true", "false", "on", "off", "null", "~", "=", "<<"];

/// Length in bytes of the longest of [`WORDS`].
const MAX_WORD: usize = 5;

/// Whether the text, written without quotes in block style, is one line and is read as exactly this text.
pub(super) fn is_safe(text: &str) -> bool {
    starts_plain(text)
        && has_plain_characters(text)
        && !is_word(text)
        && !is_number(text)
        && !is_timestamp(text)
}

/// Whether the beginning is not one of YAML's indicators, a document marker or a blank.
fn starts_plain(text: &str) -> bool {
    match text.as_bytes() {
        [] | [b'-'] | [b'-', b' ', ..] | [b'-', b'-', b'-', ..] | [b'.', b'.', b'.', ..] => false,
        [first, ..] => !b"?:,[]{}#&*!|>'\"%@`".contains(first) && !text.starts_with(char::is_whitespace),
    }
}

/// Whether no character ends a plain scalar or is invisible, and none at the end is lost.
fn has_plain_characters(text: &str) -> bool {
    let mut previous = ' ';
    for character in text.chars() {
        if is_invisible(character) || matches!((previous, character), (':', ' ') | (' ', '#')) {
            return false;
        }
        previous = character;
    }
    previous != ':' && !previous.is_whitespace()
}

fn is_word(text: &str) -> bool {
    text.len() <= MAX_WORD && WORDS.iter().any(|word| word.eq_ignore_ascii_case(text))
}

/// Whether some reader may read the text as a number. May be true for texts that look like a number and are not (`1e`).
fn is_number(text: &str) -> bool {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    match unsigned.as_bytes() {
        [] => true,
        [b'0', b'x' | b'X' | b'o' | b'O' | b'b' | b'B', digits @ ..] => {
            digits.iter().all(|digit| digit.is_ascii_hexdigit() || *digit == b'_')
        }
        [b'0'..=b'9' | b'.', ..] => {
            is_decimal(unsigned)
                || is_sexagesimal(unsigned)
                || unsigned.eq_ignore_ascii_case(".inf")
                || unsigned.eq_ignore_ascii_case(".nan")
        }
        _ => false,
    }
}

/// Whether a text is digits, then perhaps a point and digits, then perhaps an exponent. `0777` is such a text.
fn is_decimal(unsigned: &str) -> bool {
    let is_digit = |character: char| character.is_ascii_digit() || character == '_';
    let rest = unsigned.trim_start_matches(|character| is_digit(character) || character == ',');
    let rest = rest.strip_prefix('.').map_or(rest, |fraction| fraction.trim_start_matches(is_digit));
    let rest = match rest.strip_prefix(['e', 'E']) {
        Some(exponent) => exponent.strip_prefix(['+', '-']).unwrap_or(exponent).trim_start_matches(is_digit),
        None => rest,
    };
    rest.is_empty()
}

/// Whether a text is a number in base 60 of YAML 1.1: `1:20`, `190:20:30.15`.
fn is_sexagesimal(unsigned: &str) -> bool {
    unsigned.contains(':') && unsigned.bytes().all(|byte| byte.is_ascii_digit() || b":._".contains(&byte))
}

/// Whether the text is a date of YAML 1.1 or begins with one that a time may follow: `2024-1-5`, `2024-01-05T…`.
fn is_timestamp(text: &str) -> bool {
    // Most texts are not timestamps and are not searched.
    if !text.starts_with(|character: char| character.is_ascii_digit()) {
        return false;
    }
    let mut parts = text.splitn(3, '-');
    let (Some(year), Some(month), Some(rest)) = (parts.next(), parts.next(), parts.next()) else {
        return false;
    };
    let is_digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    if year.len() != 4 || !is_digits(year) || !matches!(month.len(), 1 | 2) || !is_digits(month) {
        return false;
    }
    let after_day = rest.trim_start_matches(|character: char| character.is_ascii_digit());
    matches!(rest.len() - after_day.len(), 1 | 2)
        && (after_day.is_empty() || after_day.starts_with(['T', 't', ' ']))
}

/// Whether a character is invisible, changes how others are shown, or may not be in YAML unescaped: controls, line and
/// paragraph separators, byte order marks, marks that change the direction of text (a reviewer would read another text
/// than Flux does: CVE-2021-42574), tags, non-characters.
pub(super) fn is_invisible(character: char) -> bool {
    match character {
        ' '..='~' => false,
        '\u{ad}'
        | '\u{61c}'
        | '\u{180e}'
        | '\u{feff}'
        | '\u{200b}'..='\u{200f}'
        | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}'
        | '\u{fff9}'..='\u{fffb}'
        | '\u{e0000}'..='\u{e007f}' => true,
        other => other.is_control() || u32::from(other) & 0xfffe == 0xfffe,
    }
}
