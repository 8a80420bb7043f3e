//! For any state of a live cluster, the diff removes what the operator would delete now, and says what the operator's status
//! would say of every other object that the release does not have.

mod scene;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use proptest::prelude::*;

use super::*;
use crate::addons::{
    AddonWrite, Available, Budget, Decision, Delivery, Facts, PruneDecision, PruneFacts, Pruning, Receipts,
    Snapshot, Target, candidates, cluster_action, committing, decide, decide_prune, is_prune_confirmed,
    is_prune_turn, kinds, roll_up,
};
use crate::api::Reason;
use crate::api::cluster_stack::Pruned;
use crate::compare::plans::ChangeKind;
use crate::foreign::flux::observed::FluxObject;
use crate::foreign::flux::ownership::{committing_stack, handed_over_to};
use crate::gate::{Around, Backing, ClusterAction};
use crate::operator::objects::index;
use crate::plan::delivery::{Action, Baseline, action, delivered_elsewhere};
use crate::plan::write::namespace_owner;
use crate::rollup::{Applier, Report};
use crate::runtime::cache::Cached as _;
use scene::{Left, Owner, Scene, Whole, scene};

/// The operator, which reads its caches, decides, writes, and decides about removals.
struct Operator<'a> {
    live: &'a Live<'a>,
    prepared: &'a Prepared,
    cluster: &'a ClusterInputs,
    addon: &'a ClusterAddon,
    objects: Vec<Arc<FluxObject>>,
}

/// Reads the objects as a cache has them after the operator handed them over to the present `ClusterAddon`.
fn cached(present: &Present) -> Vec<Arc<FluxObject>> {
    let delivering = present
        .flux
        .iter()
        .filter(|object| object["kind"] == "HelmRelease" || object["kind"] == "Kustomization");
    let read = |object: &Value| {
        let mut object = object.clone();
        let metadata: ObjectMeta = serde_json::from_value(object["metadata"].clone()).unwrap();
        if handed_over_to(&metadata).is_some() {
            object["metadata"]["ownerReferences"].as_array_mut().unwrap().push(owner("addon"));
        }
        Arc::new(serde_json::from_value(object).unwrap())
    };
    delivering.map(read).collect()
}

impl Operator<'_> {
    /// Decides like `operator::cluster::reconcile`.
    fn is_delivering(&self, scene: &Scene) -> bool {
        let around = Around {
            namespace_terminating: scene.hold == Whole::TerminatingNamespace,
            backing: if scene.hold == Whole::Orphaned { Backing::Orphaned } else { Backing::Wanted },
            handed_over: false,
            removing: self.is_removing(),
        };
        let action = cluster_action(Some(&self.cluster.cluster), Some(self.addon), around);
        action == ClusterAction::Deliver && !self.cluster.cluster.paused()
    }

    fn is_removing(&self) -> bool {
        let release = kinds(self.prepared.inputs().release);
        let (by_git, without_file) = (self.prepared.git().is_some(), BTreeSet::new());
        let objects = &self.objects;
        let facts = PruneFacts { addon: self.addon, release, objects, by_git, without_file: &without_file };
        let is_ours = committing_stack(self.addon) == Some(self.prepared.stack_key());
        is_ours && candidates(&facts, |_| false).iter().any(|candidate| !candidate.object.suspended)
    }

    /// Writes like `operator::cluster::act`.
    fn receipts(&self, facts: &Facts, decision: &Decision) -> Receipts {
        let Target::Available(available) = &facts.target else { unreachable!() };
        let digest = || SpecDigest::kept("written");
        match &decision.delivery {
            Delivery::Apply => {
                let mut receipts = Receipts::unchanged(self.addon);
                for planned in available.planned() {
                    let name =
                        planned.value["metadata"]["labels"][labels::ADDON].as_str().unwrap().to_owned();
                    let last_write = Baseline::LastWrite { spec_digest: None, owner: None, namespace: None };
                    let found = facts.snapshot.get(&planned.id.kind, &planned.id.name);
                    let found = found.map(|found| (&**found).into());
                    let is_blocked = decision.actions[&name].write == AddonWrite::AfterOtherKind;
                    if is_blocked || action(planned, found, last_write) == Action::Wait {
                        receipts.expected.remove(&name);
                        receipts.waiting.insert(name);
                    } else {
                        receipts.expected.insert(name, digest());
                    }
                }
                receipts
            }
            Delivery::Commit => {
                let mut receipts = Receipts::default();
                for planned in available.planned() {
                    let name =
                        planned.value["metadata"]["labels"][labels::ADDON].as_str().unwrap().to_owned();
                    let found = facts.snapshot.get(&planned.id.kind, &planned.id.name);
                    let found = found.map(|found| (&**found).into());
                    if action(planned, found, Baseline::Plan) == Action::Nothing {
                        receipts.expected.insert(name, digest());
                    } else {
                        receipts.on_their_way.insert(name, committing());
                    }
                }
                receipts
            }
            _ => Receipts::without_writes(facts, decision),
        }
    }

    fn facts<'f>(
        &'f self,
        scene: &Scene,
        fixed: &'f (BTreeMap<crate::names::AddonName, String>, Report),
    ) -> Facts<'f> {
        let inputs = self.prepared.inputs();
        let is_removed = |(index, left): (usize, &Left)| {
            let is_requested = left.reported && left.owner == Owner::Flux;
            is_requested.then(|| (left.kind, format!("one.left-{index}")))
        };
        let before = committing_stack(self.addon).unwrap_or_else(|| self.prepared.stack_key());
        let theirs = self.live.present.stacks.get(&before).and_then(|stack| stack.spec.delivery.git());
        let snapshot = Snapshot {
            addon: Arc::new(self.addon.clone()),
            objects: self.objects.clone(),
            sources: Vec::new(),
            occupants: Vec::new(),
            repairs: BTreeMap::new(),
            without_file: scene.left.iter().enumerate().filter_map(is_removed).collect(),
            namespace: self.live.found.namespace_uid("demo").map(|uid| namespace_owner("demo", uid)),
            helm_controller: Applier::unknown(),
            kustomize_controller: Applier::unknown(),
            now: self.live.now,
        };
        let target = Target::Available(Available {
            stack: inputs.stack,
            release: inputs.release,
            versions: &fixed.0,
            ready: &fixed.1,
            allowed_deletions: None,
            is_suspended: self.prepared.suspended || self.addon.spec.suspend,
            inputs: Box::new(self.cluster.clone()),
            plan: Arc::new(plan::cluster(&inputs, self.cluster).unwrap()),
            elsewhere: delivered_elsewhere(
                (&before, theirs),
                (&self.prepared.stack_key(), self.prepared.git()),
            ),
        });
        Facts { cluster: &self.cluster.cluster, snapshot, target }
    }

    /// Decides like `operator::cluster::prune`.
    fn prune(&self, facts: &Facts, receipts: &Receipts) -> Pruning {
        let Target::Available(available) = &facts.target else { unreachable!() };
        let Snapshot { addon, objects, without_file, now, .. } = &facts.snapshot;
        let (release, by_git) = (kinds(available.release), available.stack.delivery.git().is_some());
        let prune = PruneFacts { addon, release, objects, by_git, without_file };
        let found = candidates(&prune, |addon| is_prune_turn(available, receipts, addon));
        let cluster = &self.cluster.cluster;
        let pruning = Pruning { candidates: found, ..Pruning::default() };
        if pruning.due().next().is_none() {
            return pruning;
        }
        assert!(is_prune_confirmed((cluster, addon), (Some(cluster), Some(addon))));
        let owners = ["one", "two"]
            .map(|name| index::owned_by("ClusterAddon", &Key::new("demo", &ClusterAddon::name_for(name))));
        let is_counted =
            |object: &&Arc<FluxObject>| object.index_keys().iter().any(|key| owners.contains(key));
        let pruned = self.addon.status.as_ref().and_then(|status| status.pruned.clone());
        let spent: Vec<Pruned> = pruned.clone().into_iter().collect();
        let budget = Budget {
            stack: &available.stack_name(),
            release: &available.release.name,
            allowed: None,
            spent: &spent,
            total: self.objects.iter().filter(is_counted).count(),
            own: pruned.as_ref(),
            sum: None,
        };
        decide_prune(pruning.candidates, &budget, *now)
    }
}

/// A line about a removal: kind and name of the object, or addon, reason and message.
type Lines = BTreeSet<(String, String, String)>;

fn is_about_removal(reason: &str) -> bool {
    let reasons = [Reason::AddonRemoved, Reason::FileRemoved, Reason::PruneBudgetExceeded];
    reasons.iter().any(|known| known.as_str() == reason)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn live_diff_removes_what_the_operator_deletes(scene in scene()) {
        let (present, namespaces) = (scene.present(), scene.namespaces());
        let (stacks, _) = stacks(&present);
        let live = Live::new(&present, &namespaces).unwrap();
        let plans = compare(&live, &stacks, Some(live.shares()), Some("demo")).unwrap().plans;
        let change = plans.clusters.iter().find(|change| change.name == "one");
        let removed: Lines = { change.iter().flat_map(|change| &change.objects) }
            .filter(|object| object.change == ChangeKind::Removed)
            .map(|object| (object.kind.clone(), object.name.clone(), String::new()))
            .collect();
        let held: Lines = { change.iter().flat_map(|change| &change.held) }
            .filter(|held| is_about_removal(held.reason))
            .map(|held| (held.addon.clone().unwrap(), held.reason.to_owned(), held.message.clone()))
            .collect();

        let cluster = &present.clusters[0];
        let addon = present.addons.values().next().unwrap();
        let prepared = stacks.of_cluster(cluster).unwrap();
        let operator = Operator { live: &live, prepared, cluster, addon, objects: cached(&present) };
        if !operator.is_delivering(&scene) {
            prop_assert_eq!((removed, held), (Lines::new(), Lines::new()));
            return Ok(());
        }
        let fixed = (BTreeMap::new(), Report::not_yet_reported());
        let facts = operator.facts(&scene, &fixed);
        let receipts = operator.receipts(&facts, &decide(&facts));
        let pruning = operator.prune(&facts, &receipts);
        let deleted: Lines = pruning.due()
            .map(|due| (due.object.kind().to_string(), due.object.name().to_owned(), String::new()))
            .collect();
        prop_assert_eq!(removed, deleted);
        if change.is_some_and(|change| change.held.iter().any(|held| held.addon.is_none())) {
            prop_assert_eq!(held, Lines::new());
            return Ok(());
        }
        let status = roll_up(&facts, &receipts, &pruning).status;
        let kept = pruning.candidates.iter().filter(|it| it.decision != PruneDecision::Delete);
        for candidate in kept.clone() {
            let reference = candidate.object.reference();
            // The status has one entry for each addon.
            let entry = status.addons.iter().find(|entry| entry.object.as_ref() == Some(&reference));
            let Some((entry, reason)) = entry.and_then(|entry| Some((entry, entry.reason.clone()?))) else { continue };
            let line = (entry.name.clone(), reason, entry.message.clone().unwrap_or_default());
            prop_assert!(!is_about_removal(&line.1) || held.contains(&line), "{line:?} is not in {held:?}");
        }
        let reported: Lines = kept
            .filter_map(|candidate| Some((candidate.addon.to_string(), candidate.report(addon)?)))
            .map(|(addon, hold)| (addon, hold.reason.as_str().to_owned(), hold.message))
            .collect();
        prop_assert_eq!(held, reported);
    }
}
