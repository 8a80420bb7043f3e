//! Deletes the releases that are unused for long enough. The API server confirms each twice: before the decision, because
//! only confirmed deletions spend the budget, and right before the deletion, because the status is written in between.

use std::collections::BTreeSet;

use tracing::{info, warn};

use super::super::context::Context;
use super::super::release::users;
use super::super::{events, write};
use super::Facts;
use crate::api::{ClusterStack, ClusterStackRelease, Reason};
use crate::names::ReleaseName;
use crate::runtime::api_server::RequestError;
use crate::runtime::cache::Key;
use crate::subscription::{Retirement, RetirementFacts, due, has_room, is_confirmed};

/// Returns the releases that are unused for long enough, and that the API server confirms to be unused, as far as the
/// budget permits.
pub(super) async fn gather_confirmed(
    context: &Context,
    facts: &RetirementFacts<'_>,
) -> Result<BTreeSet<ReleaseName>, RequestError> {
    let mut confirmed = BTreeSet::new();
    for name in due(facts) {
        let Some(release) = facts.owned.get(name).filter(|_| has_room(facts, confirmed.len())) else {
            continue;
        };
        if is_unused(context, facts.stack, release).await? {
            confirmed.insert(name.clone());
        }
    }
    Ok(confirmed)
}

/// Whether the API server confirms that a release is unused.
async fn is_unused(
    context: &Context,
    stack: &ClusterStack,
    release: &ClusterStackRelease,
) -> Result<bool, RequestError> {
    let live_stack: Option<ClusterStack> = context.api.get(&Key::of(stack)).await?;
    let live_release: Option<ClusterStackRelease> = context.api.get(&Key::of(release)).await?;
    let is_used = users::any_user(context, release).await?;
    let is_unused = is_confirmed((stack, release), (live_stack.as_ref(), live_release.as_ref()), is_used);
    if !is_unused {
        warn!(
            release = %Key::of(release),
            "the cache has no use of the release, but the API server does not confirm that: the release is kept"
        );
    }
    Ok(is_unused)
}

/// Deletes the releases that were decided on. The reconcile of each release deletes its objects. The status has counted all
/// of them: a failure of one does not stop the deletion of others, and the first failure is returned.
pub(super) async fn prune(
    context: &Context,
    facts: &Facts,
    retirement: &Retirement,
) -> Result<(), RequestError> {
    let mut result = Ok(());
    for release in retirement.delete.iter().filter_map(|name| facts.releases.owned.get(name)) {
        result = result.and(delete(context, &facts.stack, release).await);
    }
    result
}

/// Deletes a release, unless the API server no longer confirms that it is unused.
async fn delete(
    context: &Context,
    stack: &ClusterStack,
    release: &ClusterStackRelease,
) -> Result<(), RequestError> {
    if !is_unused(context, stack, release).await? {
        return Ok(());
    }
    let key = Key::of(release);
    write::delete(context, release).await?;
    info!(release = %key, "deleted the unused release");
    events::normal(context, stack, Reason::Retiring, &format!("{} was deleted", key.name)).await;
    context.triggers.releases.now(key);
    Ok(())
}
