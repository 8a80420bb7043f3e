//! Documents that are made from the code.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use stackflux::api::Reason;
use stackflux::template::functions;

const HEAD: &str = "\
# Functions of values templates

<!-- Made from the engine's table by tests/integration/documents.rs; UPDATE_GOLDEN=1 cargo test writes it anew. -->

They answer as those of Go and of slim-sprig do; [decision 0003](decisions/0003-templates-that-differ-from-go.md) says where
they do not, and which functions of slim-sprig there are not.
";

const REASONS: &str = "\
# Reasons

<!-- Made from the types by tests/integration/documents.rs; UPDATE_GOLDEN=1 cargo test writes it anew. -->

One word says why something is as it is. `generate` uses those for what it [holds](troubleshooting.md#something-is-held).
The operator uses all of them in conditions, events and metrics; there, what Flux itself
gives as a reason is handed on as it is.

| reason | what it means | what to do |
|---|---|---|
";

#[test]
fn the_table_of_functions_is_that_of_the_engine() {
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
fn the_table_of_reasons_is_that_of_the_types() {
    let rows = Reason::ALL.iter().map(|reason| {
        let anchor = reason.as_str().to_lowercase();
        let told = format!("{} | {}", reason.meaning(), reason.action()).replace('<', "\\<");
        format!("| <a id=\"{anchor}\"></a>`{reason}` | {told} |\n")
    });
    assert_is(&(REASONS.to_owned() + &rows.collect::<String>()), "docs/reasons.md");
}

/// A document has this text.
pub(crate) fn assert_is(text: &str, document: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(document);
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        fs::write(&path, text).unwrap();
    }
    assert_eq!(text, fs::read_to_string(&path).unwrap(), "UPDATE_GOLDEN=1 writes it anew");
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
