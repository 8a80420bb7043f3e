//! A stack repository: one directory per release.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use super::{ReleaseFiles, SourceError, directory};
use crate::names::ReleaseName;
use crate::release::{Finding, Limits, Reason};

/// Directory of a stack repository that has the releases.
const RELEASES: &str = "releases";

/// The releases of a stack repository. Reads only their names until a release is requested.
#[derive(Clone, Debug)]
pub struct StackRepository {
    path: PathBuf,
    releases: BTreeMap<ReleaseName, PathBuf>,
    malformed: Vec<String>,
    /// What has the name of a release and is not a directory.
    others: BTreeMap<ReleaseName, Finding>,
}

impl StackRepository {
    /// Lists the releases in `releases/` of this directory, or in the directory itself if it has no `releases/`.
    pub fn open(path: &Path) -> Result<Self, SourceError> {
        let below = path.join(RELEASES);
        if let Ok(target) = fs::read_link(&below) {
            let message = format!(
                "the directory of the releases is a link to {:?}: Flux leaves links out of an artifact, and would find no \
                 release",
                target.display().to_string()
            );
            let finding = Finding::error(Reason::LinkNotAllowed, RELEASES, message);
            return Err(SourceError::unusable(path)(finding.into()));
        }
        let path = if below.is_dir() { below } else { path.to_owned() };
        let mut repository =
            Self { path, releases: BTreeMap::new(), malformed: Vec::new(), others: BTreeMap::new() };
        for entry in fs::read_dir(&repository.path).map_err(SourceError::io(&repository.path))? {
            let entry = entry.map_err(SourceError::io(&repository.path))?;
            let kind = entry.file_type().map_err(SourceError::io(entry.path()))?;
            let name = entry.file_name().to_string_lossy().into_owned();
            if kind.is_dir() {
                repository.add(&name, entry.path());
            } else if let Ok(release) = name.parse::<ReleaseName>() {
                let kind = if kind.is_symlink() { "a link" } else { "a file" };
                repository.others.insert(release, not_a_directory(&name, kind));
            }
        }
        repository.malformed.sort_unstable();
        if repository.releases.is_empty() && repository.others.is_empty() {
            Err(SourceError::Nothing(repository.path))
        } else {
            Ok(repository)
        }
    }

    fn add(&mut self, name: &str, path: PathBuf) {
        match name.parse() {
            Ok(name) => drop(self.releases.insert(name, path)),
            Err(_) if name.starts_with('.') => {}
            Err(_) => self.malformed.push(name.to_owned()),
        }
    }

    /// Returns the directory of the releases' directories.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the releases, lowest first within a stack and channel.
    pub fn names(&self) -> impl Iterator<Item = &ReleaseName> {
        self.releases.keys()
    }

    /// Returns directories whose names are not those of releases. Such directories are common, and are skipped.
    #[must_use]
    pub fn malformed(&self) -> &[String] {
        &self.malformed
    }

    /// Returns what has the name of a release and is not a directory, each with the finding about it.
    #[must_use]
    pub fn others(&self) -> &BTreeMap<ReleaseName, Finding> {
        &self.others
    }

    /// Reads the files of a release.
    pub fn read(&self, name: &ReleaseName, limits: &Limits) -> Result<ReleaseFiles, SourceError> {
        let Some(path) = self.releases.get(name) else {
            if let Some(finding) = self.others.get(name) {
                return Err(SourceError::unusable(&self.path)(finding.clone().into()));
            }
            return Err(SourceError::NoRelease { path: self.path.clone(), name: name.to_string() });
        };
        let files = directory::read(path, limits)?;
        Ok(ReleaseFiles { name: name.clone(), path: path.clone(), files })
    }
}

/// Returns the finding about an entry with the name of a release that is not a directory.
pub(super) fn not_a_directory(name: &str, kind: &str) -> Finding {
    if kind == "a file" {
        let message = "the release is a file, and stackflux skips it";
        let hint = "make it a directory with the release's files, such as metadata.yaml";
        return Finding::error(Reason::SpecialFile, name, message).hint(hint);
    }
    let message = format!("the release is {kind}: Flux leaves it out of an artifact, and stackflux skips it");
    Finding::error(Reason::LinkNotAllowed, name, message).hint("replace it with a copy of its target")
}
