//! Decides how to bring an object to its planned state, and which of its fields stackflux owns.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde_json::{Map, Value};

use super::PlannedObject;
pub use super::existing::LiveObject;
use super::existing::is_ours;
use crate::api::labels::{FIELD_MANAGER, PLAN_DIGEST, SUSPEND_FIELD_MANAGER};
use crate::api::{ClusterAddon, GitDelivery, Reason};
use crate::foreign::capi::{field, text};
use crate::foreign::flux::FluxKind;
use crate::foreign::flux::observed::{FluxObject, References, SpecDigest};
use crate::foreign::flux::ownership::{has_owner, is_owned};
use crate::gate::Hold;
use crate::names::Key;

/// The action for one object. Of the actions for several owners the greatest counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Action {
    /// The object is as planned.
    Nothing,
    /// Another field manager changed the object: apply it, and remove the fields that are not ours.
    Repair,
    /// Apply the object: it does not exist, or is as an earlier plan had it, or the result of our last write is unknown.
    Apply,
    /// The object is being deleted; it is created again afterwards.
    Wait,
    /// The object is one of another client: nothing is written before it is gone.
    Hold,
}

/// The state that an object is compared with, besides its plan.
#[derive(Clone, Copy, Debug)]
pub enum Baseline<'a> {
    /// Only the plan. Flux applies the object from a repository and corrects drift: its spec and its labels count as
    /// written.
    Plan,
    /// The result of our last write.
    LastWrite {
        /// The digest of the spec as that write returned it, if known.
        spec_digest: Option<&'a SpecDigest>,
        /// The UID of the object for which it is delivered, if that object can own it.
        owner: Option<&'a str>,
        /// The UID of the object's Namespace, if known.
        namespace: Option<&'a str>,
    },
}

impl<'a> Baseline<'a> {
    /// Returns the baseline of an object that the operator applies for a `ClusterAddon`. `namespace` is the UID of the
    /// object's Namespace, if known.
    #[must_use]
    pub fn of_addon(
        addon: &'a ClusterAddon,
        spec_digest: Option<&'a SpecDigest>,
        namespace: Option<&'a str>,
    ) -> Self {
        Self::LastWrite { spec_digest, owner: addon.metadata.uid.as_deref(), namespace }
    }
}

/// Decides the action for a planned object. `found` is the existing object.
#[must_use]
pub fn action(planned: &PlannedObject, found: Option<LiveObject>, baseline: Baseline) -> Action {
    let Some(found) = found else { return Action::Apply };
    // What Flux applies from a repository, the operator does not write.
    if matches!(baseline, Baseline::LastWrite { .. }) && !is_ours(found, planned) {
        return Action::Hold;
    }
    if found.metadata.deletion_timestamp.is_some() {
        return Action::Wait;
    }
    if !is_of_plan(found.metadata, planned) {
        return Action::Apply;
    }
    let Baseline::LastWrite { spec_digest, owner, namespace } = baseline else { return Action::Nothing };
    let keeper = owner.and(namespace).filter(|_| is_kept_by_namespace(&planned.id.kind));
    let is_owned = owner.into_iter().chain(keeper).all(|uid| has_owner(found.metadata, uid));
    match spec_digest.filter(|_| is_owned) {
        None => Action::Apply,
        Some(digest) if digest != found.spec_digest => Action::Repair,
        Some(_) if !has_labels(found.metadata, planned) => Action::Repair,
        Some(_) => Action::Nothing,
    }
}

/// Whether an object was written by this plan, whatever changed since.
#[must_use]
pub fn is_of_plan(found: &ObjectMeta, planned: &PlannedObject) -> bool {
    let digest = found.annotations.as_ref().and_then(|annotations| annotations.get(PLAN_DIGEST));
    digest.map(String::as_str) == Some(planned.digest())
}

/// Whether an object has the labels of its plan. It may have others, too.
fn has_labels(found: &ObjectMeta, planned: &PlannedObject) -> bool {
    let labels = field(&planned.value, &["metadata", "labels"]).and_then(Value::as_object);
    let present = |name: &str| found.labels.as_ref()?.get(name).map(String::as_str);
    labels.into_iter().flatten().all(|(name, value)| present(name) == value.as_str())
}

/// The state of a Namespace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NamespaceState {
    /// Unknown: Namespaces are not read, or only others.
    Unknown,
    /// The Namespace does not exist.
    Absent,
    /// The Namespace exists.
    Present,
    /// The Namespace is being deleted.
    Terminating,
}

/// Decides the action for a Namespace, whose fields are not compared: `written` is the digest in the status.
#[must_use]
pub fn namespace_action(
    planned: &PlannedObject,
    found: NamespaceState,
    written: Option<&SpecDigest>,
) -> Action {
    match found {
        NamespaceState::Absent => Action::Apply,
        NamespaceState::Terminating => Action::Wait,
        _ if written == Some(&SpecDigest::kept(planned.digest())) => Action::Nothing,
        _ => Action::Apply,
    }
}

/// Whether an addon waits until its object of the other kind is deleted: a chart that was manifests before, or the
/// reverse. `other` is the object of that kind and of the same name.
#[must_use]
pub fn waits_for_other_kind(other: Option<&ObjectMeta>, addon: &ClusterAddon) -> bool {
    other.is_some_and(|other| is_owned(other, addon))
}

/// The purpose for which `spec.suspend` of an object is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// The object is delivered. A suspension by a user stays.
    Deliver {
        /// Whether the settings suspend the object.
        suspend: bool,
    },
    /// The object is orphaned or deleted, and nothing is uninstalled.
    Retain,
    /// The object is deleted, and Flux uninstalls what it installed.
    Uninstall,
}

/// Returns the value to write to `spec.suspend` of an object; `None` if it stays. Flux uninstalls what it installed for an
/// object when the object is deleted, but not for a suspended one.
#[must_use]
pub fn suspension(object: &FluxObject, purpose: Purpose) -> Option<bool> {
    match purpose {
        Purpose::Deliver { .. } if object.metadata.terminating => None,
        Purpose::Deliver { suspend: true } => (!object.suspended).then_some(true),
        Purpose::Deliver { suspend: false } => {
            (object.suspended && object.metadata.suspended_by_settings).then_some(false)
        }
        // Nothing is installed for a source.
        Purpose::Retain => (!object.suspended && !object.kind().is_source()).then_some(true),
        Purpose::Uninstall => object.suspended.then_some(false),
    }
}

/// Whether objects of a kind have the Namespace as an owner besides ours: the kinds whose deletion makes Flux uninstall
/// something. If an owner was deleted in the foreground or without its finalizer, garbage collection deletes its objects
/// and does not wait for us to suspend them. It deletes no object that has another owner.
#[must_use]
pub fn is_kept_by_namespace(kind: &str) -> bool {
    FluxKind::of(kind).is_some_and(|kind| !kind.is_source())
}

/// The hold if the `ClusterStack` `before` has the Cluster's files in its repository, and the `ClusterStack` `now`
/// delivers elsewhere. Flux would apply the same objects from two places in turns, and removing those of one place would
/// uninstall those of the other. Each `ClusterStack` comes with the repository that it delivers through.
#[must_use]
pub fn delivered_elsewhere(
    (before, theirs): (&Key, Option<&GitDelivery>),
    (now, ours): (&Key, Option<&GitDelivery>),
) -> Option<Hold> {
    let theirs = theirs.filter(|_| before != now)?;
    if ours.is_some_and(|ours| ours.is_same_place(theirs)) {
        return None;
    }
    let message = format!(
        "ClusterStack {before} has the files of this Cluster in branch {} path {} of its repository, and ClusterStack {now} \
         delivers elsewhere: give both the same delivery.git",
        theirs.branch, theirs.path
    );
    Some(Hold { reason: Reason::DeliveredElsewhere, message })
}

/// The digest of the spec of an object that Flux has applied as planned; `None` if it is as an earlier plan had it, or if
/// it is a source or chart with other content than planned: the digest makes its spec the one that the next plan keeps.
#[must_use]
pub fn applied(found: &FluxObject, planned: &PlannedObject) -> Option<SpecDigest> {
    let is_planned = action(planned, Some(found.into()), Baseline::Plan) == Action::Nothing;
    let is_complete = !found.kind().is_source() || has_content(&found.refers_to, planned);
    (is_planned && is_complete).then(|| found.spec_digest.clone())
}

/// The digest of a Namespace that Flux has applied as planned. `found` is the digest of a plan in its annotations.
#[must_use]
pub fn applied_namespace(found: Option<&str>, planned: &PlannedObject) -> Option<SpecDigest> {
    (found == Some(planned.digest())).then(|| SpecDigest::kept(planned.digest()))
}

/// The digest of the last write of a source or chart in the namespace of Clusters, which has many users, no owner and no
/// status: its present spec counts as written, unless it has other content than planned.
#[must_use]
pub fn digest_of_shared<'a>(
    refers_to: &References,
    present: &'a SpecDigest,
    planned: &PlannedObject,
) -> Option<&'a SpecDigest> {
    has_content(refers_to, planned).then_some(present)
}

fn has_content(refers_to: &References, planned: &PlannedObject) -> bool {
    planned.value.get("spec").is_some_and(|spec| refers_to.is_content_of(spec))
}

/// The fields of an object's spec that other field managers set and that are not ours, as JSON pointers (RFC 6901).
/// `object` is whole, with its `managedFields`.
///
/// Server-side apply does not change them, and Helm would install their values. `suspend` is not among them.
#[must_use]
pub fn foreign_fields(object: &Value) -> Vec<String> {
    let entries = field(object, &["metadata", "managedFields"]).and_then(Value::as_array);
    let (ours, others): (Vec<&Value>, Vec<&Value>) =
        entries.into_iter().flatten().partition(|entry| text(entry, &["manager"]) == FIELD_MANAGER);
    let spec = |entry: &&Value| field(entry, &["fieldsV1", "f:spec"]).and_then(Value::as_object).cloned();
    let ours = ours.iter().filter_map(spec).fold(Map::new(), merged);
    let others = others.into_iter().filter(|entry| text(entry, &["manager"]) != SUSPEND_FIELD_MANAGER);
    let mut others = others.collect::<Vec<_>>().iter().filter_map(spec).fold(Map::new(), merged);
    others.remove("f:suspend");
    let mut found = Vec::new();
    collect(&others, &ours, "/spec", &mut found);
    found
}

/// An object as it was written: all fields of its spec but `suspend`, by any writer, and our fields of its metadata. The
/// status and the API server's defaults are not in it. `object` is whole, with its `managedFields`.
#[must_use]
pub fn written(object: &Value) -> Value {
    let entries = field(object, &["metadata", "managedFields"]).and_then(Value::as_array);
    let mut fields = Map::new();
    for entry in entries.into_iter().flatten() {
        let mut of = field(entry, &["fieldsV1"]).and_then(Value::as_object).cloned().unwrap_or_default();
        let is_ours = text(entry, &["manager"]) == FIELD_MANAGER;
        of.retain(|part, _| part == "f:spec" || (is_ours && part == "f:metadata"));
        fields = merged(fields, of);
    }
    if let Some(Value::Object(spec)) = fields.get_mut("f:spec") {
        spec.remove("f:suspend");
    }
    if let Some(Value::Object(metadata)) = fields.get_mut("f:metadata") {
        metadata.retain(|name, _| name == "f:labels" || name == "f:annotations");
        metadata.extend(["f:name", "f:namespace"].map(|name| (name.to_owned(), Value::Object(Map::new()))));
    }
    fields.extend(["f:apiVersion", "f:kind"].map(|name| (name.to_owned(), Value::Object(Map::new()))));
    part_of(object, &fields)
}

/// The part of a value that is in a set of fields. A value without named fields below it is included whole.
fn part_of(value: &Value, fields: &Map<String, Value>) -> Value {
    let below = |(key, below): (&String, &Value)| {
        Some((key.strip_prefix("f:")?.to_owned(), below.as_object()?.clone()))
    };
    let named: Vec<(String, Map<String, Value>)> = fields.iter().filter_map(below).collect();
    let (Value::Object(object), false) = (value, named.is_empty()) else { return value.clone() };
    let part =
        named.iter().filter_map(|(name, below)| Some((name.clone(), part_of(object.get(name)?, below))));
    Value::Object(part.collect())
}

/// The union of both sets of fields.
fn merged(mut one: Map<String, Value>, other: Map<String, Value>) -> Map<String, Value> {
    for (key, value) in other {
        let below = match (one.remove(&key), value) {
            (Some(Value::Object(one)), Value::Object(other)) => Value::Object(merged(one, other)),
            (_, value) => value,
        };
        one.insert(key, below);
    }
    one
}

/// The topmost fields of `others` that are not in `ours`.
fn collect(others: &Map<String, Value>, ours: &Map<String, Value>, path: &str, found: &mut Vec<String>) {
    for (key, below) in others {
        // Items of lists (`k:…`, `v:…`) have no path of their own, and the lists in Flux's specs are atomic.
        let Some(name) = key.strip_prefix("f:") else { continue };
        let path = format!("{path}/{}", name.replace('~', "~0").replace('/', "~1"));
        match (ours.get(key), below.as_object()) {
            (None, _) => found.push(path),
            (Some(Value::Object(ours)), Some(below)) => collect(below, ours, &path, found),
            (Some(_), _) => {}
        }
    }
}

#[cfg(test)]
mod tests;
