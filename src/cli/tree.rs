//! `stackflux tree`.

use super::CommandResult;
use super::live::Named;
use super::live::subject::OptionalObject;
use super::live::tree::{self, Only};
use super::live::view::View;
use super::live::watch::Rendered;
use super::output::rendered;

/// Show ClusterStacks and everything below them in a live cluster
///
/// The levels are ClusterStack, release, cluster, addon, the Flux object that delivers the addon, and the objects
/// that Flux applied, from its inventory. `READY` of a Flux object is what the operator makes of its status: an object
/// with an earlier chart, or changed by another client, is not ready, whatever Flux says.
///
/// Shows all objects in the namespace, plus ClusterStacks and releases in other namespaces that its clusters use.
///
/// Exits with 1 if something is not ready, or nothing is found.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  # The ClusterStacks of all namespaces, and everything below them
  stackflux tree -A
  # One cluster of the context's namespace
  stackflux tree cluster/one
  # Watch until everything below a ClusterStack is ready, for at most ten minutes
  stackflux tree csk/demo -n demo --watch --wait --timeout 10m")]
pub(super) struct Arguments {
    #[command(flatten)]
    object: OptionalObject,
    #[command(flatten)]
    view: View,
}

pub(super) fn run(arguments: &Arguments) -> CommandResult {
    let only = arguments.object.named()?.map(|(kind, name)| Only { kind, name });
    arguments.view.run(|snapshot, format| {
        let nodes = tree::tree(snapshot, only.as_ref());
        let text = rendered(&nodes, format, |nodes| tree::text(nodes, snapshot.now()))?;
        let nothing = || match &only {
            Some(Only { kind: Named::Release, name }) => {
                format!("no ClusterStack has a release {name}{}", snapshot.place())
            }
            Some(Only { kind, name }) => format!("{kind} {name} not found{}", snapshot.place()),
            None => snapshot.nothing(),
        };
        let notices = if nodes.is_empty() { vec![nothing()] } else { Vec::new() };
        Ok(Rendered { text, notices, ready: tree::all_ready(&nodes) })
    })
}
