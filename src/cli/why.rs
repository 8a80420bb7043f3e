//! `stackflux why`.

use std::collections::BTreeMap;

use super::error::CliError;
use super::live::snapshot::Snapshot;
use super::live::subject::{Candidate, candidates};
use super::live::{self, Connection, Scope, chain, read, versions};
use super::output::{Format, print};
use super::{CommandResult, Outcome, terminal};

/// Tell what a cluster or an addon waits for, and what to do about it
///
/// The chain from the Cluster over its release and its addons down to the words of Flux about the object, its chart and
/// the source. Of a Cluster that has no addons it says why.
///
/// Exits with 1 when it is not ready.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  # Why is this cluster not ready?
  stackflux why one -n demo
  # And this addon?
  stackflux why one/cni -n demo
  # A Cluster as other commands print it, with its namespace
  stackflux why demo/one
  # The reason of the first thing that is not as it should be
  stackflux why one -o json | jq -r '[.steps[] | select(.status != \"True\")][0].reason'")]
pub(super) struct Arguments {
    /// A Cluster, or one of its addons; also NAMESPACE/CLUSTER[/ADDON], unless the namespace has a Cluster of that first name
    #[arg(value_name = "CLUSTER[/ADDON]")]
    subject: String,
    #[command(flatten)]
    connection: Connection,
    /// The form of the output
    #[arg(short, long, value_name = "FORMAT", default_value = "table")]
    output: Format,
}

pub(super) fn run(arguments: &Arguments) -> CommandResult {
    live::block_on(async {
        let session = arguments.connection.open().await?;
        let anywhere = !arguments.connection.names_namespace();
        let candidates = candidates(&arguments.subject, &session.namespace, anywhere);
        let mut snapshots = BTreeMap::new();
        let mut all_read = true;
        for candidate in &candidates {
            let namespace = candidate.namespace.as_str();
            if !snapshots.contains_key(namespace) {
                let scope = Scope { namespace: Some(namespace.to_owned()), selector: None };
                let (snapshot, notices) = read::read(&session, &scope).await?;
                for notice in &notices {
                    terminal::warning(notice);
                }
                all_read &= notices.is_empty();
                snapshots.insert(namespace, snapshot);
            }
            let Some(snapshot) = snapshots.get(namespace) else { continue };
            if let Some((_, member)) = snapshot.member(namespace, &candidate.cluster) {
                for note in versions::notes(&session, member).await {
                    terminal::warning(note);
                }
                return tell(arguments, snapshot, candidate);
            }
        }
        Err(unknown(&arguments.subject, &candidates, all_read))
    })
}

/// None of what may be meant is there.
fn unknown(subject: &str, candidates: &[Candidate], all_read: bool) -> CliError {
    let mut names: Vec<String> =
        candidates.iter().map(|found| format!("Cluster {}/{}", found.namespace, found.cluster)).collect();
    names.dedup();
    if names.is_empty() {
        return CliError::usage(format!("{subject:?} is not CLUSTER, CLUSTER/ADDON or NAMESPACE/CLUSTER"))
            .hint("without --namespace, a Cluster of another namespace can be named as NAMESPACE/CLUSTER");
    }
    let what = if all_read { "not found" } else { "not found in what could be read" };
    CliError::usage(format!("{what}: {}", names.join(" or ")))
        .hint("kubectl get clusters.cluster.x-k8s.io --all-namespaces shows which there are")
}

fn tell(arguments: &Arguments, snapshot: &Snapshot, subject: &Candidate) -> CommandResult {
    let Candidate { namespace, cluster: name, addon } = subject;
    let Some((key, member)) = snapshot.member(namespace, name) else {
        return Err(unknown(&arguments.subject, std::slice::from_ref(subject), true));
    };
    let Some(chain) = chain::chain(snapshot, key, member, addon.as_deref()) else {
        let names = chain::addons(member);
        let addon = addon.as_deref().unwrap_or_default();
        let error = CliError::usage(format!("Cluster {namespace}/{name} has no addon {addon}"));
        return Err(if names.is_empty() {
            error.hint(format!("stackflux why {namespace}/{name} says why the Cluster has no addons yet"))
        } else {
            error.hint(format!("the addons of the Cluster are {}", names.join(", ")))
        });
    };
    print(&chain, arguments.output, chain::Chain::text)?;
    Ok(if chain.is_ready() { Outcome::Done } else { Outcome::Differs })
}
