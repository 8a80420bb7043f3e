//! `stackflux why`.

use std::collections::BTreeMap;

use super::error::CliError;
use super::live::snapshot::Snapshot;
use super::live::subject::{Candidate, candidates, object};
use super::live::{self, Connection, Named, Scope, chain, read};
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
                for note in read::version_notes(&session, member).await {
                    terminal::warning(note);
                }
                return explain(arguments, snapshot, candidate);
            }
        }
        let (text, namespace) = (&arguments.subject, &session.namespace);
        let exists = |kind, namespace: &str, name: &str| {
            snapshots.get(namespace).is_some_and(|snapshot| snapshot.exists(kind, namespace, name))
        };
        let other = of_another_kind(text, namespace, &candidates, exists);
        Err(other.unwrap_or_else(|| unknown(text, &candidates, all_read)))
    })
}

/// Creates the error about a ClusterStack or a release that is named instead of a Cluster, if one exists: as `csk/demo`, or
/// by its name alone.
fn of_another_kind(
    text: &str,
    namespace: &str,
    candidates: &[Candidate],
    exists: impl Fn(Named, &str, &str) -> bool,
) -> Option<CliError> {
    let named = object(text).map(|(kind, name)| (kind, namespace.to_owned(), name));
    let clusters = candidates.iter().filter(|candidate| candidate.addon.is_none());
    let others = clusters.flat_map(|Candidate { namespace, cluster, .. }| {
        [Named::Clusterstack, Named::Release].map(|kind| (kind, namespace.clone(), cluster.clone()))
    });
    let mut others = named.into_iter().chain(others).filter(|(kind, ..)| *kind != Named::Cluster);
    let (kind, namespace, name) = others.find(|(kind, namespace, name)| exists(*kind, namespace, name))?;
    let short = if kind == Named::Release { "cskr" } else { "csk" };
    let message = format!("{kind} {namespace}/{name} is not a Cluster: why explains a Cluster or an addon");
    let hint = format!("stackflux tree {short}/{name} -n {namespace} shows the {kind} and its Clusters");
    Some(CliError::usage(message).hint(hint))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cluster_stack_or_release_is_named_with_its_command() {
        let exists = |kind: Named, namespace: &str, name: &str| {
            (kind == Named::Clusterstack && (namespace, name) == ("demo", "stack"))
                || (kind == Named::Release && (namespace, name) == ("demo", "a-b-1-34-v1"))
        };
        let error = |text: &str, namespace: &str| {
            let candidates = candidates(text, namespace, true);
            let error = of_another_kind(text, namespace, &candidates, exists)?;
            Some(format!("{}; {}", error.message, error.hint.unwrap()))
        };
        let stack = "ClusterStack demo/stack is not a Cluster: why explains a Cluster or an addon; \
                     stackflux tree csk/stack -n demo shows the ClusterStack and its Clusters";
        for (text, namespace) in [("stack", "demo"), ("demo/stack", "default"), ("csk/stack", "demo")] {
            assert_eq!(error(text, namespace).as_deref(), Some(stack), "{text}");
        }
        let release = "ClusterStackRelease demo/a-b-1-34-v1 is not a Cluster: why explains a Cluster or an addon; \
                       stackflux tree cskr/a-b-1-34-v1 -n demo shows the ClusterStackRelease and its Clusters";
        assert_eq!(error("a-b-1-34-v1", "demo").as_deref(), Some(release));
        for (text, namespace) in
            [("nope", "demo"), ("stack", "default"), ("stack/cni", "demo"), ("cluster/stack", "default")]
        {
            assert_eq!(error(text, namespace), None, "{text}");
        }
    }
}
