//! Arithmetic (slim-sprig's `numeric.go`). Integers wrap around as Go's do.

use super::super::fault::Fault;
use super::super::value::{ListType, Value};
use super::Parameter::{Any, Float, Int};
use super::conversion::{float_of, int64_of};
use super::{Arguments, Context, Function, Outcome};
use crate::limits::{ELEMENTS, Limit};

const GROUP: &str = "math";

pub(super) const FUNCTIONS: &[Function] = &[
    Function::new("add", GROUP, "The sum, as int64.", &[], add).rest(Any),
    Function::new("add1", GROUP, "One more, as int64.", &[Any], add1),
    Function::new("sub", GROUP, "The difference, as int64.", &[Any, Any], sub),
    Function::new("mul", GROUP, "The product, as int64.", &[Any], mul).rest(Any),
    Function::new("div", GROUP, "The quotient without its fraction, as int64.", &[Any, Any], div),
    Function::new("mod", GROUP, "The remainder of a division, as int64.", &[Any, Any], modulo),
    Function::new("max", GROUP, "The largest argument, as int64.", &[Any], max).rest(Any),
    Function::new("biggest", GROUP, "The same as max.", &[Any], max).rest(Any),
    Function::new("min", GROUP, "The smallest argument, as int64.", &[Any], min).rest(Any),
    Function::new("maxf", GROUP, "The largest argument, as float64.", &[Any], maxf).rest(Any),
    Function::new("minf", GROUP, "The smallest argument, as float64.", &[Any], minf).rest(Any),
    Function::new("ceil", GROUP, "The next whole number above, as float64.", &[Any], ceil),
    Function::new("floor", GROUP, "The next whole number below, as float64.", &[Any], floor),
    Function::new(
        "round",
        GROUP,
        "Rounded to that many places; the third argument is the fraction to round up from (default: 0.5).",
        &[Any, Int],
        round,
    )
    .rest(Float),
    Function::new("until", GROUP, "The ints from 0 up to the argument, without it.", &[Int], until),
    Function::new(
        "untilStep",
        GROUP,
        "The ints from the first argument up to the second, in steps of the third.",
        &[Int, Int, Int],
        until_step,
    ),
    Function::new("seq", GROUP, "The numbers from, by steps of, up to and with, as text.", &[], seq)
        .rest(Int),
];

fn add<'a>(_: &mut Context<'a>, arguments: &Arguments<'_, 'a>) -> Outcome<'a> {
    Ok(Value::Int64(arguments.all().iter().map(int64_of).fold(0, i64::wrapping_add)))
}

fn add1<'a>(_: &mut Context<'a>, arguments: &Arguments<'_, 'a>) -> Outcome<'a> {
    Ok(Value::Int64(int64_of(arguments.any(0)?).wrapping_add(1)))
}

fn sub<'a>(_: &mut Context<'a>, arguments: &Arguments<'_, 'a>) -> Outcome<'a> {
    Ok(Value::Int64(int64_of(arguments.any(0)?).wrapping_sub(int64_of(arguments.any(1)?))))
}

fn mul<'a>(_: &mut Context<'a>, arguments: &Arguments<'_, 'a>) -> Outcome<'a> {
    Ok(Value::Int64(arguments.all().iter().map(int64_of).fold(1, i64::wrapping_mul)))
}

fn operands<'a>(arguments: &Arguments<'_, 'a>) -> Result<(i64, i64), Fault<'a>> {
    match int64_of(arguments.any(1)?) {
        0 => Err(Fault::failed("runtime error: integer divide by zero")),
        divisor => Ok((int64_of(arguments.any(0)?), divisor)),
    }
}

fn div<'a>(_: &mut Context<'a>, arguments: &Arguments<'_, 'a>) -> Outcome<'a> {
    operands(arguments).map(|(dividend, divisor)| Value::Int64(dividend.wrapping_div(divisor)))
}

fn modulo<'a>(_: &mut Context<'a>, arguments: &Arguments<'_, 'a>) -> Outcome<'a> {
    operands(arguments).map(|(dividend, divisor)| Value::Int64(dividend.wrapping_rem(divisor)))
}

fn max<'a>(_: &mut Context<'a>, arguments: &Arguments<'_, 'a>) -> Outcome<'a> {
    Ok(Value::Int64(arguments.all().iter().map(int64_of).max().unwrap_or(0)))
}

fn min<'a>(_: &mut Context<'a>, arguments: &Arguments<'_, 'a>) -> Outcome<'a> {
    Ok(Value::Int64(arguments.all().iter().map(int64_of).min().unwrap_or(0)))
}

/// Returns the greater or the smaller of two numbers, as `math.Max` and `math.Min` do: infinity takes precedence over
/// NaN, NaN over all others, and 0 is more than -0.
fn extreme(left: f64, right: f64, greatest: bool) -> f64 {
    let infinity = if greatest { f64::INFINITY } else { f64::NEG_INFINITY };
    #[expect(clippy::float_cmp, reason = "exactly infinity and exactly zero are meant")]
    if left == infinity || right == infinity {
        return infinity;
    } else if left.is_nan() || right.is_nan() {
        return f64::NAN;
    } else if left == 0.0 && right == 0.0 {
        return if left.is_sign_negative() == greatest { right } else { left };
    }
    if (left > right) == greatest { left } else { right }
}

fn maxf<'a>(_: &mut Context<'a>, arguments: &Arguments<'_, 'a>) -> Outcome<'a> {
    let numbers = arguments.all().iter().map(float_of);
    Ok(Value::Float(numbers.reduce(|left, right| extreme(left, right, true)).unwrap_or(0.0)))
}

fn minf<'a>(_: &mut Context<'a>, arguments: &Arguments<'_, 'a>) -> Outcome<'a> {
    let numbers = arguments.all().iter().map(float_of);
    Ok(Value::Float(numbers.reduce(|left, right| extreme(left, right, false)).unwrap_or(0.0)))
}

fn ceil<'a>(_: &mut Context<'a>, arguments: &Arguments<'_, 'a>) -> Outcome<'a> {
    Ok(Value::Float(float_of(arguments.any(0)?).ceil()))
}

fn floor<'a>(_: &mut Context<'a>, arguments: &Arguments<'_, 'a>) -> Outcome<'a> {
    Ok(Value::Float(float_of(arguments.any(0)?).floor()))
}

fn round<'a>(_: &mut Context<'a>, arguments: &Arguments<'_, 'a>) -> Outcome<'a> {
    let up_from = if arguments.all().len() > 2 { arguments.float(2)? } else { 0.5 };
    let power = power_of_ten(arguments.int(1)?);
    let scaled = power * float_of(arguments.any(0)?);
    // Go's Modf of an infinite number has NaN as its fraction, which is never large enough.
    let fraction = if scaled.is_infinite() { f64::NAN } else { scaled - scaled.trunc() };
    let rounded = if fraction >= up_from { scaled.ceil() } else { scaled.floor() };
    Ok(Value::Float(rounded / power))
}

/// Computes `math.Pow(10, exponent)` step by step, as Go does: the last bit shows in the output.
fn power_of_ten(exponent: i64) -> f64 {
    if exponent.unsigned_abs() > 400 {
        return if exponent < 0 { 0.0 } else { f64::INFINITY };
    }
    // 10 is 0.625 × 2⁴.
    let (mut mantissa, mut binary) = (1.0_f64, 0_i32);
    let (mut square, mut square_binary) = (0.625_f64, 4_i32);
    let mut left = exponent.unsigned_abs();
    while left != 0 {
        if left & 1 == 1 {
            mantissa *= square;
            binary += square_binary;
        }
        square *= square;
        square_binary *= 2;
        if square < 0.5 {
            square += square;
            square_binary -= 1;
        }
        left >>= 1;
    }
    if exponent < 0 {
        mantissa = 1.0 / mantissa;
        binary = -binary;
    }
    // In two steps, so that the power of two itself never leaves the range.
    let half = binary / 2;
    mantissa * 2f64.powi(half) * 2f64.powi(binary - half)
}

/// Lists the ints from `start` to before `end`.
fn steps<'a>(start: i64, end: i64, step: i64) -> Result<Vec<i64>, Fault<'a>> {
    let mut numbers = Vec::new();
    let mut next = start;
    let downwards = end < start;
    if downwards == (step >= 0) || step == 0 {
        return Ok(numbers);
    }
    while if downwards { next > end } else { next < end } {
        if numbers.len() == ELEMENTS {
            return Err(Fault::Limit(Limit::ValueSize));
        }
        numbers.push(next);
        next = next.wrapping_add(step);
    }
    Ok(numbers)
}

fn until<'a>(context: &mut Context<'a>, arguments: &Arguments<'_, 'a>) -> Outcome<'a> {
    let stop = arguments.int(0)?;
    let numbers = steps(0, stop, if stop < 0 { -1 } else { 1 })?;
    context.heap.list(ListType::Int, numbers.into_iter().map(Value::Int).collect())
}

fn until_step<'a>(context: &mut Context<'a>, arguments: &Arguments<'_, 'a>) -> Outcome<'a> {
    let numbers = steps(arguments.int(0)?, arguments.int(1)?, arguments.int(2)?)?;
    context.heap.list(ListType::Int, numbers.into_iter().map(Value::Int).collect())
}

fn seq<'a>(context: &mut Context<'a>, arguments: &Arguments<'_, 'a>) -> Outcome<'a> {
    let (start, step, end) = match arguments.all().len() {
        1 => (1, None, arguments.int(0)?),
        2 => (arguments.int(0)?, None, arguments.int(1)?),
        3 => (arguments.int(0)?, Some(arguments.int(1)?), arguments.int(2)?),
        _ => return context.heap.text(Vec::new()),
    };
    let towards = if end < start { -1 } else { 1 };
    if towards < 0 && step.is_some_and(|step| step > 0) {
        return context.heap.text(Vec::new());
    }
    let numbers = steps(start, end.wrapping_add(towards), step.unwrap_or(towards))?;
    let texts: Vec<String> = numbers.iter().map(i64::to_string).collect();
    context.heap.text(texts.join(" "))
}
