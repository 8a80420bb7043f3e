//! Format strings: which directive takes which argument (`doPrintf` of Go's `fmt/print.go`).

use super::super::value::{Value, decode_character};
use super::style::Style;
use super::{Printed, Printer};

/// Go takes no width, precision or argument number above this.
const LARGEST_NUMBER: i64 = 1_000_000;

/// Reads a format string.
struct Reader<'f> {
    format: &'f [u8],
    position: usize,
    /// The index of the next argument.
    argument: usize,
    arguments: usize,
    /// Whether any directive names its argument (`%[2]d`).
    reordered: bool,
    good_argument: bool,
    /// Whether the last thing read was an argument number.
    after_index: bool,
}

impl Reader<'_> {
    fn peek(&self) -> Option<u8> {
        self.format.get(self.position).copied()
    }

    fn accept(&mut self, byte: u8) -> bool {
        let accepted = self.peek() == Some(byte);
        self.position += usize::from(accepted);
        accepted
    }

    fn flags(&mut self) -> Style {
        let mut style = Style::default();
        while let Some(byte) = self.peek() {
            match byte {
                b'#' => style.sharp = true,
                b'0' => style.zero = true,
                b'+' => style.plus = true,
                b'-' => style.minus = true,
                b' ' => style.space = true,
                _ => break,
            }
            self.position += 1;
        }
        style
    }

    /// Reads a number; one that is too large ends the format.
    fn number(&mut self) -> Option<usize> {
        let (number, next) = parse_number(self.format, self.position);
        self.position = next;
        number
    }

    /// Reads the number of an argument: `[n]`.
    fn argument_number(&mut self) {
        if self.peek() != Some(b'[') {
            self.after_index = false;
            return;
        }
        self.reordered = true;
        let rest = self.format.get(self.position..).unwrap_or_default();
        let closing = if rest.len() < 3 { None } else { rest.iter().position(|byte| *byte == b']') };
        let Some(length) = closing else {
            self.position += 1;
            self.after_index = false;
            self.good_argument = false;
            return;
        };
        let inside = rest.get(..length).unwrap_or_default();
        let (number, next) = parse_number(inside, 1);
        self.position += length + 1;
        let number = number.filter(|_| next == length);
        self.after_index = number.is_some();
        match number.and_then(|number| number.checked_sub(1)).filter(|index| *index < self.arguments) {
            Some(index) => self.argument = index,
            None => self.good_argument = false,
        }
    }

    /// Takes the width or precision from the arguments, for a `*`.
    fn starred(&mut self, values: &[Value<'_>]) -> Option<i64> {
        let value = values.get(self.argument)?;
        self.argument += 1;
        value.integer().filter(|number| (-LARGEST_NUMBER..=LARGEST_NUMBER).contains(number))
    }
}

fn parse_number(text: &[u8], start: usize) -> (Option<usize>, usize) {
    let mut number = None;
    let mut position = start;
    while let Some(digit) = text.get(position).filter(|byte| byte.is_ascii_digit()) {
        let so_far = number.unwrap_or(0);
        if so_far > usize::try_from(LARGEST_NUMBER).unwrap_or(usize::MAX) {
            return (None, text.len());
        }
        number = Some(so_far * 10 + usize::from(digit - b'0'));
        position += 1;
    }
    (number, position)
}

impl<'a> Printer<'_, 'a> {
    /// Writes values as `fmt.Printf` does.
    pub(crate) fn print_format(&mut self, format: &[u8], values: &[Value<'a>]) -> Printed<'a> {
        let mut reader = Reader {
            format,
            position: 0,
            argument: 0,
            arguments: values.len(),
            reordered: false,
            good_argument: true,
            after_index: false,
        };
        while let Some(rest) = format.get(reader.position..).filter(|rest| !rest.is_empty()) {
            let length = rest.iter().position(|byte| *byte == b'%').unwrap_or(rest.len());
            self.push(rest.get(..length).unwrap_or_default())?;
            reader.position += length;
            if reader.accept(b'%') {
                self.directive(&mut reader, values)?;
            }
        }
        self.extra(&reader, values)
    }

    fn directive(&mut self, reader: &mut Reader<'_>, values: &[Value<'a>]) -> Printed<'a> {
        reader.good_argument = true;
        reader.after_index = false;
        self.style = reader.flags();
        reader.argument_number();
        self.width(reader, values)?;
        self.precision(reader, values)?;
        if !reader.after_index {
            reader.argument_number();
        }
        let rest = reader.format.get(reader.position..).unwrap_or_default();
        let Some((verb, width)) = decode_character(rest) else {
            return self.push(b"%!(NOVERB)");
        };
        reader.position += width;
        let verb = verb.unwrap_or(char::REPLACEMENT_CHARACTER);
        if verb == '%' {
            return self.push(b"%");
        }
        let problem = match values.get(reader.argument) {
            _ if !reader.good_argument => "(BADINDEX)",
            None => "(MISSING)",
            Some(value) => {
                if matches!(verb, 'v' | 'w') {
                    self.style = self.style.for_value();
                }
                reader.argument += 1;
                return self.argument(value, verb);
            }
        };
        self.push(b"%!")?;
        self.push_character(verb)?;
        self.push(problem.as_bytes())
    }

    fn width(&mut self, reader: &mut Reader<'_>, values: &[Value<'a>]) -> Printed<'a> {
        if !reader.accept(b'*') {
            self.style.width = reader.number();
            if reader.after_index && self.style.width.is_some() {
                reader.good_argument = false;
            }
            return Ok(());
        }
        let width = reader.starred(values);
        reader.after_index = false;
        match width {
            None => return self.push(b"%!(BADWIDTH)"),
            Some(width) => {
                if width < 0 {
                    self.style.minus = true;
                    self.style.zero = false;
                }
                self.style.width = usize::try_from(width.unsigned_abs()).ok();
            }
        }
        Ok(())
    }

    fn precision(&mut self, reader: &mut Reader<'_>, values: &[Value<'a>]) -> Printed<'a> {
        if reader.position + 1 >= reader.format.len() || !reader.accept(b'.') {
            return Ok(());
        }
        if reader.after_index {
            reader.good_argument = false;
        }
        reader.argument_number();
        if !reader.accept(b'*') {
            self.style.precision = Some(reader.number().unwrap_or(0));
            return Ok(());
        }
        let precision = reader.starred(values).and_then(|precision| usize::try_from(precision).ok());
        reader.after_index = false;
        self.style.precision = precision;
        if precision.is_none() {
            return self.push(b"%!(BADPREC)");
        }
        Ok(())
    }

    /// Writes the arguments that no directive took.
    fn extra(&mut self, reader: &Reader<'_>, values: &[Value<'a>]) -> Printed<'a> {
        let left = values.get(reader.argument..).unwrap_or_default();
        if reader.reordered || left.is_empty() {
            return Ok(());
        }
        self.style = Style::default();
        self.push(b"%!(EXTRA ")?;
        for (index, value) in left.iter().enumerate() {
            if index > 0 {
                self.push(b", ")?;
            }
            if value.is_nil() {
                self.push(b"<nil>")?;
            } else {
                self.typed(value)?;
            }
        }
        self.push(b")")
    }
}
