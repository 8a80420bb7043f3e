//! Comparisons: Go compares values of one kind only.

use std::cmp::Ordering;

use super::super::fault::Fault;
use super::super::value::{Heap, Value};
use super::Parameter::Any;
use super::{Arguments, Context, Function, Outcome};

const GROUP: &str = "comparison";

pub(super) const FUNCTIONS: &[Function] = &[
    Function::new("eq", GROUP, "Whether the first argument equals any of the others.", &[Any], eq)
        .rest(Any)
        .allows_absence(),
    Function::new("ne", GROUP, "Whether the arguments differ.", &[Any, Any], ne).allows_absence(),
    Function::new("lt", GROUP, "Whether the first argument is less than the second.", &[Any, Any], lt),
    Function::new("le", GROUP, "Whether the first argument is at most the second.", &[Any, Any], le),
    Function::new("gt", GROUP, "Whether the first argument is greater than the second.", &[Any, Any], gt),
    Function::new("ge", GROUP, "Whether the first argument is at least the second.", &[Any, Any], ge),
];

/// The kinds that can be compared with each other.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    None,
    Bool,
    Int,
    Unsigned,
    Float,
    Text,
}

fn kind(value: &Value<'_>) -> Kind {
    match value {
        Value::Bool(_) => Kind::Bool,
        Value::Int(_) | Value::Int64(_) => Kind::Int,
        Value::Byte(_) => Kind::Unsigned,
        Value::Float(_) => Kind::Float,
        Value::Text(_) => Kind::Text,
        Value::Nil(_) | Value::List(_) | Value::Map(_) => Kind::None,
    }
}

fn equal<'a>(heap: &Heap<'a>, left: &Value<'a>, right: &Value<'a>) -> Result<bool, Fault<'a>> {
    if let (Some(left), Some(right)) = (left.integer(), right.integer()) {
        return Ok(left == right);
    }
    if kind(left) != kind(right) {
        if left.is_nil() || right.is_nil() {
            return Ok(false);
        }
        let (left, right) = (left.type_name(heap), right.type_name(heap));
        return Err(Fault::failed(format!("incompatible types for comparison: {left} and {right}")));
    }
    match (left, right) {
        (Value::Bool(left), Value::Bool(right)) => Ok(left == right),
        #[expect(clippy::float_cmp, reason = "Go compares floats exactly")]
        (Value::Float(left), Value::Float(right)) => Ok(left == right),
        (Value::Text(left), Value::Text(right)) => Ok(left == right),
        (Value::List(_), Value::Map(_)) | (Value::Map(_), Value::List(_)) => {
            Err(Fault::failed("non-comparable types: a list and a map"))
        }
        _ if is_nil(heap, left) || is_nil(heap, right) => Ok(is_nil(heap, left) == is_nil(heap, right)),
        _ => Err(Fault::failed(format!("non-comparable type {}", right.type_name(heap)))),
    }
}

fn is_nil<'a>(heap: &Heap<'a>, value: &Value<'a>) -> bool {
    match value {
        Value::Nil(_) => true,
        Value::List(list) => heap.list_is_nil(*list),
        Value::Map(map) => heap.map_is_nil(*map),
        _ => false,
    }
}

/// Whether the first value is less than the second.
fn less<'a>(heap: &Heap<'a>, left: &Value<'a>, right: &Value<'a>) -> Result<bool, Fault<'a>> {
    if kind(left) == Kind::None || kind(right) == Kind::None {
        return Err(Fault::failed("invalid type for comparison"));
    }
    if let (Some(left), Some(right)) = (left.integer(), right.integer()) {
        return Ok(left < right);
    }
    if kind(left) != kind(right) {
        let (left, right) = (left.type_name(heap), right.type_name(heap));
        return Err(Fault::failed(format!("incompatible types for comparison: {left} and {right}")));
    }
    match (left, right) {
        (Value::Float(left), Value::Float(right)) => Ok(left.partial_cmp(right) == Some(Ordering::Less)),
        (Value::Text(left), Value::Text(right)) => Ok(left < right),
        _ => Err(Fault::failed("invalid type for comparison")),
    }
}

fn at_most<'a>(heap: &Heap<'a>, left: &Value<'a>, right: &Value<'a>) -> Result<bool, Fault<'a>> {
    Ok(less(heap, left, right)? || equal(heap, left, right)?)
}

fn eq<'a>(context: &mut Context<'a>, arguments: &Arguments<'_, 'a>) -> Outcome<'a> {
    let first = arguments.any(0)?;
    if arguments.from(1).is_empty() {
        return Err(Fault::failed("missing argument for comparison"));
    }
    for other in arguments.from(1) {
        if equal(&context.heap, first, other)? {
            return Ok(Value::Bool(true));
        }
    }
    Ok(Value::Bool(false))
}

fn ne<'a>(context: &mut Context<'a>, arguments: &Arguments<'_, 'a>) -> Outcome<'a> {
    equal(&context.heap, arguments.any(0)?, arguments.any(1)?).map(|equal| Value::Bool(!equal))
}

fn lt<'a>(context: &mut Context<'a>, arguments: &Arguments<'_, 'a>) -> Outcome<'a> {
    less(&context.heap, arguments.any(0)?, arguments.any(1)?).map(Value::Bool)
}

fn le<'a>(context: &mut Context<'a>, arguments: &Arguments<'_, 'a>) -> Outcome<'a> {
    at_most(&context.heap, arguments.any(0)?, arguments.any(1)?).map(Value::Bool)
}

fn gt<'a>(context: &mut Context<'a>, arguments: &Arguments<'_, 'a>) -> Outcome<'a> {
    at_most(&context.heap, arguments.any(0)?, arguments.any(1)?).map(|at_most| Value::Bool(!at_most))
}

fn ge<'a>(context: &mut Context<'a>, arguments: &Arguments<'_, 'a>) -> Outcome<'a> {
    less(&context.heap, arguments.any(0)?, arguments.any(1)?).map(|less| Value::Bool(!less))
}
