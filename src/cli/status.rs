//! `stackflux status`.

use super::CommandResult;
use super::live::Named;
use super::live::overview;
use super::live::subject::OptionalObject;
use super::live::view::View;
use super::live::watch::Rendered;
use super::output::{count, rendered};

/// Show the status of ClusterStacks, releases and clusters
///
/// Shows all objects in the namespace, plus releases in other namespaces that its clusters use, one line each.
///
/// Exits with 1 if something is not ready, or nothing is found.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  # Everything
  stackflux status -A
  # One ClusterStack
  stackflux status csk/demo -n demo
  # Wait until production is ready, for at most a quarter of an hour
  stackflux status -A -l stage=prod --wait --timeout 15m
  # The clusters that are not ready, for a program
  stackflux status -A -o json | jq -r '.clusters[] | select(.ready != \"True\") | .namespace + \"/\" + .name'")]
pub(super) struct Arguments {
    #[command(flatten)]
    object: OptionalObject,
    #[command(flatten)]
    view: View,
}

pub(super) fn run(arguments: &Arguments) -> CommandResult {
    let only = arguments.object.named()?;
    arguments.view.run(|snapshot, format| {
        let all = overview::overview(snapshot);
        let overview = match &only {
            Some((kind, name)) => all.only(*kind, name),
            None => all,
        };
        let text = rendered(&overview, format, overview::Overview::text)?;
        let mut notices = Vec::new();
        if overview.is_empty() {
            notices.push(match &only {
                Some((Named::Cluster, name)) if snapshot.has(name) => {
                    format!("Cluster {name} belongs to no ClusterStack; stackflux why {name} explains why")
                }
                Some((kind, name)) => format!("{kind} {name} not found{}", snapshot.place()),
                None => snapshot.nothing(),
            });
        }
        if overview.unclaimed() > 0 {
            let clusters = count(overview.unclaimed(), "Cluster");
            notices.push(format!(
                "not shown, without a ClusterStack: {clusters}; stackflux why <cluster> explains why"
            ));
        }
        Ok(Rendered { text, notices, ready: overview.all_ready() })
    })
}
