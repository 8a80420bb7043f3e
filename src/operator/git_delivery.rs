//! Delivery through Git: what the reconciles want of a `ClusterStack` is gathered and committed in one go.
//!
//! ```text
//! reconciles ─ want ─▶ outbox ─ pass: fetch, write files, commit, push ─▶ branch ─ Flux ─▶ objects ─ watch ─▶ reconciles
//!      ▲                                        │ committed, or held and why
//!      └────────────────────────────────────────┘
//! ```
//! A reconcile decides as it does without Git, and sends nothing to the API server: it wants objects, or their removal, and
//! looks at the objects that Flux has applied. That an object is as planned its digest annotation says.

mod job;
pub mod outbox;
pub mod pass;
pub mod progress;
mod pull_request;
pub mod threads;

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::{Resource, ResourceExt as _};
use tracing::warn;

use super::cache::{Change as CacheChange, Key};
use super::cluster;
use super::metrics::Queue;
use super::objects::{is_applied_by_flux, owner_of_applied};
use super::routes::cluster_of;
use super::world::World;
use crate::api::{ClusterStack, ClusterStackRelease};
use crate::names::ReleaseName;
use crate::plan::ObjectId;
use crate::release::Digest;
use crate::subscription;
use crate::temporary::Temporary;
use outbox::{Asker, Change, Outbox, Standing, Unit};
use progress::Progress;
use threads::Threads;

/// How long until it is looked again whether a clone that is to be removed is free.
const IDLE: Duration = Duration::from_secs(10);
/// How long a pass waits for more after something is wanted: a change of a class is wanted by each of its Clusters.
const GATHERING: Duration = Duration::from_millis(300);

/// What is to be committed, and how far that is.
#[derive(Debug, Default)]
pub struct GitDelivery {
    /// What is wanted.
    pub outbox: Outbox,
    /// What works with the clones.
    pub threads: Threads,
    /// Where clones are kept, which go with the process.
    clones: OnceLock<Temporary>,
    progress: Mutex<BTreeMap<Key, Progress>>,
}

impl GitDelivery {
    /// Where the clone of a repository is kept that is reached with the Secrets of a namespace.
    pub(super) fn directory(&self, namespace: &str, url: &str) -> io::Result<PathBuf> {
        let clones = if let Some(clones) = self.clones.get() {
            clones
        } else {
            let made = Temporary::new("stackflux-clones-")?;
            self.clones.get_or_init(|| made)
        };
        Ok(clones.path().join(clone_name(namespace, url)))
    }

    /// Removes a clone that nothing needs, when no thread is at work with it.
    fn remove(&self, name: &str) {
        let Some(clones) = self.clones.get() else { return };
        let (directory, threads) = (clones.path().join(name), self.threads.clone());
        tokio::spawn(async move {
            while threads.has(&directory) {
                tokio::time::sleep(IDLE).await;
            }
            _ = tokio::task::spawn_blocking(move || {
                if directory.exists()
                    && let Err(error) = std::fs::remove_dir_all(&directory)
                {
                    warn!(directory = %directory.display(), "the clone cannot be removed: {error}");
                }
            })
            .await;
        });
    }

    /// How far the commits of a `ClusterStack` are; nothing before its first pass since the start of the process.
    #[must_use]
    pub fn progress(&self, stack: &Key) -> Option<Progress> {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner).get(stack).cloned()
    }

    /// Notes how far they are. Whether that is news.
    pub fn note(&self, stack: &Key, progress: Option<Progress>) -> bool {
        let mut all = self.progress.lock().unwrap_or_else(PoisonError::into_inner);
        let is_news = all.get(stack) != progress.as_ref();
        match progress {
            Some(progress) => drop(all.insert(stack.clone(), progress)),
            None => drop(all.remove(stack)),
        }
        is_news
    }
}

/// The name of the directory of a clone.
fn clone_name(namespace: &str, url: &str) -> String {
    Digest::of_bytes(format!("{namespace} {url}").as_bytes()).short()
}

/// The clones that a `ClusterStack` needs: of the repository that it is delivered to, and of the one that releases are
/// published to.
fn clones_of(stack: &ClusterStack) -> impl Iterator<Item = String> {
    let namespace = stack.namespace().unwrap_or_default();
    let source = stack.spec.source.as_ref().filter(|source| source.upstream.is_some());
    let published = source.and_then(|source| source.git.as_ref()).map(|git| git.url.as_str());
    let delivered = stack.spec.delivery.git().map(|git| git.url.as_str());
    let names: Vec<_> =
        published.into_iter().chain(delivered).map(|url| clone_name(&namespace, url)).collect();
    names.into_iter()
}

/// The clones that a change leaves without use, given those that are in use after it.
fn unused(before: &ClusterStack, in_use: &[Arc<ClusterStack>]) -> BTreeSet<String> {
    let in_use: BTreeSet<String> = in_use.iter().flat_map(|stack| clones_of(stack)).collect();
    clones_of(before).filter(|name| !in_use.contains(name)).collect()
}

impl World {
    /// A `ClusterStack` changed: clones that nothing needs now are removed.
    pub fn clones_changed(&self, change: &CacheChange<ClusterStack>) {
        let Some(before) = &change.before else { return };
        for name in unused(before, &self.caches.stacks.all()) {
            self.git.remove(&name);
        }
    }

    /// Wants a change to be committed for a `ClusterStack`, and tells how it stands.
    pub fn commit(&self, stack: &Key, unit: Unit, change: Change, asker: Asker) -> Standing {
        let standing = self.git.outbox.want(stack, unit, change, asker);
        if standing == Standing::Pending {
            self.triggers.commits.after(stack.clone(), GATHERING);
        }
        standing
    }

    /// Looks at the branch that a `ClusterStack` is, or was, committed to, also where that waits after a failure: what made it
    /// fail may be what was changed.
    pub fn look_at_branch(&self, stack: &ClusterStack) {
        let key = Key::of(stack);
        if stack.spec.delivery.git().is_some() || self.git.progress(&key).is_some() {
            self.triggers.commits.after(key, GATHERING);
        }
    }

    /// Has an object taken out of the repository that Flux applies it from, where that is one of ours. `false` for any other
    /// object.
    pub fn take_out<K: Resource<DynamicType = ()>>(&self, object: &K) -> bool {
        let Some((kind, owner)) = owner_of_applied(object.meta()) else { return false };
        if kind != "ClusterAddon" {
            let stacks = self.stacks_of_shared(object.meta(), &owner);
            return self.take_out_of(object, &stacks, None, &(Queue::ClusterStackRelease, owner));
        }
        let Some(addon) = self.caches.addons.get(&owner) else { return false };
        let (stack, cluster) = (cluster::committing_stack(&addon), cluster_of(&addon));
        let stacks: Vec<Key> = stack.into_iter().collect();
        self.take_out_of(object, &stacks, Some(&cluster), &(Queue::Cluster, cluster.clone()))
    }

    /// Whether [`World::take_out`] took an object of a Cluster out of the repository, which Flux has not removed yet.
    pub fn is_taken_out<K: Resource<DynamicType = ()>>(&self, object: &K) -> bool {
        let Some(("ClusterAddon", owner)) = owner_of_applied(object.meta()) else { return false };
        let Some(addon) = self.caches.addons.get(&owner) else { return false };
        let unit = Unit::Object(id_of(object), Some(cluster_of(&addon)));
        cluster::committing_stack(&addon).is_some_and(|stack| self.git.outbox.is_gone(&stack, &unit))
    }

    /// As [`World::take_out`], of an object that is in no namespace and was made for this release.
    pub fn take_out_for<K: Resource<DynamicType = ()>>(
        &self,
        object: &K,
        release: &ClusterStackRelease,
    ) -> bool {
        let stacks: Vec<Key> = stack_of(release).into_iter().collect();
        is_applied_by_flux(object.meta())
            && self.take_out_of(object, &stacks, None, &(Queue::ClusterStackRelease, Key::of(release)))
    }

    /// The `ClusterStack`s that may have committed what the Clusters of a release share. The release that an object is
    /// labelled with may be gone while a later one of its line has the same content.
    fn stacks_of_shared(&self, object: &ObjectMeta, release: &Key) -> Vec<Key> {
        if let Some(stack) = self.caches.releases.get(release).and_then(|release| stack_of(&release)) {
            return vec![stack];
        }
        let Ok(name) = release.name.parse::<ReleaseName>() else { return Vec::new() };
        let is_of = |stack: &Arc<ClusterStack>| subscription::is_of(&stack.spec, &name);
        let (here, elsewhere): (Vec<_>, Vec<_>) = { self.caches.stacks.all() }
            .into_iter()
            .filter(is_of)
            .partition(|stack| stack.namespace() == object.namespace);
        let stacks = if here.is_empty() { elsewhere } else { here };
        stacks.iter().map(|stack| Key::of(&**stack)).collect()
    }

    fn take_out_of<K: Resource<DynamicType = ()>>(
        &self,
        object: &K,
        stacks: &[Key],
        cluster: Option<&Key>,
        asker: &Asker,
    ) -> bool {
        let commits = |stack: &&Key| {
            self.caches.stacks.get(stack).is_some_and(|stack| stack.spec.delivery.git().is_some())
        };
        let id = id_of(object);
        let stacks: Vec<&Key> = stacks.iter().filter(commits).collect();
        for stack in &stacks {
            self.commit(stack, Unit::Object(id.clone(), cluster.cloned()), Change::Gone, asker.clone());
        }
        !stacks.is_empty()
    }
}

/// The `ClusterStack` that a release belongs to.
fn stack_of(release: &ClusterStackRelease) -> Option<Key> {
    let mut owners = release.owner_references().iter();
    let owner = owners.find(|owner| owner.kind == "ClusterStack")?;
    Some(Key::new(&release.namespace().unwrap_or_default(), &owner.name))
}

fn id_of<K: Resource<DynamicType = ()>>(object: &K) -> ObjectId {
    ObjectId {
        api_version: K::api_version(&()).into_owned(),
        kind: K::kind(&()).into_owned(),
        namespace: object.meta().namespace.clone().unwrap_or_default(),
        name: object.name_any(),
    }
}

#[cfg(test)]
mod tests;
