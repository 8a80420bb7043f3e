//! The chain of a release.

use super::{Chain, issues, present, since};
use crate::api::{ClusterStackRelease, ConditionType};
use crate::explain::flux::is_true;
use crate::explain::next::Place;
use crate::explain::snapshot::{Snapshot, ready};
use crate::explain::step::Role;
use crate::foreign::flux::FluxKind;
use crate::names::Key;

/// The conditions of a `ClusterStackRelease`, in their order.
const CONDITIONS: [ConditionType; 5] = [
    ConditionType::ReleaseValid,
    ConditionType::SourcesReady,
    ConditionType::ProviderReady,
    ConditionType::NodeImagesReady,
    ConditionType::ClusterClassReady,
];

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
    for (kind, report) in &reports {
        chain.add(0, Role::Part, kind.to_string(), report);
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

    fn objects(&mut self, snapshot: &Snapshot, depth: usize, release: &ClusterStackRelease) {
        for object in release.status.iter().flat_map(|status| &status.objects) {
            let Some(kind) = FluxKind::of(&object.kind) else { continue };
            let key = Key::new(&object.namespace, &object.name);
            if !is_true(&snapshot.flux_report(kind, &key)) {
                self.flux(depth, snapshot, kind, &key);
            }
        }
    }
}
