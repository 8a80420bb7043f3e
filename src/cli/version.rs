//! `stackflux version`.

use super::{CommandResult, Outcome, terminal};

/// Print the version of stackflux and the version of Flux that its output needs.
#[derive(Debug, clap::Args)]
pub(super) struct Arguments {}

pub(super) fn run(_: &Arguments) -> CommandResult {
    terminal::data(&format!("stackflux {}\nneeds Flux 2.9 or newer\n", env!("CARGO_PKG_VERSION")))?;
    Ok(Outcome::Done)
}
