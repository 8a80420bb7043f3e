//! How a command gets at the releases of an address.

use super::error::CliError;
use super::origin_access::OriginAccess;
use crate::release::Limits;
use crate::source::address::Address;
use crate::source::github::GitHubOrigin;
use crate::source::local::LocalOrigin;
use crate::source::oci::OciOrigin;
use crate::source::origin::Origin;

/// Opens the place of this address.
pub(super) async fn open(address: &Address, access: &OriginAccess) -> Result<Box<dyn Origin>, CliError> {
    let limits = Limits::default();
    Ok(match address {
        Address::Oci(address) => Box::new(OciOrigin::open(address, &access.oci()?, limits).await?),
        Address::GitHub(address) => Box::new(GitHubOrigin::open(address, &access.github()?, limits)?),
        Address::Git(_) => {
            return Err(CliError::usage(format!("{address}: Git repositories cannot be read yet")));
        }
        Address::Path(path) => Box::new(LocalOrigin::open(path)?),
    })
}
