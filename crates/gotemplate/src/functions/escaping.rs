//! Escaping for HTML, JavaScript and URLs (Go's `text/template/funcs.go`).

use super::super::fault::Fault;
use super::super::format::{quote::is_printable, sprint};
use super::super::value::{TextBuilder, Value, decode_character};
use super::Parameter::Any;
use super::{Arguments, Context, Function, Outcome};

const GROUP: &str = "Go";

pub(super) const FUNCTIONS: &[Function] = &[
    Function::new("html", GROUP, "The arguments as text, escaped for HTML.", &[], html).rest(Any),
    Function::new("js", GROUP, "The arguments as text, escaped for JavaScript.", &[], js).rest(Any),
    Function::new("urlquery", GROUP, "The arguments as text, escaped for the query of a URL.", &[], urlquery)
        .rest(Any),
];

fn text<'a>(context: &mut Context<'a>, arguments: &Arguments<'_, 'a>) -> Result<Vec<u8>, Fault<'a>> {
    // Go's own words for a missing value that it turns into text itself.
    let values: Vec<Value<'a>> = arguments
        .all()
        .iter()
        .map(|value| if value.is_nil() { Value::Text("<no value>".into()) } else { value.clone() })
        .collect();
    sprint(&mut context.heap, &values)
}

fn html<'a>(context: &mut Context<'a>, arguments: &Arguments<'_, 'a>) -> Outcome<'a> {
    let mut escaped = TextBuilder::default();
    for byte in text(context, arguments)? {
        match byte {
            b'\0' => escaped.push("\u{fffd}".as_bytes())?,
            b'"' => escaped.push(b"&#34;")?,
            b'\'' => escaped.push(b"&#39;")?,
            b'&' => escaped.push(b"&amp;")?,
            b'<' => escaped.push(b"&lt;")?,
            b'>' => escaped.push(b"&gt;")?,
            other => escaped.push(&[other])?,
        }
    }
    context.heap.text(escaped.finish())
}

fn js<'a>(context: &mut Context<'a>, arguments: &Arguments<'_, 'a>) -> Outcome<'a> {
    let text = text(context, arguments)?;
    let mut escaped = TextBuilder::default();
    let mut rest = text.as_slice();
    while let Some((character, width)) = decode_character(rest) {
        let (unit, after) = rest.split_at(width);
        match character {
            Some('\\') => escaped.push(b"\\\\")?,
            Some('\'') => escaped.push(b"\\'")?,
            Some('"') => escaped.push(b"\\\"")?,
            Some(special @ ('<' | '>' | '&' | '=' | '\0'..='\u{1f}')) => {
                escaped.push(format!("\\u{:04X}", u32::from(special)).as_bytes())?;
            }
            Some(plain) if plain.is_ascii() || is_printable(plain) => escaped.push(unit)?,
            Some(other) => escaped.push(format!("\\u{:04X}", u32::from(other)).as_bytes())?,
            // A byte that belongs to no character becomes U+FFFD, which is printable.
            None => escaped.push(unit)?,
        }
        rest = after;
    }
    context.heap.text(escaped.finish())
}

fn urlquery<'a>(context: &mut Context<'a>, arguments: &Arguments<'_, 'a>) -> Outcome<'a> {
    let mut escaped = TextBuilder::default();
    for byte in text(context, arguments)? {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => escaped.push(&[byte])?,
            b' ' => escaped.push(b"+")?,
            other => escaped.push(format!("%{other:02X}").as_bytes())?,
        }
    }
    context.heap.text(escaped.finish())
}
