//! Decides about a deleted release: it is kept while it is in use, orphaned, or uninstalled.

use k8s_openapi::api::core::v1::Namespace;
use kube::{Resource, ResourceExt as _};

use super::Inventory;
use crate::api::{ClusterAddon, ClusterStack, ClusterStackRelease, Reason, labels};
use crate::foreign::capi::ClassReference;
use crate::gate::Hold;
use crate::names::ReleaseName;

/// The facts about a release that is deleted or retiring.
#[derive(Clone, Debug)]
pub struct TeardownFacts<'a> {
    /// The release as the watch has it.
    pub release: &'a ClusterStackRelease,
    /// Its `ClusterStack`, if this operator watches it.
    pub owner: Option<&'a ClusterStack>,
    /// Whether its `ClusterStack` exists and another operator watches it.
    pub is_of_other_shard: bool,
    /// The release as the API server has it now. Only fetched if the release is deleted.
    pub live: Option<ClusterStackRelease>,
    /// Whether Clusters use it, according to the caches and the API server.
    pub is_used: bool,
    /// A description of an object that its class shares with the class of another release, if any.
    pub shared: Option<String>,
    /// Its objects. Only gathered if the release is deleted.
    pub made: Inventory,
}

/// The decision about a release.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Teardown {
    /// The release is kept, because of the hold if it should be deleted.
    Keep(Option<Hold>),
    /// The release does not have the operator's finalizer: there is nothing to do.
    Finished,
    /// The API server does not confirm the deletion: nothing is deleted.
    Unconfirmed,
    /// These objects stay, suspended and without an owner.
    Orphan(Inventory),
    /// These objects are uninstalled, or deleted if no other release has them.
    Uninstall(Inventory),
}

/// Decides about a release.
#[must_use]
pub fn decide_teardown(facts: &TeardownFacts) -> Teardown {
    let release = facts.release;
    let shared = facts.shared.as_deref().map(shares);
    if release.metadata.deletion_timestamp.is_none() {
        return Teardown::Keep(shared.filter(|_| is_retiring(release)));
    }
    if facts.owner.is_none() && facts.is_of_other_shard {
        return Teardown::Keep(None);
    }
    if !labels::has_finalizer(release) {
        return Teardown::Finished;
    }
    if !is_deletion_confirmed(release, facts.live.as_ref()) {
        return Teardown::Unconfirmed;
    }
    if is_orphaned(release) {
        return Teardown::Orphan(facts.made.clone());
    }
    let hold = |reason, message: &str| Hold { reason, message: message.to_owned() };
    let used = facts
        .is_used
        .then(|| hold(Reason::InUse, "deleted, but Clusters use it: kept until no Cluster does"));
    let suspended = facts
        .owner
        .filter(|owner| owner.spec.suspend)
        .map(|_| hold(Reason::Suspended, "deleted, but its ClusterStack is suspended"));
    match used.or(suspended).or(shared) {
        Some(hold) => Teardown::Keep(Some(hold)),
        None => Teardown::Uninstall(facts.made.clone()),
    }
}

/// Reports whether the API server confirms that an object is deleted. `live` is the object as the API server has it now.
#[must_use]
pub fn is_deletion_confirmed<K: Resource>(object: &K, live: Option<&K>) -> bool {
    live.is_some_and(|live| live.uid() == object.uid() && live.meta().deletion_timestamp.is_some())
}

/// Whether a Cluster with this class uses a release of this namespace.
#[must_use]
pub fn has_class(class: Option<&ClassReference>, namespace: &str, release: &ReleaseName) -> bool {
    class.is_some_and(|class| class.namespace == namespace && class.name == release.class_name())
}

/// Whether the addons of a Cluster were delivered from a release of this namespace. `addon` is its `ClusterAddon`; a status
/// of an earlier version names no namespace.
#[must_use]
pub fn has_applied(addon: Option<&ClusterAddon>, namespace: &str, release: &ReleaseName) -> bool {
    let progress = addon.and_then(|addon| addon.status.as_ref()?.release.as_ref());
    progress.is_some_and(|progress| {
        let is_here = progress.applied_namespace.as_ref().is_none_or(|of| of == namespace);
        is_here && progress.applied.as_ref() == Some(&release.to_string())
    })
}

/// Whether stackflux made a Namespace that is not being deleted. `live` is the Namespace as the API server has it now.
#[must_use]
pub fn is_own_namespace(live: &Namespace) -> bool {
    let manager = live.labels().get(labels::MANAGED_BY);
    manager.is_some_and(|manager| manager == labels::FIELD_MANAGER)
        && live.metadata.deletion_timestamp.is_none()
}

/// Whether the deletion of an object orphans the objects that were made for it.
#[must_use]
pub fn is_orphaned(object: &impl Resource) -> bool {
    object.annotations().get(labels::ON_DELETE).is_some_and(|value| value == labels::ORPHAN)
}

/// Whether a release is unused and waits for its deletion.
#[must_use]
pub fn is_retiring(release: &ClusterStackRelease) -> bool {
    release.annotations().contains_key(labels::RETIRING_SINCE)
}

fn shares(object: &str) -> Hold {
    let message = format!("its cluster class shares {object}: kept until that release is deleted");
    Hold { reason: Reason::SharesObjects, message }
}
