//! Markdown as GitHub, GitLab and Gitea render it, within the length that they accept.

use super::{Block, Document, Line, Span, plain, shortened};
use crate::release::finding::Printable;

/// Bytes reserved for the list of omitted blocks.
const ROOM: usize = 2000;

/// Maximum length of a text from outside stackflux, in characters.
const MAX_CODE_CHARACTERS: usize = 300;

/// Maximum length of the name of an omitted block, in characters.
const MAX_NAME_CHARACTERS: usize = 120;

/// Writes whole blocks, in their order. If not all fit, blocks that are not folded take precedence over folded ones,
/// and each block that does not fit is left out. A heading is left out together with everything below it.
pub(super) fn write(document: &Document, most: usize) -> String {
    let texts: Vec<String> = document.0.iter().map(markdown).collect();
    let all: usize = texts.iter().map(|text| text.len() + 1).sum();
    if all <= most {
        return texts.join("\n");
    }
    let fit = fitting(document, &texts, most.saturating_sub(ROOM));
    let kept: Vec<&str> =
        texts.iter().zip(&fit).filter(|(_, fit)| **fit).map(|(text, _)| text.as_str()).collect();
    kept.join("\n") + &left_out(&names(document, &fit))
}

/// Decides which blocks fit.
fn fitting(document: &Document, texts: &[String], mut room: usize) -> Vec<bool> {
    let mut fit = vec![false; texts.len()];
    for folded in [false, true] {
        // The level of the omitted heading that the current block is below.
        let mut lost = None;
        for ((block, text), fit) in document.0.iter().zip(texts).zip(&mut fit) {
            if let Block::Heading(level, _) = block
                && lost.is_some_and(|lost| *level <= lost)
            {
                lost = None;
            }
            let is_next = matches!(block, Block::Folded(..)) == folded;
            if is_next && lost.is_none() && text.len() < room {
                room -= text.len() + 1;
                *fit = true;
            }
            if let (Block::Heading(level, _), false, None) = (block, *fit, lost) {
                lost = Some(*level);
            }
        }
    }
    fit
}

/// Returns the names of the blocks that do not fit, each with its heading. Blocks below an omitted heading are covered
/// by the name of that heading.
fn names(document: &Document, fit: &[bool]) -> Vec<String> {
    let mut found = Vec::new();
    let (mut heading, mut lost) = (String::new(), None);
    for (block, fit) in document.0.iter().zip(fit) {
        match (block, fit) {
            (Block::Heading(level, line), fit) if lost.is_none_or(|lost| *level <= lost) => {
                heading = plain::text(line);
                lost = (!fit).then_some(*level);
                found.extend((!fit).then(|| heading.clone()));
            }
            (Block::Folded(summary, _), false) if lost.is_none() => {
                found.push(format!("{heading}: {}", plain::text(summary)));
            }
            (_, false) if lost.is_none() => found.push(format!("a part of {heading}")),
            _ => {}
        }
    }
    found
}

fn left_out(names: &[String]) -> String {
    let mut text = "\n**Left out, because this is as long as a pull request may be:** ".to_owned();
    let end = ". The same command without `--pull-request` shows all of it.\n";
    for (at, name) in names.iter().enumerate() {
        let name =
            format!("{}{}", if at > 0 { ", " } else { "" }, code(&shortened(name, MAX_NAME_CHARACTERS)));
        let more = format!(" and {} more", names.len() - at);
        if text.len() + name.len() + more.len() + end.len() > ROOM {
            return text + &more + end;
        }
        text.push_str(&name);
    }
    text + end
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
            // Markdown is not parsed inside HTML, so code is written as HTML too.
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

/// Escapes the characters of stackflux's own words that have a meaning in Markdown, such as `<` and `_`.
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

/// Writes a code span whose fence does not occur in the text, as `CommonMark` requires.
fn code(text: &str) -> String {
    let text = Printable(&shortened(text, MAX_CODE_CHARACTERS)).to_string();
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
        Span::Code(text) => format!("<code>{}</code>", entities(&shortened(text, MAX_CODE_CHARACTERS))),
    });
    spans.collect()
}
