//! Documents that are made from the code.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use gotemplate::functions;
use gotemplate::limits::{
    CALLS, ELEMENTS, MEMORY_BYTES, NESTING, OPEN, OUTPUT_BYTES, REGEX_BYTES, REGEX_PROGRAM_BYTES,
    SOURCE_BYTES, STEP_BYTES, STEPS, TEXT_BYTES, VARIABLES,
};
use regex::Regex;
use stackflux::api::Reason;
use stackflux::explain::cause::{Cause, causes};

use crate::language::files;

const HEAD: &str = "\
# Functions of values templates

<!-- Generated from the engine's table by tests/integration/documents.rs; to update, run UPDATE_GOLDEN=1 cargo test. -->

They give the same results as those of Go and of slim-sprig. [Decision 0003](../decisions/0003-templates-that-differ-from-go.md)
lists the differences, and the functions of slim-sprig that are left out.
";

const REASONS: &str = "\
# Reasons

<!-- Generated from the types by tests/integration/documents.rs; to update, run UPDATE_GOLDEN=1 cargo test. -->

A reason is the word for the state of an object. `generate` prints the reasons of [holds](../fix/troubleshooting.md#something-is-held).
The operator uses all reasons in conditions, events and metrics. It also passes on Flux's own reasons, unchanged.

| reason | what it means | what to do |
|---|---|---|
";

#[test]
fn function_table_is_that_of_the_engine() {
    let mut groups: Vec<(&str, String)> = Vec::new();
    for function in functions() {
        let arguments = match function.most_arguments {
            Some(most) if most == function.least_arguments => most.to_string(),
            Some(most) => format!("{} to {most}", function.least_arguments),
            None => format!("{} or more", function.least_arguments),
        };
        let summary = function.summary.replace('|', "\\|");
        let row = format!("| `{}` | {arguments} | {summary} |\n", function.name);
        match groups.iter_mut().find(|(group, _)| *group == function.group) {
            Some((_, rows)) => rows.push_str(&row),
            None => groups.push((function.group, row)),
        }
    }
    let mut text = HEAD.to_owned();
    for (group, rows) in groups {
        write!(text, "\n## {group}\n\n| function | arguments | what it does |\n|---|---|---|\n{rows}")
            .unwrap();
    }
    assert_is(&text, "docs/reference/template-functions.md");
}

#[test]
fn reason_table_is_that_of_the_types() {
    let rows = Reason::ALL.iter().map(|reason| {
        let anchor = reason.as_str().to_lowercase();
        let texts = format!("{} | {}", reason.meaning(), reason.action()).replace('<', "\\<");
        format!("| <a id=\"{anchor}\"></a>`{reason}` | {texts} |\n")
    });
    assert_is(&(REASONS.to_owned() + &rows.collect::<String>()), "docs/reference/reasons.md");
}

const CAUSES_HEAD: &str = "\
# Causes

<!-- Generated from the table of src/explain/cause/table by tests/integration/documents.rs; to update, run UPDATE_GOLDEN=1 cargo test. -->

A reason of Flux stands for many causes, and the message proves which one it is. `stackflux why` names the cause, and fills the names of
the object into the next commands. `stackflux explain CAUSE` prints one of these rows without a cluster.

To find the cause of a message that you have, search this page for a part of it. If a message has the texts of several rows, the first
row for its object counts.

| cause | messages of | with the text | what the message proves | what to do |
|---|---|---|---|---|
";

#[test]
fn cause_table_is_that_of_the_code() {
    let rows = causes().map(|cause| {
        let anchor = cause.name.to_lowercase();
        let components: Vec<_> = cause.components().iter().map(|component| component.place()).collect();
        let proof = |texts: &&[&str]| {
            let texts = texts.iter().inspect(|text| assert!(!text.contains('`'), "{text}"));
            texts.map(|text| format!("`{text}`")).collect::<Vec<_>>().join(" and ")
        };
        let proofs: Vec<_> = cause.proofs().iter().map(proof).collect();
        let (components, proofs) = (components.join(", "), cell(&proofs.join("\n\n")));
        let Cause { name, meaning, action, .. } = cause;
        format!("| <a id=\"{anchor}\"></a>`{name}` | {components} | {proofs} | {meaning} | {action} |\n")
    });
    assert_is(&(CAUSES_HEAD.to_owned() + &rows.collect::<String>()), "docs/reference/causes.md");
}

/// A document has this text.
pub(crate) fn assert_is(text: &str, document: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(document);
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        fs::write(&path, text).unwrap();
    }
    assert_eq!(text, fs::read_to_string(&path).unwrap(), "UPDATE_GOLDEN=1 writes it again");
}

/// All Markdown files of a directory of the repository and of those below it, by their paths in the repository.
pub(crate) fn documents(directory: &str) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir(root().join(directory)).unwrap().map(|entry| entry.unwrap()) {
        let path = format!("{directory}/{}", entry.file_name().to_str().unwrap());
        if entry.file_type().unwrap().is_dir() {
            found.extend(documents(&path));
        } else if Path::new(&path).extension().is_some_and(|extension| extension == "md") {
            found.push(path);
        }
    }
    found
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The anchors of a document: one for each heading, made as GitHub makes it, and those that `<a id="…">` sets.
fn anchors(text: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut is_code = false;
    for line in text.lines() {
        is_code ^= line.trim_start().starts_with("```");
        let heading = line.trim_start_matches('#').strip_prefix(' ');
        if let (false, true, Some(heading)) = (is_code, line.starts_with('#'), heading) {
            let slug = slug(heading);
            let numbered = (1..).map(|number| format!("{slug}-{number}"));
            let free = [slug.clone()].into_iter().chain(numbered).find(|slug| !found.contains(slug));
            found.extend(free);
        }
        let ids = line.split("<a id=\"").skip(1).filter_map(|rest| rest.split('"').next());
        found.extend(ids.map(str::to_owned));
    }
    found
}

/// The anchor that GitHub gives a heading: lower case, with a hyphen for each space, and without other signs. Of a link, its
/// text counts.
fn slug(heading: &str) -> String {
    let link = Regex::new(r"\[([^\]]*)\]\([^)]*\)").unwrap();
    let text = link.replace_all(heading.trim(), "$1").to_lowercase().replace(' ', "-");
    text.chars().filter(|sign| sign.is_alphanumeric() || matches!(sign, '-' | '_')).collect()
}

/// The links of a document that do not lead to a file, or to no heading of it. `read` gives the text of a document.
fn broken(document: &str, read: impl Fn(&str) -> Option<String>) -> Vec<String> {
    let text = read(document).unwrap();
    let targets = text.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    let leads = |target: &str| {
        let (path, anchor) = target.split_once('#').unwrap_or((target, ""));
        let file = match path {
            "" => document.to_owned(),
            path => Path::new(document).parent().unwrap().join(path).to_str().unwrap().to_owned(),
        };
        if anchor.is_empty() {
            return root().join(file).exists();
        }
        read(&file).is_some_and(|text| anchors(&text).contains(anchor))
    };
    let wrong = targets.filter(|target| !target.contains("://") && !leads(target));
    wrong.map(|target| format!("{document}: {target}")).collect()
}

#[test]
fn links_between_documents_lead_somewhere() {
    let others = ["README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md"].map(str::to_owned);
    let all = others.into_iter().chain(["docs", "examples"].into_iter().flat_map(documents));
    let read = |file: &str| fs::read_to_string(root().join(file)).ok();
    let broken: Vec<_> = all.flat_map(|document| broken(&document, read)).collect();
    assert!(broken.is_empty(), "{broken:#?}");
}

/// What the program and its manifests say about documents is found there, too.
#[test]
fn documents_that_the_program_names_are_there() {
    let named = Regex::new(r"docs/[a-z/-]+\.md(#[a-z-]+)?").unwrap();
    let mut wrong = Vec::new();
    for (directory, extension) in [("src", "rs"), ("flux", "yaml"), ("tests", "rs"), ("crates", "rs")] {
        for file in files(&root().join(directory), extension) {
            // Of no repository but an example's.
            let text = fs::read_to_string(&file).unwrap().replace("docs/x.md", "");
            for name in named.find_iter(&text).map(|found| found.as_str()) {
                let (path, anchor) = name.split_once('#').unwrap_or((name, ""));
                let document = fs::read_to_string(root().join(path)).unwrap_or_default();
                if document.is_empty() || !(anchor.is_empty() || anchors(&document).contains(anchor)) {
                    wrong.push(format!("{}: {name}", file.display()));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn anchors_are_those_of_github() {
    let text = "# `stackflux why`: what it *waits* for\n## A_b – c/d\n## Same\n## Same\n```sh\n# no heading\n```\n\
        ### See [the **kinds**](kinds.md), 2.9\n| <a id=\"wait\"></a>`Wait` |\n#no-heading\n";
    let expected =
        ["stackflux-why-what-it-waits-for", "a_b--cd", "same", "same-1", "see-the-kinds-29", "wait"];
    assert_eq!(anchors(text), expected.map(str::to_owned).into_iter().collect());
    let read = |file: &str| match file {
        "docs/x.md" => Some("# A\n[a](#a) [b](#b) [c](../c.md#c) [d](../c.md#d) [e](y.md)".to_owned()),
        "docs/../c.md" => Some("## C".to_owned()),
        _ => None,
    };
    let wrong = ["#b", "../c.md#d", "y.md"].map(|target| format!("docs/x.md: {target}"));
    assert_eq!(broken("docs/x.md", read), wrong);
}

/// A text as it stands in a cell of a table. What stands between backticks is code, in which `<` means itself.
pub(crate) fn cell(text: &str) -> String {
    let parts = text.split('`').enumerate();
    let parts =
        parts.map(|(number, part)| if number % 2 == 0 { part.replace('<', "\\<") } else { part.to_owned() });
    let text = parts.collect::<Vec<_>>().join("`");
    text.replace('|', "\\|").replace("\n\n", "<br>").replace('\n', " ")
}

/// A number as the documents write it: in KiB or MiB where it is whole, otherwise with commas.
fn written(number: usize) -> String {
    let digits = |number: usize| {
        let text = number.to_string();
        let head = text.len() % 3;
        let (head, tail) = text.split_at(head);
        let groups = tail.as_bytes().chunks(3).map(|group| String::from_utf8_lossy(group).into_owned());
        let all: Vec<String> =
            Some(head.to_owned()).filter(|head| !head.is_empty()).into_iter().chain(groups).collect();
        all.join(",")
    };
    match number {
        _ if number.is_multiple_of(1 << 20) => format!("{} MiB", digits(number >> 20)),
        _ if number.is_multiple_of(1 << 10) => format!("{} KiB", digits(number >> 10)),
        _ => digits(number),
    }
}

#[test]
fn documented_limits_are_those_of_the_code() {
    let rows = [
        ("source", written(SOURCE_BYTES)),
        ("nesting of blocks and parentheses in the source", written(NESTING)),
        ("nesting of a value", written(NESTING)),
        ("variables declared at the same place", written(VARIABLES)),
        ("output", written(OUTPUT_BYTES)),
        (
            &*format!("steps: one is an action, a command, an iteration, or {STEP_BYTES} bytes read or made"),
            written(STEPS),
        ),
        ("templates that call each other", format!("{CALLS} deep")),
        ("blocks, pipelines and calls open at the same time", written(OPEN)),
        ("a text made by a function", written(TEXT_BYTES)),
        ("a list or map made by a function", format!("{} elements", written(ELEMENTS))),
        ("all values of one render", written(MEMORY_BYTES)),
        (
            "a regular expression",
            format!("{}, compiled {}", written(REGEX_BYTES), written(REGEX_PROGRAM_BYTES)),
        ),
    ];
    let rows = rows.map(|(what, limit)| format!("| {what} | {limit} |\n")).concat();
    let table = format!("| what | limit |\n|---|---|\n{rows}");
    let document = include_str!("../../docs/reference/values-templates.md");
    assert!(document.contains(&table), "docs/reference/values-templates.md has to have this table:\n{table}");
}
