//! `stackflux operator`.

use super::error::CliError;
use super::{CommandResult, Outcome};
use crate::{git, operator, runtime};

/// Run the operator
///
/// The operator watches ClusterStacks, releases and Clusters of a management cluster, writes the Flux objects that
/// deliver them, and reports in their status what Flux reports. If several operators run, only the leader writes; the
/// others stand by.
///
/// On SIGTERM or SIGINT, the operator finishes the reconciles in progress and exits. Exits with 2 if it cannot start,
/// or if another operator became the leader.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  # In a Pod, as its service account
  stackflux operator
  # On a workstation, with source-controller forwarded
  kubectl -n flux-system port-forward svc/source-controller 8081:80 &
  stackflux operator --context management --runtime-namespace flux-system --log-encoding console \\
    --source-controller-addr localhost:8081
  # One of two that share the work
  stackflux operator --watch-label-selector shard=a")]
pub(super) struct Arguments {
    #[command(flatten)]
    flags: operator::settings::Flags,
}

pub(super) fn run(arguments: Arguments) -> CommandResult {
    let settings = arguments.flags.settings()?;
    git::set_connection_memory(settings.git_memory_limit);
    // The operator mostly waits: on one thread, no response has to wake another thread.
    let threads = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let threads = threads.map_err(|error| CliError::usage(format!("cannot start threads: {error}")))?;
    runtime::logs::start(settings.logs)?;
    let ended = threads.block_on(operator::run(settings));
    runtime::shutdown::end_threads(threads);
    Ok(if ended.is_ok() { Outcome::Done } else { Outcome::Failed })
}
