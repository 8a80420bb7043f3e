//! `stackflux suspend` and `stackflux resume`.

use super::error::CliError;
use super::live::request::Target;
use super::live::subject::ObjectArguments;
use super::live::{self, Connection, Named};
use super::{CommandResult, Outcome, terminal};

/// Keep the operator from changing anything of a ClusterStack or a cluster
///
/// Sets `spec.suspend` of the ClusterStack, or of the Cluster's `ClusterAddon`. The status still follows, and Flux still
/// keeps what it has; `flux suspend` stops that too.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  # Nothing of this stack changes until it is resumed
  stackflux suspend csk/demo -n demo
  # The same of one cluster only
  stackflux suspend cluster/one -n demo")]
pub(super) struct Suspend {
    #[command(flatten)]
    what: What,
}

/// Let the operator go on with what was suspended
///
/// Unsets `spec.suspend` of the ClusterStack, or of the Cluster's `ClusterAddon`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  # Go on with a stack
  stackflux resume csk/demo -n demo
  # Go on with one cluster, and look whether all gets ready
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
