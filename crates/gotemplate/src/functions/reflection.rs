//! The types and kinds of values in Go (slim-sprig's `reflect.go`).

use super::super::value::{Value, deep_equal};
use super::Parameter::{Any, Text};
use super::{Arguments, Context, Function, Outcome};

const GROUP: &str = "reflection";

pub(super) const FUNCTIONS: &[Function] = &[
    Function::new("typeOf", GROUP, "Go's name of the type.", &[Any], type_of).allows_absence(),
    Function::new(
        "typeIs",
        GROUP,
        "Whether the second argument has the type of that name.",
        &[Text, Any],
        type_is,
    )
    .allows_absence(),
    Function::new("typeIsLike", GROUP, "The same as typeIs: there are no pointers.", &[Text, Any], type_is)
        .allows_absence(),
    Function::new("kindOf", GROUP, "Go's name of the kind.", &[Any], kind_of).allows_absence(),
    Function::new(
        "kindIs",
        GROUP,
        "Whether the second argument has the kind of that name.",
        &[Text, Any],
        kind_is,
    )
    .allows_absence(),
    Function::new("deepEqual", GROUP, "Whether both have the same type and content.", &[Any, Any], equal)
        .allows_absence(),
];

fn type_of<'a>(context: &mut Context<'a>, arguments: &Arguments<'_, 'a>) -> Outcome<'a> {
    let name = arguments.any(0)?.type_name(&context.heap);
    context.heap.text(name)
}

fn type_is<'a>(context: &mut Context<'a>, arguments: &Arguments<'_, 'a>) -> Outcome<'a> {
    let name = arguments.any(1)?.type_name(&context.heap);
    Ok(Value::Bool(arguments.bytes(0)? == name.as_bytes()))
}

fn kind_of<'a>(context: &mut Context<'a>, arguments: &Arguments<'_, 'a>) -> Outcome<'a> {
    context.heap.text(arguments.any(0)?.kind_name())
}

fn kind_is<'a>(_: &mut Context<'a>, arguments: &Arguments<'_, 'a>) -> Outcome<'a> {
    Ok(Value::Bool(arguments.bytes(0)? == arguments.any(1)?.kind_name().as_bytes()))
}

fn equal<'a>(context: &mut Context<'a>, arguments: &Arguments<'_, 'a>) -> Outcome<'a> {
    deep_equal(&mut context.heap, arguments.any(0)?, arguments.any(1)?, 0).map(Value::Bool)
}
