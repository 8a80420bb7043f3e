//! Takes the snapshot of the addons of a Cluster, after fetching what the watches may not report.

use std::sync::Arc;

use jiff::Timestamp;

use super::super::context::Context;
use super::super::deliver;
use super::super::git_delivery::is_removed_from_git;
use super::super::objects::index;
use super::flux_objects;
use crate::addons::{Available, Delivery, Snapshot, Target, unaccounted};
use crate::api::ClusterAddon;
use crate::foreign::flux::FluxKind;
use crate::foreign::flux::observed::FluxObject;
use crate::foreign::flux::ownership::other_kind;
use crate::plan::PlannedObject;
use crate::plan::write::RepairState;
use crate::runtime::api_server::RequestError;
use crate::runtime::cache::Key;

/// Takes the snapshot of the addons of a Cluster.
#[expect(clippy::disallowed_methods, reason = "gather takes the time once")]
pub(super) async fn take(
    context: &Context,
    addon: Arc<ClusterAddon>,
    target: &Target<'_>,
) -> Result<Snapshot, RequestError> {
    let now = context.clock.now();
    let mut recalled = Vec::new();
    if let Target::Available(available) = target {
        recalled = recall(context, &addon, available).await?;
        deliver::look_again(context, &available.plan, now).await?;
        find_taken_names(context, available, now).await?;
    }
    Ok(snapshot(context, addon, target, (recalled, now)))
}

/// Returns the objects of addons that the release does not have, and that only the status names. The cache does not keep one
/// without the operator's label.
async fn recall(
    context: &Context,
    addon: &ClusterAddon,
    available: &Available<'_>,
) -> Result<Vec<Arc<FluxObject>>, RequestError> {
    let cached = flux_objects::by_index(context, &index::owned_by("ClusterAddon", &Key::of(addon)));
    let is_planned = |kind: FluxKind, name: &str| {
        available.planned().any(|planned| planned.kind() == Some(kind) && planned.id.name == name)
    };
    let named = unaccounted(addon, &cached, is_planned);
    let found = flux_objects::fetch_owned(context, addon, &named).await?.into_iter();
    Ok(found.map(|live| context.caches.flux.of(live.kind()).written(live)).collect())
}

/// Fetches the planned objects that the cache lacks and whose name an object of the other kind has. If that is the old form of
/// the addon, it stays while an object of another client has the planned name: without both, the addon would be uninstalled.
async fn find_taken_names(
    context: &Context,
    available: &Available<'_>,
    now: Timestamp,
) -> Result<(), RequestError> {
    if available.delivery() != Delivery::Apply {
        return Ok(());
    }
    for planned in available.planned() {
        let Some(kind) = planned.kind() else { continue };
        let key = planned.id.key();
        let has_other = context.caches.flux.get(other_kind(kind.as_str()), &key).is_some();
        let is_known = context.caches.flux.get(kind, &key).or_else(|| context.occupants.get(kind, &key));
        if has_other && is_known.is_none() {
            deliver::existing_object(context, (kind, planned), now).await?;
        }
    }
    Ok(())
}

/// Returns the snapshot of the addons of a Cluster.
fn snapshot(
    context: &Context,
    addon: Arc<ClusterAddon>,
    target: &Target<'_>,
    (recalled, now): (Vec<Arc<FluxObject>>, Timestamp),
) -> Snapshot {
    let key = Key::of(&*addon);
    let mut objects = flux_objects::by_index(context, &index::owned_by("ClusterAddon", &key));
    for found in recalled {
        if !objects.iter().any(|object| (object.kind(), object.name()) == (found.kind(), found.name())) {
            objects.push(found);
        }
    }
    let reported = addon.status.iter().flat_map(|status| &status.addons);
    let reported = reported.filter_map(|of| of.object.as_ref());
    let reported = reported.filter_map(|object| Some((FluxKind::of(&object.kind)?, object.name.as_str())));
    let reported = reported.filter(|(kind, _)| !kind.is_source());
    let planned = match target {
        Target::Available(available) => available.planned().map(|planned| planned.id.name.as_str()).collect(),
        _ => Vec::new(),
    };
    let planned = planned.into_iter().flat_map(|name| FluxKind::DELIVERING.map(|kind| (kind, name)));
    for (kind, name) in reported.chain(planned) {
        if !objects.iter().any(|object| (object.kind(), object.name()) == (kind, name)) {
            objects.extend(context.caches.flux.get(kind, &Key::new(&key.namespace, name)));
        }
    }
    let without_file = objects.iter().filter(|object| is_removed_from_git(context, object));
    let without_file = without_file.map(|object| (object.kind(), object.name().to_owned())).collect();
    let plan = match target {
        Target::Available(available) => Some(&available.plan),
        _ => None,
    };
    let with_kind = |planned: &'_ PlannedObject| Some((planned.kind()?, planned.id.clone()));
    let all: Vec<_> = plan.into_iter().flat_map(|plan| plan.objects()).filter_map(with_kind).collect();
    let repairs =
        all.iter().map(|(kind, id)| (id.clone(), deliver::repairs(context, (*kind, &id.key()), now)));
    let sources = all.iter().filter(|(kind, _)| kind.is_source());
    Snapshot {
        sources: sources.filter_map(|(kind, id)| context.caches.flux.get(*kind, &id.key())).collect(),
        occupants: all.iter().filter_map(|(kind, id)| context.occupants.get(*kind, &id.key())).collect(),
        repairs: repairs.filter(|(_, state)| *state != RepairState::NONE).collect(),
        objects,
        without_file,
        namespace: deliver::namespace_owner(context, &key.namespace),
        helm_controller: context.appliers.of(FluxKind::HelmRelease.as_str()),
        kustomize_controller: context.appliers.of(FluxKind::Kustomization.as_str()),
        renaming: context.helm_controller.renaming(),
        now,
        is_status_under_way: context.statuses_under_way.includes(&addon),
        addon,
    }
}
