//! `stackflux suspend` and `stackflux resume`.

use clap::ValueEnum;

use super::live::request::Target;
use super::live::{self, Connection, Named};
use super::{CommandResult, Outcome, terminal};

/// Keep the operator from changing anything of a ClusterStack or a cluster
///
/// Sets `spec.suspend` of the ClusterStack, or of the Cluster's `ClusterAddon`. The status still follows, and Flux still
/// keeps what it has; `flux suspend` stops that too.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  # Nothing of this stack changes until it is resumed
  stackflux suspend clusterstack demo -n demo
  # The same of one cluster only
  stackflux suspend cluster one -n demo")]
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
  stackflux resume clusterstack demo -n demo
  # Go on with one cluster, and look whether all gets ready
  stackflux resume cluster one -n demo && stackflux tree cluster one -n demo --watch --wait")]
pub(super) struct Resume {
    #[command(flatten)]
    what: What,
}

#[derive(Debug, clap::Args)]
struct What {
    /// The kind
    #[arg(value_name = "KIND")]
    kind: Suspendable,
    /// The object's name
    #[arg(value_name = "NAME")]
    name: String,
    #[command(flatten)]
    connection: Connection,
}

/// The kinds with `spec.suspend`.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Suspendable {
    /// A ClusterStack
    #[value(alias = "csk", alias = "stack")]
    Clusterstack,
    /// A Cluster
    Cluster,
}

pub(super) fn suspend(arguments: &Suspend) -> CommandResult {
    set(&arguments.what, true)
}

pub(super) fn resume(arguments: &Resume) -> CommandResult {
    set(&arguments.what, false)
}

fn set(what: &What, suspend: bool) -> CommandResult {
    let kind = match what.kind {
        Suspendable::Clusterstack => Named::Clusterstack,
        Suspendable::Cluster => Named::Cluster,
    };
    live::block_on(async {
        let session = what.connection.open().await?;
        let target = Target::new(&session, kind, &what.name);
        target.suspend(suspend).await?;
        let done = if suspend { "suspended" } else { "resumed" };
        terminal::success(format!("{} is {done}", target.label));
        Ok(Outcome::Done)
    })
}
