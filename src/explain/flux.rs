//! Flux's objects as the live commands show them: what the operator observes of them, and what only the display needs.

use std::collections::BTreeMap;

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde::Deserialize;
use serde_json::Value;

use super::next::{Workload, is_workload};
use crate::addons::judge_recorded;
use crate::api::{ClusterAddon, ClusterStack, ClusterStackRelease, ConditionType, GitReference, Reason};
use crate::foreign::capi::{field, text};
use crate::foreign::flux::FluxKind;
use crate::foreign::flux::observed::{self, SpecDigest, Status};
use crate::inputs::defaults::Defaults;
use crate::names::Key;
use crate::names::credentials::masked;
use crate::promote::follow::Followed;
use crate::rollup::{
    ConditionStatus, Expected, Moment, Report, SourceFacts, Verdict, followed_source, judge, mirror,
    present_version, recorded_expectation,
};

/// A Flux object.
#[derive(Clone, Debug, Deserialize)]
#[serde(try_from = "Value")]
pub struct FluxObject {
    observed: observed::FluxObject,
    /// The kind of its source.
    source: Option<FluxKind>,
    followed: Followed,
    /// The Secret with the credentials of a source.
    secret: Option<String>,
    applied: Vec<Applied>,
}

/// An object that Flux applied to a cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Applied {
    /// Its kind.
    pub kind: String,
    /// The namespace; empty for cluster-scoped kinds.
    pub namespace: String,
    /// Its name.
    pub name: String,
}

impl TryFrom<Value> for FluxObject {
    type Error = serde_json::Error;

    fn try_from(object: Value) -> Result<Self, Self::Error> {
        let source = |name: &&str| FluxKind::of(text(&object, &["spec", name, "kind"]));
        let source = ["chartRef", "sourceRef"].iter().find_map(source);
        let url = masked(text(&object, &["spec", "url"])).into_owned();
        let reference = field(&object, &["spec", "ref"]).map(GitReference::deserialize).transpose()?;
        let entries = field(&object, &["status", "inventory", "entries"]).and_then(Value::as_array);
        let applied = entries.into_iter().flatten().filter_map(|entry| applied(text(entry, &["id"])));
        Ok(Self {
            source,
            secret: field(&object, &["spec", "secretRef", "name"]).and_then(Value::as_str).map(str::to_owned),
            followed: Followed { url, reference: reference.unwrap_or_default() },
            applied: applied.collect(),
            observed: observed::FluxObject::deserialize(object)?,
        })
    }
}

impl FluxObject {
    /// Returns its metadata.
    #[must_use]
    pub fn metadata(&self) -> &ObjectMeta {
        &self.observed.object
    }

    /// Returns the failing conditions besides `Ready`, in the order in which Flux does its work.
    #[must_use]
    pub fn causes(&self) -> Vec<(&'static str, Report)> {
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
            let condition = self.observed.current_with(kind, status)?;
            Some((kind, Report::new(ConditionStatus::False, &condition.reason, &condition.message)))
        });
        found.collect()
    }

    /// Returns the source of the object's content.
    #[must_use]
    pub fn source(&self) -> Option<(FluxKind, Key)> {
        Some((self.source?, self.observed.source()))
    }

    /// Returns the URL and the reference that a `GitRepository` follows.
    #[must_use]
    pub fn followed(&self) -> Followed {
        self.followed.clone()
    }

    /// Returns the name of the Secret with the credentials of a source.
    #[must_use]
    pub fn secret(&self) -> Option<&str> {
        self.secret.as_deref()
    }

    /// Returns the applied objects, from the inventory.
    #[must_use]
    pub fn applied(&self) -> &[Applied] {
        &self.applied
    }

    /// Returns the applied objects for which Kubernetes runs Pods.
    #[must_use]
    pub fn workloads(&self) -> Vec<Workload> {
        let found = self.applied.iter().filter(|applied| is_workload(&applied.kind));
        let found = found.map(|applied| Workload {
            kind: applied.kind.to_lowercase(),
            key: Key::new(&applied.namespace, &applied.name),
        });
        found.collect()
    }

    /// Reports a verdict: of an object that is as expected, in Flux's words.
    fn report(&self, verdict: &Verdict) -> Report {
        let report = verdict.report();
        let ready = self.observed.conditions.with("Ready", Status::True);
        match ready.filter(|_| is_true(&report)) {
            Some(ready) => Report::new(report.status, &ready.reason, &ready.message),
            None => report,
        }
    }
}

/// Whether a report says that all is well.
#[must_use]
pub fn is_true(report: &Report) -> bool {
    report.status == ConditionStatus::True
}

/// Returns the source in which the operator finds a stack's releases: the one that the stack sets, or that its status names.
#[must_use]
pub fn catalog(stack: &ClusterStack) -> Option<Key> {
    let recorded = || {
        let source = stack.status.as_ref()?.source.as_ref()?;
        source.git_repository.split_once('/').map(|(namespace, name)| Key::new(namespace, name))
    };
    Defaults::default().source_key(stack).or_else(recorded)
}

/// Reports the condition `SourceReady` of a `ClusterStack`.
#[must_use]
pub fn source_ready(stack: &ClusterStack) -> Report {
    let conditions = stack.status.as_ref().map(|status| status.conditions.as_slice()).unwrap_or_default();
    let generation = stack.metadata.generation.unwrap_or_default();
    mirror(conditions, generation, ConditionType::SourceReady.as_str())
}

/// Flux's objects by kind and key.
type Objects = BTreeMap<(FluxKind, Key), FluxObject>;

/// Reports on Flux objects as the operator judges them: by what the statuses of stackflux's objects expect of them. An object
/// that no status names counts as its owner planned it.
pub fn reports<'a>(
    objects: &Objects,
    addons: impl Iterator<Item = &'a ClusterAddon>,
    releases: impl Iterator<Item = &'a ClusterStackRelease>,
    stacks: impl Iterator<Item = &'a ClusterStack>,
    now: Timestamp,
) -> BTreeMap<(FluxKind, Key), Report> {
    let mut reports = BTreeMap::new();
    let mut add = |id: (FluxKind, Key), report: &dyn Fn(&FluxObject, &Moment) -> Option<Report>| {
        let Some(object) = objects.get(&id).filter(|_| !reports.contains_key(&id)) else { return };
        let report = report(object, &Moment::of_reader(id.0.controller(), now));
        reports.extend(report.map(|report| (id, report)));
    };
    let find = |kind, key: &Key| objects.get(&(kind, key.clone())).map(|object| &object.observed);
    for addon in addons {
        let namespace = addon.metadata.namespace.as_deref().unwrap_or_default();
        for of in addon.status.iter().flat_map(|status| &status.addons) {
            let Some(delivered) = &of.object else { continue };
            let Some(kind) = FluxKind::of(&delivered.kind) else { continue };
            add((kind, Key::new(namespace, &delivered.name)), &|object, moment| {
                Some(object.report(&judge_recorded(of, &object.observed, moment)?))
            });
        }
    }
    for kept in releases.filter_map(|release| release.status.as_ref()).flat_map(|status| &status.objects) {
        let Some(kind) = FluxKind::of(&kept.kind) else { continue };
        add((kind, Key::new(&kept.namespace, &kept.name)), &|object, moment| {
            let version = present_version(&object.observed, find);
            let expected = recorded_expectation(kept, version, now)?;
            Some(object.report(&judge(&object.observed, &expected, moment)))
        });
    }
    for stack in stacks {
        let Some(key) = catalog(stack) else { continue };
        add((FluxKind::GitRepository, key.clone()), &|object, moment| {
            let report = object.report(&followed(stack, &key, &object.observed, *moment)?);
            // Only the operator knows whether source-controller acts.
            let is_silent = |ready: &Report| ready.reason == Reason::ApplierUnavailable.as_str();
            let silent = Some(source_ready(stack)).filter(|ready| is_silent(ready) && is_true(&report));
            Some(silent.unwrap_or(report))
        });
    }
    for id in objects.keys() {
        add(id.clone(), &|object, moment| {
            let found = &object.observed;
            let (spec_digest, version) = (found.spec_digest.clone(), present_version(found, find));
            let expected = Expected { spec_digest, version, revision_before: None, since: now };
            Some(object.report(&judge(found, &expected, moment)))
        });
    }
    reports
}

/// Returns the verdict on the `GitRepository` that a `ClusterStack` follows.
fn followed(
    stack: &ClusterStack,
    key: &Key,
    found: &observed::FluxObject,
    moment: Moment,
) -> Option<Verdict> {
    let recorded = stack.spec_digest_of(&key.to_string());
    let facts = SourceFacts {
        found: Some(found),
        is_ours: stack.spec.source.as_ref().is_some_and(|source| source.git_repository_ref.is_none()),
        expected: Some(recorded.map_or_else(|| found.spec_digest.clone(), SpecDigest::kept)),
        old: stack.status.as_ref().and_then(|status| status.source.as_ref()),
        is_read: false,
        key: key.clone(),
        moment,
    };
    followed_source(facts).1
}

/// Parses an entry of an inventory: `<namespace>_<name>_<group>_<kind>`, with a colon in the name as two underscores
/// (`cli-utils/pkg/object`).
fn applied(id: &str) -> Option<Applied> {
    let (rest, kind) = id.rsplit_once('_')?;
    let (rest, _group) = rest.rsplit_once('_')?;
    let (namespace, name) = rest.split_once('_')?;
    Some(Applied { kind: kind.to_owned(), namespace: namespace.to_owned(), name: name.replace("__", ":") })
}
