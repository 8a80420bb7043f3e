//! `stackflux doctor`.

mod read;
mod rights;
mod taken;
mod text;

use super::live::watch::Timeout;
use super::live::{self, Access};
use super::output::{Format, print, terminal_width};
use super::{CommandResult, Outcome};
use crate::explain::doctor;

/// Check an installation, and what it needs from the cluster
///
/// Checks the versions and settings of Kubernetes, Cluster API and Flux, the definitions of stackflux's kinds, the operator with its
/// rights, and leftovers of the cluster-stack-operator. Writes nothing, and sees what you may read: what you may not read is
/// reported as not checked. Each problem comes with a line that says what to run.
///
/// Exits with 1 if there is a problem, or you lack a right that a check needs.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  # Before stackflux is installed
  stackflux doctor --before-install
  # After an installation or an upgrade
  stackflux doctor
  # The problems, for a program
  stackflux doctor -o json | jq -r '.checks[] | select(.outcome == \"problem\") | .message, .run'")]
pub(super) struct Arguments {
    /// Check only what the cluster must have before stackflux is installed
    #[arg(long)]
    before_install: bool,
    #[command(flatten)]
    access: Access,
    /// Maximum time to read the cluster, such as 90s or 10m
    #[arg(long, value_name = "DURATION", default_value = "5m", value_parser = Timeout::parse)]
    timeout: Timeout,
    /// Output format
    #[arg(short, long, value_name = "FORMAT", default_value = "table")]
    output: Format,
}

pub(super) fn run(arguments: &Arguments) -> CommandResult {
    let Arguments { before_install, access, timeout, output } = arguments;
    let diagnosis = live::block_on(async {
        let session = access.open(None).await?;
        let reading = Box::pin(read::read(&session, *before_install));
        let facts = live::read::within(&session, timeout.limit, reading).await?;
        Ok(if *before_install { doctor::before_install(&facts) } else { doctor::installed(&facts) })
    })?;
    print(&diagnosis, *output, |diagnosis| text::text(diagnosis, terminal_width()))?;
    Ok(if diagnosis.is_healthy() { Outcome::Done } else { Outcome::Differs })
}
