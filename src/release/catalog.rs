//! Many releases in one archive: a stack repository as Flux packs it, read from front to end, one release in memory at
//! a time.

use std::collections::BTreeMap;
use std::io::{self, Read};

use tar::{Entry, EntryType};

use super::archive::{self, Collecting, Stop, Unpacked};
use super::files::{Files, Limits};
use super::finding::{Finding, Findings, Reason};
use super::{Loaded, Release};
use crate::error::{Class, Classify};
use crate::names::ReleaseName;

/// The limits for an archive of many releases. If one is exceeded, the whole archive is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CatalogLimits {
    /// All unpacked content together, in bytes.
    pub unpacked: u64,
    /// Files, directories and links together.
    pub entries: usize,
    /// The limits of each release.
    pub release: Limits,
}

impl Default for CatalogLimits {
    fn default() -> Self {
        Self { unpacked: 1 << 30, entries: 1_000_000, release: Limits::default() }
    }
}

/// The reason why no part of an archive can be used.
#[derive(Debug, thiserror::Error)]
pub enum CatalogError {
    /// It is not an archive, or ends too early.
    #[error("the archive cannot be read: {0}")]
    Unreadable(#[source] io::Error),
    /// It has more files and directories than the limit.
    #[error(
        "the archive exceeds the limit of {0} entries: remove files other than releases, or exclude them in \
         .sourceignore"
    )]
    TooManyEntries(usize),
    /// It has more bytes than the limit.
    #[error(
        "the archive exceeds the limit of {0} bytes, unpacked: remove files other than releases, or exclude them in \
         .sourceignore"
    )]
    TooLarge(u64),
}

impl Classify for CatalogError {
    fn class(&self) -> Class {
        Class::Terminal
    }

    fn reason(&self) -> &'static str {
        match self {
            Self::Unreadable(_) => Reason::InvalidArchive.as_str(),
            Self::TooManyEntries(_) | Self::TooLarge(_) => Reason::LimitExceeded.as_str(),
        }
    }
}

/// The entries beside the requested releases.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Others {
    /// Number of directories with the name of a release that was not requested.
    pub unwanted: usize,
    /// Number of directories whose names are not release names. Real repositories have some.
    pub malformed: usize,
}

/// The requested releases of an archive.
#[derive(Clone, Debug)]
pub struct Found<T> {
    /// Each release, or all errors that make it unusable.
    pub releases: BTreeMap<ReleaseName, Result<T, Findings>>,
    /// The entries that were skipped.
    pub others: Others,
}

/// Reads the releases that are `wanted` from a gzipped tar archive that has a directory for each below `path` (the empty
/// string is the root). Returns what `keep` makes of each usable release; its files are dropped before the next is read.
/// Unwanted entries are skipped, whatever their names, and never held.
///
/// The files are taken as Flux packed them, without those that Flux leaves out. A release whose files are not
/// consecutive in the archive is refused, because source-controller packs one directory after the other. By then `keep`
/// may have seen a part of it.
pub fn read<T>(
    stream: impl Read,
    path: &str,
    limits: &CatalogLimits,
    wanted: impl Fn(&ReleaseName) -> bool,
    keep: impl FnMut(Loaded) -> T,
) -> Result<Found<T>, CatalogError> {
    let found = Found { releases: BTreeMap::new(), others: Others::default() };
    let root = path.split('/').filter(|part| !matches!(*part, "" | ".")).collect::<Vec<_>>().join("/");
    let top = Top { directory: Vec::new(), release: None };
    let (entries, unpacked) = (limits.entries, limits.unpacked);
    let mut reading = Reading { root, limits, wanted, keep, entries, unpacked, top, found };
    archive::walk(stream, unpacked, entries, |path, entry| reading.entry(path, entry)).map_err(|stop| {
        match stop {
            Stop::Unreadable(error) => CatalogError::Unreadable(error),
            Stop::Entries => CatalogError::TooManyEntries(entries),
            Stop::Bytes => CatalogError::TooLarge(unpacked),
        }
    })?;
    reading.close();
    Ok(reading.found)
}

struct Reading<'a, T, W, K> {
    root: String,
    limits: &'a CatalogLimits,
    wanted: W,
    keep: K,
    /// The remaining limits.
    entries: usize,
    unpacked: u64,
    top: Top,
    found: Found<T>,
}

/// The directory below the root that the current entries belong to.
struct Top {
    directory: Vec<u8>,
    /// The release in it, if it is wanted and has no errors so far.
    release: Option<(ReleaseName, Collecting)>,
}

impl<T, W: Fn(&ReleaseName) -> bool, K: FnMut(Loaded) -> T> Reading<'_, T, W, K> {
    fn entry<R: Read>(&mut self, path: &[u8], entry: &mut Entry<'_, Unpacked<R>>) -> Result<(), Stop> {
        self.entries = self.entries.checked_sub(1).ok_or(Stop::Entries)?;
        self.unpacked = self.unpacked.checked_sub(entry.size()).ok_or(Stop::Bytes)?;
        let Some(below) = below(path, self.root.as_bytes()) else { return Ok(()) };
        let (directory, rest) = match below.iter().position(|byte| *byte == b'/') {
            Some(slash) => {
                (below.get(..slash).unwrap_or_default(), below.get(slash + 1..).unwrap_or_default())
            }
            None if entry.header().entry_type() == EntryType::Directory => (below, &b""[..]),
            // A file or a link beside the releases.
            None => return Ok(()),
        };
        if directory != self.top.directory {
            self.close();
            self.open(directory);
        }
        let Some((_, files)) = &mut self.top.release else { return Ok(()) };
        match files.take(rest, entry) {
            // Flux packs neither links nor bad paths: the first of them suffices.
            Ok(()) if files.is_refused() => self.close(),
            Ok(()) => {}
            Err(Stop::Entries) => {
                let most = self.limits.release.entries;
                self.refuse(&format!("the release exceeds the limit of {most} entries"));
            }
            Err(Stop::Bytes) => {
                let most = self.limits.release.unpacked;
                self.refuse(&format!("the release exceeds the limit of {most} bytes"));
            }
            Err(Stop::Unreadable(error)) => return Err(Stop::Unreadable(error)),
        }
        Ok(())
    }

    /// Begins a directory.
    fn open(&mut self, directory: &[u8]) {
        self.top.directory = directory.to_vec();
        let name = std::str::from_utf8(directory).ok().and_then(|name| name.parse::<ReleaseName>().ok());
        let others = &mut self.found.others;
        match name {
            None if directory.is_empty() || directory.starts_with(b".") => {}
            None => others.malformed += 1,
            Some(name) if !(self.wanted)(&name) => others.unwanted += 1,
            Some(name) if self.found.releases.contains_key(&name) => {
                let message = "the release's files are in two places of the archive";
                let finding = Finding::error(Reason::InvalidPath, "", message);
                self.found.releases.insert(name, Err(finding.into()));
            }
            Some(name) => {
                let files = Collecting::new("", self.limits.release.clone());
                self.top.release = Some((name, files));
            }
        }
    }

    /// Ends the directory that was read last.
    fn close(&mut self) {
        let Some((name, files)) = self.top.release.take() else { return };
        let loaded = files.finish().and_then(|files| load(&name, files, &self.limits.release));
        self.found.releases.insert(name, loaded.map(&mut self.keep));
    }

    /// Ends a release that cannot be used: the rest of its files is skipped.
    fn refuse(&mut self, message: &str) {
        let Some((name, _)) = self.top.release.take() else { return };
        let finding = Finding::error(Reason::LimitExceeded, "", message);
        self.found.releases.insert(name, Err(finding.into()));
    }
}

/// Loads a release as Flux sees it. A release in archives is refused unopened: Flux finds no chart in it.
fn load(name: &ReleaseName, files: Files, limits: &Limits) -> Result<Loaded, Findings> {
    if let Some(archive) = super::packed::archive(name, &files) {
        let message = "the release is packed, and Flux does not open archives in Git";
        let finding = Finding::error(Reason::PackedInRepository, archive, message);
        return Err(finding.hint("unpack it in the stack repository").into());
    }
    Release::load(name, files, limits)
}

/// Returns the path below a directory; `None` if it is not below it. The empty directory is the root.
fn below<'a>(path: &'a [u8], directory: &[u8]) -> Option<&'a [u8]> {
    if directory.is_empty() { Some(path) } else { path.strip_prefix(directory)?.strip_prefix(b"/") }
}

#[cfg(test)]
mod tests;
