//! Deletes the sources and charts of components that a release no longer has, once nothing refers to them.

use std::sync::Arc;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use kube::ResourceExt as _;
use tracing::info;

use super::super::context::Context;
use super::super::git_delivery::is_source_removed_from_git;
use super::super::write;
use super::Facts;
use super::inventory::is_used;
use super::tear_down::{fetch_owners, made_object};
use crate::foreign::flux::observed::FluxObject;
use crate::runtime::api_server::RequestError;
use crate::runtime::cache::Key;
use crate::runtime::queue::Next;
use crate::subscription::{Outdated, is_shared};

/// Delay before looking again whether a deleted object is gone.
const REQUEUE_AFTER: Duration = Duration::from_secs(30);

/// Time for which an object that no watch reports counts as one that refers to a source or chart.
const LIST_AGAIN_AFTER: SignedDuration = SignedDuration::from_hours(1);

/// Whether nothing is to be done about a source or chart for now: its file is removed from the repository, or an object that no
/// watch reports had it lately.
pub(super) fn is_put_off(context: &Context, source: &FluxObject, now: Timestamp) -> bool {
    let found = context.used_sources.get(&Key::of(source));
    found.is_some_and(|found| now < found + LIST_AGAIN_AFTER) || is_source_removed_from_git(context, source)
}

/// Deletes what is unused, and returns when to look at the others.
pub(super) async fn prune(
    context: &Context,
    facts: &Facts<'_>,
    outdated: &Outdated,
) -> Result<Next, RequestError> {
    let mut next = outdated.look_again.map_or(Next::Await, Next::After);
    for object in &outdated.unused {
        next = next.earlier(delete_unused(context, facts, object).await?);
    }
    Ok(next)
}

/// Deletes a source or chart, unless another release has it, or an object that no watch reports refers to it.
async fn delete_unused(
    context: &Context,
    facts: &Facts<'_>,
    object: &Arc<FluxObject>,
) -> Result<Next, RequestError> {
    let (key, release) = (Key::of(&**object), facts.object);
    let Some(found) = made_object(context, object.kind(), &key).await? else { return Ok(Next::Await) };
    let is_used = is_used(context, &found).await?;
    context.used_sources.set(&key, is_used.then_some(facts.now));
    if is_used {
        return Ok(Next::After(REQUEUE_AFTER));
    }
    fetch_owners(context, &found).await?;
    let others = context.caches.releases.all();
    if is_shared(release, others.iter().map(|other| &**other), &found) {
        write::drop_owner(context, &found, release.uid().as_deref(), &[]).await?;
    } else if write::delete_unchanged(context, &found).await? {
        info!("deleted {} {key}: no component of the ClusterStack or the release has it", found.kind());
    }
    Ok(Next::After(REQUEUE_AFTER))
}
