//! Defaults and choices (slim-sprig's `defaults.go`), and the function that gives up.

use super::super::fault::Fault;
use super::super::value::{Heap, Value};
use super::Parameter::{Any, Bool, Text};
use super::{Arguments, Context, Function, Outcome};

const GROUP: &str = "defaults";

pub(super) const FUNCTIONS: &[Function] = &[
    Function::new(
        "default",
        GROUP,
        "The second argument, or the first where that is empty.",
        &[Any],
        default,
    )
    .rest(Any)
    .allows_absence(),
    Function::new(
        "empty",
        GROUP,
        "Whether the argument is nil, zero, false or without content.",
        &[Any],
        empty,
    )
    .allows_absence(),
    Function::new("coalesce", GROUP, "The first argument that is not empty.", &[], coalesce)
        .rest(Any)
        .allows_absence(),
    Function::new("all", GROUP, "Whether no argument is empty.", &[], all).rest(Any).allows_absence(),
    Function::new("any", GROUP, "Whether any argument is not empty.", &[], any).rest(Any).allows_absence(),
    Function::new(
        "ternary",
        GROUP,
        "The first argument if the third is true, else the second.",
        &[Any, Any, Bool],
        ternary,
    )
    .allows_absence(),
    Function::new("fail", GROUP, "Stops with this message.", &[Text], fail),
    Function::new("hello", GROUP, "A greeting.", &[], hello),
];

/// Whether a value is the zero of its type or has no content.
pub(super) fn is_empty<'a>(heap: &Heap<'a>, value: &Value<'a>) -> bool {
    !value.truth(heap)
}

fn default<'a>(context: &mut Context<'a>, arguments: &Arguments<'_, 'a>) -> Outcome<'a> {
    Ok(match arguments.from(1).first() {
        Some(given) if !is_empty(&context.heap, given) => given.clone(),
        _ => arguments.any(0)?.clone(),
    })
}

fn empty<'a>(context: &mut Context<'a>, arguments: &Arguments<'_, 'a>) -> Outcome<'a> {
    Ok(Value::Bool(is_empty(&context.heap, arguments.any(0)?)))
}

fn coalesce<'a>(context: &mut Context<'a>, arguments: &Arguments<'_, 'a>) -> Outcome<'a> {
    let found = arguments.all().iter().find(|value| !is_empty(&context.heap, value));
    Ok(found.cloned().unwrap_or(Value::NOTHING))
}

fn all<'a>(context: &mut Context<'a>, arguments: &Arguments<'_, 'a>) -> Outcome<'a> {
    Ok(Value::Bool(arguments.all().iter().all(|value| !is_empty(&context.heap, value))))
}

fn any<'a>(context: &mut Context<'a>, arguments: &Arguments<'_, 'a>) -> Outcome<'a> {
    Ok(Value::Bool(arguments.all().iter().any(|value| !is_empty(&context.heap, value))))
}

fn ternary<'a>(_: &mut Context<'a>, arguments: &Arguments<'_, 'a>) -> Outcome<'a> {
    Ok(arguments.any(usize::from(!arguments.bool(2)?))?.clone())
}

fn fail<'a>(_: &mut Context<'a>, arguments: &Arguments<'_, 'a>) -> Outcome<'a> {
    Err(Fault::failed(arguments.text(0)?.to_str()))
}

fn hello<'a>(context: &mut Context<'a>, _: &Arguments<'_, 'a>) -> Outcome<'a> {
    context.heap.text("Hello!")
}
