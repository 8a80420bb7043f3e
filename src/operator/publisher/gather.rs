//! Gathers the facts about a publication: the releases upstream, and those in the stack repository.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;

use super::super::context::Context;
use super::super::metrics::{RemoteOperation, classified};
use super::{Facts, Repositories, Stop, hold, origin, publish, within};
use crate::api::{ClusterStack, Reason, Upstream};
use crate::foreign::flux::FluxKind;
use crate::foreign::flux::observed::FluxObject;
use crate::plan::existing::is_marked;
use crate::runtime::cache::Key;

/// Timeout for listing releases. Each response has its own limit, but a host can send many of them slowly.
pub(super) const LIST_TIMEOUT: Duration = Duration::from_mins(5);

/// Gathers the facts about a publication.
#[expect(clippy::disallowed_methods, reason = "gather takes the time once")]
pub(super) async fn gather<'a>(
    context: &'a Context,
    key: &'a Key,
    stack: &'a ClusterStack,
    upstream: &'a Upstream,
) -> Facts<'a> {
    let now = context.clock.now();
    Facts {
        now,
        key,
        stack,
        upstream,
        repositories: repositories(context, key, (stack, upstream), now).await,
        followed: followed(context, stack),
        is_current: Box::new(move || {
            context.api.may_write() && is_unchanged(stack, context.caches.stacks.get(key).as_deref())
        }),
    }
}

/// Lists the releases of both repositories.
async fn repositories(
    context: &Context,
    key: &Key,
    (stack, upstream): (&ClusterStack, &Upstream),
    now: Timestamp,
) -> Result<Repositories, Stop> {
    let Some(git) = stack.spec.source.as_ref().and_then(|source| source.git.as_ref()) else {
        // The CRD's rules reject this.
        return Err(
            hold(Reason::Invalid, "source.upstream excludes source.gitRepositoryRef".to_owned()).into()
        );
    };
    let origin = origin::open(context, &key.namespace, upstream).await?;
    let listing = within(LIST_TIMEOUT, &upstream.url, origin.list());
    let listing = context.metrics.measure(RemoteOperation::ListReleases, listing, classified).await;
    let listing = listing.map_err(|error| hold(Reason::UpstreamUnavailable, error.to_string()))?;
    let target = publish::Target::of(context, key, git, (upstream, now)).await?;
    let there = target.clone().releases(context).await?;
    Ok(Repositories { origin, listing, target, there })
}

pub(super) fn followed(context: &Context, stack: &ClusterStack) -> Option<Arc<FluxObject>> {
    let found = context.caches.flux.get(FluxKind::GitRepository, &context.source_key(stack)?)?;
    is_marked((&*found).into()).then_some(found)
}

/// Whether a `ClusterStack` is as it was when the publication was decided, and is not being deleted.
pub(super) fn is_unchanged(before: &ClusterStack, now: Option<&ClusterStack>) -> bool {
    is_same(before, now) && now.is_some_and(|now| now.metadata.deletion_timestamp.is_none())
}

/// Whether a `ClusterStack` is as it was. One that is being deleted still has a built-in stack repository.
pub(super) fn is_same(before: &ClusterStack, now: Option<&ClusterStack>) -> bool {
    let (before, now) = (&before.metadata, now.map(|now| &now.metadata));
    now.is_some_and(|now| (&now.uid, now.generation) == (&before.uid, before.generation))
}
