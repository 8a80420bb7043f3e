//! Decides what to write for a Cluster before its status.

use std::collections::BTreeMap;
use std::sync::Arc;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::Resource as _;

use super::facts::{Available, Delivery, Facts, Target, addon_of};
use super::forced_upgrade::{Repeats, due_forced_upgrades, repeats};
use super::handover::{is_labelled, is_still_owned};
use super::upgrade::HookChange;
use super::{Snapshot, kind_of, open_request};
use crate::api::ClusterAddon;
use crate::foreign::capi::field;
use crate::foreign::flux::observed::{FluxObject, SpecDigest};
use crate::foreign::flux::ownership::other_kind;
use crate::gate;
use crate::plan::PlannedObject;
use crate::plan::delivery::{
    Action, Baseline, Purpose, action, digest_of_shared, is_of_plan, suspension, waits_for_other_kind,
};
use crate::plan::write::{Write, WriteFacts, write};
use crate::rollup::{Retries, due_retries};

/// The writes to the object of an addon.
#[derive(Clone, Debug, PartialEq)]
pub struct AddonAction {
    /// The write that brings it to its planned state.
    pub write: ObjectWrite,
    /// The value to write to its `spec.suspend` according to the settings; `None` if the field stays.
    pub suspend: Option<bool>,
    /// Whether the write gives the object another spec than it has, or creates it.
    pub changes_spec: bool,
}

/// The write that brings an object for a Cluster to its planned state.
#[derive(Clone, Debug, PartialEq)]
pub enum ObjectWrite {
    /// The operator writes the object.
    ByOperator(Write),
    /// None: Flux has applied the object as planned from a repository. Its present spec has this digest, and counts as
    /// planned, because Flux corrects drift.
    AppliedByFlux(SpecDigest),
    /// Flux applies the object from a repository; this is what Flux does.
    ByFlux(Action),
    /// None before an object of the other kind is deleted.
    AfterOtherKind,
}

impl ObjectWrite {
    /// Whether the object is as planned.
    #[must_use]
    pub fn is_nothing(&self) -> bool {
        matches!(self, Self::ByOperator(Write::Nothing) | Self::AppliedByFlux(_))
    }

    /// Whether what follows has to wait for it.
    fn is_blocked(&self) -> bool {
        matches!(self, Self::ByOperator(Write::Taken | Write::Later(_)))
    }
}

/// The writes for a Cluster that precede its status.
#[derive(Clone, Debug, PartialEq)]
pub struct Decision {
    /// The change of the annotation that delays upgrades, if the addons decide about it.
    pub hook: Option<HookChange>,
    /// The way to write the objects.
    pub delivery: Delivery,
    /// The objects of addons that the release does not have and that lost the operator's label. They get it again, because the
    /// watches select by it.
    pub relabels: Vec<Arc<FluxObject>>,
    /// The objects of addons that the Cluster does not have and that the operator has suspended. They are resumed: Flux uninstalls
    /// nothing of a suspended one.
    pub resumes: Vec<Arc<FluxObject>>,
    /// The writes of the sources, in the order of the plan, up to the first that has to wait: no addon gets other content
    /// than planned.
    pub sources: Vec<ObjectWrite>,
    /// The action for the object of each addon, by the addon's name. There is none without a plan to deliver, nor while a
    /// source has to wait: the addons would get the content of another client.
    pub actions: BTreeMap<String, AddonAction>,
    /// The request to reconcile to forward to these objects.
    pub forwards: Option<String>,
    /// The objects that Flux is asked to reconcile now; `None` unless the cluster is reachable again.
    pub requests: Option<Vec<Arc<FluxObject>>>,
    /// The installations that Flux is asked to retry.
    pub retries: Retries,
    /// The objects that Flux is asked to upgrade, because it reports the success of an upgrade that has not happened.
    pub forced_upgrades: Vec<Arc<FluxObject>>,
    /// The addons whose upgrade is repeated after that of the Cluster.
    pub repeats: Repeats,
}

/// Decides what to write for a Cluster before its status.
#[must_use]
pub fn decide(facts: &Facts) -> Decision {
    let Facts { snapshot, target, cluster, upgrade } = facts;
    let before = snapshot.addon.status.as_ref().map_or(&[][..], |status| &status.conditions);
    let has_recovered = !matches!(target, Target::Paused) && gate::has_recovered(before, cluster);
    let is_present = |object: &&Arc<FluxObject>| !object.metadata.terminating;
    let requests = has_recovered.then(|| snapshot.owned().filter(is_present).cloned().collect());
    let mut decision = Decision {
        hook: (!matches!(target, Target::Paused)).then(|| upgrade.hook_change_by_addons(cluster)).flatten(),
        delivery: Delivery::Nothing,
        relabels: Vec::new(),
        resumes: Vec::new(),
        sources: Vec::new(),
        actions: BTreeMap::new(),
        forwards: None,
        requests,
        retries: Retries::default(),
        forced_upgrades: Vec::new(),
        repeats: Repeats::default(),
    };
    let Target::Available(available) = target else { return decision };
    decision.delivery = available.delivery();
    decision.relabels = relabels(snapshot, available);
    if decision.delivery.is_written() {
        decision.forwards = open_request(&snapshot.addon);
        decision.sources = sources(snapshot, available);
        decision.resumes = resumes(snapshot, available);
    }
    let is_blocked = decision.is_without_source();
    if !is_blocked && (decision.delivery.is_written() || decision.delivery == Delivery::Suspended) {
        let waits = decision.delivery == Delivery::Apply;
        let of = |planned: &PlannedObject| addon_action(snapshot, available, planned, waits);
        let actions = available.planned().map(|planned| (addon_of(planned).to_owned(), of(planned)));
        decision.actions = actions.collect();
    }
    if !available.is_suspended && !is_blocked {
        let unchanged = snapshot.owned().filter(|object| !decision.writes(object));
        decision.retries = due_retries(unchanged, snapshot.now);
    }
    if decision.delivery.is_written() {
        decision.forced_upgrades = due_forced_upgrades(snapshot, |addon| decision.is_as_planned(addon));
        decision.repeats = repeats(facts, |addon| decision.is_as_planned(addon));
    }
    decision
}

impl Decision {
    /// Whether the writes end at a source that has to wait.
    #[must_use]
    pub fn is_without_source(&self) -> bool {
        self.sources.last().is_some_and(ObjectWrite::is_blocked)
    }

    /// Whether the object of an addon is as planned.
    fn is_as_planned(&self, addon: &str) -> bool {
        self.actions.get(addon).is_some_and(|action| action.write.is_nothing())
    }

    /// Whether the operator changes the object of an addon before it makes requests to Flux.
    fn writes(&self, object: &FluxObject) -> bool {
        let action = object.addon().and_then(|addon| self.actions.get(addon));
        let is_applied = |write: &ObjectWrite| matches!(write, ObjectWrite::ByOperator(Write::Apply(_)));
        action.is_some_and(|action| is_applied(&action.write) || action.suspend.is_some())
    }
}

/// Lists the objects that get the operator's label again. An apply restores the labels of planned ones.
fn relabels(snapshot: &Snapshot, available: &Available) -> Vec<Arc<FluxObject>> {
    let is_planned = |object: &FluxObject| {
        available.planned().any(|it| it.kind() == Some(object.kind()) && it.id.name == object.name())
    };
    let is_due = |object: &&Arc<FluxObject>| {
        is_still_owned(object, &snapshot.addon) && !is_labelled(object) && !is_planned(object)
    };
    snapshot.objects.iter().filter(is_due).cloned().collect()
}

/// Lists the objects of addons that the Cluster does not have, or has in another form, and whose suspension by the operator has
/// ended.
fn resumes(snapshot: &Snapshot, available: &Available) -> Vec<Arc<FluxObject>> {
    let is_due = |object: &&Arc<FluxObject>| {
        let Some(addon) = object.addon().filter(|addon| !is_to_suspend(available, addon)) else {
            return false;
        };
        let has_it = available.addons().any(|of| of.name.as_str() == addon && kind_of(of) == object.kind());
        let is_left = !has_it && !available.requests.keeps(addon);
        let is_suspended = suspension(object, Purpose::Deliver { suspend: false }).is_some();
        is_left && is_suspended && is_still_owned(object, &snapshot.addon)
    };
    snapshot.objects.iter().filter(is_due).cloned().collect()
}

/// Decides the writes of the sources, up to the first that has to wait. They have many users, no owner and no status.
fn sources(snapshot: &Snapshot, available: &Available) -> Vec<ObjectWrite> {
    let mut writes = Vec::new();
    for planned in available.plan.sources() {
        writes.push(source(snapshot, planned, available.delivery() == Delivery::Commit));
        if writes.last().is_some_and(ObjectWrite::is_blocked) {
            break;
        }
    }
    writes
}

fn source(snapshot: &Snapshot, planned: &PlannedObject, by_git: bool) -> ObjectWrite {
    let found = snapshot.source(planned).map(|found| &**found);
    if by_git {
        return by_flux(planned, found);
    }
    let found = found.or_else(|| snapshot.occupant(planned).map(|found| &**found));
    let expected = found.and_then(|found| digest_of_shared(&found.refers_to, &found.spec_digest, planned));
    let facts = WriteFacts { found, expected, ..snapshot.write_facts(planned, &[]) };
    ObjectWrite::ByOperator(write(planned, facts))
}

/// Returns what Flux does with an object that it applies from a repository.
fn by_flux(planned: &PlannedObject, found: Option<&FluxObject>) -> ObjectWrite {
    match (action(planned, found.map(Into::into), Baseline::Plan), found) {
        (Action::Nothing, Some(found)) => ObjectWrite::AppliedByFlux(found.spec_digest.clone()),
        (action, _) => ObjectWrite::ByFlux(action),
    }
}

/// Decides the action for the object of an addon. With `waits`, an object of the other kind has to be deleted first.
fn addon_action(
    snapshot: &Snapshot,
    available: &Available,
    planned: &PlannedObject,
    waits: bool,
) -> AddonAction {
    let name = addon_of(planned);
    let found = snapshot.existing(planned).map(|found| &**found);
    let write = if available.stack.delivery.git().is_some() {
        by_flux(planned, found)
    } else {
        let spec_digest = snapshot.addon.spec_digest_of(name).map(SpecDigest::kept);
        let found = found.or_else(|| snapshot.occupant(planned).map(|found| &**found));
        let owners: Vec<OwnerReference> = snapshot.addon.owner_ref(&()).into_iter().collect();
        let facts =
            WriteFacts { found, expected: spec_digest.as_ref(), ..snapshot.write_facts(planned, &owners) };
        match write(planned, facts) {
            Write::Taken => ObjectWrite::ByOperator(Write::Taken),
            _ if waits && has_other_kind(snapshot, planned) => ObjectWrite::AfterOtherKind,
            write => ObjectWrite::ByOperator(write),
        }
    };
    let is_written =
        matches!(write, ObjectWrite::ByOperator(Write::Apply(_)) | ObjectWrite::ByFlux(Action::Apply));
    let changes_spec = is_written && has_other_spec(snapshot, planned);
    AddonAction { write, suspend: suspend_by_settings(snapshot, available, planned), changes_spec }
}

/// Whether the object of an addon does not exist, or has another spec than planned.
fn has_other_spec(snapshot: &Snapshot, planned: &PlannedObject) -> bool {
    let Some(found) = snapshot.existing(planned) else { return true };
    let spec = field(&planned.value, &["spec"]).cloned().unwrap_or_default();
    let kept = snapshot.addon.spec_digest_of(addon_of(planned)).map(SpecDigest::kept);
    // The API server adds defaults to a spec: that of the same plan is compared with the last write instead.
    let expected = if is_of_plan(&found.object, planned) { kept } else { Some(SpecDigest::of(spec)) };
    expected.is_none_or(|expected| expected != found.spec_digest)
}

/// Decides the value to write to `spec.suspend` of the object of an addon: the `ClusterStack` or the owner of the Cluster may have it
/// suspended.
fn suspend_by_settings(snapshot: &Snapshot, available: &Available, planned: &PlannedObject) -> Option<bool> {
    let suspend = is_to_suspend(available, addon_of(planned));
    match snapshot.existing(planned) {
        Some(found) => suspension(found, Purpose::Deliver { suspend }),
        None => suspend.then_some(true),
    }
}

fn is_to_suspend(available: &Available, addon: &str) -> bool {
    let settings = available.stack.flux.addons.get(addon);
    settings.is_some_and(|settings| settings.suspend) || available.requests.suspends(addon)
}

/// Whether a `ClusterAddon` has an object of the other kind with the name of a planned object.
fn has_other_kind(snapshot: &Snapshot, planned: &PlannedObject) -> bool {
    let other = snapshot.get(other_kind(&planned.id.kind).as_str(), &planned.id.name);
    waits_for_other_kind(other.map(|other| &other.object), &snapshot.addon)
}

/// Whether a release was delivered before.
#[must_use]
pub fn has_release(addon: &ClusterAddon) -> bool {
    let release = addon.status.as_ref().and_then(|status| status.release.as_ref());
    release.is_some_and(|release| release.applied.is_some())
}
