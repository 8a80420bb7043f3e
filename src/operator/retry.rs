//! Requests what Flux does not do by itself: installations that it gave up on in spite of unlimited retries, and upgrades that it
//! takes for done.

use std::slice;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use tracing::{info, warn};

use super::context::Context;
use super::{annotations, request};
use crate::addons::Repeats;
use crate::api::labels::{FORCE_AT, REPEAT_AFTER, REQUESTED_AT, RESET_AT};
use crate::foreign::flux::observed::FluxObject;
use crate::rollup::Retries;
use crate::runtime::api_server::RequestError;
use crate::runtime::queue::{self, Next};

/// Delay before deciding again about an object that changed since the decision. Usually its event comes first.
pub(super) const REQUEUE_CHANGED_AFTER: Duration = Duration::from_secs(1);

/// Asks Flux to retry installations, unless their objects changed since the decision. Returns when the next retry is due.
pub(super) async fn ask(context: &Context, retries: &Retries, now: Timestamp) -> Result<Next, RequestError> {
    let next = retries.next.map_or(Next::Await, |due| queue::at(due, now));
    let done = "asked Flux to retry the installation";
    Ok(next.earlier(request_all(context, &retries.due, &now.to_string(), (RESET_AT, done)).await?))
}

/// Asks Flux to upgrade these objects, unless they changed since the decision.
pub(super) async fn force(
    context: &Context,
    releases: &[Arc<FluxObject>],
    now: Timestamp,
) -> Result<Next, RequestError> {
    request_all(
        context,
        releases,
        &now.to_string(),
        (FORCE_AT, "asked Flux for the upgrade that it takes for done"),
    )
    .await
}

/// Notes on the objects of addons that they moved before the upgrade of the Cluster. Returns whether all have the note that can have
/// it: an API server that refuses it delays no upgrade.
pub(super) async fn note_repeats(context: &Context, repeats: &Repeats) -> Result<bool, RequestError> {
    let mut are_noted = true;
    for release in &repeats.noted {
        match annotations::annotate(context, &**release, &[(REPEAT_AFTER, &repeats.upgrade)]).await {
            Err(changed) if changed.is_conflict() || changed.is_not_found() => are_noted = false,
            Err(refusal) if refusal.is_refusal() => {
                warn!(
                    release = release.name(),
                    "will not be upgraded once more after the Cluster: {refusal}"
                );
            }
            noted => _ = noted?,
        }
    }
    Ok(are_noted)
}

/// Asks Flux to upgrade the addons once more that moved before the upgrade of the Cluster, and removes the note from those that it
/// has upgraded, unless their objects changed since the decision.
pub(super) async fn repeat(
    context: &Context,
    repeats: &Repeats,
    now: Timestamp,
) -> Result<Next, RequestError> {
    let done = "asked Flux to upgrade once more after the upgrade of the Cluster";
    let mut next = repeats.next.map_or(Next::Await, |due| queue::at(due, now));
    for (release, request) in &repeats.due {
        let asked = request_all(context, slice::from_ref(release), request, (FORCE_AT, done)).await?;
        next = next.earlier(asked);
    }
    for release in &repeats.done {
        match annotations::remove_unchanged(context, &**release, REPEAT_AFTER).await {
            Err(changed) if changed.is_conflict() || changed.is_not_found() => {
                next = next.earlier(Next::After(REQUEUE_CHANGED_AFTER));
            }
            removed => _ = removed?,
        }
    }
    Ok(next)
}

/// Requests a reconcile of objects with this value and another annotation. Returns when to decide again about those that changed.
async fn request_all(
    context: &Context,
    releases: &[Arc<FluxObject>],
    wanted: &str,
    (annotation, done): (&str, &str),
) -> Result<Next, RequestError> {
    let mut next = Next::Await;
    for release in releases {
        if request::ask_unchanged(context, release, wanted, &[REQUESTED_AT, annotation]).await? {
            info!(release = release.name(), "{done}");
        } else {
            next = Next::After(REQUEUE_CHANGED_AFTER);
        }
    }
    Ok(next)
}
