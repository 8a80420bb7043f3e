//! A text with headings, lists, tables and parts to fold, as plain text for a terminal and as Markdown for a forge.
//!
//! Everything that somebody else wrote stands in code: a forge then makes no link, no mention and no picture of it. Of
//! what is too long for a forge whole blocks are left out, those that it folds away first, and it is said which.

mod markdown;
mod plain;

/// A piece of a line.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Span {
    /// Our own words.
    Words(String),
    /// Our own words that matter.
    Strong(String),
    /// A name, a value or a text of somebody else's.
    Code(String),
}

/// One line of text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Line(Vec<Span>);

impl Line {
    /// A line that begins with these words, which are our own.
    #[must_use]
    pub fn new(words: &str) -> Self {
        Self::default().words(words)
    }

    /// More words of our own.
    #[must_use]
    pub fn words(self, words: &str) -> Self {
        if words.is_empty() {
            return self;
        }
        self.span(Span::Words(words.to_owned()))
    }

    /// Words of our own that matter.
    #[must_use]
    pub fn strong(self, words: &str) -> Self {
        self.span(Span::Strong(words.to_owned()))
    }

    /// What somebody else wrote.
    #[must_use]
    pub fn code(self, text: &str) -> Self {
        self.span(Span::Code(text.to_owned()))
    }

    /// Several texts of somebody else's with commas between; at most `most`, and how many there are besides.
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
    /// A heading; 1 is the highest.
    Heading(u8, Line),
    /// A paragraph.
    Paragraph(Line),
    /// A list.
    List(Vec<Line>),
    /// A table: its header, and rows with as many cells.
    Table(Vec<&'static str>, Vec<Vec<Line>>),
    /// Lines that a forge folds away below a summary.
    Folded(Line, Vec<Line>),
}

/// Blocks in their order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Document(pub Vec<Block>);

impl Document {
    /// For a terminal or a log, without control characters and with a line break at the end.
    #[must_use]
    pub fn to_plain(&self) -> String {
        plain::write(self)
    }

    /// For a forge, of at most `most` bytes. Texts of somebody else's are shortened.
    #[must_use]
    pub fn to_markdown(&self, most: usize) -> String {
        markdown::write(self, most)
    }
}

/// A text of at most so many characters, with `…` where it was cut.
#[must_use]
pub fn shortened(text: &str, longest: usize) -> String {
    match text.char_indices().nth(longest) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests;
