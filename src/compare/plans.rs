//! The effect of an upgrade between two releases on the Flux objects of Clusters.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use serde_json::Value;

use super::moments::{Moments, OnTheWay};
use super::values::{self, ValueChange};
use crate::api::labels;
use crate::foreign::capi::{ClassReference, field, text};
use crate::gate::Hold;
use crate::gate::upgrade::Phase;
use crate::inputs::acceptance::accept;
use crate::inputs::content::{self, Catalog, CatalogEntry, ContentError, Contents, Existing};
use crate::inputs::platform;
use crate::inputs::stack::Stack;
use crate::inputs::{ClusterInputs, ReleaseInputs};
use crate::names::{AddonName, NameError, ReleaseName, Revision};
use crate::plan::diff::{self, Inventory};
use crate::plan::stages::Course;
use crate::plan::{self, Held, ObjectId, Plan, PlanError, PlannedObject, canonical};
use crate::release::{Findings, Release};

/// The difference between the plans of both releases.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Plans {
    /// The objects that all Clusters share: sources, charts, node images and the cluster class.
    pub objects: Vec<ObjectChange>,
    /// The effect on each Cluster.
    pub clusters: Vec<ClusterChange>,
}

impl Plans {
    /// Whether any object differs, or an addon is newly held.
    #[must_use]
    pub fn differ(&self) -> bool {
        let differs = |cluster: &ClusterChange| !cluster.objects.is_empty() || cluster.newly_held;
        !self.objects.is_empty() || self.clusters.iter().any(differs)
    }
}

/// The effect of the upgrade on one Cluster.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ClusterChange {
    /// The Cluster's namespace.
    pub namespace: String,
    /// The Cluster's name.
    pub name: String,
    /// The changes of the Cluster's objects.
    pub objects: Vec<ObjectChange>,
    /// The addons whose objects stay the same, byte for byte.
    pub unchanged: Vec<String>,
    /// The addons that are held, or the whole Cluster.
    pub held: Vec<HeldAddon>,
    /// What the upgrade of the Cluster to another Kubernetes version has to do with it; absent if both releases are for the same
    /// version, upgrades do not wait, or no addon changes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub upgrade: Option<Moments>,
    /// The addons that stages uninstall on the way to the second release.
    #[serde(skip_serializing_if = "OnTheWay::is_empty")]
    pub on_the_way: OnTheWay,
    /// Whether the first release does not hold one of them.
    #[serde(skip)]
    newly_held: bool,
}

impl ClusterChange {
    /// Creates the effect of a plan on a Cluster; `objects` are the changes that the plan makes.
    #[must_use]
    pub fn new(cluster: &ClusterInputs, objects: Vec<ObjectChange>, plan: &Plan) -> Self {
        let is_changed = |addon: &str| objects.iter().any(|object| object.addon.as_deref() == Some(addon));
        let unchanged = plan.objects().filter_map(|object| addon_of(&object.value));
        let unchanged = unchanged.filter(|addon| !is_changed(addon)).map(str::to_owned).collect();
        Self {
            namespace: cluster.cluster.namespace().to_string(),
            name: cluster.cluster.name().to_string(),
            unchanged,
            upgrade: None,
            on_the_way: OnTheWay::default(),
            newly_held: false,
            held: plan.held().iter().map(HeldAddon::of).collect(),
            objects,
        }
    }

    /// Creates the effect on a Cluster that is held, so that nothing is written for it.
    #[must_use]
    pub fn held(cluster: &ClusterInputs, held: HeldAddon) -> Self {
        Self { held: vec![held], ..Self::new(cluster, Vec::new(), &Plan::default()) }
    }

    /// Returns the addons whose objects change.
    fn addons(&self) -> BTreeSet<&str> {
        self.objects.iter().filter_map(|object| object.addon.as_deref()).collect()
    }

    /// Whether any object changes or any addon is held.
    #[must_use]
    pub fn is_reportable(&self) -> bool {
        !self.objects.is_empty() || !self.held.is_empty() || !self.on_the_way.is_empty()
    }
}

/// An addon, or a whole Cluster, that is held and therefore not delivered.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct HeldAddon {
    /// The addon; absent if the whole Cluster is held.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub addon: Option<String>,
    /// The reason of the hold, in one word.
    pub reason: &'static str,
    /// The explanation of the hold, as a sentence.
    pub message: String,
}

impl HeldAddon {
    /// Creates the hold of an addon, or of a whole Cluster.
    #[must_use]
    pub fn new(addon: Option<&AddonName>, hold: Hold) -> Self {
        Self { addon: addon.map(ToString::to_string), reason: hold.reason.as_str(), message: hold.message }
    }

    fn of(held: &Held) -> Self {
        Self::new(held.addon.as_ref(), held.hold.clone())
    }
}

/// The change of one object.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ObjectChange {
    /// The kind of change.
    pub change: ChangeKind,
    /// The API group and version.
    pub api_version: String,
    /// The kind of the object.
    pub kind: String,
    /// The namespace; empty for a cluster-scoped object.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub namespace: String,
    /// The name of the object.
    pub name: String,
    /// The kind of the existing object with this name that must be deleted before this object can be created.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub waits_for: Option<String>,
    /// The addon that the object delivers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub addon: Option<String>,
    /// The effect in the workload cluster.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub effect: Option<Effect>,
    /// The Helm values that differ; empty for a created or removed object.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub values: Vec<ValueChange>,
    /// The lines of the YAML that differ; empty for a created or removed object.
    #[serde(skip)]
    pub lines: String,
}

/// The kinds of changes of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum ChangeKind {
    /// The object is new.
    Created,
    /// The object stays and differs.
    Changed,
    /// The new plan does not have the object.
    Removed,
    /// An object of another client has the name, and nothing is written before it is gone.
    Held,
}

/// The effects of a change in the workload cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Effect {
    /// Helm installs the addon.
    Installs,
    /// Helm upgrades the addon to another chart.
    UpgradesChart,
    /// Helm upgrades the addon with other values.
    UpgradesValues,
    /// Helm upgrades the addon to another chart with other values.
    UpgradesChartAndValues,
    /// Helm uninstalls the addon.
    Uninstalls,
    /// Flux applies the manifests of the addon.
    Applies,
    /// Flux prunes the objects of the addon's manifests.
    Prunes,
}

/// An error that prevents the comparison of plans.
#[derive(Debug, thiserror::Error)]
pub enum CompareError {
    /// The placeholder commit is invalid.
    #[error(transparent)]
    Name(#[from] NameError),
    /// The contents of a release cannot be resolved to sources.
    #[error(transparent)]
    Content(#[from] ContentError),
    /// The settings refuse the release.
    #[error(transparent)]
    Refused(#[from] Findings),
    /// A release or a Cluster cannot be planned.
    #[error(transparent)]
    Plan(#[from] PlanError),
}

/// Plans each Cluster for both releases and compares the plans. The second plan sees the sources of the first one:
/// unchanged content keeps its source.
pub fn compare(
    stack: &Stack,
    from: &Release,
    to: &Release,
    clusters: &[ClusterInputs],
) -> Result<Plans, CompareError> {
    // Clusters may have the first one from before the settings.
    let whole = [platform::with_components(stack, from), accept(stack, to)?];
    let contents = |release, existing: &Existing| -> Result<Contents, CompareError> {
        // The commit of a release does not affect the difference: both have Git's null commit.
        let commit: Revision = "0".repeat(40).parse()?;
        let entry = |release: &Release| (release.name.clone(), CatalogEntry::of(release, commit.clone()));
        let catalog: Catalog = [from, to].into_iter().map(entry).collect();
        Ok(content::resolve(stack, release, &catalog, existing)?)
    };
    let [from_whole, to_whole] = whole.each_ref().map(|release| &**release);
    let old = contents(from_whole, &Existing::default())?;
    let old = Planned::new(&ReleaseInputs { stack, release: from_whole, contents: &old }, clusters)?;
    let mut existing = Existing::default();
    old.objects().for_each(|object| existing.insert(&object.value));
    let new = contents(to_whole, &existing)?;
    let inputs = ReleaseInputs { stack, release: to_whole, contents: &new };
    let new = Planned::new(&inputs, clusters)?;

    let pairs = old.clusters.iter().zip(&new.clusters).zip(clusters);
    Ok(Plans {
        objects: object_changes(&old.release, &new.release),
        clusters: pairs
            .map(|((before, after), cluster)| {
                let change = cluster_change(cluster, before, after);
                ClusterChange {
                    upgrade: Moments::of(stack, (from_whole, to_whole), change.addons()),
                    on_the_way: OnTheWay::of(from, &inputs, cluster),
                    ..change
                }
            })
            .collect(),
    })
}

/// Whether the Cluster's class is of the release's stack, in the namespace of the `ClusterStack`.
#[must_use]
pub fn is_of_stack(stack: &Stack, release: &ReleaseName, cluster: &ClusterInputs) -> bool {
    let class = cluster.cluster.class();
    let is_here = class.as_ref().is_some_and(|class| class.namespace == stack.namespace.as_str());
    let of_line = |found: &ReleaseName| stack.line.has(found) || found.same_line(release);
    is_here && class.as_ref().and_then(ClassReference::release).is_some_and(|found| of_line(&found))
}

/// The plans of one release.
struct Planned {
    release: Plan,
    clusters: Vec<Plan>,
}

impl Planned {
    fn new(inputs: &ReleaseInputs, clusters: &[ClusterInputs]) -> Result<Self, PlanError> {
        let (class, kubernetes) = (inputs.release.name.class_name(), &inputs.release.kubernetes);
        let plan = |cluster: &ClusterInputs| {
            plan::cluster(inputs, &cluster.with_class(&class, kubernetes), &Course::ended(Phase::Steady))
        };
        let clusters: Result<Vec<Plan>, PlanError> = clusters.iter().map(plan).collect();
        Ok(Self { release: plan::release(inputs)?, clusters: clusters? })
    }

    fn objects(&self) -> impl Iterator<Item = &PlannedObject> {
        self.release.objects().chain(self.clusters.iter().flat_map(Plan::objects))
    }
}

fn cluster_change(cluster: &ClusterInputs, before: &Plan, after: &Plan) -> ClusterChange {
    let mut objects = object_changes(before, after);
    // A held addon is neither written nor removed.
    let is_held = |addon: &str| {
        after.held().iter().any(|held| held.addon.as_ref().is_none_or(|name| name.as_str() == addon))
    };
    objects.retain(|object| {
        object.change != ChangeKind::Removed || !object.addon.as_deref().is_some_and(is_held)
    });
    let newly_held = after.held().iter().any(|held| !before.held().contains(held));
    ClusterChange { newly_held, ..ClusterChange::new(cluster, objects, after) }
}

/// Returns the changes from the first plan to the second.
fn object_changes(before: &Plan, after: &Plan) -> Vec<ObjectChange> {
    let old: BTreeMap<&ObjectId, &Value> =
        before.objects().map(|object| (&object.id, &object.value)).collect();
    let change = |change: &diff::Change| {
        let (kind, id) = match change {
            diff::Change::Created(object) => (ChangeKind::Created, &object.id),
            diff::Change::Changed(object) => (ChangeKind::Changed, &object.id),
            diff::Change::Removed(id) => (ChangeKind::Removed, *id),
        };
        let new = match change {
            diff::Change::Created(object) | diff::Change::Changed(object) => Some(&object.value),
            diff::Change::Removed(_) => None,
        };
        ObjectChange::between(kind, id, old.get(id).copied(), new)
    };
    let inventory = Inventory::of(before);
    diff::diff(after, &inventory).iter().map(change).collect()
}

impl ObjectChange {
    /// Compares two states of an object.
    #[must_use]
    pub fn between(change: ChangeKind, id: &ObjectId, old: Option<&Value>, new: Option<&Value>) -> Self {
        let addon = new.or(old).and_then(addon_of).map(str::to_owned);
        let lines = old.zip(new).map(|(old, new)| lines(old, new)).unwrap_or_default();
        let is_same = change == ChangeKind::Changed && lines.is_empty();
        Self {
            change,
            api_version: id.api_version.clone(),
            kind: id.kind.clone(),
            namespace: id.namespace.clone(),
            name: id.name.clone(),
            waits_for: None,
            effect: addon.as_ref().filter(|_| !is_same).and_then(|_| effect(&id.kind, old, new)),
            addon,
            values: old.zip(new).map(|(old, new)| values::changes(old, new)).unwrap_or_default(),
            lines,
        }
    }
}

/// The fields with which Flux changes what Helm installs, beside `values`.
const VALUES_BY_FLUX: [&str; 2] = ["valuesFrom", "postRenderers"];

/// Returns the effect in the workload cluster when an addon's object of this kind changes.
fn effect(kind: &str, old: Option<&Value>, new: Option<&Value>) -> Option<Effect> {
    let chart = |object| field(object, &["spec", "chartRef"]);
    let has_new_chart = old.and_then(chart) != new.and_then(chart);
    let values = |object| field(object, &["spec", "values"]);
    // The values contain the digest of the chart's content, which counts as a value only if the chart stays the same.
    let has_new_values = old.and_then(plan::rendered_values) != new.and_then(plan::rendered_values)
        || (!has_new_chart && old.and_then(values) != new.and_then(values))
        || VALUES_BY_FLUX.iter().any(|name| {
            let of = |object| field(object, &["spec", name]);
            old.and_then(of) != new.and_then(of)
        });
    match (kind, old, new) {
        ("HelmRelease", None, Some(_)) => Some(Effect::Installs),
        ("HelmRelease", Some(_), None) => Some(Effect::Uninstalls),
        ("HelmRelease", ..) => match (has_new_chart, has_new_values) {
            (true, true) => Some(Effect::UpgradesChartAndValues),
            (true, false) => Some(Effect::UpgradesChart),
            (false, true) => Some(Effect::UpgradesValues),
            (false, false) => None,
        },
        ("Kustomization", Some(_), None) => Some(Effect::Prunes),
        ("Kustomization", ..) => Some(Effect::Applies),
        _ => None,
    }
}

/// Returns the addon that an object delivers.
fn addon_of(object: &Value) -> Option<&str> {
    Some(text(object, &["metadata", "labels", labels::ADDON])).filter(|addon| !addon.is_empty())
}

/// Returns the lines in which two objects differ, except for the plan digest, which always differs.
fn lines(old: &Value, new: &Value) -> String {
    let yaml = |object: &Value| {
        let mut object = object.clone();
        let annotations = object.pointer_mut("/metadata/annotations").and_then(Value::as_object_mut);
        annotations.map(|annotations| annotations.shift_remove(labels::PLAN_DIGEST));
        canonical::to_yaml(&object)
    };
    super::hunks(&yaml(old), &yaml(new))
}

#[cfg(test)]
mod tests;
