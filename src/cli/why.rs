//! `stackflux why`.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde::Serialize;

use super::error::CliError;
use super::live::subject::{Candidate, candidates};
use super::live::text::{all_ready, chain as text, operator_down};
use super::live::{self, Look, Scope, Session, read};
use super::output::{Format, count, print, terminal_width};
use super::{CommandResult, Outcome, terminal};
use crate::explain::Named;
use crate::explain::chain::{self, Chain};
use crate::explain::issues::{count as objects, issues};
use crate::explain::snapshot::Snapshot;
use crate::names::Key;

/// Number of objects that are explained if none is named.
const MOST: usize = 5;

/// Explain why something is not ready, and what to do about it
///
/// Prints the answer first: what is not ready, since when, what to do, and the next commands. Then prints the chain from the
/// object down to what Flux reports.
///
/// Without a name, explains the first five objects that are not ready: what is false before what is not known yet, and of these the
/// oldest first.
///
/// Exits with 1 if something is not ready, or nothing is found; with 2 if an object that is named is not found.
#[derive(Debug, clap::Args)]
#[command(
    override_usage = "stackflux why [OPTIONS] [[KIND/]NAME[/ADDON]]",
    after_help = "Examples:
  # Explain what is not ready in the context's namespace
  stackflux why
  # Explain why a cluster is not ready
  stackflux why one -n demo
  # Explain why an addon is not ready
  stackflux why one/cni -n demo
  # Explain why a ClusterStack or a release is not ready
  stackflux why csk/demo -n demo
  stackflux why csr/docker-demo-1-34-v1 -n demo
  # Print what to do, and the next commands
  stackflux why one -o json | jq -r '.action.text, .action.commands[]?'"
)]
pub(super) struct Arguments {
    /// Cluster or CLUSTER/ADDON, or a clusterstack (csk) or release (csr); also with its namespace in front
    ///
    /// Kind and name can also be two arguments. A first word that is a kind, such as cluster or cl, is one, if that object exists.
    #[arg(value_name = "[KIND/]NAME[/ADDON]", num_args = 0..=2)]
    subject: Vec<String>,
    #[command(flatten)]
    look: Look,
    /// Also show what is ready, and what was not checked
    #[arg(short, long)]
    verbose: bool,
    /// Output format
    #[arg(short, long, value_name = "FORMAT", default_value = "table")]
    output: Format,
}

pub(super) fn run(arguments: &Arguments) -> CommandResult {
    if !arguments.subject.is_empty() {
        arguments.look.refuse_selector()?;
    }
    live::block_on(async {
        let (session, scope) = arguments.look.open().await?;
        match arguments.subject.join("/") {
            none if none.is_empty() => all(arguments, &session, &scope).await,
            subject => one(arguments, &subject, &session).await,
        }
    })
}

/// The answers without a name.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Answers<'a> {
    not_ready: usize,
    #[serde(skip)]
    explained: usize,
    first: &'a [Chain],
}

async fn all(arguments: &Arguments, session: &Session, scope: &Scope) -> CommandResult {
    let (snapshot, notices) = read::read(session, scope).await?;
    notices.iter().for_each(terminal::warning);
    let is_old = warn_of_operators(&snapshot);
    let found = issues(&snapshot);
    let first = found.get(..MOST.min(found.len())).unwrap_or_default();
    let answers = Answers { not_ready: objects(&found), explained: objects(first), first };
    print(&answers, arguments.output, |answers| answers_text(answers, &snapshot))?;
    let is_nothing = snapshot.is_empty() || snapshot.nothing_selected().is_some();
    let is_unknown = !notices.is_empty() || is_nothing || is_old;
    Ok(if found.is_empty() && !is_unknown { Outcome::Done } else { Outcome::Differs })
}

fn answers_text(answers: &Answers, snapshot: &Snapshot) -> String {
    if snapshot.is_empty() {
        return snapshot.nothing() + "\n";
    }
    if let Some(nothing) = snapshot.nothing_selected().filter(|_| answers.first.is_empty()) {
        return nothing + "\n";
    }
    let width = terminal_width();
    let answer = |chain| text::answer(chain, snapshot.now(), width);
    let texts: Vec<String> = answers.first.iter().map(answer).collect();
    let mut text = texts.join("\n");
    match answers.not_ready - answers.explained {
        0 if answers.first.is_empty() => text = all_ready(snapshot),
        0 => {}
        more => _ = writeln!(text, "\nnot shown: {}; stackflux status lists them", count(more, "object")),
    }
    text
}

async fn one(arguments: &Arguments, subject: &str, session: &Session) -> CommandResult {
    let anywhere = !arguments.look.names_namespace();
    let candidates = candidates(subject, &session.namespace, anywhere);
    let mut snapshots: BTreeMap<&str, Snapshot> = BTreeMap::new();
    let mut all_read = true;
    for candidate in &candidates {
        let namespace = candidate.namespace.as_str();
        if !snapshots.contains_key(namespace) {
            let scope = Scope { namespace: Some(namespace.to_owned()), selector: None };
            let (snapshot, notices) = read::read(session, &scope).await?;
            notices.iter().for_each(terminal::warning);
            all_read &= notices.is_empty();
            snapshots.insert(namespace, snapshot);
        }
        let Some(snapshot) = snapshots.get(namespace) else { continue };
        if snapshot.exists(candidate.kind, namespace, &candidate.name) {
            if let Some((_, member)) = snapshot.member(namespace, &candidate.name) {
                for note in read::version_notes(session, member).await {
                    terminal::warning(note);
                }
            }
            return explain(arguments, snapshot, candidate);
        }
    }
    Err(unknown(subject, &candidates, all_read))
}

/// Creates the error if none of the candidates exists.
fn unknown(subject: &str, candidates: &[Candidate], all_read: bool) -> CliError {
    let names = candidates.iter().map(|found| format!("{} {}/{}", found.kind, found.namespace, found.name));
    let mut names: Vec<String> = names.collect();
    names.sort();
    names.dedup();
    if names.is_empty() {
        let message = format!(
            "invalid name {subject:?}: expected CLUSTER, CLUSTER/ADDON, KIND/NAME or NAMESPACE/CLUSTER"
        );
        return CliError::usage(message)
            .hint("without --namespace, an object of another namespace can be named as NAMESPACE/NAME");
    }
    let what = if all_read { "not found" } else { "not found in what could be read" };
    CliError::usage(format!("{what}: {}", names.join(" or ")))
        .hint("stackflux status --all-namespaces lists what there is")
}

fn explain(arguments: &Arguments, snapshot: &Snapshot, subject: &Candidate) -> CommandResult {
    let Candidate { kind, namespace, name, addon } = subject;
    let key = Key::new(namespace, name);
    let chain = match kind {
        Named::Clusterstack => chain::stack(snapshot, &key),
        Named::Release => chain::release(snapshot, &key),
        Named::Cluster => snapshot
            .member(namespace, name)
            .and_then(|(key, member)| chain::cluster(snapshot, key, member, addon.as_deref())),
    };
    let Some(chain) = chain else { return Err(no_addon(snapshot, subject)) };
    let is_old = warn_of_operators(snapshot);
    print(&chain, arguments.output, |chain| {
        if chain.ready && is_old {
            return format!("{} was ready when an operator last ran.\n", chain.about);
        }
        text::text(chain, snapshot.now(), arguments.verbose, terminal_width())
    })?;
    Ok(if chain.ready && !is_old { Outcome::Done } else { Outcome::Differs })
}

/// Warns of operators that are down. Returns whether there are any.
fn warn_of_operators(snapshot: &Snapshot) -> bool {
    let down = |down| terminal::warning(operator_down(down, snapshot.now()));
    snapshot.operators_down.iter().for_each(down);
    !snapshot.operators_down.is_empty()
}

/// Creates the error about a Cluster that does not have the addon.
fn no_addon(snapshot: &Snapshot, Candidate { namespace, name, addon, .. }: &Candidate) -> CliError {
    let member = snapshot.member(namespace, name);
    let names = member.map(|(_, member)| chain::addons(member)).unwrap_or_default();
    let addon = addon.as_deref().unwrap_or_default();
    let error = CliError::usage(format!("Cluster {namespace}/{name} has no addon {addon}"));
    if names.is_empty() {
        error.hint(format!("stackflux why {namespace}/{name} explains why the Cluster has no addons yet"))
    } else {
        error.hint(format!("the addons of the Cluster are {}", names.join(", ")))
    }
}
