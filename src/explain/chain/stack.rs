//! The chain of a `ClusterStack`.

use super::{Chain, cluster, present, since};
use crate::api::{ClusterStack, ClusterStackRelease, ConditionType, Reason};
use crate::explain::cause::Component;
use crate::explain::flux::{catalog, is_true};
use crate::explain::next::Place;
use crate::explain::snapshot::{Member, Snapshot, ready};
use crate::explain::step::{Role, Step};
use crate::explain::tree::cluster_report;
use crate::foreign::flux::FluxKind;
use crate::names::{Key, ReleaseName};
use crate::rollup::{ConditionStatus, Report};

/// The conditions of a `ClusterStack`, in their order. The first one is that of the source, which all others wait for.
const CONDITIONS: [ConditionType; 7] = [
    ConditionType::SourceReady,
    ConditionType::ReleasesPublished,
    ConditionType::ComponentsReady,
    ConditionType::ReleasesSynced,
    ConditionType::ClusterClassesReady,
    ConditionType::Delivered,
    ConditionType::ClustersReady,
];

/// Maximum number of Clusters of a `ClusterStack` that are listed.
const MAX_CLUSTERS: usize = 5;

/// Builds the chain of a `ClusterStack`; `None` if it does not exist. It is ready if its Clusters are ready, too.
#[must_use]
pub fn stack(snapshot: &Snapshot, key: &Key) -> Option<Chain> {
    let stack = snapshot.stacks.get(key)?;
    let place = Place { stack: Some(key.clone()), ..Place::default() };
    let mut chain = Chain::new(format!("ClusterStack {key}"), place);
    let conditions = stack.status.as_ref().map(|status| &status.conditions);
    let whole = ready(&stack.metadata, conditions);
    let reports = present(&stack.metadata, conditions, &CONDITIONS);
    if stack.spec.suspend {
        let mut step = chain.step(0, Role::Part, "spec.suspend".to_owned(), &suspended());
        step.place.suspended = Some(format!("clusterstack {} -n {}", key.name, key.namespace));
        chain.steps.push(step);
    }
    // With delivery through Git, the source is delivered, too.
    let is_delivered = |(kind, report): &(ConditionType, Report)| {
        *kind != ConditionType::Delivered || report.status != ConditionStatus::False
    };
    let is_first = reports.iter().all(is_delivered);
    // The readiness of Clusters is no part of Ready.
    let is_own = |(kind, _): &&(ConditionType, Report)| *kind != ConditionType::ClustersReady;
    if !is_true(&whole) && reports.iter().filter(is_own).all(|(_, report)| is_true(report)) {
        chain.add(0, Role::Part, ConditionType::Ready.to_string(), &whole);
        chain.failing_releases(snapshot, stack);
    }
    for (kind, report) in &reports {
        let is_gate = is_first && *kind == ConditionType::SourceReady;
        let role = if is_gate { Role::Gate } else { Role::Part };
        let mut step = chain.step(0, role, kind.to_string(), report);
        step.place.secret = secret_of(stack, *kind).or(step.place.secret);
        let source = (*kind == ConditionType::SourceReady).then_some(Component::Git);
        chain.steps.push(Step { component: step.component.or(source), ..step });
        if !is_true(report) {
            chain.below(snapshot, stack, *kind);
        }
    }
    let of_clusters = reports.iter().find(|(kind, _)| *kind == ConditionType::ClustersReady);
    let are_clusters_ready = of_clusters.is_none_or(|(_, report)| is_true(report));
    let since =
        since(conditions, ConditionType::Ready).or_else(|| since(conditions, ConditionType::ClustersReady));
    Some(chain.ended(is_true(&whole) && are_clusters_ready, since))
}

/// Returns the Secret with the credentials of what a condition reports on.
pub(super) fn secret_of(stack: &ClusterStack, kind: ConditionType) -> Option<Key> {
    let named = match kind {
        ConditionType::Delivered => stack.spec.delivery.git.as_ref()?.secret_ref.as_ref()?,
        // The operator pushes with the Secret for pushing, or with that of the source.
        ConditionType::ReleasesPublished => {
            let source = stack.spec.source.as_ref()?;
            let own = source.upstream.as_ref()?.push_secret_ref.as_ref();
            own.or(source.git.as_ref().and_then(|git| git.secret_ref.as_ref()))?
        }
        _ => return None,
    };
    Some(Key::new(&Key::of(stack).namespace, &named.name))
}

/// Returns the releases of a `ClusterStack`.
fn releases<'s>(
    snapshot: &'s Snapshot,
    stack: &ClusterStack,
) -> impl Iterator<Item = &'s ClusterStackRelease> {
    let of = Key::of(stack);
    let namespace = of.namespace.clone();
    let is_its = move |name: &ReleaseName| {
        snapshot.stack_of(&of.namespace, name).is_some_and(|found| Key::of(found) == of)
    };
    let here = snapshot.releases.iter().filter(move |(key, _)| key.namespace == namespace);
    here.filter(move |(key, _)| key.name.parse().is_ok_and(|name| is_its(&name))).map(|(_, release)| release)
}

fn suspended() -> Report {
    let text = "the operator changes nothing until the ClusterStack is resumed";
    Report::new(ConditionStatus::Unknown, Reason::Suspended.as_str(), text)
}

impl Chain {
    /// Adds what a condition of a `ClusterStack` waits for.
    fn below(&mut self, snapshot: &Snapshot, stack: &ClusterStack, kind: ConditionType) {
        match kind {
            ConditionType::SourceReady => {
                if let Some(source) = catalog(stack) {
                    self.flux(1, snapshot, FluxKind::GitRepository, &source);
                }
            }
            ConditionType::ClusterClassesReady => {
                releases(snapshot, stack).for_each(|release| self.release(snapshot, 1, release));
            }
            ConditionType::ClustersReady => self.clusters(snapshot, stack),
            _ => {}
        }
    }

    /// Adds the releases that are not ready.
    fn failing_releases(&mut self, snapshot: &Snapshot, stack: &ClusterStack) {
        for release in releases(snapshot, stack) {
            let conditions = release.status.as_ref().map(|status| &status.conditions);
            if !is_true(&ready(&release.metadata, conditions)) {
                self.release(snapshot, 1, release);
            }
        }
    }

    /// Adds the Clusters that are not ready, and below the worst one what it waits for.
    fn clusters(&mut self, snapshot: &Snapshot, stack: &ClusterStack) {
        let of = Key::of(stack);
        let is_its = |(key, member): &(&Key, &Member)| {
            let release = member.release(key);
            let found = release.and_then(|(namespace, name)| snapshot.stack_of(&namespace, &name));
            found.is_some_and(|found| Key::of(found) == of)
        };
        let members = snapshot.members.iter().filter(is_its);
        let mut found: Vec<_> =
            members.map(|(key, member)| ((key, member), cluster_report(snapshot, key, member))).collect();
        found.retain(|(_, report)| !is_true(report));
        found.sort_by_key(|(_, report)| report.status);
        for (number, ((key, member), report)) in found.iter().take(MAX_CLUSTERS).enumerate() {
            let mut step = self.step(1, Role::Part, format!("Cluster {key}"), report);
            step.place.cluster = Some((*key).clone());
            self.steps.push(step);
            if number > 0 {
                continue;
            }
            let below = cluster(snapshot, key, member, None).map(|chain| chain.steps).unwrap_or_default();
            let below = below.into_iter().filter(|step| !step.is_unchecked);
            self.steps.extend(below.map(|step| Step { depth: step.depth + 2, ..step }));
        }
    }
}
