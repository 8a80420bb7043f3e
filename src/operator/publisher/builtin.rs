//! The built-in stack repository of a `ClusterStack`: brings in what it needs, and opens it to Flux when it is complete.
//!
//! ```text
//! source.upstream ─ list ─▶ offered or in use, but not there ─ fetch, verify, lint ─▶ a commit each ─▶ Git server ─▶ Flux
//!                                       Flux's artifact of a pinned commit that upstream lost ─┘
//! ```

mod gather;
mod repository;

use std::collections::BTreeSet;

use tracing::info;

use super::super::builtin::RepositoryAccess;
use super::super::context::Context;
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
use gather::{Facts, gather};

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
    let (decision, publication) = match gather(context, key, stack, upstream).await {
        Ok(mut facts) => {
            let publication = act(context, &mut facts).await;
            (facts.offered(), publication)
        }
        Err(stop) => {
            if let (Some(uid), Stop::Held(hold, _)) = (&stack.metadata.uid, &stop) {
                context.builtin.set_access(uid, RepositoryAccess::Closed(hold.message.clone()));
            }
            (super::Decision::default(), Publication { stop: Some(stop), ..Publication::default() })
        }
    };
    let (report, next) = roll_up(&decision, publication, interval);
    record(context, key, report);
    next
}

/// Returns the `ClusterStack`s that have a repository on disk, also those that are gone.
pub(super) fn kept(context: &Context) -> Vec<Key> {
    context
        .settings
        .builtin
        .as_ref()
        .map(|settings| repository::keys(&settings.directory))
        .unwrap_or_default()
}

/// Stops serving the repository of a `ClusterStack` that has another source, and removes it if the `ClusterStack` is gone.
pub(super) async fn close(
    context: &Context,
    key: &Key,
    stack: Option<&ClusterStack>,
) -> Result<(), ReconcileError> {
    let Some(settings) = &context.settings.builtin else { return Ok(()) };
    if let Some(uid) = stack.and_then(|stack| stack.metadata.uid.as_ref()) {
        context.builtin.forget(uid);
        return Ok(());
    }
    let uids = repository::uids(&settings.directory, key);
    if uids.is_empty() {
        return Ok(());
    }
    // The cache may lack it.
    let live: Option<ClusterStack> = context.api.get(key).await?;
    let live = live.and_then(|live| live.metadata.uid);
    for uid in uids.into_iter().filter(|uid| live.as_ref() != Some(uid)) {
        context.builtin.forget(&uid);
        repository::remove(&settings.directory, key, &uid).await;
        info!(stack = %key, "removed the built-in stack repository: the ClusterStack is gone");
    }
    Ok(())
}

/// Brings in what is missing, opens or closes the repository, and asks Flux to fetch it if it changed.
async fn act(context: &Context, facts: &mut Facts<'_>) -> Publication {
    let mut is_restored = false;
    for name in decide(facts).restore {
        is_restored |= facts.restore(context, &name).await;
    }
    let (decision, mut is_opened) = match look_again(context, facts).await {
        Ok(now) => now,
        Err(stop) => return Publication { stop: Some(stop), ..Publication::default() },
    };
    let publish = async |name: ReleaseName| publish_one(context, facts, name).await;
    let mut publication = publish_each(&decision.missing, &facts.is_current, publish).await;
    publication.is_changed |= is_restored;
    let (decision, is_opened_now) = match look_again(context, facts).await {
        Ok(now) => now,
        Err(stop) => return Publication { stop: Some(stop), ..publication },
    };
    is_opened |= is_opened_now;
    if context.api.may_write() {
        for source in facts.to_fetch(context, publication.is_changed, is_opened) {
            request_fetch(context, Some(&source), facts.now).await;
        }
    }
    publication.failures.extend(lost(&decision.lost).map(|hold| (hold, Class::Terminal)));
    publication.stop = publication.stop.or_else(|| facts.upstream.as_ref().err().cloned().map(Stop::from));
    publication
}

fn decide(facts: &Facts) -> BuiltinDecision {
    decide_builtin(&facts.builtin())
}

/// Reads the releases in the repository again, and opens it to Flux if it is complete. Returns also whether it was closed before.
async fn look_again(context: &Context, facts: &mut Facts<'_>) -> Result<(BuiltinDecision, bool), Stop> {
    facts.look_again().await?;
    let decision = decide(facts);
    let is_opened = open(context, facts, &decision);
    Ok((decision, is_opened))
}

/// Opens the repository to Flux, or closes it. Returns whether it was closed before.
fn open(context: &Context, facts: &Facts, decision: &BuiltinDecision) -> bool {
    let access = match (&decision.not_yet, facts.there.is_empty()) {
        (Some(why), _) => RepositoryAccess::Closed(why.clone()),
        (None, true) => RepositoryAccess::Closed("it has no release yet".to_owned()),
        (None, false) => RepositoryAccess::Open(facts.login.clone()),
    };
    context.builtin.set_access(facts.uid, access)
}

/// Fetches a release and adds it to the repository.
async fn publish_one(context: &Context, facts: &Facts<'_>, name: ReleaseName) -> PublishedOne<CommitId> {
    let Ok((origin, _)) = &facts.upstream else { return Err(Stop::Changed) };
    facts.check_size(context).await?;
    let fetched = within(FETCH_TIMEOUT, &facts.url, origin.fetch(&name)).await;
    let fetched =
        fetched.map_err(|error| Stop::Held(hold(Reason::PublishFailed, error.to_string()), error.class()))?;
    if !(facts.is_current)() {
        return Err(Stop::Changed);
    }
    let published = repository::publish(&facts.repository, fetched).await?;
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
