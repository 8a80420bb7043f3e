//! Computes the changes from the existing objects to a plan, by the decisions of the operator.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde_json::Value;

use crate::addons::{AddonMatch, OwnedObject, PruneDecision, prune_decision};
use crate::api::{ClusterAddon, Reason, labels};
use crate::cli::live::prepared::{Delivery, Shared};
use crate::compare::plans::{ChangeKind, HeldAddon, ObjectChange};
use crate::foreign::capi::{field, text};
use crate::foreign::flux::observed::{
    HelmReleaseStatus, KustomizationStatus, ObservedKind as _, SpecDigest, metadata_of,
};
use crate::foreign::flux::ownership::{DELIVERING, is_owned, other_kind};
use crate::names::{AddonName, Key};
use crate::plan::delivery::{
    Action, Baseline, LiveObject, action, namespace_action, waits_for_other_kind, written,
};
use crate::plan::{ObjectId, Plan, PlannedObject, Step};
use crate::release::Release;

/// The kind, and the namespace and name.
type Place = (String, Key);

/// A Flux object that exists.
struct Existing<'a> {
    value: &'a Value,
    metadata: ObjectMeta,
    spec_digest: SpecDigest,
}

/// The existing Flux objects, and the UIDs of the Namespaces by name.
pub(super) struct Found<'a> {
    objects: BTreeMap<Place, Existing<'a>>,
    namespaces: &'a BTreeMap<String, String>,
}

impl<'a> Existing<'a> {
    fn new(value: &'a Value) -> Result<Self, serde_json::Error> {
        let spec_digest = SpecDigest::of(field(value, &["spec"]).cloned().unwrap_or_default());
        Ok(Self { value, metadata: metadata_of(value)?, spec_digest })
    }

    fn live(&self) -> LiveObject<'_> {
        LiveObject { metadata: &self.metadata, spec_digest: &self.spec_digest }
    }
}

impl<'a> Found<'a> {
    pub(super) fn of(
        objects: &'a [Value],
        namespaces: &'a BTreeMap<String, String>,
    ) -> Result<Self, serde_json::Error> {
        let existing = |value| {
            let existing = Existing::new(value)?;
            let kind = text(value, &["kind"]).to_owned();
            Ok(((kind, Key::of_metadata(&existing.metadata)), existing))
        };
        Ok(Self { objects: objects.iter().map(existing).collect::<Result<_, _>>()?, namespaces })
    }

    /// Returns the changes of the objects that all Clusters share.
    pub(super) fn shared(&self, shared: &Shared) -> Vec<ObjectChange> {
        let change = |planned: &PlannedObject| {
            let todo = |delivery: &Delivery| self.shared_action(planned, delivery, shared.by_git);
            self.change(planned, shared.deliveries(&planned.id).map(todo).max()?)
        };
        shared.plan.objects().filter_map(change).collect()
    }

    fn shared_action(&self, planned: &PlannedObject, delivery: &Delivery, by_git: bool) -> Action {
        let (spec_digest, owner) = (delivery.spec_digest.as_ref(), delivery.owner.as_deref());
        if planned.id.kind == "Namespace" {
            return namespace_action(planned, spec_digest);
        }
        let namespace = self.namespace_of(planned);
        let last_write = Baseline::LastWrite { spec_digest, owner, namespace };
        let baseline = if by_git { Baseline::Plan } else { last_write };
        action(planned, self.at(&planned.id.kind, planned).map(Existing::live), baseline)
    }

    /// Returns the changes of one Cluster's objects.
    pub(super) fn of_cluster(
        &self,
        plan: &Plan,
        addon: Option<&ClusterAddon>,
        by_git: bool,
    ) -> Vec<ObjectChange> {
        let change = |planned: &PlannedObject| {
            let old = self.at(other_kind(&planned.id.kind), planned).map(|old| &old.metadata);
            let is_addon = planned.step == Step::Addons && !by_git;
            if is_addon && addon.is_some_and(|addon| waits_for_other_kind(old, addon)) {
                let waits_for = Some(other_kind(&planned.id.kind).to_owned());
                let created = between(ChangeKind::Created, &planned.id, None, Some(&planned.value));
                return Some(ObjectChange { waits_for, ..created });
            }
            let spec_digest = addon.and_then(|addon| addon.spec_digest_of(addon_of(&planned.value)));
            let spec_digest = spec_digest.map(SpecDigest::kept);
            let last_write = Baseline::LastWrite {
                spec_digest: spec_digest.as_ref(),
                owner: addon.and_then(|addon| addon.metadata.uid.as_deref()),
                namespace: self.namespace_of(planned),
            };
            let baseline = if is_addon { last_write } else { Baseline::Plan };
            let found = self.at(&planned.id.kind, planned);
            self.change(planned, action(planned, found.map(Existing::live), baseline))
        };
        plan.objects().filter_map(change).collect()
    }

    /// Decides about the objects of a `ClusterAddon` whose addon the release does not have, or has in another form.
    /// Returns the removals, and the holds on objects that stay.
    pub(super) fn dropped(
        &self,
        plan: &Plan,
        release: &Release,
        addon: &ClusterAddon,
    ) -> (Vec<ObjectChange>, Vec<HeldAddon>) {
        let (mut removed, mut held) = (Vec::new(), Vec::new());
        if plan.held().iter().any(|held| held.addon.is_none()) {
            return (removed, held);
        }
        for ((kind, key), object) in &self.objects {
            let name = addon_of(object.value);
            let Ok(parsed) = name.parse::<AddonName>() else { continue };
            let delivers = delivers(release, &parsed, kind, is_owned(&object.metadata, addon));
            let suspended = field(object.value, &["spec", "suspend"]) == Some(&Value::Bool(true));
            let terminating = object.metadata.deletion_timestamp.is_some();
            // The other form is planned unless it is held, and only waits for this removal.
            let may_go = match delivers {
                AddonMatch::OtherKind => plan.objects().any(|planned| addon_of(&planned.value) == name),
                _ => plan.held().is_empty(),
            };
            let message = match prune_decision(OwnedObject { delivers, suspended, terminating }, may_go) {
                PruneDecision::Delete => {
                    let id = ObjectId {
                        api_version: text(object.value, &["apiVersion"]).to_owned(),
                        kind: kind.clone(),
                        namespace: key.namespace.clone(),
                        name: key.name.clone(),
                    };
                    removed.push(between(ChangeKind::Removed, &id, Some(&written(object.value)), None));
                    continue;
                }
                PruneDecision::Blocked if suspended => {
                    format!("{kind} {key} is suspended, and stays until it is resumed")
                }
                PruneDecision::Blocked if delivers == AddonMatch::NotInRelease => {
                    "Flux uninstalls it when all addons of the release are delivered".to_owned()
                }
                PruneDecision::Keep | PruneDecision::Deleting | PruneDecision::Blocked => continue,
            };
            let why = match delivers {
                AddonMatch::OtherKind => "the release has it in another form",
                _ => "not in the release",
            };
            let (addon, reason) = (Some(name.to_owned()), Reason::AddonRemoved.as_str());
            held.push(HeldAddon { addon, reason, message: format!("{why}: {message}") });
        }
        (removed, held)
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
            (_, None) => Some(between(ChangeKind::Created, &planned.id, None, new)),
            (_, Some(found)) => {
                Some(between(ChangeKind::Changed, &planned.id, Some(&written(found.value)), new))
            }
        }
    }

    /// Finds the existing object of a kind with the namespace and name of a planned one.
    fn at(&self, kind: &str, planned: &PlannedObject) -> Option<&Existing<'a>> {
        self.objects.get(&(kind.to_owned(), Key::new(&planned.id.namespace, &planned.id.name)))
    }

    fn namespace_of(&self, planned: &PlannedObject) -> Option<&str> {
        self.namespaces.get(&planned.id.namespace).map(String::as_str)
    }
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

/// Matches an object, by its kind and the addon in its label, with the addons of the release.
fn delivers(release: &Release, addon: &AddonName, kind: &str, is_owned: bool) -> AddonMatch {
    let now = release.addons.iter().find(|of| of.name == *addon);
    match now.map(|now| if now.is_chart() { HelmReleaseStatus::KIND } else { KustomizationStatus::KIND }) {
        _ if !is_owned || !DELIVERING.contains(&kind) => AddonMatch::OtherOwner,
        None => AddonMatch::NotInRelease,
        Some(now) if now == kind => AddonMatch::Current,
        Some(_) => AddonMatch::OtherKind,
    }
}

fn addon_of(object: &Value) -> &str {
    text(object, &["metadata", "labels", labels::ADDON])
}
