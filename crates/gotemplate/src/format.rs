//! Go's `fmt`: `Sprint`, `Sprintln` and `Sprintf` (the rules of Go's `fmt/print.go`).

mod directive;
mod float;
mod integer;
pub(super) mod quote;
mod style;

use super::fault::Fault;
use super::limits::{Limit, TEXT_BYTES};
use super::value::{Heap, ListId, MapId, Value, deeper};
pub(super) use float::format_float;
use style::Style;

/// Writes values as Go's `fmt` does.
pub(super) struct Printer<'h, 'a> {
    heap: &'h mut Heap<'a>,
    buffer: Vec<u8>,
    style: Style,
    /// Set while a value is shown inside of a complaint about its verb.
    complaining: bool,
}

type Printed<'a> = Result<(), Fault<'a>>;

/// Formats values as `fmt.Sprint` does.
pub(super) fn sprint<'a>(heap: &mut Heap<'a>, values: &[Value<'a>]) -> Result<Vec<u8>, Fault<'a>> {
    let mut printer = Printer::new(heap);
    printer.print(values)?;
    printer.finish()
}

impl<'h, 'a> Printer<'h, 'a> {
    pub(super) fn new(heap: &'h mut Heap<'a>) -> Self {
        Printer { heap, buffer: Vec::new(), style: Style::default(), complaining: false }
    }

    /// Returns the output, and counts its memory.
    pub(super) fn finish(self) -> Result<Vec<u8>, Fault<'a>> {
        self.heap.step_bytes(self.buffer.len())?;
        Ok(self.buffer)
    }

    /// Writes values as `fmt.Print` does: with a space between two values if neither is a text.
    pub(super) fn print(&mut self, values: &[Value<'a>]) -> Printed<'a> {
        let mut after_text = true;
        for value in values {
            let is_text = matches!(value, Value::Text(_));
            if !is_text && !after_text {
                self.push(b" ")?;
            }
            self.argument(value, 'v')?;
            after_text = is_text;
        }
        Ok(())
    }

    /// Writes values as `fmt.Println` does: with a space between all values, and the end of the line.
    pub(super) fn print_line(&mut self, values: &[Value<'a>]) -> Printed<'a> {
        for (index, value) in values.iter().enumerate() {
            if index > 0 {
                self.push(b" ")?;
            }
            self.argument(value, 'v')?;
        }
        self.push(b"\n")
    }

    fn push(&mut self, bytes: &[u8]) -> Printed<'a> {
        if self.buffer.len() + bytes.len() > TEXT_BYTES {
            return Err(Fault::Limit(Limit::ValueSize));
        }
        self.buffer.extend_from_slice(bytes);
        Ok(())
    }

    fn push_character(&mut self, character: char) -> Printed<'a> {
        self.push(character.encode_utf8(&mut [0; 4]).as_bytes())
    }

    fn padding(&mut self, count: usize) -> Printed<'a> {
        if self.buffer.len() + count > TEXT_BYTES {
            return Err(Fault::Limit(Limit::ValueSize));
        }
        // Zeros are padded on the left only.
        let byte = if self.style.zero && !self.style.minus { b'0' } else { b' ' };
        self.buffer.resize(self.buffer.len() + count, byte);
        Ok(())
    }

    /// Writes bytes, filled up to the width. A character counts one.
    fn pad(&mut self, bytes: &[u8]) -> Printed<'a> {
        let missing = self.style.width.unwrap_or_default().saturating_sub(quote::character_count(bytes));
        if !self.style.minus {
            self.padding(missing)?;
        }
        self.push(bytes)?;
        if self.style.minus {
            self.padding(missing)?;
        }
        Ok(())
    }

    fn pad_with_spaces(&mut self, bytes: &[u8]) -> Printed<'a> {
        let zero = std::mem::take(&mut self.style.zero);
        let padded = self.pad(bytes);
        self.style.zero = zero;
        padded
    }

    /// Writes a value that was given to `fmt` itself.
    fn argument(&mut self, value: &Value<'a>, verb: char) -> Printed<'a> {
        match (value, verb) {
            (Value::Nil(_), 'T' | 'v') => self.pad(b"<nil>"),
            (Value::Nil(_), _) => self.bad_verb(value, verb),
            (_, 'T') => {
                let name = value.type_name(self.heap);
                self.text(name.as_bytes())
            }
            _ => self.value(value, verb, 0),
        }
    }

    /// Writes a value that the verb does not fit: `%!d(string=hi)`.
    fn bad_verb(&mut self, value: &Value<'a>, verb: char) -> Printed<'a> {
        let outer = std::mem::replace(&mut self.complaining, true);
        self.push(b"%!")?;
        self.push_character(verb)?;
        self.push(b"(")?;
        if value.is_nil() {
            self.push(b"<nil>")?;
        } else {
            self.typed(value)?;
        }
        self.complaining = outer;
        self.push(b")")
    }

    /// Writes a value after its type: `string=hi`.
    fn typed(&mut self, value: &Value<'a>) -> Printed<'a> {
        let name = value.type_name(self.heap);
        self.push(name.as_bytes())?;
        self.push(b"=")?;
        self.argument(value, 'v')
    }

    /// Writes a value at some depth of the one that was given to `fmt`.
    fn value(&mut self, value: &Value<'a>, verb: char, depth: usize) -> Printed<'a> {
        self.heap.step(1)?;
        match value {
            Value::Nil(_) if self.style.go_syntax => self.push(b"interface {}(nil)"),
            Value::Nil(_) => self.push(b"<nil>"),
            Value::Bool(value) if matches!(verb, 't' | 'v') => {
                self.pad(if *value { b"true" } else { b"false" })
            }
            Value::Bool(_) => self.bad_verb(value, verb),
            Value::Int(number) | Value::Int64(number) => self.integer(value, i128::from(*number), verb),
            Value::Byte(number) => self.integer(value, i128::from(*number), verb),
            Value::Float(number) => self.float(value, *number, verb),
            Value::Text(text) => match verb {
                'v' if self.style.go_syntax => self.quoted(text.bytes()),
                'q' => self.quoted(text.bytes()),
                'v' | 's' => self.text(text.bytes()),
                'x' => self.hexadecimal_text(text.bytes(), false),
                'X' => self.hexadecimal_text(text.bytes(), true),
                _ => self.bad_verb(value, verb),
            },
            Value::List(_) | Value::Map(_) if verb == 'w' && !self.complaining => self.bad_verb(value, verb),
            Value::List(_) | Value::Map(_) if verb == 'p' => {
                Err(Fault::failed("%p of a list or map is not supported: it would differ from run to run"))
            }
            Value::List(list) => self.list(*list, verb, deeper(depth)?),
            Value::Map(map) => self.map(*map, verb, deeper(depth)?),
        }
    }

    fn list(&mut self, list: ListId, verb: char, depth: usize) -> Printed<'a> {
        let (open, separator, close): (&[u8], &[u8], &[u8]) = if self.style.go_syntax {
            let name = self.heap.list_type(list).name();
            self.push(name.as_bytes())?;
            if self.heap.list_is_nil(list) {
                return self.push(b"(nil)");
            }
            (b"{", b", ", b"}")
        } else {
            (b"[", b" ", b"]")
        };
        self.push(open)?;
        for (index, item) in self.heap.items(list).iter().enumerate() {
            if index > 0 {
                self.push(separator)?;
            }
            self.value(item, verb, depth)?;
        }
        self.push(close)
    }

    fn map(&mut self, map: MapId, verb: char, depth: usize) -> Printed<'a> {
        let (open, separator, close): (&[u8], &[u8], &[u8]) = if self.style.go_syntax {
            let name = self.heap.map_type(map).name();
            self.push(name.as_bytes())?;
            if self.heap.map_is_nil(map) {
                return self.push(b"(nil)");
            }
            (b"{", b", ", b"}")
        } else {
            (b"map[", b" ", b"]")
        };
        self.push(open)?;
        for (index, (key, item)) in self.heap.entries(map).iter().enumerate() {
            if index > 0 {
                self.push(separator)?;
            }
            self.value(&Value::Text(key.clone()), verb, depth)?;
            self.push(b":")?;
            self.value(item, verb, depth)?;
        }
        self.push(close)
    }

    fn text(&mut self, bytes: &[u8]) -> Printed<'a> {
        self.pad(self.style.truncated(bytes))
    }

    fn quoted(&mut self, bytes: &[u8]) -> Printed<'a> {
        let bytes = self.style.truncated(bytes);
        if self.style.sharp && quote::can_be_raw(bytes) {
            return self.pad(&[b"`", bytes, b"`"].concat());
        }
        let quoted = quote::quoted(bytes, '"', self.style.plus);
        self.pad(quoted.as_bytes())
    }

    fn hexadecimal_text(&mut self, bytes: &[u8], upper: bool) -> Printed<'a> {
        let length = self.style.precision.unwrap_or(usize::MAX).min(bytes.len());
        let prefix = if upper { "0X" } else { "0x" };
        let mut text = String::new();
        for (index, byte) in bytes.iter().take(length).enumerate() {
            if index > 0 && self.style.space {
                text.push(' ');
            }
            if self.style.sharp && (index == 0 || self.style.space) {
                text.push_str(prefix);
            }
            text.extend([byte >> 4, byte & 0xf].into_iter().map(|half| hexadecimal_digit(half, upper)));
        }
        self.pad(text.as_bytes())
    }
}

fn hexadecimal_digit(half: u8, upper: bool) -> char {
    let digit = char::from_digit(u32::from(half), 16).unwrap_or('0');
    if upper { digit.to_ascii_uppercase() } else { digit }
}
