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
pub async fn forward(
    context: &Context,
    target: (FluxKind, &Key),
    object: &impl Resource<DynamicType = ()>,
    handled: Option<&str>,
) -> Result<(), RequestError> {
    let wanted = object.annotations().get(REQUESTED_AT).filter(|wanted| handled != Some(wanted.as_str()));
    let Some(wanted) = wanted else { return Ok(()) };
    forward_value(context, target, object, wanted).await
}

/// Requests a reconcile of `target` with the value of a request for `object`, unless `target` has it.
///
/// A refusal is published as an event and is not an error: no delivery depends on the request, and the user can repeat it.
pub async fn forward_value(
    context: &Context,
    (kind, target): (FluxKind, &Key),
    object: &impl Resource<DynamicType = ()>,
    wanted: &str,
) -> Result<(), RequestError> {
    let Some(found) = context.caches.flux.get(kind, target) else { return Ok(()) };
    if found.metadata.requested_at.as_deref() == Some(wanted) {
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
