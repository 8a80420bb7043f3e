//! Asks Flux to reconcile when a cluster is reachable again, instead of waiting for the end of Flux's back-off.

use futures::future::try_join_all;
use jiff::Timestamp;
use tracing::info;

use super::super::context::Context;
use super::super::objects::index;
use super::super::{events, request};
use super::flux_objects;
use crate::api::labels::REQUESTED_AT;
use crate::api::{ClusterAddon, Reason};
use crate::runtime::api_server::RequestError;
use crate::runtime::cache::Key;

/// Requests a reconcile of all objects of a cluster. The following status reports that the cluster is reachable again.
pub(super) async fn request_reconcile(
    context: &Context,
    addon: &ClusterAddon,
    now: Timestamp,
) -> Result<(), RequestError> {
    let now = now.to_string();
    let owned = flux_objects::by_index(context, &index::owned_by("ClusterAddon", &Key::of(addon)));
    let owned: Vec<_> = owned.iter().filter(|object| !object.metadata.terminating).collect();
    try_join_all(owned.iter().map(|object| request::ask(context, object, &now, &[REQUESTED_AT]))).await?;
    let count = owned.len();
    info!(objects = count, "the cluster's API server is reachable again");
    let note =
        format!("the cluster's API server is reachable again: asked Flux to reconcile {count} objects now");
    events::normal(context, addon, Reason::Available, &note).await;
    Ok(())
}
