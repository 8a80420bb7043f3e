//! What is said to the person at the terminal: one line each, a glyph in front, on standard error.

use std::io::{self, Write};

use anstyle::{AnsiColor, Style};

use super::error::CliError;
use crate::release::finding::Printable;

const GREEN: Style = AnsiColor::Green.on_default();
const YELLOW: Style = AnsiColor::Yellow.on_default();
const RED: Style = AnsiColor::Red.on_default();

/// Something was done.
pub(super) fn success(message: impl std::fmt::Display) {
    say(GREEN, '✔', message);
}

/// Something is about to be told in detail.
pub(super) fn note(message: impl std::fmt::Display) {
    say(Style::new(), '►', message);
}

/// A detail of what was told before.
pub(super) fn detail(message: impl std::fmt::Display) {
    anstream::eprintln!("    {}", printable(&message.to_string()));
}

/// Something should be known.
pub(super) fn warning(message: impl std::fmt::Display) {
    say(YELLOW, '!', message);
}

/// Something is held back.
pub(super) fn waiting(message: impl std::fmt::Display) {
    say(YELLOW, '◎', message);
}

/// Something is wrong.
pub(super) fn problem(message: impl std::fmt::Display) {
    say(RED, '✗', message);
}

/// A command failed.
pub(super) fn failure(error: &CliError) {
    problem(&error.message);
    if let Some(hint) = &error.hint {
        say(Style::new(), '→', hint);
    }
}

fn say(style: Style, glyph: char, message: impl std::fmt::Display) {
    anstream::eprintln!("{style}{glyph}{style:#} {}", printable(&message.to_string()));
}

/// The lines of a text without control characters: it may repeat what others wrote, and a terminal would obey.
fn printable(text: &str) -> String {
    let lines: Vec<String> = text.lines().map(|line| Printable(line).to_string()).collect();
    lines.join("\n")
}

/// Writes data to standard output. A reader that has gone away (`| head`) is no error.
pub(super) fn data(text: &str) -> io::Result<()> {
    write_to(io::stdout().lock(), text)
}

/// Writes data with colours to standard output; without them where that is no terminal, or colours are not wanted.
pub(super) fn styled(text: &str) -> io::Result<()> {
    write_to(anstream::stdout().lock(), text)
}

fn write_to(mut out: impl Write, text: &str) -> io::Result<()> {
    let written = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    written.or_else(|error| if error.kind() == io::ErrorKind::BrokenPipe { Ok(()) } else { Err(error) })
}
