//! The life of a Cluster: who does what, and what its `ClusterAddon` then reports.

use stackflux::api::Reason;
use stackflux::api::conditions::{ConditionStatus, ConditionType};

use super::svg::Actor;
use Actor::{ClusterApi, Flux, Stackflux, You};
use ConditionType::{
    AddonsReady, ClusterAvailable, Delivered, Ready, ReleaseReady, UpgradeGate, ValuesRendered,
};

/// The longest line in a box, in characters.
const LONGEST_LINE: usize = 54;

/// A condition at a step.
#[derive(Clone, Copy)]
pub(super) struct Seen {
    pub(super) kind: ConditionType,
    status: Option<bool>,
    pub(super) reason: Reason,
    /// Whether no simulation stops there.
    pub(super) is_brief: bool,
}

impl Seen {
    pub(super) fn status(self) -> ConditionStatus {
        match self.status {
            Some(true) => ConditionStatus::True,
            Some(false) => ConditionStatus::False,
            None => ConditionStatus::Unknown,
        }
    }

    pub(super) fn text(self) -> String {
        format!("{}={} {}", self.kind.as_str(), self.status().as_str(), self.reason)
    }

    /// The text, with a link to the reason.
    pub(super) fn linked(self) -> String {
        let reason = self.reason.as_str();
        let place = format!("../reference/reasons.md#{}", reason.to_lowercase());
        format!("`{}={}` [`{reason}`]({place})", self.kind.as_str(), self.status().as_str())
    }
}

/// One step.
pub(super) struct Step {
    pub(super) actor: Actor,
    pub(super) title: &'static str,
    pub(super) text: &'static str,
    pub(super) seen: &'static [Seen],
}

impl Step {
    /// Who does what.
    pub(super) fn sentence(&self) -> String {
        let actor = self.actor.name();
        format!("{}{} {}", actor[..1].to_uppercase(), &actor[1..], self.title)
            .replace("Stackflux", "stackflux")
    }

    /// The text in lines that fit in a box.
    pub(super) fn lines(&self) -> Vec<String> {
        let mut lines: Vec<String> = Vec::new();
        for word in self.text.split(' ').filter(|word| !word.is_empty()) {
            match lines.last_mut() {
                Some(line) if line.chars().count() + word.chars().count() < LONGEST_LINE => {
                    line.push(' ');
                    line.push_str(word);
                }
                _ => lines.push(word.to_owned()),
            }
        }
        lines
    }
}

const fn is_true(kind: ConditionType, reason: Reason) -> Seen {
    Seen { kind, status: Some(true), reason, is_brief: false }
}

const fn is_false(kind: ConditionType, reason: Reason) -> Seen {
    Seen { kind, status: Some(false), reason, is_brief: false }
}

const fn unknown(kind: ConditionType, reason: Reason) -> Seen {
    Seen { kind, status: None, reason, is_brief: false }
}

const fn brief(seen: Seen) -> Seen {
    Seen { is_brief: true, ..seen }
}

const fn step(actor: Actor, title: &'static str, text: &'static str, seen: &'static [Seen]) -> Step {
    Step { actor, title, text, seen }
}

pub(super) const PHASES: &[(&str, &[Step])] = &[
    (
        "A new Cluster",
        &[
            step(
                You,
                "create the Cluster",
                "its class is a release that a ClusterStack offers; stackflux creates its ClusterAddon",
                &[
                    unknown(Ready, Reason::ControlPlaneNotInitialized),
                    unknown(ClusterAvailable, Reason::ControlPlaneNotInitialized),
                    is_true(ReleaseReady, Reason::Usable),
                ],
            ),
            step(
                ClusterApi,
                "initializes the control plane",
                "and reports the endpoint and other fields",
                &[
                    is_true(ClusterAvailable, Reason::Available),
                    brief(unknown(ValuesRendered, Reason::WaitingForField)),
                ],
            ),
            step(
                Stackflux,
                "renders values and writes Flux objects",
                "an addon with a missing field waits alone",
                &[
                    is_true(ValuesRendered, Reason::Rendered),
                    is_true(Delivered, Reason::Delivered),
                    unknown(AddonsReady, Reason::Pending),
                ],
            ),
            step(
                Flux,
                "installs the addons",
                "a failed installation is tried again, in place",
                &[is_true(AddonsReady, Reason::Applied), is_true(Ready, Reason::Applied)],
            ),
        ],
    ),
    (
        "Another release for the same Kubernetes",
        &[
            step(
                You,
                "change the class",
                "stackflux names the release in status.release.desired before the first write",
                &[unknown(Ready, Reason::Progressing), unknown(Delivered, Reason::Progressing)],
            ),
            step(
                Stackflux,
                "writes the addons that differ",
                "in content or values, by the stages of the release; each keeps what is installed until its turn",
                &[unknown(Delivered, Reason::WaitingForStage), unknown(AddonsReady, Reason::WaitingForStage)],
            ),
            step(
                Flux,
                "upgrades them",
                "a failed upgrade is rolled back, and the addon is not ready",
                &[is_true(Ready, Reason::Applied), is_false(Ready, Reason::RolledBack)],
            ),
        ],
    ),
    (
        "The next Kubernetes minor",
        &[
            step(
                You,
                "change class and version in one write",
                "Cluster API first checks the control plane and the variables",
                &[is_false(UpgradeGate, Reason::WaitingForClusterAPI)],
            ),
            step(
                Stackflux,
                "moves the first addons",
                "those of BeforeClusterUpgrade; Cluster API waits for stackflux's annotation",
                &[
                    is_false(UpgradeGate, Reason::WaitingForAddons),
                    unknown(Delivered, Reason::WaitingForUpgrade),
                ],
            ),
            step(
                Stackflux,
                "removes the annotation",
                "all addons that the new Kubernetes needs are applied",
                &[is_true(UpgradeGate, Reason::Opened)],
            ),
            step(
                ClusterApi,
                "upgrades the control plane",
                "and then the nodes",
                &[brief(is_true(UpgradeGate, Reason::Upgrading))],
            ),
            step(
                Stackflux,
                "moves the other addons",
                "and removes those that the release lacks",
                &[
                    is_true(UpgradeGate, Reason::NotUpgrading),
                    is_true(Delivered, Reason::Delivered),
                    is_true(Ready, Reason::Applied),
                ],
            ),
        ],
    ),
    (
        "The end",
        &[
            step(
                You,
                "delete the Cluster",
                "stackflux suspends its Flux objects and deletes them: nothing is uninstalled",
                &[is_false(Ready, Reason::Deleting), is_false(ClusterAvailable, Reason::Deleting)],
            ),
            step(ClusterApi, "deletes the machines", "the ClusterAddon does not wait for that", &[]),
        ],
    ),
];
