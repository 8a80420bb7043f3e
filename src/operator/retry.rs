//! Requests what Flux does not do by itself: installations that it gave up on in spite of unlimited retries, and upgrades that it
//! takes for done.

use std::sync::Arc;

use jiff::Timestamp;
use kube::ResourceExt as _;
use tracing::info;

use super::context::Context;
use super::request;
use crate::api::labels::{FORCE_AT, REQUESTED_AT, RESET_AT};
use crate::foreign::flux::FluxKind;
use crate::foreign::flux::observed::FluxObject;
use crate::rollup::{Retries, retry_at};
use crate::runtime::api_server::RequestError;
use crate::runtime::cache::Key;
use crate::runtime::queue::{self, Next};

/// Asks Flux to retry installations that are still due: a write may have changed an object since the decision. Returns when
/// the next retry is due.
pub(super) async fn ask(context: &Context, retries: &Retries, now: Timestamp) -> Result<Next, RequestError> {
    for release in &retries.due {
        let found = context.caches.flux.get(FluxKind::HelmRelease, &Key::of(&**release));
        let is_due = |due: Timestamp| due <= now;
        if let Some(release) = found.filter(|found| retry_at(found).is_some_and(is_due)) {
            request::ask(context, &release, &now.to_string(), &[REQUESTED_AT, RESET_AT]).await?;
            info!(release = release.name_any(), "asked Flux to retry the installation");
        }
    }
    Ok(retries.next.map_or(Next::Await, |due| queue::at(due, now)))
}

/// Asks Flux to upgrade these objects, unless their specs changed since the decision.
pub(super) async fn force(
    context: &Context,
    releases: &[Arc<FluxObject>],
    now: Timestamp,
) -> Result<(), RequestError> {
    for release in releases {
        let found = context.caches.flux.get(FluxKind::HelmRelease, &Key::of(&**release));
        let is_same = |found: &Arc<FluxObject>| found.metadata == release.metadata;
        if let Some(found) = found.filter(is_same) {
            request::ask(context, &found, &now.to_string(), &[REQUESTED_AT, FORCE_AT]).await?;
            info!(release = found.name(), "asked Flux for the upgrade that it takes for done");
        }
    }
    Ok(())
}
