//! Writes results in the requested format: a table for people, JSON or YAML for programs.

use std::io::IsTerminal as _;

use clap::ValueEnum;
use comfy_table::{ColumnConstraint, ContentArrangement, Table, presets};
use serde::Serialize;

use super::error::CliError;
use super::terminal;
use crate::plan::canonical;
use crate::release::finding::Printable;

/// The form of what a command prints to standard output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Format {
    /// Columns for people
    Table,
    /// JSON for programs
    Json,
    /// YAML for programs
    Yaml,
}

/// Number of spaces between two columns.
const GAP: u16 = 3;

/// Minimum width of a column whose texts are wrapped.
const LEAST_TEXT: usize = 30;

/// The cell of a missing value.
pub(super) const NOTHING: &str = "-";

/// Prints a value in this format; `table` formats it as a table.
pub(super) fn print<T: Serialize>(
    value: &T,
    format: Format,
    table: impl FnOnce(&T) -> String,
) -> Result<(), CliError> {
    Ok(terminal::data(&rendered(value, format, table)?)?)
}

/// Formats a value in this format; `table` formats it as a table.
pub(super) fn rendered<T: Serialize>(
    value: &T,
    format: Format,
    table: impl FnOnce(&T) -> String,
) -> Result<String, CliError> {
    Ok(match format {
        Format::Table => table(value),
        Format::Json => serde_json::to_string_pretty(value)? + "\n",
        Format::Yaml => canonical::to_yaml(&serde_json::to_value(value)?),
    })
}

/// Formats a table like `kubectl`, without lines. On a terminal, long texts of the last column are wrapped; otherwise
/// each row is one line.
pub(super) fn table<const N: usize>(
    header: [&str; N],
    rows: impl IntoIterator<Item = [String; N]>,
) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_header(header);
    table.add_rows(rows.into_iter().map(|row| row.map(|cell| Printable(&cell).to_string())));
    for column in table.column_iter_mut() {
        column.set_padding((0, GAP));
    }
    if let Some(width) = terminal_width() {
        wrap_last(&mut table, width);
    }
    table.trim_fmt() + "\n"
}

/// Wraps the texts of the last column between words, so that the table is no wider than the terminal. Names must stay
/// whole: if there is not enough room for them, the terminal wraps the lines.
fn wrap_last(table: &mut Table, width: u16) {
    let widths = table.column_max_content_widths();
    let Some((_, before)) = widths.split_last() else { return };
    let taken: u16 = before.iter().map(|width| width.saturating_add(GAP)).fold(0, u16::saturating_add);
    let cells = table.column_cells_iter(before.len()).flatten();
    let longest = cells.filter_map(|cell| longest_word(&cell.content())).max().unwrap_or_default();
    if usize::from(width.saturating_sub(taken)) < longest.max(LEAST_TEXT) {
        return;
    }
    table.set_content_arrangement(ContentArrangement::Dynamic).set_width(width);
    for column in table.column_iter_mut().take(before.len()) {
        column.set_constraint(ColumnConstraint::ContentWidth);
    }
}

/// Returns the length of the longest word in characters; `None` if there is no word.
fn longest_word(text: &str) -> Option<usize> {
    text.split_whitespace().map(|word| word.chars().count()).max()
}

/// Returns the width of the terminal at standard output; `None` if standard output is a file or a pipe.
fn terminal_width() -> Option<u16> {
    if !std::io::stdout().is_terminal() {
        return None;
    }
    terminal_size::terminal_size().map(|(width, _)| width.0)
}

/// Formats lines of `Label:   value`, with aligned values.
pub(super) fn properties(lines: &[(&str, String)]) -> String {
    let width = lines.iter().map(|(label, _)| label.len()).max().unwrap_or_default() + 1;
    let line = |(label, value): &(&str, String)| {
        let label = format!("{label}:");
        format!("{label:width$}  {}\n", Printable(value))
    };
    lines.iter().map(line).collect()
}

/// Formats a number of things: `1 error`, `2 errors`.
pub(super) fn count(number: usize, thing: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{number} {thing}{plural}")
}
