//! Flux's objects as the live commands read them: their conditions, references and inventories.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde::Deserialize;

use crate::api::GitReference;
use crate::api::conditions::Reason;
use crate::foreign::flux::FluxKind;
use crate::foreign::flux::observed::{Condition, Conditions, Status};
use crate::names::credentials::masked;
use crate::promote::follow::Followed;
use crate::rollup::{ConditionStatus, Report};

/// A Flux object.
#[derive(Clone, Debug, Default, Deserialize)]
pub(in crate::cli) struct FluxObject {
    pub(super) metadata: ObjectMeta,
    #[serde(default)]
    spec: Spec,
    #[serde(default)]
    status: FluxStatus,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Spec {
    #[serde(default)]
    suspend: bool,
    chart_ref: Option<Reference>,
    source_ref: Option<Reference>,
    #[serde(default)]
    url: String,
    #[serde(default, rename = "ref")]
    reference: GitReference,
}

#[derive(Clone, Debug, Deserialize)]
struct Reference {
    kind: String,
    name: String,
    namespace: Option<String>,
}

#[derive(Clone, Debug, Default, Deserialize)]
struct FluxStatus {
    #[serde(default)]
    conditions: Conditions,
    #[serde(default)]
    inventory: Inventory,
}

#[derive(Clone, Debug, Default, Deserialize)]
struct Inventory {
    #[serde(default)]
    entries: Vec<Entry>,
}

#[derive(Clone, Debug, Deserialize)]
struct Entry {
    id: String,
}

/// An object that Flux applied to a cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::cli) struct Applied {
    pub(super) kind: String,
    /// The namespace; empty for cluster-scoped kinds.
    pub(super) namespace: String,
    pub(super) name: String,
}

impl FluxObject {
    /// Returns what Flux reports about the current spec: false while the object is being deleted, unknown if the object
    /// is suspended or the report is outdated.
    pub(super) fn report(&self) -> Report {
        let unknown =
            |reason: Reason, message| Report::new(ConditionStatus::Unknown, reason.as_str(), message);
        if self.metadata.deletion_timestamp.is_some() {
            return Report::new(ConditionStatus::False, Reason::Terminating.as_str(), "is being deleted");
        }
        if self.spec.suspend {
            return unknown(Reason::Suspended, "is suspended, its state is not known");
        }
        match self.current("Ready") {
            Some(ready) => report_of(ready),
            None => unknown(Reason::Pending, "Flux has not looked at it yet"),
        }
    }

    /// Returns the failing conditions besides `Ready`, in the order in which Flux does its work.
    pub(super) fn causes(&self) -> Vec<(&'static str, Report)> {
        let wrong = [
            ("FetchFailed", Status::True),
            ("BuildFailed", Status::True),
            ("StorageOperationFailed", Status::True),
            ("SourceVerified", Status::False),
            ("Released", Status::False),
            ("TestSuccess", Status::False),
            ("Healthy", Status::False),
            ("Remediated", Status::True),
            ("Stalled", Status::True),
        ];
        let found = wrong.into_iter().filter_map(|(kind, status)| {
            let condition = self.current(kind).filter(|condition| condition.status == status)?;
            Some((kind, Report { status: ConditionStatus::False, ..report_of(condition) }))
        });
        found.collect()
    }

    fn current(&self, kind: &str) -> Option<&Condition> {
        let present = |seen: i64| self.metadata.generation.is_none_or(|generation| seen == generation);
        self.status.conditions.get(kind).filter(|condition| condition.observed_generation.is_none_or(present))
    }

    /// Returns the source of the object's content: its kind, namespace and name.
    pub(super) fn source(&self) -> Option<(FluxKind, String, String)> {
        let reference = self.spec.chart_ref.as_ref().or(self.spec.source_ref.as_ref())?;
        let namespace = reference.namespace.clone().or_else(|| self.metadata.namespace.clone());
        Some((FluxKind::of(&reference.kind)?, namespace.unwrap_or_default(), reference.name.clone()))
    }

    /// Returns the URL and the reference that a `GitRepository` follows.
    pub(super) fn followed(&self) -> Followed {
        Followed { url: masked(&self.spec.url).into_owned(), reference: self.spec.reference.clone() }
    }

    /// Returns the applied objects, from the inventory.
    pub(super) fn applied(&self) -> Vec<Applied> {
        self.status.inventory.entries.iter().filter_map(|entry| applied(&entry.id)).collect()
    }
}

/// Parses an entry of an inventory: `<namespace>_<name>_<group>_<kind>`, with a colon in the name as two underscores
/// (`cli-utils/pkg/object`).
fn applied(id: &str) -> Option<Applied> {
    let (rest, kind) = id.rsplit_once('_')?;
    let (rest, _group) = rest.rsplit_once('_')?;
    let (namespace, name) = rest.split_once('_')?;
    Some(Applied { kind: kind.to_owned(), namespace: namespace.to_owned(), name: name.replace("__", ":") })
}

fn report_of(condition: &Condition) -> Report {
    Report::new(condition.status, &condition.reason, &condition.message)
}
