//! Rolls up the status of a `ClusterAddon` from the facts about its Cluster and the results of the writes.

use std::sync::Arc;

use jiff::Timestamp;

use super::notes::notes;
use super::record::record;
use super::revision::{other_revision, revision_before};
use super::snapshot::{find, named};
use super::{
    Available, Facts, Pruning, Receipts, Snapshot, Target, addon_of, committed_by, has_release,
    rendered_inputs, requested_at,
};
use crate::api::Reason;
use crate::api::cluster_addon::{AddonObject, AddonState, AddonStatus, ClusterAddonStatus, RevisionBefore};
use crate::foreign::flux::observed::FluxObject;
use crate::gate::{self, Hold};
use crate::names::AddonName;
use crate::plan::{self, PlannedObject};
use crate::release::{Addon, Chart, Digest, KnownAs};
use crate::rollup::{
    AddonFacts, ClusterFacts, ConditionStatus, Expected, GateFacts, Moment, Report, Verdict, cluster_addon,
    component_source, delivery_limit, expected_since, judge,
};

/// The report of a reconcile about a Cluster.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The status.
    pub status: ClusterAddonStatus,
    /// Kind and verdict of the object of each addon.
    pub verdicts: Vec<(String, Verdict)>,
    /// The reasons why addons are not delivered.
    pub holds: Vec<Reason>,
    /// Time at which a verdict may change without an event.
    pub next: Option<Timestamp>,
    /// Whether the status names the committing `ClusterStack` for the first time: the objects are committed after that.
    pub is_committer_new: bool,
    /// Whether an upgrade or an addon waits for addons, and the status says more about these than before: they are judged by
    /// the status.
    pub is_to_judge: bool,
}

/// Rolls up the status of a `ClusterAddon`.
#[must_use]
pub fn roll_up(facts: &Facts, receipts: &Receipts, pruning: &Pruning) -> Outcome {
    let view = View { snapshot: &facts.snapshot, written: &receipts.objects };
    let found = match &facts.target {
        Target::Paused => paused(facts),
        Target::Unavailable { desired, report } => view.unavailable(facts, desired, report),
        Target::Available(available) => view.available(available, receipts, pruning),
    };
    let upgrade =
        || GateFacts { refusal: receipts.hook_refusal.clone(), ..facts.upgrade.report(facts.cluster) };
    let is_paused = matches!(facts.target, Target::Paused);
    let found = ClusterFacts { upgrade: (!is_paused).then(upgrade), ..found };
    let addon = &facts.snapshot.addon;
    let is_committer_new = found.committed_by != committed_by(addon);
    let judged =
        |of: &AddonFacts| Some((of.name.clone(), of.object.as_ref()?.kind.clone(), of.verdict.clone()?));
    let verdicts: Vec<_> = found.addons.iter().filter_map(judged).collect();
    let holds = found.addons.iter().filter_map(|of| of.hold.as_ref()).chain(&found.hold);
    let holds = holds.map(|hold| hold.reason).chain(release_hold(&found.release)).collect();
    let status = cluster_addon(found, &addon.status.clone().unwrap_or_default(), facts.snapshot.now);
    let is_judged = |before: &ClusterAddonStatus| before.addons == status.addons;
    let waits_for_addons = facts.upgrade.depends_on_addons() || waits_for_others(facts);
    let has_moved =
        |before: &ClusterAddonStatus| (&before.hook, &before.stages) != (&status.hook, &status.stages);
    let is_to_judge = addon
        .status
        .as_ref()
        .is_none_or(|before| has_moved(before) || (waits_for_addons && !is_judged(before)));
    let limits = verdicts.iter().filter_map(|(name, kind, verdict)| {
        let of = status.addons.iter().find(|of| of.name == name.as_str())?;
        facts.snapshot.moment(kind).next_limit(verdict, of.since.as_ref()?.0)
    });
    let next = limits.chain(delivery_limit(&status.conditions, facts.snapshot.now)).min();
    let verdicts = verdicts.into_iter().map(|(_, kind, verdict)| (kind, verdict)).collect();
    Outcome { status, verdicts, holds, next, is_committer_new, is_to_judge }
}

/// Whether something waits until addons are applied: another addon, or the next stage.
fn waits_for_others(facts: &Facts) -> bool {
    let Target::Available(available) = &facts.target else { return false };
    let mut held = available.plan.held().iter();
    let is_held = held.any(|held| held.hold.reason == Reason::WaitingForDependency);
    is_held || available.course.hook().is_some()
}

/// Returns the reason why nothing of the release is delivered, if any.
fn release_hold(release: &Report) -> Option<Reason> {
    Reason::of(&release.reason).filter(|_| release.status != ConditionStatus::True)
}

/// Returns the facts about a paused Cluster, in which nothing is checked.
fn paused(facts: &Facts) -> ClusterFacts {
    let addon = &facts.snapshot.addon;
    let hold = gate::cluster_alone(facts.cluster);
    let release = addon.status.as_ref().and_then(|status| status.release.as_ref());
    let desired = release.and_then(|release| release.desired.clone());
    let unchecked = |before: &AddonStatus| Some(kept(before.name.parse().ok()?, before, None));
    ClusterFacts {
        generation: addon.metadata.generation.unwrap_or_default(),
        requested_at: None,
        desired: desired.unwrap_or_default(),
        namespace: release.and_then(|release| release.desired_namespace.clone()),
        release: hold.as_ref().map_or_else(Report::not_yet_reported, |hold| {
            Report::new(ConditionStatus::Unknown, hold.reason.as_str(), &hold.message)
        }),
        hold,
        of_desired: false,
        pruned: None,
        upgrade: None,
        committed_by: committed_by(addon),
        addons: facts
            .snapshot
            .addons_before()
            .filter_map(|before| {
                let unchecked = unchecked(before)?;
                Some(AddonFacts { observed: before.observed.clone(), ..unchecked })
            })
            .collect(),
        delivered: false,
        stages: None,
        inputs: None,
    }
}

/// Returns an addon from the status, with the verdict on its present object. The status keeps the removal of a file, which
/// the budget has counted.
fn kept(name: AddonName, before: &AddonStatus, judged: Option<(Verdict, AddonState)>) -> AddonFacts {
    let (verdict, observed) = judged.unzip();
    let reason = before.reason.as_deref().and_then(Reason::of);
    let message = before.message.clone().unwrap_or_default();
    AddonFacts {
        name,
        chart: known_as(before),
        source: before.source.clone(),
        hold: reason.filter(|reason| *reason == Reason::FileRemoved).map(|reason| Hold { reason, message }),
        object: before.object.clone(),
        expected: before.expected.clone(),
        observed,
        verdict,
        revision_before: before.revision_before.clone(),
        values_digest: before.values_digest.clone(),
        note: None,
    }
}

/// Returns the chart of an addon in the status.
fn known_as(before: &AddonStatus) -> Option<KnownAs> {
    let (name, version) = before.chart.clone().zip(before.version.clone())?;
    Some(KnownAs { name, version, app_version: before.app_version.clone() })
}

/// The snapshot, and the objects after the writes.
struct View<'a> {
    snapshot: &'a Snapshot,
    written: &'a [Arc<FluxObject>],
}

impl View<'_> {
    /// Returns the facts about a Cluster whose release cannot be delivered: its addons stay, and are checked.
    fn unavailable(&self, facts: &Facts, desired: &str, report: &Report) -> ClusterFacts {
        let addon = &self.snapshot.addon;
        ClusterFacts {
            generation: addon.metadata.generation.unwrap_or_default(),
            requested_at: requested_at(addon),
            hold: gate::cluster_alone(facts.cluster),
            desired: desired.to_owned(),
            namespace: facts.cluster.class().map(|class| class.namespace),
            release: report.clone(),
            of_desired: false,
            pruned: None,
            upgrade: None,
            committed_by: committed_by(addon),
            addons: self.all_kept(),
            delivered: false,
            stages: None,
            inputs: None,
        }
    }

    fn available(&self, available: &Available, receipts: &Receipts, pruning: &Pruning) -> ClusterFacts {
        let addon = &self.snapshot.addon;
        let held = available.hold().cloned();
        let is_rendered = held.is_none();
        let unreachable = available.inputs.cluster.unreachable().map(gate::unreachable);
        // A Cluster that is held as a whole keeps the release that was delivered last.
        let has_another = !is_rendered && has_release(addon);
        let mut addons = if has_another { self.all_kept() } else { self.of_release(available, receipts) };
        self.add_left(pruning, has_another, &mut addons);
        let stages = record(available, pruning);
        ClusterFacts {
            generation: addon.metadata.generation.unwrap_or_default(),
            requested_at: requested_at(addon),
            hold: held.or(unreachable),
            desired: available.release.name.to_string(),
            namespace: Some(available.stack.namespace.to_string()),
            release: available.ready.clone(),
            addons,
            of_desired: !has_another,
            delivered: receipts.is_delivered(available) && pruning.candidates.is_empty(),
            pruned: pruning.pruned.clone(),
            upgrade: None,
            committed_by: receipts.committed_by.clone(),
            stages: is_rendered.then_some(stages),
            inputs: is_rendered.then(|| rendered_inputs(available)),
        }
    }

    /// Returns the present state of a release's addons.
    fn of_release(&self, available: &Available, receipts: &Receipts) -> Vec<AddonFacts> {
        available.addons().map(|of| self.addon(of, available, receipts)).collect()
    }

    fn addon(&self, of: &Addon, available: &Available, receipts: &Receipts) -> AddonFacts {
        let planned = available.planned().find(|object| addon_of(object) == of.name.as_str());
        let before = self.snapshot.addons_before().find(|before| before.name == of.name.as_str());
        let object = planned
            .map(|object| AddonObject { kind: object.id.kind.clone(), name: object.id.name.clone() })
            .or_else(|| before?.object.clone());
        let hold = receipts.hold(of, &available.plan);
        // A held addon is compared with its last delivery.
        let is_kept = hold.is_some() && !receipts.is_on_its_way(&of.name) && before.is_some();
        let is_kept = is_kept || receipts.suspended.contains(of.name.as_str());
        if let Some(object) = object.as_ref().filter(|_| is_kept) {
            return AddonFacts { hold, ..self.as_it_is(&of.name, object) };
        }
        let spec_digest = receipts.expected.get(of.name.as_str()).map(ToString::to_string);
        let expected = spec_digest.map(|digest| AddonState {
            spec_digest: Some(digest),
            version: available.versions.get(&of.name).cloned(),
        });
        let revision_before = planned.and_then(|planned| self.revision_before(planned, before));
        let fetched = available.versions.get(&of.name).map(String::as_str);
        let values = planned.and_then(|object| plan::rendered_values(&object.value));
        let judged = self.judge(object.as_ref(), expected.as_ref(), before, revision_before.as_ref());
        let wait = receipts.repairs.get(of.name.as_str());
        let (verdict, observed) = judged.map(|(verdict, state)| (verdict.waiting_for(wait), state)).unzip();
        let is_deployed = matches!(verdict, Some(Verdict::Applied | Verdict::Drifted { .. }));
        // An object that does not exist has no verdict.
        let waits = wait.filter(|_| verdict.is_none());
        let waits = waits.map(|wait| Hold { reason: Reason::Foreign, message: wait.to_string() });
        AddonFacts {
            name: of.name.clone(),
            chart: of.chart().map(Chart::known_as),
            source: of.component().map(|component| component_source(component, fetched)),
            hold: hold.or(waits),
            object,
            expected,
            observed,
            verdict,
            revision_before: revision_before.filter(|_| !is_deployed),
            values_digest: values.map(|values| Digest::of_bytes(values.to_string().as_bytes()).short()),
            note: notes(available, of, planned),
        }
    }

    /// Returns the note of the revision of an addon's Helm release that does not have the planned content, if only its number
    /// shows that.
    fn revision_before(
        &self,
        planned: &PlannedObject,
        before: Option<&AddonStatus>,
    ) -> Option<RevisionBefore> {
        let noted = before.and_then(|before| before.revision_before.as_ref());
        let (kind, name) = (&planned.id.kind, &planned.id.name);
        let present = find(self.written, kind, name).or_else(|| self.snapshot.get(kind, name));
        revision_before(self.snapshot, planned, present.map(|present| &**present), noted)
    }

    /// Returns the present state of the addons that were delivered last.
    fn all_kept(&self) -> Vec<AddonFacts> {
        // The operator did not write an entry without the name of an addon.
        let kept = |before: &AddonStatus| Some(self.kept(before.name.parse().ok()?, before));
        self.snapshot.addons_before().filter_map(kept).collect()
    }

    /// Adds the state of remaining objects of removed addons. It replaces the state of addons that have another form now.
    /// A Cluster that keeps the release that was delivered last reports no delay.
    fn add_left(&self, pruning: &Pruning, keeps_release: bool, addons: &mut Vec<AddonFacts>) {
        for left in &pruning.candidates {
            let before = self.as_it_is(&left.addon, &left.object.reference());
            let hold = left.report(&self.snapshot.addon).filter(|_| left.hold.is_some() || !keeps_release);
            // The old form waits for the new one, which may be held.
            let new = addons.iter().find(|known| known.name == left.addon).and_then(|new| new.hold.clone());
            let hold = hold.or(new);
            addons.retain(|known| known.name != left.addon);
            addons.push(AddonFacts { hold, ..before });
        }
    }

    /// Returns the present state of an addon that is not planned, from the last status and its object.
    fn as_it_is(&self, name: &AddonName, object: &AddonObject) -> AddonFacts {
        let is_it =
            |before: &&AddonStatus| before.name == name.as_str() && before.object.as_ref() == Some(object);
        if let Some(before) = self.snapshot.addons_before().find(is_it) {
            return self.kept(name.clone(), before);
        }
        let object = Some(object.clone());
        let bare = AddonStatus { name: name.to_string(), object, ..AddonStatus::default() };
        self.kept(name.clone(), &bare)
    }

    fn kept(&self, name: AddonName, before: &AddonStatus) -> AddonFacts {
        let revision = before.revision_before.as_ref();
        let object = before.object.as_ref();
        let expected =
            object.and_then(|object| self.found(object)).map(|found| recorded_state(before, found));
        let judged = self.judge(object, expected.flatten().as_ref(), Some(before), revision);
        kept(name, before, judged)
    }

    /// Returns the present state of an object.
    fn found(&self, object: &AddonObject) -> Option<&Arc<FluxObject>> {
        named(self.written, object).or_else(|| named(&self.snapshot.objects, object))
    }

    /// Returns the verdict on an addon's object, and the observed state; `None` if nothing is expected of the object yet.
    fn judge(
        &self,
        object: Option<&AddonObject>,
        expected: Option<&AddonState>,
        before: Option<&AddonStatus>,
        noted: Option<&RevisionBefore>,
    ) -> Option<(Verdict, AddonState)> {
        let object = object?;
        let found = self.found(object)?;
        let verdict = judge_expected(found, expected?, (before, noted), &self.snapshot.moment(&object.kind))?;
        Some((verdict, AddonState { spec_digest: None, version: deployed_version(found) }))
    }
}

/// Returns the verdict on the object of an addon by what its status says about it; `None` before its first delivery.
#[must_use]
pub fn judge_recorded(addon: &AddonStatus, found: &FluxObject, moment: &Moment) -> Option<Verdict> {
    let expected = recorded_state(addon, found)?;
    judge_expected(found, &expected, (Some(addon), addon.revision_before.as_ref()), moment)
}

/// Returns the state that the status of an addon expects. Flux may have followed a branch or a range since: any version of such
/// content counts.
fn recorded_state(addon: &AddonStatus, found: &FluxObject) -> Option<AddonState> {
    let expected = addon.expected.clone()?;
    let follows = addon.source.as_ref().is_some_and(|source| source.follows.is_some());
    let version = if follows { deployed_version(found) } else { None };
    Some(AddonState { version: version.or(expected.version), ..expected })
}

/// Returns the version of the chart that Helm has deployed, or the revision of the manifests that Flux has applied.
fn deployed_version(found: &FluxObject) -> Option<String> {
    let deployed = found.status.helm_release().filter(|latest| latest.status == "deployed");
    let deployed = deployed.map(|latest| latest.chart_version.as_str());
    deployed.or(found.status.applied_revision()).map(str::to_owned)
}

/// Returns the verdict on the object of an addon that is to have this state. `before` is its status, and `noted` the revision
/// from before its content was changed.
fn judge_expected(
    found: &FluxObject,
    expected: &AddonState,
    (before, noted): (Option<&AddonStatus>, Option<&RevisionBefore>),
    moment: &Moment,
) -> Option<Verdict> {
    let since = expected_since(before, expected.spec_digest.as_deref()?, moment.now);
    let revision_before = other_revision(noted, found);
    let expected = Expected { revision_before, ..Expected::kept(expected, since)? };
    Some(judge(found, &expected, moment))
}
