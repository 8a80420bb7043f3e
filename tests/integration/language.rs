//! The words of documents, help texts, errors and conditions (`docs/reference/glossary.md` has those that we use), and the length of
//! test names. And what no file may have: the markers of a merge.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

use regex::Regex;

/// Words without an actor, and words that readers of Flux's and kubectl's messages do not search for. `held back` is not
/// among them, because the messages about holds of releases have it.
static REFUSED: LazyLock<Regex> = LazyLock::new(|| {
    let words = [
        "somebody|nobody|whoever|anew|any more",
        "told|goes|went|wants|news",
        "(take|takes|took|taken) out|(keep|keeps|kept) back|puts? right|lets in|(give|gives|gave|given) way",
        "(that|what|which) (is|are) left( (out|as|to|alone))?",
        "(there )?(is|are) no [a-z]+",
    ];
    Regex::new(&format!(r"(?i)\b({})\b", words.join("|"))).unwrap()
});

/// What the last two of them may be: `left` means "omitted" or "unchanged" there, not "remaining".
static ALLOWED: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?i)^there |no (longer|more|later|wider)$|left (out|as|to|alone)$").unwrap()
});

/// The longest name of a test, in characters.
const MAX_TEST_NAME: usize = 60;

/// A line of text that people read.
#[derive(Debug, PartialEq)]
struct Line {
    number: usize,
    text: String,
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The files with an extension below a directory of the repository.
pub(crate) fn files(directory: &Path, extension: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).unwrap().map(|entry| entry.unwrap()) {
        let path = entry.path();
        let is_built = entry.file_name().to_string_lossy().starts_with('.') || path.ends_with("target");
        if entry.file_type().unwrap().is_dir() && !is_built {
            found.extend(files(&path, extension));
        } else if path.extension().is_some_and(|kind| kind == extension) {
            found.push(path);
        }
    }
    found
}

/// The lines of a document.
fn lines_of_document(text: &str) -> Vec<Line> {
    text.lines().enumerate().map(|(at, line)| Line { number: at + 1, text: line.to_owned() }).collect()
}

/// The texts in Rust code that people read: string literals, and with `with_docs` the documentation of items, which clap and
/// schemars show. Tests at the end of a file are left out.
fn lines_of_code(code: &str, with_docs: bool) -> Vec<Line> {
    let code = code.split("#[cfg(test)]").next().unwrap_or_default();
    let mut lines = Vec::new();
    let mut rest = code;
    while let Some(at) = rest.find(['"', '\'', '/']) {
        let number = code[..code.len() - rest.len() + at].matches('\n').count() + 1;
        let (before, here) = rest.split_at(at);
        rest = match here.as_bytes() {
            [b'/', b'/', ..] => {
                let end = here.find('\n').unwrap_or(here.len());
                if with_docs && (here.starts_with("///") || here.starts_with("//!")) {
                    lines.push(Line { number, text: here[..end].to_owned() });
                }
                &here[end..]
            }
            [b'"', ..] => {
                let hashes = before.len() - before.trim_end_matches('#').len();
                let (text, rest) = literal(&here[1..], hashes, before.trim_end_matches('#').ends_with('r'));
                let text = text.lines().enumerate();
                lines.extend(text.map(|(line, text)| Line { number: number + line, text: text.to_owned() }));
                rest
            }
            // A character, which may be a quotation mark; else a lifetime.
            [b'\'', b'\\', ..] => here.get(3..).unwrap_or_default(),
            [b'\'', b'"', b'\'', ..] => &here[3..],
            _ => &here[1..],
        };
    }
    lines
}

/// The text of a string literal up to its end, and what follows it.
fn literal(text: &str, hashes: usize, is_raw: bool) -> (&str, &str) {
    let end = format!("\"{}", "#".repeat(hashes));
    let mut from = 0;
    while let Some(at) = text[from..].find(&end).map(|at| from + at) {
        let escapes = text[..at].bytes().rev().take_while(|byte| *byte == b'\\').count();
        if is_raw || escapes % 2 == 0 {
            return (&text[..at], &text[at + end.len()..]);
        }
        from = at + 1;
    }
    (text, "")
}

fn is_test(file: &Path) -> bool {
    file.ends_with("tests.rs") || file.iter().any(|part| part == "tests")
}

/// The first words of a text that are refused.
fn refused(text: &str) -> Option<&str> {
    REFUSED.find_iter(text).map(|found| found.as_str()).find(|words| !ALLOWED.is_match(words))
}

/// `file:line: the words`, for each line with words that are refused.
fn findings(file: &Path, lines: &[Line]) -> Vec<String> {
    let file = file.strip_prefix(root()).unwrap().display();
    let found = lines.iter().filter_map(|line| Some((line.number, refused(&line.text)?)));
    found.map(|(number, words)| format!("{file}:{number}: {words}")).collect()
}

#[test]
fn texts_for_people_have_no_refused_words() {
    let documents = files(root(), "md").into_iter().filter(|file| !is_test(file));
    let documents =
        documents.flat_map(|file| findings(&file, &lines_of_document(&fs::read_to_string(&file).unwrap())));
    let code = ["src", "crates"].into_iter().flat_map(|part| files(&root().join(part), "rs"));
    let code = code.filter(|file| !is_test(file)).flat_map(|file| {
        let with_docs =
            ["src/cli", "src/api", "crates"].iter().any(|part| file.starts_with(root().join(part)));
        findings(&file, &lines_of_code(&fs::read_to_string(&file).unwrap(), with_docs))
    });
    let found: Vec<_> = documents.chain(code).collect();
    assert!(found.is_empty(), "docs/reference/glossary.md has better words:\n{}", found.join("\n"));
}

/// `file:line` of each marker that Git leaves in a file with a conflict.
fn markers(file: &str, text: &str) -> Vec<String> {
    let is_marker =
        |line: &str| ["<<<<<<<", "|||||||", ">>>>>>>"].iter().any(|marker| line.starts_with(marker));
    let lines = text.lines().enumerate().filter(|(_, line)| is_marker(line));
    lines.map(|(at, _)| format!("{file}:{}", at + 1)).collect()
}

#[test]
fn tracked_files_have_no_conflict_markers() {
    let output = Command::new("git").args(["ls-files", "-z"]).current_dir(root()).output().unwrap();
    let listed = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success() && listed.contains("Cargo.toml"), "{listed}");
    // A file that is deleted but not committed, and a link to a directory, have no text.
    let text = |file: &str| fs::read(root().join(file)).unwrap_or_default();
    let found: Vec<_> = listed
        .split_terminator('\0')
        .flat_map(|file| markers(file, &String::from_utf8_lossy(&text(file))))
        .collect();
    assert!(found.is_empty(), "unresolved conflicts:\n{}", found.join("\n"));
}

#[test]
fn conflict_markers_are_found_by_line() {
    let text = "a\n<<<<<<< HEAD\nb\n=======\nc\n>>>>>>> branch\n <<<<<<< quoted\n";
    assert_eq!(markers("x", text), ["x:2", "x:6"]);
}

#[test]
fn test_names_are_short() {
    let name =
        Regex::new(r"#\[(?:tokio::)?test[^\n]*\n(?:\s*(?:#\[|//)[^\n]*\n)*\s*(?:async )?fn (\w+)").unwrap();
    let mut found = Vec::new();
    for file in ["src", "tests", "crates"].iter().flat_map(|part| files(&root().join(part), "rs")) {
        let text = fs::read_to_string(&file).unwrap();
        let names = name.captures_iter(&text).map(|captures| captures[1].to_owned());
        let long = names.filter(|name| name.len() > MAX_TEST_NAME);
        found.extend(long.map(|name| format!("{}: {name}", file.strip_prefix(root()).unwrap().display())));
    }
    assert!(found.is_empty(), "more than {MAX_TEST_NAME} characters:\n{}", found.join("\n"));
}

#[test]
fn refused_words_are_found_in_literals_and_docs() {
    let code = "/// told\nfn f<'a>() { let q = '\"'; say(\"one \\\" two\"); } // \"no\"\nlet raw = r#\"a\n\"b\"#;\n#[cfg(test)]\n\"t\"";
    let line = |number, text: &str| Line { number, text: text.to_owned() };
    let literals = [line(2, "one \\\" two"), line(3, "a"), line(4, "\"b")];
    assert_eq!(lines_of_code(code, false), literals);
    assert_eq!(lines_of_code(code, true)[0], line(1, "/// told"));
    for (text, found) in [
        ("it is told", Some("told")),
        ("Nobody knows", Some("Nobody")),
        ("there is no x, it is no y", Some("is no y")),
        ("written anew", Some("anew")),
        ("not any more", Some("any more")),
        ("the object goes", Some("goes")),
        ("the file is taken out", Some("taken out")),
        ("the latest that is left", Some("that is left")),
        ("is not a stack", None),
        ("there is no release", None),
        ("is no longer there", None),
        ("is nothing", None),
        ("an ongoing upgrade, a left delimiter", None),
        ("a part that is left out", None),
    ] {
        assert_eq!(refused(text), found, "{text}");
    }
}

#[test]
fn address_of_the_repository_is_in_one_place() {
    let all = ["md", "yaml", "rs", "toml"].into_iter().flat_map(|kind| files(root(), kind));
    let own = ["stackflux", ".git"].concat();
    let placeholder = format!("git clone https://git.example.org/{own}");
    let places = all.filter_map(|file| {
        let text = fs::read_to_string(&file).unwrap();
        let count = text.matches(&own).count();
        (count > 0).then(|| {
            (file.strip_prefix(root()).unwrap().display().to_string(), count, text.contains(&placeholder))
        })
    });
    let places: Vec<_> = places.collect();
    assert_eq!(places, [("README.md".to_owned(), 1, true)], "who sets the address has one place to change");
}
