//! Releases that nothing wants: deleted after a while, a few at a time, and not before the API server itself was asked.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::ResourceExt as _;
use tracing::{info, warn};

use super::super::context::Context;
use super::super::release::users;
use super::super::{events, ownership};
use super::releases::Releases;
use crate::api::cluster_stack::Pruned;
use crate::api::{ClusterStack, ClusterStackRelease, ConditionType, Reason, labels};
use crate::gate::Hold;
use crate::names::ReleaseName;
use crate::rollup::cluster_stack::Trouble;
use crate::runtime::api_server::RequestError;
use crate::runtime::cache::Key;
use crate::subscription::{self, PATIENCE, Role, deletions, in_words, left, spent};

/// What is to be deleted now.
#[derive(Debug, Default)]
pub(super) struct Retirement {
    /// The releases, all of which may go.
    due: Vec<Arc<ClusterStackRelease>>,
    /// What the status has to say before they go.
    pub(super) pruned: Option<Pruned>,
    /// When to look again.
    pub(super) next: Option<Timestamp>,
}

/// Finds the releases that are due, as far as the budget goes. The others are told.
pub(super) async fn plan(
    context: &Context,
    stack: &ClusterStack,
    releases: &Releases,
    troubles: &mut BTreeMap<ReleaseName, Trouble>,
    writes: bool,
) -> Result<Retirement, RequestError> {
    let now = Timestamp::now();
    let mut pruned = stack.status.as_ref().and_then(|status| status.pruned.clone());
    let mut retirement = Retirement { pruned: pruned.clone(), ..Retirement::default() };
    if !writes {
        return Ok(retirement);
    }
    let mut due = Vec::new();
    for (name, release) in &releases.owned {
        match since(releases, name, release).map(|since| since.saturating_add(PATIENCE)) {
            Some(Ok(end)) if end > now => {
                retirement.next = retirement.next.into_iter().chain([end]).min();
            }
            Some(_) if said(release) == Some(Reason::Retiring.as_str()) => due.push((name, release)),
            _ => {}
        }
    }
    let names = deletions(due.iter().map(|(name, _)| *name));
    let annotation = stack.annotations().get(labels::PRUNE);
    let allowed = subscription::allows(annotation.map(String::as_str), &names);
    for (name, release) in due {
        if !allowed && left(pruned.as_ref(), releases.owned.len(), now) == 0 {
            let budget = in_words(pruned.as_ref(), (releases.owned.len(), "releases"), now);
            troubles.insert(name.clone(), exceeded(&names, &budget));
            let refilled = subscription::refilled(pruned.as_ref(), now);
            retirement.next = retirement.next.into_iter().chain(refilled).min();
        } else if is_caused(context, stack, release).await? {
            pruned = Some(spent(pruned.as_ref(), now));
            retirement.due.push(release.clone());
        } else {
            warn!(
                release = %name,
                "the cache has no use of the release, but the API server does not confirm that: the release is kept"
            );
        }
    }
    retirement.pruned = pruned;
    Ok(retirement)
}

/// Since when nothing wants a release.
fn since(releases: &Releases, name: &ReleaseName, release: &ClusterStackRelease) -> Option<Timestamp> {
    let is_retiring = releases.roles.get(name) == Some(&Role::Retiring);
    let is_there = is_retiring && release.metadata.deletion_timestamp.is_none();
    release.annotations().get(labels::RETIRING_SINCE).filter(|_| is_there)?.parse().ok()
}

/// What its own reconcile says of its use: it has looked at what the class shares with others.
fn said(release: &ClusterStackRelease) -> Option<&str> {
    let conditions = &release.status.as_ref()?.conditions;
    let in_use = |condition: &&Condition| condition.type_ == ConditionType::InUse.as_str();
    conditions.iter().find(in_use).map(|condition| condition.reason.as_str())
}

fn exceeded(deletions: &str, budget: &str) -> Trouble {
    let message = format!(
        "waits to be deleted: {budget}; annotate the ClusterStack with {}={deletions} to delete all that wait now",
        labels::PRUNE
    );
    Trouble { is_issue: true, hold: Hold { reason: Reason::PruneBudgetExceeded, message } }
}

/// Whether the API server itself says that nothing wants the release: the `ClusterStack` that is there does not offer it, it
/// is still on its way out, and none of its last users has its class.
async fn is_caused(
    context: &Context,
    stack: &ClusterStack,
    release: &ClusterStackRelease,
) -> Result<bool, RequestError> {
    let now: Option<ClusterStack> = context.api.get(&Key::of(stack)).await?;
    let unchanged = |now: &ClusterStack| {
        now.uid() == stack.uid() && now.spec == stack.spec && now.metadata.deletion_timestamp.is_none()
    };
    if !now.is_some_and(|now| unchanged(&now)) {
        return Ok(false);
    }
    let now: Option<ClusterStackRelease> = context.api.get(&Key::of(release)).await?;
    let is_retiring = |now: &ClusterStackRelease| {
        now.uid() == release.uid() && now.annotations().contains_key(labels::RETIRING_SINCE)
    };
    if !now.is_some_and(|now| is_retiring(&now)) {
        return Ok(false);
    }
    Ok(!users::any_last_user(context, release).await?)
}

impl Retirement {
    /// Deletes what is due. What was made of each goes by its own reconcile.
    pub(super) async fn carry_out(self, context: &Context, stack: &ClusterStack) -> Result<(), RequestError> {
        for release in self.due {
            let key = Key::of(&*release);
            ownership::delete(context, &context.caches.releases, &*release).await?;
            info!(release = %key, "deleted the unused release");
            events::normal(context, stack, Reason::Retiring, &format!("{} was deleted", key.name)).await;
            context.triggers.releases.now(key);
        }
        Ok(())
    }
}
