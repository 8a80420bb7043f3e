//! The built-in functions of Go's `text/template`, without comparisons and escaping.

use super::super::fault::Fault;
use super::super::format::Printer;
use super::super::value::{MapType, Text, Value};
use super::Parameter::{Any, Text as TextParameter};
use super::conversion::text_of;
use super::{Absence, Arguments, Body, Context, Function, Outcome};

const GROUP: &str = "Go";

pub(super) const FUNCTIONS: &[Function] = &[
    until("and", "The first argument that counts as false, else the last one.", false),
    until("or", "The first argument that counts as true, else the last one.", true),
    Function::new("not", GROUP, "Whether the argument counts as false.", &[Any], not).allows_absence(),
    Function::new("index", GROUP, "The element that the further arguments lead to.", &[Any], index).rest(Any),
    Function::new("len", GROUP, "The length of a list, map or text (in bytes).", &[Any], len),
    Function::new("print", GROUP, "The arguments as text, by Go's fmt.Sprint.", &[], print).rest(Any),
    Function::new(
        "printf",
        GROUP,
        "The arguments in a format, by Go's fmt.Sprintf.",
        &[TextParameter],
        printf,
    )
    .rest(Any),
    Function::new("println", GROUP, "The arguments as a line of text, by Go's fmt.Sprintln.", &[], println)
        .rest(Any),
    Function::new("call", GROUP, "Fails: there are no values that can be called.", &[Any], call).rest(Any),
];

const fn until(name: &'static str, summary: &'static str, truth: bool) -> Function {
    let (parameters, rest) = (&[Any] as &[_], Some(Any));
    let (absence, body) = (Absence::Allowed, Body::Until(truth));
    Function { name, group: GROUP, summary, parameters, rest, absence, body }
}

fn not<'a>(context: &mut Context<'a>, arguments: &Arguments<'_, 'a>) -> Outcome<'a> {
    Ok(Value::Bool(!arguments.any(0)?.truth(&context.heap)))
}

fn index<'a>(context: &mut Context<'a>, arguments: &Arguments<'_, 'a>) -> Outcome<'a> {
    let mut item = arguments.any(0)?.clone();
    if item.is_nil() {
        return Err(Fault::failed("index of untyped nil"));
    }
    for (at, key) in arguments.from(1).iter().enumerate() {
        if let Some(path) = item.missing_field() {
            // The render waits for the whole path.
            let mut path = path.clone();
            for key in arguments.from(1 + at) {
                path = path.below(text_of(&mut context.heap, key)?);
            }
            return Err(Fault::Missing(path));
        }
        item = element(context, &item, key)?;
    }
    Ok(item)
}

fn element<'a>(context: &mut Context<'a>, item: &Value<'a>, key: &Value<'a>) -> Outcome<'a> {
    let type_name = key.type_name(&context.heap);
    match item {
        Value::Nil(_) => Err(Fault::failed("index of nil pointer")),
        Value::Text(text) => {
            let bytes = text.bytes();
            let position = position(key, type_name, bytes.len())?;
            bytes.get(position).map(|byte| Value::Byte(*byte)).ok_or_else(|| out_of_range(position))
        }
        Value::List(list) => {
            let items = context.heap.items(*list);
            let position = position(key, type_name, items.len())?;
            items.get(position).cloned().ok_or_else(|| out_of_range(position))
        }
        Value::Map(map) => match key {
            Value::Text(key) => Ok(match context.heap.map_type(*map) {
                MapType::Any => context.heap.field(*map, key).into_element(),
                MapType::Text => context.heap.entry(*map, key.bytes()).unwrap_or(Value::Text(Text::from(""))),
            }),
            Value::Nil(_) => Err(Fault::failed("value is nil; should be of type string")),
            _ => Err(Fault::failed(format!("value has type {type_name}; should be string"))),
        },
        other => Err(Fault::failed(format!("can't index item of type {}", other.type_name(&context.heap)))),
    }
}

fn out_of_range(position: usize) -> Fault<'static> {
    Fault::failed(format!("reflect: slice index out of range: {position}"))
}

/// Checks an index into something of that length, and returns it. Go allows the length itself here and fails later.
fn position<'a>(key: &Value<'a>, type_name: &str, length: usize) -> Result<usize, Fault<'a>> {
    let Some(number) = key.integer() else {
        return Err(Fault::failed(match key {
            Value::Nil(_) => "cannot index slice/array with nil".to_owned(),
            _ => format!("cannot index slice/array with type {type_name}"),
        }));
    };
    usize::try_from(number)
        .ok()
        .filter(|position| *position <= length)
        .ok_or_else(|| Fault::failed(format!("index out of range: {number}")))
}

fn len<'a>(context: &mut Context<'a>, arguments: &Arguments<'_, 'a>) -> Outcome<'a> {
    let value = arguments.any(0)?;
    let length = match value {
        Value::Text(text) => text.bytes().len(),
        Value::List(list) => context.heap.list_length(*list),
        Value::Map(map) => context.heap.map_length(*map),
        Value::Nil(_) => return Err(Fault::failed("len of nil")),
        other => return Err(Fault::failed(format!("len of type {}", other.type_name(&context.heap)))),
    };
    Ok(Value::Int(i64::try_from(length).unwrap_or(i64::MAX)))
}

fn print<'a>(context: &mut Context<'a>, arguments: &Arguments<'_, 'a>) -> Outcome<'a> {
    let mut printer = Printer::new(&mut context.heap);
    printer.print(arguments.all())?;
    let text = printer.finish()?;
    context.heap.text(text)
}

fn printf<'a>(context: &mut Context<'a>, arguments: &Arguments<'_, 'a>) -> Outcome<'a> {
    let mut printer = Printer::new(&mut context.heap);
    printer.print_format(arguments.bytes(0)?, arguments.from(1))?;
    let text = printer.finish()?;
    context.heap.text(text)
}

fn println<'a>(context: &mut Context<'a>, arguments: &Arguments<'_, 'a>) -> Outcome<'a> {
    let mut printer = Printer::new(&mut context.heap);
    printer.print_line(arguments.all())?;
    let text = printer.finish()?;
    context.heap.text(text)
}

fn call<'a>(context: &mut Context<'a>, arguments: &Arguments<'_, 'a>) -> Outcome<'a> {
    Err(Fault::failed(match arguments.any(0)? {
        Value::Nil(_) => "call of nil".to_owned(),
        other => format!("non-function of type {}", other.type_name(&context.heap)),
    }))
}
