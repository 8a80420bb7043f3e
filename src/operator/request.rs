//! Requests to reconcile that are handed on, as `flux reconcile --with-source` does.

use kube::{Resource, ResourceExt as _};
use tracing::warn;

use super::annotations::annotate;
use super::context::Context;
use super::events;
use crate::api::labels::REQUESTED_AT;
use crate::foreign::flux::observed::{Observed, ObservedKind};
use crate::runtime::api_server::RequestError;
use crate::runtime::cache::{Cache, Key};

/// Asks Flux to look at `target`, where somebody asked that of `object` and it was not [handled](REQUESTED_AT) yet.
///
/// A refusal is told in an event and is no error: nothing that is delivered depends on the request, and a person asks again.
pub async fn forward<Status: ObservedKind>(
    context: &Context,
    cache: &Cache<Observed<Status>>,
    target: &Key,
    object: &impl Resource<DynamicType = ()>,
    handled: Option<&str>,
) -> Result<(), RequestError> {
    let Some(wanted) = object.annotations().get(REQUESTED_AT) else { return Ok(()) };
    let Some(found) = cache.get(target).filter(|_| handled != Some(wanted)) else { return Ok(()) };
    if found.metadata.requested_at.as_ref() == Some(wanted) {
        return Ok(());
    }
    match ask(context, cache, &found, wanted, &[REQUESTED_AT]).await {
        Err(refusal) if refusal.is_refusal() => {
            warn!("a request to reconcile is not handed on: {refusal}");
            events::not_handed_on(context, object, &refusal).await;
            Ok(())
        }
        asked => asked,
    }
}

/// Asks Flux by these annotations to look at an object now. `wanted` is what it has not handled yet: the time, for a request
/// that we make up.
pub async fn ask<Status: ObservedKind>(
    context: &Context,
    cache: &Cache<Observed<Status>>,
    found: &Observed<Status>,
    wanted: &str,
    by: &[&str],
) -> Result<(), RequestError> {
    let by: Vec<_> = by.iter().map(|name| (*name, wanted)).collect();
    annotate(context, cache, found, &by).await
}
