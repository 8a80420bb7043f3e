//! Plain text.

use super::{Block, Document, Line, Span};
use crate::release::finding::Printable;

pub(super) fn write(document: &Document) -> String {
    let mut out = String::new();
    for block in &document.0 {
        match block {
            Block::Heading(level, line) => {
                let (text, rule) = (text(line), if *level == 1 { "=" } else { "-" });
                let gap = if out.is_empty() { "" } else { "\n" };
                let rule = if *level > 2 { String::new() } else { rule.repeat(text.chars().count()) + "\n" };
                out.push_str(&format!("{gap}{text}\n{rule}"));
            }
            Block::Paragraph(line) => out.push_str(&format!("{}\n", text(line))),
            Block::List(lines) => {
                lines.iter().for_each(|line| out.push_str(&format!("  - {}\n", text(line))))
            }
            Block::Table(header, rows) => out.push_str(&table(header, rows)),
            Block::Folded(summary, lines) => {
                out.push_str(&format!("  {}:\n", text(summary)));
                lines.iter().for_each(|line| out.push_str(&format!("    {}\n", text(line))));
            }
        }
    }
    out
}

fn text(line: &Line) -> String {
    let spans = line.0.iter().map(|span| match span {
        Span::Words(text) | Span::Strong(text) | Span::Code(text) => Printable(text).to_string(),
    });
    spans.collect()
}

/// Columns as wide as their widest cell, three spaces between.
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
