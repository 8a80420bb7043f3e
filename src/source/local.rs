//! A directory or archive on this machine as an origin of releases.

use std::path::Path;
use std::sync::Arc;

use futures::FutureExt as _;
use futures::future::BoxFuture;

use super::origin::{self, Description, Fetched, Listing, Origin, OriginError, Provenance};
use super::{Opened, ReleaseFiles, SourceError, open};
use crate::names::ReleaseName;
use crate::release::{Digest, Limits};

/// A release or a stack repository on this machine.
#[derive(Clone, Debug)]
pub struct LocalOrigin(Arc<Local>);

#[derive(Debug)]
struct Local {
    /// The path as it was given, for messages.
    place: String,
    opened: Opened,
    limits: Limits,
}

impl LocalOrigin {
    /// Opens a release (its directory or its archive) or a stack repository.
    pub fn open(path: &Path) -> Result<Self, SourceError> {
        let limits = Limits::default();
        let opened = open(path, &limits)?;
        Ok(Self(Arc::new(Local { place: path.display().to_string(), opened, limits })))
    }

    /// Returns the name of the release, if the path is a single release and not a stack repository.
    #[must_use]
    pub fn single(&self) -> Option<&ReleaseName> {
        match &self.0.opened {
            Opened::Release(release) => Some(&release.name),
            Opened::Repository(_) => None,
        }
    }

    fn blocking<T: Send + 'static>(
        &self,
        read: impl FnOnce(&Local) -> Result<T, OriginError> + Send + 'static,
    ) -> BoxFuture<'_, Result<T, OriginError>> {
        let local = Arc::clone(&self.0);
        origin::blocking(local.place.clone(), move || read(&local))
    }
}

impl Local {
    fn read(&self, name: &ReleaseName) -> Result<ReleaseFiles, OriginError> {
        let missing = || OriginError::NoRelease { place: self.place.clone(), name: Box::new(name.clone()) };
        match &self.opened {
            Opened::Release(release) if release.name == *name => Ok(release.clone()),
            Opened::Release(_) => Err(missing()),
            Opened::Repository(repository) => {
                repository.read(name, &self.limits).map_err(|error| match error {
                    SourceError::NoRelease { .. } => missing(),
                    error => error.into(),
                })
            }
        }
    }

    /// Returns the path of a release: the given path, or below it in a stack repository.
    fn place_of(&self, name: &ReleaseName) -> String {
        match &self.opened {
            Opened::Release(_) => self.place.clone(),
            Opened::Repository(repository) => repository.path().join(name.to_string()).display().to_string(),
        }
    }
}

impl Origin for LocalOrigin {
    fn list(&self) -> BoxFuture<'_, Result<Listing, OriginError>> {
        let listing = match &self.0.opened {
            Opened::Release(release) => {
                Listing { releases: [release.name.clone()].into(), ..Listing::default() }
            }
            Opened::Repository(repository) => Listing {
                releases: repository.names().chain(repository.others().keys()).cloned().collect(),
                malformed: repository.malformed().to_vec(),
            },
        };
        async { Ok(listing) }.boxed()
    }

    /// Reads the whole release, since nothing has to be fetched: the digest is that of its content.
    fn describe<'a>(&'a self, name: &'a ReleaseName) -> BoxFuture<'a, Result<Description, OriginError>> {
        let name = name.clone();
        self.blocking(move |local| {
            let release = local.read(&name)?.load(&local.limits)?.release;
            Ok(Description {
                addons: Some(release.addons.iter().map(|addon| addon.name.to_string()).collect()),
                digest: Some(release.digest.to_string()),
                kubernetes: Some(release.kubernetes),
                date: None,
            })
        })
    }

    fn fetch<'a>(&'a self, name: &'a ReleaseName) -> BoxFuture<'a, Result<Fetched, OriginError>> {
        let name = name.clone();
        self.blocking(move |local| {
            let files = local.read(&name)?.files;
            let digest = Some(Digest::of(&files, "").to_string());
            let provenance = Provenance { source: local.place_of(&name), digest, ..Provenance::default() };
            Ok(Fetched { name, files, provenance })
        })
    }
}

#[cfg(test)]
mod tests;
