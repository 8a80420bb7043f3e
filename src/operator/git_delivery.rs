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

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::Duration;

use kube::{Resource, ResourceExt as _};
use tempfile::TempDir;

use super::cache::Key;
use super::metrics::Queue;
use super::objects::{is_applied_by_flux, owner_of_applied};
use super::routes::cluster_of;
use super::world::World;
use crate::api::{ClusterStack, labels};
use crate::names::ReleaseName;
use crate::plan::ObjectId;
use crate::release::Digest;
use crate::subscription;
use outbox::{Asker, Change, Outbox, Standing, Unit};
use progress::Progress;
use threads::Threads;

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
    clones: OnceLock<TempDir>,
    progress: Mutex<BTreeMap<Key, Progress>>,
}

impl GitDelivery {
    /// Where the clone of a repository is kept that is reached with the Secrets of a namespace.
    pub(super) fn directory(&self, namespace: &str, url: &str) -> io::Result<PathBuf> {
        let clones = if let Some(clones) = self.clones.get() {
            clones
        } else {
            let made = TempDir::with_prefix("stackflux-clones-")?;
            self.clones.get_or_init(|| made)
        };
        Ok(clones.path().join(Digest::of_bytes(format!("{namespace} {url}").as_bytes()).short()))
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

impl World {
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

    /// The `ClusterStack`s that a release may be of and that are delivered through Git.
    #[must_use]
    pub fn committing_stacks(&self, release: &ReleaseName) -> Vec<Key> {
        let stacks = self.caches.stacks.all();
        let stacks = stacks
            .iter()
            .filter(|stack| stack.spec.delivery.git().is_some() && subscription::is_of(&stack.spec, release));
        stacks.map(|stack| Key::of(&**stack)).collect()
    }

    /// Has an object of the release that its label names taken out of the repository that Flux applies it from, where that
    /// is one of ours. `false` for any other object.
    pub fn take_out(&self, object: &impl Resource<DynamicType = ()>) -> bool {
        let release = object.labels().get(labels::RELEASE).and_then(|release| release.parse().ok());
        release.is_some_and(|release| self.take_out_of(object, &release))
    }

    /// As [`World::take_out`], of this release.
    pub fn take_out_of<K: Resource<DynamicType = ()>>(&self, object: &K, release: &ReleaseName) -> bool {
        let metadata = object.meta();
        if !is_applied_by_flux(metadata) {
            return false;
        }
        let stacks = self.committing_stacks(release);
        let id = ObjectId {
            api_version: K::api_version(&()).into_owned(),
            kind: K::kind(&()).into_owned(),
            namespace: metadata.namespace.clone().unwrap_or_default(),
            name: object.name_any(),
        };
        for stack in &stacks {
            let asker = self.asker_of(object).unwrap_or_else(|| (Queue::ClusterStack, stack.clone()));
            let cluster = (asker.0 == Queue::Cluster).then(|| asker.1.clone());
            self.commit(stack, Unit::Object(id.clone(), cluster), Change::Gone, asker);
        }
        !stacks.is_empty()
    }

    /// Whose reconcile looks after an object that Flux applied.
    fn asker_of(&self, object: &impl Resource) -> Option<Asker> {
        let (kind, owner) = owner_of_applied(object.meta())?;
        match kind {
            "ClusterAddon" => Some((Queue::Cluster, cluster_of(&*self.caches.addons.get(&owner)?))),
            _ => Some((Queue::ClusterStackRelease, owner)),
        }
    }
}
