//! Lists (slim-sprig's `list.go`).

use std::rc::Rc;

use super::super::fault::Fault;
use super::super::value::{ListId, ListType, Text, Value, deep_equal, joined};
use super::Parameter::{Any, Int, Text as TextParameter};
use super::conversion::{int64_of, text_of, texts_of};
use super::defaults::is_empty;
use super::{Arguments, Context, Function, Outcome};

const GROUP: &str = "lists";

pub(super) const FUNCTIONS: &[Function] = &[
    Function::new("list", GROUP, "A list of the arguments.", &[], list).rest(Any).allows_absence(),
    Function::new("tuple", GROUP, "The same as list.", &[], list).rest(Any).allows_absence(),
    Function::new("first", GROUP, "The first element.", &[Any], first),
    Function::new("mustFirst", GROUP, "The same as first.", &[Any], first),
    Function::new("last", GROUP, "The last element.", &[Any], last),
    Function::new("mustLast", GROUP, "The same as last.", &[Any], last),
    Function::new("rest", GROUP, "All elements but the first.", &[Any], rest),
    Function::new("mustRest", GROUP, "The same as rest.", &[Any], rest),
    Function::new("initial", GROUP, "All elements but the last.", &[Any], initial),
    Function::new("mustInitial", GROUP, "The same as initial.", &[Any], initial),
    Function::new("append", GROUP, "The list with one more element at its end.", &[Any, Any], append),
    Function::new("mustAppend", GROUP, "The same as append.", &[Any, Any], append),
    Function::new("push", GROUP, "The same as append.", &[Any, Any], append),
    Function::new("mustPush", GROUP, "The same as append.", &[Any, Any], append),
    Function::new("prepend", GROUP, "The list with one more element at its start.", &[Any, Any], prepend),
    Function::new("mustPrepend", GROUP, "The same as prepend.", &[Any, Any], prepend),
    Function::new("concat", GROUP, "One list of the elements of all lists.", &[], concat).rest(Any),
    Function::new("reverse", GROUP, "The elements from last to first.", &[Any], reverse),
    Function::new("mustReverse", GROUP, "The same as reverse.", &[Any], reverse),
    Function::new("compact", GROUP, "The elements that are not empty.", &[Any], compact),
    Function::new("mustCompact", GROUP, "The same as compact.", &[Any], compact),
    Function::new("uniq", GROUP, "The elements, each once.", &[Any], uniq),
    Function::new("mustUniq", GROUP, "The same as uniq.", &[Any], uniq),
    Function::new(
        "without",
        GROUP,
        "The elements that equal none of the further arguments.",
        &[Any],
        without,
    )
    .rest(Any),
    Function::new("mustWithout", GROUP, "The same as without.", &[Any], without).rest(Any),
    Function::new("has", GROUP, "Whether the first argument is an element of the list.", &[Any, Any], has)
        .allows_absence(),
    Function::new("mustHas", GROUP, "The same as has.", &[Any, Any], has).allows_absence(),
    Function::new("slice", GROUP, "The elements from one index to before another.", &[Any], slice).rest(Any),
    Function::new("mustSlice", GROUP, "The same as slice.", &[Any], slice).rest(Any),
    Function::new("chunk", GROUP, "Lists of that many elements.", &[Int, Any], chunk),
    Function::new("mustChunk", GROUP, "The same as chunk.", &[Int, Any], chunk),
    Function::new("sortAlpha", GROUP, "The elements as texts, sorted.", &[Any], sort_alpha),
    Function::new(
        "join",
        GROUP,
        "The elements as one text, with a separator between them.",
        &[TextParameter, Any],
        join,
    ),
];

type Items<'a> = Rc<Vec<Value<'a>>>;

fn list_id<'a>(value: &Value<'a>, action: &str) -> Result<ListId, Fault<'a>> {
    match value {
        Value::List(list) => Ok(*list),
        other => Err(Fault::failed(format!("Cannot {action} type {}", other.kind_name()))),
    }
}

fn items<'a>(context: &mut Context<'a>, value: &Value<'a>, action: &str) -> Result<Items<'a>, Fault<'a>> {
    let list = list_id(value, action)?;
    Ok(context.heap.items(list))
}

fn list<'a>(context: &mut Context<'a>, arguments: &Arguments<'_, 'a>) -> Outcome<'a> {
    context.heap.list(ListType::Any, arguments.all().to_vec())
}

fn first<'a>(context: &mut Context<'a>, arguments: &Arguments<'_, 'a>) -> Outcome<'a> {
    let items = items(context, arguments.any(0)?, "find first on")?;
    Ok(items.first().cloned().unwrap_or(Value::NOTHING).into_element())
}

fn last<'a>(context: &mut Context<'a>, arguments: &Arguments<'_, 'a>) -> Outcome<'a> {
    let items = items(context, arguments.any(0)?, "find last on")?;
    Ok(items.last().cloned().unwrap_or(Value::NOTHING).into_element())
}

fn rest<'a>(context: &mut Context<'a>, arguments: &Arguments<'_, 'a>) -> Outcome<'a> {
    match items(context, arguments.any(0)?, "find rest on")?.split_first() {
        Some((_, rest)) => context.heap.list(ListType::Any, rest.to_vec()),
        None => context.heap.nil_list(ListType::Any),
    }
}

fn initial<'a>(context: &mut Context<'a>, arguments: &Arguments<'_, 'a>) -> Outcome<'a> {
    match items(context, arguments.any(0)?, "find initial on")?.split_last() {
        Some((_, initial)) => context.heap.list(ListType::Any, initial.to_vec()),
        None => context.heap.nil_list(ListType::Any),
    }
}

fn append<'a>(context: &mut Context<'a>, arguments: &Arguments<'_, 'a>) -> Outcome<'a> {
    let mut all = items(context, arguments.any(0)?, "push on")?.to_vec();
    all.push(arguments.any(1)?.clone());
    context.heap.list(ListType::Any, all)
}

fn prepend<'a>(context: &mut Context<'a>, arguments: &Arguments<'_, 'a>) -> Outcome<'a> {
    let items = items(context, arguments.any(0)?, "prepend on")?;
    let mut all = vec![arguments.any(1)?.clone()];
    all.extend(items.iter().cloned());
    context.heap.list(ListType::Any, all)
}

fn concat<'a>(context: &mut Context<'a>, arguments: &Arguments<'_, 'a>) -> Outcome<'a> {
    let mut all = Vec::new();
    for argument in arguments.all() {
        let items = items(context, argument, "concat")?;
        context.heap.step(items.len())?;
        all.extend(items.iter().cloned());
    }
    if all.is_empty() {
        return context.heap.nil_list(ListType::Any);
    }
    context.heap.list(ListType::Any, all)
}

fn reverse<'a>(context: &mut Context<'a>, arguments: &Arguments<'_, 'a>) -> Outcome<'a> {
    let items = items(context, arguments.any(0)?, "find reverse on")?;
    context.heap.list(ListType::Any, items.iter().rev().cloned().collect())
}

fn compact<'a>(context: &mut Context<'a>, arguments: &Arguments<'_, 'a>) -> Outcome<'a> {
    let items = items(context, arguments.any(0)?, "compact on")?;
    let kept = items.iter().filter(|item| !is_empty(&context.heap, item)).cloned().collect();
    context.heap.list(ListType::Any, kept)
}

fn contains<'a>(
    context: &mut Context<'a>,
    haystack: &[Value<'a>],
    needle: &Value<'a>,
) -> Result<bool, Fault<'a>> {
    context.heap.step(haystack.len() / 8)?;
    for candidate in haystack {
        if deep_equal(&mut context.heap, needle, candidate, 0)? {
            return Ok(true);
        }
    }
    Ok(false)
}

fn uniq<'a>(context: &mut Context<'a>, arguments: &Arguments<'_, 'a>) -> Outcome<'a> {
    let mut kept: Vec<Value<'a>> = Vec::new();
    for item in items(context, arguments.any(0)?, "find uniq on")?.iter() {
        if !contains(context, &kept, item)? {
            kept.push(item.clone());
        }
    }
    context.heap.list(ListType::Any, kept)
}

fn without<'a>(context: &mut Context<'a>, arguments: &Arguments<'_, 'a>) -> Outcome<'a> {
    let mut kept = Vec::new();
    for item in items(context, arguments.any(0)?, "find without on")?.iter() {
        if !contains(context, arguments.from(1), item)? {
            kept.push(item.clone());
        }
    }
    context.heap.list(ListType::Any, kept)
}

fn has<'a>(context: &mut Context<'a>, arguments: &Arguments<'_, 'a>) -> Outcome<'a> {
    let haystack = arguments.any(1)?;
    if haystack.is_nil() {
        return Ok(Value::Bool(false));
    }
    let items = items(context, haystack, "find has on")?;
    contains(context, &items, arguments.any(0)?).map(Value::Bool)
}

fn slice<'a>(context: &mut Context<'a>, arguments: &Arguments<'_, 'a>) -> Outcome<'a> {
    let list = list_id(arguments.any(0)?, "slice")?;
    let items = context.heap.items(list);
    if items.is_empty() {
        return Ok(Value::NOTHING);
    }
    let mut bounds = arguments.from(1).iter().map(int64_of);
    let start = bounds.next().unwrap_or(0);
    let end = bounds.next().unwrap_or(i64::try_from(items.len()).unwrap_or(i64::MAX));
    let part = usize::try_from(start).ok().zip(usize::try_from(end).ok());
    match part.and_then(|(start, end)| items.get(start..end)) {
        Some(part) => context.heap.list(context.heap.list_type(list), part.to_vec()),
        None => Err(Fault::failed("reflect.Value.Slice: slice index out of bounds")),
    }
}

fn chunk<'a>(context: &mut Context<'a>, arguments: &Arguments<'_, 'a>) -> Outcome<'a> {
    let size = arguments.int(0)?;
    let items = items(context, arguments.any(1)?, "chunk")?;
    let mut chunks = Vec::new();
    match usize::try_from(size) {
        Ok(size) if size > 0 => {
            for chunk in items.chunks(size) {
                chunks.push(context.heap.list(ListType::Any, chunk.to_vec())?);
            }
        }
        // Go's arithmetic gives no chunks in one case, and fails in all others.
        _ if size < 0 && items.len() > 1 && items.len() as u64 - 1 <= size.unsigned_abs() => {}
        _ => return Err(Fault::failed("the size of a chunk must be positive")),
    }
    context.heap.list(ListType::Lists, chunks)
}

fn sort_alpha<'a>(context: &mut Context<'a>, arguments: &Arguments<'_, 'a>) -> Outcome<'a> {
    let value = arguments.any(0)?;
    let mut texts = match value {
        Value::List(_) => texts_of(&mut context.heap, value)?,
        other => vec![text_of(&mut context.heap, other)?],
    };
    // Comparing takes about as many steps for each element as its number has binary digits.
    context.heap.step(texts.len())?;
    texts.sort();
    context.heap.texts(texts)
}

fn join<'a>(context: &mut Context<'a>, arguments: &Arguments<'_, 'a>) -> Outcome<'a> {
    let texts = texts_of(&mut context.heap, arguments.any(1)?)?;
    let parts: Vec<&[u8]> = texts.iter().map(Text::bytes).collect();
    context.heap.text(joined(&parts, arguments.bytes(0)?)?)
}
