//! The files that import each other.

use super::imports::{Modules, Path, Place};
use std::collections::{BTreeMap, BTreeSet};

/// Shows the circles of imports: the imports of one circle in a text.
///
/// A file may name what is in the files below its module, and they what is in it: they are one unit.
pub(super) fn circles(modules: &Modules) -> Vec<String> {
    let mut imports = modules.imports();
    for (file, targets) in &mut imports {
        targets.retain(|target, _| !file.starts_with(target) && !target.starts_with(file));
    }
    let reached: BTreeMap<&Path, BTreeSet<&Path>> =
        imports.keys().map(|file| (*file, reached(&imports, file))).collect();
    let are_in_circle =
        |one: &&Path, other: &&Path| reached[one].contains(other) && reached[other].contains(one);
    let mut circles = Vec::new();
    let mut shown_files = BTreeSet::new();
    for file in imports.keys().filter(|file| reached[*file].contains(*file)) {
        if shown_files.contains(file) {
            continue;
        }
        let circle: BTreeSet<&Path> =
            imports.keys().filter(|other| are_in_circle(file, other)).copied().collect();
        let lines = circle.iter().flat_map(|file| {
            let inside = imports[file].iter().filter(|(target, _)| circle.contains(*target));
            inside.map(|(target, places)| shown(file, target, places))
        });
        circles.push(lines.collect::<Vec<_>>().join("\n"));
        shown_files.extend(circle);
    }
    circles
}

/// The files that a file imports, and what they import.
fn reached<'a>(
    imports: &BTreeMap<&'a Path, BTreeMap<&'a Path, BTreeSet<Place>>>,
    from: &'a Path,
) -> BTreeSet<&'a Path> {
    let mut reached = BTreeSet::new();
    let mut left: Vec<&Path> = vec![from];
    while let Some(file) = left.pop() {
        left.extend(imports[file].keys().filter(|target| reached.insert(**target)));
    }
    reached
}

/// `git::clone imports git::connection (Process)`.
pub(super) fn shown(file: &Path, target: &Path, places: &BTreeSet<Place>) -> String {
    let names: Vec<&str> = places.iter().map(|place| place.name.as_deref().unwrap_or("self")).collect();
    format!("{} imports {} ({})", file.join("::"), target.join("::"), names.join(", "))
}
