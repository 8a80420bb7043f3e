//! `stackflux status`.

use super::CommandResult;
use super::error::CliError;
use super::live::watch::{Seen, Watch};
use super::live::{self, Look, overview, read};
use super::output::{Format, count, rendered};

/// Show how ClusterStacks, releases and clusters of a live cluster are
///
/// One line each. Of a namespace there is everything in it, and of other namespaces the releases that its clusters use.
///
/// Exits with 1 when something is not ready, or there is nothing.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  # Everything
  stackflux status -A
  # Is production ready? Wait for a quarter of an hour
  stackflux status -A -l stage=prod --wait --timeout 15m
  # The clusters that are not ready, for a program
  stackflux status -A -o json | jq -r '.clusters[] | select(.ready != \"True\") | .namespace + \"/\" + .name'")]
pub(super) struct Arguments {
    #[command(flatten)]
    look: Look,
    #[command(flatten)]
    watch: Watch,
    /// The form of the output
    #[arg(short, long, value_name = "FORMAT", default_value = "table")]
    output: Format,
}

pub(super) fn run(arguments: &Arguments) -> CommandResult {
    live::block_on(async {
        let (session, scope) = arguments.look.open().await?;
        let look = async || {
            let (snapshot, mut notices) = read::read(&session, &scope).await?;
            let overview = overview::overview(&snapshot);
            // What could not be read may not be ready.
            let ready = notices.is_empty() && overview.all_ready();
            let text = rendered(&overview, arguments.output, overview::Overview::text)?;
            if overview.is_empty() {
                let place = scope.namespace.as_ref().map(|name| format!(" in namespace {name}"));
                notices.push(format!(
                    "there is no ClusterStack and no cluster of one{}",
                    place.unwrap_or_default()
                ));
            }
            if overview.unclaimed() > 0 {
                let clusters = count(overview.unclaimed(), "Cluster");
                notices.push(format!(
                    "left out, of no ClusterStack: {clusters}; stackflux why <cluster> says why"
                ));
            }
            Ok::<_, CliError>(Seen { text, notices, ready })
        };
        arguments.watch.run(look).await
    })
}
