//! What mdBook reads: chapters, and pages whose links work outside the repository.

use std::fmt::Write as _;
use std::fs;
use std::path::{Component, Path, PathBuf};

use regex::{Captures, Regex};

use crate::documents::documents;

/// The page with all others, in the order of the site.
const FIRST: &str = "README.md";
/// The page with all decisions, which stand below it in the site.
const DECISIONS: &str = "decisions/README.md";

fn docs() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("docs")
}

fn read(page: &str) -> String {
    fs::read_to_string(docs().join(page)).unwrap()
}

/// All pages, by their paths in `docs/`.
pub(super) fn pages() -> Vec<String> {
    let pages = documents("docs").into_iter();
    pages.map(|page| page.strip_prefix("docs/").unwrap().to_owned()).collect()
}

/// The list of chapters: the first column of each table of `docs/README.md`, then the decisions.
fn chapters() -> String {
    let link = Regex::new(r"\[([^\]]*)\]\(([^)]*)\)").unwrap();
    let mut text = format!("# Chapters\n\n[Documents]({FIRST})\n");
    for line in read(FIRST).lines() {
        if let Some(title) = line.strip_prefix("## ") {
            write!(text, "\n# {title}\n\n").unwrap();
        }
        let first = line.strip_prefix("| ").and_then(|row| row.split(" | ").next()).unwrap_or_default();
        for found in link.captures_iter(first) {
            let (begin, rest) = found[1].split_at(1);
            writeln!(text, "- [{}{rest}]({})", begin.to_uppercase(), &found[2]).unwrap();
        }
    }
    write!(text, "\n# Decisions\n\n- [Decisions]({DECISIONS})\n").unwrap();
    let row = Regex::new(r"(?m)^\| \[(\d+)\]\(([^)]*)\) \| (.*) \|$").unwrap();
    for found in row.captures_iter(&read(DECISIONS)) {
        let title = found[3].replace('`', "");
        writeln!(text, "  - [{}: {title}](decisions/{})", &found[1], &found[2]).unwrap();
    }
    text
}

/// The path that a link of a page leads to, from the root of the repository.
fn target(page: &str, link: &str) -> String {
    let path = Path::new("docs").join(page).parent().unwrap().join(link);
    let mut parts: Vec<&str> = Vec::new();
    for part in path.components() {
        match part {
            Component::ParentDir => _ = parts.pop().unwrap(),
            Component::Normal(name) => parts.push(name.to_str().unwrap()),
            _ => {}
        }
    }
    parts.join("/")
}

/// A page whose links to files outside `docs/` lead to the repository. Without an address, such a link becomes its text and the
/// path. mdBook names a `README.md` after the directory, but not in links.
fn page(name: &str, text: &str, repository: &str) -> String {
    let link = Regex::new(r"(!?)\[([^\]]*)\]\(([^)#\s]+)(#[^)\s]*)?\)").unwrap();
    let outside = |found: &Captures| {
        let (whole, path) = (found[0].to_owned(), target(name, &found[3]));
        match repository {
            _ if found[3].contains("://") => whole,
            _ if path.starts_with("docs/") => whole.replace("README.md", "index.md"),
            "" => format!("{} (`{path}` in the repository)", &found[2]),
            _ => format!(
                "[{}]({repository}/blob/HEAD/{path}{})",
                &found[2],
                found.get(4).map_or("", |anchor| anchor.as_str())
            ),
        }
    };
    let mut parts = Vec::new();
    for (number, part) in text.split("```").enumerate() {
        let is_code = number % 2 == 1;
        parts.push(if is_code { part.to_owned() } else { link.replace_all(part, outside).into_owned() });
    }
    parts.join("```")
}

/// Writes what mdBook reads.
pub(super) fn write(directory: &Path, repository: &str) {
    copy(&docs(), &directory.join("src"));
    fs::rename(directory.join("src/book.toml"), directory.join("book.toml")).unwrap();
    for name in pages() {
        fs::write(directory.join("src").join(&name), page(&name, &read(&name), repository)).unwrap();
    }
    fs::write(directory.join("src/SUMMARY.md"), chapters()).unwrap();
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().map(|entry| entry.unwrap()) {
        let to = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &to);
        } else {
            fs::copy(entry.path(), to).unwrap();
        }
    }
}

#[test]
fn each_page_is_a_chapter_once() {
    let chapters = chapters();
    let count = |page: &String| chapters.matches(&format!("]({page})")).count();
    let wrong: Vec<_> = pages().into_iter().filter(|page| count(page) != 1).collect();
    assert!(wrong.is_empty(), "in the tables of docs/README.md and docs/{DECISIONS}, not once: {wrong:?}");
    assert_eq!(chapters.matches("](").count(), pages().len(), "{chapters}");
    let learn = "[Documents](README.md)\n\n# Learn\n\n- [Quickstart](learn/quickstart.md)\n- [Concepts]";
    assert!(chapters.contains(learn) && chapters.contains("- [Values templates]("), "{chapters}");
}

#[test]
fn links_out_of_the_documents_lead_to_the_repository() {
    let text = "[a](../../flux/base/) ![p](pictures/p.svg) [b](../README.md#b) [c](https://c.example.org/README.md)\n\
        ```sh\n[d](../../crds/)\n```\n[the `e`\nof](../../SECURITY.md#e)";
    let plain = page("learn/x.md", text, "");
    let expected = "a (`flux/base` in the repository) ![p](pictures/p.svg) [b](../index.md#b) \
        [c](https://c.example.org/README.md)\n```sh\n[d](../../crds/)\n```\nthe `e`\nof (`SECURITY.md` in the repository)";
    assert_eq!(plain, expected);
    let linked = page("learn/x.md", text, "https://git.example.org/x");
    assert!(linked.starts_with("[a](https://git.example.org/x/blob/HEAD/flux/base) "), "{linked}");
    assert!(linked.ends_with("[the `e`\nof](https://git.example.org/x/blob/HEAD/SECURITY.md#e)"), "{linked}");
}
