//! The structure of the crate: imports go down the floors, and never in a circle.

mod circles;
mod imports;
mod tests;
mod tokens;

use circles::{circles, shown};
use imports::{Modules, Path};
use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

/// The floors of the crate, from the bottom to the top. A module imports only those of lower floors.
const FLOORS: &[&[&str]] = &[
    // The pure core.
    &["error", "names", "yaml"],
    &["api", "release"],
    &["builtin", "foreign", "installation", "verify"],
    &["gate", "inputs"],
    &["plan"],
    &["subscription"],
    &["compare", "rollup"],
    &["addons", "promote"],
    &["explain"],
    // The shell.
    &["http", "temporary"],
    &["git", "runtime"],
    &["forge", "serve", "sink", "source"],
    &["publish"],
    &["operator"],
    &["cli"],
];

/// The text of each file that is shipped.
fn texts() -> BTreeMap<Path, String> {
    let root = directory().join("src");
    let module = |file: &std::path::Path| -> Path {
        let path = file.strip_prefix(&root).unwrap().with_extension("");
        path.iter().map(|part| part.to_str().unwrap().to_owned()).filter(|part| part != "lib").collect()
    };
    let files = files(&root).into_iter().map(|file| (module(&file), file));
    let shipped = files.filter(|(module, _)| !module.iter().any(|part| ["main", "tests"].contains(&&**part)));
    shipped.map(|(module, file)| (module, fs::read_to_string(file).unwrap())).collect()
}

fn directory() -> &'static std::path::Path {
    std::path::Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// All Rust files below a directory.
fn files(directory: &std::path::Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    let (directories, files): (Vec<_>, Vec<_>) = entries.partition(|path| path.is_dir());
    let below = directories.iter().flat_map(|directory| self::files(directory));
    below.chain(files.into_iter().filter(|path| path.extension().is_some_and(|kind| kind == "rs"))).collect()
}

#[test]
fn imports_go_down_only() {
    let floor = |name: &str| FLOORS.iter().position(|floor| floor.contains(&name));
    let modules = Modules::new(&texts());
    let mut wrong = Vec::new();
    for (file, targets) in modules.imports() {
        // `lib.rs` only names the modules.
        let Some(top) = file.first() else { continue };
        let own = floor(top).unwrap_or_else(|| panic!("the module {top} is on no floor"));
        for (target, places) in targets.into_iter().filter(|(target, _)| target.first() != Some(top)) {
            if target.first().is_some_and(|top| floor(top).is_some_and(|floor| floor >= own)) {
                wrong.push(shown(file, target, &places));
            }
        }
    }
    assert!(wrong.is_empty(), "these do not import from a lower floor:\n{}", wrong.join("\n"));
}

#[test]
fn imports_have_no_circle() {
    let circles = circles(&Modules::new(&texts()));
    assert!(
        circles.is_empty(),
        "the files of each of these circles import each other:\n{}",
        circles.join("\n\n")
    );
}

#[test]
fn library_shows_the_floors() {
    let library = fs::read_to_string(directory().join("src/lib.rs")).unwrap();
    let module = |line: &str| Some(line.strip_prefix("pub mod ")?.strip_suffix(';')?.to_owned());
    let groups = library.split("\n\n").map(|group| group.lines().filter_map(module).collect::<Vec<_>>());
    let groups: Vec<_> = groups.filter(|group| !group.is_empty()).collect();
    assert_eq!(groups, FLOORS, "src/lib.rs has a group of modules for each floor");
}
