//! `stackflux version`.

use serde::Serialize;

use super::output::{Format, print};
use super::{CommandResult, Outcome};
use crate::foreign::flux::definition::MINIMUM_FLUX;

/// Print the version of stackflux, and the oldest version of Flux that it works with
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  # The version alone
  stackflux version -o json | jq -r .version")]
pub(super) struct Arguments {
    /// Output format
    #[arg(short, long, value_name = "FORMAT", default_value = "table")]
    output: Format,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Versions {
    version: &'static str,
    minimum_flux_version: &'static str,
}

pub(super) fn run(arguments: &Arguments) -> CommandResult {
    let versions = Versions { version: env!("CARGO_PKG_VERSION"), minimum_flux_version: MINIMUM_FLUX };
    print(&versions, arguments.output, |found| {
        format!("stackflux {}\nneeds Flux {} or newer\n", found.version, found.minimum_flux_version)
    })?;
    Ok(Outcome::Done)
}
