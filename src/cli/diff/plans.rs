//! What an upgrade from one release to the other does to the Flux objects of Clusters.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;

use super::unified;
use crate::api::labels;
use crate::cli::clusters;
use crate::cli::error::CliError;
use crate::cli::objects::Sourced;
use crate::cli::stack_settings::StackArguments;
use crate::cli::terminal;
use crate::foreign::capi::{ClassReference, field, text};
use crate::inputs::content::{self, Catalog, CatalogEntry, Existing};
use crate::inputs::stack::Stack;
use crate::inputs::{ClusterInputs, ReleaseInputs};
use crate::names::{ReleaseName, Revision};
use crate::plan::diff::{self, Inventory};
use crate::plan::{self, Held, ObjectId, Plan, PlanError, PlannedObject, canonical};
use crate::release::Release;

/// What the upgrade does, in plans.
#[derive(Serialize)]
pub(super) struct Plans {
    /// The objects that all Clusters share: sources, charts, node images and the cluster class.
    pub(super) objects: Vec<ObjectChange>,
    pub(super) clusters: Vec<ClusterChange>,
}

impl Plans {
    /// Whether an object differs, or something is held back.
    pub(super) fn differ(&self) -> bool {
        let differs = |cluster: &ClusterChange| !cluster.objects.is_empty() || cluster.newly_held;
        !self.objects.is_empty() || self.clusters.iter().any(differs)
    }
}

/// What the upgrade does to one Cluster.
#[derive(Serialize)]
pub(super) struct ClusterChange {
    pub(super) namespace: String,
    pub(super) name: String,
    pub(super) objects: Vec<ObjectChange>,
    /// The addons whose objects stay as they are, byte for byte.
    pub(super) unchanged: Vec<String>,
    pub(super) held: Vec<HeldAddon>,
    /// Whether one of them would not be held by the first release.
    #[serde(skip)]
    newly_held: bool,
}

impl ClusterChange {
    /// What one plan does to a Cluster, with what it would change.
    pub(super) fn new(cluster: &ClusterInputs, objects: Vec<ObjectChange>, plan: &Plan) -> Self {
        let is_changed = |addon: &str| objects.iter().any(|object| object.addon.as_deref() == Some(addon));
        let unchanged = plan.objects().filter_map(|object| addon_of(&object.value));
        let unchanged = unchanged.filter(|addon| !is_changed(addon)).map(str::to_owned).collect();
        Self {
            namespace: cluster.cluster.namespace().to_string(),
            name: cluster.cluster.name().to_string(),
            unchanged,
            newly_held: false,
            held: plan.held().iter().map(HeldAddon::of).collect(),
            objects,
        }
    }

    /// A Cluster for which nothing is written now.
    pub(super) fn held(cluster: &ClusterInputs, held: HeldAddon) -> Self {
        Self { held: vec![held], ..Self::new(cluster, Vec::new(), &Plan::default()) }
    }

    /// Whether anything changes or is held.
    pub(super) fn says_something(&self) -> bool {
        !self.objects.is_empty() || !self.held.is_empty()
    }
}

/// What the second release would not deliver now.
#[derive(Serialize)]
pub(super) struct HeldAddon {
    /// The addon; absent where all of the Cluster is held.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) addon: Option<String>,
    pub(super) reason: &'static str,
    pub(super) message: String,
}

impl HeldAddon {
    fn of(held: &Held) -> Self {
        Self {
            addon: held.addon.as_ref().map(ToString::to_string),
            reason: held.hold.reason.as_str(),
            message: held.hold.message.clone(),
        }
    }
}

/// What becomes of one object.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ObjectChange {
    pub(super) change: Verb,
    pub(super) api_version: String,
    pub(super) kind: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(super) namespace: String,
    pub(super) name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) addon: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) effect: Option<Effect>,
    /// The lines of its YAML that differ; of an object that stays and differs only.
    #[serde(skip)]
    pub(super) lines: String,
}

/// What becomes of an object.
#[derive(Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum Verb {
    Created,
    Changed,
    /// The second release does not have it.
    Removed,
}

/// What Flux does in the workload cluster because of it.
#[derive(Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum Effect {
    /// Helm installs the addon.
    Installs,
    /// Helm upgrades it to another chart.
    UpgradesChart,
    /// Helm upgrades it with other values.
    UpgradesValues,
    /// Helm upgrades it to another chart with other values.
    UpgradesChartAndValues,
    /// Helm uninstalls it.
    Uninstalls,
    /// Flux applies its manifests.
    Applies,
    /// Flux deletes what its manifests made.
    Prunes,
}

/// Plans each Cluster among the objects for one release and then for the other. The second finds the sources of the
/// first: what is the same stays where it is.
pub(super) fn compare(
    from: &Release,
    to: &Release,
    objects: &[Sourced],
    stack: &StackArguments,
) -> Result<Plans, CliError> {
    let mut clusters = clusters::among(objects)?;
    let stack = stack.stack(&to.name, objects.iter().map(|sourced| &sourced.object))?;
    clusters.retain(|cluster| is_of_stack(&stack, &from.name, cluster));
    let contents = |release, catalog: &[&Release], existing: &Existing| {
        // The commit of a release plays no part in a difference: all have Git's null commit.
        let commit: Revision = "0".repeat(40).parse()?;
        let entry = |release: &&Release| (release.name.clone(), CatalogEntry::of(release, commit.clone()));
        let catalog: Catalog = catalog.iter().map(entry).collect();
        content::resolve(&stack, release, &catalog, existing).map_err(CliError::from)
    };

    let old = contents(from, &[from, to], &Existing::default())?;
    let old = Planned::new(&ReleaseInputs { stack: &stack, release: from, contents: &old }, &clusters)?;
    let mut existing = Existing::default();
    old.objects().for_each(|object| existing.insert(&object.value));
    let new = contents(to, &[from, to], &existing)?;
    let new = Planned::new(&ReleaseInputs { stack: &stack, release: to, contents: &new }, &clusters)?;

    terminal::note(format!(
        "each Cluster is planned as if spec.topology had class {} and version {}, and then {} and {}",
        from.name.class_name(),
        from.kubernetes,
        to.name.class_name(),
        to.kubernetes
    ));
    let pairs = old.clusters.iter().zip(&new.clusters).zip(&clusters);
    Ok(Plans {
        objects: object_changes(&old.release, &new.release),
        clusters: pairs.map(|((before, after), cluster)| cluster_change(cluster, before, after)).collect(),
    })
}

/// The plans of one release.
struct Planned {
    release: Plan,
    clusters: Vec<Plan>,
}

impl Planned {
    fn new(inputs: &ReleaseInputs, clusters: &[ClusterInputs]) -> Result<Self, CliError> {
        let (class, kubernetes) = (inputs.release.name.class_name(), &inputs.release.kubernetes);
        let plan = |cluster: &ClusterInputs| plan::cluster(inputs, &cluster.with_class(&class, kubernetes));
        let clusters: Result<Vec<Plan>, PlanError> = clusters.iter().map(plan).collect();
        Ok(Self { release: plan::release(inputs)?, clusters: clusters? })
    }

    fn objects(&self) -> impl Iterator<Item = &PlannedObject> {
        self.release.objects().chain(self.clusters.iter().flat_map(Plan::objects))
    }
}

/// Whether the Cluster has a class of the releases' stack; says so where it has not.
fn is_of_stack(stack: &Stack, from: &ReleaseName, cluster: &ClusterInputs) -> bool {
    let class = cluster.cluster.class();
    let release = class.as_ref().and_then(ClassReference::release);
    let is_here = class.as_ref().is_some_and(|class| class.namespace == stack.namespace.as_str());
    if is_here && release.is_some_and(|release| release.same_line(from)) {
        return true;
    }
    let has =
        class.map_or("no class".to_owned(), |class| format!("class {}/{}", class.namespace, class.name));
    terminal::warning(format!(
        "Cluster {}/{} has {has}, which is none of stack {} in namespace {}: left out",
        cluster.cluster.namespace(),
        cluster.cluster.name(),
        from.prefix(),
        stack.namespace
    ));
    false
}

fn cluster_change(cluster: &ClusterInputs, before: &Plan, after: &Plan) -> ClusterChange {
    let mut objects = object_changes(before, after);
    // What is held is not written, and what is not written is not removed.
    let is_held = |addon: &str| {
        after.held().iter().any(|held| held.addon.as_ref().is_none_or(|name| name.as_str() == addon))
    };
    objects.retain(|object| object.change != Verb::Removed || !object.addon.as_deref().is_some_and(is_held));
    let newly_held = after.held().iter().any(|held| !before.held().contains(held));
    ClusterChange { newly_held, ..ClusterChange::new(cluster, objects, after) }
}

/// What the second plan changes over the first one.
fn object_changes(before: &Plan, after: &Plan) -> Vec<ObjectChange> {
    let old: BTreeMap<&ObjectId, &Value> =
        before.objects().map(|object| (&object.id, &object.value)).collect();
    let change = |change: &diff::Change| {
        let (verb, id) = match change {
            diff::Change::Created(object) => (Verb::Created, &object.id),
            diff::Change::Changed(object) => (Verb::Changed, &object.id),
            diff::Change::Removed(id) => (Verb::Removed, *id),
        };
        let new = match change {
            diff::Change::Created(object) | diff::Change::Changed(object) => Some(&object.value),
            diff::Change::Removed(_) => None,
        };
        ObjectChange::between(verb, id, old.get(id).copied(), new)
    };
    let inventory = Inventory::of(before);
    diff::diff(after, &inventory).iter().map(change).collect()
}

impl ObjectChange {
    pub(super) fn between(change: Verb, id: &ObjectId, old: Option<&Value>, new: Option<&Value>) -> Self {
        let addon = new.or(old).and_then(addon_of).map(str::to_owned);
        Self {
            change,
            api_version: id.api_version.clone(),
            kind: id.kind.clone(),
            namespace: id.namespace.clone(),
            name: id.name.clone(),
            effect: addon.is_some().then(|| effect(&id.kind, old, new)).flatten(),
            addon,
            lines: old.zip(new).map(|(old, new)| lines(old, new)).unwrap_or_default(),
        }
    }
}

/// What Flux does when an addon's object of this kind becomes another.
fn effect(kind: &str, old: Option<&Value>, new: Option<&Value>) -> Option<Effect> {
    let differs = |path: &[&str]| {
        old.and_then(|object| field(object, path)) != new.and_then(|object| field(object, path))
    };
    match (kind, old, new) {
        ("HelmRelease", None, Some(_)) => Some(Effect::Installs),
        ("HelmRelease", Some(_), None) => Some(Effect::Uninstalls),
        ("HelmRelease", ..) => match (differs(&["spec", "chartRef"]), differs(&["spec", "values"])) {
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

/// The addon that an object delivers.
fn addon_of(object: &Value) -> Option<&str> {
    Some(text(object, &["metadata", "labels", labels::ADDON])).filter(|addon| !addon.is_empty())
}

/// The lines of two objects that differ. The digest of the object's own bytes always does, and is left out.
fn lines(old: &Value, new: &Value) -> String {
    let yaml = |object: &Value| {
        let mut object = object.clone();
        let annotations = object.pointer_mut("/metadata/annotations").and_then(Value::as_object_mut);
        annotations.map(|annotations| annotations.shift_remove(labels::PLAN_DIGEST));
        canonical::to_yaml(&object)
    };
    unified::hunks(&yaml(old), &yaml(new))
}
