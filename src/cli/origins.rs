//! How a command gets at the releases of an address.

use super::error::CliError;
use crate::source::address::Address;
use crate::source::local::LocalOrigin;
use crate::source::origin::Origin;

/// Opens the place of this address.
pub(super) fn open(address: &Address) -> Result<Box<dyn Origin>, CliError> {
    match address {
        Address::Path(path) => Ok(Box::new(LocalOrigin::open(path)?)),
        _ => Err(CliError::usage(format!("{address}: only paths can be read"))),
    }
}
