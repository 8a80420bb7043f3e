//! The upgrades of addons that Flux is asked for although nothing changed.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};

use super::facts::{Available, Facts, Target, addon_of};
use super::revision::other_revision;
use super::{Snapshot, snapshot};
use crate::api::labels::{FORCE_AT, REPEAT_AFTER};
use crate::foreign::flux::observed::{FluxObject, KindStatus, Status};
use crate::gate::upgrade::{Phase, is_of_both_hooks};
use crate::rollup::{Expected, is_forced_upgrade_due};

/// The delay before Flux is asked again for an upgrade that it has not made, or has rolled back.
const ASK_AGAIN_AFTER: SignedDuration = SignedDuration::from_mins(10);

/// The addons that a release applies before and after the upgrade of a Cluster. Their content is the same after it, but a
/// chart may render something else for another Kubernetes version.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Repeats {
    /// The upgrade of the Cluster: `<release>/<version>`.
    pub upgrade: String,
    /// The objects that moved before it. This is noted on them, so that a new Cluster has no repeated upgrade.
    pub noted: Vec<Arc<FluxObject>>,
    /// The objects that Flux is asked to upgrade once more, because the Cluster is upgraded, each with the request:
    /// `<release>/<version>/<Helm's revision>/<time>`.
    pub due: Vec<(Arc<FluxObject>, String)>,
    /// The objects that Flux has upgraded once more. They lose the note.
    pub done: Vec<Arc<FluxObject>>,
    /// The time to ask again, if Flux does not upgrade.
    pub next: Option<Timestamp>,
}

/// Lists the addons whose upgrade is repeated after that of the Cluster.
pub(super) fn repeats(facts: &Facts, is_as_planned: impl Fn(&str) -> bool) -> Repeats {
    let Target::Available(available) = &facts.target else { return Repeats::default() };
    let upgrade = format!("{}/{}", available.release.name, facts.cluster.topology_version());
    let mut repeats = Repeats { upgrade, ..Repeats::default() };
    for object in of_both_hooks(facts, available, is_as_planned) {
        let note = object.annotation(REPEAT_AFTER).map(str::to_owned);
        if facts.upgrade.phase != Phase::Steady {
            if note.as_ref() != Some(&repeats.upgrade) {
                repeats.noted.push(object);
            }
        } else if facts.upgrade.is_over(facts.cluster)
            && let Some(note) = note.filter(|note| is_of_version(note, facts.cluster.topology_version()))
        {
            repeats.add(object, &note, facts.snapshot.now);
        }
    }
    repeats
}

/// Whether a note is about an upgrade to this version, to whichever release. The class may have changed since.
fn is_of_version(note: &str, version: &str) -> bool {
    note.rsplit_once('/').is_some_and(|(_, of)| of == version)
}

impl Repeats {
    /// Adds an object that is noted, after the upgrade of the Cluster.
    fn add(&mut self, object: Arc<FluxObject>, upgrade: &str, now: Timestamp) {
        match Repeat::of(&object, upgrade, now) {
            Repeat::Due(revision) => {
                let request = format!("{upgrade}/{revision}/{now}");
                self.next = self.next.into_iter().chain(now.checked_add(ASK_AGAIN_AFTER).ok()).min();
                self.due.push((object, request));
            }
            Repeat::Waits(until) => self.next = self.next.into_iter().chain(until).min(),
            Repeat::Done => self.done.push(object),
        }
    }
}

/// The state of a repeated upgrade.
#[derive(Debug, PartialEq)]
enum Repeat {
    /// Flux is asked for it; Helm has this revision.
    Due(i64),
    /// Flux works on it, or is asked again at this time.
    Waits(Option<Timestamp>),
    /// Flux has made it.
    Done,
}

impl Repeat {
    /// Only another revision of Helm proves the upgrade: Flux takes a request for handled too that ends early, that meets drift, or
    /// that another one replaces.
    fn of(object: &FluxObject, upgrade: &str, now: Timestamp) -> Self {
        let KindStatus::HelmRelease(status) = &object.status else { return Self::Done };
        let latest = status.history.first().filter(|latest| latest.status == "deployed");
        let Some(latest) = latest.filter(|_| object.current_with("Ready", Status::True).is_some()) else {
            return Self::Waits(None);
        };
        let request = object.annotation(FORCE_AT);
        let Some((revision, at)) = request.and_then(|request| asked(request, upgrade)) else {
            return Self::Due(latest.version);
        };
        let is_open = request == object.metadata.requested_at.as_deref()
            && request != status.last_handled_force_at.as_deref();
        let again = at.checked_add(ASK_AGAIN_AFTER).ok();
        if latest.version != revision && latest.action != "rollback" {
            Self::Done
        } else if is_open || again.is_some_and(|again| now < again) {
            Self::Waits(again)
        } else {
            Self::Due(latest.version)
        }
    }
}

/// Reads Helm's revision and the time of a request for this upgrade.
fn asked(request: &str, upgrade: &str) -> Option<(i64, Timestamp)> {
    let (revision, at) = request.strip_prefix(upgrade)?.strip_prefix('/')?.split_once('/')?;
    Some((revision.parse().ok()?, at.parse().ok()?))
}

/// Lists the objects of the addons that the release applies before and after an upgrade, if they are as planned.
fn of_both_hooks<'a>(
    facts: &'a Facts,
    available: &'a Available,
    is_as_planned: impl Fn(&str) -> bool + 'a,
) -> impl Iterator<Item = Arc<FluxObject>> + 'a {
    let is_wanted = move |addon: &str| is_as_planned(addon) && is_of_both_hooks(available.release, addon);
    let planned = available.planned().filter(move |planned| is_wanted(addon_of(planned)));
    let found = planned.filter_map(|planned| facts.snapshot.existing(planned));
    found.filter(|object| is_repeatable(object)).cloned()
}

/// Whether Flux can be asked to upgrade an object though nothing changed.
fn is_repeatable(object: &FluxObject) -> bool {
    matches!(object.status, KindStatus::HelmRelease(_)) && !object.suspended && !object.metadata.terminating
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
