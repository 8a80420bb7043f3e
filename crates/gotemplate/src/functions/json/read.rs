//! JSON as values: all numbers are `float64`, as Go decodes them.

use std::borrow::Cow;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};

use super::super::super::fault::Fault;
use super::super::super::value::{Entries, Heap, ListType, MapType, Text, Value, decode_character, deeper};
use super::super::Outcome;

/// Decodes one JSON text.
pub(super) fn decode<'a>(heap: &mut Heap<'a>, text: &[u8]) -> Outcome<'a> {
    heap.step(text.len() / 16)?;
    let text = well_formed(text);
    let mut fault = None;
    let mut reader = serde_json::Deserializer::from_str(&text);
    let seed = Seed { heap, fault: &mut fault, depth: 0 };
    let value = seed.deserialize(&mut reader).and_then(|value| reader.end().map(|()| value));
    value.map_err(|error| fault.unwrap_or_else(|| Fault::failed(format!("invalid JSON: {error}"))))
}

/// Returns the text as Go reads it: U+FFFD stands for each byte that is not UTF-8, and for half of a surrogate pair.
fn well_formed(text: &[u8]) -> Cow<'_, str> {
    let has_surrogates = text.windows(3).any(|bytes| matches!(bytes, [b'\\', b'u', b'd' | b'D']));
    match std::str::from_utf8(text) {
        Ok(text) if !has_surrogates => Cow::Borrowed(text),
        _ => Cow::Owned(replaced(text)),
    }
}

fn replaced(text: &[u8]) -> String {
    let mut replaced = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((character, width)) = decode_character(rest) {
        let half = |at: usize| rest.get(at..).and_then(surrogate);
        let (kept, length) = match (character, rest.get(1), half(0), half(6)) {
            (_, _, Some(0xd800..0xdc00), Some(0xdc00..0xe000)) => (None, 12),
            (_, _, Some(_), _) => (Some(char::REPLACEMENT_CHARACTER), 6),
            // Escaped characters are skipped.
            (Some('\\'), Some(b' '..=b'~'), ..) => (None, 2),
            (None, ..) => (Some(char::REPLACEMENT_CHARACTER), 1),
            (Some(_), ..) => (None, width),
        };
        let (read, after) = rest.split_at_checked(length).unwrap_or((rest, &[]));
        match kept {
            Some(character) => replaced.push(character),
            None => replaced.push_str(std::str::from_utf8(read).unwrap_or_default()),
        }
        rest = after;
    }
    replaced
}

/// Reads the surrogate that a text begins with as an escape: `\ud83d`.
fn surrogate(text: &[u8]) -> Option<u32> {
    let digits =
        text.strip_prefix(b"\\u")?.get(..4).filter(|digits| digits.iter().all(u8::is_ascii_hexdigit))?;
    let code = u32::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?;
    (0xd800..0xe000).contains(&code).then_some(code)
}

/// The key that `serde_json` gives instead of a number with its feature `arbitrary_precision`.
const NUMBER: &str = "$serde_json::private::Number";

/// Makes a value of the JSON that is read. The fault that stops it is kept aside, because serde's errors are texts.
struct Seed<'h, 'f, 'a> {
    heap: &'h mut Heap<'a>,
    fault: &'f mut Option<Fault<'a>>,
    depth: usize,
}

impl<'a> Seed<'_, '_, 'a> {
    fn inner(&mut self, depth: usize) -> Seed<'_, '_, 'a> {
        Seed { heap: self.heap, fault: self.fault, depth }
    }

    fn kept<T, E: Error>(&mut self, result: Result<T, Fault<'a>>) -> Result<T, E> {
        result.map_err(|fault| {
            *self.fault = Some(fault);
            E::custom("a limit")
        })
    }
}

impl<'de, 'a> DeserializeSeed<'de> for Seed<'_, '_, 'a> {
    type Value = Value<'a>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value<'a>, D::Error> {
        deserializer.deserialize_any(self)
    }
}

#[expect(clippy::cast_precision_loss, reason = "Go decodes every number as a float64")]
impl<'de, 'a> Visitor<'de> for Seed<'_, '_, 'a> {
    type Value = Value<'a>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value<'a>, E> {
        Ok(Value::NOTHING)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value<'a>, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Value<'a>, E> {
        Ok(Value::Float(number as f64))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Value<'a>, E> {
        Ok(Value::Float(number as f64))
    }

    fn visit_f64<E>(self, number: f64) -> Result<Value<'a>, E> {
        Ok(Value::Float(number))
    }

    fn visit_str<E: Error>(mut self, text: &str) -> Result<Value<'a>, E> {
        let made = self.heap.text(text.as_bytes().to_vec());
        self.kept(made)
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut sequence: A) -> Result<Value<'a>, A::Error> {
        let depth = deeper(self.depth);
        let depth = self.kept(depth)?;
        let mut items = Vec::new();
        while let Some(item) = sequence.next_element_seed(self.inner(depth))? {
            items.push(item);
        }
        let made = self.heap.list(ListType::Any, items);
        self.kept(made)
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut map: A) -> Result<Value<'a>, A::Error> {
        let depth = deeper(self.depth);
        let depth = self.kept(depth)?;
        let mut entries = Entries::new();
        while let Some(key) = map.next_key::<String>()? {
            if key == NUMBER {
                return Err(A::Error::custom("serde_json's feature arbitrary_precision is not supported"));
            }
            let charged = self.heap.charge(key.len());
            self.kept(charged)?;
            let value = map.next_value_seed(self.inner(depth))?;
            entries.insert(Text::from(key.into_bytes()), value);
        }
        let made = self.heap.map(MapType::Any, entries);
        self.kept(made)
    }
}
