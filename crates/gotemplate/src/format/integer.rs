//! Integers, in all bases and as characters (`fmtInteger` of Go's `fmt/format.go`).

use super::super::limits::{Limit, TEXT_BYTES};
use super::super::value::Value;
use super::{Fault, Printed, Printer, quote};

impl<'a> Printer<'_, 'a> {
    pub(super) fn integer(&mut self, value: &Value<'a>, number: i128, verb: char) -> Printed<'a> {
        let is_byte = matches!(value, Value::Byte(_));
        match verb {
            'v' if self.style.go_syntax && is_byte => {
                let sharp = std::mem::replace(&mut self.style.sharp, true);
                let printed = self.digits(number, 'x');
                self.style.sharp = sharp;
                printed
            }
            'v' | 'd' | 'b' | 'o' | 'O' | 'x' | 'X' => self.digits(number, verb),
            'c' => self.pad(character(number).encode_utf8(&mut [0; 4]).as_bytes()),
            'q' => {
                let character = character(number).to_string();
                let quoted = quote::quoted(character.as_bytes(), '\'', self.style.plus);
                self.pad(quoted.as_bytes())
            }
            'U' => self.code_point(number),
            _ => self.bad_verb(value, verb),
        }
    }

    fn digits(&mut self, number: i128, verb: char) -> Printed<'a> {
        let style = self.style;
        if style.precision == Some(0) && number == 0 {
            return self.pad_with_spaces(b"");
        }
        let magnitude = number.unsigned_abs();
        let digits = match verb {
            'b' => format!("{magnitude:b}"),
            'o' | 'O' => format!("{magnitude:o}"),
            'x' => format!("{magnitude:x}"),
            'X' => format!("{magnitude:X}"),
            _ => magnitude.to_string(),
        };
        let sign = match number < 0 {
            true => "-",
            false if style.plus => "+",
            false if style.space => " ",
            false => "",
        };
        // A precision, or the flag and the width, ask for zeros on the left.
        let least = match (style.precision, style.width) {
            (Some(precision), _) => precision,
            (None, Some(width)) if style.zero && !style.minus => width.saturating_sub(sign.len()),
            _ => 0,
        };
        let zeros = zeros(least.saturating_sub(digits.len()))?;
        let prefix = match verb {
            'O' => "0o",
            'b' if style.sharp => "0b",
            'x' if style.sharp => "0x",
            'X' if style.sharp => "0X",
            'o' if style.sharp && zeros.is_empty() && !digits.starts_with('0') => "0",
            _ => "",
        };
        let prefix = if verb == 'O' && style.sharp && zeros.is_empty() && !digits.starts_with('0') {
            "0o0"
        } else {
            prefix
        };
        self.pad_with_spaces(format!("{sign}{prefix}{zeros}{digits}").as_bytes())
    }

    /// Writes a code point: `U+0078`, or `U+0078 'x'`.
    fn code_point(&mut self, number: i128) -> Printed<'a> {
        // A negative number is shown as Go's uint64 of it.
        let code = u64::try_from(number.rem_euclid(1 << 64)).unwrap_or_default();
        let digits = format!("{code:X}");
        let least = self.style.precision.unwrap_or(4).max(4);
        let zeros = zeros(least.saturating_sub(digits.len()))?;
        let shown = u32::try_from(code).ok().and_then(char::from_u32);
        let shown = shown.filter(|character| self.style.sharp && quote::is_printable(*character));
        let shown = shown.map_or_else(String::new, |character| format!(" '{character}'"));
        self.pad_with_spaces(format!("U+{zeros}{digits}{shown}").as_bytes())
    }
}

fn zeros<'a>(count: usize) -> Result<String, Fault<'a>> {
    if count > TEXT_BYTES { Err(Fault::Limit(Limit::ValueSize)) } else { Ok("0".repeat(count)) }
}

/// Returns the character with that code, or U+FFFD if there is none.
fn character(number: i128) -> char {
    u32::try_from(number).ok().and_then(char::from_u32).unwrap_or(char::REPLACEMENT_CHARACTER)
}
