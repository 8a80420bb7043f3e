//! `stackflux why`.

use std::collections::BTreeMap;

use super::error::CliError;
use super::live::snapshot::Snapshot;
use super::live::subject::{Candidate, candidates};
use super::live::{self, Connection, Scope, chain, read, versions};
use super::output::{Format, print};
use super::{CommandResult, Outcome, terminal};

/// Explain what a cluster or an addon waits for, and what to do about it
///
/// Shows the chain from the Cluster through its release and its addons down to what Flux reports about the object,
/// its chart and the source. For a Cluster without addons, explains why it has none.
///
/// Exits with 1 if the cluster or the addon is not ready.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  # Explain why a cluster is not ready
  stackflux why one -n demo
  # Explain why an addon is not ready
  stackflux why one/cni -n demo
  # A Cluster as other commands print it, with its namespace
  stackflux why demo/one
  # Print the reason of the first step that is not ready
  stackflux why one -o json | jq -r '[.steps[] | select(.status != \"True\")][0].reason'")]
pub(super) struct Arguments {
    /// Cluster, or one of its addons; also NAMESPACE/CLUSTER[/ADDON]
    ///
    /// If the namespace has a Cluster with the first name, that Cluster is meant.
    #[arg(value_name = "CLUSTER[/ADDON]")]
    subject: String,
    #[command(flatten)]
    connection: Connection,
    /// Output format
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
                return explain(arguments, snapshot, candidate);
            }
        }
        Err(unknown(&arguments.subject, &candidates, all_read))
    })
}

/// Creates the error if none of the candidates exists.
fn unknown(subject: &str, candidates: &[Candidate], all_read: bool) -> CliError {
    let mut names: Vec<String> =
        candidates.iter().map(|found| format!("Cluster {}/{}", found.namespace, found.cluster)).collect();
    names.dedup();
    if names.is_empty() {
        let message =
            format!("invalid name {subject:?}: expected CLUSTER, CLUSTER/ADDON or NAMESPACE/CLUSTER");
        return CliError::usage(message)
            .hint("without --namespace, a Cluster of another namespace can be named as NAMESPACE/CLUSTER");
    }
    let what = if all_read { "not found" } else { "not found in what could be read" };
    CliError::usage(format!("{what}: {}", names.join(" or ")))
        .hint("kubectl get clusters.cluster.x-k8s.io --all-namespaces lists the Clusters")
}

fn explain(arguments: &Arguments, snapshot: &Snapshot, subject: &Candidate) -> CommandResult {
    let Candidate { namespace, cluster: name, addon } = subject;
    let Some((key, member)) = snapshot.member(namespace, name) else {
        return Err(unknown(&arguments.subject, std::slice::from_ref(subject), true));
    };
    let Some(chain) = chain::chain(snapshot, key, member, addon.as_deref()) else {
        let names = chain::addons(member);
        let addon = addon.as_deref().unwrap_or_default();
        let error = CliError::usage(format!("Cluster {namespace}/{name} has no addon {addon}"));
        return Err(if names.is_empty() {
            error.hint(format!("stackflux why {namespace}/{name} explains why the Cluster has no addons yet"))
        } else {
            error.hint(format!("the addons of the Cluster are {}", names.join(", ")))
        });
    };
    print(&chain, arguments.output, chain::Chain::text)?;
    Ok(if chain.is_ready() { Outcome::Done } else { Outcome::Differs })
}
