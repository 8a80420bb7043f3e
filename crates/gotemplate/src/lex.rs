//! From source to tokens, by the rules of Go's `text/template/parse/lex.go`.

use super::syntax::Span;

/// The kinds of tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Error,
    End,
    Text,
    LeftDelimiter,
    RightDelimiter,
    LeftParenthesis,
    RightParenthesis,
    Space,
    Pipe,
    Assign,
    Declare,
    Bool,
    Character,
    CharacterConstant,
    Complex,
    Number,
    RawString,
    String,
    Dot,
    Field,
    Variable,
    Identifier,
    Keyword(Keyword),
}

/// Keywords: words that cannot be names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Keyword {
    Block,
    Break,
    Continue,
    Define,
    Else,
    End,
    If,
    Nil,
    Range,
    Template,
    With,
}

/// A token: its kind and its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Token {
    pub kind: Kind,
    pub span: Span,
    /// The text of the error.
    pub message: &'static str,
}

/// Reads tokens one after the other.
pub(super) struct Lexer<'s> {
    source: &'s str,
    position: usize,
    inside_action: bool,
    open_parentheses: usize,
    /// After an error there is nothing more to read.
    failed: bool,
}

type Lexed = Result<Token, Token>;

fn is_space(character: char) -> bool {
    matches!(character, ' ' | '\t' | '\r' | '\n')
}

fn is_name(character: char) -> bool {
    character == '_' || character.is_alphabetic() || character.is_numeric()
}

/// Whether `- ` follows a left delimiter.
fn trims_left(rest: &str) -> bool {
    let mut characters = rest.chars();
    characters.next() == Some('-') && characters.next().is_some_and(is_space)
}

/// Whether ` -` precedes a right delimiter.
fn trims_right(rest: &str) -> bool {
    let mut characters = rest.chars();
    characters.next().is_some_and(is_space) && characters.next() == Some('-')
}

impl<'s> Lexer<'s> {
    pub(super) fn new(source: &'s str) -> Self {
        Lexer { source, position: 0, inside_action: false, open_parentheses: 0, failed: false }
    }

    /// Returns the next token; after the last one, or after an error, always [`Kind::End`].
    pub(super) fn next_token(&mut self) -> Token {
        if self.failed {
            return self.token(Kind::End, self.position);
        }
        let lexed = if self.inside_action { self.inside_action() } else { self.text() };
        lexed.unwrap_or_else(|error| {
            self.failed = true;
            error
        })
    }

    /// Returns the byte after the last token.
    pub(super) fn position(&self) -> usize {
        self.position
    }

    fn rest(&self) -> &'s str {
        self.source.get(self.position..).unwrap_or_default()
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn next(&mut self) -> Option<char> {
        let character = self.peek()?;
        self.position += character.len_utf8();
        Some(character)
    }

    fn accept(&mut self, valid: &str) -> bool {
        let accepted = self.peek().is_some_and(|character| valid.contains(character));
        if accepted {
            self.position += 1;
        }
        accepted
    }

    fn accept_run(&mut self, valid: &str) {
        while self.accept(valid) {}
    }

    fn token(&self, kind: Kind, start: usize) -> Token {
        Token { kind, span: start..self.position, message: "" }
    }

    fn error(&self, start: usize, message: &'static str) -> Token {
        Token { kind: Kind::Error, span: start..self.position.max(start), message }
    }

    /// Reads text up to the next action; skips comments.
    fn text(&mut self) -> Lexed {
        loop {
            let start = self.position;
            let Some(length) = self.rest().find("{{") else {
                self.position = self.source.len();
                let kind = if start < self.position { Kind::Text } else { Kind::End };
                return Ok(self.token(kind, start));
            };
            let text = self.rest().get(..length).unwrap_or_default();
            let after = self.rest().get(length + 2..).unwrap_or_default();
            let kept = if trims_left(after) { text.trim_end_matches(is_space).len() } else { length };
            self.position = start + length;
            if kept > 0 {
                return Ok(Token { kind: Kind::Text, span: start..start + kept, message: "" });
            }
            if let Some(token) = self.left_delimiter()? {
                return Ok(token);
            }
        }
    }

    /// Reads the start of an action, or a whole comment (`None`).
    fn left_delimiter(&mut self) -> Result<Option<Token>, Token> {
        let start = self.position;
        self.position += 2;
        let token = self.token(Kind::LeftDelimiter, start);
        if trims_left(self.rest()) {
            self.position += 2;
        }
        if !self.rest().starts_with("/*") {
            self.inside_action = true;
            self.open_parentheses = 0;
            return Ok(Some(token));
        }
        self.position += 2;
        let Some(length) = self.rest().find("*/") else {
            return Err(self.error(start, "unclosed comment"));
        };
        self.position += length + 2;
        if !self.at_right_delimiter() {
            return Err(self.error(start, "comment ends before closing delimiter"));
        }
        self.right_delimiter();
        Ok(None)
    }

    fn at_right_delimiter(&self) -> bool {
        self.rest().starts_with("}}") || self.at_trimming_right_delimiter()
    }

    fn at_trimming_right_delimiter(&self) -> bool {
        trims_right(self.rest()) && self.rest().get(2..).is_some_and(|rest| rest.starts_with("}}"))
    }

    fn right_delimiter(&mut self) -> Token {
        let trims = self.at_trimming_right_delimiter();
        if trims {
            self.position += 2;
        }
        let start = self.position;
        self.position += 2;
        let token = self.token(Kind::RightDelimiter, start);
        if trims {
            self.position = self.source.len() - self.rest().trim_start_matches(is_space).len();
        }
        self.inside_action = false;
        token
    }

    fn inside_action(&mut self) -> Lexed {
        let start = self.position;
        if self.at_right_delimiter() {
            if self.open_parentheses > 0 {
                return Err(self.error(start, "unclosed left paren"));
            }
            return Ok(self.right_delimiter());
        }
        let Some(character) = self.next() else {
            return Err(self.error(start, "unclosed action"));
        };
        let kind = match character {
            _ if is_space(character) => return Ok(self.space(start)),
            '=' => Kind::Assign,
            ':' if self.accept("=") => Kind::Declare,
            ':' => return Err(self.error(start, "expected :=")),
            '|' => Kind::Pipe,
            '"' => return self.quoted(start, '"', Kind::String, "unterminated quoted string"),
            '\'' => {
                return self.quoted(start, '\'', Kind::CharacterConstant, "unterminated character constant");
            }
            '`' => return self.raw_string(start),
            '$' => return self.field_or_variable(start, Kind::Variable),
            '.' if !self.peek().is_some_and(|next| next.is_ascii_digit()) && self.peek().is_some() => {
                return self.field_or_variable(start, Kind::Field);
            }
            '.' | '+' | '-' | '0'..='9' => {
                self.position = start;
                return self.number(start);
            }
            _ if is_name(character) => return self.identifier(start),
            '(' => {
                self.open_parentheses += 1;
                Kind::LeftParenthesis
            }
            ')' if self.open_parentheses == 0 => return Err(self.error(start, "unexpected right paren")),
            ')' => {
                self.open_parentheses -= 1;
                Kind::RightParenthesis
            }
            '!'..='~' => Kind::Character,
            _ => return Err(self.error(start, "unrecognized character in action")),
        };
        Ok(self.token(kind, start))
    }

    fn space(&mut self, start: usize) -> Token {
        let mut last = start;
        while self.peek().is_some_and(is_space) {
            last = self.position;
            self.position += 1;
        }
        // The last space may belong to a trimming delimiter.
        let end = self.position;
        self.position = last;
        if !self.at_trimming_right_delimiter() {
            self.position = end;
        }
        self.token(Kind::Space, start)
    }

    fn at_terminator(&self) -> bool {
        match self.peek() {
            None | Some('.' | ',' | '|' | ':' | ')' | '(') => true,
            Some(character) => is_space(character) || self.rest().starts_with("}}"),
        }
    }

    fn name(&mut self, start: usize) -> Result<(), Token> {
        while self.peek().is_some_and(is_name) {
            self.next();
        }
        if self.at_terminator() { Ok(()) } else { Err(self.error(start, "bad character after a name")) }
    }

    fn identifier(&mut self, start: usize) -> Lexed {
        self.name(start)?;
        let kind = match self.source.get(start..self.position).unwrap_or_default() {
            "block" => Kind::Keyword(Keyword::Block),
            "break" => Kind::Keyword(Keyword::Break),
            "continue" => Kind::Keyword(Keyword::Continue),
            "define" => Kind::Keyword(Keyword::Define),
            "else" => Kind::Keyword(Keyword::Else),
            "end" => Kind::Keyword(Keyword::End),
            "if" => Kind::Keyword(Keyword::If),
            "nil" => Kind::Keyword(Keyword::Nil),
            "range" => Kind::Keyword(Keyword::Range),
            "template" => Kind::Keyword(Keyword::Template),
            "with" => Kind::Keyword(Keyword::With),
            "true" | "false" => Kind::Bool,
            _ => Kind::Identifier,
        };
        Ok(self.token(kind, start))
    }

    fn field_or_variable(&mut self, start: usize, kind: Kind) -> Lexed {
        if self.at_terminator() {
            let alone = if kind == Kind::Field { Kind::Dot } else { kind };
            return Ok(self.token(alone, start));
        }
        self.name(start)?;
        Ok(self.token(kind, start))
    }

    fn quoted(&mut self, start: usize, quote: char, kind: Kind, message: &'static str) -> Lexed {
        loop {
            match self.next() {
                Some('\\') if self.peek().is_some_and(|next| next != '\n') => {
                    self.next();
                }
                None | Some('\n' | '\\') => return Err(self.error(start, message)),
                Some(character) if character == quote => return Ok(self.token(kind, start)),
                Some(_) => {}
            }
        }
    }

    fn raw_string(&mut self, start: usize) -> Lexed {
        match self.rest().find('`') {
            Some(length) => {
                self.position += length + 1;
                Ok(self.token(Kind::RawString, start))
            }
            None => Err(self.error(start, "unterminated raw quoted string")),
        }
    }

    fn number(&mut self, start: usize) -> Lexed {
        if !self.scan_number() {
            return Err(self.error(start, "bad number syntax"));
        }
        if !matches!(self.peek(), Some('+' | '-')) {
            return Ok(self.token(Kind::Number, start));
        }
        if !self.scan_number() || !self.source.get(..self.position).is_some_and(|read| read.ends_with('i')) {
            return Err(self.error(start, "bad number syntax"));
        }
        Ok(self.token(Kind::Complex, start))
    }

    fn scan_number(&mut self) -> bool {
        const DECIMAL: &str = "0123456789_";
        self.accept("+-");
        let mut digits = DECIMAL;
        if self.accept("0") {
            if self.accept("xX") {
                digits = "0123456789abcdefABCDEF_";
            } else if self.accept("oO") {
                digits = "01234567_";
            } else if self.accept("bB") {
                digits = "01_";
            }
        }
        self.accept_run(digits);
        if self.accept(".") {
            self.accept_run(digits);
        }
        let exponent = match digits.len() {
            11 => "eE",
            23 => "pP",
            _ => "",
        };
        if self.accept(exponent) {
            self.accept("+-");
            self.accept_run(DECIMAL);
        }
        self.accept("i");
        !self.peek().is_some_and(is_name)
    }
}
