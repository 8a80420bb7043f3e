//! Tests of the commands in the documentation.

use std::fs;
use std::path::{Path, PathBuf};

use clap::Parser as _;

use super::{Cli, refuse_unused};

/// The Markdown files below a directory, but for the records of decisions.
#[allow(clippy::disallowed_methods, reason = "a test may read files")]
fn documents(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    let entries = entries.filter(|path| !path.ends_with("decisions"));
    let (directories, files): (Vec<_>, Vec<_>) = entries.partition(|path| path.is_dir());
    let files = files.into_iter().filter(|path| path.extension().is_some_and(|kind| kind == "md"));
    files.chain(directories.iter().flat_map(|directory| documents(directory))).collect()
}

/// Extracts the command lines of code blocks, without prompts, comments and the other commands of a shell line.
/// The address that `testbed env` sets is filled in, as the shell does it.
fn commands(document: &str) -> Vec<Vec<String>> {
    let mut inside = false;
    let mut lines = Vec::new();
    for line in document.lines() {
        if line.trim_start().starts_with("```") {
            inside = !inside;
        } else if inside {
            lines.push(line);
        }
    }
    let text = lines.join("\n").replace("\\\n", " ").replace("$REGISTRY", "127.0.0.1:5000");
    let parts = text.lines().flat_map(|line| line.split(" | ").flat_map(|part| part.split(" && ")));
    let parts = parts.map(|part| part.trim().trim_start_matches("$ "));
    let own = parts.filter_map(|part| {
        let rest = part.strip_prefix("cargo run -- ").or_else(|| part.strip_prefix("stackflux "))?;
        Some(words(rest))
    });
    own.collect()
}

/// Splits a command into words, up to a comment or a redirection; quotes hold words together.
fn words(line: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut quote = None;
    for letter in line.chars() {
        let Some(word) = words.last_mut() else { break };
        match (letter, quote) {
            ('\'' | '"', None) => quote = Some(letter),
            (_, Some(open)) if letter == open => quote = None,
            ('#' | '>' | '|', None) if word.is_empty() => break,
            (' ', None) => words.push(String::new()),
            _ => word.push(letter),
        }
    }
    words.retain(|word| !word.is_empty());
    // `…` stands for the value of a flag, or for more arguments.
    let mut is_value = false;
    words.retain(|word| {
        let keep = word != "…" || is_value;
        is_value = word.starts_with("--");
        keep
    });
    words
}

#[test]
#[allow(clippy::disallowed_methods, reason = "a test may read files")]
fn documented_commands_are_accepted() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut count = 0;
    for document in documents(&root.join("docs")).into_iter().chain([root.join("README.md")]) {
        let text = fs::read_to_string(&document).unwrap();
        let document = document.display();
        for words in commands(&text) {
            let line = words.join(" ");
            let parsed = Cli::try_parse_from(std::iter::once("stackflux".to_owned()).chain(words));
            assert!(parsed.is_ok(), "{document}: stackflux {line}\n{}", parsed.unwrap_err());
            let unused = refuse_unused(&parsed.unwrap().command);
            assert!(unused.is_ok(), "{document}: stackflux {line}\n{:?}", unused.unwrap_err());
            count += 1;
        }
    }
    assert!(count > 30, "{count} commands found");
}
