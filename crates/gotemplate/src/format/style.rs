//! Flags, width and precision of a directive.

use super::super::value::decode_character;

/// The options of one directive of `printf`.
#[derive(Clone, Copy, Debug, Default)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "these are the flags that fmt has, and they combine freely"
)]
pub(super) struct Style {
    pub width: Option<usize>,
    pub precision: Option<usize>,
    pub minus: bool,
    pub plus: bool,
    pub sharp: bool,
    pub space: bool,
    pub zero: bool,
    /// `%#v`
    pub go_syntax: bool,
}

impl Style {
    /// Returns the style for `%v`, which gives `#` and `+` a meaning of their own.
    pub(super) fn for_value(mut self) -> Self {
        self.go_syntax = std::mem::take(&mut self.sharp);
        self.plus = false;
        self
    }

    /// Truncates a text to as many characters as the precision says.
    pub(super) fn truncated(self, bytes: &[u8]) -> &[u8] {
        let Some(precision) = self.precision else {
            return bytes;
        };
        let mut end = 0;
        for _ in 0..precision {
            match bytes.get(end..).and_then(decode_character) {
                Some((_, width)) => end += width,
                None => return bytes,
            }
        }
        bytes.get(..end).unwrap_or(bytes)
    }
}
