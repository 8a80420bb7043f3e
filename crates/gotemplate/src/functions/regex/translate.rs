//! Go's syntax of regular expressions (`regexp/syntax`) in the words of the `regex` crate.
//!
//! Both agree on most of it. Classes like `\d` are ASCII in Go; `\Q…\E`, octal escapes and braces that are not a
//! repetition exist in Go only; set operations, further escapes and the flags `x` and `R` in the crate only.

use std::fmt::Write;

/// Maximum number of repetitions in Go.
const MAX_REPETITIONS: u32 = 1000;

/// Go's classes in brackets.
const NAMED_CLASSES: &[&str] = &[
    "alnum", "alpha", "ascii", "blank", "cntrl", "digit", "graph", "lower", "print", "punct", "space",
    "upper", "word", "xdigit",
];

/// An expression in the words of the crate.
pub(super) struct Translation {
    pub expression: String,
    /// The names of the groups, from the first one on. Go lets several have the same.
    pub groups: Vec<String>,
}

/// Translates an expression of Go for the crate; fails with Go's error.
pub(super) fn translate(pattern: &str) -> Result<Translation, &'static str> {
    let mut translator = Translator {
        rest: pattern,
        result: String::new(),
        groups: Vec::new(),
        last: 1,
        largest: 1,
        enclosing: Vec::new(),
    };
    while let Some(character) = translator.next() {
        translator.item(character)?;
    }
    Ok(Translation { expression: translator.result, groups: translator.groups })
}

struct Translator<'p> {
    rest: &'p str,
    result: String,
    groups: Vec<String>,
    /// Number of repetitions of the last item by counts, with all counts inside of it.
    last: u32,
    /// The largest such number in the group that is open, and in those around it.
    largest: u32,
    enclosing: Vec<u32>,
}

type Translated<T = ()> = Result<T, &'static str>;

/// Returns the ASCII classes of Go's escapes, as the inside of a class.
fn ascii_class(name: char) -> Option<&'static str> {
    match name {
        'd' | 'D' => Some("0-9"),
        's' | 'S' => Some(r"\t\n\x0C\r\x20"),
        'w' | 'W' => Some("0-9A-Za-z_"),
        _ => None,
    }
}

impl<'p> Translator<'p> {
    fn next(&mut self) -> Option<char> {
        let mut characters = self.rest.chars();
        let next = characters.next();
        self.rest = characters.as_str();
        next
    }

    fn accept(&mut self, word: &str) -> bool {
        match self.rest.strip_prefix(word) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn take_until(&mut self, end: &str) -> Option<&'p str> {
        let (inside, rest) = self.rest.split_once(end)?;
        self.rest = rest;
        Some(inside)
    }

    fn literal(&mut self, character: char) {
        if character.is_ascii_alphanumeric() || !character.is_ascii() {
            self.result.push(character);
        } else {
            // Writing to a String cannot fail.
            let _ = write!(self.result, "\\x{{{:x}}}", u32::from(character));
        }
    }

    fn item(&mut self, character: char) -> Translated {
        match character {
            '*' | '+' | '?' => {
                self.result.push(character);
                return self.after_repetition();
            }
            '{' => {
                if let Some((least, most, rest)) = counts(self.rest) {
                    return self.counted(least, most, rest);
                }
            }
            _ => {}
        }
        self.last = 1;
        match character {
            '\\' => self.escape(),
            '[' => self.class(),
            '(' => self.group(),
            ')' => {
                self.result.push(')');
                self.last = self.largest;
                self.largest = self.enclosing.pop().unwrap_or(1).max(self.last);
                Ok(())
            }
            '.' | '^' | '$' | '|' => {
                self.result.push(character);
                Ok(())
            }
            other => {
                self.literal(other);
                Ok(())
            }
        }
    }

    /// Writes a count such as `{2,5}`: nested counts may not repeat anything more often than a single one may.
    fn counted(&mut self, least: u32, most: Option<u32>, rest: &'p str) -> Translated {
        let count = most.unwrap_or(least);
        self.last = self.last.saturating_mul(count);
        if count < least || least > MAX_REPETITIONS || self.last > MAX_REPETITIONS {
            return Err("invalid repeat count");
        }
        self.last = self.last.max(1);
        self.largest = self.largest.max(self.last);
        let (counts, _) = self.rest.split_at(self.rest.len() - rest.len());
        self.result.push('{');
        self.result.push_str(counts);
        self.rest = rest;
        self.after_repetition()
    }

    /// Reads the `?` that may follow a repetition. Another repetition right after one is an error in Go.
    fn after_repetition(&mut self) -> Translated {
        if self.accept("?") {
            self.result.push('?');
        }
        let is_counted = self.rest.strip_prefix('{').is_some_and(|rest| counts(rest).is_some());
        if self.rest.starts_with(['*', '+', '?']) || is_counted {
            return Err("invalid nested repetition operator");
        }
        Ok(())
    }

    fn group(&mut self) -> Translated {
        self.result.push('(');
        if self.accept("?P<") || self.accept("?<") {
            let name = self.take_until(">").ok_or("invalid named capture")?;
            if name.is_empty() || !name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_') {
                return Err("invalid named capture");
            }
            self.groups.push(name.to_owned());
        } else if self.accept("?") {
            if !self.flags()? {
                return Ok(());
            }
        } else {
            self.groups.push(String::new());
        }
        self.enclosing.push(std::mem::replace(&mut self.largest, 1));
        Ok(())
    }

    /// Reads the flags after `(?` and the character that ends them; returns whether a group begins here.
    fn flags(&mut self) -> Translated<bool> {
        let (mut set, mut cleared) = (String::new(), String::new());
        let mut clears = false;
        loop {
            let flag = self.next().ok_or("missing closing )")?;
            let flags = if clears { &mut cleared } else { &mut set };
            match flag {
                // Go takes a flag twice, and the last one counts.
                'i' | 'm' | 's' | 'U' if flags.contains(flag) => {}
                'i' | 'm' | 's' | 'U' => {
                    flags.push(flag);
                    if clears {
                        set.retain(|other| other != flag);
                    }
                }
                '-' if !clears => clears = true,
                ':' | ')' if !clears || !cleared.is_empty() => {
                    let minus = if clears { "-" } else { "" };
                    let begins_group = flag == ':';
                    // The crate knows no group that changes no flag.
                    let end =
                        if !begins_group && set.is_empty() && !clears { ":)" } else { &flag.to_string() };
                    // Writing to a String cannot fail.
                    let _ = write!(self.result, "?{set}{minus}{cleared}{end}");
                    return Ok(begins_group);
                }
                _ => return Err("invalid or unsupported Perl syntax"),
            }
        }
    }

    fn escape(&mut self) -> Translated {
        let character = self.next().ok_or("trailing backslash at end of expression")?;
        match character {
            'A' | 'z' => {
                self.result.push('\\');
                self.result.push(character);
            }
            'b' => self.result.push_str(r"(?-u:\b)"),
            'B' => self.result.push_str(r"(?-u:\B)"),
            'Q' => {
                let quoted = match self.rest.split_once("\\E") {
                    Some((quoted, rest)) => {
                        self.rest = rest;
                        quoted
                    }
                    None => std::mem::take(&mut self.rest),
                };
                for character in quoted.chars() {
                    self.literal(character);
                }
            }
            'p' | 'P' => self.property(character)?,
            other => {
                if let Some(class) = ascii_class(other) {
                    self.result.push_str(if other.is_ascii_uppercase() { "[^" } else { "[" });
                    self.result.push_str(class);
                    self.result.push(']');
                } else {
                    let literal = self.escaped(other)?;
                    self.literal(literal);
                }
            }
        }
        Ok(())
    }

    /// Translates a property: `\pL`, `\p{Greek}`, `\p{^Greek}`.
    fn property(&mut self, letter: char) -> Translated {
        let name = if self.accept("{") {
            self.take_until("}").ok_or("invalid character class range")?
        } else {
            let length = self.rest.chars().next().map_or(0, char::len_utf8);
            let (name, rest) = self.rest.split_at(length);
            self.rest = rest;
            name
        };
        let (negated, name) = match name.strip_prefix('^') {
            Some(name) => (true, name),
            None => (false, name),
        };
        if name.is_empty() || !name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_') {
            return Err("invalid character class range");
        }
        let letter = if negated == (letter == 'p') { 'P' } else { 'p' };
        // Writing to a String cannot fail.
        let _ = write!(self.result, "\\{letter}{{{name}}}");
        Ok(())
    }

    /// Reads the character that an escape stands for.
    fn escaped(&mut self, first: char) -> Translated<char> {
        const INVALID: &str = "invalid escape sequence";
        match first {
            'a' => Ok('\u{7}'),
            'f' => Ok('\u{c}'),
            'n' => Ok('\n'),
            'r' => Ok('\r'),
            't' => Ok('\t'),
            'v' => Ok('\u{b}'),
            '0'..='7' => {
                // A single digit other than zero would be a reference to a group.
                if first != '0' && !self.rest.starts_with(|next: char| next.is_digit(8)) {
                    return Err(INVALID);
                }
                let mut code = first.to_digit(8).unwrap_or(0);
                for _ in 0..2 {
                    let Some(digit) = self.rest.chars().next().and_then(|next| next.to_digit(8)) else {
                        break;
                    };
                    self.next();
                    code = code * 8 + digit;
                }
                char::from_u32(code).ok_or(INVALID)
            }
            'x' => {
                let digits = if self.accept("{") {
                    self.take_until("}").ok_or(INVALID)?
                } else {
                    let (digits, rest) = self.rest.split_at_checked(2).ok_or(INVALID)?;
                    self.rest = rest;
                    digits
                };
                if !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
                    return Err(INVALID);
                }
                u32::from_str_radix(digits, 16).ok().and_then(char::from_u32).ok_or(INVALID)
            }
            other if other.is_ascii() && !other.is_ascii_alphanumeric() => Ok(other),
            _ => Err(INVALID),
        }
    }

    fn class(&mut self) -> Translated {
        self.result.push('[');
        if self.accept("^") {
            self.result.push('^');
        }
        let mut first = true;
        while first || !self.rest.starts_with(']') {
            first = false;
            if self.rest.is_empty() {
                return Err("missing closing ]");
            }
            self.class_item()?;
        }
        self.accept("]");
        self.result.push(']');
        Ok(())
    }

    fn class_item(&mut self) -> Translated {
        if self.rest.starts_with("[:")
            && let Some((name, rest)) = self.rest.get(2..).and_then(|inside| inside.split_once(":]"))
        {
            if !NAMED_CLASSES.contains(&name.strip_prefix('^').unwrap_or(name)) {
                return Err("invalid character class range");
            }
            // Writing to a String cannot fail.
            let _ = write!(self.result, "[:{name}:]");
            self.rest = rest;
            return Ok(());
        }
        if let Some(letter) = self.rest.strip_prefix('\\').and_then(|rest| rest.chars().next()) {
            if matches!(letter, 'p' | 'P') {
                self.rest = self.rest.get(2..).unwrap_or_default();
                return self.property(letter);
            }
            if let Some(class) = ascii_class(letter) {
                self.rest = self.rest.get(2..).unwrap_or_default();
                self.result.push_str(if letter.is_ascii_uppercase() { "[^" } else { "[" });
                self.result.push_str(class);
                self.result.push(']');
                return Ok(());
            }
        }
        let low = self.class_character()?;
        let mut high = low;
        if self.rest.len() > 1 && self.rest.starts_with('-') && !self.rest.starts_with("-]") {
            self.next();
            high = self.class_character()?;
        }
        if high < low {
            return Err("invalid character class range");
        }
        self.literal(low);
        if high != low {
            self.result.push('-');
            self.literal(high);
        }
        Ok(())
    }

    fn class_character(&mut self) -> Translated<char> {
        match self.next().ok_or("missing closing ]")? {
            '\\' => {
                let escape = self.next().ok_or("trailing backslash at end of expression")?;
                self.escaped(escape)
            }
            other => Ok(other),
        }
    }
}

/// Parses the counts of a repetition whose brace was read; returns them and the text after its end.
fn counts(text: &str) -> Option<(u32, Option<u32>, &str)> {
    let (inside, rest) = text.split_once('}')?;
    let number = |text: &str| {
        let is_number =
            text.bytes().all(|byte| byte.is_ascii_digit()) && (text == "0" || !text.starts_with('0'));
        (is_number && !text.is_empty()).then(|| text.parse().unwrap_or(u32::MAX))
    };
    match inside.split_once(',') {
        None => number(inside).map(|count| (count, Some(count), rest)),
        Some((least, "")) => number(least).map(|least| (least, None, rest)),
        Some((least, most)) => Some((number(least)?, Some(number(most)?), rest)),
    }
}
