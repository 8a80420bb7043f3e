//! Writes results in the requested format: a table for people, JSON or YAML for programs.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::io::IsTerminal as _;

use anstyle::Style;
use clap::ValueEnum;
use comfy_table::{ColumnConstraint, ContentArrangement, Table, presets};
use serde::Serialize;

use super::error::CliError;
use super::terminal::{self, GREEN, RED, YELLOW};
use super::unused;
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

/// The form of a list that a command prints to standard output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum ListFormat {
    /// Columns for people
    Table,
    /// Columns for people, with nothing shortened or wrapped
    Wide,
    /// One name per line, as other commands take it
    Name,
    /// JSON for programs
    Json,
    /// YAML for programs
    Yaml,
}

/// The form of a list.
#[derive(Clone, Debug, clap::Args)]
pub(super) struct ListOutput {
    /// Output format
    #[arg(short, long, value_enum, value_name = "FORMAT", default_value = "table")]
    output: ListFormat,
    /// Leave out the header lines of a table
    #[arg(long)]
    no_headers: bool,
}

/// How a table is printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Layout {
    /// Without header lines.
    pub(super) no_headers: bool,
    /// With nothing shortened or wrapped.
    pub(super) wide: bool,
    /// The width of the terminal; `None` if each row is one line.
    pub(super) width: Option<u16>,
}

impl ListOutput {
    /// Prints a list in this format.
    pub(super) fn print<T: Serialize>(
        &self,
        value: &T,
        table: impl FnOnce(&T, Layout) -> String,
        names: impl FnOnce(&T) -> Vec<String>,
    ) -> Result<(), CliError> {
        self.write(&self.rendered(value, table, names)?)
    }

    /// Writes a list that was formatted in this format to stdout.
    pub(super) fn write(&self, text: &str) -> Result<(), CliError> {
        match self.output {
            ListFormat::Table | ListFormat::Wide => terminal::styled(text)?,
            ListFormat::Name | ListFormat::Json | ListFormat::Yaml => terminal::data(text)?,
        }
        Ok(())
    }

    /// Formats a list in this format. Each name is printed once.
    pub(super) fn rendered<T: Serialize>(
        &self,
        value: &T,
        table: impl FnOnce(&T, Layout) -> String,
        names: impl FnOnce(&T) -> Vec<String>,
    ) -> Result<String, CliError> {
        let Self { output, no_headers } = *self;
        if !matches!(output, ListFormat::Table | ListFormat::Wide) {
            unused::refuse([("--no-headers", no_headers)], "only a table has header lines")?;
        }
        let wide = output == ListFormat::Wide;
        let layout = Layout { no_headers, wide, width: terminal_width().filter(|_| !wide) };
        let format = match output {
            ListFormat::Table | ListFormat::Wide => Format::Table,
            ListFormat::Name => return Ok(lines(names(value))),
            ListFormat::Json => Format::Json,
            ListFormat::Yaml => Format::Yaml,
        };
        rendered(value, format, |value| table(value, layout))
    }
}

/// Formats names, one per line, each once.
fn lines(names: Vec<String>) -> String {
    let mut known = BTreeSet::new();
    let mut text = String::new();
    for name in names {
        if known.insert(name.clone()) {
            let _ = writeln!(text, "{}", Printable(&name));
        }
    }
    text
}

/// Formats the name of an object, as every command takes it.
pub(super) fn object_name(kind: &str, namespace: &str, name: &str) -> String {
    let slash = if namespace.is_empty() { "" } else { "/" };
    format!("{}/{namespace}{slash}{name}", kind.to_lowercase())
}

/// Number of spaces between two columns.
const GAP: u16 = 3;

/// Minimum width of a column whose texts are wrapped.
const LEAST_TEXT: usize = 30;

/// The cell of a missing value.
pub(super) const NOTHING: &str = "-";

/// Prints a value in this format; `table` formats it as a table, which may have colours.
pub(super) fn print<T: Serialize>(
    value: &T,
    format: Format,
    table: impl FnOnce(&T) -> String,
) -> Result<(), CliError> {
    let text = rendered(value, format, table)?;
    match format {
        Format::Table => terminal::styled(&text)?,
        Format::Json | Format::Yaml => terminal::data(&text)?,
    }
    Ok(())
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
    table_in(Layout { width: terminal_width(), ..Layout::default() }, header, rows)
}

/// Formats a table in this layout; see [`table`]. The words of columns about readiness have colours.
pub(super) fn table_in<const N: usize>(
    layout: Layout,
    header: [&str; N],
    rows: impl IntoIterator<Item = [String; N]>,
) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    if !layout.no_headers {
        table.set_header(header);
    }
    table.add_rows(rows.into_iter().map(|row| row.map(|cell| Printable(&cell).to_string())));
    for column in table.column_iter_mut() {
        column.set_padding((0, GAP));
    }
    if let Some(width) = layout.width {
        wrap_last(&mut table, width);
    }
    let mut start = 0;
    let starts = table.column_max_content_widths().into_iter().map(|width| {
        let this = start;
        start += usize::from(width.saturating_add(GAP));
        this
    });
    let starts = starts.zip(header).filter(|(_, title)| title.ends_with("READY"));
    let starts: Vec<usize> = starts.map(|(start, _)| start).collect();
    let lines = table.trim_fmt();
    lines.lines().map(|line| coloured(line, &starts) + "\n").collect()
}

/// The words in columns about readiness, with their colours.
const STATES: [(&str, Style); 3] = [("True", GREEN), ("False", RED), ("Unknown", YELLOW)];

/// Colours the words of a line that start after this many characters.
fn coloured(line: &str, starts: &[usize]) -> String {
    starts.iter().rev().fold(line.to_owned(), |line, start| {
        let Some((at, _)) = line.char_indices().nth(*start) else { return line };
        let (before, cell) = line.split_at(at);
        let (word, after) = cell.split_at(cell.find(' ').unwrap_or(cell.len()));
        match STATES.iter().find(|(state, _)| *state == word) {
            Some((_, style)) => format!("{before}{style}{word}{style:#}{after}"),
            None => line,
        }
    })
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
pub(super) fn terminal_width() -> Option<u16> {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_have_colours_in_their_columns_alone() {
        let rows = [["False", "Unknown", "True"], ["├─é True", "False", "no"]];
        let table = table_in(
            Layout::default(),
            ["NAME", "READY", "ALL READY"],
            rows.map(|row| row.map(str::to_owned)),
        );
        let state = |style: Style, word: &str| format!("{style}{word}{style:#}");
        let [yes, no, open] = [state(GREEN, "True"), state(RED, "False"), state(YELLOW, "Unknown")];
        let expected =
            format!("NAME       READY     ALL READY\nFalse      {open}   {yes}\n├─é True   {no}     no\n");
        assert_eq!(table, expected);
    }

    #[test]
    fn lists_have_names_and_no_headers_on_request() {
        let list = |output, no_headers| {
            let output = ListOutput { output, no_headers };
            let table = |rows: &Vec<&str>, layout| {
                table_in(layout, ["NAME"], rows.iter().map(|row| [(*row).to_owned()]))
            };
            let names =
                |rows: &Vec<&str>| rows.iter().map(|row| object_name("Cluster", "demo", row)).collect();
            output.rendered(&vec!["one", "two", "one"], table, names)
        };
        assert_eq!(list(ListFormat::Table, false).unwrap(), "NAME\none\ntwo\none\n");
        assert_eq!(list(ListFormat::Wide, true).unwrap(), "one\ntwo\none\n");
        assert_eq!(list(ListFormat::Name, false).unwrap(), "cluster/demo/one\ncluster/demo/two\n");
        assert!(list(ListFormat::Json, true).unwrap_err().to_string().contains("--no-headers has no effect"));
    }
}
