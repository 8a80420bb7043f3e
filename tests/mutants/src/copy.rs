//! The copy of the repository with all mutations.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::Result;
use crate::mutation::{Mutation, with_mutations};

/// What the copy has in addition.
const SWITCH: &str = r#"
/// Whether a mutation is switched on.
#[allow(clippy::disallowed_methods)]
pub fn mutant(name: &str) -> bool {
    static ON: std::sync::OnceLock<Option<String>> = std::sync::OnceLock::new();
    ON.get_or_init(|| std::env::var("MUTANT").ok()).as_deref() == Some(name)
}
"#;

/// The directory of the copy, and that of its build.
pub(crate) struct Tree {
    pub(crate) directory: PathBuf,
    pub(crate) target: PathBuf,
}

/// Copies the repository as it is now, with all mutations. Leaves files as they are that would not change, so that Cargo
/// builds no more than needed.
pub(crate) fn mutated(mutations: &[Mutation]) -> Result<Tree> {
    let root = root()?;
    let target =
        std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), |path| root.join(path));
    let target = target.join("mutants");
    let tree = Tree { directory: target.join("tree"), target: target.join("build") };
    let mut files = files(&root)?;
    mutate(&mut files, mutations)?;
    remove_others(&tree.directory, &tree.directory, &files)?;
    for (name, content) in &files {
        write(&tree.directory.join(name), content)?;
    }
    Ok(tree)
}

/// The directory of the repository.
fn root() -> Result<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    root.canonicalize().map_err(|error| format!("{}: {error}", root.display()))
}

/// The files of the repository, by path.
fn files(root: &Path) -> Result<BTreeMap<String, Vec<u8>>> {
    // Git has files, too, that are deleted.
    let read = |name: String| Some((name.clone(), fs::read(root.join(&name)).ok()?));
    Ok(names(root)?.into_iter().filter_map(read).collect())
}

/// The names of all files that Git has or would add.
fn names(root: &Path) -> Result<Vec<String>> {
    let listed = Command::new("git")
        .args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"])
        .current_dir(root)
        .output()
        .map_err(|error| format!("cannot run git: {error}"))?;
    if !listed.status.success() {
        return Err(format!("git ls-files: {}", String::from_utf8_lossy(&listed.stderr)));
    }
    let names = String::from_utf8(listed.stdout).map_err(|error| error.to_string())?;
    Ok(names.split('\0').filter(|name| !name.is_empty()).map(str::to_owned).collect())
}

fn mutate(files: &mut BTreeMap<String, Vec<u8>>, mutations: &[Mutation]) -> Result<()> {
    let mut by_file: BTreeMap<String, Vec<&Mutation>> = BTreeMap::new();
    for mutation in mutations {
        by_file.entry(format!("src/{}", mutation.file)).or_default().push(mutation);
    }
    let mut errors = Vec::new();
    for (name, mutations) in by_file {
        let content = files
            .get_mut(&name)
            .ok_or_else(|| format!("{name}: a mutation names it, but there is no such file"))?;
        match with_mutations(&String::from_utf8_lossy(content), &mutations) {
            Ok(mutated) => *content = mutated.into_bytes(),
            Err(error) => errors.push(error),
        }
    }
    if !errors.is_empty() {
        return Err(errors.join("\n"));
    }
    let library = files.get_mut("src/lib.rs").ok_or("src/lib.rs: there is no such file")?;
    library.extend_from_slice(SWITCH.as_bytes());
    Ok(())
}

/// Removes files of an earlier copy that the repository no longer has.
fn remove_others(root: &Path, directory: &Path, files: &BTreeMap<String, Vec<u8>>) -> Result<()> {
    let Ok(entries) = fs::read_dir(directory) else { return Ok(()) };
    for entry in entries {
        let path = entry.map_err(|error| error.to_string())?.path();
        let name = path.strip_prefix(root).map_err(|error| error.to_string())?;
        if path.is_dir() {
            remove_others(root, &path, files)?;
        } else if !files.contains_key(&*name.to_string_lossy()) {
            fs::remove_file(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        }
    }
    Ok(())
}

fn write(path: &Path, content: &[u8]) -> Result<()> {
    if fs::read(path).is_ok_and(|before| before == content) {
        return Ok(());
    }
    let directory = path.parent().unwrap_or(path);
    let written = fs::create_dir_all(directory).and_then(|()| fs::write(path, content));
    written.map_err(|error| format!("{}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::{files, mutate, root};
    use crate::mutations::all;

    #[test]
    fn all_mutations_fit_the_code() {
        let mut files = files(&root().unwrap()).unwrap();
        assert_eq!(mutate(&mut files, &all()), Ok(()));
    }
}
