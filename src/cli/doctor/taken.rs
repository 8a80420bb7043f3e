//! What an answer of the API server says about the reader's rights.

use kube::Error;

use crate::cli::error::CliError;
use crate::cli::live::Session;
use crate::explain::doctor::facts::{Read, Unread};
use crate::installation::rights::Right;

/// Returns what was read, or why it was not. Other errors than a missing right or kind end the command.
pub(super) fn taken<T>(
    session: &Session,
    right: Right,
    found: Result<T, Error>,
) -> Result<Read<T>, CliError> {
    match found {
        Ok(found) => Ok(Ok(found)),
        Err(Error::Api(status)) if status.is_forbidden() => Ok(Err(Unread::Forbidden(right))),
        Err(Error::Api(status)) if matches!(status.code, 404 | 405) => {
            let Right { resource, group, .. } = right;
            let dot = if group.is_empty() { "" } else { "." };
            Ok(Err(Unread::NotServed(format!("{resource}{dot}{group}"))))
        }
        Err(error) => Err(session.failed(&error)),
    }
}
