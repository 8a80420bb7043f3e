//! Decides whether to suspend and delete the objects of a Cluster's addons, so that nothing is uninstalled, because the
//! Cluster, its `ClusterAddon` or its namespace is being deleted.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::Value;

use super::cluster_addon::possibly_owned;
use super::cluster_uid;
use crate::api::cluster_addon::ClusterAddonStatus;
use crate::api::{ClusterAddon, ClusterStack, ConditionType, Reason};
use crate::foreign::capi::{Cluster, field, text};
use crate::foreign::flux::FluxKind;
use crate::foreign::flux::observed::FluxObject;
use crate::foreign::flux::ownership::{applier_of, is_applied_by_flux, is_prune_disabled};
use crate::gate::Hold;
use crate::names::Key;

/// The state of the owners according to the API server, as far as it was fetched.
#[derive(Clone, Copy, Debug)]
pub struct LiveOwners<'a> {
    /// The Cluster; `None` if it does not exist.
    pub cluster: Option<&'a Cluster>,
    /// Whether the namespace is being deleted.
    pub is_namespace_terminating: bool,
    /// Whether the `ClusterAddon` [is deleted](is_addon_deleted).
    pub is_addon_deleted: bool,
    /// Whether the cache lacks the Cluster, or the release of its class: the next `ClusterAddon` takes the objects over if both
    /// exist.
    pub is_heir_unseen: bool,
}

/// Returns the reason to suspend and delete the objects of a `ClusterAddon`; `None` if the API server confirms no cause.
#[must_use]
pub fn deletion_cause(addon: &ClusterAddon, live: &LiveOwners) -> Option<Hold> {
    let what = match live.cluster {
        None => "the Cluster is gone".to_owned(),
        Some(cluster) => deletion_beside(addon, live, cluster)?,
    };
    let message = format!("{what}: its Flux objects are suspended and deleted, and nothing is uninstalled");
    Some(Hold { reason: Reason::Deleting, message })
}

fn deletion_beside(addon: &ClusterAddon, live: &LiveOwners, cluster: &Cluster) -> Option<String> {
    if let Some(since) = cluster.deleting_since() {
        return Some(format!("the Cluster is being deleted since {since}"));
    }
    if cluster_uid(addon).is_some_and(|uid| cluster.uid() != Some(uid)) {
        return Some("the Cluster was deleted, and another Cluster has its name".to_owned());
    }
    if live.is_namespace_terminating {
        let namespace = addon.metadata.namespace.as_deref().unwrap_or_default();
        return Some(format!("namespace {namespace} is being deleted"));
    }
    let is_last = live.is_addon_deleted && !live.is_heir_unseen;
    is_last.then(|| "the ClusterAddon is being deleted".to_owned())
}

/// Whether the API server confirms that a `ClusterAddon` is being deleted or does not exist. `live` is the one that has its
/// name now.
#[must_use]
pub fn is_addon_deleted(addon: &ClusterAddon, live: Option<&ClusterAddon>) -> bool {
    let is_deleted = |addon: &ClusterAddon| addon.metadata.deletion_timestamp.is_some();
    is_deleted(addon) && live.is_none_or(|now| now.metadata.uid != addon.metadata.uid || is_deleted(now))
}

/// Whether the API server confirms that a Cluster is being deleted or does not exist.
#[must_use]
pub fn is_cluster_deleted(live: Option<&Cluster>) -> bool {
    live.is_none_or(Cluster::deleting)
}

/// The facts about a Cluster whose objects are suspended and deleted.
#[derive(Clone, Copy, Debug)]
pub struct SuppressionFacts<'a> {
    /// The cached Cluster with the name.
    pub cluster: Option<&'a Cluster>,
    /// The `ClusterAddon`.
    pub addon: &'a ClusterAddon,
    /// The cause that the API server confirms, if any.
    pub cause: Option<&'a Hold>,
    /// The objects that it owns.
    pub objects: &'a [Arc<FluxObject>],
    /// The place of the Cluster's files.
    pub files: &'a CommittedFiles,
    /// Whether the namespace is being deleted.
    pub is_namespace_terminating: bool,
}

/// The decision about a Cluster whose objects are suspended and deleted.
#[derive(Clone, Debug, PartialEq)]
pub enum SuppressionDecision {
    /// Nothing: the API server confirms no cause.
    Unconfirmed,
    /// Nothing but the report: the operator of another shard removes the files first.
    ByAnotherShard,
    /// Nothing but the report: the API server has this `ClusterStack`, and the cache lacks it.
    UnknownFiles(Key),
    /// The objects are suspended and deleted.
    Suppress(Suppression),
}

/// The deletion of the objects of a Cluster, without an uninstall.
#[derive(Clone, Debug, PartialEq)]
pub struct Suppression {
    /// The objects to suspend and delete.
    pub objects: Vec<Suppressed>,
    /// Kind and name of the objects that the status names and the cache lacks. The finalizer of the `ClusterAddon` stays
    /// until the API server confirms that it does not own them.
    pub to_confirm: BTreeSet<(FluxKind, String)>,
    /// Whether the finalizer stays until the API server lists no object that the `ClusterAddon` owns: its status names none.
    pub lists_owned: bool,
    /// The removal of the Cluster's files, which precedes the deletion of the objects, if it has files.
    pub files: Option<FileRemoval>,
    /// Whether to delete the `ClusterAddon`, because its Cluster does not exist. Garbage collection does the same if it
    /// runs.
    pub deletes_addon: bool,
    /// Whether another Cluster has the name, which needs a new `ClusterAddon`.
    pub is_recreated: bool,
}

/// An object to suspend, and then to delete.
#[derive(Clone, Debug, PartialEq)]
pub struct Suppressed {
    /// The object.
    pub object: Arc<FluxObject>,
    /// Whether to delete it. One that is being deleted is only suspended, because its finalizer may still be present.
    pub deletes: bool,
    /// Whether the deletion is one of the operator. What Flux applied from a repository, Flux deletes.
    pub is_counted: bool,
}

/// The place of a Cluster's files, which are removed from the repository before the objects are deleted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CommittedFiles {
    /// No existing `ClusterStack` commits files of the Cluster.
    Nowhere,
    /// The repository of a `ClusterStack`.
    InRepository {
        /// The `ClusterStack`.
        stack: Key,
        /// Whether the `ClusterStack` is suspended, so that nothing is committed for it.
        is_suspended: bool,
    },
    /// The operator of another shard commits them. It removes them, and then suspends and deletes the objects.
    InAnotherShard,
    /// The API server has the `ClusterStack`, and the cache lacks it: nothing can be decided.
    Unknown {
        /// The `ClusterStack`.
        stack: Key,
    },
}

/// Returns the place of a Cluster's files. `committing` is the `ClusterStack` that committed them, `cached` is it according
/// to the cache, and `live` according to the API server, which is asked if the cache lacks it: an incomplete list must not
/// leave the files in the repository, because Flux would create the deleted objects again.
#[must_use]
pub fn committed_files(
    committing: Option<&Key>,
    cached: Option<&ClusterStack>,
    live: Option<&ClusterStack>,
    is_sharded: bool,
) -> CommittedFiles {
    let Some(stack) = committing.cloned() else { return CommittedFiles::Nowhere };
    let is_by_git = |stack: &ClusterStack| stack.spec.delivery.git().is_some();
    match (cached, live) {
        (Some(cached), _) if is_by_git(cached) => {
            CommittedFiles::InRepository { stack, is_suspended: cached.spec.suspend }
        }
        (None, Some(_)) if is_sharded => CommittedFiles::InAnotherShard,
        (None, Some(live)) if is_by_git(live) => CommittedFiles::Unknown { stack },
        _ => CommittedFiles::Nowhere,
    }
}

/// The removal of a Cluster's files from the repository that Flux applies, after all objects are suspended: Flux then deletes
/// the objects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileRemoval {
    /// The `ClusterStack` that commits it.
    pub stack: Key,
    /// Whether the `ClusterStack` is suspended, so that nothing is committed for it.
    pub is_suspended: bool,
    /// Whether Flux deletes the objects before the `ClusterAddon` is deleted: the next one would resume them.
    pub awaits_prune: bool,
}

/// Decides about the objects of a Cluster, its files and its `ClusterAddon`.
#[must_use]
pub fn decide_suppression(facts: &SuppressionFacts) -> SuppressionDecision {
    if facts.cause.is_none() {
        return SuppressionDecision::Unconfirmed;
    }
    let files = match facts.files {
        CommittedFiles::Nowhere => None,
        CommittedFiles::InAnotherShard => return SuppressionDecision::ByAnotherShard,
        CommittedFiles::Unknown { stack } => return SuppressionDecision::UnknownFiles(stack.clone()),
        CommittedFiles::InRepository { stack, is_suspended } => {
            // No other ClusterAddon follows in a namespace that is being deleted.
            let awaits_prune = !facts.is_namespace_terminating;
            Some(FileRemoval { stack: stack.clone(), is_suspended: *is_suspended, awaits_prune })
        }
    };
    let is_going = facts.cluster.is_some_and(Cluster::deleting);
    let is_cached = |(kind, name): &(FluxKind, String)| {
        facts.objects.iter().any(|object| object.kind() == *kind && object.name() == name)
    };
    SuppressionDecision::Suppress(Suppression {
        objects: suppressed(facts.objects),
        to_confirm: possibly_owned(facts.addon, &[]).into_iter().filter(|id| !is_cached(id)).collect(),
        lists_owned: possibly_owned(facts.addon, &[]).is_empty(),
        files,
        deletes_addon: facts.addon.metadata.deletion_timestamp.is_none() && !is_going,
        is_recreated: facts.cluster.is_some() && !is_going,
    })
}

/// Decides about objects to suspend and delete.
#[must_use]
pub fn suppressed(objects: &[Arc<FluxObject>]) -> Vec<Suppressed> {
    let suppressed = objects.iter().map(|object| {
        let deletes = !object.metadata.terminating;
        let is_counted = deletes && !is_applied_by_flux(&object.object);
        Suppressed { object: object.clone(), deletes, is_counted }
    });
    suppressed.collect()
}

/// The part of a `Kustomization` that says which objects it deletes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pruner {
    prunes: bool,
    is_suspended: bool,
    applied: String,
    /// The objects that it applied, each as `<namespace>_<name>_<group>_<kind>`.
    inventory: BTreeSet<String>,
}

impl Pruner {
    /// Reads a `Kustomization`: <https://fluxcd.io/flux/components/kustomize/kustomizations/#inventory>.
    #[must_use]
    pub fn of(kustomization: &Value) -> Self {
        let is_set = |path: &[&str]| field(kustomization, path) == Some(&Value::Bool(true));
        let entries = field(kustomization, &["status", "inventory", "entries"]).and_then(Value::as_array);
        let ids = entries.into_iter().flatten().map(|entry| text(entry, &["id"]).to_owned());
        Self {
            prunes: is_set(&["spec", "prune"]),
            is_suspended: is_set(&["spec", "suspend"]),
            applied: text(kustomization, &["status", "lastAppliedRevision"]).to_owned(),
            inventory: ids.collect(),
        }
    }

    /// Whether the `Kustomization` deletes an object once its source lacks the file of the object, or once the
    /// `Kustomization` itself is deleted.
    fn prunes(&self, object: &FluxObject) -> bool {
        let (namespace, kind) = (object.object.namespace.as_deref().unwrap_or_default(), object.kind());
        let id = format!("{namespace}_{}_{}_{kind}", object.name(), kind.group());
        self.prunes && !is_prune_disabled(&object.object) && self.inventory.contains(&id)
    }
}

/// Returns the hold of a `ClusterAddon` after its files are removed from the repository: Flux still has to delete these
/// objects, which are suspended. The next `ClusterAddon` would resume them, and Flux would then uninstall the addons of
/// those that it deletes. `pruners` are the Kustomizations that apply the objects, as far as they exist.
#[must_use]
pub fn prune_hold(objects: &[Arc<FluxObject>], pruners: &BTreeMap<Key, Pruner>) -> Option<Hold> {
    let (object, key, pruner) = objects.iter().find_map(|object| {
        let key = applier_of(&object.object)?;
        let pruner = pruners.get(&key).filter(|pruner| pruner.prunes(object))?;
        Some((object, key, pruner))
    })?;
    let state = if pruner.is_suspended { "is suspended at" } else { "has applied" };
    let message = format!(
        "the files are removed: waits until Kustomization {key}, which {state} {}, deletes {} {}",
        pruner.applied,
        object.kind(),
        object.name()
    );
    Some(Hold { reason: Reason::CommitNotApplied, message })
}

/// Whether a status already reports a cause.
#[must_use]
pub fn is_reported(status: &ClusterAddonStatus, why: &Hold) -> bool {
    let available = ConditionType::ClusterAvailable.as_str();
    let found = status.conditions.iter().find(|condition| condition.type_ == available);
    found.is_some_and(|found| found.reason == why.reason.as_str())
}
