//! JSON (Go's `encoding/json` as slim-sprig's `defaults.go` uses it).

mod read;
mod write;

use super::super::fault::Fault;
use super::super::value::Value;
use super::Parameter::{Any, Text};
use super::{Arguments, Context, Function, Outcome};

const GROUP: &str = "JSON";

pub(super) const FUNCTIONS: &[Function] = &[
    Function::new("toJson", GROUP, "The argument as JSON, or an empty text.", &[Any], to_json),
    Function::new("mustToJson", GROUP, "The argument as JSON.", &[Any], must_to_json),
    Function::new(
        "toPrettyJson",
        GROUP,
        "The argument as JSON on many lines, or an empty text.",
        &[Any],
        to_pretty,
    ),
    Function::new("mustToPrettyJson", GROUP, "The argument as JSON on many lines.", &[Any], must_to_pretty),
    Function::new("toRawJson", GROUP, "The argument as JSON, without escapes for HTML.", &[Any], must_to_raw),
    Function::new("mustToRawJson", GROUP, "The same as toRawJson.", &[Any], must_to_raw),
    Function::new("fromJson", GROUP, "The value of a JSON text, or nil.", &[Text], from_json),
    Function::new("mustFromJson", GROUP, "The value of a JSON text.", &[Text], must_from_json),
];

fn encode<'a>(context: &mut Context<'a>, arguments: &Arguments<'_, 'a>, style: write::Style) -> Outcome<'a> {
    let text = write::encode(&mut context.heap, arguments.any(0)?, style)?;
    context.heap.text(text)
}

/// Replaces an error by the empty text, for functions in which Go gives up quietly.
fn or_empty(outcome: Outcome<'_>) -> Outcome<'_> {
    match outcome {
        Err(Fault::Failed(_)) => Ok(Value::Text("".into())),
        other => other,
    }
}

fn to_json<'a>(context: &mut Context<'a>, arguments: &Arguments<'_, 'a>) -> Outcome<'a> {
    or_empty(encode(context, arguments, write::Style::Compact))
}

fn must_to_json<'a>(context: &mut Context<'a>, arguments: &Arguments<'_, 'a>) -> Outcome<'a> {
    encode(context, arguments, write::Style::Compact)
}

fn to_pretty<'a>(context: &mut Context<'a>, arguments: &Arguments<'_, 'a>) -> Outcome<'a> {
    or_empty(encode(context, arguments, write::Style::Pretty))
}

fn must_to_pretty<'a>(context: &mut Context<'a>, arguments: &Arguments<'_, 'a>) -> Outcome<'a> {
    encode(context, arguments, write::Style::Pretty)
}

fn must_to_raw<'a>(context: &mut Context<'a>, arguments: &Arguments<'_, 'a>) -> Outcome<'a> {
    encode(context, arguments, write::Style::Raw)
}

fn from_json<'a>(context: &mut Context<'a>, arguments: &Arguments<'_, 'a>) -> Outcome<'a> {
    match must_from_json(context, arguments) {
        Err(Fault::Failed(_)) => Ok(Value::NOTHING),
        other => other,
    }
}

fn must_from_json<'a>(context: &mut Context<'a>, arguments: &Arguments<'_, 'a>) -> Outcome<'a> {
    read::decode(&mut context.heap, arguments.bytes(0)?)
}
