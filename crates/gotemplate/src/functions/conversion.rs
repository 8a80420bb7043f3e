//! Conversions between texts and numbers (slim-sprig's `numeric.go` and `strings.go`).

use super::super::fault::Fault;
use super::super::format::sprint;
use super::super::value::{Heap, ListType, Text, Value};
use super::Parameter::{Any, Text as TextParameter};
use super::{Arguments, Context, Function, Outcome};

const GROUP: &str = "conversion";

pub(super) const FUNCTIONS: &[Function] = &[
    Function::new("toString", GROUP, "The argument as text.", &[Any], to_string),
    Function::new(
        "toStrings",
        GROUP,
        "The elements of a list as texts, without those that are nil.",
        &[Any],
        to_strings,
    ),
    Function::new(
        "atoi",
        GROUP,
        "The int parsed from a text; 0 if it is not an int.",
        &[TextParameter],
        atoi,
    ),
    Function::new("int", GROUP, "The argument as int; 0 if it is not a number.", &[Any], int),
    Function::new("int64", GROUP, "The argument as int64; 0 if it is not a number.", &[Any], int64),
    Function::new("float64", GROUP, "The argument as float64; 0 if it is not a number.", &[Any], float64),
    Function::new(
        "toDecimal",
        GROUP,
        "The int64 parsed from an octal number; 0 if it is not one.",
        &[Any],
        to_decimal,
    ),
];

/// Converts any value to text: texts as they are, others as `%v`.
pub(super) fn text_of<'a>(heap: &mut Heap<'a>, value: &Value<'a>) -> Result<Text<'a>, Fault<'a>> {
    match value {
        Value::Text(text) => Ok(text.clone()),
        other => Ok(Text::from(sprint(heap, std::slice::from_ref(other))?)),
    }
}

/// Converts the elements of a list to texts; another value counts as a list of one.
pub(super) fn texts_of<'a>(heap: &mut Heap<'a>, value: &Value<'a>) -> Result<Vec<Text<'a>>, Fault<'a>> {
    match value {
        Value::Nil(_) => Ok(Vec::new()),
        Value::List(list) => {
            let items = heap.items(*list);
            items.iter().filter(|item| !item.is_nil()).map(|item| text_of(heap, item)).collect()
        }
        other => Ok(vec![text_of(heap, other)?]),
    }
}

/// Converts a float64 to an int64 as Go does on common processors.
pub(super) fn truncated(number: f64) -> i64 {
    const LIMIT: f64 = 9_223_372_036_854_775_808.0;
    if !(-LIMIT..LIMIT).contains(&number) {
        return i64::MIN;
    }
    #[expect(clippy::cast_possible_truncation, reason = "within the bounds of i64")]
    let whole = number as i64;
    whole
}

/// Parses an integer as `strconv.ParseInt` does, with a base up to 10.
pub(super) fn parse_integer(text: &[u8], radix: u32) -> Option<i64> {
    let text = std::str::from_utf8(text).ok()?;
    i64::from_str_radix(text, radix).ok()
}

/// Parses a float as `strconv.ParseFloat` does.
fn parse_float(text: &[u8]) -> Option<f64> {
    let text = std::str::from_utf8(text).ok()?;
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let lower = unsigned.to_ascii_lowercase();
    if matches!(lower.as_str(), "inf" | "infinity" | "nan") {
        // Go refuses a sign before nan.
        return if lower == "nan" && unsigned != text { None } else { text.parse().ok() };
    }
    super::super::parse::parse_float(text)
}

/// Converts the value to an int64, as slim-sprig's `toInt64` does.
pub(super) fn int64_of(value: &Value<'_>) -> i64 {
    match value {
        Value::Text(text) => parse_integer(text.bytes(), 10).unwrap_or(0),
        Value::Bool(value) => i64::from(*value),
        Value::Float(number) => truncated(*number),
        other => other.integer().unwrap_or(0),
    }
}

/// Converts the value to a float64, as slim-sprig's `toFloat64` does.
pub(super) fn float_of(value: &Value<'_>) -> f64 {
    match value {
        Value::Text(text) => parse_float(text.bytes()).unwrap_or(0.0),
        Value::Bool(value) => f64::from(u8::from(*value)),
        Value::Float(number) => *number,
        #[expect(clippy::cast_precision_loss, reason = "Go converts the same way")]
        other => other.integer().unwrap_or(0) as f64,
    }
}

fn to_string<'a>(context: &mut Context<'a>, arguments: &Arguments<'_, 'a>) -> Outcome<'a> {
    let text = text_of(&mut context.heap, arguments.any(0)?)?;
    context.heap.text(text)
}

fn to_strings<'a>(context: &mut Context<'a>, arguments: &Arguments<'_, 'a>) -> Outcome<'a> {
    let value = arguments.any(0)?;
    if let Value::List(list) = value
        && context.heap.list_type(*list) == ListType::Text
    {
        return Ok(value.clone());
    }
    let texts = texts_of(&mut context.heap, value)?;
    context.heap.texts(texts)
}

fn atoi<'a>(_: &mut Context<'a>, arguments: &Arguments<'_, 'a>) -> Outcome<'a> {
    let text = arguments.bytes(0)?;
    let number = parse_integer(text, 10).unwrap_or_else(|| beyond_range(text));
    Ok(Value::Int(number))
}

/// Returns the int that is nearest to a number out of range. `strconv.Atoi` gives it together with an error, which
/// `atoi` ignores.
pub(super) fn beyond_range(text: &[u8]) -> i64 {
    let digits = text.strip_prefix(b"-").or(text.strip_prefix(b"+")).unwrap_or(text);
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
        return 0;
    }
    if text.starts_with(b"-") { i64::MIN } else { i64::MAX }
}

fn int<'a>(_: &mut Context<'a>, arguments: &Arguments<'_, 'a>) -> Outcome<'a> {
    Ok(Value::Int(int64_of(arguments.any(0)?)))
}

fn int64<'a>(_: &mut Context<'a>, arguments: &Arguments<'_, 'a>) -> Outcome<'a> {
    Ok(Value::Int64(int64_of(arguments.any(0)?)))
}

fn float64<'a>(_: &mut Context<'a>, arguments: &Arguments<'_, 'a>) -> Outcome<'a> {
    Ok(Value::Float(float_of(arguments.any(0)?)))
}

fn to_decimal<'a>(context: &mut Context<'a>, arguments: &Arguments<'_, 'a>) -> Outcome<'a> {
    let text = text_of(&mut context.heap, arguments.any(0)?)?;
    Ok(Value::Int64(parse_integer(text.bytes(), 8).unwrap_or(0)))
}
