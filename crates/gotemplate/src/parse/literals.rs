//! Strings, characters and numbers as Go writes them (`strconv.Unquote`, `text/template/parse/node.go`).

use super::super::syntax::Number;

/// Returns the bytes that a quoted or raw string stands for.
pub(super) fn unquote(quoted: &str) -> Option<Vec<u8>> {
    if let Some(raw) = quoted.strip_prefix('`').and_then(|rest| rest.strip_suffix('`')) {
        return Some(raw.bytes().filter(|byte| *byte != b'\r').collect());
    }
    let mut rest = quoted.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'))?;
    let mut bytes = Vec::with_capacity(rest.len());
    while !rest.is_empty() {
        let (unit, after) = unquote_unit(rest, '"')?;
        unit.append_to(&mut bytes);
        rest = after;
    }
    Some(bytes)
}

/// Returns the number that a character constant stands for.
pub(super) fn character(quoted: &str) -> Option<Number> {
    let (unit, rest) = unquote_unit(quoted.strip_prefix('\'')?, '\'')?;
    let code = match unit {
        Unit::Character(character) => u32::from(character),
        Unit::Byte(byte) => u32::from(byte),
    };
    (rest == "'").then_some(Number {
        integer: Some(i64::from(code)),
        float: f64::from(code),
        prefers_float: false,
    })
}

/// The meaning of one character or escape.
enum Unit {
    Character(char),
    /// `\x` and octal escapes are bytes, which need not be UTF-8.
    Byte(u8),
}

impl Unit {
    fn append_to(&self, bytes: &mut Vec<u8>) {
        match self {
            Unit::Character(character) => {
                bytes.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
            }
            Unit::Byte(byte) => bytes.push(*byte),
        }
    }
}

fn unquote_unit(text: &str, quote: char) -> Option<(Unit, &str)> {
    let mut characters = text.chars();
    let first = characters.next()?;
    if first == quote || first == '\n' {
        return None;
    }
    if first != '\\' {
        return Some((Unit::Character(first), characters.as_str()));
    }
    let escape = characters.next()?;
    let rest = characters.as_str();
    let plain = match escape {
        'a' => '\u{7}',
        'b' => '\u{8}',
        'f' => '\u{c}',
        'n' => '\n',
        'r' => '\r',
        't' => '\t',
        'v' => '\u{b}',
        '\\' => '\\',
        '\'' | '"' if escape == quote => quote,
        'x' => {
            let (code, rest) = digits(rest, 2, 16)?;
            return Some((Unit::Byte(u8::try_from(code).ok()?), rest));
        }
        'u' | 'U' => {
            let (code, rest) = digits(rest, if escape == 'u' { 4 } else { 8 }, 16)?;
            return Some((Unit::Character(char::from_u32(code)?), rest));
        }
        '0'..='7' => {
            let (code, rest) = digits(text.get(1..)?, 3, 8)?;
            return Some((Unit::Byte(u8::try_from(code).ok()?), rest));
        }
        _ => return None,
    };
    Some((Unit::Character(plain), rest))
}

fn digits(text: &str, count: usize, radix: u32) -> Option<(u32, &str)> {
    let (digits, rest) = text.split_at_checked(count)?;
    if digits.starts_with('+') {
        return None;
    }
    Some((u32::from_str_radix(digits, radix).ok()?, rest))
}

/// Parses a number literal: an integer if it can be one, with the float beside it.
pub(super) fn number(text: &str) -> Result<Number, String> {
    if text.ends_with('i') && !text.contains(['x', 'X']) {
        return Err("complex numbers are not supported".to_owned());
    }
    let prefers_float = text.contains(['.', 'e', 'E', 'p', 'P'])
        && !((text.starts_with("0x") || text.starts_with("0X")) && !text.contains(['p', 'P']));
    if let Some(wide) = wide_integer(text) {
        #[expect(clippy::cast_precision_loss, reason = "Go converts the constant the same way")]
        return Ok(Number { integer: i64::try_from(wide).ok(), float: wide as f64, prefers_float });
    }
    let Some(float) = float(text) else {
        return Err(format!("illegal number syntax: {text:?}"));
    };
    if !text.contains(['.', 'e', 'E', 'p', 'P']) {
        return Err(format!("integer overflow: {text:?}"));
    }
    Ok(Number { integer: whole(float), float, prefers_float })
}

/// Returns the integer that equals a float, if there is one and it fits.
fn whole(float: f64) -> Option<i64> {
    const LIMIT: f64 = 9_223_372_036_854_775_808.0;
    if float.fract() != 0.0 || !(-LIMIT..LIMIT).contains(&float) {
        return None;
    }
    #[expect(clippy::cast_possible_truncation, reason = "whole and within the bounds of i64")]
    Some(float as i64)
}

/// Parses an integer as `strconv.ParseInt` and `ParseUint` do with base 0, as far as either succeeds.
fn wide_integer(text: &str) -> Option<i128> {
    let (negative, unsigned) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    if !underscores_separate_digits(unsigned) {
        return None;
    }
    let plain = unsigned.replace('_', "").to_ascii_lowercase();
    let (radix, digits) = match plain.get(..2) {
        Some("0x") => (16, plain.get(2..)?),
        Some("0o") => (8, plain.get(2..)?),
        Some("0b") => (2, plain.get(2..)?),
        _ if plain.len() > 1 && plain.starts_with('0') => (8, plain.get(1..)?),
        _ => (10, plain.as_str()),
    };
    if digits.starts_with(['+', '-']) {
        return None;
    }
    let magnitude = i128::from_str_radix(digits, radix).ok()?;
    let value = if negative { -magnitude } else { magnitude };
    let signed = text.starts_with(['+', '-']);
    let fits = i64::try_from(value).is_ok() || (!signed && u64::try_from(value).is_ok());
    fits.then_some(value)
}

fn underscores_separate_digits(unsigned: &str) -> bool {
    if !unsigned.contains('_') {
        return true;
    }
    let bytes = unsigned.as_bytes();
    let has_prefix = matches!(bytes, [b'0', b'x' | b'X' | b'o' | b'O' | b'b' | b'B', ..]);
    let hexadecimal = matches!(bytes, [b'0', b'x' | b'X', ..]);
    let mut previous = if has_prefix { b'0' } else { b'^' };
    for byte in bytes.iter().skip(if has_prefix { 2 } else { 0 }) {
        let is_digit = byte.is_ascii_digit() || (hexadecimal && byte.is_ascii_hexdigit());
        let class = if is_digit { b'0' } else { *byte };
        if (class == b'_' && previous != b'0') || (class != b'0' && class != b'_' && previous == b'_') {
            return false;
        }
        previous = if class == b'0' || class == b'_' { class } else { b'!' };
    }
    previous != b'_'
}

/// Parses a float as `strconv.ParseFloat` does; `None` for a number out of range.
pub(crate) fn float(text: &str) -> Option<f64> {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    if !underscores_separate_digits(unsigned) {
        return None;
    }
    let plain = unsigned.replace('_', "").to_ascii_lowercase();
    let magnitude = match plain.strip_prefix("0x") {
        Some(hexadecimal) => hexadecimal_float(hexadecimal)?,
        None => plain.parse().ok()?,
    };
    let value: f64 = if text.starts_with('-') { -magnitude } else { magnitude };
    value.is_finite().then_some(value)
}

fn hexadecimal_float(text: &str) -> Option<f64> {
    let (mantissa, exponent) = text.split_once('p')?;
    let exponent: i32 = exponent.parse().ok()?;
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = format!("{whole}{fraction}");
    if digits.len() > 13 {
        return None;
    }
    #[expect(clippy::cast_precision_loss, reason = "13 hexadecimal digits are 52 bits")]
    let significand = u64::from_str_radix(&digits, 16).ok()? as f64;
    let shift = exponent.checked_sub(4 * i32::try_from(fraction.len()).ok()?)?;
    Some(significand * 2f64.powi(shift))
}
