//! Compares a release with the content of a stack repository, and decides whether it may be written.

use std::collections::BTreeSet;

use super::dependencies::Missing;
use super::{Prepared, PublishError};
use crate::promote::holds::Hold;
use crate::release::files::join;
use crate::release::ignore::{IGNORE_FILE, Rules};
use crate::release::{File, Files, is_needed_by_a_chart};

/// The `.sourceignore` files above a release: directory from the root of the stack repository, and text.
pub type IgnoreFiles = Vec<(String, String)>;

/// The content of a stack repository that matters for a release.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Existing {
    /// The stack repository, for messages.
    pub place: String,
    /// Directory of the releases in it, without enclosing `/`; empty for the root.
    pub directory: String,
    /// The files of the existing release.
    pub release: Option<Files>,
    /// The `.sourceignore` files above the release, from the root down.
    pub ignore_files: IgnoreFiles,
    /// The hold on the release in the stage of this directory.
    pub held: Option<Hold>,
}

impl Existing {
    /// Whether the release already exists.
    ///
    /// With `vendoring`, a release that differs only in the fetched versions of its charts' dependencies counts as the same:
    /// the versions in a range change with time, but a published release does not.
    #[must_use]
    pub fn has(&self, prepared: &Prepared, vendoring: bool) -> bool {
        let Some(release) = &self.release else { return false };
        if vendoring && !prepared.missing.is_empty() {
            is_the_same_but_for_versions(release, prepared)
        } else {
            release.differences(&prepared.files).is_empty()
        }
    }

    /// Whether the release has to be written: `false` if it already exists. Returns an error if another release of the name
    /// exists, if the release is held or has errors, or if Flux would not see all of it.
    pub fn needs(&self, prepared: &Prepared, vendoring: bool) -> Result<bool, PublishError> {
        let Some(release) = &self.release else {
            if let Some(hold) = &self.held {
                return Err(PublishError::Held(hold.clone()));
            }
            if prepared.refused.has_errors() {
                let (name, findings) = (prepared.name().to_string(), prepared.refused.clone());
                return Err(PublishError::Unusable { name, findings });
            }
            return self.check_left_out(prepared).map(|()| true);
        };
        if self.has(prepared, vendoring) {
            return Ok(false);
        }
        let (name, place) = (prepared.name().to_string(), self.place.clone());
        let paths = release.differences(&prepared.files);
        Err(PublishError::ReleaseExists { name, place, paths })
    }

    /// Refuses a release if Flux would leave out a file that a chart needs.
    fn check_left_out(&self, prepared: &Prepared) -> Result<(), PublishError> {
        if self.ignore_files.is_empty() {
            return Ok(());
        }
        let above = join(&self.directory, &prepared.name().to_string());
        let own = prepared.files.ignore_files();
        let own =
            own.map(|(directory, text)| (join(&above, &directory).trim_end_matches('/').to_owned(), text));
        let place = || self.place.clone();
        let rules = Rules::new(self.ignore_files.iter().cloned().chain(own));
        let rules =
            rules.map_err(|finding| PublishError::Place { place: place(), why: finding.to_string() })?;
        let paths = prepared.files.iter().map(|(path, _)| path).filter(|path| is_needed_by_a_chart(path));
        let paths = paths.filter(|path| rules.leave_out(&format!("{above}/{path}")));
        let paths: Vec<String> = paths.map(str::to_owned).collect();
        if paths.is_empty() {
            return Ok(());
        }
        Err(PublishError::LeftOut { name: prepared.name().to_string(), place: place(), paths })
    }
}

/// Reads the `.sourceignore` files from the root down to a directory. `read` reads a file below the root.
pub(super) fn ignore_files(
    directory: &str,
    read: impl Fn(&str) -> Result<Option<Vec<u8>>, PublishError>,
) -> Result<IgnoreFiles, PublishError> {
    let below = directory.match_indices('/').filter_map(|(at, _)| directory.get(..at));
    let all = std::iter::once("").chain(below).chain((!directory.is_empty()).then_some(directory));
    let mut found = Vec::new();
    for directory in all {
        if let Some(text) = read(&join(directory, IGNORE_FILE))? {
            found.push((directory.to_owned(), String::from_utf8_lossy(&text).into_owned()));
        }
    }
    Ok(found)
}

/// Whether both have the same files except for the archives of fetched charts, and `existing` has exactly one archive for
/// each missing dependency, in a matching version.
fn is_the_same_but_for_versions(existing: &Files, prepared: &Prepared) -> bool {
    let fetched = prepared.fetched();
    let is_own = |path: &str| prepared.files.get(path).is_some() && !fetched.contains(path);
    let own = |files: &Files| -> Vec<(String, File)> {
        let own = files.iter().filter(|(path, _)| is_own(path));
        own.map(|(path, file)| (path.to_owned(), file.clone())).collect()
    };
    let others: Vec<&str> = existing.iter().map(|(path, _)| path).filter(|path| !is_own(path)).collect();
    let taken: Option<BTreeSet<String>> =
        prepared.missing.iter().map(|missing| archive_of(missing, &others)).collect();
    existing.links().next().is_none()
        && own(existing) == own(&prepared.files)
        && taken.is_some_and(|taken| others.iter().copied().eq(taken.iter().map(String::as_str)))
}

/// Returns the path of the archive that a dependency would use.
fn archive_of(missing: &Missing, paths: &[&str]) -> Option<String> {
    let versions: Vec<&str> = paths.iter().filter_map(|path| missing.vendored_version(path)).collect();
    let version = missing.choose(versions.iter().copied()).ok().flatten()?;
    Some(missing.archive(version))
}

#[cfg(test)]
mod tests;
