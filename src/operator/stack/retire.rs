//! Deletes unused releases. The operator confirms each deletion with the API server before the decision, and deletes after
//! the status counts it.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use tracing::{info, warn};

use super::super::context::Context;
use super::super::release::users;
use super::super::{events, ownership};
use super::releases::Releases;
use crate::api::{ClusterStack, ClusterStackRelease, Reason};
use crate::names::ReleaseName;
use crate::runtime::api_server::RequestError;
use crate::runtime::cache::Key;
use crate::subscription::{Retirement, RetirementFacts, decide_retirement, due, has_room, is_confirmed};

/// Decides which releases to delete within the budget.
pub(super) async fn decide(
    context: &Context,
    stack: &ClusterStack,
    releases: &Releases,
    now: Timestamp,
) -> Result<Retirement, RequestError> {
    let owned: BTreeMap<ReleaseName, &ClusterStackRelease> =
        releases.owned.iter().map(|(name, release)| (name.clone(), &**release)).collect();
    let facts = RetirementFacts { stack, owned: &owned, roles: &releases.roles, now };
    let mut confirmed = BTreeSet::new();
    for name in due(&facts) {
        let Some(release) = owned.get(name).filter(|_| has_room(&facts, confirmed.len())) else { continue };
        if confirm(context, stack, release).await? {
            confirmed.insert(name.clone());
        } else {
            warn!(
                release = %name,
                "the cache has no use of the release, but the API server does not confirm that: the release is kept"
            );
        }
    }
    Ok(decide_retirement(&facts, &confirmed))
}

/// Whether the API server confirms that a release is unused.
async fn confirm(
    context: &Context,
    stack: &ClusterStack,
    release: &ClusterStackRelease,
) -> Result<bool, RequestError> {
    let live_stack: Option<ClusterStack> = context.api.get(&Key::of(stack)).await?;
    let live_release: Option<ClusterStackRelease> = context.api.get(&Key::of(release)).await?;
    let is_used = users::any_last_user(context, release).await?;
    Ok(is_confirmed((stack, release), (live_stack.as_ref(), live_release.as_ref()), is_used))
}

/// Deletes the releases that were decided on. The reconcile of each release deletes its objects.
pub(super) async fn prune(
    context: &Context,
    stack: &ClusterStack,
    releases: &Releases,
    retirement: &Retirement,
) -> Result<(), RequestError> {
    for release in retirement.delete.iter().filter_map(|name| releases.owned.get(name)) {
        let key = Key::of(&**release);
        ownership::delete(context, &context.caches.releases, &**release).await?;
        info!(release = %key, "deleted the unused release");
        events::normal(context, stack, Reason::Retiring, &format!("{} was deleted", key.name)).await;
        context.triggers.releases.now(key);
    }
    Ok(())
}
