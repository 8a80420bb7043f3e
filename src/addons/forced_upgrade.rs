//! The upgrades of addons that Flux is asked for although nothing changed.

use std::sync::Arc;

use super::facts::{Available, Facts, Target, addon_of};
use super::revision::other_revision;
use super::{Snapshot, snapshot};
use crate::api::labels::{FORCE_AT, REPEAT_AFTER};
use crate::foreign::flux::observed::{FluxObject, KindStatus};
use crate::gate::upgrade::Phase;
use crate::release::Hook;
use crate::rollup::{Expected, is_forced_upgrade_due};

/// The addons that a release applies before and after the upgrade of a Cluster. Their content is the same after it, but a
/// chart may render something else for another Kubernetes version.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Repeats {
    /// The upgrade of the Cluster: `<release>/<version>`.
    pub upgrade: String,
    /// The objects that moved before it, which are noted on them, so that a new Cluster has no repeated upgrade.
    pub noted: Vec<Arc<FluxObject>>,
    /// The objects that Flux is asked to upgrade once more, because the Cluster is upgraded.
    pub due: Vec<Arc<FluxObject>>,
}

/// Lists the addons whose upgrade is repeated after that of the Cluster.
pub(super) fn repeats(facts: &Facts, is_as_planned: impl Fn(&str) -> bool) -> Repeats {
    let Target::Available(available) = &facts.target else { return Repeats::default() };
    let upgrade = format!("{}/{}", available.release.name, facts.cluster.topology_version());
    let (mut noted, mut due) = (Vec::new(), Vec::new());
    for object in of_both_hooks(facts, available, is_as_planned) {
        let is_noted = object.annotation(REPEAT_AFTER) == Some(&upgrade);
        if facts.upgrade.phase != Phase::Steady && !is_noted {
            noted.push(object);
        } else if facts.upgrade.is_over(facts.cluster) && is_noted && !is_repeated(&object, &upgrade) {
            due.push(object);
        }
    }
    Repeats { upgrade, noted, due }
}

/// Lists the objects of the addons that the release applies before and after an upgrade, if they are as planned.
fn of_both_hooks<'a>(
    facts: &'a Facts,
    available: &'a Available,
    is_as_planned: impl Fn(&str) -> bool + 'a,
) -> impl Iterator<Item = Arc<FluxObject>> + 'a {
    let is_of_both = |addon: &str| {
        let addon = available.release.addons.iter().find(|known| known.name.as_str() == addon);
        addon.is_some_and(|addon| {
            let hooks: Vec<Hook> = available.release.hooks_of(&addon.name).collect();
            hooks.contains(&Hook::BeforeClusterUpgrade) && hooks.contains(&Hook::AfterClusterUpgrade)
        })
    };
    let planned = available
        .planned()
        .filter(move |planned| is_as_planned(addon_of(planned)) && is_of_both(addon_of(planned)));
    let found = planned.filter_map(|planned| facts.snapshot.existing(planned));
    found.filter(|object| is_repeatable(object)).cloned()
}

/// Whether Flux can be asked to upgrade an object though nothing changed.
fn is_repeatable(object: &FluxObject) -> bool {
    matches!(object.status, KindStatus::HelmRelease(_)) && !object.suspended && !object.metadata.terminating
}

/// Whether Flux was asked for a repeated upgrade, or has handled it. Another request that replaces one before Flux sees it makes
/// Flux take both for handled.
fn is_repeated(object: &FluxObject, upgrade: &str) -> bool {
    let KindStatus::HelmRelease(status) = &object.status else { return true };
    let is_asked = object.annotation(FORCE_AT) == Some(upgrade)
        && object.metadata.requested_at.as_deref() == Some(upgrade);
    is_asked || status.last_handled_force_at.as_deref() == Some(upgrade)
}

/// Lists the objects of which Flux reports the success of an upgrade that has not happened. Flux is asked once to upgrade them.
/// An object that is written now is upgraded anyway.
pub(super) fn due_forced_upgrades(
    snapshot: &Snapshot,
    is_as_planned: impl Fn(&str) -> bool,
) -> Vec<Arc<FluxObject>> {
    let due = snapshot.addons_before().filter_map(|addon| {
        let since = addon.since.as_ref().map_or(snapshot.now, |since| since.0);
        let kept = Expected::kept(addon.expected.as_ref()?, since)?;
        let object = snapshot::named(&snapshot.objects, addon.object.as_ref()?)?;
        let revision_before = other_revision(addon.revision_before.as_ref(), object);
        let expected = Expected { revision_before, ..kept };
        (is_as_planned(&addon.name) && is_forced_upgrade_due(object, &expected)).then(|| object.clone())
    });
    due.collect()
}
