//! Go's strings: bytes that are UTF-8 most of the time.

use std::borrow::{Borrow, Cow};
use std::cmp::Ordering;
use std::rc::Rc;

use crate::fault::Fault;
use crate::limits::{Limit, TEXT_BYTES};

/// A text, borrowed from the template or the data if it comes from there.
#[derive(Clone, Debug)]
pub(crate) enum Text<'a> {
    Borrowed(&'a [u8]),
    Shared(Rc<[u8]>),
}

impl Text<'_> {
    pub(crate) fn bytes(&self) -> &[u8] {
        match self {
            Text::Borrowed(bytes) => bytes,
            Text::Shared(bytes) => bytes,
        }
    }

    /// Returns the text for readers, with a replacement for bytes that are not UTF-8.
    pub(crate) fn to_str(&self) -> Cow<'_, str> {
        String::from_utf8_lossy(self.bytes())
    }
}

impl<'a> From<&'a str> for Text<'a> {
    fn from(text: &'a str) -> Self {
        Text::Borrowed(text.as_bytes())
    }
}

impl From<Vec<u8>> for Text<'_> {
    fn from(bytes: Vec<u8>) -> Self {
        Text::Shared(bytes.into())
    }
}

impl From<String> for Text<'_> {
    fn from(text: String) -> Self {
        Text::Shared(text.into_bytes().into())
    }
}

impl PartialEq for Text<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.bytes() == other.bytes()
    }
}

impl Eq for Text<'_> {}

impl PartialOrd for Text<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Text<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.bytes().cmp(other.bytes())
    }
}

impl Borrow<[u8]> for Text<'_> {
    fn borrow(&self) -> &[u8] {
        self.bytes()
    }
}

/// Makes a text of limited length.
#[derive(Default)]
pub(crate) struct TextBuilder(Vec<u8>);

impl TextBuilder {
    pub(crate) fn push<'a>(&mut self, bytes: &[u8]) -> Result<(), Fault<'a>> {
        if self.0.len() + bytes.len() > TEXT_BYTES {
            return Err(Fault::Limit(Limit::ValueSize));
        }
        self.0.extend_from_slice(bytes);
        Ok(())
    }

    pub(crate) fn finish(self) -> Vec<u8> {
        self.0
    }
}

/// Joins the parts to one text, with a separator between them.
pub(crate) fn joined<'a>(parts: &[&[u8]], separator: &[u8]) -> Result<Vec<u8>, Fault<'a>> {
    let mut text = TextBuilder::default();
    for (index, part) in parts.iter().enumerate() {
        if index > 0 {
            text.push(separator)?;
        }
        text.push(part)?;
    }
    Ok(text.finish())
}

/// Decodes the first character of bytes that need not be UTF-8, and returns it with the number of its bytes; `None` for
/// a byte that starts no character (Go's `utf8.DecodeRune` gives U+FFFD of width 1 there).
pub(crate) fn decode_character(bytes: &[u8]) -> Option<(Option<char>, usize)> {
    let first = *bytes.first()?;
    let width = match first {
        0..=0x7f => return Some((Some(char::from(first)), 1)),
        0xc2..=0xdf => 2,
        0xe0..=0xef => 3,
        0xf0..=0xf4 => 4,
        _ => return Some((None, 1)),
    };
    let decoded = bytes.get(..width).and_then(|unit| std::str::from_utf8(unit).ok());
    match decoded.and_then(|text| text.chars().next()) {
        Some(character) => Some((Some(character), width)),
        None => Some((None, 1)),
    }
}
