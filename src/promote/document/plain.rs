//! Writes a document as plain text.

use super::{Block, Document, Line, Span};
use crate::release::finding::Printable;

pub(super) fn write(document: &Document) -> String {
    let text: String = document.0.iter().map(block).collect();
    text.trim_start().to_owned()
}

fn block(block: &Block) -> String {
    match block {
        Block::Heading(level, line) => heading(*level, &text(line)),
        Block::Paragraph(line) => text(line) + "\n",
        Block::List(lines) => list("  - ", lines),
        Block::Table(header, rows) => table(header, rows),
        Block::Folded(summary, lines) => format!("  {}:\n{}", text(summary), list("    ", lines)),
    }
}

fn list(before: &str, lines: &[Line]) -> String {
    lines.iter().map(|line| format!("{before}{}\n", text(line))).collect::<Vec<_>>().concat()
}

/// Writes a heading; the two highest levels are underlined.
fn heading(level: u8, text: &str) -> String {
    let width = text.chars().count();
    match level {
        1 => format!("\n{text}\n{}\n", "=".repeat(width)),
        2 => format!("\n{text}\n{}\n", "-".repeat(width)),
        _ => format!("\n{text}\n"),
    }
}

pub(super) fn text(line: &Line) -> String {
    let spans = line.0.iter().map(|span| match span {
        Span::Words(text) | Span::Strong(text) | Span::Code(text) => Printable(text).to_string(),
    });
    spans.collect()
}

/// Writes columns as wide as their widest cell, separated by three spaces.
fn table(header: &[&str], rows: &[Vec<Line>]) -> String {
    let header = header.iter().map(|cell| cell.to_uppercase()).collect();
    let rows = rows.iter().map(|row| row.iter().map(text).collect());
    let rows: Vec<Vec<String>> = std::iter::once(header).chain(rows).collect();
    let columns = rows.iter().map(Vec::len).max().unwrap_or_default();
    let width = |column: usize| rows.iter().filter_map(|row| Some(row.get(column)?.chars().count())).max();
    let widths: Vec<usize> = (0..columns).map(|column| width(column).unwrap_or_default()).collect();
    let line = |row: &Vec<String>| {
        let cells = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:width$}"));
        format!("  {}", cells.collect::<Vec<_>>().join("   ").trim_end()) + "\n"
    };
    rows.iter().map(line).collect()
}
