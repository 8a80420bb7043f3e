//! Removals of objects whose addon a Cluster's release does not have, or has in another form, as the operator decides them.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;

use crate::addons::{
    Available, Candidate, Facts, PruneFacts, Receipts, Snapshot, Target, candidates, decide, kinds,
    prune_candidates, reported_without_file,
};
use crate::api::ClusterAddon;
use crate::cli::live::prepared::Prepared;
use crate::foreign::flux::observed::FluxObject;
use crate::inputs::ClusterInputs;
use crate::plan::Plan;
use crate::plan::write::namespace_owner;
use crate::rollup::{Applier, Report};

/// Finds the objects of a Cluster that are removed now if it is their turn (`is_turn`), or that wait.
pub(super) fn found(
    addon: &ClusterAddon,
    prepared: &Prepared,
    objects: &[Arc<FluxObject>],
    is_turn: bool,
) -> Vec<Candidate> {
    let without_file = reported_without_file(addon, objects);
    let (release, by_git) = (kinds(prepared.inputs().release), prepared.git().is_some());
    candidates(&PruneFacts { addon, release, objects, by_git, without_file: &without_file }, |_| is_turn)
}

/// Decides about the objects of a Cluster whose plan is delivered, before the budget. Assumes that the API server accepts
/// the writes of the plan. `namespace` is the UID of the Cluster's Namespace, if known.
pub(super) fn decided(
    (cluster, addon): (&ClusterInputs, &ClusterAddon),
    (prepared, plan): (&Prepared, &Plan),
    objects: Vec<Arc<FluxObject>>,
    namespace: Option<&str>,
    now: Timestamp,
) -> Vec<Candidate> {
    // Almost no Cluster has such objects, and facts are copies.
    if found(addon, prepared, &objects, false).is_empty() {
        return Vec::new();
    }
    let (versions, ready) = (BTreeMap::new(), Report::not_yet_reported());
    let inputs = prepared.inputs();
    let target = Target::Available(Available {
        stack: inputs.stack,
        release: inputs.release,
        versions: &versions,
        ready: &ready,
        allowed_deletions: prepared.allowed_deletions.as_deref(),
        is_suspended: prepared.suspended || addon.spec.suspend,
        inputs: Box::new(cluster.clone()),
        plan: Arc::new(plan.clone()),
        elsewhere: None,
    });
    let snapshot = Snapshot {
        addon: Arc::new(addon.clone()),
        without_file: reported_without_file(addon, &objects),
        sources: Vec::new(),
        occupants: Vec::new(),
        repairs: BTreeMap::new(),
        objects,
        namespace: namespace.map(|uid| namespace_owner(cluster.cluster.namespace().as_str(), uid)),
        helm_controller: Applier::unknown(),
        kustomize_controller: Applier::unknown(),
        now,
    };
    let facts = Facts { cluster: &cluster.cluster, snapshot, target };
    prune_candidates(&facts, &Receipts::if_accepted(&facts, &decide(&facts)))
}
