//! `stackflux tree`.

use super::CommandResult;
use super::live::Named;
use super::live::subject::OptionalObject;
use super::live::tree::{self, Only};
use super::live::view::View;
use super::live::watch::Seen;
use super::output::rendered;

/// Show ClusterStacks with all that is below them in a live cluster
///
/// ClusterStack, release, cluster, addon, the Flux object that delivers it, and what Flux applied, from its inventory.
/// `READY` of an addon is what the operator says, that of a Flux object what Flux says.
///
/// Of a namespace there is everything in it, and of other namespaces the ClusterStacks and releases that its clusters
/// use.
///
/// Exits with 1 when something is not ready, or there is nothing.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  # The ClusterStacks of all namespaces, and all below them
  stackflux tree -A
  # One cluster of the context's namespace
  stackflux tree cluster/one
  # Look on until everything below a ClusterStack is ready, for ten minutes at most
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
            Some(Only { kind, name }) => format!("there is no {kind} {name}{}", snapshot.place()),
            None => snapshot.nothing(),
        };
        let notices = if nodes.is_empty() { vec![nothing()] } else { Vec::new() };
        Ok(Seen { text, notices, ready: tree::all_ready(&nodes) })
    })
}
