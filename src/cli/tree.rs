//! `stackflux tree`.

use super::CommandResult;
use super::live::subject::OptionalObjects;
use super::live::text;
use super::live::view::View;
use super::live::watch::Rendered;
use crate::explain::tree::{self, Node, Only};

/// Show ClusterStacks and everything below them in a live cluster
///
/// The levels are ClusterStack, release, cluster, addon, the Flux object that delivers the addon, and the objects
/// that Flux applied, from its inventory. `READY` of a Flux object is what the operator makes of its status: an object
/// with an earlier chart, or changed by another client, is not ready, whatever Flux says.
///
/// Shows all objects in the namespace, plus ClusterStacks and releases in other namespaces that its clusters use.
///
/// Exits with 1 if something is not ready, or nothing is found; with 2 if an object that is named is not found.
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
    objects: OptionalObjects,
    #[command(flatten)]
    view: View,
}

pub(super) fn run(arguments: &Arguments) -> CommandResult {
    let subjects = arguments.objects.subjects()?;
    arguments.view.run(&subjects, |snapshot, output| {
        let mut missing = Vec::new();
        let mut nodes: Vec<Node> = if subjects.is_empty() { tree::tree(snapshot, None) } else { Vec::new() };
        for subject in &subjects {
            let only = Only { kind: subject.found_in(snapshot), name: subject.name.clone() };
            let below = tree::tree(snapshot, Some(&only));
            if below.is_empty() {
                missing.push(format!("{} {}{}", only.kind, only.name, snapshot.place()));
            }
            nodes.extend(below);
        }
        let table = |nodes: &Vec<Node>, layout| text::tree::text(nodes, snapshot.now(), layout);
        let shown = output.rendered(&nodes, table, |nodes| text::tree::names(nodes))?;
        let is_nothing = nodes.is_empty() && subjects.is_empty();
        let notices = if is_nothing { vec![snapshot.nothing()] } else { Vec::new() };
        Ok(Rendered { text: shown, notices, missing, ready: tree::all_ready(&nodes) })
    })
}
