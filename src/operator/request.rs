//! Forwards requests to reconcile to Flux, like `flux reconcile --with-source`.

use kube::{Resource, ResourceExt as _};
use tracing::warn;

use super::annotations::annotate;
use super::context::Context;
use super::events;
use crate::api::labels::REQUESTED_AT;
use crate::foreign::flux::FluxKind;
use crate::foreign::flux::observed::FluxObject;
use crate::runtime::api_server::RequestError;
use crate::runtime::cache::Key;

/// Requests a reconcile of `target` if one was requested for `object` and not [handled](REQUESTED_AT) yet.
///
/// A refusal is published as an event and is not an error: no delivery depends on the request, and the user can repeat it.
pub async fn forward(
    context: &Context,
    (kind, target): (FluxKind, &Key),
    object: &impl Resource<DynamicType = ()>,
    handled: Option<&str>,
) -> Result<(), RequestError> {
    let Some(wanted) = object.annotations().get(REQUESTED_AT) else { return Ok(()) };
    let found = context.caches.flux.get(kind, target).filter(|_| handled != Some(wanted));
    let Some(found) = found else { return Ok(()) };
    if found.metadata.requested_at.as_ref() == Some(wanted) {
        return Ok(());
    }
    match ask(context, &found, wanted, &[REQUESTED_AT]).await {
        Err(refusal) if refusal.is_refusal() => {
            warn!("a request to reconcile is not handed on: {refusal}");
            events::not_forwarded(context, object, &refusal).await;
            Ok(())
        }
        asked => asked,
    }
}

/// Requests a reconcile of an object with these annotations. `wanted` is a value that Flux has not handled yet: the current
/// time if the operator itself makes the request.
pub async fn ask(
    context: &Context,
    found: &FluxObject,
    wanted: &str,
    by: &[&str],
) -> Result<(), RequestError> {
    let by: Vec<_> = by.iter().map(|name| (*name, wanted)).collect();
    annotate(context, found, &by).await
}
