//! The results of the writes for a Cluster.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::facts::addon_of;
use super::{Available, Decision, Delivery, Facts, ObjectWrite, Target, committed_by};
use crate::api::{ClusterAddon, Reason};
use crate::foreign::flux::observed::{FluxObject, SpecDigest};
use crate::gate::Hold;
use crate::names::AddonName;
use crate::plan::repair::Wait;
use crate::plan::write::Write;
use crate::plan::{ObjectId, Plan, existing};
use crate::release::Addon;

/// The results of the writes for a Cluster.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Receipts {
    /// Digest of each addon's spec as returned by the operator's last write, or as applied by Flux.
    pub expected: BTreeMap<String, SpecDigest>,
    /// The error of each addon whose object could not be written.
    pub failures: BTreeMap<String, String>,
    /// The addons whose objects wait for the deletion of an old one.
    pub waiting: BTreeSet<String>,
    /// The addons whose objects are not written, because objects of another client have the names of planned ones.
    pub existing: BTreeMap<String, Hold>,
    /// The repairs of addons' objects that wait, because another client changes them again and again.
    pub repairs: BTreeMap<String, Wait>,
    /// The source whose repair waits, because of which no object was written.
    pub source_repair: Option<(ObjectId, Wait)>,
    /// The error of a source, because of which no object was written.
    pub without_source: Option<String>,
    /// The addons whose objects differ from the plan, and are not written while delivery is suspended.
    pub suspended: BTreeSet<String>,
    /// The addons whose objects are on their way, each with its progress: through a repository, or by the next reconcile.
    pub on_their_way: BTreeMap<String, Hold>,
    /// The `ClusterStack` whose repository has or will have the objects.
    pub committed_by: Option<String>,
    /// The refusal of the change of the annotation that delays upgrades.
    pub hook_refusal: Option<String>,
    /// The objects after the writes.
    pub objects: Vec<Arc<FluxObject>>,
}

impl Receipts {
    /// Returns the receipts without any writes, from the last status.
    #[must_use]
    pub fn unchanged(addon: &ClusterAddon) -> Self {
        let kept = addon.status.iter().flat_map(|status| &status.addons).filter_map(|addon| {
            let digest = addon.expected.as_ref()?.spec_digest.as_ref()?;
            Some((addon.name.clone(), SpecDigest::kept(digest)))
        });
        Self { expected: kept.collect(), committed_by: committed_by(addon), ..Self::default() }
    }

    /// Returns the receipts of a decision if the API server accepts all its writes, and Flux applies what is committed.
    #[must_use]
    pub fn if_accepted(facts: &Facts, decision: &Decision) -> Self {
        let Target::Available(available) = &facts.target else {
            return Self::without_writes(facts, decision);
        };
        let mut receipts = match decision.delivery {
            Delivery::Apply => Self::unchanged(&facts.snapshot.addon),
            Delivery::Commit => Self { committed_by: Some(available.stack_name()), ..Self::default() },
            _ => return Self::without_writes(facts, decision),
        };
        for planned in available.planned() {
            let name = addon_of(planned);
            match decision.actions.get(name).map(|action| &action.write) {
                Some(ObjectWrite::AppliedByFlux(digest)) => {
                    receipts.expected.insert(name.to_owned(), digest.clone());
                }
                Some(ObjectWrite::ByOperator(Write::Taken)) => {
                    receipts.existing.insert(name.to_owned(), existing::hold(&planned.id));
                }
                Some(ObjectWrite::ByOperator(Write::AfterDeletion) | ObjectWrite::AfterOtherKind) => {
                    receipts.wait(name);
                }
                Some(ObjectWrite::ByOperator(_) | ObjectWrite::ByFlux(_)) => {
                    receipts.expected.insert(name.to_owned(), SpecDigest::kept(planned.digest()));
                }
                None => {}
            }
        }
        receipts
    }

    /// Adds an addon whose object waits for the deletion of an old one.
    pub fn wait(&mut self, addon: &str) {
        self.expected.remove(addon);
        self.waiting.insert(addon.to_owned());
    }

    /// Returns the receipts of a decision that writes nothing.
    #[must_use]
    pub fn without_writes(facts: &Facts, decision: &Decision) -> Self {
        let unchanged = Self::unchanged(&facts.snapshot.addon);
        match (&facts.target, &decision.delivery) {
            (Target::Available(_), Delivery::Suspended) => {
                let differing = decision.actions.iter().filter(|(_, action)| !action.write.is_nothing());
                Self { suspended: differing.map(|(name, _)| name.clone()).collect(), ..unchanged }
            }
            (Target::Available(available), Delivery::Elsewhere(hold)) => {
                let addons = available.planned().map(|object| addon_of(object).to_owned());
                Self { on_their_way: addons.map(|addon| (addon, hold.clone())).collect(), ..unchanged }
            }
            _ => unchanged,
        }
    }

    /// Whether every addon of the plan is written.
    #[must_use]
    pub fn is_complete(&self, plan: &Plan) -> bool {
        self.failures.is_empty()
            && self.existing.is_empty()
            && self.suspended.is_empty()
            && self.on_their_way.is_empty()
            && self.waiting_repairs().next().is_none()
            && self.without_source.is_none()
            && plan.addons().all(|object| self.expected.contains_key(addon_of(object)))
    }

    /// Whether everything in a release is delivered, and no stage that deletes an addon is left.
    pub(super) fn is_delivered(&self, available: &Available) -> bool {
        let is_ending = available.course.is_ending(available.release);
        is_ending && available.plan.held().is_empty() && self.is_complete(&available.plan)
    }

    /// Returns the repairs that wait.
    pub fn waiting_repairs(&self) -> impl Iterator<Item = &Wait> {
        self.repairs.values().chain(self.source_repair.iter().map(|(_, wait)| wait))
    }

    /// Whether the object of an addon waits only for the deletion of an old one.
    #[must_use]
    pub fn waits_for_old(&self, addon: &AddonName) -> bool {
        self.waiting.contains(addon.as_str())
    }

    /// Whether the object of an addon is about to change without another write: an old one is being deleted, or Flux is
    /// applying a commit.
    #[must_use]
    pub fn is_on_its_way(&self, addon: &AddonName) -> bool {
        self.waits_for_old(addon) || self.on_their_way.contains_key(addon.as_str())
    }

    /// Returns the reason why an addon's object is not as planned, if any.
    #[must_use]
    pub fn hold(&self, addon: &Addon, plan: &Plan) -> Option<Hold> {
        let name = addon.name.as_str();
        let by_gate = plan.held().iter().find(|held| held.addon.as_ref() == Some(&addon.name));
        if let Some(held) = by_gate {
            return Some(held.hold.clone());
        }
        let because = |reason, message: &str| Some(Hold { reason, message: message.to_owned() });
        if self.suspended.contains(name) {
            let message = "differs from the plan, and is not changed while the ClusterStack or the ClusterAddon \
                           is suspended";
            return because(Reason::Suspended, message);
        }
        if self.waits_for_old(&addon.name) {
            return because(Reason::Terminating, "waits until its old object is deleted");
        }
        if let Some(hold) = self.existing.get(name).or_else(|| self.on_their_way.get(name)) {
            return Some(hold.clone());
        }
        if let Some((source, wait)) = &self.source_repair {
            return because(Reason::Foreign, &format!("{source} {wait}"));
        }
        because(Reason::DeliveryFailed, self.failures.get(name).or(self.without_source.as_ref())?)
    }
}

/// Returns the hold of an object that was in another state than the write was decided for.
#[must_use]
pub fn deciding_again() -> Hold {
    let message = "another client changed its object at the same time: the operator tries again".to_owned();
    Hold { reason: Reason::Progressing, message }
}

/// Returns the hold of an object that waits for the next commit.
#[must_use]
pub fn committing() -> Hold {
    Hold { reason: Reason::Committing, message: "it waits for the next commit".to_owned() }
}
