//! The effect of a rollback, and its report. A rollback does not change the Clusters that have the release, and the
//! report says so.

use serde::Serialize;

use super::compare::{Target, followers};
use super::document::{Block, Document, Line};
use crate::names::{KubernetesVersion, ReleaseName};
use crate::subscription;

/// Maximum number of names in a sentence.
const MAX_NAMES: usize = 20;

/// The rollback of a release from a stage.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Rollback {
    /// The stage.
    pub stage: String,
    /// The release.
    pub release: String,
    /// The commit that added the release.
    pub commit: String,
    /// Whether that commit did nothing else, so that the rollback reverts it.
    pub reverts: bool,
    /// The reason of the rollback.
    pub reason: String,
    /// The effect on each `ClusterStack` of the stage.
    pub stacks: Vec<StackEffect>,
    /// The Clusters among the stage's inputs that have the release.
    pub clusters: Vec<String>,
    /// The Kubernetes version of the release; absent if its content cannot be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kubernetes: Option<String>,
    /// The previous release, to which Clusters can be set back.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub earlier: Option<Earlier>,
}

/// The release to which Clusters can be set back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Earlier {
    /// The name.
    pub release: String,
    /// The Kubernetes version of the release.
    pub kubernetes: String,
}

/// The state of a `ClusterStack` after the rollback.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct StackEffect {
    /// The namespace of the `ClusterStack`.
    pub namespace: String,
    /// The name.
    pub name: String,
    /// Whether its `versions` list the release, which it then keeps offering.
    pub listed: bool,
    /// Whether it subscribes to the latest release.
    pub subscribes: bool,
    /// Whether the release was its latest one before the rollback.
    pub was_latest: bool,
    /// Its latest release after the rollback.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub latest: Option<String>,
}

impl Rollback {
    /// Computes the effect of the rollback of `release`, which `commit` added, on the stage. `reverts` is whether
    /// `commit` did nothing else. `kubernetes` returns the Kubernetes version of a release that the stage has, if it
    /// can be read.
    #[must_use]
    pub fn new(
        target: &Target,
        release: &ReleaseName,
        (commit, reverts, reason): (&str, bool, &str),
        kubernetes: impl Fn(&ReleaseName) -> Option<KubernetesVersion>,
    ) -> Self {
        let left: Vec<&ReleaseName> = target.releases.iter().filter(|name| *name != release).collect();
        let before = left.iter().copied().filter(|name| *name < release && name.same_line(release));
        let earlier = before.filter(|name| name.prefix() == release.prefix()).max();
        let stacks = followers(target, release).map(|stack| StackEffect {
            namespace: stack.metadata.namespace.clone().unwrap_or_else(|| "default".to_owned()),
            name: stack.metadata.name.clone().unwrap_or_default(),
            listed: subscription::offered(&stack.spec, None).contains(release),
            subscribes: subscription::subscribes(&stack.spec),
            was_latest: subscription::latest(&stack.spec, target.releases) == Some(release),
            latest: subscription::latest(&stack.spec, left.iter().copied()).map(ToString::to_string),
        });
        let has = target
            .clusters
            .iter()
            .map(|inputs| &inputs.cluster)
            .filter(|cluster| cluster.release().is_some_and(|(_, its)| its == *release));
        Self {
            stage: target.place.stage.name.clone(),
            release: release.to_string(),
            commit: commit.to_owned(),
            reverts,
            reason: reason.to_owned(),
            stacks: stacks.collect(),
            earlier: earlier.and_then(|earlier| {
                Some(Earlier { release: earlier.to_string(), kubernetes: kubernetes(earlier)?.to_string() })
            }),
            kubernetes: kubernetes(release).map(|version| version.to_string()),
            clusters: has.map(|cluster| format!("{}/{}", cluster.namespace(), cluster.name())).collect(),
        }
    }

    /// Writes the report.
    #[must_use]
    pub fn document(&self) -> Document {
        let title = Line::new("Roll ").code(&self.release).words(" back from ").code(&self.stage);
        let facts = vec![
            Line::new("Reason: ").code(&self.reason),
            Line::new(if self.reverts { "Reverts " } else { "Came, with other changes that stay, in " })
                .code(self.commit.get(..12).unwrap_or(&self.commit)),
            Line::new("Holds the release: it is neither promoted nor published to ")
                .code(&self.stage)
                .words(" until the hold is lifted"),
        ];
        let mut stacks: Vec<Line> = self.stacks.iter().map(|stack| self.of_stack(stack)).collect();
        if stacks.is_empty() {
            let line = Line::new("No ClusterStack of ").code(&self.stage).words(" is known for this release");
            stacks.push(line.words(" (see inputs in stackflux.yaml)"));
        }
        Document(vec![
            Block::Heading(1, title),
            Block::List(facts),
            Block::Heading(2, Line::new("What it does at once")),
            Block::List(stacks),
            Block::Heading(2, Line::new("Clusters that have it")),
            Block::List(self.clusters()),
        ])
    }

    fn of_stack(&self, left: &StackEffect) -> Line {
        let line = Line::new("ClusterStack ").code(&format!("{}/{}", left.namespace, left.name));
        if left.listed {
            let line = line
                .strong(" continues to offer it")
                .words(": its versions have it, and it is pinned. Take ");
            return line.code(&self.version()).words(" out of them");
        }
        match (&left.latest, left.subscribes) {
            (Some(latest), true) if left.was_latest => line.words(" offers ").code(latest).words(" again"),
            (Some(latest), true) => line.words(" continues to offer ").code(latest),
            (None, true) => line.words(" has no release left to offer"),
            (_, false) => line.words(" does not offer it: nothing changes"),
        }
    }

    /// Returns the release's version as in `versions` of a `ClusterStack`.
    fn version(&self) -> String {
        let release = self.release.parse::<ReleaseName>();
        release.map_or_else(|_| self.release.clone(), |release| release.version().dotted())
    }

    /// Lists the Clusters that have the release, which do not change, and describes how to set them back.
    fn clusters(&self) -> Vec<Line> {
        let who = if self.clusters.is_empty() {
            Line::new("None is among the stage's inputs. For those that have it nothing changes")
        } else {
            let names = self.clusters.iter().map(String::as_str);
            Line::default().codes(names, MAX_NAMES).words(": nothing changes")
        };
        let who = who.words("; class, charts and pins stay while a Cluster uses them");
        let back = Line::new("Each moves back when its class is set to ");
        let back = match (&self.earlier, &self.kubernetes) {
            (None, _) => back.words("another release's"),
            (Some(earlier), kubernetes) => {
                let back = back.code(&earlier.release).words("'s");
                match kubernetes {
                    Some(now) if *now != earlier.kubernetes => back
                        .words(", and its version from ")
                        .code(now)
                        .words(" to ")
                        .code(&earlier.kubernetes)
                        .words(". ")
                        .strong("Cluster API refuses to go back to an older Kubernetes version"),
                    _ => back,
                }
            }
        };
        vec![who, back]
    }
}

#[cfg(test)]
mod tests;
