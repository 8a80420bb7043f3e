//! Opens the origins of releases.

use std::path::Path;

use super::error::CliError;
use super::git_access;
use super::origin_access::OriginAccess;
use crate::git::{Access, GitUrl};
use crate::release::Limits;
use crate::source::SourceError;
use crate::source::address::{Address, FORMS};
use crate::source::github::GitHubOrigin;
use crate::source::local::LocalOrigin;
use crate::source::oci::OciOrigin;
use crate::source::oci::signatures::Verification;
use crate::source::origin::{Listing, Origin, OriginError};
use crate::source::remote::RemoteOrigin;

/// Opens the origin at this address. `git` returns the access to a Git repository.
pub(super) async fn open(
    address: &Address,
    access: &OriginAccess,
    git: impl FnOnce(GitUrl) -> Result<Access, CliError>,
) -> Result<Box<dyn Origin>, CliError> {
    let limits = Limits::default();
    if !matches!(address, Address::Oci(_)) && access.verification()? != Verification::Nothing {
        return Err(CliError::usage(format!(
            "{address}: only releases in a registry are signed with cosign"
        ))
        .hint("leave out --key and --certificate-identity, or take the release from an oci:// address"));
    }
    Ok(match address {
        Address::Oci(address) => {
            let opened = OciOrigin::open(address, &access.oci()?, limits).await;
            Box::new(opened.map_err(|error| explain(&error))?)
        }
        Address::GitHub(address) => Box::new(GitHubOrigin::open(address, &access.github()?, limits)?),
        Address::Git(address) => {
            let git = git(address.url.parse()?)?;
            Box::new(
                RemoteOrigin::open(address.clone(), git, limits)
                    .map_err(|error| git_access::explain(&error))?,
            )
        }
        Address::Path(path) => Box::new(LocalOrigin::open(path).map_err(|error| unopened(path, &error))?),
    })
}

/// Explains why a path is not a source: a path that does not exist may have been meant as another address.
fn unopened(path: &Path, error: &SourceError) -> CliError {
    let hint = (!path.exists()).then(|| format!("a source is {FORMS}"));
    CliError::explained(error, hint)
}

/// Lists the releases of an origin.
pub(super) async fn list(origin: &dyn Origin) -> Result<Listing, CliError> {
    origin.list().await.map_err(|error| explain(&error))
}

/// Adds a hint to an error.
fn explain(error: &OriginError) -> CliError {
    CliError::explained(error, error.hint())
}
