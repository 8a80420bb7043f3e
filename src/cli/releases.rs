//! The releases that a command works on, with where Flux will find them.

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};

use super::error::CliError;
use super::terminal;
use crate::inputs::content::{Catalog, CatalogEntry};
use crate::inputs::line::Line;
use crate::names::{ReleaseName, Revision};
use crate::release::{Limits, Loaded, Release};
use crate::source::git::{Checkout, GitError, Pin};
use crate::source::{self, Opened, ReleaseFiles, SourceError};

/// A release, or a stack repository with many.
pub(super) struct Releases {
    opened: Opened,
    limits: Limits,
}

impl Releases {
    /// Opens a directory or an archive.
    pub(super) fn open(path: &Path) -> Result<Self, SourceError> {
        let limits = Limits::default();
        Ok(Self { opened: source::open(path, &limits)?, limits })
    }

    /// How much of a release is read.
    pub(super) fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Whether one release was named, and not a stack repository.
    pub(super) fn is_single(&self) -> bool {
        matches!(self.opened, Opened::Release(_))
    }

    /// The name of the one release that was named.
    pub(super) fn single(&self) -> Result<ReleaseName, CliError> {
        match &self.opened {
            Opened::Release(release) => Ok(release.name.clone()),
            Opened::Repository(_) => Err(CliError::usage("expected a release, got a stack repository")
                .hint("pass the directory of one of its releases")),
        }
    }

    /// The names of all releases.
    pub(super) fn names(&self) -> Vec<ReleaseName> {
        match &self.opened {
            Opened::Release(release) => vec![release.name.clone()],
            Opened::Repository(repository) => repository.names().cloned().collect(),
        }
    }

    /// The directories of a stack repository whose names are not release names.
    pub(super) fn malformed(&self) -> &[String] {
        match &self.opened {
            Opened::Release(_) => &[],
            Opened::Repository(repository) => repository.malformed(),
        }
    }

    /// The entries of a stack repository's directory that are links: Flux leaves them out.
    pub(super) fn links(&self) -> &[String] {
        match &self.opened {
            Opened::Release(_) => &[],
            Opened::Repository(repository) => repository.links(),
        }
    }

    /// Where the releases' directories are; the release's own path where one was named.
    pub(super) fn path(&self) -> &Path {
        match &self.opened {
            Opened::Release(release) => &release.path,
            Opened::Repository(repository) => repository.path(),
        }
    }

    /// The files of one release.
    pub(super) fn read(&self, name: &ReleaseName) -> Result<ReleaseFiles, SourceError> {
        match &self.opened {
            Opened::Release(release) if release.name == *name => Ok(release.clone()),
            Opened::Release(release) => {
                Err(SourceError::NoRelease { path: release.path.clone(), name: name.to_string() })
            }
            Opened::Repository(repository) => repository.read(name, &self.limits),
        }
    }

    /// One release, checked.
    pub(super) fn load(&self, name: &ReleaseName) -> Result<Loaded, SourceError> {
        self.read(name)?.load(&self.limits)
    }

    /// The releases of the line, which contents may come from, and those of `wanted` in full. A release that is not
    /// wanted and cannot be read is left out: nothing can come from it.
    pub(super) fn catalog(
        &self,
        line: &Line,
        wanted: &[ReleaseName],
        pins: &Pins,
    ) -> Result<Found, CliError> {
        let mut found = Found { catalog: Catalog::new(), releases: BTreeMap::new() };
        for name in self.names() {
            let is_wanted = wanted.contains(&name);
            if !is_wanted && !line.has(&name) {
                continue;
            }
            let release = match self.entry(&name, pins) {
                Ok(release) => release,
                Err(error) if is_wanted => return Err(error),
                Err(error) => {
                    terminal::warning(format!("skipping {name} as a source of charts: {}", error.message));
                    continue;
                }
            };
            found.catalog.insert(name.clone(), CatalogEntry::of(&release.0, release.1));
            if is_wanted {
                found.releases.insert(name, release.0);
            }
        }
        Ok(found)
    }

    fn entry(&self, name: &ReleaseName, pins: &Pins) -> Result<(Release, Revision), CliError> {
        let files = self.read(name)?;
        let revision = pins.of(&files)?;
        Ok((files.load(&self.limits)?.release, revision))
    }
}

/// The releases of a stack repository, in digests and in full.
pub(super) struct Found {
    pub(super) catalog: Catalog,
    pub(super) releases: BTreeMap<ReleaseName, Release>,
}

/// Where the commit of a release comes from.
pub(super) struct Pins {
    /// The commit that was named for all of them.
    pub(super) revision: Option<Revision>,
    /// The directory of the releases in the repository that Flux follows.
    pub(super) path: String,
}

impl Pins {
    /// The commit of a release: the one that was named, else the last one that changed its directory.
    fn of(&self, release: &ReleaseFiles) -> Result<Revision, CliError> {
        if let Some(revision) = &self.revision {
            return Ok(revision.clone());
        }
        let failed = |error: GitError| {
            let hint = error.hint();
            let error = CliError::from(error);
            if let Some(hint) = hint { error.hint(hint) } else { error }
        };
        let checkout = Checkout::of(&release.path).map_err(failed)?;
        checkout.check_committed(&release.files).map_err(failed)?;
        let pin = checkout.pin().map_err(failed)?;
        self.check_path(release, &pin)?;
        if pin.cut_off {
            terminal::warning(format!(
                "{}: this clone is shallow and ends at {}: a full clone may pin an older commit",
                release.name, pin.revision
            ));
        }
        Ok(pin.revision.parse()?)
    }

    /// Refuses a release that the commit has at another path than the one at which Flux will look.
    fn check_path(&self, release: &ReleaseFiles, pin: &Pin) -> Result<(), CliError> {
        let (found, name) = (Path::new(&pin.path), release.name.to_string());
        let plain = Path::new(&self.path).components().filter(|part| matches!(part, Component::Normal(_)));
        if found == plain.collect::<PathBuf>().join(&name) {
            return Ok(());
        }
        let directory = found.parent().filter(|parent| !parent.as_os_str().is_empty());
        let directory = directory.unwrap_or(Path::new(".")).display();
        let message = format!(
            "{name} is at {} in this work tree, but the ClusterStack's source expects releases below {}",
            pin.path, self.path
        );
        let hint = format!(
            "set the path of the ClusterStack's source to {directory} (--settings), or pass the commit of the other \
             repository (--revision)"
        );
        Err(CliError::usage(message).hint(hint))
    }
}
