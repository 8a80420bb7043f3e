//! `stackflux reconcile`.

use std::time::Duration;

use super::error::CliError;
use super::live::request::{Target, is_suspended};
use super::live::subject::ObjectArguments;
use super::live::watch::duration;
use super::live::{self, Connection};
use super::{CommandResult, Outcome, terminal};
use crate::rollup::ConditionStatus;

/// Request a reconciliation by the operator, and wait for its result
///
/// Sets the annotation `reconcile.fluxcd.io/requestedAt`, as `flux reconcile` does, and waits until the status
/// reports that the operator handled the request. For a Cluster, this applies to its `ClusterAddon`.
///
/// Exits with 1 if the object is not ready afterwards.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  # Check the stack repository for new releases now
  stackflux reconcile csk/demo -n demo
  # One cluster
  stackflux reconcile cluster/one -n demo --timeout 1m")]
pub(super) struct Arguments {
    #[command(flatten)]
    object: ObjectArguments,
    #[command(flatten)]
    connection: Connection,
    /// Maximum time to wait, such as 90s or 10m
    #[arg(long, value_name = "DURATION", default_value = "5m", value_parser = duration)]
    timeout: Duration,
}

pub(super) fn run(arguments: &Arguments) -> CommandResult {
    live::block_on(async {
        let (kind, name) = arguments.object.named()?;
        let session = arguments.connection.open().await?;
        let target = Target::new(&session, kind, &name);
        if is_suspended(&target.get().await?) {
            return Err(
                CliError::usage(format!("{} is suspended", target.label)).hint("run stackflux resume first")
            );
        }
        terminal::waiting(format!("{}: waiting for the operator", target.label));
        let report = target.reconcile(arguments.timeout).await?;
        if report.status == ConditionStatus::True {
            terminal::success(format!("{} is reconciled and ready", target.label));
            return Ok(Outcome::Done);
        }
        terminal::problem(format!(
            "{} is reconciled, but not ready: {}: {}",
            target.label, report.reason, report.message
        ));
        Ok(Outcome::Differs)
    })
}
