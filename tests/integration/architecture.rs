//! The structure of the crate: imports go down the floors, and never in a circle.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// The floors of the crate, from the bottom to the top. A module imports only those of lower floors.
const FLOORS: &[&[&str]] = &[
    // The pure core.
    &["error", "names", "yaml"],
    &["api", "release"],
    &["foreign", "verify"],
    &["gate", "inputs"],
    &["plan"],
    &["subscription"],
    &["compare", "rollup"],
    &["addons", "promote"],
    // The shell.
    &["http", "temporary"],
    &["git", "runtime"],
    &["forge", "sink", "source"],
    &["publish"],
    &["operator"],
    &["cli"],
];

/// The path of a module or of an item: `["plan", "delivery"]`.
type Module = Vec<String>;

/// The imports of each module, as the paths of items.
fn imports() -> BTreeMap<Module, BTreeSet<Module>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let module = |file: &Path| -> Module {
        let path = file.strip_prefix(&root).unwrap().with_extension("");
        path.iter().map(|part| part.to_str().unwrap().to_owned()).collect()
    };
    let files = files(&root).into_iter().map(|file| (module(&file), file));
    let shipped = files.filter(|(module, _)| {
        !module.iter().any(|part| part == "tests") && !["lib", "main"].contains(&module[0].as_str())
    });
    shipped.map(|(module, file)| (module.clone(), imported(&module, &code(&file)))).collect()
}

/// All Rust files below a directory.
fn files(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    let (directories, files): (Vec<_>, Vec<_>) = entries.partition(|path| path.is_dir());
    let below = directories.iter().flat_map(|directory| self::files(directory));
    below.chain(files.into_iter().filter(|path| path.extension().is_some_and(|kind| kind == "rs"))).collect()
}

/// The code of a file in one line, without comments and without the tests at its end.
fn code(file: &Path) -> String {
    let text = fs::read_to_string(file).unwrap();
    let text = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    text.lines().map(|line| line.split("//").next().unwrap_or_default().trim()).collect::<Vec<_>>().join(" ")
}

/// The items of this crate that a module names in its `use` lines, and in paths that begin with `crate::`.
fn imported(module: &[String], code: &str) -> BTreeSet<Module> {
    let uses =
        code.match_indices("use ").filter_map(|(at, found)| code[at + found.len()..].split(';').next());
    let uses = uses.flat_map(|tree| expanded(&tree.replace(' ', "")));
    let paths = code.match_indices("crate::").map(|(at, _)| {
        let is_of_path = |character: char| character.is_alphanumeric() || "_:".contains(character);
        code[at..].chars().take_while(|character| is_of_path(*character)).collect::<String>()
    });
    // A path before a brace is one of `use`.
    let paths = paths.filter(|path| !path.ends_with("::"));
    uses.chain(paths).filter_map(|path| absolute(module, &path)).collect()
}

/// `a::{b, c::d}` as `a::b` and `a::c::d`.
fn expanded(tree: &str) -> Vec<String> {
    let Some((prefix, rest)) = tree.split_once('{') else { return vec![tree.to_owned()] };
    let (mut parts, mut depth) = (vec![String::new()], 0);
    for character in rest.chars() {
        match character {
            '}' if depth == 0 => break,
            ',' if depth == 0 => parts.push(String::new()),
            _ => {
                depth += i32::from(character == '{') - i32::from(character == '}');
                parts.last_mut().unwrap().push(character);
            }
        }
    }
    parts.iter().flat_map(|part| expanded(&format!("{prefix}{part}"))).collect()
}

/// A path from the root of the crate; `None` for one of another crate.
fn absolute(module: &[String], path: &str) -> Option<Module> {
    let mut parts = path.split("::").peekable();
    let mut base = match *parts.peek()? {
        "crate" => Vec::new(),
        "self" | "super" => module.to_vec(),
        _ => return None,
    };
    while let Some(part) = parts.next_if(|part| ["crate", "self", "super"].contains(part)) {
        if part == "super" {
            base.pop();
        }
    }
    base.extend(parts.filter(|part| !part.is_empty()).map(str::to_owned));
    Some(base)
}

#[test]
fn imports_go_down_only() {
    let floor = |name: &str| FLOORS.iter().position(|floor| floor.contains(&name));
    let mut wrong = Vec::new();
    for (module, items) in imports() {
        let own = floor(&module[0]).unwrap_or_else(|| panic!("the module {} is on no floor", module[0]));
        let others = items.iter().filter(|item| item.first().is_some_and(|top| *top != module[0]));
        let wrong_way = others.filter(|item| floor(&item[0]).is_some_and(|floor| floor >= own));
        wrong.extend(wrong_way.map(|item| format!("{} imports {}", module.join("::"), item.join("::"))));
    }
    assert!(wrong.is_empty(), "these do not import from a lower floor:\n{}", wrong.join("\n"));
}

/// A parent and its child may name each other: they are one unit.
#[test]
fn imports_have_no_cycle() {
    let imports = imports();
    let is_kin = |one: &Module, other: &Module| one.starts_with(other) || other.starts_with(one);
    let module_of =
        |item: &Module| (1..=item.len()).rev().find_map(|length| imports.get_key_value(&item[..length]));
    let mut left: BTreeMap<&Module, BTreeSet<&Module>> = BTreeMap::new();
    for (module, items) in &imports {
        let targets = items.iter().filter_map(|item| Some(module_of(item)?.0));
        left.insert(module, targets.filter(|target| !is_kin(module, target)).collect());
    }
    loop {
        let before = left.len();
        let modules: BTreeSet<&Module> = left.keys().copied().collect();
        left.retain(|_, targets| targets.iter().any(|target| modules.contains(target)));
        if left.len() == before {
            break;
        }
    }
    let circles: Vec<_> = left.keys().map(|module| module.join("::")).collect();
    assert!(circles.is_empty(), "these import each other, or what does:\n{}", circles.join("\n"));
}

#[test]
fn library_shows_the_floors() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let library = fs::read_to_string(root.join("src/lib.rs")).unwrap();
    let module = |line: &str| Some(line.strip_prefix("pub mod ")?.strip_suffix(';')?.to_owned());
    let groups = library.split("\n\n").map(|group| group.lines().filter_map(module).collect::<Vec<_>>());
    let groups: Vec<_> = groups.filter(|group| !group.is_empty()).collect();
    assert_eq!(groups, FLOORS, "src/lib.rs has a group of modules for each floor");
}
