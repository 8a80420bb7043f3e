//! JSON as values: all numbers are `float64`, as Go decodes them.

use super::super::super::fault::Fault;
use super::super::super::parse::parse_float;
use super::super::super::value::{Entries, Heap, ListType, MapType, Text, Value, decode_character, deeper};
use super::super::Outcome;

/// Decodes one JSON text.
pub(super) fn decode<'a>(heap: &mut Heap<'a>, text: &[u8]) -> Outcome<'a> {
    heap.step(text.len() / 16)?;
    let mut reader = Reader { heap, rest: text };
    let value = reader.value(0)?;
    reader.space();
    if reader.rest.is_empty() { Ok(value) } else { Err(invalid()) }
}

fn invalid<'a>() -> Fault<'a> {
    Fault::failed("invalid JSON")
}

struct Reader<'h, 't, 'a> {
    heap: &'h mut Heap<'a>,
    rest: &'t [u8],
}

impl<'a> Reader<'_, '_, 'a> {
    fn space(&mut self) {
        let kept = self.rest.iter().position(|byte| !matches!(byte, b' ' | b'\t' | b'\r' | b'\n'));
        self.rest = self.rest.get(kept.unwrap_or(self.rest.len())..).unwrap_or_default();
    }

    fn next(&mut self) -> Result<u8, Fault<'a>> {
        let (first, rest) = self.rest.split_first().ok_or_else(invalid)?;
        self.rest = rest;
        Ok(*first)
    }

    fn accept(&mut self, word: &[u8]) -> bool {
        match self.rest.strip_prefix(word) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn value(&mut self, depth: usize) -> Outcome<'a> {
        self.space();
        match self.rest.first().ok_or_else(invalid)? {
            b'{' => self.map(deeper(depth)?),
            b'[' => self.list(deeper(depth)?),
            b'"' => {
                let text = self.string()?;
                self.heap.text(text)
            }
            b'-' | b'0'..=b'9' => self.number(),
            _ if self.accept(b"true") => Ok(Value::Bool(true)),
            _ if self.accept(b"false") => Ok(Value::Bool(false)),
            _ if self.accept(b"null") => Ok(Value::NOTHING),
            _ => Err(invalid()),
        }
    }

    fn list(&mut self, depth: usize) -> Outcome<'a> {
        self.next()?;
        let mut items = Vec::new();
        self.space();
        if self.accept(b"]") {
            return self.heap.list(ListType::Any, items);
        }
        loop {
            items.push(self.value(depth)?);
            self.space();
            match self.next()? {
                b',' => {}
                b']' => return self.heap.list(ListType::Any, items),
                _ => return Err(invalid()),
            }
        }
    }

    fn map(&mut self, depth: usize) -> Outcome<'a> {
        self.next()?;
        let mut entries = Entries::new();
        self.space();
        if self.accept(b"}") {
            return self.heap.map(MapType::Any, entries);
        }
        loop {
            self.space();
            if self.rest.first() != Some(&b'"') {
                return Err(invalid());
            }
            let key = self.string()?;
            self.heap.charge(key.len())?;
            self.space();
            if !self.accept(b":") {
                return Err(invalid());
            }
            let value = self.value(depth)?;
            entries.insert(Text::from(key), value);
            self.space();
            match self.next()? {
                b',' => {}
                b'}' => return self.heap.map(MapType::Any, entries),
                _ => return Err(invalid()),
            }
        }
    }

    fn number(&mut self) -> Outcome<'a> {
        let is_part = |byte: &u8| matches!(byte, b'0'..=b'9' | b'-' | b'+' | b'.' | b'e' | b'E');
        let length = self.rest.iter().position(|byte| !is_part(byte)).unwrap_or(self.rest.len());
        let (number, rest) = self.rest.split_at(length);
        let text = std::str::from_utf8(number).map_err(|_| invalid())?;
        if !is_number(text) {
            return Err(invalid());
        }
        self.rest = rest;
        parse_float(text)
            .map(Value::Float)
            .ok_or_else(|| Fault::failed(format!("json: cannot unmarshal number {text} into float64")))
    }

    fn string(&mut self) -> Result<Vec<u8>, Fault<'a>> {
        self.next()?;
        let mut text = Vec::new();
        loop {
            let (character, width) = decode_character(self.rest).ok_or_else(invalid)?;
            self.rest = self.rest.get(width..).unwrap_or_default();
            match character {
                Some('"') => return Ok(text),
                Some('\\') => {
                    let escaped = self.escape()?;
                    push(&mut text, escaped);
                }
                Some('\0'..='\u{1f}') => return Err(invalid()),
                other => push(&mut text, other.unwrap_or(char::REPLACEMENT_CHARACTER)),
            }
        }
    }

    fn escape(&mut self) -> Result<char, Fault<'a>> {
        Ok(match self.next()? {
            b'"' => '"',
            b'\\' => '\\',
            b'/' => '/',
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            b'u' => {
                let high = self.code()?;
                // The second half of a pair follows; a half alone is U+FFFD.
                let before = self.rest;
                if (0xd800..0xdc00).contains(&high) && self.accept(b"\\u") {
                    let low = self.code()?;
                    if (0xdc00..0xe000).contains(&low) {
                        let code = 0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00);
                        return char::from_u32(code).ok_or_else(invalid);
                    }
                    self.rest = before;
                }
                char::from_u32(high).unwrap_or(char::REPLACEMENT_CHARACTER)
            }
            _ => return Err(invalid()),
        })
    }

    fn code(&mut self) -> Result<u32, Fault<'a>> {
        let (digits, rest) = self.rest.split_at_checked(4).ok_or_else(invalid)?;
        if !digits.iter().all(u8::is_ascii_hexdigit) {
            return Err(invalid());
        }
        self.rest = rest;
        let digits = std::str::from_utf8(digits).map_err(|_| invalid())?;
        u32::from_str_radix(digits, 16).map_err(|_| invalid())
    }
}

fn push(text: &mut Vec<u8>, character: char) {
    text.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
}

/// JSON's grammar of numbers.
fn is_number(text: &str) -> bool {
    let unsigned = text.strip_prefix('-').unwrap_or(text);
    let (mantissa, exponent) = match unsigned.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent)),
        None => (unsigned, None),
    };
    let (whole, fraction) = match mantissa.split_once('.') {
        Some((whole, fraction)) => (whole, Some(fraction)),
        None => (mantissa, None),
    };
    let are_digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    are_digits(whole)
        && (whole == "0" || !whole.starts_with('0'))
        && fraction.is_none_or(are_digits)
        && exponent.is_none_or(|exponent| are_digits(exponent.strip_prefix(['+', '-']).unwrap_or(exponent)))
}
