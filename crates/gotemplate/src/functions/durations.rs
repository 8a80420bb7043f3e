//! Lengths of time (slim-sprig's `date.go`, without functions that read the clock).

use super::super::value::Value;
use super::Parameter::Any;
use super::conversion::parse_integer;
use super::{Arguments, Context, Function, Outcome};

const GROUP: &str = "durations";

pub(super) const FUNCTIONS: &[Function] = &[
    Function::new("duration", GROUP, "A number of seconds as Go writes a duration.", &[Any], duration),
    Function::new("durationRound", GROUP, "A duration in its largest unit.", &[Any], duration_round),
];

const SECOND: u64 = 1_000_000_000;

/// The units of Go's durations, in nanoseconds.
const UNITS: &[(&str, u64)] = &[
    ("ns", 1),
    ("us", 1_000),
    ("µs", 1_000),
    ("μs", 1_000),
    ("ms", 1_000_000),
    ("s", SECOND),
    ("m", 60 * SECOND),
    ("h", 3_600 * SECOND),
];

fn duration<'a>(context: &mut Context<'a>, arguments: &Arguments<'_, 'a>) -> Outcome<'a> {
    let seconds = match arguments.any(0)? {
        Value::Text(text) => parse_integer(text.bytes(), 10).unwrap_or_else(|| {
            // Go takes the nearest number that fits, and ignores its error.
            super::conversion::beyond_range(text.bytes())
        }),
        Value::Int64(seconds) => *seconds,
        _ => 0,
    };
    let nanoseconds = seconds.wrapping_mul(1_000_000_000);
    context.heap.text(written(nanoseconds))
}

/// Formats whole seconds as Go's `Duration.String` does. If the product overflowed, there are fractions.
fn written(nanoseconds: i64) -> String {
    let magnitude = nanoseconds.unsigned_abs();
    let sign = if nanoseconds < 0 { "-" } else { "" };
    if magnitude < SECOND {
        return match magnitude {
            0 => "0s".to_owned(),
            1..1_000 => format!("{sign}{magnitude}ns"),
            1_000..1_000_000 => format!("{sign}{}µs", with_fraction(magnitude, 1_000)),
            _ => format!("{sign}{}ms", with_fraction(magnitude, 1_000_000)),
        };
    }
    let seconds = with_fraction(magnitude % (60 * SECOND), SECOND);
    let minutes = magnitude / (60 * SECOND);
    match (minutes / 60, minutes % 60) {
        (0, 0) => format!("{sign}{seconds}s"),
        (0, minutes) => format!("{sign}{minutes}m{seconds}s"),
        (hours, minutes) => format!("{sign}{hours}h{minutes}m{seconds}s"),
    }
}

fn with_fraction(amount: u64, unit: u64) -> String {
    let digits = unit.ilog10() as usize;
    let fraction = format!("{:0digits$}", amount % unit);
    match fraction.trim_end_matches('0') {
        "" => (amount / unit).to_string(),
        fraction => format!("{}.{fraction}", amount / unit),
    }
}

fn duration_round<'a>(context: &mut Context<'a>, arguments: &Arguments<'_, 'a>) -> Outcome<'a> {
    let nanoseconds = match arguments.any(0)? {
        Value::Text(text) => std::str::from_utf8(text.bytes()).ok().and_then(parse).unwrap_or(0),
        Value::Int64(nanoseconds) => nanoseconds.unsigned_abs(),
        _ => 0,
    };
    let hour = 3_600 * SECOND;
    let units = [
        ("y", hour * 24 * 365),
        ("mo", hour * 24 * 30),
        ("d", hour * 24),
        ("h", hour),
        ("m", 60 * SECOND),
        ("s", SECOND),
    ];
    let largest = units.iter().find(|(_, unit)| nanoseconds > *unit);
    let text =
        largest.map_or_else(|| "0s".to_owned(), |(name, unit)| format!("{}{name}", nanoseconds / unit));
    context.heap.text(text)
}

/// Parses a text like `1h15m30.5s` as Go's `time.ParseDuration` does, and returns the nanoseconds without their sign.
fn parse(text: &str) -> Option<u64> {
    const LARGEST: u64 = 1 << 63;
    let negative = text.starts_with('-');
    let mut rest = text.strip_prefix(['-', '+']).unwrap_or(text);
    if rest == "0" {
        return Some(0);
    }
    if rest.is_empty() {
        return None;
    }
    let mut total: u64 = 0;
    while !rest.is_empty() {
        let (whole, after) = digits(rest);
        let mut amount: u64 = if whole.is_empty() { 0 } else { whole.parse().ok()? };
        let (fraction, after) = after.strip_prefix('.').map_or(("", after), digits);
        if whole.is_empty() && fraction.is_empty() {
            return None;
        }
        let length = after.find(|next: char| next == '.' || next.is_ascii_digit()).unwrap_or(after.len());
        let (name, after) = after.split_at(length);
        let (_, unit) = UNITS.iter().find(|(known, _)| *known == name)?;
        amount = amount.checked_mul(*unit).filter(|amount| *amount <= LARGEST)?;
        amount = amount.checked_add(fraction_of(fraction, *unit)).filter(|amount| *amount <= LARGEST)?;
        total = total.checked_add(amount).filter(|total| *total <= LARGEST)?;
        rest = after;
    }
    (negative || total < LARGEST).then_some(total)
}

fn digits(text: &str) -> (&str, &str) {
    text.split_at(text.find(|next: char| !next.is_ascii_digit()).unwrap_or(text.len()))
}

/// Returns the nanoseconds of a fraction of a unit, cut off at the same digit as in Go.
fn fraction_of(digits: &str, unit: u64) -> u64 {
    let (mut amount, mut scale) = (0_u64, 1.0_f64);
    for digit in digits.bytes() {
        let next = amount.checked_mul(10).and_then(|tens| tens.checked_add(u64::from(digit - b'0')));
        match next.filter(|next| *next <= 1 << 63) {
            Some(next) => amount = next,
            None => break,
        }
        scale *= 10.0;
    }
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "Go computes the same with floats; the result is less than the unit"
    )]
    let fraction = (amount as f64 * (unit as f64 / scale)) as u64;
    fraction
}
