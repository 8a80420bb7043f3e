//! The effect of a promotion: on the stage as a whole, and on each of its Clusters once it uses the release.
//!
//! A promotion itself changes no Cluster. It makes the release known to the `ClusterStacks` that follow the stage, and
//! those that offer the release add its class and charts. The effect on a Cluster is planned from its present release,
//! as if its class were already set to that of the promoted release.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use serde_json::Value;

use super::follow::{Followed, Mismatch, StageTarget, mismatch};
use crate::api::ClusterStack;
use crate::compare::Side;
use crate::compare::change::Change;
use crate::compare::charts::{self, ChartsAndKinds};
use crate::compare::files::Detail;
use crate::compare::parts;
use crate::compare::plans::{self, ClusterChange, CompareError, ObjectChange};
use crate::inputs::ClusterInputs;
use crate::inputs::stack::{Stack, StackError};
use crate::names::ReleaseName;
use crate::subscription;

/// An error that prevents computing the effect of a promotion.
#[derive(Debug, thiserror::Error)]
pub enum EffectError {
    /// A `ClusterStack` of the stage that cannot be planned for.
    #[error(transparent)]
    Stack(#[from] StackError),
    /// A release or a Cluster that cannot be planned.
    #[error(transparent)]
    Compare(#[from] CompareError),
}

/// The stage that a release is promoted to, with its releases and inputs.
pub struct Target<'a> {
    /// The stage.
    pub place: StageTarget<'a>,
    /// The releases that the stage has now.
    pub releases: &'a BTreeSet<ReleaseName>,
    /// The `ClusterStacks` among the stage's inputs, including those that do not follow the stage.
    pub stacks: &'a [ClusterStack],
    /// The Clusters among the stage's inputs.
    pub clusters: &'a [ClusterInputs],
    /// All objects among the stage's inputs. They may include the `GitRepository` that a `ClusterStack` refers to.
    pub objects: &'a [Value],
}

/// The effect of a promotion.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Effect {
    /// The response of each `ClusterStack` of the stage to the release.
    pub stacks: Vec<Offer>,
    /// If no `ClusterStack` of the release's stack follows the stage: those that do not.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub elsewhere: Vec<NotFollowing>,
    /// The differences from the stage's releases, and their effect on the Clusters that use these releases.
    pub upgrades: Vec<Upgrade>,
    /// The releases of the stage that cannot be compared, each with the reason.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unreadable: Vec<Unreadable>,
    /// The Clusters that are not planned, each with the reason.
    pub left_out: Vec<Skipped>,
}

/// The response of a `ClusterStack` to the release.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Offer {
    /// The namespace of the `ClusterStack`.
    pub namespace: String,
    /// The name.
    pub name: String,
    /// Whether it offers the release.
    pub offered: Offered,
    /// The latest of the stage's present releases that the `ClusterStack` may offer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub latest: Option<String>,
}

/// Whether a `ClusterStack` offers a release, with the reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Offered {
    /// Its `versions` list the release.
    Listed,
    /// It subscribes to the latest release, which is this one.
    Latest,
    /// It subscribes to the latest release, which is another one.
    NotLatest,
    /// It does not subscribe, and its `versions` do not list the release.
    NotListed,
}

/// A `ClusterStack` that does not follow the stage.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct NotFollowing {
    /// Namespace and name.
    pub stack: String,
    /// The reason: what it follows instead.
    pub why: String,
}

/// The differences between a present release and the promoted one.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Upgrade {
    /// The name of the present release.
    pub from: String,
    /// The full Kubernetes version of the present release.
    pub kubernetes: String,
    /// The namespace of the `ClusterStack` whose Clusters these are; absent if none is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// The parts that differ.
    pub parts: Vec<PartChange>,
    /// The changes of the objects that all Clusters share.
    pub objects: Vec<ObjectChange>,
    /// The Clusters that use the present release.
    pub clusters: Vec<ClusterChange>,
}

/// The change of a part.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PartChange {
    /// The title of the part: `cluster class`, `addon cni`.
    pub part: String,
    /// The kind of change.
    pub change: Change,
    /// The number of files that differ.
    pub files: usize,
    /// The charts, values and CRDs that differ.
    #[serde(flatten)]
    pub charts: ChartsAndKinds,
}

/// A release of the stage that cannot be compared.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Unreadable {
    /// The name.
    pub release: String,
    /// The error.
    pub why: String,
}

/// A Cluster that is not planned.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Skipped {
    /// Namespace and name.
    pub cluster: String,
    /// The reason.
    pub why: String,
}

/// Returns the `ClusterStacks` of the release's stack that follow the stage. Includes those whose `GitRepository` is
/// not among the inputs: [`Stack::new`] reports that.
pub fn followers<'a>(
    target: &Target<'a>,
    release: &'a ReleaseName,
) -> impl Iterator<Item = &'a ClusterStack> {
    with_mismatch(target, release)
        .filter(|(_, mismatch)| matches!(mismatch, None | Some(Mismatch::Unknown { .. })))
        .map(|(stack, _)| stack)
}

/// Returns the `ClusterStacks` of the release's stack, each with the reason why it does not follow the stage, if so.
fn with_mismatch<'a>(
    target: &Target<'a>,
    release: &'a ReleaseName,
) -> impl Iterator<Item = (&'a ClusterStack, Option<Mismatch>)> {
    let Target { place, stacks, objects, .. } = *target;
    let known = move |namespace: &str, name: &str| Followed::among(objects, namespace, name);
    let of_stack = stacks.iter().filter(|stack| subscription::is_of(&stack.spec, release));
    of_stack.map(move |stack| (stack, mismatch(stack, &place, known)))
}

/// Describes a `ClusterStack` that does not follow the stage; `None` if it does.
fn elsewhere((stack, mismatch): (&ClusterStack, Option<Mismatch>)) -> Option<NotFollowing> {
    let metadata = &stack.metadata;
    let namespace = metadata.namespace.as_deref().unwrap_or("default");
    let stack = format!("{namespace}/{}", metadata.name.as_deref().unwrap_or_default());
    Some(NotFollowing { stack, why: mismatch?.to_string() })
}

/// Computes the effect of the promotion of `to`. `present` returns the content of a release that the stage has, or why
/// that cannot be read, which does not prevent the promotion.
pub fn effect(
    target: &Target,
    to: &Side,
    present: impl Fn(&ReleaseName) -> Result<Side, String>,
) -> Result<Effect, EffectError> {
    let mut effect = Effect::default();
    for stack in followers(target, &to.release.name) {
        effect.stacks.push(offer(stack, target, &to.release.name));
        let stack = Stack::new(stack, None, target.objects.iter())?;
        for (from, clusters) in by_release(&stack, target, &to.release.name, &mut effect.left_out) {
            match present(&from) {
                Ok(from) => effect.upgrades.push(upgrade(&from, to, Some((&stack, &clusters)))?),
                Err(why) => effect.cannot_compare(&from, &why, &clusters),
            }
        }
    }
    if effect.stacks.is_empty() {
        effect.elsewhere = with_mismatch(target, &to.release.name).filter_map(elsewhere).collect();
    }
    // Without Clusters, compare with the latest earlier release of the stage.
    let before = target.releases.iter().filter(|name| name.prefix() == to.release.name.prefix());
    let before = before.filter(|name| **name < to.release.name && name.same_line(&to.release.name)).max();
    if let Some(before) = before.filter(|_| effect.upgrades.is_empty()) {
        match present(before) {
            Ok(from) => effect.upgrades.push(upgrade(&from, to, None)?),
            Err(why) => effect.cannot_compare(before, &why, &[]),
        }
    }
    Ok(effect)
}

impl Effect {
    /// Records a release that cannot be read, and the Clusters that use it.
    fn cannot_compare(&mut self, from: &ReleaseName, why: &str, clusters: &[ClusterInputs]) {
        let why = why.split_whitespace().collect::<Vec<_>>().join(" ");
        let unreadable = Unreadable { release: from.to_string(), why };
        if !self.unreadable.contains(&unreadable) {
            self.unreadable.push(unreadable);
        }
        let named = clusters.iter().map(|inputs| &inputs.cluster);
        self.left_out.extend(named.map(|cluster| Skipped {
            cluster: format!("{}/{}", cluster.namespace(), cluster.name()),
            why: format!("it has {from}, which cannot be compared"),
        }));
    }
}

fn offer(stack: &ClusterStack, target: &Target, release: &ReleaseName) -> Offer {
    let latest = subscription::latest(&stack.spec, target.releases);
    let listed = subscription::offered(&stack.spec, None).contains(release);
    let is_latest = latest.is_none_or(|latest| latest < release);
    let offered = match (listed, subscription::subscribes(&stack.spec), is_latest) {
        (true, ..) => Offered::Listed,
        (false, true, true) => Offered::Latest,
        (false, true, false) => Offered::NotLatest,
        (false, false, _) => Offered::NotListed,
    };
    let text = |text: &Option<String>| text.clone().unwrap_or_default();
    Offer {
        namespace: stack.metadata.namespace.clone().unwrap_or_else(|| "default".to_owned()),
        name: text(&stack.metadata.name),
        offered,
        latest: latest.map(ToString::to_string),
    }
}

/// Returns the Clusters that can be upgraded to the release, by their present release.
fn by_release(
    stack: &Stack,
    target: &Target,
    to: &ReleaseName,
    left_out: &mut Vec<Skipped>,
) -> BTreeMap<ReleaseName, Vec<ClusterInputs>> {
    let mut found: BTreeMap<ReleaseName, Vec<ClusterInputs>> = BTreeMap::new();
    for cluster in target.clusters.iter().filter(|cluster| plans::is_of_stack(stack, to, cluster)) {
        let Some((_, from)) = cluster.cluster.release() else { continue };
        match unreachable(&from, to, target.releases) {
            None => found.entry(from).or_default().push(cluster.clone()),
            Some(why) => {
                let cluster = format!("{}/{}", cluster.cluster.namespace(), cluster.cluster.name());
                left_out.push(Skipped { cluster, why });
            }
        }
    }
    found
}

/// Returns the reason why a Cluster with one release cannot be upgraded to another; `None` if it can.
fn unreachable(from: &ReleaseName, to: &ReleaseName, releases: &BTreeSet<ReleaseName>) -> Option<String> {
    let ((major, minor), (old_major, old_minor)) = (to.kubernetes_minor(), from.kubernetes_minor());
    let steps = i64::from(minor) - i64::from(old_minor);
    if from == to {
        Some(format!("it has {from} already"))
    } else if major != old_major || !(0..=1).contains(&steps) {
        Some(format!("it has {from}: Cluster API upgrades by one Kubernetes minor version at a time"))
    } else if steps == 0 && from.version() > to.version() {
        Some(format!("it has {from}, which is later"))
    } else if !releases.contains(from) {
        Some(format!("it has {from}, which the stage does not have"))
    } else {
        None
    }
}

fn upgrade(
    from: &Side,
    to: &Side,
    planned: Option<(&Stack, &Vec<ClusterInputs>)>,
) -> Result<Upgrade, CompareError> {
    let plans = match planned {
        Some((stack, clusters)) => Some(plans::compare(stack, &from.release, &to.release, clusters)?),
        None => None,
    };
    let (objects, clusters) = plans.map(|plans| (plans.objects, plans.clusters)).unwrap_or_default();
    Ok(Upgrade {
        from: from.release.name.to_string(),
        kubernetes: from.release.kubernetes.to_string(),
        namespace: planned.map(|(stack, _)| stack.namespace.to_string()),
        parts: part_changes(from, to),
        objects,
        clusters,
    })
}

fn part_changes(from: &Side, to: &Side) -> Vec<PartChange> {
    let parts = parts::compare(from, to, Detail::Names);
    let named = |side: &'_ Side, name: &str| {
        side.release.addons.iter().find(|addon| addon.name.as_str() == name).cloned()
    };
    let addon = |name: &str| {
        let (old, new) = (named(from, name), named(to, name));
        charts::of_addon((from, old.as_ref()), (to, new.as_ref()))
    };
    let changed = parts.iter().filter(|(_, part)| part.change != Change::Unchanged);
    let change = changed.map(|(title, part)| {
        let charts = match title.strip_prefix("addon ") {
            Some(name) => addon(name),
            None if title == "cluster class" => charts::of_class(from, to),
            None => ChartsAndKinds::default(),
        };
        PartChange { change: part.change, files: part.files.len(), charts, part: title }
    });
    change.collect()
}

#[cfg(test)]
mod tests;
