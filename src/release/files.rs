//! The files of a release in memory, whatever their source.

use std::collections::{BTreeMap, BTreeSet};

/// The limits on reading a release.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// All regular files together, unpacked, in bytes.
    pub unpacked: u64,
    /// Files, directories and links together.
    pub entries: usize,
    /// Any single YAML file that stackflux reads, in bytes.
    pub yaml_file: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { unpacked: 64 << 20, entries: 10_000, yaml_file: 1 << 20 }
    }
}

/// A regular file.
#[derive(Clone, PartialEq, Eq)]
pub struct File {
    /// The bytes.
    pub content: Vec<u8>,
    /// Whether its owner may execute it: the only mode that Git and Flux keep.
    pub executable: bool,
}

impl std::fmt::Debug for File {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "File({} bytes{})", self.content.len(), if self.executable { ", executable" } else { "" })
    }
}

/// The reason why a path cannot be in a release.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PathError {
    /// It begins at the root of a file system.
    #[error("the path is absolute")]
    Absolute,
    /// It has a part `..`.
    #[error("the path has a `..` in it")]
    Parent,
    /// It has a part `.`, an empty part, a backslash or a control character.
    #[error("the path is not plain: it has an empty part, a `.`, a backslash or a control character in it")]
    NotPlain,
    /// A part of it is `.git`, or a name that some file system reads as `.git`.
    #[error("a part of the path means `.git` on some file systems: Git refuses such a file")]
    Git,
    /// It is longer than 1,024 bytes or has more than 64 parts.
    #[error("the path exceeds the limit of 1,024 bytes or of 64 parts")]
    TooLong,
    /// A part of it is longer than 255 bytes, the limit of usual file systems.
    #[error("a name in the path exceeds the limit of 255 bytes: Git cannot check out such a file")]
    NameTooLong,
    /// It is a commit of another repository.
    #[error("it is a submodule, which Flux does not fetch: commit its files instead")]
    Submodule,
    /// An entry of that name exists, or a file in place of a needed directory.
    #[error("another entry has the same path, or is a file where this one needs a directory")]
    Taken,
}

/// The files of a release: relative paths with `/` and their content, and the entries that do not belong to the release.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Files {
    regular: BTreeMap<String, File>,
    ignored: BTreeSet<String>,
    links: BTreeMap<String, String>,
}

impl Files {
    /// Adds a regular file.
    pub fn insert(&mut self, path: &str, file: File) -> Result<(), PathError> {
        self.check(path)?;
        self.regular.insert(path.to_owned(), file);
        Ok(())
    }

    /// Notes a symbolic or hard link, which is never followed.
    pub fn insert_link(&mut self, path: &str, target: &str) -> Result<(), PathError> {
        self.check(path)?;
        self.links.insert(path.to_owned(), target.to_owned());
        Ok(())
    }

    /// Notes a file that Flux leaves out of an artifact, so that it does not belong to the release.
    pub fn insert_ignored(&mut self, path: &str) -> Result<(), PathError> {
        self.check(path)?;
        self.ignored.insert(path.to_owned());
        Ok(())
    }

    /// Finds the file of that path.
    #[must_use]
    pub fn get(&self, path: &str) -> Option<&File> {
        self.regular.get(path)
    }

    /// Returns all files in the order of their paths' bytes.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &File)> {
        self.regular.iter().map(|(path, file)| (path.as_str(), file))
    }

    /// Returns the files below a directory (the empty string is the root) in order, their paths relative to it.
    pub fn below<'a>(&'a self, directory: &str) -> impl Iterator<Item = (&'a str, &'a File)> + use<'a> {
        let prefix = if directory.is_empty() { String::new() } else { format!("{directory}/") };
        self.regular
            .range(prefix.clone()..)
            .map_while(move |(path, file)| Some((path.strip_prefix(prefix.as_str())?, file)))
    }

    /// Whether a file is below this directory.
    #[must_use]
    pub fn has_directory(&self, directory: &str) -> bool {
        self.below(directory).next().is_some()
    }

    /// Lists the names of the directories directly below this one that have files, in order.
    #[must_use]
    pub fn directories(&self, directory: &str) -> BTreeSet<&str> {
        self.below(directory).filter_map(|(path, _)| Some(path.split_once('/')?.0)).collect()
    }

    /// Returns the files that Flux leaves out.
    pub fn ignored(&self) -> impl Iterator<Item = &str> {
        self.ignored.iter().map(String::as_str)
    }

    /// Returns the links: path and target.
    pub fn links(&self) -> impl Iterator<Item = (&str, &str)> {
        self.links.iter().map(|(path, target)| (path.as_str(), target.as_str()))
    }

    /// Returns the number of files, ignored files and links.
    #[must_use]
    pub fn len(&self) -> usize {
        self.regular.len() + self.ignored.len() + self.links.len()
    }

    /// Whether there are no entries.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the size of all files in bytes.
    #[must_use]
    pub fn size(&self) -> u64 {
        self.regular.values().map(|file| file.content.len() as u64).sum()
    }

    /// Lists the paths of the files and links that differ between both, in order. Ignored files do not count.
    #[must_use]
    pub fn differences(&self, other: &Self) -> Vec<String> {
        let mut paths: BTreeSet<&String> = self.regular.keys().chain(other.regular.keys()).collect();
        paths.retain(|path| self.regular.get(*path) != other.regular.get(*path));
        let links = self.links.keys().chain(other.links.keys());
        paths.extend(links.filter(|path| self.links.get(*path) != other.links.get(*path)));
        paths.into_iter().cloned().collect()
    }

    /// Removes the directory of this name from all paths, if everything is below it.
    #[must_use]
    pub fn without_directory(self, directory: &str) -> Self {
        let prefix = format!("{directory}/");
        let mut paths = self.regular.keys().chain(self.links.keys()).chain(&self.ignored);
        if paths.all(|path| path.starts_with(&prefix)) { self.moved_up(directory) } else { self }
    }

    /// Returns the content of a directory as if the directory were the root.
    fn moved_up(self, directory: &str) -> Self {
        let prefix = format!("{directory}/");
        let up = |path: String| path.strip_prefix(&prefix).map(str::to_owned);
        Self {
            regular: self.regular.into_iter().filter_map(|(path, file)| Some((up(path)?, file))).collect(),
            ignored: self.ignored.into_iter().filter_map(up).collect(),
            links: self.links.into_iter().filter_map(|(path, target)| Some((up(path)?, target))).collect(),
        }
    }

    /// Notes the files that `leave_out` selects as ignored.
    pub(super) fn ignoring(mut self, leave_out: impl Fn(&str) -> bool) -> Self {
        let (ignored, regular) = self.regular.into_iter().partition(|(path, _)| leave_out(path));
        let ignored: BTreeMap<String, File> = ignored;
        self.ignored.extend(ignored.into_keys());
        Self { regular, ..self }
    }

    /// Removes the file of that path.
    pub(super) fn remove(&mut self, path: &str) -> Option<File> {
        self.regular.remove(path)
    }

    /// Adds every entry of `other`, its path moved below `directory`.
    pub(super) fn absorb(&mut self, other: Self, directory: &str) -> Result<(), (String, PathError)> {
        let at = |path: &str| format!("{directory}/{path}");
        for (path, file) in other.regular {
            self.insert(&at(&path), file).map_err(|error| (at(&path), error))?;
        }
        for (path, target) in other.links {
            self.insert_link(&at(&path), &target).map_err(|error| (at(&path), error))?;
        }
        Ok(())
    }

    fn check(&self, path: &str) -> Result<(), PathError> {
        check_path(path)?;
        let taken = |path: &str| {
            self.regular.contains_key(path) || self.links.contains_key(path) || self.ignored.contains(path)
        };
        let parents = path.match_indices('/').filter_map(|(at, _)| path.get(..at));
        let below = format!("{path}/");
        let has_below = |next: Option<&String>| next.is_some_and(|next| next.starts_with(&below));
        if taken(path)
            || parents.into_iter().any(taken)
            || has_below(self.regular.range(below.clone()..).next().map(|(path, _)| path))
            || has_below(self.links.range(below.clone()..).next().map(|(path, _)| path))
            || has_below(self.ignored.range(below.clone()..).next())
        {
            return Err(PathError::Taken);
        }
        Ok(())
    }
}

/// Returns a path below a directory, of which the empty string is the root.
#[cfg(feature = "shell")]
pub(crate) fn join(directory: &str, path: &str) -> String {
    if directory.is_empty() { path.to_owned() } else { format!("{directory}/{path}") }
}

/// Checks that a path is relative and plain.
pub fn check_path(path: &str) -> Result<(), PathError> {
    if path.len() > 1024 || path.split('/').count() > 64 {
        return Err(PathError::TooLong);
    }
    if path.split('/').any(|part| part.len() > 255) {
        return Err(PathError::NameTooLong);
    }
    if path.starts_with('/') {
        return Err(PathError::Absolute);
    }
    if path.split(['/', '\\']).any(|part| part == "..") {
        return Err(PathError::Parent);
    }
    if path.split('/').any(|part| part.is_empty() || part == ".") || path.contains(['\\']) {
        return Err(PathError::NotPlain);
    }
    if path.chars().any(char::is_control) {
        return Err(PathError::NotPlain);
    }
    // Flux itself leaves out `.git`, and so does every reader of releases.
    if path.split('/').any(|part| part != ".git" && stands_for_git(part)) {
        return Err(PathError::Git);
    }
    Ok(())
}

/// Whether a name stands for `.git` on a case-insensitive file system, on NTFS (a short name, a stream, with dots and
/// blanks at its end) or on HFS+ (with characters that it ignores): `core.protectNTFS` and `core.protectHFS` of Git.
pub(crate) fn stands_for_git(name: &str) -> bool {
    let name: String = name.chars().filter(|character| !is_ignored_by_hfs(*character)).collect();
    let name = name.split(':').next().unwrap_or_default().trim_end_matches(['.', ' ']);
    name.eq_ignore_ascii_case(".git") || name.eq_ignore_ascii_case("git~1")
}

/// Whether HFS+ ignores the character in a name (`next_hfs_char` in `utf8.c` of Git).
fn is_ignored_by_hfs(character: char) -> bool {
    matches!(character, '\u{200c}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{206a}'..='\u{206f}' | '\u{feff}')
}

#[cfg(test)]
mod tests;
