//! `stackflux status`.

use super::CommandResult;
use super::live::subject::{OptionalObjects, Subject};
use super::live::text;
use super::live::view::View;
use super::live::watch::Rendered;
use super::output::count;
use crate::explain::Named;
use crate::explain::fleet::{self, Fleet};
use crate::explain::snapshot::Snapshot;

/// Show the status of ClusterStacks, releases and clusters
///
/// Shows all objects in the namespace, plus releases in other namespaces that its clusters use, one line each.
///
/// Exits with 1 if something is not ready, or nothing is found; with 2 if an object that is named is not found.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  # Everything
  stackflux status -A
  # One ClusterStack, and two Clusters
  stackflux status csk/demo cl/one cl/two -n demo
  # Wait until production is ready, for at most a quarter of an hour
  stackflux status -A -l stage=prod --wait --timeout 15m
  # The names of all clusters, as the other commands take them
  stackflux status -A -o name | grep ^cluster/
  # The clusters that are not ready, for a program
  stackflux status -A -o json | jq -r '.clusters[] | select(.ready != \"True\") | .namespace + \"/\" + .name'")]
pub(super) struct Arguments {
    #[command(flatten)]
    objects: OptionalObjects,
    #[command(flatten)]
    view: View,
}

pub(super) fn run(arguments: &Arguments) -> CommandResult {
    let subjects = arguments.objects.subjects()?;
    arguments.view.run(&subjects, |snapshot, output| {
        let all = fleet::fleet(snapshot);
        let (mut notices, mut missing) = (Vec::new(), Vec::new());
        let unclaimed = if subjects.is_empty() { all.unclaimed() } else { 0 };
        let fleet = match subjects.as_slice() {
            [] => all,
            named => only(&all, named, snapshot, &mut notices, &mut missing),
        };
        let shown = output.rendered(&fleet, text::fleet::text, text::fleet::names)?;
        if subjects.is_empty() && fleet.is_empty() {
            notices.push(snapshot.nothing());
        }
        let ready = fleet.all_ready() && notices.is_empty();
        if unclaimed > 0 {
            let clusters = count(unclaimed, "Cluster");
            notices.push(format!(
                "not shown, without a ClusterStack: {clusters}; stackflux why <cluster> explains why"
            ));
        }
        Ok(Rendered { text: shown, notices, missing, ready })
    })
}

/// Keeps only the lines of the named objects, in the order of their names.
fn only(
    all: &Fleet,
    subjects: &[Subject],
    snapshot: &Snapshot,
    notices: &mut Vec<String>,
    missing: &mut Vec<String>,
) -> Fleet {
    let mut found = all.clone();
    found.cluster_stacks.clear();
    found.releases.clear();
    found.clusters.clear();
    found.unclaimed = 0;
    for subject in subjects {
        let (kind, name) = (subject.found_in(snapshot), &subject.name);
        let one = all.clone().only(kind, name);
        match one.is_empty() {
            true if kind == Named::Cluster && snapshot.has(name) => notices.push(format!(
                "Cluster {name} belongs to no ClusterStack; stackflux why {name} explains why"
            )),
            true => missing.push(format!("{kind} {name}{}", snapshot.place())),
            false => {}
        }
        found.cluster_stacks.extend(one.cluster_stacks);
        found.releases.extend(one.releases);
        found.clusters.extend(one.clusters);
    }
    found
}
