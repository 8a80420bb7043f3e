//! Writes diagnostics to stderr, one line each with a glyph in front, and results to stdout.
//!
//! A result that cannot be written is an error. A diagnostic that cannot be written is ignored, because the work of the
//! command matters more. The macros of `std` and `anstream` would panic instead.

use std::io::{self, Write};
use std::process::ExitCode;

use anstyle::{AnsiColor, Style};

use super::error::CliError;
use crate::release::finding::Printable;

pub(super) const GREEN: Style = AnsiColor::Green.on_default();
pub(super) const YELLOW: Style = AnsiColor::Yellow.on_default();
pub(super) const RED: Style = AnsiColor::Red.on_default();
pub(super) const BOLD: Style = Style::new().bold();

/// Reports that something was done.
pub(super) fn success(message: impl std::fmt::Display) {
    say(GREEN, '✔', message);
}

/// Reports a fact, which details may follow.
pub(super) fn note(message: impl std::fmt::Display) {
    say(Style::new(), '►', message);
}

/// Prints a detail of the line before.
pub(super) fn detail(message: impl std::fmt::Display) {
    diagnostic(&format!("    {}\n", printable(&message.to_string())));
}

/// Reports a warning.
pub(super) fn warning(message: impl std::fmt::Display) {
    say(YELLOW, '!', message);
}

/// Reports that something is held, or being waited for.
pub(super) fn waiting(message: impl std::fmt::Display) {
    say(YELLOW, '◎', message);
}

/// Reports a problem.
pub(super) fn problem(message: impl std::fmt::Display) {
    say(RED, '✗', message);
}

/// Reports a failed command, with its hint.
pub(super) fn failure(error: &CliError) {
    problem(&error.message);
    if let Some(hint) = &error.hint {
        say(Style::new(), '→', hint);
    }
}

fn say(style: Style, glyph: char, message: impl std::fmt::Display) {
    diagnostic(&format!("{style}{glyph}{style:#} {}\n", printable(&message.to_string())));
}

fn diagnostic(text: &str) {
    let _there_is_no_place_to_say_so = write_to(anstream::stderr().lock(), text);
}

/// Removes control characters from the lines of a text: it may repeat text from outside stackflux, and a terminal would
/// execute them.
fn printable(text: &str) -> String {
    let lines: Vec<String> = text.lines().map(|line| Printable(line).to_string()).collect();
    lines.join("\n")
}

/// Writes data to stdout. A closed pipe (`| head`) is not an error.
pub(super) fn data(text: &str) -> io::Result<()> {
    write_to(io::stdout().lock(), text)
}

/// Prints clap's help or error message instead of a command's result, and returns its exit code.
pub(super) fn usage(message: &clap::Error) -> ExitCode {
    let is_lost = |error: io::Error| !message.use_stderr() && error.kind() != io::ErrorKind::BrokenPipe;
    match message.print().map_err(is_lost) {
        Err(true) => ExitCode::from(2),
        Ok(()) | Err(false) => u8::try_from(message.exit_code()).map_or(ExitCode::FAILURE, ExitCode::from),
    }
}

/// Writes data with colours to stdout, without them if stdout is not a terminal or colours are disabled.
pub(super) fn styled(text: &str) -> io::Result<()> {
    write_to(anstream::stdout().lock(), text)
}

fn write_to(mut out: impl Write, text: &str) -> io::Result<()> {
    let written = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    written.or_else(|error| if error.kind() == io::ErrorKind::BrokenPipe { Ok(()) } else { Err(error) })
}
