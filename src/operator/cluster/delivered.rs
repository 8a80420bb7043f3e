//! What became of the plan of one Cluster's addons.

use std::collections::{BTreeMap, BTreeSet};

use super::super::context::{Context, Prepared};
use super::super::deliver::applied;
use crate::addons::committed_by;
use crate::api::{ClusterAddon, Reason, labels};
use crate::foreign::capi::text;
use crate::foreign::flux::observed::{HelmReleaseStatus, Observed, ObservedKind, SpecDigest};
use crate::gate::Hold;
use crate::names::AddonName;
use crate::plan::delivery::{Action, Baseline, action};
use crate::plan::{Plan, PlannedObject, Step};
use crate::release::Addon;
use crate::runtime::api_server::RequestError;
use crate::runtime::cache::{Cache, Key};

/// What became of a plan.
#[derive(Default)]
pub(super) struct Delivered {
    /// The digest of each addon's spec as our last write returned it, or as Flux has applied it.
    pub(super) expected: BTreeMap<String, SpecDigest>,
    /// The addons whose objects could not be written.
    pub(super) failures: BTreeMap<String, RequestError>,
    /// The addons whose objects wait until an old one is gone.
    pub(super) waiting: BTreeSet<String>,
    /// Why none was: a source of theirs could not be written.
    pub(super) without_source: Option<RequestError>,
    /// The addons whose objects are not as planned, and stay so: nothing is written while it is suspended.
    pub(super) suspended: BTreeSet<String>,
    /// The addons whose objects are on their way through a repository, and how far.
    pub(super) committed: BTreeMap<String, Hold>,
    /// The `ClusterStack` whose repository has them, or is to get them.
    pub(super) committed_by: Option<String>,
}

impl Delivered {
    /// Nothing was written: what the status keeps from before.
    pub(super) fn nothing(addon: &ClusterAddon) -> Self {
        let kept = addon.status.iter().flat_map(|status| &status.addons).filter_map(|addon| {
            let digest = addon.expected.as_ref()?.spec_digest.as_ref()?;
            Some((addon.name.clone(), SpecDigest::kept(digest)))
        });
        Self { expected: kept.collect(), committed_by: committed_by(addon), ..Self::default() }
    }

    /// Nothing was written, and this is why.
    pub(super) fn held(addon: &ClusterAddon, plan: &Plan, hold: &Hold) -> Self {
        let addons = plan.objects().filter(|object| object.step == Step::Addons);
        let committed = addons.map(|object| (addon_of(object).to_owned(), hold.clone())).collect();
        Self { committed, ..Self::nothing(addon) }
    }

    /// Nothing is to be written: what is as planned already.
    pub(super) fn while_suspended(
        context: &Context,
        addon: &ClusterAddon,
        prepared: &Prepared,
        plan: &Plan,
    ) -> Self {
        let mut delivered = Self::nothing(addon);
        let by_git = prepared.stack.delivery.git().is_some();
        for planned in plan.objects().filter(|object| object.step == Step::Addons) {
            let name = addon_of(planned);
            let expected = delivered.expected.get(name);
            let is_as_planned = if planned.id.kind == HelmReleaseStatus::KIND {
                is_as_planned(&context.caches.helm_releases, addon, planned, expected, by_git)
            } else {
                is_as_planned(&context.caches.kustomizations, addon, planned, expected, by_git)
            };
            if !is_as_planned {
                delivered.suspended.insert(name.to_owned());
            }
        }
        delivered
    }

    /// Whether every addon of the plan is written.
    pub(super) fn is_complete(&self, plan: &Plan) -> bool {
        let mut addons = plan.objects().filter(|object| object.step == Step::Addons);
        self.failures.is_empty()
            && self.suspended.is_empty()
            && self.committed.is_empty()
            && self.without_source.is_none()
            && addons.all(|object| self.expected.contains_key(addon_of(object)))
    }

    /// Whether nothing but an old object keeps that of an addon from being written.
    pub(super) fn waits_for_old(&self, addon: &AddonName) -> bool {
        self.waiting.contains(addon.as_str())
    }

    /// Whether the object of an addon is about to change without another write: an old one goes, or Flux applies a commit.
    pub(super) fn is_on_its_way(&self, addon: &AddonName) -> bool {
        self.waits_for_old(addon) || self.committed.contains_key(addon.as_str())
    }

    /// The first failure, for the reconcile to be tried again.
    pub(super) fn into_failure(self) -> Option<RequestError> {
        self.without_source.or_else(|| self.failures.into_values().next())
    }

    /// Why an addon's object is not as planned.
    pub(super) fn hold(&self, addon: &Addon, plan: &Plan) -> Option<Hold> {
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
        if let Some(hold) = self.committed.get(name) {
            return Some(hold.clone());
        }
        let failure = self.failures.get(name).or(self.without_source.as_ref())?;
        because(Reason::DeliveryFailed, &failure.to_string())
    }
}

/// The addon that an object delivers.
pub(super) fn addon_of(object: &PlannedObject) -> &str {
    text(&object.value, &["metadata", "labels", labels::ADDON])
}

/// Whether nothing would have to be done for an addon's object.
fn is_as_planned<Status: ObservedKind>(
    cache: &Cache<Observed<Status>>,
    addon: &ClusterAddon,
    planned: &PlannedObject,
    expected: Option<&SpecDigest>,
    by_git: bool,
) -> bool {
    if by_git {
        return applied(cache, planned).is_some();
    }
    let found = cache.get(&Key::new(&planned.id.namespace, &planned.id.name));
    let owner = addon.metadata.uid.as_deref();
    let baseline = Baseline::LastWrite { spec_digest: expected, owner, namespace: None };
    action(planned, found.as_deref().map(Into::into), baseline) == Action::Nothing
}
