//! Computes the changes from the existing objects to a plan, by the decisions of the operator.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde_json::Value;

use super::addon_objects::AddonObjects;
use crate::api::{ClusterAddon, ClusterStack, ClusterStackRelease, ConditionType, Reason, labels};
use crate::cli::diff::HeldClass;
use crate::cli::live::prepared::{Owner, Shared};
use crate::cli::live::present::LiveNamespace;
use crate::cli::live::snapshot::mirrored;
use crate::compare::plans::{ChangeKind, ObjectChange};
use crate::foreign::capi::{field, text};
use crate::foreign::flux::observed::{FluxObject, References, SpecDigest, metadata_of};
use crate::foreign::flux::ownership::other_kind;
use crate::gate::Hold;
use crate::names::Key;
use crate::plan::delivery::{
    Action, Baseline, LiveObject, NamespaceState, action, digest_of_shared, namespace_action,
    waits_for_other_kind, written,
};
use crate::plan::existing::{self, is_ours};
use crate::plan::{ObjectId, Plan, PlannedObject, Step};
use crate::rollup::{ConditionStatus, Report};
use crate::subscription::{StepFacts, WrittenSteps, is_class_delivered, provider_references, steps_to_write};

/// The kind, and the namespace and name.
type Place = (String, Key);

/// A Flux object that exists.
struct Existing<'a> {
    value: &'a Value,
    metadata: ObjectMeta,
    spec_digest: SpecDigest,
    has_our_fields: bool,
}

/// The changes of what all Clusters of a `ClusterStack` share.
#[derive(Default)]
pub(super) struct SharedChanges {
    pub(super) objects: Vec<ObjectChange>,
    pub(super) held_classes: Vec<HeldClass>,
    /// The holds of the releases that no Cluster can have, because the name of a source is taken.
    pub(super) without_source: BTreeMap<Key, Hold>,
}

/// The existing Flux objects, and the Namespaces by name.
pub(super) struct Found<'a> {
    objects: BTreeMap<Place, Existing<'a>>,
    /// The objects of the two kinds that deliver addons.
    pub(super) addons: AddonObjects,
    namespaces: &'a BTreeMap<String, LiveNamespace>,
}

impl<'a> Existing<'a> {
    fn new(value: &'a Value) -> Result<Self, serde_json::Error> {
        let spec_digest = SpecDigest::of(field(value, &["spec"]).cloned().unwrap_or_default());
        let (metadata, managers) = metadata_of(value)?;
        Ok(Self { value, metadata, spec_digest, has_our_fields: managers.has_our_fields() })
    }

    fn live(&self) -> LiveObject<'_> {
        LiveObject {
            metadata: &self.metadata,
            spec_digest: &self.spec_digest,
            has_our_fields: self.has_our_fields,
        }
    }
}

impl<'a> Found<'a> {
    pub(super) fn of(
        objects: &'a [Value],
        namespaces: &'a BTreeMap<String, LiveNamespace>,
        addons: AddonObjects,
    ) -> Result<Self, serde_json::Error> {
        let existing = |value| {
            let existing = Existing::new(value)?;
            let kind = text(value, &["kind"]).to_owned();
            Ok(((kind, Key::of_metadata(&existing.metadata)), existing))
        };
        Ok(Self { objects: objects.iter().map(existing).collect::<Result<_, _>>()?, addons, namespaces })
    }

    /// Returns the changes of the objects that all Clusters share.
    pub(super) fn shared(&self, shared: &Shared) -> SharedChanges {
        let by_git = shared.stack.spec.delivery.git().is_some();
        let mut todo: BTreeMap<&ObjectId, Action> = BTreeMap::new();
        let mut changes = SharedChanges::default();
        for (owner, plan) in &shared.parts {
            let (delivered, written) = self.delivered(shared.stack, (*owner, plan), by_git);
            for (planned, action) in delivered {
                let known = todo.entry(&planned.id).or_insert(action);
                *known = action.max(*known);
            }
            let Owner::Release(release) = owner else { continue };
            let key = Key::of(*release);
            let is_without_source = written.is_without_source();
            match written.hold {
                Some(hold) if is_without_source => _ = changes.without_source.insert(key, hold),
                // An object whose name is taken is a change.
                Some(hold) if hold.reason != Reason::AlreadyExists => {
                    changes.held_classes.push(HeldClass::new(key, hold));
                }
                _ => {}
            }
        }
        let objects = shared.plan.objects();
        let objects = objects.filter_map(|planned| self.change(planned, *todo.get(&planned.id)?));
        changes.objects = objects.collect();
        changes
    }

    /// Returns the objects of a plan that the operator delivers, each with its action, and the steps that it writes.
    fn delivered<'p>(
        &self,
        stack: &ClusterStack,
        (owner, plan): (Owner, &'p Plan),
        by_git: bool,
    ) -> (Vec<(&'p PlannedObject, Action)>, WrittenSteps) {
        let todo = |planned| (planned, self.shared_action(planned, owner, by_git));
        let mut actions: Vec<(&PlannedObject, Action)> = plan.objects().map(todo).collect();
        let taken = actions.iter().position(|(_, todo)| *todo == Action::Hold);
        let hold = taken.and_then(|at| actions.get(at));
        let hold = hold.map(|(planned, _)| (planned.step, existing::hold(&planned.id)));
        let (is_delivered, provider, images) = match owner {
            Owner::Stack(_) => (false, None, None),
            Owner::Release(release) => (
                is_class_delivered(release, plan),
                provider_problem(stack, release),
                self.images_not_ready(release, &actions, by_git),
            ),
        };
        let written = steps_to_write(&StepFacts {
            taken: hold.as_ref().map(|(step, hold)| (*step, hold)),
            is_class_delivered: is_delivered,
            provider_problem: provider.as_deref(),
            images_not_ready: images.as_deref(),
        });
        actions.truncate(taken.map_or(usize::MAX, |at| at + 1));
        actions.retain(|(planned, _)| written.steps.contains(&planned.step));
        (actions, written)
    }

    /// Describes the node images that are not ready after their actions: Flux has to apply a changed spec first.
    fn images_not_ready(
        &self,
        release: &ClusterStackRelease,
        actions: &[(&PlannedObject, Action)],
        by_git: bool,
    ) -> Option<String> {
        let is_reported = is_true(&reported(release, ConditionType::NodeImagesReady));
        let stays = |planned: &PlannedObject, todo: Action| {
            todo == Action::Nothing || (todo < Action::Wait && !by_git && self.keeps_spec(planned))
        };
        let mut images = actions.iter().filter(|(planned, _)| planned.step == Step::NodeImages);
        let not_ready = images.find(|(planned, todo)| !is_reported || !stays(planned, *todo));
        not_ready.map(|(planned, _)| planned.id.to_string())
    }

    /// Whether the spec of an object stays the same if it is applied.
    fn keeps_spec(&self, planned: &PlannedObject) -> bool {
        let found = self.at(&planned.id.kind, planned);
        found.is_some_and(|found| written(found.value).get("spec") == planned.value.get("spec"))
    }

    fn shared_action(&self, planned: &PlannedObject, owner: Owner, by_git: bool) -> Action {
        let (owner, spec_digest) = owner.last_write(planned);
        let spec_digest = spec_digest.as_ref();
        if planned.id.kind == "Namespace" {
            return namespace_action(planned, self.namespace_state(&planned.id.name), spec_digest);
        }
        let namespace = self.namespace_uid(&planned.id.namespace);
        let last_write = Baseline::LastWrite { spec_digest, owner, namespace };
        let baseline = if by_git { Baseline::Plan } else { last_write };
        action(planned, self.at(&planned.id.kind, planned).map(Existing::live), baseline)
    }

    /// Returns the changes of one Cluster's objects.
    pub(super) fn of_cluster(&self, plan: &Plan, addon: &ClusterAddon, by_git: bool) -> Vec<ObjectChange> {
        let change = |planned: &PlannedObject| {
            let other = other_kind(&planned.id.kind);
            let old = self.addons.get(other, &planned.id.key()).map(|old| &old.object);
            let is_addon = planned.step == Step::Addons && !by_git;
            if is_addon && !self.is_taken(planned) && waits_for_other_kind(old, addon) {
                let waits_for = Some(other.to_string());
                let created = between(ChangeKind::Created, &planned.id, None, Some(&planned.value));
                return Some(ObjectChange { waits_for, ..created });
            }
            let spec_digest = addon.spec_digest_of(addon_of(&planned.value));
            let spec_digest = spec_digest.map(SpecDigest::kept);
            let found = self.at(&planned.id.kind, planned);
            let baseline = match planned.step {
                _ if by_git => Baseline::Plan,
                Step::Addons => {
                    let namespace = self.namespace_uid(&planned.id.namespace);
                    Baseline::of_addon(addon, spec_digest.as_ref(), namespace)
                }
                _ => {
                    let digest = found.and_then(|found| {
                        let refers_to = References::of(found.value.get("spec")?);
                        digest_of_shared(&refers_to, &found.spec_digest, planned)
                    });
                    Baseline::LastWrite { spec_digest: digest, owner: None, namespace: None }
                }
            };
            self.change(planned, action(planned, found.map(Existing::live), baseline))
        };
        let last = self.taken_source(plan, by_git).unwrap_or(usize::MAX);
        plan.objects().take(last.saturating_add(1)).filter_map(change).collect()
    }

    /// Returns the position in a plan of the first source whose name an object of another client has. Nothing that follows
    /// is written, and nothing is removed. What Flux applies from a repository, the operator does not write.
    pub(super) fn taken_source(&self, plan: &Plan, by_git: bool) -> Option<usize> {
        let is_taken = |planned: &PlannedObject| planned.step == Step::Sources && self.is_taken(planned);
        plan.objects().position(is_taken).filter(|_| !by_git)
    }

    /// Returns the removal of an object.
    pub(super) fn removal(&self, object: &FluxObject) -> Option<ObjectChange> {
        let (kind, key) = (object.kind().to_string(), Key::of(object));
        let object = self.objects.get(&(kind.clone(), key.clone()))?;
        let Key { namespace, name } = key;
        let api_version = text(object.value, &["apiVersion"]).to_owned();
        let id = ObjectId { api_version, kind, namespace, name };
        Some(between(ChangeKind::Removed, &id, Some(&written(object.value)), None))
    }

    /// Returns the change that an action of the operator makes.
    fn change(&self, planned: &PlannedObject, todo: Action) -> Option<ObjectChange> {
        let new = Some(&planned.value);
        match (todo, self.at(&planned.id.kind, planned)) {
            (Action::Nothing, _) => None,
            (Action::Wait, _) => {
                let created = between(ChangeKind::Created, &planned.id, None, new);
                Some(ObjectChange { waits_for: Some(planned.id.kind.clone()), ..created })
            }
            (Action::Hold, _) => {
                Some(ObjectChange { effect: None, ..between(ChangeKind::Held, &planned.id, None, new) })
            }
            (_, None) => Some(between(ChangeKind::Created, &planned.id, None, new)),
            (_, Some(found)) => {
                Some(between(ChangeKind::Changed, &planned.id, Some(&written(found.value)), new))
            }
        }
    }

    /// Whether an object of another client has the name of a planned one.
    fn is_taken(&self, planned: &PlannedObject) -> bool {
        self.at(&planned.id.kind, planned).is_some_and(|found| !is_ours(found.live(), planned))
    }

    /// Finds the existing object of a kind with the namespace and name of a planned one.
    fn at(&self, kind: &str, planned: &PlannedObject) -> Option<&Existing<'a>> {
        self.objects.get(&(kind.to_owned(), planned.id.key()))
    }

    /// Whether a Namespace is known to be terminating.
    pub(super) fn is_terminating(&self, namespace: &str) -> bool {
        self.namespaces.get(namespace).is_some_and(|found| found.is_terminating)
    }

    /// Returns the state of a Namespace. Those that were not read may exist.
    fn namespace_state(&self, name: &str) -> NamespaceState {
        match self.namespaces.get(name) {
            Some(found) if found.is_terminating => NamespaceState::Terminating,
            Some(_) => NamespaceState::Present,
            None => NamespaceState::Unknown,
        }
    }

    /// Returns the UID of a Namespace, if known.
    pub(super) fn namespace_uid(&self, namespace: &str) -> Option<&str> {
        self.namespaces.get(namespace).map(|found| found.uid.as_str())
    }
}

/// Returns the reason why the provider's object of a release is not ready, as the operator last reported it.
fn provider_problem(stack: &ClusterStack, release: &ClusterStackRelease) -> Option<String> {
    provider_references(stack, release)?;
    let report = reported(release, ConditionType::ProviderReady);
    (!is_true(&report)).then_some(report.message)
}

/// Returns what the operator last reported about a release.
fn reported(release: &ClusterStackRelease, kind: ConditionType) -> Report {
    mirrored(&release.metadata, release.status.as_ref().map(|status| &status.conditions), kind)
}

fn is_true(report: &Report) -> bool {
    report.status == ConditionStatus::True
}

/// Compares two states with sorted fields, because the API server returns fields in another order.
fn between(change: ChangeKind, id: &ObjectId, old: Option<&Value>, new: Option<&Value>) -> ObjectChange {
    let sorted = |object: Option<&Value>| {
        let mut object = object.cloned()?;
        object.sort_all_objects();
        Some(object)
    };
    ObjectChange::between(change, id, sorted(old).as_ref(), sorted(new).as_ref())
}

fn addon_of(object: &Value) -> &str {
    text(object, &["metadata", "labels", labels::ADDON])
}
