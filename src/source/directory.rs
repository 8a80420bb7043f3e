//! Reads a directory as Flux packs it: links are not followed, and files that Flux leaves out are not read.

use std::collections::BTreeMap;
use std::fs::{self, DirEntry, Metadata};
use std::io::Read as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use super::SourceError;
use crate::release::files::join;
use crate::release::ignore::{self, Rules};
use crate::release::{File, Files, Finding, Findings, Limits, PathError, Reason};

/// Reads a directory. Skips directories named `.git`, as Flux does.
pub fn read(directory: &Path, limits: &Limits) -> Result<Files, SourceError> {
    let mut walk =
        Walk { root: directory, limits, found: BTreeMap::new(), count: 0, findings: Findings::default() };
    walk.walk()?;
    let rules = rules(&walk)?;
    let mut files = Files::default();
    let mut left = limits.unpacked;
    for (path, metadata) in std::mem::take(&mut walk.found) {
        let added = if metadata.is_symlink() {
            let target = walk.at(&path);
            let target = fs::read_link(&target).map_err(SourceError::io(target))?;
            files.insert_link(&path, &target.to_string_lossy())
        } else if !metadata.is_file() {
            walk.refuse(&path, Reason::SpecialFile, "it is a device, a pipe or a socket");
            Ok(())
        } else if rules.leave_out(&path) {
            files.insert_ignored(&path)
        } else {
            let content = walk.content(&path, left)?;
            left = left.saturating_sub(content.len() as u64);
            // Git stores only the owner's bit, and Flux packs what Git stores.
            let executable = metadata.permissions().mode() & 0o100 != 0;
            files.insert(&path, File { content, executable })
        };
        if let Err(error) = added {
            walk.refuse(&path, Reason::InvalidPath, &error.to_string());
        }
    }
    if walk.findings.has_errors() {
        return Err(SourceError::unusable(directory)(walk.findings));
    }
    Ok(files)
}

struct Walk<'a> {
    root: &'a Path,
    limits: &'a Limits,
    /// Everything found except directories: relative path with `/`, and its metadata.
    found: BTreeMap<String, Metadata>,
    count: usize,
    findings: Findings,
}

impl Walk<'_> {
    fn at(&self, path: &str) -> PathBuf {
        self.root.join(path)
    }

    /// Finds everything below the root.
    fn walk(&mut self) -> Result<(), SourceError> {
        let mut directories = vec![String::new()];
        while let Some(directory) = directories.pop() {
            let at = self.at(&directory);
            for entry in fs::read_dir(&at).map_err(SourceError::io(&at))? {
                let entry = entry.map_err(SourceError::io(&at))?;
                directories.extend(self.add(&directory, &entry)?);
            }
        }
        Ok(())
    }

    /// Adds an entry of a directory; returns a subdirectory that has to be searched.
    fn add(&mut self, directory: &str, entry: &DirEntry) -> Result<Option<String>, SourceError> {
        self.count += 1;
        if self.count > self.limits.entries {
            let message = format!("the release exceeds the limit of {} files", self.limits.entries);
            return Err(self.limit("", message));
        }
        let name = entry.file_name();
        let path = join(directory, &name.to_string_lossy());
        if name.to_str().is_none() {
            self.refuse(&path, Reason::InvalidPath, "the file's name is not UTF-8");
            return Ok(None);
        }
        let metadata = entry.metadata().map_err(SourceError::io(entry.path()))?;
        if metadata.is_dir() {
            return Ok((name != ".git").then_some(path));
        }
        if name == ".git" && !directory.is_empty() {
            self.refuse(directory, Reason::InvalidPath, &PathError::Submodule.to_string());
            return Ok(None);
        }
        self.found.insert(path, metadata);
        Ok(None)
    }

    /// Returns the content of a file, which may have at most `left` bytes.
    fn content(&self, path: &str, left: u64) -> Result<Vec<u8>, SourceError> {
        let at = self.at(path);
        let file = fs::File::open(&at).map_err(SourceError::io(&at))?;
        let mut content = Vec::new();
        file.take(left.saturating_add(1)).read_to_end(&mut content).map_err(SourceError::io(&at))?;
        if content.len() as u64 > left {
            let message =
                format!("with this file, the release exceeds the limit of {} bytes", self.limits.unpacked);
            return Err(self.limit(path, message));
        }
        Ok(content)
    }

    fn limit(&self, path: &str, message: String) -> SourceError {
        let finding = Finding::error(Reason::LimitExceeded, path, message);
        SourceError::unusable(self.root)(finding.into())
    }

    fn refuse(&mut self, path: &str, reason: Reason, message: &str) {
        self.findings.push(Finding::error(reason, path, message));
    }
}

/// Returns Flux's rules for this directory, from all its `.sourceignore` files.
fn rules(walk: &Walk<'_>) -> Result<Rules, SourceError> {
    let mut texts = Vec::new();
    for (path, metadata) in &walk.found {
        if let Some(directory) = ignore::directory_of(path).filter(|_| metadata.is_file()) {
            let content = walk.content(path, walk.limits.unpacked)?;
            texts.push((directory.to_owned(), String::from_utf8_lossy(&content).into_owned()));
        }
    }
    Rules::new(texts).map_err(|finding| SourceError::unusable(walk.root)((*finding).into()))
}
