//! Output of the program in documents: each block is what a test prints, or says that it is illustrative.
//!
//! In front of a block with output stands one of:
//! - `<!-- printed: FILE, … -->`: what follows a command in the block stands in one of these files, which a test compares
//!   with the program's output; of a Rust file, that test reads the document itself;
//! - a sentence with `(illustrative)`.

use std::fs;
use std::path::Path;

use crate::documents::documents;

const ILLUSTRATIVE: &str = "(illustrative)";

/// A code block of a document.
#[derive(Debug)]
struct Block<'d> {
    line: usize,
    /// The word after the fence.
    info: &'d str,
    /// The last line before the block that is not empty.
    mark: &'d str,
    lines: Vec<&'d str>,
}

fn blocks(document: &str) -> Vec<Block<'_>> {
    let (mut found, mut open, mut mark) = (Vec::new(), None::<Block<'_>>, "");
    for (at, line) in document.lines().enumerate() {
        match (line.trim_start().strip_prefix("```"), &mut open) {
            (Some(_), Some(_)) => {
                found.extend(open.take());
                mark = "";
            }
            (Some(info), None) => open = Some(Block { line: at + 1, info, mark, lines: Vec::new() }),
            (None, Some(block)) => block.lines.push(line),
            (None, None) if line.trim().is_empty() => {}
            (None, None) => mark = line,
        }
    }
    found
}

/// Whether a line is one that the program prints, or that a prompt begins.
fn is_output(line: &str) -> bool {
    let line = line.trim_start();
    ["$ ", "✔", "✗", "◎", "►", "→", "! ", "error", "warning", "Stackflux-"]
        .iter()
        .any(|sign| line.starts_with(sign))
}

/// What follows each command of a block.
fn printed(block: &Block<'_>) -> Vec<String> {
    let (mut texts, mut is_command) = (vec![String::new()], false);
    for line in &block.lines {
        if line.starts_with("$ ") {
            texts.push(String::new());
        }
        is_command = line.starts_with("$ ") || (is_command && line.starts_with(' '));
        if let (false, Some(text)) = (is_command, texts.last_mut()) {
            *text += line;
            *text += "\n";
        }
        is_command = is_command && line.ends_with('\\');
    }
    let texts = texts.into_iter().map(|text| text.trim_end().to_owned());
    texts.filter(|text| !text.is_empty()).collect()
}

/// What is wrong with a block of a document. `read` gives the text of a file.
fn complaint(document: &str, block: &Block<'_>, read: impl Fn(&str) -> String) -> Option<String> {
    match block.info {
        "console" | "text" if block.mark.contains(ILLUSTRATIVE) => None,
        "console" | "text" => {
            let mark = block.mark.trim();
            let Some(files) = mark.strip_prefix("<!-- printed: ").and_then(|rest| rest.strip_suffix(" -->"))
            else {
                return Some(format!("write `<!-- printed: FILE -->` or {ILLUSTRATIVE} before the block"));
            };
            let files: Vec<_> = files.split(", ").map(|file| (file, read(file))).collect();
            let is_printed = |text: &str| {
                files.iter().any(|(file, content)| {
                    let is_code = Path::new(file).extension().is_some_and(|kind| kind == "rs");
                    content.contains(if is_code { document } else { text })
                })
            };
            let missing = printed(block).into_iter().find(|text| !is_printed(text))?;
            Some(format!("this is not in the files that the mark names:\n{missing}"))
        }
        "sh" | "" if block.lines.iter().any(|line| is_output(line)) => {
            Some("a block with output is ```console or ```text".to_owned())
        }
        _ => None,
    }
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

#[test]
fn blocks_with_output_are_printed_or_illustrative() {
    let read =
        |file: &str| fs::read_to_string(root().join(file)).unwrap_or_else(|error| panic!("{file}: {error}"));
    let mut found = Vec::new();
    let mut marked = 0;
    let all = ["docs", "examples"].into_iter().flat_map(documents);
    for document in all.chain(["README.md".to_owned()]) {
        let text = read(&document);
        for block in blocks(&text) {
            marked += usize::from(block.mark.contains("printed: "));
            let wrong = complaint(&document, &block, read);
            found.extend(wrong.map(|wrong| format!("{document}:{}: {wrong}", block.line)));
        }
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
    assert!(marked > 5, "{marked} blocks are compared with what is printed");
}

#[test]
fn unmarked_or_different_output_is_refused() {
    let read = |file: &str| match file {
        "golden.txt" => "✔ one\n✔ two\n".to_owned(),
        "reads.rs" => "read(\"docs/x.md\")".to_owned(),
        other => panic!("{other}"),
    };
    let wrong = |text: &str| blocks(text).iter().any(|block| complaint("docs/x.md", block, read).is_some());
    let command = "```console\n$ stackflux a \\\n    --b\n✔ two\n```";
    for good in [
        format!("<!-- printed: golden.txt -->\n\n{command}"),
        format!("<!-- printed: reads.rs -->\n{command}"),
        format!("It prints (illustrative):\n\n{command}"),
        "```sh\nmake demo\n```\n\n```\n a drawing ─▶\n```".to_owned(),
    ] {
        assert!(!wrong(&good), "{good}");
    }
    for bad in [
        command.to_owned(),
        format!("<!-- printed: golden.txt -->\n{}", command.replace("two", "three")),
        format!("It prints (illustrative):\n{command}\n{command}"),
        "```\n✗ failed\n```".to_owned(),
        "```sh\n$ stackflux a\n```".to_owned(),
    ] {
        assert!(wrong(&bad), "{bad}");
    }
}
