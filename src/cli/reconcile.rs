//! `stackflux reconcile`.

use futures::future::join_all;

use super::error::CliError;
use super::live;
use super::live::request::{Target, is_suspended};
use super::live::selection::{Selected, Selection};
use super::live::watch::Timeout;
use super::{CommandResult, Outcome, terminal};
use crate::rollup::ConditionStatus;

/// Request a reconciliation by the operator, and wait for its result
///
/// Sets the annotation `reconcile.fluxcd.io/requestedAt`, as `flux reconcile` does, and waits until the status
/// reports that the operator handled the request. For a Cluster, this applies to its `ClusterAddon`.
///
/// Exits with 1 if an object is not ready afterwards, or nothing is selected.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  # Check the stack repository for new releases now
  stackflux reconcile csk/demo -n demo
  # Two clusters
  stackflux reconcile cl/one cl/two -n demo --timeout 1m
  # All clusters of a namespace
  stackflux reconcile cluster --all -n demo")]
pub(super) struct Arguments {
    #[command(flatten)]
    selection: Selection,
    /// Maximum time to wait, such as 90s or 10m
    #[arg(long, value_name = "DURATION", default_value = "5m", value_parser = Timeout::parse)]
    timeout: Timeout,
}

pub(super) fn run(arguments: &Arguments) -> CommandResult {
    live::block_on(async {
        let Selected { targets, named, nothing } = arguments.selection.targets(None).await?;
        if targets.is_empty() {
            terminal::warning(nothing);
            return Ok(Outcome::Differs);
        }
        let all = targets.iter().map(|target| reconcile(target, named, &arguments.timeout));
        let mut worst = Outcome::Done;
        for outcome in join_all(all).await {
            let outcome = outcome.unwrap_or_else(|error| {
                terminal::failure(&error);
                Outcome::Failed
            });
            worst = worst.max(outcome);
        }
        Ok(worst)
    })
}

/// Requests the reconciliation of one object. One that is suspended is an error only if it is named.
async fn reconcile(target: &Target, named: bool, timeout: &Timeout) -> CommandResult {
    if is_suspended(&target.get().await?) {
        let message = format!("{} is suspended", target.label);
        if named {
            return Err(CliError::usage(message).hint("run stackflux resume first"));
        }
        terminal::note(message + ", and left out");
        return Ok(Outcome::Done);
    }
    terminal::waiting(format!("{}: waiting for the operator", target.label));
    let report = target.reconcile(timeout).await?;
    if report.status == ConditionStatus::True {
        terminal::success(format!("{} is reconciled and ready", target.label));
        return Ok(Outcome::Done);
    }
    let (reason, message) = (&report.reason, &report.message);
    terminal::problem(format!("{} is reconciled, but not ready: {reason}: {message}", target.label));
    Ok(Outcome::Differs)
}
