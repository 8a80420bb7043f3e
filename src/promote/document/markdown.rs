//! Markdown as GitHub, GitLab and Gitea have it.

use super::{Block, Document, Line, Span};
use crate::release::finding::Printable;

/// Room for the sentence that says what was left out.
const ROOM: usize = 200;

/// Whole blocks, as many as there is room for. Of one that is too long for all of the room the lines that fit are kept.
pub(super) fn write(document: &Document, most: usize) -> String {
    let mut out = String::new();
    let mut length = 0;
    for (at, block) in document.0.iter().enumerate() {
        let text = markdown(block);
        let size = text.chars().count() + 1;
        if length + size + ROOM > most && at > 0 {
            let left = document.0.len() - at;
            let parts = if left == 1 { "part is" } else { "parts are" };
            let rest = format!(
                "\n**{left} more {parts} left out: this is as long as a pull request may be.** `stackflux promote` \
                 without `--pull-request` shows all of it.\n"
            );
            return out + &rest;
        }
        out.push_str(if at > 0 { "\n" } else { "" });
        out.push_str(&text);
        length += size;
    }
    out
}

fn markdown(block: &Block) -> String {
    match block {
        Block::Heading(level, line) => {
            format!("{} {}\n", "#".repeat((*level).clamp(1, 5).into()), text(line))
        }
        Block::Paragraph(line) => text(line) + "\n",
        Block::List(lines) => list(lines),
        Block::Table(header, rows) => {
            let rule: String = header.iter().map(|_| " --- |").collect();
            let rows: Vec<String> = rows
                .iter()
                .map(|row| {
                    let cells: Vec<String> = row.iter().map(|cell| text(cell).replace('|', "\\|")).collect();
                    format!("| {} |\n", cells.join(" | "))
                })
                .collect();
            format!("| {} |\n|{rule}\n{}", header.join(" | "), rows.concat())
        }
        Block::Folded(summary, lines) => {
            let lines = list(lines);
            // HTML inside which Markdown is not read: code is spelt as HTML, too.
            format!("<details><summary>{}</summary>\n\n{lines}\n</details>\n", html(summary))
        }
    }
}

fn list(lines: &[Line]) -> String {
    lines.iter().map(|line| format!("- {}\n", text(line))).collect::<Vec<_>>().concat()
}

fn text(line: &Line) -> String {
    let spans = line.0.iter().map(|span| match span {
        Span::Words(words) => escaped(words),
        Span::Strong(words) => format!("**{}**", escaped(words)),
        Span::Code(text) => code(text),
    });
    spans.collect()
}

/// Words of our own may have characters that Markdown reads, such as `<` and `_`.
fn escaped(words: &str) -> String {
    let mut out = String::new();
    for character in Printable(words).to_string().chars() {
        if matches!(character, '\\' | '`' | '*' | '_' | '[' | ']' | '<' | '>' | '&' | '~' | '#') {
            out.push('\\');
        }
        out.push(character);
    }
    out
}

/// A code span with a fence that the text has not, as `CommonMark` wants it.
fn code(text: &str) -> String {
    let text = Printable(text).to_string();
    if text.trim().is_empty() {
        return "` `".to_owned();
    }
    let runs = text.split(|character| character != '`').map(str::len);
    let fence = "`".repeat(runs.max().unwrap_or_default() + 1);
    let space = if text.contains('`') || text.starts_with(' ') || text.ends_with(' ') { " " } else { "" };
    format!("{fence}{space}{text}{space}{fence}")
}

fn html(line: &Line) -> String {
    let entities = |text: &str| {
        let text = Printable(text).to_string();
        text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
    };
    let spans = line.0.iter().map(|span| match span {
        Span::Words(words) => entities(words),
        Span::Strong(words) => format!("<strong>{}</strong>", entities(words)),
        Span::Code(text) => format!("<code>{}</code>", entities(text)),
    });
    spans.collect()
}
