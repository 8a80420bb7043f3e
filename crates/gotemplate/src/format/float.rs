//! Floats (`fmtFloat` of Go's `fmt/format.go`, `strconv.FormatFloat`).

use super::super::value::Value;
use super::{Printed, Printer};

/// Maximum number of digits after a float's first one: further ones are zeros.
const MAX_DIGITS: usize = 1100;

impl<'a> Printer<'_, 'a> {
    pub(super) fn float(&mut self, value: &Value<'a>, number: f64, verb: char) -> Printed<'a> {
        let (form, precision) = match verb {
            'v' => ('g', None),
            'b' | 'g' | 'G' | 'x' | 'X' => (verb, None),
            'F' => ('f', Some(6)),
            'f' | 'e' | 'E' => (verb, Some(6)),
            _ => return self.bad_verb(value, verb),
        };
        let precision = self.style.precision.or(precision);
        let mut text = format_float(number.abs(), form, precision);
        let sign = match number.is_sign_negative() && !number.is_nan() {
            true => '-',
            false if self.style.space && !self.style.plus => ' ',
            false => '+',
        };
        if !number.is_finite() {
            // Infinities and NaN are not padded with zeros.
            let shows_sign = self.style.plus || self.style.space || number.is_infinite();
            let signed = if shows_sign { format!("{sign}{text}") } else { text };
            return self.pad_with_spaces(signed.as_bytes());
        }
        if self.style.sharp && form != 'b' {
            text = with_point(&text, form, precision);
        }
        if !self.style.plus && sign == '+' {
            return self.pad(text.as_bytes());
        }
        let width = self.style.width.unwrap_or_default();
        if self.style.zero && !self.style.minus && width > text.len() + 1 {
            self.push_character(sign)?;
            self.padding(width - text.len() - 1)?;
            return self.push(text.as_bytes());
        }
        self.pad(format!("{sign}{text}").as_bytes())
    }
}

/// Formats a number that is not negative as `strconv.FormatFloat` does; without a precision, as the shortest text that
/// reads back.
pub(crate) fn format_float(number: f64, form: char, precision: Option<usize>) -> String {
    if number.is_nan() {
        return "NaN".to_owned();
    }
    if number.is_infinite() {
        return "Inf".to_owned();
    }
    match (form, precision) {
        ('b', _) => binary(number),
        ('x' | 'X', _) => hexadecimal(number, form, precision),
        ('f', Some(precision)) => fixed(number, precision),
        ('f', None) => format!("{number}"),
        ('e' | 'E', Some(precision)) => scientific(&Decimal::rounded(number, precision + 1), precision, form),
        ('e' | 'E', None) => {
            let decimal = Decimal::shortest(number);
            scientific(&decimal, decimal.digits.len().saturating_sub(1), form)
        }
        (_, precision) => general(number, form, precision),
    }
}

/// The digits of a number, without zeros at the end, and the position of the point in them.
struct Decimal {
    digits: String,
    point: i32,
}

impl Decimal {
    fn parse(text: &str) -> Self {
        let (mantissa, exponent) = text.split_once('e').unwrap_or((text, "0"));
        let digits = mantissa.replace('.', "");
        let digits = digits.trim_end_matches('0').to_owned();
        let point = if digits.is_empty() { 0 } else { exponent.parse().unwrap_or(0) + 1 };
        Decimal { digits, point }
    }

    fn shortest(number: f64) -> Self {
        Self::parse(&format!("{number:e}"))
    }

    /// Rounds a number to that many digits.
    fn rounded(number: f64, count: usize) -> Self {
        let after_first = count.saturating_sub(1).min(MAX_DIGITS);
        Self::parse(&format!("{number:.after_first$e}"))
    }
}

fn fixed(number: f64, precision: usize) -> String {
    let exact = precision.min(MAX_DIGITS);
    let mut text = format!("{number:.exact$}");
    text.extend(std::iter::repeat_n('0', precision - exact));
    text
}

fn scientific(decimal: &Decimal, precision: usize, form: char) -> String {
    let mut digits = decimal.digits.chars();
    let mut text = String::from(digits.next().unwrap_or('0'));
    if precision > 0 {
        text.push('.');
        text.extend(digits.chain(std::iter::repeat('0')).take(precision));
    }
    let exponent = if decimal.digits.is_empty() { 0 } else { decimal.point - 1 };
    let form = if form.is_ascii_uppercase() { 'E' } else { 'e' };
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{text}{form}{sign}{:02}", exponent.unsigned_abs())
}

/// Formats a number with `%g`: in the shorter of the two other forms.
fn general(number: f64, form: char, precision: Option<usize>) -> String {
    let decimal = match precision {
        None => Decimal::shortest(number),
        Some(precision) => Decimal::rounded(number, precision.max(1)),
    };
    let count = i32::try_from(decimal.digits.len()).unwrap_or(i32::MAX);
    let wanted = match precision {
        None => count,
        Some(precision) => i32::try_from(precision.max(1)).unwrap_or(i32::MAX),
    };
    // From this exponent on the scientific form is the shorter one.
    let threshold = match precision {
        None => 6,
        Some(_) if wanted > count && count >= decimal.point => count,
        Some(_) => wanted,
    };
    let exponent = decimal.point - 1;
    if exponent < -4 || exponent >= threshold {
        let after_first = wanted.min(count).saturating_sub(1);
        return scientific(&decimal, usize::try_from(after_first).unwrap_or(0), form);
    }
    let wanted = if wanted > decimal.point { count } else { wanted };
    positional(&decimal, usize::try_from(wanted.saturating_sub(decimal.point)).unwrap_or(0))
}

/// Writes the digits with a point between them and that many places after it.
fn positional(decimal: &Decimal, places: usize) -> String {
    let before = usize::try_from(decimal.point).unwrap_or(0);
    let leading_zeros = usize::try_from(decimal.point.min(0).unsigned_abs()).unwrap_or(0);
    let mut digits = decimal.digits.chars().chain(std::iter::repeat('0'));
    let mut text: String = digits.by_ref().take(before).collect();
    if text.is_empty() {
        text.push('0');
    }
    if places > 0 {
        text.push('.');
        text.extend(std::iter::repeat_n('0', leading_zeros).chain(digits).take(places));
    }
    text
}

/// Splits a number that is not negative into its mantissa and its power of two.
fn binary_parts(number: f64) -> (u64, i32) {
    let bits = number.to_bits();
    let mantissa = bits & ((1 << 52) - 1);
    match i32::try_from(bits >> 52).unwrap_or(0) {
        0 => (mantissa, -1074),
        exponent => (mantissa | (1 << 52), exponent - 1075),
    }
}

fn binary(number: f64) -> String {
    let (mantissa, exponent) = binary_parts(number);
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{mantissa}p{sign}{}", exponent.unsigned_abs())
}

/// Formats a number with `%x`: `0x1.8p+01`.
fn hexadecimal(number: f64, form: char, precision: Option<usize>) -> String {
    let (mut mantissa, mut exponent) = binary_parts(number);
    if mantissa == 0 {
        exponent = 0;
    } else {
        // The first digit is 1, and stands above 60 further bits.
        let shift = mantissa.leading_zeros() - 3;
        mantissa <<= shift;
        exponent += 60 - i32::try_from(shift).unwrap_or(0);
    }
    if let Some(precision) = precision.filter(|precision| *precision < 15) {
        let extra = 4 * (15 - u32::try_from(precision).unwrap_or(0));
        let rest = mantissa & ((1 << extra) - 1);
        mantissa >>= extra;
        let half = 1 << (extra - 1);
        if rest > half || (rest == half && mantissa & 1 == 1) {
            mantissa += 1;
        }
        mantissa <<= extra;
        if mantissa & (1 << 61) != 0 {
            mantissa >>= 1;
            exponent += 1;
        }
    }
    let first = (mantissa >> 60) & 0xf;
    let digits = format!("{:015x}", mantissa & ((1 << 60) - 1));
    let digits = match precision {
        None => digits.trim_end_matches('0').to_owned(),
        Some(precision) => digits.chars().chain(std::iter::repeat('0')).take(precision).collect(),
    };
    let point = if digits.is_empty() { "" } else { "." };
    let sign = if exponent < 0 { '-' } else { '+' };
    let text = format!("0x{first}{point}{digits}p{sign}{:02}", exponent.unsigned_abs());
    if form == 'X' { text.to_uppercase() } else { text }
}

/// Adds what `%#g` shows: always a point, and the zeros that the shorter forms leave out.
fn with_point(text: &str, form: char, precision: Option<usize>) -> String {
    let is_hexadecimal = matches!(form, 'x' | 'X');
    let mut digits = match form {
        'g' | 'G' | 'x' => precision.unwrap_or(6),
        _ => 0,
    };
    let tail_start = text
        .find(|character| {
            matches!(character, 'p' | 'P') || (!is_hexadecimal && matches!(character, 'e' | 'E'))
        })
        .unwrap_or(text.len());
    let (number, tail) = text.split_at(tail_start);
    let mut saw_nonzero = false;
    for character in number.chars().filter(|character| *character != '.') {
        saw_nonzero |= character != '0';
        digits = digits.saturating_sub(usize::from(saw_nonzero));
    }
    let mut result = number.to_owned();
    if !number.contains('.') {
        if number == "0" {
            digits = digits.saturating_sub(1);
        }
        result.push('.');
    }
    result.extend(std::iter::repeat_n('0', digits));
    result.push_str(tail);
    result
}
