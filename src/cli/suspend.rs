//! `stackflux suspend` and `stackflux resume`.

use super::live;
use super::live::selection::{Selected, Selection};
use super::{CommandResult, Outcome, terminal};
use crate::explain::Named;

/// Suspend a ClusterStack or a cluster, so that the operator changes nothing of it
///
/// Sets `spec.suspend` of the ClusterStack, or of the Cluster's `ClusterAddon`. The operator still updates the
/// status, and Flux still reconciles the existing objects; `flux suspend` stops that too.
///
/// Exits with 1 if nothing is selected.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  # Suspend a stack until it is resumed
  stackflux suspend csk/demo -n demo
  # Suspend only one cluster
  stackflux suspend cluster/one -n demo
  # Suspend the clusters of production
  stackflux suspend cluster -A -l stage=prod")]
pub(super) struct Suspend {
    #[command(flatten)]
    selection: Selection,
}

/// Resume a suspended ClusterStack or cluster
///
/// Unsets `spec.suspend` of the ClusterStack, or of the Cluster's `ClusterAddon`.
///
/// Exits with 1 if nothing is selected.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  # Resume a stack
  stackflux resume csk/demo -n demo
  # Resume one cluster, and watch until everything is ready
  stackflux resume cluster/one -n demo && stackflux tree cluster/one -n demo --watch --wait")]
pub(super) struct Resume {
    #[command(flatten)]
    selection: Selection,
}

pub(super) fn suspend(arguments: &Suspend) -> CommandResult {
    set(&arguments.selection, true)
}

pub(super) fn resume(arguments: &Resume) -> CommandResult {
    set(&arguments.selection, false)
}

fn set(selection: &Selection, suspend: bool) -> CommandResult {
    live::block_on(async {
        let Selected { targets, nothing, .. } = selection.targets(Some(Named::Release)).await?;
        let done = if suspend { "suspended" } else { "resumed" };
        let mut outcome = Outcome::Done;
        for target in &targets {
            match target.suspend(suspend).await {
                Ok(()) => terminal::success(format!("{} is {done}", target.label)),
                Err(error) => {
                    terminal::failure(&error);
                    outcome = Outcome::Failed;
                }
            }
        }
        if targets.is_empty() {
            terminal::warning(nothing);
            outcome = Outcome::Differs;
        }
        Ok(outcome)
    })
}
