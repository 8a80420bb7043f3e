//! Requests reconciles of Flux, like `flux reconcile --with-source`.

use std::sync::Arc;

use kube::Resource;
use tracing::warn;

use super::annotations::{annotate, annotate_unchanged};
use super::context::Context;
use super::events;
use crate::api::labels::REQUESTED_AT;
use crate::foreign::flux::observed::FluxObject;
use crate::runtime::api_server::RequestError;

/// Requests a reconcile of `found` with the value of a request for `object`, unless `found` has it. Returns the object.
///
/// A refusal is published as an event and is not an error: no delivery depends on the request, and the user can repeat it.
pub async fn forward(
    context: &Context,
    found: Arc<FluxObject>,
    object: &impl Resource<DynamicType = ()>,
    wanted: &str,
) -> Result<Arc<FluxObject>, RequestError> {
    if found.metadata.requested_at.as_deref() == Some(wanted) {
        return Ok(found);
    }
    match ask(context, &found, wanted, &[REQUESTED_AT]).await {
        Err(refusal) if refusal.is_refusal() => {
            warn!("a request to reconcile is not handed on: {refusal}");
            events::not_forwarded(context, object, &refusal).await;
            Ok(found)
        }
        asked => asked,
    }
}

/// Requests a reconcile of an object with these annotations, and returns the object. `wanted` is a value that Flux has not
/// handled yet: the current time if the operator itself makes the request.
pub async fn ask(
    context: &Context,
    found: &FluxObject,
    wanted: &str,
    by: &[&str],
) -> Result<Arc<FluxObject>, RequestError> {
    let by: Vec<_> = by.iter().map(|name| (*name, wanted)).collect();
    annotate(context, found, &by).await
}

/// Like [`ask`], unless the object changed since it was read. Returns whether Flux is asked.
pub async fn ask_unchanged(
    context: &Context,
    found: &FluxObject,
    wanted: &str,
    by: &[&str],
) -> Result<bool, RequestError> {
    let by: Vec<_> = by.iter().map(|name| (*name, wanted)).collect();
    match annotate_unchanged(context, found, &by).await {
        Err(error) if error.is_conflict() || error.is_not_found() => Ok(false),
        asked => asked.map(|_| true),
    }
}
