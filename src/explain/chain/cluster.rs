//! The chain of a Cluster, or of one of its addons.

use super::others::names_addon;
use super::{Chain, since};
use crate::api::cluster_addon::AddonStatus;
use crate::api::{ClusterAddon, ConditionType, Reason};
use crate::explain::advice::{Action, commands, next};
use crate::explain::cause::Component;
use crate::explain::flux::{catalog, is_true};
use crate::explain::next::Place;
use crate::explain::obstacle::{Obstacle, obstacle};
use crate::explain::snapshot::{Member, Snapshot, mirrored, not_read, ready};
use crate::explain::step::{Role, Step};
use crate::explain::tree::{absent_release, addon_report, titled};
use crate::explain::upgrade::{Upgrade, upgrade};
use crate::explain::values::places;
use crate::foreign::flux::FluxKind;
use crate::names::Key;
use crate::rollup::{ConditionStatus, Report};

/// The conditions of a `ClusterAddon` that all others wait for, in their order.
const GATES: [ConditionType; 2] = [ConditionType::ClusterAvailable, ConditionType::ReleaseReady];

/// The other conditions of a `ClusterAddon`. Each sums up the addons: one may be delivered while another is held.
const OF_ADDONS: [ConditionType; 3] =
    [ConditionType::ValuesRendered, ConditionType::Delivered, ConditionType::AddonsReady];

/// Builds the chain of a Cluster, or of one of its addons. `None` if there is no such addon; the caller lists the
/// names.
#[must_use]
pub fn cluster(snapshot: &Snapshot, key: &Key, member: &Member, only: Option<&str>) -> Option<Chain> {
    let mut chain = new(snapshot, key, member, only);
    let Some(addon) = &member.addon else {
        chain.obstacle(key, obstacle(snapshot, key, member));
        return only.is_none().then(|| chain.ended(false, None));
    };
    let conditions = addon.status.as_ref().map(|status| &status.conditions);
    let since = since(conditions, ConditionType::Ready);
    let addons = addon.status.iter().flat_map(|status| &status.addons);
    let named: Vec<_> = addons.filter(|addon| only.is_none_or(|only| addon.name == only)).collect();
    if only.is_some() && named.is_empty() {
        return None;
    }
    if let Some(deletion) = member.deletion_report() {
        chain.add(0, Role::Gate, format!("Cluster {key}"), &deletion);
        return Some(chain.ended(false, member.deleting_since()));
    }
    chain.suspended(snapshot, key, member);
    let outdated = member.outdated(key);
    if let Some(outdated) = &outdated {
        chain.add(0, Role::Gate, "ClusterAddon".to_owned(), outdated);
    }
    let conditions_are_true = chain.conditions(snapshot, key, member, addon, only);
    let shown = named.iter().filter(|addon| only.is_some() || !is_true(&addon_report(addon)));
    for addons in by_cause(shown.copied()) {
        let role = addons.first().map_or(Role::Part, |first| role_of(addon, &addon_report(first)));
        chain.addon((usize::from(only.is_none()), role), snapshot, &key.namespace, &addons);
    }
    let is_ready = match only {
        Some(_) => conditions_are_true && named.iter().all(|addon| is_true(&addon_report(addon))),
        None => is_true(&ready(&addon.metadata, conditions)),
    };
    // An object that a stored status does not know yet: it was deleted, or the operator is not running.
    let has_issue = chain.steps.iter().any(|step| step.depth <= 1 && step.status == ConditionStatus::False);
    Some(chain.ended(is_ready && outdated.is_none() && !has_issue, since))
}

fn new(snapshot: &Snapshot, key: &Key, member: &Member, only: Option<&str>) -> Chain {
    let addon = only.map(|addon| format!(", addon {addon}")).unwrap_or_default();
    let release = member.release(key);
    let stack = release.as_ref().and_then(|(namespace, release)| snapshot.stack_of(namespace, release));
    let place = Place {
        cluster: Some(key.clone()),
        stack: stack.map(Key::of),
        release: release.map(|(namespace, release)| Key::new(&namespace, &release.to_string())),
        ..Place::default()
    };
    Chain::new(format!("Cluster {key}{addon}"), place)
}

/// Returns the names of a cluster's addons.
#[must_use]
pub fn addons(member: &Member) -> Vec<&str> {
    let status = member.addon.iter().filter_map(|addon| addon.status.as_ref());
    status.flat_map(|status| &status.addons).map(|addon| addon.name.as_str()).collect()
}

impl Chain {
    /// Adds the reason why a cluster has no `ClusterAddon`, and the advice if there is better one than for the reason.
    fn obstacle(&mut self, key: &Key, why: Obstacle) {
        let Obstacle { report, advice, source } = why;
        self.add(0, Role::Part, format!("Cluster {key}"), &report);
        if let Some((stack, report)) = source {
            let what = format!("ClusterStack {stack} SourceReady");
            let step = self.step(1, Role::Part, what, &report);
            self.steps.push(Step { component: Some(Component::Git), ..step });
        }
        let known = Reason::of(&report.reason);
        self.action = advice.map(|text| Action {
            about: None,
            cause: known.map(Reason::as_str),
            text,
            commands: known.map(|known| next(&self.place, commands(known))).unwrap_or_default(),
        });
    }

    /// Adds what is suspended. This does not make already delivered objects unready.
    fn suspended(&mut self, snapshot: &Snapshot, of: &Key, member: &Member) {
        let release = member.release(of);
        let stack = release.and_then(|(namespace, release)| snapshot.stack_of(&namespace, &release));
        let stack = stack.filter(|stack| stack.spec.suspend).map(Key::of);
        let addon = member.addon.as_ref().filter(|addon| addon.spec.suspend);
        let named = |kind: &str, Key { namespace, name }: &Key| format!("{kind} {name} -n {namespace}");
        let suspended = [
            stack.map(|key| (format!("ClusterStack {key}"), named("clusterstack", &key))),
            addon.map(|_| ("ClusterAddon".to_owned(), named("cluster", of))),
        ];
        for (what, named) in suspended.into_iter().flatten() {
            let text = "stackflux changes nothing in this cluster until it is resumed";
            let report = Report::new(ConditionStatus::Unknown, Reason::Suspended.as_str(), text);
            let mut step = self.step(0, Role::Part, format!("{what} spec.suspend"), &report);
            step.place.suspended = Some(named);
            self.steps.push(step);
        }
    }

    /// Adds the conditions of the cluster's addons, and below that of the release what the release waits for. If one
    /// addon is named, adds only the conditions about it. Returns whether all of them are true.
    fn conditions(
        &mut self,
        snapshot: &Snapshot,
        key: &Key,
        member: &Member,
        addon: &ClusterAddon,
        only: Option<&str>,
    ) -> bool {
        let conditions = addon.status.as_ref().map(|status| &status.conditions);
        let mut all_true = true;
        for kind in GATES.into_iter().chain(OF_ADDONS) {
            let report = mirrored(&addon.metadata, conditions, kind);
            let role = if GATES.contains(&kind) { Role::Gate } else { role_of(addon, &report) };
            if role != Role::Gate && only.is_some_and(|name| !is_about(kind, &report, name)) {
                continue;
            }
            all_true &= is_true(&report);
            self.add(0, role, kind.to_string(), &report);
            if kind == ConditionType::ReleaseReady {
                if !is_true(&report) {
                    self.release_of(snapshot, key, member);
                }
                self.upgrade(addon);
            }
        }
        all_true
    }

    /// Adds the upgrade to another Kubernetes version. The advice is about an addon that it waits for.
    fn upgrade(&mut self, addon: &ClusterAddon) {
        let Some(Upgrade { versions, report, .. }) = upgrade(addon) else { return };
        let role = if waits_for_addons(&report) { Role::Detail } else { Role::Part };
        self.add(0, role, format!("UpgradeGate {versions}").trim_end().to_owned(), &report);
    }

    fn release_of(&mut self, snapshot: &Snapshot, key: &Key, member: &Member) {
        let Some((namespace, name)) = member.release(key) else { return };
        if let Some(release) = snapshot.release(&namespace, &name) {
            return self.release(snapshot, 1, release);
        }
        let absent =
            if snapshot.knows(&namespace) { absent_release(snapshot, &namespace, &name) } else { not_read() };
        self.add(1, Role::Part, format!("ClusterStackRelease {namespace}/{name}"), &absent);
        if let Some(source) = snapshot.stack_of(&namespace, &name).and_then(catalog) {
            self.flux(2, snapshot, FluxKind::GitRepository, &source);
        }
    }

    /// Adds addons with the same cause; the first one represents all.
    fn addon(
        &mut self,
        (depth, role): (usize, Role),
        snapshot: &Snapshot,
        namespace: &str,
        addons: &[&AddonStatus],
    ) {
        let Some(addon) = addons.first() else { return };
        let names: Vec<_> = addons.iter().map(|addon| titled(addon)).collect();
        let what = if addons.len() == 1 { "addon" } else { "addons" };
        let object = addon
            .object
            .as_ref()
            .and_then(|object| Some((FluxKind::of(&object.kind)?, Key::new(namespace, &object.name))));
        let what = format!("{what} {}", names.join(", "));
        let mut step = self.step(depth, role, what, &addon_report(addon));
        // Flux's reason is more specific; that of stackflux has the advice.
        step.known = step.known.or(addon.phase.as_deref().and_then(Reason::of));
        step.component = step.component.or(object.as_ref().map(|(kind, _)| Component::from(*kind)));
        step.place.flux.clone_from(&object);
        step.place.addon = Some(addon.name.clone());
        let stack = self.place.stack.as_ref().and_then(|key| snapshot.stacks.get(key));
        let requested = self.place.cluster.as_ref().and_then(|key| snapshot.overrides.get(key));
        step.values = addons.iter().flat_map(|addon| places(stack, requested, &addon.name)).collect();
        self.steps.push(step);
        if let Some((kind, key)) = object {
            self.flux(depth + 1, snapshot, kind, &key);
        }
    }
}

/// Returns the role of what reports on addons: what waits for the upgrade is no cause while the upgrade waits for addons.
fn role_of(addon: &ClusterAddon, report: &Report) -> Role {
    let is_gated = || upgrade(addon).is_some_and(|Upgrade { report, .. }| waits_for_addons(&report));
    if report.reason == Reason::WaitingForUpgrade.as_str() && is_gated() { Role::Detail } else { Role::Part }
}

/// Whether an upgrade waits for addons.
fn waits_for_addons(gate: &Report) -> bool {
    gate.reason == Reason::WaitingForAddons.as_str()
}

/// Groups addons with the same report, in their order, so that each cause is reported once.
fn by_cause<'a>(addons: impl Iterator<Item = &'a AddonStatus>) -> Vec<Vec<&'a AddonStatus>> {
    let cause = |addon: &'a AddonStatus| (&addon.phase, &addon.reason, &addon.message);
    let mut groups: Vec<Vec<&AddonStatus>> = Vec::new();
    for addon in addons {
        let is_same = |group: &&mut Vec<&'a AddonStatus>| {
            group.first().is_some_and(|first| cause(first) == cause(addon))
        };
        match groups.iter_mut().find(is_same).filter(|_| addon.message.is_some()) {
            Some(group) => group.push(addon),
            None => groups.push(vec![addon]),
        }
    }
    groups
}

/// Whether a condition that sums up addons is about this one: it is not true, and a part of its message begins with the
/// addon's name. `rollup::summary`, which writes the message, leaves out names if there are many, but the step of a
/// held addon has its own report.
fn is_about(kind: ConditionType, report: &Report, addon: &str) -> bool {
    kind != ConditionType::AddonsReady && !is_true(report) && names_addon(&report.message, addon)
}
