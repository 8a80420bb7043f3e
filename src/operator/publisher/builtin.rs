//! The built-in stack repository of a `ClusterStack`: brings in what it needs, and opens it to Flux when it is complete.
//!
//! ```text
//! source.upstream ─ list ─▶ offered or in use, but not there ─ fetch, verify, lint ─▶ a commit each ─▶ Git server ─▶ Flux
//!                                       Flux's artifact of a pinned commit that upstream lost ─┘
//! ```
//! What is on disk is opened first, because upstream may never answer.

mod gather;
mod login;
mod repository;

use std::collections::BTreeSet;

use tracing::info;

use super::super::builtin::RepositoryAccess;
use super::super::context::Context;
use super::super::metrics::{RemoteOperation, classified};
use super::super::reconcile::ReconcileError;
use super::{
    FETCH_TIMEOUT, Publication, PublishedOne, Stop, hold, publish_each, record, request_fetch, roll_up,
    within,
};
use crate::api::{ClusterStack, Reason, Upstream};
use crate::error::{Class, Classify as _};
use crate::gate::Hold;
use crate::git::CommitId;
use crate::inputs::stack::StackError;
use crate::names::ReleaseName;
use crate::publish::Published;
use crate::release::finding::listed;
use crate::runtime::cache::Key;
use crate::runtime::queue::Next;
use crate::subscription::{BuiltinDecision, decide_builtin};
use gather::{Facts, is_in_use, open_repository};

/// Maximum number of releases that a message names.
const MAX_NAMES: usize = 5;

/// Brings the releases of a `ClusterStack` into its built-in stack repository.
pub(super) async fn reconcile(
    context: &Context,
    key: &Key,
    stack: &ClusterStack,
    upstream: &Upstream,
) -> Next {
    let interval = upstream.interval.to_std();
    let (decision, publication, is_behind) = match open_repository(context, key, stack, upstream).await {
        Ok(mut facts) => {
            let publication = act(context, &mut facts).await;
            let is_behind = facts.is_behind() && facts.may_ask(context);
            (facts.decision(), publication, is_behind)
        }
        Err(stop) => {
            if let (Some(uid), Stop::Held(hold, _)) = (&stack.metadata.uid, &stop) {
                let why = hold.message.clone();
                context.builtin.set_access(uid, RepositoryAccess::Closed { why, is_in_use: false });
            }
            (super::Decision::default(), Publication { stop: Some(stop), ..Publication::default() }, false)
        }
    };
    let (report, next) = roll_up(&decision, publication, interval);
    record(context, key, report);
    // Flux may have fetched from a replica that had less.
    if is_behind && matches!(next, Next::After(_)) { Next::Retry } else { next }
}

/// Records the `ClusterStack`s that have a repository, so that the process is not ready before one is complete.
pub(super) fn expect_all(context: &Context) {
    let stacks = context.caches.stacks.all();
    for stack in stacks.iter().filter(|stack| super::is_builtin(context, stack)) {
        expect(context, stack);
    }
    context.builtin.listed();
}

/// Records the repository of a `ClusterStack`, if the process serves any.
pub(super) fn expect(context: &Context, stack: &ClusterStack) {
    let key = Key::of(stack);
    if let (Some(_), Some(uid)) = (&context.settings.builtin, &stack.metadata.uid) {
        context.builtin.expect(&key, uid, is_in_use(context, &key));
    }
}

/// Stops serving the repositories of a key that `stack` does not have (`None`: it has another source, or is gone), and removes
/// those of `ClusterStack`s that are gone.
pub(super) async fn close_others(
    context: &Context,
    key: &Key,
    (stack, is_builtin): (Option<&ClusterStack>, bool),
) -> Result<(), ReconcileError> {
    let Some(settings) = &context.settings.builtin else { return Ok(()) };
    let own = stack.and_then(|stack| stack.metadata.uid.as_ref());
    let mut others = context.builtin.uids(key);
    others.retain(|uid| !is_builtin || Some(uid) != own);
    if others.is_empty() {
        return Ok(());
    }
    // The cache may lack it.
    let live: Option<ClusterStack> = context.api.get(key).await?;
    let live = live.and_then(|live| live.metadata.uid);
    for uid in others {
        context.builtin.forget(&uid);
        if live.as_ref() != Some(&uid) {
            repository::remove(&settings.directory, key, &uid).await;
            info!(stack = %key, "removed the built-in stack repository: the ClusterStack is gone");
        }
    }
    repository::measure(context).await;
    Ok(())
}

/// Restores what Flux has, opens the repository, brings in what is missing, and asks Flux to fetch what it lacks.
async fn act(context: &Context, facts: &mut Facts<'_>) -> Publication {
    match publish(context, facts).await {
        Ok((mut publication, decision, is_opened)) => {
            repository::measure(context).await;
            if facts.may_ask(context) {
                for source in facts.to_fetch(context, is_opened) {
                    request_fetch(context, Some(&source), facts.now).await;
                }
            }
            publication.failures.extend(lost(&decision.lost).map(|hold| (hold, Class::Terminal)));
            publication.stop =
                publication.stop.or_else(|| facts.upstream.as_ref().err().cloned().map(Stop::from));
            publication
        }
        Err(stop) => Publication { stop: Some(stop), ..Publication::default() },
    }
}

/// Restores and brings in what is missing. Returns also the last decision, and whether the repository was opened.
async fn publish(
    context: &Context,
    facts: &mut Facts<'_>,
) -> Result<(Publication, BuiltinDecision, bool), Stop> {
    let mut is_opened = look_again(context, facts, false).await?.1;
    for name in decide(facts).restore {
        facts.restore(context, &name).await;
    }
    is_opened |= look_again(context, facts, false).await?.1;
    facts.list(context).await;
    let decision = decide(facts);
    let mut unusable = BTreeSet::new();
    let publish = async |name: ReleaseName| {
        let published = publish_one(context, facts, name.clone()).await;
        if matches!(published, Err(Stop::Held(_, Class::Terminal))) {
            unusable.insert(name);
        }
        published
    };
    let publication = publish_each(&decision.missing, &facts.is_current, publish).await;
    facts.unusable = unusable;
    let (decision, is_opened_now) = look_again(context, facts, true).await?;
    Ok((publication, decision, is_opened || is_opened_now))
}

fn decide(facts: &Facts) -> BuiltinDecision {
    let upstream = facts.usable_upstream();
    decide_builtin(&facts.builtin(upstream.as_ref()))
}

/// Reads the releases in the repository again, and opens it to Flux if it is complete. Returns also whether it was closed before.
async fn look_again(
    context: &Context,
    facts: &mut Facts<'_>,
    is_last: bool,
) -> Result<(BuiltinDecision, bool), Stop> {
    facts.there = repository::releases(&facts.repository).await?;
    let decision = decide(facts);
    // The login may be another one since.
    let is_opened = (facts.is_current)() && open(context, facts, &decision, is_last);
    Ok((decision, is_opened))
}

/// Opens the repository to Flux, or closes it. Returns whether it was closed before. An open one stays open until upstream has
/// answered: what is missing may be lost for good.
fn open(context: &Context, facts: &Facts, decision: &BuiltinDecision, is_last: bool) -> bool {
    let stays_open = !is_last && context.builtin.is_open(facts.uid);
    let closed = |why: &str, is_in_use| RepositoryAccess::Closed { why: why.to_owned(), is_in_use };
    let access = match &decision.not_yet {
        Some(why) if !stays_open => closed(why, true),
        _ if facts.there.is_empty() => closed("it has no release yet", false),
        _ => RepositoryAccess::Open(facts.login.clone()),
    };
    context.builtin.set_access(facts.uid, access)
}

/// Fetches a release and adds it to the repository.
async fn publish_one(context: &Context, facts: &Facts<'_>, name: ReleaseName) -> PublishedOne<CommitId> {
    let Ok((origin, _)) = &facts.upstream else { return Err(Stop::Changed) };
    let fetched = within(FETCH_TIMEOUT, &facts.source.url, origin.fetch(&name));
    let fetched = context.metrics.measure(RemoteOperation::FetchRelease, fetched, classified).await;
    let fetched =
        fetched.map_err(|error| Stop::Held(hold(Reason::PublishFailed, error.to_string()), error.class()))?;
    if !(facts.is_current)() {
        return Err(Stop::Changed);
    }
    // One at a time, so that none exceeds the limit beside others.
    let _adding = context.builtin.adding.lock().await;
    if !facts.is_in_use(&name) {
        facts.check_size(context).await?;
    }
    let is_private = facts.source.secret_ref.is_some();
    let published = repository::publish(&facts.repository, fetched, is_private).await?;
    if let Published::Written(commit) = &published {
        info!(stack = %facts.key, release = %name, %commit, "brought in");
    }
    Ok(Ok(published))
}

/// Reports commits that nothing has any more.
fn lost(names: &BTreeSet<ReleaseName>) -> Option<Hold> {
    let names: Vec<String> = names.iter().map(ToString::to_string).collect();
    (!names.is_empty()).then(|| {
        let message = format!(
            "upstream does not have the content that these releases were delivered with, and neither has Flux: {}: \
             running addons stay as they are; move their Clusters to another release",
            listed(&names, MAX_NAMES)
        );
        hold(Reason::PinUnreachable, message)
    })
}

/// Returns why a `ClusterStack` has no built-in stack repository if the operator serves none.
fn not_served(stack: &ClusterStack) -> Stop {
    let error = StackError::NotServed(stack.metadata.name.clone().unwrap_or_default());
    Stop::Held(hold(error.reason(), error.to_string()), Class::Terminal)
}
