//! Decides which objects to delete because the release of their Cluster does not have their addon, or has it in another
//! form, or because the owner of the Cluster has switched it off. Flux then uninstalls the addon.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use jiff::Timestamp;

use super::{Available, Facts, Receipts, Snapshot, Target, course, kind_of};
use crate::api::cluster_stack::Pruned;
use crate::api::{ClusterAddon, Reason};
use crate::foreign::capi::Cluster;
use crate::foreign::flux::FluxKind;
use crate::foreign::flux::observed::FluxObject;
use crate::foreign::flux::ownership::{cluster_of, committing_stack, is_applied_by_flux, is_owned};
use crate::gate::Hold;
use crate::gate::upgrade::Phase;
use crate::inputs::ReleaseInputs;
use crate::inputs::overrides::Requests;
use crate::names::{AddonName, Key, ObjectName};
use crate::plan::refused_request;
use crate::plan::stages::{Course, Want};
use crate::release::Release;

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
    /// A stage of the release deletes the addon.
    Deleted,
    /// The owner of the Cluster has switched the addon off.
    SwitchedOff,
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
    /// The addons that the Cluster has or keeps, each with the kind of its object.
    pub release: BTreeMap<&'a AddonName, FluxKind>,
    /// The addons that a stage of the release deletes.
    pub deleted: BTreeSet<&'a AddonName>,
    /// The requests for the addons, with what is refused.
    pub requests: &'a Requests,
    /// The Flux objects that name the `ClusterAddon` as their owner.
    pub objects: &'a [Arc<FluxObject>],
    /// Whether the operator commits the objects to a repository, so that it removes their files in place of them.
    pub by_git: bool,
    /// Kind and name of the objects whose files the operator has requested to remove.
    pub without_file: &'a BTreeSet<(FluxKind, String)>,
}

impl PruneFacts<'_> {
    /// Returns the addon that an object delivers; `None` if the operator did not deliver the object. The name decides if the
    /// release has, or its stages delete, an addon whose object has it: any client can change a label.
    fn addon_of(&self, object: &FluxObject) -> Option<AddonName> {
        let cluster = cluster_of(self.addon).name;
        let has_name_of = |addon: &AddonName| {
            ObjectName::of_addon(&cluster, addon).is_ok_and(|name| name.as_str() == object.name())
        };
        if let Some(addon) = self.release.keys().chain(&self.deleted).find(|addon| has_name_of(addon)) {
            return Some((*addon).clone());
        }
        object.addon()?.parse().ok()
    }
}

impl<'a> PruneFacts<'a> {
    /// Returns the facts without any objects about a Cluster at the point of its course that the status has recorded.
    #[must_use]
    pub fn recorded(
        addon: &'a ClusterAddon,
        inputs: &ReleaseInputs<'a>,
        of: (&Cluster, &'a Requests),
        without_file: &'a BTreeSet<(FluxKind, String)>,
    ) -> Self {
        let course = course(addon, (inputs.stack.namespace.as_str(), inputs.release), Phase::Steady);
        Self::of(addon, (inputs.release, &course), of, without_file)
    }

    /// Returns the facts without any objects about a Cluster at this point of its course.
    #[must_use]
    pub fn of(
        addon: &'a ClusterAddon,
        (release, course): (&'a Release, &Course),
        (cluster, requests): (&Cluster, &'a Requests),
        without_file: &'a BTreeSet<(FluxKind, String)>,
    ) -> Self {
        let stages = release.stages.values().flatten().map(|stage| &stage.addon);
        let is_deleted =
            |name: &&AddonName| course.want(release, name) == Want::Delete || course.deletes(release, name);
        let wanted = course.addons(release, cluster, requests).map(|of| (&of.name, kind_of(of)));
        Self {
            addon,
            release: wanted.collect(),
            deleted: stages.filter(is_deleted).collect(),
            requests,
            objects: &[],
            by_git: false,
            without_file,
        }
    }
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
        let (why, when) = match self.delivers {
            AddonMatch::OtherKind => ("the release has it in another form", ""),
            AddonMatch::Deleted => (DELETED, "at its turn"),
            AddonMatch::SwitchedOff => (SWITCHED_OFF, "when all addons of the release are delivered"),
            _ => (NOT_GIVEN, "when all addons of the release are delivered"),
        };
        let message = if self.object.suspended {
            let (kind, name) = (self.object.kind(), self.object.name());
            format!("{why}: {kind} {name} is suspended, and stays until it is resumed")
        } else if self.delivers != AddonMatch::OtherKind {
            format!("{why}: Flux uninstalls it {when}")
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
            None if facts.requests.switches_off(addon.as_str()) => AddonMatch::SwitchedOff,
            None if facts.deleted.contains(&addon) => AddonMatch::Deleted,
            None => AddonMatch::NotInRelease,
            Some(kind) if *kind == object.kind() => AddonMatch::Current,
            Some(_) => AddonMatch::OtherKind,
        };
        let id = (object.kind(), object.name().to_owned());
        let (is_requested, is_counted) = (facts.without_file.contains(&id), counted.contains(&id));
        let is_going = is_requested || is_counted;
        // The owner of the Cluster is to have an addon that is not offered: it stays until the request is corrected.
        let is_kept = delivers == AddonMatch::NotInRelease && facts.requests.keeps(addon.as_str());
        let is_turn = !is_kept && is_turn(&addon);
        let decision = match prune_decision(owned(object, facts.addon, delivers), is_turn) {
            PruneDecision::Delete if is_requested => PruneDecision::Deleting,
            PruneDecision::Delete if is_counted => PruneDecision::DeleteCounted,
            // Its turn was before.
            PruneDecision::Blocked if is_going && !object.suspended => PruneDecision::Deleting,
            decision => decision,
        };
        let is_held = matches!(decision, PruneDecision::Keep | PruneDecision::Blocked);
        let has_file = facts.by_git && is_applied_by_flux(&object.object);
        let removes_file = has_file && (is_going || decision != PruneDecision::Deleting);
        let hold = if is_held {
            is_kept.then(|| refused_request(facts.requests, addon.as_str())).flatten()
        } else {
            Some(uninstalled(delivers, removes_file))
        };
        Some(Candidate { addon, delivers, object: object.clone(), decision, hold })
    });
    found.filter(|candidate| candidate.decision != PruneDecision::Keep).collect()
}

/// Finds the same for a Cluster, after its other writes. A Cluster without a release to deliver keeps all objects.
#[must_use]
pub fn prune_candidates(facts: &Facts, receipts: &Receipts) -> Vec<Candidate> {
    let Target::Available(available) = &facts.target else { return Vec::new() };
    let Snapshot { addon, objects, without_file, .. } = &facts.snapshot;
    let by_git = available.stack.delivery.git().is_some();
    let (of, requests) = ((available.release, &available.course), &available.requests);
    let prune = PruneFacts::of(addon, of, (facts.cluster, requests), without_file);
    let prune = PruneFacts { objects, by_git, ..prune };
    let mut found =
        candidates(&prune, |addon| is_prune_turn(available, (receipts, facts.upgrade.phase), addon));
    // What cannot be installed again is not deleted before.
    for candidate in found.iter_mut().filter(|of| of.decision == PruneDecision::Delete) {
        let held = available.plan.held().iter().find(|held| held.addon.as_ref() == Some(&candidate.addon));
        if let Some(held) = held.filter(|_| candidate.delivers == AddonMatch::Deleted) {
            (candidate.decision, candidate.hold) = (PruneDecision::Blocked, Some(held.hold.clone()));
        }
    }
    found
}

/// Whether nothing precedes the deletion of an addon's objects that the release does not have, or has in another form. An upgrade
/// of the Cluster precedes the removal of an addon, unless a stage removes it before.
#[must_use]
pub fn is_prune_turn(
    available: &Available,
    (receipts, phase): (&Receipts, Phase),
    addon: &AddonName,
) -> bool {
    let is_delivered = phase == Phase::Steady && receipts.is_delivered(available);
    let is_staged = available.course.deletes(available.release, addon) && available.hold().is_none();
    let is_written = !available.is_suspended && available.elsewhere.is_none();
    (is_written && (is_delivered || is_staged)) || receipts.waits_for_old(addon)
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
    let is_kept = |candidate: &Candidate| facts.requests.keeps(candidate.addon.as_str());
    candidates(facts, |_| false).iter().any(|candidate| !candidate.object.suspended && !is_kept(candidate))
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
pub(super) fn owned(object: &FluxObject, addon: &ClusterAddon, delivers: AddonMatch) -> OwnedObject {
    let delivers = if is_owned(&object.object, addon) { delivers } else { AddonMatch::OtherOwner };
    OwnedObject { delivers, suspended: object.suspended, terminating: object.metadata.terminating }
}

/// Why an addon is removed. The labels of the Cluster decide about components.
const NOT_GIVEN: &str = "neither the release nor its ClusterStack gives it to the Cluster any longer";
/// Why an addon is removed that the owner of the Cluster has switched off.
const SWITCHED_OFF: &str = "the ClusterAddonOverride of the Cluster switches it off";

/// The same of an addon that a stage deletes.
const DELETED: &str = "a stage of the release deletes it";

fn uninstalled(delivers: AddonMatch, removes_file: bool) -> Hold {
    let message = match delivers {
        AddonMatch::OtherKind => "the release has it in another form: Flux uninstalls the old one first",
        AddonMatch::Deleted => &format!("{DELETED}: Flux uninstalls it"),
        AddonMatch::SwitchedOff => &format!("{SWITCHED_OFF}: Flux uninstalls it"),
        _ => &format!("{NOT_GIVEN}: Flux uninstalls it"),
    };
    let reason = if removes_file { Reason::FileRemoved } else { Reason::AddonRemoved };
    Hold { reason, message: message.to_owned() }
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
