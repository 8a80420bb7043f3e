//! `stackflux suspend` and `stackflux resume`.

use super::error::CliError;
use super::live::request::Target;
use super::live::subject::ObjectArguments;
use super::live::{self, Connection, Named};
use super::{CommandResult, Outcome, terminal};

/// Suspend a ClusterStack or a cluster, so that the operator changes nothing of it
///
/// Sets `spec.suspend` of the ClusterStack, or of the Cluster's `ClusterAddon`. The operator still updates the
/// status, and Flux still reconciles the existing objects; `flux suspend` stops that too.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  # Suspend a stack until it is resumed
  stackflux suspend csk/demo -n demo
  # Suspend only one cluster
  stackflux suspend cluster/one -n demo")]
pub(super) struct Suspend {
    #[command(flatten)]
    what: What,
}

/// Resume a suspended ClusterStack or cluster
///
/// Unsets `spec.suspend` of the ClusterStack, or of the Cluster's `ClusterAddon`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  # Resume a stack
  stackflux resume csk/demo -n demo
  # Resume one cluster, and watch until everything is ready
  stackflux resume cluster/one -n demo && stackflux tree cluster/one -n demo --watch --wait")]
pub(super) struct Resume {
    #[command(flatten)]
    what: What,
}

#[derive(Debug, clap::Args)]
struct What {
    #[command(flatten)]
    object: ObjectArguments,
    #[command(flatten)]
    connection: Connection,
}

pub(super) fn suspend(arguments: &Suspend) -> CommandResult {
    set(&arguments.what, true)
}

pub(super) fn resume(arguments: &Resume) -> CommandResult {
    set(&arguments.what, false)
}

fn set(what: &What, suspend: bool) -> CommandResult {
    let (kind, name) = what.object.named()?;
    if kind == Named::Release {
        return Err(CliError::usage("a release cannot be suspended")
            .hint("suspend its ClusterStack, or single Clusters"));
    }
    live::block_on(async {
        let session = what.connection.open().await?;
        let target = Target::new(&session, kind, &name);
        target.suspend(suspend).await?;
        let done = if suspend { "suspended" } else { "resumed" };
        terminal::success(format!("{} is {done}", target.label));
        Ok(Outcome::Done)
    })
}
