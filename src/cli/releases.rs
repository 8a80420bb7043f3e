//! The releases that a command reads, with the commits at which Flux will find them.

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};

use super::error::CliError;
use super::terminal;
use crate::inputs::content::{Catalog, CatalogEntry};
use crate::inputs::line::Line;
use crate::names::{ReleaseName, Revision};
use crate::release::{Finding, Limits, Loaded, Release};
use crate::source::git::{Checkout, Pin, PinError};
use crate::source::{self, Opened, ReleaseFiles, SourceError};

/// A release, or a stack repository with several.
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

    /// Returns the limits for reading a release.
    pub(super) fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Whether the path is one release, not a stack repository.
    pub(super) fn is_single(&self) -> bool {
        matches!(self.opened, Opened::Release(_))
    }

    /// Returns the name of the single release; fails for a stack repository.
    pub(super) fn single(&self) -> Result<ReleaseName, CliError> {
        match &self.opened {
            Opened::Release(release) => Ok(release.name.clone()),
            Opened::Repository(_) => Err(CliError::usage("expected a release, got a stack repository")
                .hint("pass the directory of one of its releases")),
        }
    }

    /// Returns the names of all releases.
    pub(super) fn names(&self) -> Vec<ReleaseName> {
        match &self.opened {
            Opened::Release(release) => vec![release.name.clone()],
            Opened::Repository(repository) => repository.names().cloned().collect(),
        }
    }

    /// Returns the directories of a stack repository with invalid release names.
    pub(super) fn malformed(&self) -> &[String] {
        match &self.opened {
            Opened::Release(_) => &[],
            Opened::Repository(repository) => repository.malformed(),
        }
    }

    /// Returns the findings about entries of a stack repository that have the name of a release and are not directories.
    pub(super) fn others(&self) -> Vec<Finding> {
        match &self.opened {
            Opened::Release(_) => Vec::new(),
            Opened::Repository(repository) => repository.others().values().cloned().collect(),
        }
    }

    /// Returns the directory of the releases; for a single release, its own path.
    pub(super) fn path(&self) -> &Path {
        match &self.opened {
            Opened::Release(release) => &release.path,
            Opened::Repository(repository) => repository.path(),
        }
    }

    /// Reads the files of one release.
    pub(super) fn read(&self, name: &ReleaseName) -> Result<ReleaseFiles, SourceError> {
        match &self.opened {
            Opened::Release(release) if release.name == *name => Ok(release.clone()),
            Opened::Release(release) => {
                Err(SourceError::NoRelease { path: release.path.clone(), name: name.to_string() })
            }
            Opened::Repository(repository) => repository.read(name, &self.limits),
        }
    }

    /// Loads one release and checks it as one that is not published yet.
    pub(super) fn lint(&self, name: &ReleaseName) -> Result<Loaded, SourceError> {
        self.read(name)?.lint(&self.limits)
    }

    /// Loads and checks one release.
    pub(super) fn load(&self, name: &ReleaseName) -> Result<Loaded, SourceError> {
        self.read(name)?.load(&self.limits)
    }

    /// Returns the catalog of the line's releases, from which contents may come, and the content of the `wanted` ones.
    /// Leaves out a release that is not wanted and cannot be read, because it cannot supply contents.
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

/// The releases of a stack repository: all as catalog entries, the wanted ones with their content.
pub(super) struct Found {
    pub(super) catalog: Catalog,
    pub(super) releases: BTreeMap<ReleaseName, Release>,
}

/// The settings that determine the commits of releases.
pub(super) struct Pins {
    /// The commit of `--revision`, for all releases.
    pub(super) revision: Option<Revision>,
    /// The directory of the releases in the repository that Flux follows.
    pub(super) path: String,
}

impl Pins {
    /// Returns the commit of a release: that of `--revision`, otherwise the last one that changed its directory.
    fn of(&self, release: &ReleaseFiles) -> Result<Revision, CliError> {
        if let Some(revision) = &self.revision {
            return Ok(revision.clone());
        }
        let failed = |error: PinError| {
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

    /// Refuses a release whose path in the commit differs from the one that Flux will use.
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
