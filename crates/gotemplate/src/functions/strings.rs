//! Texts (slim-sprig's `strings.go`). Lengths and positions are in bytes, as in Go.

mod letters;
mod search;

use super::super::fault::Fault;
use super::super::format::{quote, sprint};
use super::super::limits::{Limit, TEXT_BYTES};
use super::super::value::{Entries, MapType, Text, TextBuilder, Value, joined};
use super::Parameter::{Any, Int, Text as TextParameter};
use super::conversion::text_of;
use super::{Arguments, Context, Function, Outcome};

const GROUP: &str = "texts";

const ONE: &[super::Parameter] = &[TextParameter];
const TWO: &[super::Parameter] = &[TextParameter, TextParameter];
const COUNTED: &[super::Parameter] = &[Int, TextParameter];

pub(super) const FUNCTIONS: &[Function] = &[
    Function::new("trim", GROUP, "The text without white space around it.", ONE, trim),
    Function::new(
        "trimAll",
        GROUP,
        "The second text without the characters of the first around it.",
        TWO,
        trim_all,
    ),
    Function::new("trimall", GROUP, "The same as trimAll.", TWO, trim_all),
    Function::new("trimPrefix", GROUP, "The second text without the first at its start.", TWO, trim_prefix),
    Function::new("trimSuffix", GROUP, "The second text without the first at its end.", TWO, trim_suffix),
    Function::new("upper", GROUP, "The text in capital letters.", ONE, upper),
    Function::new("lower", GROUP, "The text in small letters.", ONE, lower),
    Function::new("title", GROUP, "The text with a capital letter at the start of each word.", ONE, title),
    Function::new("repeat", GROUP, "The text that many times.", COUNTED, repeat),
    Function::new(
        "substr",
        GROUP,
        "The bytes from one position to before another.",
        &[Int, Int, TextParameter],
        substr,
    ),
    Function::new(
        "trunc",
        GROUP,
        "At most that many bytes of the text, from its end if negative.",
        COUNTED,
        trunc,
    ),
    Function::new("contains", GROUP, "Whether the second text contains the first.", TWO, contains),
    Function::new("hasPrefix", GROUP, "Whether the second text starts with the first.", TWO, has_prefix),
    Function::new("hasSuffix", GROUP, "Whether the second text ends with the first.", TWO, has_suffix),
    Function::new("quote", GROUP, "The arguments in double quotes, with escapes.", &[], quote_all).rest(Any),
    Function::new("squote", GROUP, "The arguments in single quotes, without escapes.", &[], squote).rest(Any),
    Function::new("cat", GROUP, "The arguments with spaces between them.", &[], cat).rest(Any),
    Function::new("indent", GROUP, "The text with that many spaces before each line.", COUNTED, indent),
    Function::new("nindent", GROUP, "The same as indent, on a new line.", COUNTED, nindent),
    Function::new(
        "replace",
        GROUP,
        "The third text with the second in the place of the first.",
        &[TextParameter, TextParameter, TextParameter],
        replace,
    ),
    Function::new(
        "plural",
        GROUP,
        "The first text for one, the second for any other count.",
        &[TextParameter, TextParameter, Int],
        plural,
    ),
    Function::new("split", GROUP, "A map _0, _1, … of the parts between separators.", TWO, split),
    Function::new("splitList", GROUP, "A list of the parts between separators.", TWO, split_list),
    Function::new(
        "splitn",
        GROUP,
        "The same as split, with at most that many parts.",
        &[TextParameter, Int, TextParameter],
        splitn,
    ),
];

fn trim<'a>(context: &mut Context<'a>, arguments: &Arguments<'_, 'a>) -> Outcome<'a> {
    let bytes = arguments.bytes(0)?;
    let trimmed = search::trim_start(bytes, char::is_whitespace);
    let trimmed = search::trim_end(trimmed, char::is_whitespace);
    context.heap.text(trimmed.to_vec())
}

fn trim_all<'a>(context: &mut Context<'a>, arguments: &Arguments<'_, 'a>) -> Outcome<'a> {
    let set: Vec<char> = arguments.text(0)?.to_str().chars().collect();
    let bytes = arguments.bytes(1)?;
    context.heap.step(bytes.len().min(TEXT_BYTES) / 256 * set.len())?;
    let trimmed = search::trim_start(bytes, |character| set.contains(&character));
    let trimmed = search::trim_end(trimmed, |character| set.contains(&character));
    context.heap.text(trimmed.to_vec())
}

fn trim_prefix<'a>(context: &mut Context<'a>, arguments: &Arguments<'_, 'a>) -> Outcome<'a> {
    let bytes = arguments.bytes(1)?;
    context.heap.text(bytes.strip_prefix(arguments.bytes(0)?).unwrap_or(bytes).to_vec())
}

fn trim_suffix<'a>(context: &mut Context<'a>, arguments: &Arguments<'_, 'a>) -> Outcome<'a> {
    let bytes = arguments.bytes(1)?;
    context.heap.text(bytes.strip_suffix(arguments.bytes(0)?).unwrap_or(bytes).to_vec())
}

fn upper<'a>(context: &mut Context<'a>, arguments: &Arguments<'_, 'a>) -> Outcome<'a> {
    context.heap.text(letters::map(arguments.bytes(0)?, letters::upper))
}

fn lower<'a>(context: &mut Context<'a>, arguments: &Arguments<'_, 'a>) -> Outcome<'a> {
    context.heap.text(letters::map(arguments.bytes(0)?, letters::lower))
}

fn title<'a>(context: &mut Context<'a>, arguments: &Arguments<'_, 'a>) -> Outcome<'a> {
    let mut previous = ' ';
    let titled = letters::map(arguments.bytes(0)?, |character| {
        let starts_word = letters::separates(previous);
        previous = character;
        if starts_word { letters::title(character) } else { character }
    });
    context.heap.text(titled)
}

fn repeat<'a>(context: &mut Context<'a>, arguments: &Arguments<'_, 'a>) -> Outcome<'a> {
    let bytes = arguments.bytes(1)?;
    let count = count(arguments.int(0)?)?;
    if bytes.len().saturating_mul(count) > TEXT_BYTES {
        return Err(Fault::Limit(Limit::ValueSize));
    }
    context.heap.text(if bytes.is_empty() { Vec::new() } else { bytes.repeat(count) })
}

fn count<'a>(number: i64) -> Result<usize, Fault<'a>> {
    usize::try_from(number).map_err(|_| Fault::failed("strings: negative Repeat count"))
}

fn part<'a>(bytes: &[u8], start: i64, end: i64) -> Result<&[u8], Fault<'a>> {
    let range = usize::try_from(start).ok().zip(usize::try_from(end).ok());
    range
        .and_then(|(start, end)| bytes.get(start..end))
        .ok_or_else(|| Fault::failed(format!("runtime error: slice bounds out of range [{start}:{end}]")))
}

fn length(bytes: &[u8]) -> i64 {
    i64::try_from(bytes.len()).unwrap_or(i64::MAX)
}

fn substr<'a>(context: &mut Context<'a>, arguments: &Arguments<'_, 'a>) -> Outcome<'a> {
    let (start, end, bytes) = (arguments.int(0)?, arguments.int(1)?, arguments.bytes(2)?);
    let part = if start < 0 {
        part(bytes, 0, end)?
    } else if end < 0 || end > length(bytes) {
        part(bytes, start, length(bytes))?
    } else {
        part(bytes, start, end)?
    };
    context.heap.text(part.to_vec())
}

fn trunc<'a>(context: &mut Context<'a>, arguments: &Arguments<'_, 'a>) -> Outcome<'a> {
    let (count, bytes) = (arguments.int(0)?, arguments.bytes(1)?);
    let length = length(bytes);
    let part = if count < 0 && length.wrapping_add(count) > 0 {
        part(bytes, length + count, length)?
    } else if count >= 0 && length > count {
        part(bytes, 0, count)?
    } else {
        bytes
    };
    context.heap.text(part.to_vec())
}

fn contains<'a>(_: &mut Context<'a>, arguments: &Arguments<'_, 'a>) -> Outcome<'a> {
    Ok(Value::Bool(search::find(arguments.bytes(1)?, arguments.bytes(0)?).is_some()))
}

fn has_prefix<'a>(_: &mut Context<'a>, arguments: &Arguments<'_, 'a>) -> Outcome<'a> {
    Ok(Value::Bool(arguments.bytes(1)?.starts_with(arguments.bytes(0)?)))
}

fn has_suffix<'a>(_: &mut Context<'a>, arguments: &Arguments<'_, 'a>) -> Outcome<'a> {
    Ok(Value::Bool(arguments.bytes(1)?.ends_with(arguments.bytes(0)?)))
}

fn quote_all<'a>(context: &mut Context<'a>, arguments: &Arguments<'_, 'a>) -> Outcome<'a> {
    let mut quoted = Vec::new();
    for value in arguments.all().iter().filter(|value| !value.is_nil()) {
        let text = text_of(&mut context.heap, value)?;
        quoted.push(quote::quoted(text.bytes(), '"', false));
    }
    let parts: Vec<&[u8]> = quoted.iter().map(String::as_bytes).collect();
    context.heap.text(joined(&parts, b" ")?)
}

fn squote<'a>(context: &mut Context<'a>, arguments: &Arguments<'_, 'a>) -> Outcome<'a> {
    let mut text = TextBuilder::default();
    for (index, value) in arguments.all().iter().filter(|value| !value.is_nil()).enumerate() {
        text.push(if index > 0 { b" '" } else { b"'" })?;
        text.push(&sprint(&mut context.heap, std::slice::from_ref(value))?)?;
        text.push(b"'")?;
    }
    context.heap.text(text.finish())
}

fn cat<'a>(context: &mut Context<'a>, arguments: &Arguments<'_, 'a>) -> Outcome<'a> {
    let mut text = TextBuilder::default();
    for (index, value) in arguments.all().iter().filter(|value| !value.is_nil()).enumerate() {
        if index > 0 {
            text.push(b" ")?;
        }
        text.push(&sprint(&mut context.heap, std::slice::from_ref(value))?)?;
    }
    context.heap.text(text.finish())
}

fn indented<'a>(arguments: &Arguments<'_, 'a>, before: &[u8]) -> Result<Vec<u8>, Fault<'a>> {
    let count = count(arguments.int(0)?)?;
    if count > TEXT_BYTES {
        return Err(Fault::Limit(Limit::ValueSize));
    }
    let padding = vec![b' '; count];
    let mut text = TextBuilder::default();
    text.push(before)?;
    for (index, line) in arguments.bytes(1)?.split(|byte| *byte == b'\n').enumerate() {
        if index > 0 {
            text.push(b"\n")?;
        }
        text.push(&padding)?;
        text.push(line)?;
    }
    Ok(text.finish())
}

fn indent<'a>(context: &mut Context<'a>, arguments: &Arguments<'_, 'a>) -> Outcome<'a> {
    context.heap.text(indented(arguments, b"")?)
}

fn nindent<'a>(context: &mut Context<'a>, arguments: &Arguments<'_, 'a>) -> Outcome<'a> {
    context.heap.text(indented(arguments, b"\n")?)
}

fn replace<'a>(context: &mut Context<'a>, arguments: &Arguments<'_, 'a>) -> Outcome<'a> {
    let parts = search::split(arguments.bytes(2)?, arguments.bytes(0)?, usize::MAX);
    // An empty text is found at both ends as well.
    let ends: &[&[u8]] = if arguments.bytes(0)?.is_empty() { &[b""] } else { &[] };
    let parts: Vec<&[u8]> = ends.iter().copied().chain(parts).chain(ends.iter().copied()).collect();
    let parts = if arguments.bytes(0)?.is_empty() && arguments.bytes(2)?.is_empty() {
        vec![b"".as_slice(); 2]
    } else {
        parts
    };
    context.heap.text(joined(&parts, arguments.bytes(1)?)?)
}

fn plural<'a>(_: &mut Context<'a>, arguments: &Arguments<'_, 'a>) -> Outcome<'a> {
    Ok(Value::Text(arguments.text(usize::from(arguments.int(2)? != 1))?.clone()))
}

fn split_list<'a>(context: &mut Context<'a>, arguments: &Arguments<'_, 'a>) -> Outcome<'a> {
    let parts = search::split(arguments.bytes(1)?, arguments.bytes(0)?, usize::MAX);
    let texts: Vec<Text<'a>> = parts.into_iter().map(|part| Text::from(part.to_vec())).collect();
    context.heap.charge(arguments.bytes(1)?.len())?;
    context.heap.texts(texts)
}

/// Creates a map of the parts, called `_0`, `_1`, ….
fn numbered<'a>(context: &mut Context<'a>, parts: Vec<&[u8]>) -> Outcome<'a> {
    let mut entries = Entries::new();
    for (index, part) in parts.into_iter().enumerate() {
        entries.insert(Text::from(format!("_{index}")), context.heap.text(part.to_vec())?);
    }
    context.heap.map(MapType::Text, entries)
}

fn split<'a>(context: &mut Context<'a>, arguments: &Arguments<'_, 'a>) -> Outcome<'a> {
    let parts = search::split(arguments.bytes(1)?, arguments.bytes(0)?, usize::MAX);
    numbered(context, parts)
}

fn splitn<'a>(context: &mut Context<'a>, arguments: &Arguments<'_, 'a>) -> Outcome<'a> {
    // A negative number means: unlimited.
    let most = usize::try_from(arguments.int(1)?).unwrap_or(usize::MAX);
    let parts = search::split(arguments.bytes(2)?, arguments.bytes(0)?, most);
    numbered(context, parts)
}
