//! The objects of a release: their delivery and their state.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::Namespace;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::ResourceExt as _;

use super::super::annotations::suspend;
use super::super::context::Context;
use super::super::deliver::{self, applied};
use super::super::events;
use super::super::objects::owner_reference;
use super::super::reconcile::ReconcileError;
use super::content::Known;
use crate::api::cluster_stack_release::GeneratedObject;
use crate::api::{ClusterStackRelease, labels};
use crate::foreign::flux::FluxKind;
use crate::foreign::flux::observed::{FluxObject, KindStatus, SpecDigest};
use crate::inputs::ReleaseInputs;
use crate::inputs::content::Content;
use crate::names::{self, AddonName};
use crate::plan::delivery::{Action, NamespaceState, applied_namespace};
use crate::plan::write::{RepairState, Write};
use crate::plan::{ObjectId, Plan, PlannedObject, Step};
use crate::rollup::{
    self, ConditionStatus, Expected, ObjectFacts, Verdict, expected_object, present_version,
    recorded_expectation,
};
use crate::runtime::cache::Key;
use crate::subscription::{DecidedObject, DeliveryMode, ObjectState, ReleaseWrite};

/// A release to deliver.
#[derive(Clone, Copy)]
pub(super) struct Delivery<'a> {
    pub(super) context: &'a Context,
    pub(super) object: &'a ClusterStackRelease,
    pub(super) known: &'a Known,
    pub(super) now: Timestamp,
}

impl Delivery<'_> {
    /// Returns the present states of the planned objects, in the order of the plan.
    pub(super) fn states(&self, plan: &Plan, mode: DeliveryMode) -> Vec<ObjectState> {
        plan.objects().map(|planned| self.state(planned, mode)).collect()
    }

    fn state(&self, planned: &PlannedObject, mode: DeliveryMode) -> ObjectState {
        let (context, key) = (self.context, planned.id.key());
        let expected = match mode {
            DeliveryMode::Suspended | DeliveryMode::Api => self.recorded(&planned.id),
            DeliveryMode::Git => self.applied(planned),
        };
        let kind = planned.kind();
        let found = kind.and_then(|kind| context.caches.flux.get(kind, &key));
        let namespace_state = context.namespace_state(&planned.id.name);
        let verdict = self.verdict(planned, (found.as_deref(), namespace_state), expected.as_ref());
        ObjectState {
            is_ready: verdict.is_some_and(|verdict| verdict.report().status == ConditionStatus::True),
            namespace_state,
            owners: self.owners(planned, found.as_deref()),
            namespace: deliver::namespace_owner(context, &planned.id.namespace),
            repairs: kind.map_or(RepairState::NONE, |kind| deliver::repairs(context, (kind, &key), self.now)),
            occupant: kind.and_then(|kind| context.occupants.get(kind, &key)),
            found,
            expected,
        }
    }

    /// Returns the verdict on an object whose spec has this digest.
    fn verdict(
        &self,
        planned: &PlannedObject,
        (found, namespace_state): (Option<&FluxObject>, NamespaceState),
        digest: Option<&SpecDigest>,
    ) -> Option<Verdict> {
        let find = |kind, key: &Key| self.context.caches.flux.get(kind, key);
        let fetched = found.and_then(|found| present_version(found, find));
        let wanted = (digest?, fetched.as_deref());
        let expected = expected_object(self.object, &self.known.inputs(), planned, wanted, self.now)?;
        judge(self.context, &planned.id, (found, namespace_state), &expected, self.now)
    }

    /// Carries out the write of an object. Returns its state afterwards.
    pub(super) async fn carry_out(&self, object: &DecidedObject<'_>) -> Result<ObjectFacts, ReconcileError> {
        let DecidedObject { planned, state, write } = object;
        let (expected, verdict) = match write {
            ReleaseWrite::Nothing | ReleaseWrite::ByFlux(_) | ReleaseWrite::Namespace(Action::Nothing) => {
                let found = (state.found.as_deref(), state.namespace_state);
                (state.expected.clone(), self.verdict(planned, found, state.expected.as_ref()))
            }
            ReleaseWrite::InItsTurn => (state.expected.clone(), None),
            ReleaseWrite::Flux { write, resumes } => {
                self.apply_flux(planned, state, (write, *resumes)).await?
            }
            ReleaseWrite::Namespace(action) => self.apply_namespace(planned, *action).await?,
        };
        Ok(ObjectFacts { id: planned.id.clone(), step: planned.step, expected, verdict })
    }

    /// Returns the digest of an object's spec in the status.
    fn recorded(&self, id: &ObjectId) -> Option<SpecDigest> {
        self.object.spec_digest_of(&id.kind, &id.namespace, &id.name).map(SpecDigest::kept)
    }

    /// Returns the digest of the spec of an object that Flux applied as planned.
    fn applied(&self, planned: &PlannedObject) -> Option<SpecDigest> {
        if planned.kind().is_some() {
            return applied(self.context, planned);
        }
        let found = self.context.caches.namespaces.get(&Key::new("", &planned.id.name))?;
        let digest = found.annotations().get(labels::PLAN_DIGEST).map(String::as_str);
        applied_namespace(digest, planned)
    }

    /// Carries out the write of a Flux object, resumes it if decided, and judges it.
    async fn apply_flux(
        &self,
        planned: &PlannedObject,
        state: &ObjectState,
        (write, resumes): (&Write, bool),
    ) -> Result<(Option<SpecDigest>, Option<Verdict>), ReconcileError> {
        let Some(kind) = planned.kind() else { return Ok((None, None)) };
        let before = (state.found.clone(), state.expected.as_ref());
        // The chart of a cluster class keeps its name.
        let known = planned.known_to(&self.context.helm_controller.renaming());
        let delivery = deliver::carry_out(self.context, (kind, &known, write), before, self.now).await?;
        if let Some(manager) = &delivery.repaired {
            events::repaired(self.context, self.object, &planned.id, manager).await;
        }
        let object = match delivery.object {
            Some(object) if resumes => {
                let object = suspend(self.context, &object, false).await?;
                Some(self.context.caches.flux.of(kind).written(object))
            }
            object => object,
        };
        let expected = delivery.expected;
        let found = (object.as_deref(), state.namespace_state);
        let verdict = self.verdict(planned, found, expected.as_ref());
        Ok((expected, verdict.map(|verdict| verdict.waiting_for(delivery.wait.as_ref()))))
    }

    /// Applies a Namespace, whose fields are not compared. The API server accepts an apply to a Namespace that is being
    /// deleted, which is gone afterwards.
    async fn apply_namespace(
        &self,
        planned: &PlannedObject,
        action: Action,
    ) -> Result<(Option<SpecDigest>, Option<Verdict>), ReconcileError> {
        let is_terminating = match action {
            // A Namespace is never held.
            Action::Nothing | Action::Hold => false,
            Action::Wait => true,
            Action::Apply | Action::Repair => {
                let key = Key::new("", &planned.id.name);
                let namespace: Namespace = self.context.api.apply(&key, &planned.value, None).await?;
                namespace.metadata.deletion_timestamp.is_some()
            }
        };
        if is_terminating {
            return Ok((None, Some(Verdict::Terminating)));
        }
        Ok((Some(SpecDigest::kept(planned.digest())), Some(Verdict::Applied)))
    }

    /// Returns the owners of an object: this release and, for a shared object, all other existing releases that own it. An
    /// owner in another namespace is not possible.
    fn owners(&self, planned: &PlannedObject, found: Option<&FluxObject>) -> Vec<OwnerReference> {
        let namespace = self.object.namespace().unwrap_or_default();
        if !planned.can_be_owned_in(&namespace) {
            return Vec::new();
        }
        let us = owner_reference(self.object);
        let others = found.into_iter().flat_map(|found| found.object.owner_references.iter().flatten());
        let others = others.filter(|other| {
            let release = self.context.caches.releases.get(&Key::new(&namespace, &other.name));
            other.uid != us.uid && release.is_some_and(|release| release.uid().as_ref() == Some(&other.uid))
        });
        std::iter::once(us.clone()).chain(others.cloned()).collect()
    }
}

fn judge(
    context: &Context,
    id: &ObjectId,
    (found, namespace_state): (Option<&FluxObject>, NamespaceState),
    expected: &Expected,
    now: Timestamp,
) -> Option<Verdict> {
    // A Namespace has no meaningful status: it counts as applied if it exists.
    if FluxKind::of(&id.kind).is_none() {
        return match namespace_state {
            NamespaceState::Absent => None,
            NamespaceState::Terminating => Some(Verdict::Terminating),
            NamespaceState::Present | NamespaceState::Unknown => Some(Verdict::Applied),
        };
    }
    Some(rollup::judge(found?, expected, &context.moment(&id.kind, now)))
}

/// Returns the present state of the objects in the status of a release.
pub(super) fn recorded_objects(
    context: &Context,
    object: &ClusterStackRelease,
    now: Timestamp,
) -> Vec<ObjectFacts> {
    let release = object.name_any();
    // Beside the repository of another namespace, the name has more digits.
    let is_class = |name: &str| {
        name.strip_prefix(&*release).is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
    };
    let facts = |kept: &GeneratedObject| {
        let id = ObjectId {
            api_version: String::new(),
            kind: kept.kind.clone(),
            namespace: kept.namespace.clone(),
            name: kept.name.clone(),
        };
        let step = match FluxKind::of(&kept.kind) {
            Some(FluxKind::Kustomization) => Step::NodeImages,
            // The only other kind in a release is a Namespace.
            Some(FluxKind::HelmRelease) | None => Step::ClusterClass,
            Some(FluxKind::HelmChart) if is_class(&kept.name) => Step::ClusterClass,
            Some(FluxKind::HelmChart | FluxKind::GitRepository | FluxKind::OCIRepository) => Step::Sources,
        };
        let found = FluxKind::of(&id.kind).and_then(|kind| context.caches.flux.get(kind, &id.key()));
        let find = |kind, key: &Key| context.caches.flux.get(kind, key);
        let version = found.as_deref().and_then(|found| present_version(found, find));
        let expected = recorded_expectation(kept, version, now);
        let found = (found.as_deref(), context.namespace_state(&id.name));
        let verdict = expected.as_ref().and_then(|expected| judge(context, &id, found, expected, now));
        ObjectFacts { id, step, expected: expected.map(|expected| expected.spec_digest), verdict }
    };
    object.status.iter().flat_map(|status| &status.objects).map(facts).collect()
}

/// Returns the sources and the class that the status of a release lists, as far as they exist.
pub(super) fn requested(context: &Context, object: &ClusterStackRelease) -> Vec<Arc<FluxObject>> {
    let recorded = object.status.iter().flat_map(|status| &status.objects);
    let found = recorded.filter_map(|recorded| {
        let kind = FluxKind::of(&recorded.kind)?;
        let is_requested =
            matches!(kind, FluxKind::GitRepository | FluxKind::OCIRepository | FluxKind::HelmRelease);
        let key = Key::new(&recorded.namespace, &recorded.name);
        is_requested.then(|| context.caches.flux.get(kind, &key))?
    });
    found.collect()
}

/// Returns the applied version of each addon, if known: the version of the chart that Flux packaged, the commit of manifests, or
/// the digest of an OCI artifact.
pub(super) fn versions(context: &Context, inputs: &ReleaseInputs) -> BTreeMap<AddonName, String> {
    let version = |addon: &crate::release::Addon| {
        let found = inputs.contents.addons.get(&addon.name)?;
        let fetched = || fetched_version(context, found, &inputs.stack.namespace);
        let commit = inputs.contents.version_of(found).or_else(fetched)?;
        if !addon.is_chart() || found.source_kind() == FluxKind::OCIRepository {
            return Some((addon.name.clone(), commit));
        }
        let chart = find_chart(context, inputs, found)?;
        let KindStatus::HelmChart(status) = &chart.status else { return None };
        let packaged = status.observed_source_artifact_revision.as_deref()?;
        let artifact = status.artifact.as_ref().filter(|_| packaged.ends_with(&commit))?;
        Some((addon.name.clone(), artifact.revision.clone()))
    };
    inputs.release.addons.iter().filter_map(version).collect()
}

/// Returns the commit or the digest that Flux has fetched for a component whose content can change.
fn fetched_version(context: &Context, of: &Content, namespace: &names::Namespace) -> Option<String> {
    let source = Key::new(namespace.as_str(), of.source.as_str());
    let source = context.caches.flux.get(of.source_kind(), &source)?;
    present_version(&source, |kind, key| context.caches.flux.get(kind, key))
}

/// Returns the chart beside the source, or any copy of the chart.
fn find_chart(context: &Context, inputs: &ReleaseInputs, of: &Content) -> Option<Arc<FluxObject>> {
    let (name, own) = (of.chart.as_str(), &inputs.stack.namespace);
    let beside = if of.component.is_some() { own } else { &inputs.stack.source.namespace };
    let beside = Key::new(beside.as_str(), name);
    let charts = context.caches.flux.of(FluxKind::HelmChart);
    charts.get(&beside).or_else(|| charts.all().into_iter().find(|chart| chart.name_any() == name))
}
