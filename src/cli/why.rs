//! `stackflux why`.

use super::error::CliError;
use super::live::snapshot::Snapshot;
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
  # The reason of the first thing that is not as it should be
  stackflux why one -o json | jq -r '[.steps[] | select(.status != \"True\")][0].reason'")]
pub(super) struct Arguments {
    /// A Cluster, and one of its addons
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
        let scope = Scope { namespace: Some(session.namespace.clone()), selector: None };
        let (snapshot, notices) = read::read(&session, &scope).await?;
        for notice in &notices {
            terminal::warning(notice);
        }
        let name = arguments.subject.split('/').next().unwrap_or_default();
        if let Some((_, member)) = snapshot.member(&session.namespace, name) {
            for note in versions::notes(&session, member).await {
                terminal::warning(note);
            }
        }
        tell(arguments, &snapshot, &session.namespace, notices.is_empty())
    })
}

fn tell(arguments: &Arguments, snapshot: &Snapshot, namespace: &str, all_read: bool) -> CommandResult {
    let (name, addon) = match arguments.subject.split_once('/') {
        Some((name, addon)) => (name, Some(addon)),
        None => (arguments.subject.as_str(), None),
    };
    let Some((key, member)) = snapshot.member(namespace, name) else {
        let what = if all_read { "there is no Cluster" } else { "what could be read has no Cluster" };
        return Err(CliError::usage(format!("{what} {namespace}/{name}"))
            .hint("kubectl get clusters.cluster.x-k8s.io --all-namespaces shows which there are"));
    };
    let Some(chain) = chain::chain(snapshot, key, member, addon) else {
        let names = chain::addons(member);
        let error = CliError::usage(format!("Cluster {namespace}/{name} has no such addon"));
        return Err(if names.is_empty() {
            error.hint(format!("it has none yet; stackflux why {name} says why"))
        } else {
            error.hint(format!("it has {}", names.join(", ")))
        });
    };
    print(&chain, arguments.output, chain::Chain::text)?;
    Ok(if chain.is_ready() { Outcome::Done } else { Outcome::Differs })
}
