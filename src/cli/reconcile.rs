//! `stackflux reconcile`.

use std::time::Duration;

use super::error::CliError;
use super::live::request::{Target, is_suspended};
use super::live::subject::ObjectArguments;
use super::live::watch::duration;
use super::live::{self, Connection};
use super::{CommandResult, Outcome, terminal};
use crate::rollup::ConditionStatus;

/// Ask the operator to look at something now, and wait for its answer
///
/// Sets the annotation `reconcile.fluxcd.io/requestedAt`, as `flux reconcile` does, and waits until the status says that
/// it was handled. Of a Cluster, its `ClusterAddon` is meant.
///
/// Exits with 1 when the object is not ready then.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  # A release was published: look at the stack repository now
  stackflux reconcile csk/demo -n demo
  # One cluster
  stackflux reconcile cluster/one -n demo --timeout 1m")]
pub(super) struct Arguments {
    #[command(flatten)]
    object: ObjectArguments,
    #[command(flatten)]
    connection: Connection,
    /// How long to wait, such as 90s or 10m
    #[arg(long, value_name = "DURATION", default_value = "5m", value_parser = duration)]
    timeout: Duration,
}

pub(super) fn run(arguments: &Arguments) -> CommandResult {
    live::block_on(async {
        let (kind, name) = arguments.object.named()?;
        let session = arguments.connection.open().await?;
        let target = Target::new(&session, kind, &name);
        if is_suspended(&target.get().await?) {
            return Err(CliError::usage(format!("{} is suspended", target.label))
                .hint("stackflux resume lets the operator go on with it"));
        }
        terminal::waiting(format!("{}: waiting for the operator", target.label));
        let report = target.reconcile(arguments.timeout).await?;
        if report.status == ConditionStatus::True {
            terminal::success(format!("{} is reconciled and ready", target.label));
            return Ok(Outcome::Done);
        }
        terminal::problem(format!(
            "{} is reconciled and not ready: {}: {}",
            target.label, report.reason, report.message
        ));
        Ok(Outcome::Differs)
    })
}
