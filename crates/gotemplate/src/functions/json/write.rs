//! Values as JSON.

use super::super::super::fault::Fault;
use super::super::super::format::format_float;
use super::super::super::value::{Heap, TextBuilder, Value, decode_character, deeper};

/// The layout of JSON.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Style {
    Compact,
    /// On many lines, indented by two spaces.
    Pretty,
    /// Compact, without escapes for HTML.
    Raw,
}

pub(super) fn encode<'a>(heap: &mut Heap<'a>, value: &Value<'a>, style: Style) -> Result<Vec<u8>, Fault<'a>> {
    let mut writer = Writer { heap, text: TextBuilder::default(), style };
    writer.value(value, 0)?;
    Ok(writer.text.finish())
}

struct Writer<'h, 'a> {
    heap: &'h mut Heap<'a>,
    text: TextBuilder,
    style: Style,
}

type Written<'a> = Result<(), Fault<'a>>;

impl<'a> Writer<'_, 'a> {
    fn value(&mut self, value: &Value<'a>, depth: usize) -> Written<'a> {
        self.heap.step(1)?;
        match value {
            Value::Nil(_) => self.text.push(b"null"),
            Value::Bool(value) => self.text.push(if *value { b"true" } else { b"false" }),
            Value::Int(number) | Value::Int64(number) => self.text.push(number.to_string().as_bytes()),
            Value::Byte(number) => self.text.push(number.to_string().as_bytes()),
            Value::Float(number) => self.float(*number),
            Value::Text(text) => self.string(text.bytes()),
            Value::List(list) if self.heap.list_is_nil(*list) => self.text.push(b"null"),
            Value::List(list) => {
                let items = self.heap.items(*list);
                self.container([b"[", b"]"], items.len(), depth, |writer, depth| {
                    for (index, item) in items.iter().enumerate() {
                        writer.separate(index, depth)?;
                        writer.value(item, depth)?;
                    }
                    Ok(())
                })
            }
            Value::Map(map) if self.heap.map_is_nil(*map) => self.text.push(b"null"),
            Value::Map(map) => {
                let entries = self.heap.entries(*map);
                self.container([b"{", b"}"], entries.len(), depth, |writer, depth| {
                    for (index, (key, value)) in entries.iter().enumerate() {
                        writer.separate(index, depth)?;
                        writer.string(key.bytes())?;
                        writer.text.push(if writer.style == Style::Pretty { b": " } else { b":" })?;
                        writer.value(value, depth)?;
                    }
                    Ok(())
                })
            }
        }
    }

    fn container(
        &mut self,
        [open, close]: [&[u8]; 2],
        length: usize,
        depth: usize,
        content: impl FnOnce(&mut Self, usize) -> Written<'a>,
    ) -> Written<'a> {
        self.text.push(open)?;
        content(self, deeper(depth)?)?;
        if length > 0 {
            self.line(depth)?;
        }
        self.text.push(close)
    }

    fn separate(&mut self, index: usize, depth: usize) -> Written<'a> {
        if index > 0 {
            self.text.push(b",")?;
        }
        self.line(depth)
    }

    fn line(&mut self, depth: usize) -> Written<'a> {
        if self.style == Style::Pretty {
            self.text.push(b"\n")?;
            self.text.push("  ".repeat(depth).as_bytes())?;
        }
        Ok(())
    }

    fn float(&mut self, number: f64) -> Written<'a> {
        if !number.is_finite() {
            return Err(Fault::failed("json: unsupported value: not a finite number"));
        }
        let magnitude = number.abs();
        let is_extreme = magnitude != 0.0 && !(1e-6..1e21).contains(&magnitude);
        let mut text = format_float(magnitude, if is_extreme { 'e' } else { 'f' }, None);
        if let Some(mantissa) = text.find("e-0") {
            text.remove(mantissa + 2);
        }
        if number.is_sign_negative() {
            self.text.push(b"-")?;
        }
        self.text.push(text.as_bytes())
    }

    fn string(&mut self, bytes: &[u8]) -> Written<'a> {
        self.text.push(b"\"")?;
        let mut rest = bytes;
        while let Some((character, width)) = decode_character(rest) {
            let (unit, after) = rest.split_at(width);
            match character {
                Some('"') => self.text.push(b"\\\"")?,
                Some('\\') => self.text.push(b"\\\\")?,
                Some('\u{8}') => self.text.push(b"\\b")?,
                Some('\u{c}') => self.text.push(b"\\f")?,
                Some('\n') => self.text.push(b"\\n")?,
                Some('\r') => self.text.push(b"\\r")?,
                Some('\t') => self.text.push(b"\\t")?,
                Some(escaped @ ('\0'..='\u{1f}' | '\u{2028}' | '\u{2029}')) => self.escape(escaped)?,
                Some(escaped @ ('<' | '>' | '&')) if self.style != Style::Raw => self.escape(escaped)?,
                Some(_) => self.text.push(unit)?,
                None => self.text.push(b"\\ufffd")?,
            }
            rest = after;
        }
        self.text.push(b"\"")
    }

    fn escape(&mut self, character: char) -> Written<'a> {
        self.text.push(format!("\\u{:04x}", u32::from(character)).as_bytes())
    }
}
