//! State that all reconciles share: caches, API server, resolved releases, and triggers of the queues.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use jiff::Timestamp;
use kube::core::ApiResource;

use super::appliers::Appliers;
use super::budget::Budgets;
use super::builtin::BuiltinRepositories;
use super::caches::Caches;
use super::git_delivery::state::GitDelivery;
use super::helm_controller::HelmController;
use super::latest::Latest;
use super::metrics::{Metrics, Queue};
use super::objects::ClusterObject;
use super::occupants::Occupants;
use super::related::Related;
use super::release_cache::ReleaseCache;
use super::repairs::RepairLog;
use super::settings::Settings;
use super::under_way::UnderWay;
use crate::api::{ClusterAddon, ClusterStack, Upstream};
use crate::foreign::flux::FluxKind;
use crate::foreign::flux::observed::FluxObject;
use crate::gate::Hold;
use crate::inputs::ReleaseInputs;
use crate::inputs::content::Contents;
use crate::inputs::stack::{Stack, StackError};
use crate::names::{AddonName, ReleaseName};
use crate::plan::delivery::NamespaceState;
use crate::release::Release;
use crate::rollup::{DEADLINE, Moment, Report};
use crate::runtime::api_server::ApiServer;
use crate::runtime::cache::{Change, Key};
use crate::runtime::clock::Clock;
use crate::runtime::events::Events;
use crate::runtime::queue::Trigger;
use crate::subscription::{self, Claimant};

/// Triggers of the queues: a change that matters for an object enqueues its key.
#[derive(Clone, Debug)]
pub struct Triggers {
    /// Queue of `ClusterStack`s.
    pub stacks: Trigger<Key>,
    /// Queue of `ClusterStackRelease`s.
    pub releases: Trigger<Key>,
    /// Queue of Clusters, by the Cluster's own key.
    pub clusters: Trigger<Key>,
    /// Queue of `ClusterStack`s that are delivered through Git, to commit changes.
    pub commits: Trigger<Key>,
    /// Queue of `ClusterStack`s with an upstream source, to publish missing releases.
    pub publishes: Trigger<Key>,
}

impl Triggers {
    /// Returns the trigger of a queue.
    #[must_use]
    pub fn of(&self, queue: Queue) -> &Trigger<Key> {
        match queue {
            Queue::ClusterStack => &self.stacks,
            Queue::ClusterStackRelease => &self.releases,
            Queue::Cluster => &self.clusters,
            Queue::Commit => &self.commits,
            Queue::Publish => &self.publishes,
        }
    }
}

/// State that all reconciles share.
pub struct Context {
    /// The settings of the operator.
    pub settings: Settings,
    /// The watched objects of the API server.
    pub caches: Caches,
    /// The objects that Clusters refer to.
    pub related: Related,
    /// The state of Flux's controllers.
    pub appliers: Appliers,
    /// What is known about helm-controller from its CRD.
    pub helm_controller: HelmController,
    /// The clock.
    pub clock: Clock,
    /// The API server.
    pub api: ApiServer,
    /// Publishes events.
    pub events: Events,
    /// The content of releases.
    pub release_cache: ReleaseCache,
    /// The metrics of the process.
    pub metrics: Metrics,
    /// The queues.
    pub triggers: Triggers,
    /// The built-in stack repositories of this process.
    pub builtin: Arc<BuiltinRepositories>,
    /// The state of delivery through Git.
    pub git: GitDelivery,
    /// The last report of the publisher for each `ClusterStack`, in the form of a condition.
    pub published: Latest<Report>,
    /// The refusals to delete `GitRepository`s that `ClusterStack`s no longer follow.
    pub undeletable_sources: Latest<Hold>,
    /// The outdated sources and charts that an object refers to which no watch reports, and when that was found.
    pub used_sources: Latest<Timestamp>,
    /// The latest repairs of objects that other clients changed.
    pub repairs: RepairLog,
    /// The objects of other clients that have the names of planned ones.
    pub occupants: Occupants,
    /// Reserved parts of the deletion budgets, which no status records yet.
    pub budgets: Budgets,
    /// The statuses of `ClusterAddon`s whose requests had no answer.
    pub statuses_under_way: UnderWay,
    resolutions: Latest<Resolution>,
    not_installed: Latest<NotInstalled>,
    cluster_resource: OnceLock<ApiResource>,
}

/// The parts of a context that its creator chooses.
pub struct Parts {
    /// The settings of the operator.
    pub settings: Settings,
    /// The clock.
    pub clock: Clock,
    /// The API server.
    pub api: ApiServer,
    /// Publishes events.
    pub events: Events,
    /// The content of releases.
    pub release_cache: ReleaseCache,
    /// The objects that Clusters refer to.
    pub related: Related,
    /// The built-in stack repositories.
    pub builtin: Arc<BuiltinRepositories>,
    /// The metrics.
    pub metrics: Metrics,
    /// The queues.
    pub triggers: Triggers,
}

/// The releases that Clusters of a `ClusterStack` name and that are not installed, each with the reason.
pub type NotInstalled = BTreeMap<ReleaseName, Report>;

/// The result of a release's reconcile for the Clusters of its class.
#[derive(Clone, Debug)]
pub enum Resolution {
    /// The operator can plan addons.
    Usable(Arc<ResolvedRelease>),
    /// The operator cannot plan addons, for this reason. Existing objects of Clusters stay.
    Unusable(Report),
}

/// A release with everything that is needed to plan for its Clusters.
#[derive(Debug)]
pub struct ResolvedRelease {
    /// The key of the `ClusterStack`.
    pub stack_key: Key,
    /// The `ClusterStack` as the input of plans.
    pub stack: Stack,
    /// Whether `spec.suspend` of the `ClusterStack` forbids all writes.
    pub suspended: bool,
    /// Deletions that the `ClusterStack`'s annotation allows beyond the budget.
    pub allowed_deletions: Option<String>,
    /// The release.
    pub release: Arc<Release>,
    /// Locations of the release's contents.
    pub contents: Contents,
    /// The applied version of each addon, if known: the version of the chart that Flux packaged, or the commit of the
    /// manifests.
    pub versions: BTreeMap<AddonName, String>,
    /// The release's `Ready`, which its Clusters report.
    pub ready: Report,
}

impl ResolvedRelease {
    /// Returns the inputs of a Cluster's plan.
    #[must_use]
    pub fn inputs(&self) -> ReleaseInputs<'_> {
        ReleaseInputs { stack: &self.stack, release: &self.release, contents: &self.contents }
    }
}

impl PartialEq for ResolvedRelease {
    /// Compares the inputs: equal inputs give the same plans. Releases are compared by name and digest.
    fn eq(&self, other: &Self) -> bool {
        (&self.stack_key, &self.stack, self.suspended, &self.contents, &self.versions, &self.ready)
            == (
                &other.stack_key,
                &other.stack,
                other.suspended,
                &other.contents,
                &other.versions,
                &other.ready,
            )
            && self.allowed_deletions == other.allowed_deletions
            && self.release.name == other.release.name
            && self.release.digest == other.release.digest
    }
}

impl PartialEq for Resolution {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Usable(one), Self::Usable(other)) => one == other,
            (Self::Unusable(one), Self::Unusable(other)) => one == other,
            _ => false,
        }
    }
}

impl Context {
    /// Creates a context without any observed state.
    #[must_use]
    #[expect(clippy::disallowed_methods, reason = "the process starts")]
    pub fn new(parts: Parts) -> Self {
        let Parts { settings, clock, api, events, release_cache, related, builtin, metrics, triggers } =
            parts;
        Self {
            settings,
            caches: Caches::default(),
            related,
            appliers: Appliers::new(clock.now()),
            helm_controller: HelmController::default(),
            clock,
            api,
            events,
            release_cache,
            metrics,
            triggers,
            builtin,
            git: GitDelivery::default(),
            published: Latest::default(),
            undeletable_sources: Latest::default(),
            used_sources: Latest::default(),
            repairs: RepairLog::default(),
            occupants: Occupants::default(),
            budgets: Budgets::default(),
            statuses_under_way: UnderWay::default(),
            resolutions: Latest::default(),
            not_installed: Latest::default(),
            cluster_resource: OnceLock::new(),
        }
    }

    /// Converts a `ClusterStack` to the input of plans, with the operator's settings as defaults.
    pub fn stack(&self, stack: &ClusterStack) -> Result<Stack, StackError> {
        let found =
            self.source_key(stack).and_then(|key| self.caches.flux.get(FluxKind::GitRepository, &key));
        let followed = found.map(|found| found.to_source());
        self.settings.defaults.stack(stack, &followed)
    }

    /// Returns the key of the `GitRepository` that a `ClusterStack` follows.
    #[must_use]
    pub fn source_key(&self, stack: &ClusterStack) -> Option<Key> {
        self.settings.defaults.source_key(stack)
    }

    /// Returns the source from which the operator copies releases into the stack repository of a `ClusterStack`.
    #[must_use]
    pub fn upstream<'a>(&'a self, stack: &'a ClusterStack) -> Option<&'a Upstream> {
        self.settings.defaults.upstream(stack)
    }

    /// Whether a namespace is being deleted, according to its watch.
    #[must_use]
    pub fn is_terminating(&self, namespace: &str) -> bool {
        let found = self.caches.namespaces.get(&Key::new("", namespace));
        found.is_some_and(|found| found.metadata.deletion_timestamp.is_some())
    }

    /// Returns the state of a Namespace. An operator of one namespace watches no other.
    #[must_use]
    pub fn namespace_state(&self, name: &str) -> NamespaceState {
        let is_known = self.caches.namespaces.get(&Key::new("", name)).is_some();
        match is_known {
            true if self.is_terminating(name) => NamespaceState::Terminating,
            true => NamespaceState::Present,
            false if self.settings.watch.all_namespaces => NamespaceState::Absent,
            false => NamespaceState::Unknown,
        }
    }

    /// The resource of Clusters in the version that the API server prefers; `None` before discovery.
    #[must_use]
    pub fn cluster_resource(&self) -> Option<&ApiResource> {
        self.cluster_resource.get()
    }

    /// Records the discovered resource of Clusters.
    pub fn set_cluster_resource(&self, kind: ApiResource) {
        // Discovery runs once.
        _ = self.cluster_resource.set(kind);
    }

    /// Returns the result of a release's reconcile; `None` before the first reconcile since the start of the process.
    #[must_use]
    pub fn resolution(&self, release: &Key) -> Option<Resolution> {
        self.resolutions.get(release)
    }

    /// Records the result of a release's reconcile (`None`: the release is deleted), and enqueues the Clusters of its class
    /// if it changed.
    pub fn set_resolution(&self, release: &Key, class: &str, found: Option<Resolution>) {
        if self.resolutions.set(release, found) {
            self.enqueue_clusters(&release.namespace, class);
        }
    }

    /// Enqueues the Clusters of a class.
    pub fn enqueue_clusters(&self, namespace: &str, class: &str) {
        let class = super::objects::index::class(namespace, class);
        self.triggers.clusters.each(&self.caches.clusters.by_index(&class));
    }

    /// Returns the UID of the `ClusterStack` that owns the `ClusterStackRelease` of a release, if any.
    #[must_use]
    pub fn owner(&self, namespace: &str, release: &ReleaseName) -> Option<String> {
        let release = self.caches.releases.get(&Key::new(namespace, &release.to_string()))?;
        release.stack_owner().map(|owner| owner.uid.clone())
    }

    /// Returns the `ClusterStack` that a release belongs to, whether or not the release exists.
    #[must_use]
    pub fn holder(&self, namespace: &str, release: &ReleaseName) -> Option<Arc<ClusterStack>> {
        let all = self.caches.stacks.all();
        let here = |stack: &&Arc<ClusterStack>| stack.metadata.namespace.as_deref() == Some(namespace);
        let here = all.iter().filter(here).map(|stack| Claimant(stack));
        let holder = subscription::holder(here, release, self.owner(namespace, release).as_deref())?;
        self.caches.stacks.get(&Key::new(namespace, holder.metadata.name.as_deref()?))
    }

    /// Whether there may be `ClusterStack`s that this operator does not watch.
    #[must_use]
    pub fn is_sharded(&self) -> bool {
        self.settings.watch.label_selector.is_some()
    }

    /// Whether this operator reports on a Cluster: with a label selector, only if one of its `ClusterStack`s has the class.
    /// If the class belongs to no release, the `ClusterStack` of the release that was delivered last reports.
    #[must_use]
    pub fn reports_on(&self, cluster: &ClusterObject, addon: Option<&ClusterAddon>) -> bool {
        if self.settings.watch.label_selector.is_none() {
            return true;
        }
        if let Some((namespace, release)) = cluster.cluster.release() {
            return self.holder(&namespace, &release).is_some();
        }
        let progress = addon.and_then(|addon| addon.status.as_ref()?.release.as_ref());
        let before = progress.and_then(|progress| progress.applied.as_ref()?.parse::<ReleaseName>().ok());
        before.is_some_and(|release| {
            self.caches.stacks.all().iter().any(|stack| subscription::is_of(&stack.spec, &release))
        })
    }

    /// Records which releases that Clusters of a `ClusterStack` name are not installed (`None`: the `ClusterStack` is
    /// deleted), and enqueues the Clusters of each release for which the report changed.
    pub fn note_not_installed(&self, stack: &Key, found: Option<NotInstalled>) {
        let before = self.not_installed.get(stack).unwrap_or_default();
        self.not_installed.set(stack, found.clone());
        let now = found.unwrap_or_default();
        let changed = before.keys().chain(now.keys()).filter(|name| before.get(*name) != now.get(*name));
        for release in changed {
            self.enqueue_clusters(&stack.namespace, &release.class_name());
        }
    }

    /// Returns the reason why a release is not installed, according to the reconcile of its `ClusterStack`; `None` if it is
    /// installed, or before that reconcile.
    #[must_use]
    pub fn not_installed(&self, stack: &Key, release: &ReleaseName) -> Option<Report> {
        self.not_installed.get(stack)?.remove(release)
    }

    /// Returns the moment `now` with the state of a kind's controller.
    #[must_use]
    pub fn moment(&self, kind: &str, now: Timestamp) -> Moment {
        Moment { now, applier: self.appliers.of(kind), deadline: DEADLINE }
    }

    /// Records that a controller is working, if only the controller makes such a change.
    #[expect(clippy::disallowed_methods, reason = "an event is a fact of its time")]
    pub fn note_movement(&self, change: &Change<FluxObject>) {
        let Some(object) = change.now.as_ref().or(change.before.as_ref()) else { return };
        let is_answer = match (&change.before, &change.now) {
            (Some(before), Some(now)) => now.is_answered_since(before),
            // The controller removed its finalizer.
            (Some(before), None) => before.metadata.terminating,
            (None, _) => false,
        };
        if is_answer {
            self.appliers.moved(object.kind().controller(), self.clock.now());
        }
    }
}
