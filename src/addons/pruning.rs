//! Decides which objects to delete because the release of their Cluster does not have their addon, or has it in another
//! form. Flux then uninstalls the addon.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use jiff::Timestamp;

use super::{Available, Facts, Receipts, Snapshot, Target};
use crate::api::cluster_stack::Pruned;
use crate::api::{ClusterAddon, ClusterStack, Reason};
use crate::foreign::capi::Cluster;
use crate::foreign::flux::FluxKind;
use crate::foreign::flux::observed::FluxObject;
use crate::foreign::flux::ownership::{cluster_of, committing_stack, is_applied_by_flux, is_owned};
use crate::gate::Hold;
use crate::gate::upgrade::Phase;
use crate::inputs::platform::addons_of;
use crate::inputs::stack::Stack;
use crate::names::{AddonName, Key, ObjectName};
use crate::release::{Addon, Release};

/// A Flux object that may belong to a `ClusterAddon`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OwnedObject {
    /// The relation of its addon to the release.
    pub delivers: AddonMatch,
    /// Whether it is suspended.
    pub suspended: bool,
    /// Whether it is being deleted.
    pub terminating: bool,
}

/// The relation of an object's addon to the release.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AddonMatch {
    /// The release has the addon in this form.
    Current,
    /// The release has the addon in the other form: manifests instead of a chart, or a chart instead of manifests.
    OtherKind,
    /// The release does not have the addon.
    NotInRelease,
    /// The object [belongs](is_owned) to another `ClusterAddon`, which had the same name, or to another client.
    OtherOwner,
}

/// The decision about an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PruneDecision {
    /// Keep it: its addon is neither removed nor replaced.
    Keep,
    /// Keep it for now: it is suspended, or other steps precede its deletion.
    Blocked,
    /// Do nothing: it is being deleted, or its file is.
    Deleting,
    /// Delete it: the status counts the deletion, but the request to remove its file is lost.
    DeleteCounted,
    /// Delete it: Flux uninstalls the addon.
    Delete,
}

/// Decides about one object. `is_turn` means that nothing precedes its deletion: for a dropped addon, everything in the
/// release is delivered; for a replaced addon, the new form only waits for the deletion. A suspended object is kept: its
/// deletion would leave everything in the cluster, and the user who suspended it expects no changes.
#[must_use]
pub fn prune_decision(object: OwnedObject, is_turn: bool) -> PruneDecision {
    match object {
        OwnedObject { delivers: AddonMatch::Current | AddonMatch::OtherOwner, .. } => PruneDecision::Keep,
        OwnedObject { terminating: true, .. } => PruneDecision::Deleting,
        OwnedObject { suspended: true, .. } => PruneDecision::Blocked,
        OwnedObject { .. } if is_turn => PruneDecision::Delete,
        OwnedObject { .. } => PruneDecision::Blocked,
    }
}

/// The facts about the objects of a Cluster.
#[derive(Clone, Debug)]
pub struct PruneFacts<'a> {
    /// The `ClusterAddon`.
    pub addon: &'a ClusterAddon,
    /// The addons of the release, each with the kind of its object.
    pub release: BTreeMap<&'a AddonName, FluxKind>,
    /// The Flux objects that name the `ClusterAddon` as their owner.
    pub objects: &'a [Arc<FluxObject>],
    /// Whether the operator commits the objects to a repository, so that it removes their files in place of them.
    pub by_git: bool,
    /// Kind and name of the objects whose files the operator has requested to remove.
    pub without_file: &'a BTreeSet<(FluxKind, String)>,
}

impl PruneFacts<'_> {
    /// Returns the addon that an object delivers; `None` if the operator did not deliver the object. The name decides if the
    /// release has an addon whose object has it: any client can change a label.
    fn addon_of(&self, object: &FluxObject) -> Option<AddonName> {
        let cluster = cluster_of(self.addon).name;
        let has_name_of = |addon: &AddonName| {
            ObjectName::of_addon(&cluster, addon).is_ok_and(|name| name.as_str() == object.name())
        };
        if let Some(addon) = self.release.keys().find(|addon| has_name_of(addon)) {
            return Some((*addon).clone());
        }
        object.addon()?.parse().ok()
    }
}

/// Returns the addons of a release that a Cluster has, each with the kind of its object.
#[must_use]
pub fn kinds<'a>(release: &'a Release, cluster: &Cluster) -> BTreeMap<&'a AddonName, FluxKind> {
    addons_of(release, cluster).map(|of| (&of.name, kind_of(of))).collect()
}

/// Returns the kind of the object that delivers an addon.
#[must_use]
pub fn kind_of(addon: &Addon) -> FluxKind {
    if addon.is_chart() { FluxKind::HelmRelease } else { FluxKind::Kustomization }
}

/// An object of an addon that the release does not have, or has in another form.
#[derive(Clone, Debug, PartialEq)]
pub struct Candidate {
    /// The addon.
    pub addon: AddonName,
    /// The relation of the addon to the release.
    pub delivers: AddonMatch,
    /// The object.
    pub object: Arc<FluxObject>,
    /// The decision about the object.
    pub decision: PruneDecision,
    /// The reason for its deletion, or for the delay if the budget is spent.
    pub hold: Option<Hold>,
}

impl Candidate {
    /// Whether the object is to be deleted.
    #[must_use]
    pub fn is_due(&self) -> bool {
        matches!(self.decision, PruneDecision::Delete | PruneDecision::DeleteCounted)
    }

    /// Returns the reason for the deletion of the object, or for the delay, in the words of the status of its `ClusterAddon`.
    /// `None` if the object waits for its addon's new form, which has a hold of its own.
    #[must_use]
    pub fn report(&self, addon: &ClusterAddon) -> Option<Hold> {
        let mut hold = self.hold.clone().or_else(|| self.delay())?;
        if addon.metadata.deletion_timestamp.is_some() {
            hold.message.push_str("; the ClusterAddon is deleted after that");
        }
        Some(hold)
    }

    fn delay(&self) -> Option<Hold> {
        let why = match self.delivers {
            AddonMatch::OtherKind => "the release has it in another form",
            _ => NOT_GIVEN,
        };
        let message = if self.object.suspended {
            let (kind, name) = (self.object.kind(), self.object.name());
            format!("{why}: {kind} {name} is suspended, and stays until it is resumed")
        } else if self.delivers == AddonMatch::NotInRelease {
            format!("{why}: Flux uninstalls it when all addons of the release are delivered")
        } else {
            return None;
        };
        Some(Hold { reason: Reason::AddonRemoved, message })
    }
}

/// Finds the objects of addons that the release does not have, or has in another form. `is_turn` returns whether nothing
/// precedes the deletion of an addon's objects.
#[must_use]
pub fn candidates(facts: &PruneFacts, is_turn: impl Fn(&AddonName) -> bool) -> Vec<Candidate> {
    let counted =
        if facts.by_git { reported_without_file(facts.addon, facts.objects) } else { BTreeSet::new() };
    let found = facts.objects.iter().filter_map(|object| {
        let addon = facts.addon_of(object)?;
        let delivers = match facts.release.get(&addon) {
            None => AddonMatch::NotInRelease,
            Some(kind) if *kind == object.kind() => AddonMatch::Current,
            Some(_) => AddonMatch::OtherKind,
        };
        let id = (object.kind(), object.name().to_owned());
        let (is_requested, is_counted) = (facts.without_file.contains(&id), counted.contains(&id));
        let is_going = is_requested || is_counted;
        let decision = match prune_decision(owned(object, facts.addon, delivers), is_turn(&addon)) {
            PruneDecision::Delete if is_requested => PruneDecision::Deleting,
            PruneDecision::Delete if is_counted => PruneDecision::DeleteCounted,
            // Its turn was before.
            PruneDecision::Blocked if is_going && !object.suspended => PruneDecision::Deleting,
            decision => decision,
        };
        let is_kept = matches!(decision, PruneDecision::Keep | PruneDecision::Blocked);
        let has_file = facts.by_git && is_applied_by_flux(&object.object);
        let removes_file = has_file && (is_going || decision != PruneDecision::Deleting);
        let hold = (!is_kept).then(|| uninstalled(delivers, removes_file));
        Some(Candidate { addon, delivers, object: object.clone(), decision, hold })
    });
    found.filter(|candidate| candidate.decision != PruneDecision::Keep).collect()
}

/// Finds the same for a Cluster, after its other writes. A Cluster without a release to deliver keeps all objects.
#[must_use]
pub fn prune_candidates(facts: &Facts, receipts: &Receipts) -> Vec<Candidate> {
    let Target::Available(available) = &facts.target else { return Vec::new() };
    let Snapshot { addon, objects, without_file, .. } = &facts.snapshot;
    let (release, by_git) =
        (kinds(available.release, facts.cluster), available.stack.delivery.git().is_some());
    let prune = PruneFacts { addon, release, objects, by_git, without_file };
    candidates(&prune, |addon| is_prune_turn(available, (receipts, facts.upgrade.phase), addon))
}

/// Whether nothing precedes the deletion of an addon's objects that the release does not have, or has in another form. An upgrade
/// of the Cluster precedes the removal of an addon.
#[must_use]
pub fn is_prune_turn(
    available: &Available,
    (receipts, phase): (&Receipts, Phase),
    addon: &AddonName,
) -> bool {
    let is_turn = phase == Phase::Steady
        && receipts.is_delivered(available)
        && !available.is_suspended
        && available.elsewhere.is_none();
    is_turn || receipts.waits_for_old(addon)
}

/// Whether the objects of addons that the release does not have will be deleted without further changes. Suspended objects
/// and files of another `ClusterStack` may stay forever. `stack` is the `ClusterStack` of the release, and whether it is
/// suspended.
#[must_use]
pub fn is_prune_pending(facts: &PruneFacts, (stack, is_suspended): (&Key, bool)) -> bool {
    let is_theirs = committing_stack(facts.addon).as_ref() != Some(stack);
    if facts.addon.spec.suspend || is_suspended || is_theirs {
        return false;
    }
    candidates(facts, |_| false).iter().any(|candidate| !candidate.object.suspended)
}

/// Returns kind and name of the objects that Flux applies from a repository and whose removal the status of their
/// `ClusterAddon` reports: the budget has counted the deletion.
#[must_use]
pub fn reported_without_file(
    addon: &ClusterAddon,
    objects: &[Arc<FluxObject>],
) -> BTreeSet<(FluxKind, String)> {
    let reported: Vec<_> = { addon.status.iter().flat_map(|status| &status.addons) }
        .filter(|of| of.reason.as_deref() == Some(Reason::FileRemoved.as_str()))
        .filter_map(|of| of.object.as_ref())
        .collect();
    let is_reported = |object: &&Arc<FluxObject>| {
        is_applied_by_flux(&object.object) && reported.contains(&&object.reference())
    };
    objects.iter().filter(is_reported).map(|object| (object.kind(), object.name().to_owned())).collect()
}

/// Returns the owned object. `delivers` applies only if the object belongs to the `ClusterAddon`.
fn owned(object: &FluxObject, addon: &ClusterAddon, delivers: AddonMatch) -> OwnedObject {
    let delivers = if is_owned(&object.object, addon) { delivers } else { AddonMatch::OtherOwner };
    OwnedObject { delivers, suspended: object.suspended, terminating: object.metadata.terminating }
}

/// Why an addon is removed. The labels of the Cluster decide about components.
const NOT_GIVEN: &str = "neither the release nor its ClusterStack gives it to the Cluster any longer";

fn uninstalled(delivers: AddonMatch, removes_file: bool) -> Hold {
    let message = match delivers {
        AddonMatch::OtherKind => "the release has it in another form: Flux uninstalls the old one first",
        _ => &format!("{NOT_GIVEN}: Flux uninstalls it"),
    };
    let reason = if removes_file { Reason::FileRemoved } else { Reason::AddonRemoved };
    Hold { reason, message: message.to_owned() }
}

/// Whether the API server confirms that a plan has all components of the `ClusterStack`, which is `live` now. One that is gone
/// confirms nothing about components.
#[must_use]
pub fn has_present_components(planned: &Stack, live: Option<&ClusterStack>) -> bool {
    live.map_or(planned.components.repositories.is_empty(), |live| live.spec.components == planned.components)
}

/// Whether the API server confirms the removal of addons: the Cluster has class and labels of the plan, and neither the Cluster
/// nor the `ClusterAddon` is deleted, paused or suspended meanwhile. `live` are the two objects as the API server has them
/// now.
#[must_use]
pub fn is_prune_confirmed(
    (cluster, addon): (&Cluster, &ClusterAddon),
    live: (Option<&Cluster>, Option<&ClusterAddon>),
) -> bool {
    let is_deleted = |addon: &ClusterAddon| addon.metadata.deletion_timestamp.is_some();
    let has_class = live.0.is_some_and(|now| {
        let class = now.class();
        let is_active = !now.deleting() && !now.paused();
        // Labels decide which components a Cluster has.
        let is_as_planned = class == cluster.class() && now.labels() == cluster.labels();
        now.uid() == cluster.uid() && class.is_some() && is_as_planned && is_active
    });
    let is_same = live.1.is_some_and(|now| {
        now.metadata.uid == addon.metadata.uid && is_deleted(now) == is_deleted(addon) && !now.spec.suspend
    });
    has_class && is_same
}

/// Whether an object did not change since the decision to delete it. `live` is the object as the API server has it now.
#[must_use]
pub fn is_still_due(candidate: &Candidate, live: &FluxObject, addon: &ClusterAddon) -> bool {
    live.object.uid == candidate.object.object.uid
        && live.addon() == candidate.object.addon()
        && prune_decision(owned(live, addon, AddonMatch::NotInRelease), true) == PruneDecision::Delete
        // Otherwise nothing has counted it.
        && (live.is_never_installed() || !candidate.object.is_never_installed())
}

/// The objects to delete now, and those that wait.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Pruning {
    /// The objects of addons that the release does not have, or has in another form.
    pub candidates: Vec<Candidate>,
    /// The deletions that the status must record before they happen.
    pub pruned: Option<Pruned>,
    /// The deletions in all clusters of the `ClusterStack`, with those of this decision if there are any.
    pub sum: Option<Pruned>,
    /// Time of the next decision.
    pub next: Option<Timestamp>,
}

impl Pruning {
    /// Returns the objects to delete.
    pub fn due(&self) -> impl Iterator<Item = &Candidate> {
        self.candidates.iter().filter(|candidate| candidate.is_due())
    }
}

/// Keeps all candidates, because the API server does not confirm their deletion. Those that are counted stay counted.
#[must_use]
pub fn unconfirmed(mut candidates: Vec<Candidate>, now: Timestamp) -> Pruning {
    for candidate in &mut candidates {
        match candidate.decision {
            PruneDecision::Delete => {
                (candidate.decision, candidate.hold) = (PruneDecision::Blocked, None);
            }
            PruneDecision::DeleteCounted => candidate.decision = PruneDecision::Deleting,
            _ => {}
        }
    }
    Pruning { candidates, next: Some(now), ..Pruning::default() }
}
