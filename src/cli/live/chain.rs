//! The chain of conditions and objects that a cluster or an addon waits for, from the Cluster down to what Flux
//! reports.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use serde::Serialize;

use super::flux::{catalog, is_true};
use super::obstacle::{Obstacle, obstacle};
use super::snapshot::{Member, Snapshot, mirrored, not_read, not_there, ready};
use super::tree::{addon_report, titled};
use super::upgrade::{Upgrade, upgrade};
use crate::api::cluster_addon::AddonStatus;
use crate::api::{ClusterAddon, ClusterStackRelease, ConditionType, Reason};
use crate::foreign::flux::FluxKind;
use crate::names::Key;
use crate::rollup::{ConditionStatus, Report};

/// The conditions of a `ClusterAddon` that all others wait for, in their order.
const GATES: [ConditionType; 2] = [ConditionType::ClusterAvailable, ConditionType::ReleaseReady];

/// The other conditions of a `ClusterAddon`. Each sums up the addons: one may be delivered while another is held.
const OF_ADDONS: [ConditionType; 3] =
    [ConditionType::ValuesRendered, ConditionType::Delivered, ConditionType::AddonsReady];

/// The conditions of a `ClusterStackRelease`, in their order.
const OF_RELEASE: [ConditionType; 5] = [
    ConditionType::ReleaseValid,
    ConditionType::SourcesReady,
    ConditionType::ProviderReady,
    ConditionType::NodeImagesReady,
    ConditionType::ClusterClassReady,
];

/// The explanation of a state.
#[derive(Clone, Debug, Serialize)]
pub(in crate::cli) struct Chain {
    /// `Cluster <namespace>/<name>`, with the addon if one was named.
    about: String,
    ready: bool,
    steps: Vec<Step>,
    #[serde(skip_serializing_if = "Option::is_none")]
    action: Option<Action>,
}

/// One object or condition of the chain.
#[derive(Clone, Debug, Serialize)]
struct Step {
    /// The level below the Cluster.
    #[serde(skip)]
    depth: usize,
    what: String,
    status: ConditionStatus,
    reason: String,
    message: String,
    #[serde(skip)]
    role: Role,
    /// The reason that the advice is based on, if it is a known one.
    #[serde(skip)]
    known: Option<Reason>,
}

/// The relation of a step to those beside it, the most blocking one first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Role {
    /// All later steps wait for this one.
    Gate,
    /// The step proceeds independently of the others.
    Part,
    /// The step adds details to the one above it.
    Detail,
}

/// The advice on what to do.
#[derive(Clone, Debug, Serialize)]
struct Action {
    /// The step that the advice is about; `None` if there is only one.
    #[serde(skip_serializing_if = "Option::is_none")]
    about: Option<String>,
    text: String,
    /// The section of the documentation.
    #[serde(skip_serializing_if = "Option::is_none")]
    reference: Option<String>,
}

/// Builds the chain of a cluster, or of one of its addons. `None` if there is no such addon; the caller lists the
/// names.
pub(in crate::cli) fn chain(
    snapshot: &Snapshot,
    key: &Key,
    member: &Member,
    only: Option<&str>,
) -> Option<Chain> {
    let mut chain = Chain::of(key, only);
    let Some(addon) = &member.addon else {
        chain.obstacle(key, obstacle(snapshot, key, member));
        return only.is_none().then_some(chain);
    };
    let status = addon.status.as_ref();
    let addons: Vec<_> = status.iter().flat_map(|status| &status.addons).collect();
    let named: Vec<_> =
        addons.into_iter().filter(|addon| only.is_none_or(|only| addon.name == only)).collect();
    if only.is_some() && named.is_empty() {
        return None;
    }
    if let Some(deletion) = member.deletion_report() {
        chain.add(0, Role::Gate, format!("Cluster {key}"), &deletion);
        chain.action = Some(chain.advice());
        return Some(chain);
    }
    chain.suspended(snapshot, key, member);
    let outdated = member.outdated(key);
    if let Some(outdated) = &outdated {
        chain.add(0, Role::Gate, "ClusterAddon".to_owned(), outdated);
    }
    let conditions_are_true = chain.cluster(snapshot, key, member, addon, only);
    let shown = named.iter().filter(|addon| only.is_some() || !is_true(&addon_report(addon)));
    for addons in by_cause(shown.copied()) {
        chain.addon(usize::from(only.is_none()), snapshot, &key.namespace, &addons);
    }
    chain.ready = match only {
        Some(_) => conditions_are_true && named.iter().all(|addon| is_true(&addon_report(addon))),
        None => is_true(&ready(&addon.metadata, status.map(|status| &status.conditions))),
    };
    chain.ready &= outdated.is_none();
    // An object that a stored status does not know yet: it was deleted, or the operator is not running.
    chain.ready &= chain.steps.iter().all(|step| step.depth > 1 || step.status != ConditionStatus::False);
    if !chain.ready {
        chain.action = Some(chain.advice());
    }
    Some(chain)
}

/// Returns the names of a cluster's addons.
pub(in crate::cli) fn addons(member: &Member) -> Vec<&str> {
    let status = member.addon.iter().filter_map(|addon| addon.status.as_ref());
    status.flat_map(|status| &status.addons).map(|addon| addon.name.as_str()).collect()
}

impl Chain {
    fn of(key: &Key, only: Option<&str>) -> Self {
        let addon = only.map(|addon| format!(", addon {addon}")).unwrap_or_default();
        let about = format!("Cluster {key}{addon}");
        Self { about, ready: false, steps: Vec::new(), action: None }
    }

    fn add(&mut self, depth: usize, role: Role, what: String, report: &Report) {
        let Report { status, reason, message } = report.clone();
        let known = Reason::of(&reason);
        self.steps.push(Step { depth, what, status, reason, message, role, known });
    }

    /// Adds a step with a report of Flux. Its reason is not used for advice: the step of the delivered object is better
    /// suited.
    fn add_flux(&mut self, depth: usize, role: Role, what: String, report: &Report) {
        self.add(depth, role, what, report);
        if let Some(step) = self.steps.last_mut() {
            step.known = None;
        }
    }

    /// Adds the reason why a cluster has no `ClusterAddon`, and the advice.
    fn obstacle(&mut self, key: &Key, why: Obstacle) {
        let Obstacle { report, advice, source } = why;
        self.add(0, Role::Part, format!("Cluster {key}"), &report);
        if let Some((stack, report)) = source {
            self.add(1, Role::Part, format!("ClusterStack {stack} SourceReady"), &report);
        }
        self.action = Some(match advice {
            Some(text) => Action { about: None, text, reference: Reason::of(&report.reason).map(reference) },
            None => self.advice(),
        });
    }

    /// Adds what is suspended. This does not make already delivered objects unready.
    fn suspended(&mut self, snapshot: &Snapshot, of: &Key, member: &Member) {
        let release = member.release(of);
        let stack = release.and_then(|(namespace, release)| snapshot.stack_of(&namespace, &release));
        let stack = stack.filter(|stack| stack.spec.suspend).map(Key::of);
        let addon = member.addon.as_ref().filter(|addon| addon.spec.suspend);
        let suspended =
            [stack.map(|key| format!("ClusterStack {key}")), addon.map(|_| "ClusterAddon".to_owned())];
        for what in suspended.into_iter().flatten() {
            let text = "stackflux changes nothing in this cluster until it is resumed";
            let report = Report::new(ConditionStatus::Unknown, Reason::Suspended.as_str(), text);
            self.add(0, Role::Part, format!("{what} spec.suspend"), &report);
        }
    }

    /// Adds the conditions of the cluster's addons, and below that of the release what the release waits for. If one
    /// addon is named, adds only the conditions about it. Returns whether all of them are true.
    fn cluster(
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
            let role = if GATES.contains(&kind) { Role::Gate } else { Role::Part };
            if role == Role::Part && only.is_some_and(|name| !is_about(kind, &report, name)) {
                continue;
            }
            all_true &= is_true(&report);
            self.add(0, role, kind.to_string(), &report);
            if kind == ConditionType::ReleaseReady {
                if !is_true(&report) {
                    self.release(snapshot, key, member);
                }
                self.upgrade(addon);
            }
        }
        all_true
    }

    /// Adds the upgrade to another Kubernetes version. The advice is about an addon that it waits for.
    fn upgrade(&mut self, addon: &ClusterAddon) {
        let Some(Upgrade { versions, report, .. }) = upgrade(addon) else { return };
        let waits = report.reason == Reason::WaitingForAddons.as_str();
        let role = if waits { Role::Detail } else { Role::Part };
        self.add(0, role, format!("UpgradeGate {versions}").trim_end().to_owned(), &report);
    }

    fn release(&mut self, snapshot: &Snapshot, key: &Key, member: &Member) {
        let Some((namespace, name)) = member.release(key) else { return };
        let Some(release) = snapshot.release(&namespace, &name) else {
            let absent = if snapshot.knows(&namespace) { not_there() } else { not_read() };
            self.add(1, Role::Part, format!("ClusterStackRelease {namespace}/{name}"), &absent);
            if let Some(source) = snapshot.stack_of(&namespace, &name).and_then(catalog) {
                self.flux(2, snapshot, FluxKind::GitRepository, &source);
            }
            return;
        };
        self.conditions(&namespace, release);
        for object in release.status.iter().flat_map(|status| &status.objects) {
            let Some(kind) = FluxKind::of(&object.kind) else { continue };
            let key = Key::new(&object.namespace, &object.name);
            if !is_true(&snapshot.flux_report(kind, &key)) {
                self.flux(2, snapshot, kind, &key);
            }
        }
    }

    fn conditions(&mut self, namespace: &str, release: &ClusterStackRelease) {
        let name = release.metadata.name.as_deref().unwrap_or_default();
        let conditions = release.status.as_ref().map(|status| &status.conditions);
        let mirrored_of = |kind: ConditionType| {
            has(conditions, kind).then(|| mirrored(&release.metadata, conditions, kind))
        };
        for (kind, report) in OF_RELEASE.iter().filter_map(|kind| Some((kind, mirrored_of(*kind)?))) {
            if !is_true(&report) {
                let what = format!("ClusterStackRelease {namespace}/{name} {kind}");
                self.add(1, Role::Part, what, &report);
            }
        }
    }

    /// Adds addons with the same cause; the first one represents all.
    fn addon(&mut self, depth: usize, snapshot: &Snapshot, namespace: &str, addons: &[&AddonStatus]) {
        let Some(addon) = addons.first() else { return };
        let names: Vec<_> = addons.iter().map(|addon| titled(addon)).collect();
        let what = if addons.len() == 1 { "addon" } else { "addons" };
        self.add(depth, Role::Part, format!("{what} {}", names.join(", ")), &addon_report(addon));
        // Flux's reason is more specific; that of stackflux has the advice.
        if let Some(step) = self.steps.last_mut() {
            step.known = step.known.or(addon.phase.as_deref().and_then(Reason::of));
        }
        let Some(object) = &addon.object else { return };
        if let Some(kind) = FluxKind::of(&object.kind) {
            self.flux(depth + 1, snapshot, kind, &Key::new(namespace, &object.name));
        }
    }

    /// Adds a Flux object, its causes, and its source.
    fn flux(&mut self, depth: usize, snapshot: &Snapshot, kind: FluxKind, key: &Key) {
        let (what, report) = (format!("{kind} {key}"), snapshot.flux_report(kind, key));
        self.add_flux(depth, Role::Part, what.clone(), &report);
        let Some(object) = snapshot.flux(kind, key) else { return };
        if !is_true(&report) {
            for (condition, cause) in object.causes() {
                if cause.message != report.message {
                    self.add_flux(depth + 1, Role::Detail, format!("{what} {condition}"), &cause);
                }
            }
        }
        let Some((kind, key)) = object.source() else { return };
        let source = self.steps.len();
        self.flux(depth + 1, snapshot, kind, &key);
        let report = snapshot.flux(kind, &key).map(|_| snapshot.flux_report(kind, &key));
        if let (Some(step), Some(report)) = (self.steps.get_mut(source), report) {
            let failed = report.status == ConditionStatus::False;
            step.known = Reason::of(&report.reason).or(failed.then_some(Reason::Failed));
        }
    }

    /// Returns the steps from the blocking condition down to its cause.
    fn blocking(&self) -> Vec<&Step> {
        let (mut path, mut steps) = (Vec::new(), self.steps.as_slice());
        while let Some((step, below)) = worst(steps) {
            path.push(step);
            steps = below;
        }
        path
    }

    /// Returns the advice about the last blocking step whose reason is known. If no condition is an issue yet, the advice is
    /// about the object that is one.
    fn advice(&self) -> Action {
        let path = self.blocking();
        // The reason `Several` has no advice of its own.
        let says = |step: &&Step| Some((step.what.clone(), step.known.filter(|it| *it != Reason::Several)?));
        let issue = || self.steps.iter().find(|step| step.status == ConditionStatus::False);
        let (about, reason) = match (path.iter().rev().find_map(says), path.last()) {
            (Some((what, reason)), _) => (Some(what), reason),
            (None, Some(last)) => (Some(last.what.clone()), Reason::Failed),
            (None, None) => issue().map_or((None, Reason::Failed), |step| {
                (Some(step.what.clone()), Reason::of(&step.reason).unwrap_or(Reason::Failed))
            }),
        };
        Action { about, text: reason.action().to_owned(), reference: Some(reference(reason)) }
    }

    /// Formats the chain as sentences.
    pub(in crate::cli) fn text(&self) -> String {
        let sum = if self.ready { "is ready" } else { "is not ready" };
        let mut text = format!("{} {sum}.\n\n", self.about);
        for step in &self.steps {
            text.push_str(&step.text());
        }
        if let Some(Action { about, text: action, reference }) = &self.action {
            let about = about.as_ref().map(|about| format!(" about {about}")).unwrap_or_default();
            let reference = reference.as_ref().map(|reference| format!(" ({reference})")).unwrap_or_default();
            text.extend(["\nWhat to do", &about, ": ", action, &reference, "\n"]);
        }
        text
    }

    pub(in crate::cli) fn is_ready(&self) -> bool {
        self.ready
    }
}

impl Step {
    fn text(&self) -> String {
        let (glyph, is) = match self.status {
            ConditionStatus::True => ('✔', "is true"),
            ConditionStatus::False => ('✗', "is false"),
            ConditionStatus::Unknown => ('◎', "is not known yet"),
        };
        let Self { depth, what, reason, message, .. } = self;
        let colon = if message.is_empty() { "" } else { ": " };
        let indent = "  ".repeat(*depth);
        let subject =
            if what.contains(' ') { format!("{what}: {reason}") } else { format!("{what} {is} ({reason})") };
        format!("{indent}{glyph} {subject}{colon}{}\n", crate::release::finding::Printable(message))
    }
}

fn has(conditions: Option<&Vec<Condition>>, kind: ConditionType) -> bool {
    conditions.into_iter().flatten().any(|condition| condition.type_ == kind.as_str())
}

/// Returns the most blocking one of the steps beside each other, and the steps below it: the first gate that is not
/// true, otherwise a false step before an unknown one, and of equal steps the first.
fn worst(steps: &[Step]) -> Option<(&Step, &[Step])> {
    let mut found: Option<(&Step, &[Step])> = None;
    let mut left = steps;
    while let Some((step, after)) = left.split_first() {
        let is_below = |other: &&Step| other.depth > step.depth;
        let (below, beside) = after.split_at(after.iter().take_while(is_below).count());
        left = beside;
        let blocks_more = |other: &Step| match (step.role, other.role) {
            (Role::Gate, Role::Gate) => false,
            _ => (step.role, step.status) < (other.role, other.status),
        };
        if step.status != ConditionStatus::True && found.is_none_or(|(other, _)| blocks_more(other)) {
            found = Some((step, below));
        }
    }
    found
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
    let is_its = |part: &str| {
        let (names, _) = part.split_once(": ").unwrap_or_default();
        let mut names = names.split(", ").flat_map(|name| name.split(" and "));
        names.any(|name| name == addon)
    };
    kind != ConditionType::AddonsReady && !is_true(report) && report.message.split("; ").any(is_its)
}

/// Returns the section about a reason in the reference of reasons.
fn reference(reason: Reason) -> String {
    format!("docs/reasons.md#{}", reason.as_str().to_lowercase())
}
