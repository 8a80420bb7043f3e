//! Archives (`.tgz`) that somebody else made: read in memory, entry by entry, and refused for whatever could reach
//! outside, be more than it seems, or mean two things.

use std::collections::BTreeSet;
use std::io::{self, Read};

use flate2::read::MultiGzDecoder;
use tar::{Archive, Entry, EntryType};

use super::files::{File, Files, Limits, PathError, check_path};
use super::finding::{Finding, Findings, Reason};

/// The files in a gzipped tar archive. `name` is what findings call it. Directories are no files and only have their
/// path checked; everything wrong with entries is told at once, what exceeds a limit ends the reading.
pub fn unpack(bytes: &[u8], name: &str, limits: &Limits) -> Result<Files, Findings> {
    unpack_within(bytes, name, &mut limits.clone())
}

/// The same, where what was read is taken off the limits: for several archives that share them.
pub(super) fn unpack_within(bytes: &[u8], name: &str, left: &mut Limits) -> Result<Files, Findings> {
    // Headers and padding are bytes too: 1 KiB for each allowed entry, and as much for long names.
    let overhead = (left.entries as u64).saturating_mul(2048).saturating_add(1 << 20);
    let stream = MultiGzDecoder::new(bytes).take(left.unpacked.saturating_add(overhead));
    let mut reading = Reading {
        name,
        left,
        files: Files::default(),
        directories: BTreeSet::new(),
        findings: Findings::default(),
    };
    if let Err(finding) = reading.read(Archive::new(stream)) {
        reading.findings.push(*finding);
    }
    if reading.findings.has_errors() { Err(reading.findings) } else { Ok(reading.files) }
}

/// The same finding, its file named as one inside the archive of that path; as it is where the path is empty.
pub(super) fn inside(mut finding: Finding, archive: &str) -> Finding {
    if !archive.is_empty() {
        finding.file = format!("{archive}: {}", finding.file);
    }
    finding
}

struct Reading<'a> {
    name: &'a str,
    left: &'a mut Limits,
    files: Files,
    directories: BTreeSet<String>,
    findings: Findings,
}

impl Reading<'_> {
    fn read<R: Read>(&mut self, mut archive: Archive<R>) -> Result<(), Box<Finding>> {
        let entries = archive.entries().map_err(|error| self.broken(&error))?;
        for entry in entries {
            let Some(left) = self.left.entries.checked_sub(1) else {
                return Err(self.limit("with this archive there are more entries than a release may have"));
            };
            self.left.entries = left;
            let mut entry = entry.map_err(|error| self.broken(&error))?;
            self.read_entry(&mut entry)?;
        }
        Ok(())
    }

    fn read_entry<R: Read>(&mut self, entry: &mut Entry<'_, R>) -> Result<(), Box<Finding>> {
        let kind = entry.header().entry_type();
        if matches!(kind, EntryType::XGlobalHeader) {
            return Ok(());
        }
        let bytes = entry.path_bytes().into_owned();
        let Ok(path) = String::from_utf8(bytes) else {
            let path = String::from_utf8_lossy(&entry.path_bytes()).into_owned();
            self.refuse(&path, Reason::InvalidPath, "the path is not UTF-8");
            return Ok(());
        };
        let path = plain(&path);
        match kind {
            EntryType::Directory => self.directory(path),
            EntryType::Regular | EntryType::Continuous => return self.regular(path, entry),
            EntryType::Symlink | EntryType::Link => self.link(path, entry),
            _ => self.refuse(
                path,
                Reason::SpecialFile,
                "the entry is a device, a pipe or something else special",
            ),
        }
        Ok(())
    }

    fn directory(&mut self, path: &str) {
        let path = path.trim_end_matches('/');
        if path.is_empty() || path == "." {
            return;
        }
        if let Err(error) = check_path(path) {
            self.refuse(path, Reason::InvalidPath, &error.to_string());
        } else if self.files.get(path).is_some() {
            self.refuse(path, Reason::InvalidPath, &PathError::Taken.to_string());
        } else {
            self.directories.insert(path.to_owned());
        }
    }

    fn regular<R: Read>(&mut self, path: &str, entry: &mut Entry<'_, R>) -> Result<(), Box<Finding>> {
        if entry.size() > self.left.unpacked {
            return Err(self.limit("unpacked, this archive makes the release larger than it may be"));
        }
        let executable = entry.header().mode().is_ok_and(|mode| mode & 0o100 != 0);
        let mut content = Vec::new();
        entry.read_to_end(&mut content).map_err(|error| self.broken(&error))?;
        self.left.unpacked = self.left.unpacked.saturating_sub(content.len() as u64);
        let taken = self.directories.contains(path).then_some(PathError::Taken);
        let added =
            taken.map_or(Ok(()), Err).and_then(|()| self.files.insert(path, File { content, executable }));
        if let Err(error) = added {
            self.refuse(path, Reason::InvalidPath, &error.to_string());
        }
        Ok(())
    }

    fn link<R: Read>(&mut self, path: &str, entry: &Entry<'_, R>) {
        let target = entry.link_name_bytes().map(|target| String::from_utf8_lossy(&target).into_owned());
        let message =
            format!("the entry is a link to {:?}: links are not followed", target.unwrap_or_default());
        self.refuse(path, Reason::LinkNotAllowed, &message);
    }

    fn refuse(&mut self, path: &str, reason: Reason, message: &str) {
        let finding = inside(Finding::error(reason, path, message), self.name);
        self.findings.push(finding);
    }

    fn limit(&self, message: &str) -> Box<Finding> {
        Box::new(Finding::error(Reason::LimitExceeded, self.name, message))
    }

    fn broken(&self, error: &io::Error) -> Box<Finding> {
        let message = format!("the archive cannot be read: {error}");
        Box::new(Finding::error(Reason::InvalidArchive, self.name, message))
    }
}

/// The path without the `./` that some archivers put before every path.
fn plain(path: &str) -> &str {
    let mut path = path;
    while let Some(rest) = path.strip_prefix("./") {
        path = rest;
    }
    path
}

#[cfg(test)]
mod tests;
