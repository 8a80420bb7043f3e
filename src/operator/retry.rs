//! Requests what Flux does not do by itself: installations that it gave up on in spite of unlimited retries, and upgrades that it
//! takes for done.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use tracing::info;

use super::context::Context;
use super::{annotations, request};
use crate::addons::Repeats;
use crate::api::labels::{FORCE_AT, REPEAT_AFTER, REQUESTED_AT, RESET_AT};
use crate::foreign::flux::observed::FluxObject;
use crate::rollup::Retries;
use crate::runtime::api_server::RequestError;
use crate::runtime::queue::{self, Next};

/// Delay before deciding again about an object that changed since the decision. Usually its event comes first.
const REQUEUE_CHANGED_AFTER: Duration = Duration::from_secs(1);

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

/// Notes on the objects of addons that Flux is asked to upgrade them once more after the upgrade of the Cluster.
pub(super) async fn note_repeats(context: &Context, repeats: &Repeats) -> Result<(), RequestError> {
    for release in &repeats.noted {
        annotations::annotate(context, &**release, &[(REPEAT_AFTER, &repeats.upgrade)]).await?;
    }
    Ok(())
}

/// Asks Flux to upgrade the addons once more that moved before the upgrade of the Cluster, unless their objects changed since the
/// decision.
pub(super) async fn repeat(context: &Context, repeats: &Repeats) -> Result<Next, RequestError> {
    let done = "asked Flux to upgrade once more after the upgrade of the Cluster";
    request_all(context, &repeats.due, &repeats.upgrade, (FORCE_AT, done)).await
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
