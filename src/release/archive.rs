//! Archives (`.tgz`) from others: read in memory, entry by entry, and refused for anything that could reach outside,
//! unpack to more than its size suggests, or be read in two ways.

mod members;
mod records;

use std::cell::Cell;
use std::collections::BTreeSet;
use std::io::{self, Read, Take};
use std::rc::Rc;

use tar::{Archive, Entry, EntryType};

use members::Members;

use super::files::{File, Files, Limits, PathError, check_path};
use super::finding::{Finding, Findings, Reason};

/// Maximum number of bytes before an entry, which are held in memory: long names and the like.
const MAX_BEFORE_ENTRY: u64 = 1 << 20;

/// Reads the files in a gzipped tar archive. `name` is its name in findings. Directories are not files; only their path
/// is checked. All bad entries are reported together; an exceeded limit ends the reading.
pub fn unpack(bytes: &[u8], name: &str, limits: &Limits) -> Result<Files, Findings> {
    unpack_within(bytes, name, &mut limits.clone())
}

/// Reads an archive as [`unpack`] does, and subtracts what was read from the limits, for several archives that share
/// them.
pub(crate) fn unpack_within(bytes: &[u8], name: &str, left: &mut Limits) -> Result<Files, Findings> {
    let mut collecting = Collecting::new(name, left.clone());
    let walked = walk(bytes, left.unpacked, left.entries, |path, entry| collecting.take(path, entry));
    if let Err(stop) = walked {
        let finding = match stop {
            Stop::Unreadable(error) => {
                let message = format!("the archive cannot be read: {error}");
                Finding::error(Reason::InvalidArchive, name, message)
            }
            Stop::Entries => {
                let message = "with this archive, the release exceeds the limit of entries";
                Finding::error(Reason::LimitExceeded, name, message)
            }
            Stop::Bytes => {
                let message = "with this archive unpacked, the release exceeds the limit of bytes";
                Finding::error(Reason::LimitExceeded, name, message)
            }
        };
        collecting.findings.push(finding);
    }
    *left = collecting.left.clone();
    collecting.finish()
}

/// Returns the finding with its file named as one inside the archive at that path; unchanged if the path is empty.
pub(super) fn inside(mut finding: Finding, archive: &str) -> Finding {
    if !archive.is_empty() {
        finding.file = format!("{archive}: {}", finding.file);
    }
    finding
}

/// The reason why reading an archive ended early.
#[derive(Debug)]
pub(super) enum Stop {
    /// It is not an archive, or ends too early.
    Unreadable(io::Error),
    /// It has more entries than the limit.
    Entries,
    /// It has more bytes than the limit when unpacked.
    Bytes,
}

impl From<io::Error> for Stop {
    fn from(error: io::Error) -> Self {
        Self::Unreadable(error)
    }
}

/// The reader of a gzipped tar archive.
pub(super) type Unpacked<R> = Metered<Take<Members<R>>>;

/// Passes each entry of a gzipped tar archive to `visit`, with its path but without a leading `./`. Content that `visit`
/// does not read is skipped. Headers and padding are bytes too: besides `unpacked` bytes of content, at most 2 KiB for
/// each of `entries` are unpacked.
///
/// The stream is read to its end, past the end of the tar archive: only there are the checksum and the length of each
/// gzip member (RFC 1952), and only there is data after the last member found. As with `gzip -t`, several members are
/// valid (up to a limit), and bytes that are not a member are not. Unlike there, padding with zeros is invalid too.
pub(super) fn walk<R: Read>(
    stream: R,
    unpacked: u64,
    entries: usize,
    mut visit: impl FnMut(&[u8], &mut Entry<'_, Unpacked<R>>) -> Result<(), Stop>,
) -> Result<(), Stop> {
    let overhead = (entries as u64).saturating_mul(2048).saturating_add(1 << 20);
    let stream = Members::new(stream).take(unpacked.saturating_add(overhead));
    let left = Rc::new(Cell::new(0));
    let mut archive = Archive::new(Metered { stream, left: Rc::clone(&left) });
    let mut entries = archive.entries()?;
    loop {
        left.set(MAX_BEFORE_ENTRY);
        let Some(entry) = entries.next() else { break };
        let mut entry = entry?;
        let kind = entry.header().entry_type();
        if kind != EntryType::XGlobalHeader {
            // The records of a global header are still to be read.
            left.set(u64::MAX);
        }
        match kind {
            EntryType::GNUSparse => return Err(records::sparse().into()),
            EntryType::XGlobalHeader => records::check_global(&mut entry)?,
            _ => {
                let path = records::path(&mut entry)?;
                visit(plain(&path), &mut entry)?;
            }
        }
        io::copy(&mut entry, &mut io::sink())?;
    }
    read_to_end(archive.into_inner().stream)
}

/// Reads the stream after the tar archive. A stream that reaches its limit before its end was not checked to its end.
fn read_to_end<R: Read>(mut stream: Take<Members<R>>) -> Result<(), Stop> {
    io::copy(&mut stream, &mut io::sink())?;
    let is_at_end = stream.limit() > 0 || stream.get_mut().read(&mut [0])? == 0;
    if is_at_end { Ok(()) } else { Err(Stop::Bytes) }
}

/// A stream that fails after as many bytes as are left.
pub(super) struct Metered<R> {
    stream: R,
    left: Rc<Cell<u64>>,
}

impl<R: Read> Read for Metered<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.stream.read(buffer)?;
        let Some(left) = self.left.get().checked_sub(read as u64) else {
            return Err(io::Error::other("the name or headers of an entry exceed the limit of 1 MiB"));
        };
        self.left.set(left);
        Ok(read)
    }
}

/// The files of a release, collected from an archive within limits.
pub(super) struct Collecting {
    name: String,
    left: Limits,
    files: Files,
    directories: BTreeSet<String>,
    findings: Findings,
}

impl Collecting {
    /// Creates an empty collection. `name` is the archive's name in findings; empty if its paths need no prefix.
    pub(super) fn new(name: &str, left: Limits) -> Self {
        let (files, directories, findings) = (Files::default(), BTreeSet::new(), Findings::default());
        Self { name: name.to_owned(), left, files, directories, findings }
    }

    /// Whether an entry was refused already.
    pub(super) fn is_refused(&self) -> bool {
        self.findings.has_errors()
    }

    /// Returns the files, or all errors in them.
    pub(super) fn finish(self) -> Result<Files, Findings> {
        if self.findings.has_errors() { Err(self.findings) } else { Ok(self.files) }
    }

    /// Adds an entry with the path `path`, relative to the release or archive.
    pub(super) fn take<R: Read>(&mut self, path: &[u8], entry: &mut Entry<'_, R>) -> Result<(), Stop> {
        self.left.entries = self.left.entries.checked_sub(1).ok_or(Stop::Entries)?;
        let Ok(path) = std::str::from_utf8(path) else {
            let path = String::from_utf8_lossy(path).into_owned();
            self.refuse(&path, Reason::InvalidPath, "the path is not UTF-8");
            return Ok(());
        };
        match entry.header().entry_type() {
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

    fn regular<R: Read>(&mut self, path: &str, entry: &mut Entry<'_, R>) -> Result<(), Stop> {
        if entry.size() > self.left.unpacked {
            return Err(Stop::Bytes);
        }
        let executable = entry.header().mode().is_ok_and(|mode| mode & 0o100 != 0);
        let mut content = Vec::new();
        entry.read_to_end(&mut content)?;
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
        let finding = inside(Finding::error(reason, path, message), &self.name);
        self.findings.push(finding);
    }
}

/// Returns the path without the `./` that some archivers put before every path.
fn plain(path: &[u8]) -> &[u8] {
    let mut path = path;
    while let Some(rest) = path.strip_prefix(b"./") {
        path = rest;
    }
    path
}

#[cfg(test)]
mod tests;
