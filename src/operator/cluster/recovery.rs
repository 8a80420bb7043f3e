//! Asks Flux to reconcile when a cluster is reachable again, instead of waiting for the end of Flux's back-off.

use std::sync::Arc;

use futures::future::try_join_all;
use jiff::Timestamp;
use tracing::info;

use super::super::context::Context;
use super::super::{events, request};
use crate::api::labels::REQUESTED_AT;
use crate::api::{ClusterAddon, Reason};
use crate::foreign::flux::observed::FluxObject;
use crate::runtime::api_server::RequestError;

/// Requests a reconcile of objects. The following status reports that the cluster is reachable again.
pub(super) async fn request_reconcile(
    context: &Context,
    addon: &ClusterAddon,
    objects: &[Arc<FluxObject>],
    now: Timestamp,
) -> Result<(), RequestError> {
    let now = now.to_string();
    let newest: Vec<_> = objects.iter().map(|object| context.caches.flux.newest(object)).collect();
    try_join_all(newest.iter().map(|object| request::ask(context, object, &now, &[REQUESTED_AT]))).await?;
    let count = newest.len();
    info!(objects = count, "the cluster's API server is reachable again");
    let note =
        format!("the cluster's API server is reachable again: asked Flux to reconcile {count} objects now");
    events::normal(context, addon, Reason::Available, &note).await;
    Ok(())
}
