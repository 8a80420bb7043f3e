//! The releases in use, prepared with the same inputs that the operator plans them from.

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use serde::Deserialize as _;
use serde_json::Value;

use super::loaded::Loaded;
use super::present::Present;
use crate::addons::is_orphaning;
use crate::api::cluster_stack::Pruned;
use crate::api::{ClusterStack, ClusterStackRelease, ConditionType, GitDelivery, labels};
use crate::foreign::capi::text;
use crate::foreign::flux::FluxKind;
use crate::foreign::flux::observed::FluxObject;
use crate::inputs::acceptance::accept;
use crate::inputs::content::{self, Catalog, CatalogEntry, Contents, Existing};
use crate::inputs::defaults::Defaults;
use crate::inputs::line::Line;
use crate::inputs::stack::{Stack, StackError};
use crate::inputs::{ClusterInputs, ReleaseInputs, platform};
use crate::names::{Key, ReleaseName, Revision};
use crate::plan::{self, Plan, memory};
use crate::release::Release;
use crate::source::artifact::ArtifactRef;

/// A release in use.
pub(in crate::cli) struct Prepared {
    /// Whether its `ClusterStack` is suspended.
    pub(in crate::cli) suspended: bool,
    /// Deletions that its `ClusterStack` allows beyond the removal budget.
    pub(in crate::cli) allowed_deletions: Option<String>,
    /// The objects of addons that were deleted in its `ClusterStack`'s clusters, as the status has their sum.
    pub(in crate::cli) pruned_addons: Option<Pruned>,
    stack: Stack,
    release: Release,
    contents: Contents,
}

impl Prepared {
    /// Returns the repository from which Flux applies the objects of the release's Clusters, if it does.
    pub(in crate::cli) fn git(&self) -> Option<&GitDelivery> {
        self.stack.delivery.git()
    }

    /// Returns the key of the release's `ClusterStack`.
    pub(in crate::cli) fn stack_key(&self) -> Key {
        Key::new(self.stack.namespace.as_str(), self.stack.name.as_str())
    }

    /// Returns the key of the `ClusterStackRelease`.
    pub(in crate::cli) fn release_key(&self) -> Key {
        Key::new(self.stack.namespace.as_str(), &self.release.name.to_string())
    }

    pub(in crate::cli) fn inputs(&self) -> ReleaseInputs<'_> {
        ReleaseInputs { stack: &self.stack, release: &self.release, contents: &self.contents }
    }
}

/// The objects that all Clusters of a `ClusterStack` share.
pub(in crate::cli) struct Shared<'a> {
    pub(in crate::cli) stack: &'a ClusterStack,
    /// All objects. Releases may share some.
    pub(in crate::cli) plan: Plan,
    /// The source of the `ClusterStack`.
    pub(in crate::cli) source: Plan,
    /// The objects of each release.
    pub(in crate::cli) releases: Vec<(&'a ClusterStackRelease, Plan)>,
}

/// The releases that can be planned, and the objects that their Clusters share.
#[derive(Default)]
pub(in crate::cli) struct Stacks<'a> {
    releases: BTreeMap<Key, Prepared>,
    shared: Vec<Shared<'a>>,
    /// Whether a `ClusterStack` has no release yet.
    has_new: bool,
}

/// The sources that the contents of releases are resolved to.
struct Sources<'a> {
    present: &'a Present,
    loaded: BTreeMap<&'a ReleaseName, &'a Release>,
    flux: Vec<FluxObject>,
    written: &'a [Value],
}

impl<'a> Stacks<'a> {
    /// Prepares the releases that a namespace (`None`: all namespaces) needs, and explains which are left out.
    pub(in crate::cli) fn of(
        present: &'a Present,
        releases: &Loaded,
        defaults: &Defaults,
        namespace: Option<&str>,
    ) -> (Self, Vec<String>) {
        Self::over(present, &[], releases, defaults, namespace)
    }

    /// Like [`Stacks::of`], with additional existing sources and charts.
    pub(in crate::cli) fn over(
        present: &'a Present,
        written: &[Value],
        releases: &Loaded,
        defaults: &Defaults,
        namespace: Option<&str>,
    ) -> (Self, Vec<String>) {
        let mut skipped = Vec::new();
        let needed = needed(present, namespace, &mut skipped);
        // There may be thousands of `HelmRelease`s, and none counts. An object whose shape is not Flux's is not ours.
        let counts = |object: &&Value| text(object, &["kind"]) != FluxKind::HelmRelease.as_str();
        let flux = present.flux.iter().filter(counts);
        let flux = flux.filter_map(|object| FluxObject::deserialize(object).ok()).collect();
        let in_use =
            present.stacks.values().filter(|stack| needed.iter().any(|one| one.object.is_owned_by(stack)));
        let lines: Vec<Line> = in_use.map(|stack| Line::of_stack(&stack.spec)).collect();
        let loaded = releases.of_lines(&lines, &mut skipped);
        let sources = Sources { present, loaded, flux, written };
        let mut stacks = Self::default();
        for (key, stack) in &present.stacks {
            let of_stack: Vec<_> =
                needed.iter().filter(|release| release.object.is_owned_by(stack)).collect();
            // One without releases has a source, which is deleted with it.
            let is_shown = namespace.is_none_or(|only| key.namespace == only);
            let is_deleted = stack.metadata.deletion_timestamp.is_some();
            if of_stack.is_empty() && (is_deleted || !is_shown) {
                continue;
            }
            stacks.has_new |= of_stack.is_empty();
            if let Err(problem) = stacks.add(&sources, defaults, key, stack, &of_stack, &mut skipped) {
                skipped.push(format!("ClusterStack {key} is left out: {problem}"));
            }
        }
        (stacks, skipped)
    }

    fn add(
        &mut self,
        sources: &Sources,
        defaults: &Defaults,
        key: &Key,
        object: &'a ClusterStack,
        releases: &[&Needed<'a>],
        skipped: &mut Vec<String>,
    ) -> Result<(), String> {
        let in_words = |error: &dyn std::error::Error| error.to_string();
        let stack = defaults.stack(object, &sources.present.flux).map_err(|error| match error {
            StackError::NoSource(_) => {
                "it has no spec.source; give the operator's default source with --default-source-url"
                    .to_owned()
            }
            error => in_words(&error),
        })?;
        let source = plan::stack(&stack).map_err(|error| in_words(&error))?;
        let mut shared = Shared { stack: object, plan: source.clone(), source, releases: Vec::new() };
        let suspended = object.spec.suspend;
        let allowed = object.metadata.annotations.as_ref().and_then(|found| found.get(labels::PRUNE));
        let existing = sources.existing(&stack);
        for needed in releases {
            match sources.contents(&stack, &existing, needed) {
                Err(problem) => skipped.push(format!("{} is left out: {problem}", needed.name)),
                Ok((release, contents)) => {
                    let (allowed_deletions, stack) = (allowed.cloned(), stack.clone());
                    let pruned_addons =
                        object.status.as_ref().and_then(|status| status.pruned_addons.clone());
                    let prepared =
                        Prepared { suspended, allowed_deletions, pruned_addons, stack, release, contents };
                    let plan = plan::release(&prepared.inputs()).map_err(|error| in_words(&error))?;
                    shared.plan.merge(plan.clone()).map_err(|error| in_words(&error))?;
                    shared.releases.push((needed.object, plan));
                    self.releases.insert(Key::new(&key.namespace, &needed.name.to_string()), prepared);
                }
            }
        }
        if suspended {
            skipped.push(format!("ClusterStack {key} is suspended: nothing is written"));
        } else if is_orphaning(&object.metadata) {
            skipped.push(format!(
                "ClusterStack {key} is being deleted, and orphans its Flux objects: nothing is written"
            ));
        } else {
            self.shared.push(shared);
        }
        Ok(())
    }

    /// Whether there is nothing to plan.
    pub(in crate::cli) fn is_empty(&self) -> bool {
        self.releases.is_empty() && !self.has_new
    }

    /// Returns the number of releases.
    pub(in crate::cli) fn releases(&self) -> usize {
        self.releases.len()
    }

    /// Iterates over the inputs of the releases.
    pub(in crate::cli) fn inputs(&self) -> impl Iterator<Item = ReleaseInputs<'_>> {
        self.releases.values().map(Prepared::inputs)
    }

    /// Iterates over the content of the releases.
    pub(in crate::cli) fn in_use(&self) -> impl Iterator<Item = &Release> + Clone {
        self.releases.values().map(|prepared| &prepared.release)
    }

    /// Describes what is wrong with the components of the `ClusterStack`s, each once.
    pub(in crate::cli) fn component_problems(&self) -> BTreeSet<String> {
        let of =
            |prepared: &Prepared| platform::problems(&prepared.stack, std::iter::once(&prepared.release));
        self.releases.values().flat_map(of).collect()
    }

    pub(in crate::cli) fn shared(&self) -> impl Iterator<Item = &Shared<'a>> {
        self.shared.iter()
    }

    /// Finds the release with this key.
    pub(in crate::cli) fn release(&self, key: &Key) -> Option<&Prepared> {
        self.releases.get(key)
    }

    /// Finds the release of a Cluster's class.
    pub(in crate::cli) fn of_cluster(&self, cluster: &ClusterInputs) -> Option<&Prepared> {
        self.release(&cluster.cluster.release_key()?)
    }
}

/// A release to plan.
struct Needed<'a> {
    name: ReleaseName,
    object: &'a ClusterStackRelease,
}

/// Returns the releases in the namespace and those that the Clusters in scope use. Leaves out releases that are being
/// deleted, because the operator does not write them.
fn needed<'a>(present: &'a Present, namespace: Option<&str>, skipped: &mut Vec<String>) -> Vec<Needed<'a>> {
    let classes = present.clusters.iter().filter_map(|cluster| cluster.cluster.class());
    let used: BTreeSet<Key> =
        classes.map(|class| Key { namespace: class.namespace, name: class.name }).collect();
    let mut needed = Vec::new();
    for (key, object) in &present.releases {
        let is_here = namespace.is_none_or(|only| key.namespace == only);
        match key.name.parse::<ReleaseName>() {
            _ if object.metadata.deletion_timestamp.is_some() => {}
            Ok(name) if is_here || used.contains(&Key::new(&key.namespace, &name.class_name())) => {
                needed.push(Needed { name, object });
            }
            Err(error) if is_here => {
                skipped.push(format!("ClusterStackRelease {key} is left out: {error}"));
            }
            Ok(_) | Err(_) => {}
        }
    }
    needed
}

/// Returns the report of the operator that it cannot use a release at present. A release without a report counts as usable.
fn unusable(release: &ClusterStackRelease) -> Option<&Condition> {
    let valid = ConditionType::ReleaseValid.as_str();
    let mut conditions = release.status.iter().flat_map(|status| &status.conditions);
    let found = conditions.find(|condition| condition.type_ == valid)?;
    let is_current = found.observed_generation == release.metadata.generation;
    Some(found).filter(|_| is_current && found.status != "True")
}

impl Sources<'_> {
    /// Returns the sources and charts that the operator would keep.
    fn existing(&self, stack: &Stack) -> Existing {
        let mut existing = memory::existing(stack, self.present.releases.values(), &self.flux);
        self.written.iter().for_each(|object| existing.insert(object));
        existing
    }

    /// Returns a release as it is pinned, with the sources of its contents.
    fn contents(
        &self,
        stack: &Stack,
        existing: &Existing,
        needed: &Needed,
    ) -> Result<(Release, Contents), String> {
        let Some(pin) = needed.object.pin() else {
            return Err("it is not pinned yet".to_owned());
        };
        if let Some(report) = unusable(needed.object) {
            return Err(format!("the operator does not use it: {}: {}", report.reason, report.message));
        }
        let Some(release) = self.loaded.get(&needed.name) else {
            return Err("not found in the directory".to_owned());
        };
        if release.digest.to_string() != pin.digest {
            return Err(format!(
                "digest mismatch: expected {}, as pinned at {}, got {}",
                pin.digest, pin.revision, release.digest
            ));
        }
        let catalog = self.catalog(stack)?;
        let whole = accept(stack, release).map_err(|findings| findings.to_string())?.into_owned();
        let contents = content::resolve(stack, &whole, &catalog, existing);
        Ok((whole, contents.map_err(|error| error.to_string())?))
    }

    /// Returns the catalog of the stack repository: pinned releases at their pins, all others at the commit that Flux
    /// serves.
    ///
    /// Leaves out releases without either. Fails if a pin or an artifact cannot be read.
    fn catalog(&self, stack: &Stack) -> Result<Catalog, String> {
        let served = self.served(stack)?;
        let namespace = stack.namespace.as_str();
        let entry = |(&name, release): (&&ReleaseName, &&Release)| {
            let found = self.present.releases.get(&Key::new(namespace, &name.to_string()));
            let revision = match found.and_then(ClusterStackRelease::pin) {
                None => served.clone().map(Ok),
                Some(pin) => Some(pin.revision.parse::<Revision>().map_err(|error| {
                    format!("spec.source.revision of ClusterStackRelease {namespace}/{name}: {error}")
                })),
            };
            Some(revision?.map(|revision| (name.clone(), CatalogEntry::of(release, revision))))
        };
        self.loaded.iter().filter(|(name, _)| stack.line.has(name)).filter_map(entry).collect()
    }

    /// Returns the commit of the followed repository that Flux serves; `None` if it serves none yet.
    fn served(&self, stack: &Stack) -> Result<Option<Revision>, String> {
        let key = Key::new(stack.source.namespace.as_str(), stack.source.name.as_str());
        let is_it =
            |object: &&FluxObject| object.kind() == FluxKind::GitRepository && Key::of(*object) == key;
        let found = self.flux.iter().find(is_it).and_then(|object| object.status.artifact());
        let artifact = found.map(ArtifactRef::new).transpose();
        let artifact = artifact.map_err(|error| format!("GitRepository {key}, status.artifact: {error}"))?;
        Ok(artifact.map(|artifact| artifact.revision))
    }
}
