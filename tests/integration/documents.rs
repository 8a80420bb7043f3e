//! Documents that are made from the code.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use gotemplate::functions;
use gotemplate::limits::{
    CALLS, ELEMENTS, MEMORY_BYTES, NESTING, OPEN, OUTPUT_BYTES, REGEX_BYTES, REGEX_PROGRAM_BYTES,
    SOURCE_BYTES, STEP_BYTES, STEPS, TEXT_BYTES, VARIABLES,
};
use stackflux::api::Reason;

const HEAD: &str = "\
# Functions of values templates

<!-- Generated from the engine's table by tests/integration/documents.rs; to update, run UPDATE_GOLDEN=1 cargo test. -->

They give the same results as those of Go and of slim-sprig. [Decision 0003](decisions/0003-templates-that-differ-from-go.md)
lists the differences, and the functions of slim-sprig that are left out.
";

const REASONS: &str = "\
# Reasons

<!-- Generated from the types by tests/integration/documents.rs; to update, run UPDATE_GOLDEN=1 cargo test. -->

A reason is the word for the state of an object. `generate` prints the reasons of [holds](troubleshooting.md#something-is-held).
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
    assert_is(&text, "docs/values-templates-functions.md");
}

#[test]
fn reason_table_is_that_of_the_types() {
    let rows = Reason::ALL.iter().map(|reason| {
        let anchor = reason.as_str().to_lowercase();
        let texts = format!("{} | {}", reason.meaning(), reason.action()).replace('<', "\\<");
        format!("| <a id=\"{anchor}\"></a>`{reason}` | {texts} |\n")
    });
    assert_is(&(REASONS.to_owned() + &rows.collect::<String>()), "docs/reasons.md");
}

/// A document has this text.
pub(crate) fn assert_is(text: &str, document: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(document);
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        fs::write(&path, text).unwrap();
    }
    assert_eq!(text, fs::read_to_string(&path).unwrap(), "UPDATE_GOLDEN=1 writes it again");
}

/// Relative links of Markdown files lead to files that are there.
#[test]
fn links_between_documents_lead_somewhere() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut files =
        vec![root.join("README.md"), root.join("CONTRIBUTING.md"), root.join("examples/README.md")];
    for directory in ["docs", "docs/decisions"] {
        let entries = fs::read_dir(root.join(directory)).unwrap().map(|entry| entry.unwrap().path());
        files.extend(entries.filter(|path| path.extension().is_some_and(|extension| extension == "md")));
    }
    let mut broken = Vec::new();
    for file in &files {
        let text = fs::read_to_string(file).unwrap();
        let targets = text.split("](").skip(1).filter_map(|rest| rest.split(')').next());
        for target in targets.filter(|target| !target.contains("://") && !target.starts_with('#')) {
            let path = file.parent().unwrap().join(target.split('#').next().unwrap());
            if !path.exists() {
                broken.push(format!("{}: {target}", file.display()));
            }
        }
    }
    assert!(broken.is_empty(), "{broken:#?}");
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
    let document = include_str!("../../docs/values-templates.md");
    assert!(document.contains(&table), "docs/values-templates.md has to have this table:\n{table}");
}
