//! The chain of a release.

use super::stack::secret_of;
use super::{Chain, issues, present, since};
use crate::api::{ClusterStackRelease, ConditionType};
use crate::explain::flux::is_true;
use crate::explain::next::Place;
use crate::explain::snapshot::{Snapshot, ready};
use crate::explain::step::Role;
use crate::foreign::flux::FluxKind;
use crate::names::Key;
use crate::rollup::ConditionStatus;

/// The conditions of a `ClusterStackRelease`, in their order.
const CONDITIONS: [ConditionType; 5] = [
    ConditionType::ReleaseValid,
    ConditionType::SourcesReady,
    ConditionType::ProviderReady,
    ConditionType::NodeImagesReady,
    ConditionType::ClusterClassReady,
];

/// Those that sum up Flux objects.
const OF_OBJECTS: [ConditionType; 3] =
    [ConditionType::SourcesReady, ConditionType::NodeImagesReady, ConditionType::ClusterClassReady];

/// Builds the chain of a release; `None` if it does not exist.
#[must_use]
pub fn release(snapshot: &Snapshot, key: &Key) -> Option<Chain> {
    let release = snapshot.releases.get(key)?;
    let name = key.name.parse().ok();
    let stack = name.and_then(|name| snapshot.stack_of(&key.namespace, &name)).map(Key::of);
    let place = Place { release: Some(key.clone()), stack, ..Place::default() };
    let mut chain = Chain::new(format!("ClusterStackRelease {key}"), place);
    let conditions = release.status.as_ref().map(|status| &status.conditions);
    let whole = ready(&release.metadata, conditions);
    let reports = present(&release.metadata, conditions, &CONDITIONS);
    chain.undelivered(snapshot, release);
    // The advice is about an object that fails, and not about the condition that sums it up.
    let is_failing = fails(snapshot, release);
    for (kind, report) in &reports {
        let role = if is_failing && OF_OBJECTS.contains(kind) { Role::Detail } else { Role::Part };
        chain.add(0, role, kind.to_string(), report);
    }
    if issues(&reports).next().is_none() && !is_true(&whole) {
        chain.add(0, Role::Part, ConditionType::Ready.to_string(), &whole);
    }
    chain.objects(snapshot, 0, release);
    let since = since(conditions, ConditionType::Ready);
    Some(chain.ended(is_true(&whole), since))
}

impl Chain {
    /// Adds the conditions of a release that are not true, and its objects that are not ready.
    pub(super) fn release(&mut self, snapshot: &Snapshot, depth: usize, release: &ClusterStackRelease) {
        let key = Key::of(release);
        let conditions = release.status.as_ref().map(|status| &status.conditions);
        for (kind, report) in issues(&present(&release.metadata, conditions, &CONDITIONS)) {
            self.add(depth, Role::Part, format!("ClusterStackRelease {key} {kind}"), report);
        }
        self.objects(snapshot, depth + 1, release);
    }

    /// Adds the delivery through Git of a release whose objects are not all there, if it is not done: the objects come with it.
    fn undelivered(&mut self, snapshot: &Snapshot, release: &ClusterStackRelease) {
        let is_absent = |(kind, key): (FluxKind, Key)| snapshot.flux(kind, &key).is_none();
        let stack = self.place.stack.as_ref().and_then(|key| snapshot.stacks.get(key));
        let Some(stack) = stack.filter(|_| objects(release).any(is_absent)) else { return };
        let conditions = stack.status.as_ref().map(|status| &status.conditions);
        for (kind, report) in issues(&present(&stack.metadata, conditions, &[ConditionType::Delivered])) {
            let what = format!("ClusterStack {} {kind}", Key::of(stack));
            let mut step = self.step(0, Role::Gate, what, report);
            step.place.secret = secret_of(stack, *kind).or(step.place.secret);
            self.steps.push(step);
        }
    }

    fn objects(&mut self, snapshot: &Snapshot, depth: usize, release: &ClusterStackRelease) {
        for (kind, key) in objects(release) {
            if !is_true(&snapshot.flux_report(kind, &key)) {
                self.flux(depth, snapshot, kind, &key);
            }
        }
    }
}

/// Returns the Flux objects of a release.
fn objects(release: &ClusterStackRelease) -> impl Iterator<Item = (FluxKind, Key)> {
    let objects = release.status.iter().flat_map(|status| &status.objects);
    objects
        .filter_map(|object| Some((FluxKind::of(&object.kind)?, Key::new(&object.namespace, &object.name))))
}

/// Whether one of them fails.
fn fails(snapshot: &Snapshot, release: &ClusterStackRelease) -> bool {
    objects(release).any(|(kind, key)| snapshot.flux_report(kind, &key).status == ConditionStatus::False)
}
