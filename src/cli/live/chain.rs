//! What a cluster or an addon waits for: from the Cluster down to Flux's own words.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use serde::Serialize;

use super::flux::FluxKind;
use super::snapshot::{Key, Member, Snapshot, key, mirrored, not_there, ready};
use super::tree::{addon_report, catalog};
use super::unclaimed::unclaimed;
use crate::api::cluster_addon::AddonStatus;
use crate::api::{ClusterAddon, ClusterStackRelease, ConditionType, Reason};
use crate::rollup::{ConditionStatus, Report};

/// The conditions of a `ClusterAddon` in the order in which one waits for the other.
const OF_ADDON: [ConditionType; 5] = [
    ConditionType::ClusterAvailable,
    ConditionType::ReleaseReady,
    ConditionType::ValuesRendered,
    ConditionType::Delivered,
    ConditionType::AddonsReady,
];

/// The same of a `ClusterStackRelease`.
const OF_RELEASE: [ConditionType; 4] = [
    ConditionType::ReleaseValid,
    ConditionType::ProviderReady,
    ConditionType::NodeImagesReady,
    ConditionType::ClusterClassReady,
];

/// Why something is as it is.
#[derive(Clone, Debug, Serialize)]
pub(in crate::cli) struct Chain {
    /// `Cluster <namespace>/<name>`, and the addon where one was named.
    about: String,
    ready: bool,
    steps: Vec<Step>,
    #[serde(skip_serializing_if = "Option::is_none")]
    action: Option<Action>,
}

/// One object or condition on the way.
#[derive(Clone, Debug, Serialize)]
struct Step {
    /// How far below the Cluster it is.
    #[serde(skip)]
    depth: usize,
    what: String,
    status: &'static str,
    reason: String,
    message: String,
    /// What there is to say about it.
    #[serde(skip)]
    known: Option<Reason>,
}

/// What to do.
#[derive(Clone, Debug, Serialize)]
struct Action {
    text: String,
    /// Where the documents say more.
    #[serde(skip_serializing_if = "Option::is_none")]
    reference: Option<String>,
}

/// The chain of a cluster, or of one addon of it. `None` where there is no such addon; its names are with the caller.
pub(in crate::cli) fn chain(
    snapshot: &Snapshot,
    key: &Key,
    member: &Member,
    only: Option<&str>,
) -> Option<Chain> {
    let mut chain = Chain::of(key, only);
    let Some(addon) = &member.addon else {
        let why = unclaimed(snapshot, key, member);
        chain.add(0, format!("Cluster {}/{}", key.0, key.1), &why.report());
        let reason = known(why.reason);
        chain.action = Some(Action { text: why.action, reference: reason.map(reference) });
        return only.is_none().then_some(chain);
    };
    let status = addon.status.as_ref();
    let addons: Vec<_> = status.iter().flat_map(|status| &status.addons).collect();
    let named: Vec<_> =
        addons.into_iter().filter(|addon| only.is_none_or(|only| addon.name == only)).collect();
    if only.is_some() && named.is_empty() {
        return None;
    }
    chain.cluster(snapshot, key, member, addon);
    for addon in named {
        if only.is_some() || addon_report(addon).status != ConditionStatus::True {
            chain.addon(snapshot, &key.0, addon);
        }
    }
    chain.ready = if only.is_some() {
        chain.steps.iter().all(|step| step.status == ConditionStatus::True.as_str())
    } else {
        let sum = ready(&addon.metadata, status.map(|status| &status.conditions));
        sum.status == ConditionStatus::True
    };
    if !chain.ready {
        chain.action = Some(chain.advice());
    }
    Some(chain)
}

/// The names of a cluster's addons.
pub(in crate::cli) fn addons(member: &Member) -> Vec<&str> {
    let status = member.addon.iter().filter_map(|addon| addon.status.as_ref());
    status.flat_map(|status| &status.addons).map(|addon| addon.name.as_str()).collect()
}

impl Chain {
    fn of((namespace, name): &Key, only: Option<&str>) -> Self {
        let addon = only.map(|addon| format!(", addon {addon}")).unwrap_or_default();
        let about = format!("Cluster {namespace}/{name}{addon}");
        Self { about, ready: false, steps: Vec::new(), action: None }
    }

    fn add(&mut self, depth: usize, what: String, report: &Report) {
        let (reason, message) = (report.reason.clone(), report.message.clone());
        self.steps.push(Step {
            depth,
            what,
            status: report.status.as_str(),
            known: known(&reason),
            reason,
            message,
        });
    }

    /// The conditions of the cluster's addons, and below the release's what that waits for.
    fn cluster(&mut self, snapshot: &Snapshot, key: &Key, member: &Member, addon: &ClusterAddon) {
        if addon.spec.suspend {
            let text = "stackflux changes nothing in this cluster until it is resumed";
            let report = Report::new(ConditionStatus::Unknown, Reason::Suspended.as_str(), text);
            self.add(0, "ClusterAddon spec.suspend".to_owned(), &report);
        }
        let conditions = addon.status.as_ref().map(|status| &status.conditions);
        for kind in OF_ADDON {
            let report = mirrored(&addon.metadata, conditions, kind);
            self.add(0, kind.to_string(), &report);
            if kind == ConditionType::ReleaseReady && report.status != ConditionStatus::True {
                self.release(snapshot, key, member);
            }
        }
    }

    fn release(&mut self, snapshot: &Snapshot, key: &Key, member: &Member) {
        let Some((namespace, name)) = member.release(key) else { return };
        let Some(release) = snapshot.release(&namespace, &name) else {
            self.add(1, format!("ClusterStackRelease {namespace}/{name}"), &not_there());
            if let Some((namespace, name)) = snapshot.stack_of(&namespace, &name).and_then(catalog) {
                self.flux(2, snapshot, FluxKind::GitRepository, &namespace, &name);
            }
            return;
        };
        self.conditions(&namespace, release);
        for object in release.status.iter().flat_map(|status| &status.objects) {
            let Some(kind) = FluxKind::of(&object.kind) else { continue };
            let found = snapshot.flux(kind, &object.namespace, &object.name);
            if found.is_none_or(|found| found.report().status != ConditionStatus::True) {
                self.flux(2, snapshot, kind, &object.namespace, &object.name);
            }
        }
    }

    fn conditions(&mut self, namespace: &str, release: &ClusterStackRelease) {
        let (_, name) = key(&release.metadata);
        let conditions = release.status.as_ref().map(|status| &status.conditions);
        let said = |kind: ConditionType| {
            has(conditions, kind).then(|| mirrored(&release.metadata, conditions, kind))
        };
        for (kind, report) in OF_RELEASE.iter().filter_map(|kind| Some((kind, said(*kind)?))) {
            if report.status != ConditionStatus::True {
                self.add(1, format!("ClusterStackRelease {namespace}/{name} {kind}"), &report);
            }
        }
    }

    fn addon(&mut self, snapshot: &Snapshot, namespace: &str, addon: &AddonStatus) {
        self.add(1, format!("addon {}", addon.name), &addon_report(addon));
        // Flux's own reason says more, ours says what to do.
        if let Some(step) = self.steps.last_mut() {
            step.known = step.known.or(addon.phase.as_deref().and_then(known));
        }
        let Some(object) = &addon.object else { return };
        if let Some(kind) = FluxKind::of(&object.kind) {
            self.flux(2, snapshot, kind, namespace, &object.name);
        }
    }

    /// A Flux object, its causes, and what it takes its content from.
    fn flux(&mut self, depth: usize, snapshot: &Snapshot, kind: FluxKind, namespace: &str, name: &str) {
        let what = format!("{} {namespace}/{name}", kind.as_str());
        let Some(object) = snapshot.flux(kind, namespace, name) else {
            return self.add(depth, what, &snapshot.absent(kind, namespace));
        };
        let report = object.report();
        self.add(depth, what.clone(), &report);
        if report.status != ConditionStatus::True {
            for (condition, cause) in object.causes() {
                if cause.message != report.message {
                    self.add(depth + 1, format!("{what} {condition}"), &cause);
                }
            }
        }
        if let Some((kind, namespace, name)) = object.source() {
            self.flux(depth + 1, snapshot, kind, &namespace, &name);
        }
    }

    /// What to do about the first thing that is not as it should be and about which there is something to say.
    fn advice(&self) -> Action {
        let wrong = self.steps.iter().filter(|step| step.status != ConditionStatus::True.as_str());
        // Of several the sum says only that they are several.
        let mut reasons = wrong.filter_map(|step| step.known).filter(|reason| *reason != Reason::Several);
        let reason = reasons.next().unwrap_or(Reason::Failed);
        Action { text: reason.action().to_owned(), reference: Some(reference(reason)) }
    }

    /// The chain in sentences.
    pub(in crate::cli) fn text(&self) -> String {
        let sum = if self.ready { "is ready" } else { "is not ready" };
        let mut text = format!("{} {sum}.\n\n", self.about);
        for step in &self.steps {
            text.push_str(&step.text());
        }
        if let Some(Action { text: action, reference }) = &self.action {
            let reference = reference.as_ref().map(|reference| format!(" ({reference})")).unwrap_or_default();
            text.extend(["\nWhat to do: ", action.as_str(), reference.as_str(), "\n"]);
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
            "True" => ('✔', "is true"),
            "False" => ('✗', "is false"),
            _ => ('◎', "is not known yet"),
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

/// The reason that a word is, where it is ours.
fn known(word: &str) -> Option<Reason> {
    Reason::ALL.iter().copied().find(|reason| reason.as_str() == word)
}

/// Where the reference of reasons has this one.
fn reference(reason: Reason) -> String {
    format!("docs/reasons.md#{}", reason.as_str().to_lowercase())
}
