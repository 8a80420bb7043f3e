//! The requests for the addons of a Cluster: what they are, and what is reported in the status of its `ClusterAddonOverride`.

use super::super::context::Context;
use super::super::objects::ClusterObject;
use super::super::{status, write};
use super::gather::{ClassRelease, Gathered};
use super::upgrade;
use crate::addons::{Decision, Facts, Lack, are_requests_to_confirm};
use crate::api::ClusterAddonOverride;
use crate::api::cluster_addon_override::ClusterAddonOverrideStatus;
use crate::gate;
use crate::rollup::{ConditionStatus, Report, RequestTarget, cluster_addon_override};
use crate::runtime::api_server::RequestError;
use crate::runtime::cache::Key;

/// Writes the status of the `ClusterAddonOverride` with the key of a Cluster, if there is one and the requests can be judged.
#[expect(clippy::disallowed_methods, reason = "gather takes the time once")]
pub(super) async fn report(context: &Context, key: &Key, gathered: &Gathered) -> Result<(), RequestError> {
    let Some(found) = context.caches.overrides.get(key) else { return Ok(()) };
    if found.metadata.deletion_timestamp.is_some() {
        return Ok(());
    }
    let now = context.clock.now();
    let Some(cluster) = &gathered.cluster else {
        let absent = cluster_addon_override(&found, &RequestTarget::NoCluster, now);
        return report_absent(context, key, &found, &absent).await;
    };
    let release = gathered.class_release(context, cluster);
    let inputs;
    let target = match &release {
        ClassRelease::Unknown => return Ok(()),
        ClassRelease::Paused => RequestTarget::Unknown(paused(cluster)),
        ClassRelease::Missing(Lack { report, .. }) | ClassRelease::Unusable { report, .. } => {
            RequestTarget::Unknown(report.clone())
        }
        ClassRelease::Usable(resolved) => {
            // It is enqueued again once the objects are listed that it refers to.
            let Ok(related) = upgrade::related(context, cluster, Some(&resolved.release)) else {
                return Ok(());
            };
            inputs = related;
            let (stack, release, versions) = (&resolved.stack, &*resolved.release, &resolved.versions);
            RequestTarget::Release { stack, release, inputs: &inputs, versions }
        }
    };
    status::write(context, &*found, &cluster_addon_override(&found, &target, now)).await
}

/// Asks the API server for requests that the cache lacks, if a decision depends on that, and caches them. Returns whether the
/// decision can be carried out.
pub(super) async fn confirm(
    context: &Context,
    key: &Key,
    facts: &Facts<'_>,
    decision: &Decision,
) -> Result<bool, RequestError> {
    if !are_requests_to_confirm(facts, decision) {
        return Ok(true);
    }
    write::refresh::<ClusterAddonOverride>(context, key).await?;
    Ok(context.caches.overrides.get(key).is_none())
}

/// Reports that there is no Cluster if the API server confirms that: the answers that this drops tell which requests are in
/// effect, and the addons of an existing Cluster are held by them.
async fn report_absent(
    context: &Context,
    key: &Key,
    found: &ClusterAddonOverride,
    absent: &ClusterAddonOverrideStatus,
) -> Result<(), RequestError> {
    let Some(kind) = context.cluster_resource() else { return Ok(()) };
    let is_reported = found.status.as_ref() == Some(absent);
    if is_reported || context.api.get_dynamic::<ClusterObject>(key, kind).await?.is_some() {
        return Ok(());
    }
    status::write(context, found, absent).await
}

fn paused(cluster: &ClusterObject) -> Report {
    let hold = gate::cluster_alone(&cluster.cluster);
    hold.as_ref().map_or_else(Report::not_yet_reported, |hold| {
        Report::new(ConditionStatus::Unknown, hold.reason.as_str(), &hold.message)
    })
}
