//! A document with headings, lists, tables and foldable parts, as plain text for a terminal or as Markdown for a forge.
//!
//! Text from other sources is always formatted as code, so that a forge renders no link, mention or image from it. If
//! the document is too long for a forge, whole blocks are left out, starting with the folded ones, and the end of the
//! document lists them.

mod markdown;
mod plain;

pub use crate::release::finding::shortened;

/// A piece of a line.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Span {
    /// Words of stackflux.
    Words(String),
    /// Emphasized words of stackflux.
    Strong(String),
    /// A name, a value or another text from outside stackflux.
    Code(String),
}

/// One line of text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Line(Vec<Span>);

impl Line {
    /// Creates a line that begins with these words, which must be stackflux's own.
    #[must_use]
    pub fn new(words: &str) -> Self {
        Self::default().words(words)
    }

    /// Appends words of stackflux.
    #[must_use]
    pub fn words(self, words: &str) -> Self {
        if words.is_empty() {
            return self;
        }
        self.span(Span::Words(words.to_owned()))
    }

    /// Appends emphasized words of stackflux.
    #[must_use]
    pub fn strong(self, words: &str) -> Self {
        self.span(Span::Strong(words.to_owned()))
    }

    /// Appends a text from outside stackflux.
    #[must_use]
    pub fn code(self, text: &str) -> Self {
        self.span(Span::Code(text.to_owned()))
    }

    /// Appends several texts from outside stackflux, separated by commas: at most `most`, then the number of the
    /// others.
    #[must_use]
    pub fn codes<'a>(mut self, texts: impl IntoIterator<Item = &'a str>, most: usize) -> Self {
        let texts: Vec<&str> = texts.into_iter().collect();
        for (at, text) in texts.iter().take(most).enumerate() {
            self = if at > 0 { self.words(", ") } else { self }.code(text);
        }
        match texts.len().saturating_sub(most) {
            0 => self,
            more => self.words(&format!(" and {more} more")),
        }
    }

    fn span(mut self, span: Span) -> Self {
        self.0.push(span);
        self
    }
}

/// A part of a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Block {
    /// A heading; level 1 is the highest.
    Heading(u8, Line),
    /// A paragraph.
    Paragraph(Line),
    /// A list.
    List(Vec<Line>),
    /// A table: its header, and rows with the same number of cells.
    Table(Vec<&'static str>, Vec<Vec<Line>>),
    /// Lines that a forge folds below a summary.
    Folded(Line, Vec<Line>),
}

/// Blocks in their order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Document(pub Vec<Block>);

impl Document {
    /// Formats the document for a terminal or a log, without control characters and with a final line break.
    #[must_use]
    pub fn to_plain(&self) -> String {
        plain::write(self)
    }

    /// Formats the document for a forge, in at most `most` bytes. Long texts from outside stackflux are shortened.
    #[must_use]
    pub fn to_markdown(&self, most: usize) -> String {
        markdown::write(self, most)
    }
}

#[cfg(test)]
mod tests;
