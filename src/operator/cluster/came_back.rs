//! A cluster that answers again: Flux is asked to try at once, instead of when its back-off ends.

use futures::future::try_join_all;
use jiff::Timestamp;
use tracing::info;

use super::super::context::Context;
use super::super::objects::{ClusterObject, term};
use super::super::{events, request};
use crate::api::labels::REQUESTED_AT;
use crate::api::{ClusterAddon, Reason};
use crate::foreign::flux::observed::{Observed, ObservedKind};
use crate::gate;
use crate::runtime::api_server::RequestError;
use crate::runtime::cache::{Cache, Key};

/// Asks Flux once to look at all that a cluster has, where the last status that was written says that the cluster was
/// lost. The status that follows says that it is back.
pub(super) async fn look_again(
    context: &Context,
    addon: &ClusterAddon,
    cluster: &ClusterObject,
) -> Result<(), RequestError> {
    let before = addon.status.as_ref().map_or(&[][..], |status| &status.conditions);
    if !gate::came_back(before, &cluster.cluster) {
        return Ok(());
    }
    let (now, owned) = (Timestamp::now().to_string(), term::owned_by("ClusterAddon", &Key::of(addon)));
    let mut count = ask_all(context, &context.caches.helm_releases, &owned, &now).await?;
    count += ask_all(context, &context.caches.kustomizations, &owned, &now).await?;
    info!(objects = count, "the cluster's API server is reachable again");
    let note =
        format!("the cluster's API server is reachable again: asked Flux to reconcile {count} objects now");
    events::normal(context, addon, Reason::Available, &note).await;
    Ok(())
}

async fn ask_all<Status: ObservedKind>(
    context: &Context,
    cache: &Cache<Observed<Status>>,
    owned: &str,
    now: &str,
) -> Result<usize, RequestError> {
    let found = cache.find(owned);
    let found = found.iter().filter(|object| !object.metadata.terminating);
    let asked =
        try_join_all(found.map(|object| request::ask(context, cache, object, now, &[REQUESTED_AT]))).await?;
    Ok(asked.len())
}
