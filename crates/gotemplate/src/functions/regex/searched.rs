//! A text as expressions see it: Go takes a byte that belongs to no character for U+FFFD.

use std::borrow::Cow;
use std::ops::Range;

use regex::bytes::{Captures, Regex};

use super::super::super::value::decode_character;

/// A text to search in. Ranges are those of the text that is searched; [`Searched::part`] gives the bytes behind one.
pub(super) struct Searched<'t> {
    original: &'t [u8],
    text: Cow<'t, str>,
    /// The offset of each byte of the searched text in the original, if they differ.
    offsets: Option<Vec<usize>>,
}

impl<'t> Searched<'t> {
    pub(super) fn new(original: &'t [u8]) -> Self {
        if let Ok(text) = std::str::from_utf8(original) {
            return Searched { original, text: Cow::Borrowed(text), offsets: None };
        }
        let (mut text, mut offsets, mut position) = (String::new(), Vec::new(), 0);
        while let Some((character, width)) = original.get(position..).and_then(decode_character) {
            text.push(character.unwrap_or(char::REPLACEMENT_CHARACTER));
            offsets.resize(text.len(), position);
            position += width;
        }
        offsets.push(original.len());
        Searched { original, text: Cow::Owned(text), offsets: Some(offsets) }
    }

    pub(super) fn has_match(&self, regex: &Regex) -> bool {
        regex.is_match(self.text.as_bytes())
    }

    /// Iterates over all matches. As in Go, an empty one never stands inside of a character.
    pub(super) fn matches<'r>(
        &'r self,
        regex: &'r Regex,
    ) -> impl Iterator<Item = Range<usize>> + use<'r, 't> {
        regex
            .find_iter(self.text.as_bytes())
            .map(|found| found.range())
            .filter(|range| !range.is_empty() || self.text.is_char_boundary(range.start))
    }

    /// Iterates over all matches: the range of the whole, and the groups.
    pub(super) fn captures<'r>(
        &'r self,
        regex: &'r Regex,
    ) -> impl Iterator<Item = (Range<usize>, Captures<'r>)> + use<'r, 't> {
        regex
            .captures_iter(self.text.as_bytes())
            .filter_map(|captures| Some((captures.get(0)?.range(), captures)))
            .filter(|(range, _)| !range.is_empty() || self.text.is_char_boundary(range.start))
    }

    pub(super) fn length(&self) -> usize {
        self.text.len()
    }

    /// Returns the original bytes of a range.
    pub(super) fn part(&self, range: Range<usize>) -> &'t [u8] {
        let original = |position: usize| match &self.offsets {
            None => position,
            Some(offsets) => offsets.get(position).copied().unwrap_or(self.original.len()),
        };
        self.original.get(original(range.start)..original(range.end)).unwrap_or_default()
    }
}
