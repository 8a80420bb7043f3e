//! Checks whether the clusters of a stage have been ready with a release's content for long enough.
//!
//! The soak begins at the latest of these times in the clusters' own status: when each cluster and the release became
//! ready, when each addon settled, and when Cluster API last brought each cluster to its class. A condition that flaps
//! restarts the soak.

use std::fmt;

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use serde::Serialize;
use serde_json::Value;

use crate::api::{ClusterAddon, ClusterStackRelease, ConditionType};
use crate::foreign::capi::{Cluster, field, text};
use crate::names::ReleaseName;
use crate::rollup::{ConditionStatus, mirror};

/// The conditions that Cluster API reports about the upgrade of a Cluster. A missing one is ignored, because not all
/// versions of Cluster API report all of them.
const OF_CLUSTER: [&str; 2] = ["Available", "TopologyReconciled"];

/// Maximum number of problems that an error lists.
const MAX_LISTED: usize = 20;

/// The requirement that the clusters of a stage must meet.
#[derive(Clone, Copy, Debug)]
pub struct Requirement<'a> {
    /// The stage whose clusters are checked.
    pub stage: &'a str,
    /// The release.
    pub release: &'a ReleaseName,
    /// The digest of the content that the stage has in Git.
    pub digest: &'a str,
    /// The time for which the clusters must have been ready.
    pub required: SignedDuration,
    /// The current time.
    pub now: Timestamp,
    /// The selection of Clusters to check.
    pub only: &'a Selection,
}

/// A selection of Clusters; by default, all of the stage.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Selection {
    /// Only Clusters in this namespace.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// Only Clusters with these labels.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub selector: Option<String>,
}

impl Selection {
    fn is_all(&self) -> bool {
        *self == Self::default()
    }
}

/// Writes the end of a sentence; empty if all Clusters are selected.
impl fmt::Display for Selection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_all() {
            return Ok(());
        }
        write!(f, "; only Clusters")?;
        if let Some(namespace) = &self.namespace {
            write!(f, " in namespace {namespace}")?;
        }
        if let Some(selector) = &self.selector {
            write!(f, " with the labels {selector}")?;
        }
        write!(f, " were queried")
    }
}

/// A Cluster of the stage with its addons.
#[derive(Clone, Copy, Debug)]
pub struct Member<'a> {
    /// The Cluster.
    pub cluster: &'a Cluster,
    /// Its `ClusterAddon`.
    pub addon: Option<&'a ClusterAddon>,
}

/// The result of a check that all clusters passed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SoakResult {
    /// The Clusters, as `<namespace>/<name>`.
    pub clusters: Vec<String>,
    /// The time since which all Clusters are ready.
    pub since: Timestamp,
    /// The time for which all Clusters have been ready, in seconds.
    pub seconds: i64,
    /// The selection of Clusters, if not all were checked.
    #[serde(skip_serializing_if = "Selection::is_all")]
    pub only: Selection,
}

/// The result of a failed check. Its text lists the first twenty problems.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", failure_text(self))]
pub struct SoakFailure {
    /// The stage.
    pub stage: String,
    /// The release.
    pub release: String,
    /// The problems of the Clusters and releases.
    pub problems: Vec<String>,
}

fn failure_text(refusal: &SoakFailure) -> String {
    let SoakFailure { stage, release, problems } = refusal;
    let listed: Vec<String> =
        problems.iter().take(MAX_LISTED).map(|problem| format!("\n  {problem}")).collect();
    let listed = listed.concat();
    let more = match problems.len().saturating_sub(MAX_LISTED) {
        0 => String::new(),
        more => format!("\n  and {more} more"),
    };
    format!("stage {stage} has not completed the soak of {release}:{listed}{more}")
}

/// Checks the releases of this name in the namespaces of the stage's `ClusterStacks`, and all their Clusters. `others`
/// states for each `ClusterStack` of the release's stack why it does not have the release, for the case that none has
/// it.
pub fn check(
    requirement: &Requirement,
    (releases, others): (&[&ClusterStackRelease], &[String]),
    members: &[Member],
) -> Result<SoakResult, SoakFailure> {
    let mut problems = Vec::new();
    let mut begins = Vec::new();
    let mut take = |answer: Result<Timestamp, String>| match answer {
        Ok(since) => begins.push(since),
        Err(problem) => problems.push(problem),
    };
    for release in releases {
        take(of_release(requirement, release));
    }
    let members: Vec<&Member> = members.iter().filter(|member| !member.cluster.deleting()).collect();
    for member in &members {
        take(of_member(requirement, member));
    }
    if releases.is_empty() {
        let none = if others.is_empty() { ": there is none of its stack" } else { "" };
        problems.insert(0, format!("no ClusterStack of {} has it{none}", requirement.stage));
        problems.splice(1..1, others.iter().cloned());
    } else if members.is_empty() {
        problems.push(format!("no Cluster runs it{}", requirement.only));
    }
    match begins.into_iter().max() {
        Some(since) if problems.is_empty() => Ok(SoakResult {
            clusters: members.iter().map(|member| name_of(member.cluster)).collect(),
            since,
            seconds: requirement.now.duration_since(since).as_secs(),
            only: requirement.only.clone(),
        }),
        _ => Err(SoakFailure {
            stage: requirement.stage.to_owned(),
            release: requirement.release.to_string(),
            problems,
        }),
    }
}

/// Returns since when a release is ready with the content that the stage has.
fn of_release(requirement: &Requirement, release: &ClusterStackRelease) -> Result<Timestamp, String> {
    let metadata = &release.metadata;
    let called = format!(
        "ClusterStackRelease {}/{}",
        metadata.namespace.as_deref().unwrap_or_default(),
        metadata.name.as_deref().unwrap_or_default()
    );
    let status = release.status.as_ref();
    let digest = status.and_then(|status| status.digest.as_deref());
    if digest != Some(requirement.digest) {
        let has = digest.unwrap_or("not been read");
        return Err(format!("{called} has {has}, but the stage has {} in Git", requirement.digest));
    }
    let conditions = status.map(|status| status.conditions.as_slice()).unwrap_or_default();
    ready(requirement, &called, metadata.generation, conditions)
}

/// Returns since when a Cluster is ready with the release.
fn of_member(requirement: &Requirement, member: &Member) -> Result<Timestamp, String> {
    let called = format!("Cluster {}", name_of(member.cluster));
    let release = member.cluster.release().map(|(_, release)| release);
    if release.as_ref() != Some(requirement.release) {
        let runs = release.map_or_else(|| "no release".to_owned(), |release| release.to_string());
        return Err(format!("{called} runs {runs}"));
    }
    let of_cluster = cluster_since(&called, member.cluster)?;
    let addon = member.addon.ok_or_else(|| format!("{called} has no ClusterAddon yet"))?;
    let status = addon.status.clone().unwrap_or_default();
    let applied = status.release.unwrap_or_default().applied;
    if applied.as_deref() != Some(requirement.release.to_string().as_str()) {
        let has = applied.unwrap_or_else(|| "nothing".to_owned());
        return Err(format!("{called}: the addons of {has} are applied, not those of the release yet"));
    }
    let settled = status.addons.iter().filter_map(|addon| addon.since.as_ref().map(|since| since.0));
    let transitions = status.conditions.iter().filter(|condition| condition.status == "True");
    let began =
        settled.chain(transitions.map(|condition| condition.last_transition_time.0)).chain(of_cluster).max();
    let since = ready(requirement, &called, addon.metadata.generation, &status.conditions)?;
    long_enough(requirement, &called, began.map_or(since, |began| began.max(since)))
}

/// Returns when Cluster API last brought the Cluster to its class and was able to reach it, as far as Cluster API
/// reports it.
fn cluster_since(called: &str, cluster: &Cluster) -> Result<Option<Timestamp>, String> {
    let conditions = field(cluster.object(), &["status", "conditions"]).and_then(Value::as_array);
    let mut latest = None;
    for condition in conditions.into_iter().flatten() {
        let kind = text(condition, &["type"]);
        if !OF_CLUSTER.contains(&kind) {
            continue;
        }
        if text(condition, &["status"]) != "True" {
            let (reason, message) = (text(condition, &["reason"]), text(condition, &["message"]));
            return Err(format!("{called}: Cluster API says that it is not {kind}: {reason}: {message}"));
        }
        latest = latest.max(text(condition, &["lastTransitionTime"]).parse::<Timestamp>().ok());
    }
    Ok(latest)
}

/// Returns since when the condition `Ready` is true for the current generation.
fn ready(
    requirement: &Requirement,
    called: &str,
    generation: Option<i64>,
    conditions: &[Condition],
) -> Result<Timestamp, String> {
    let kind = ConditionType::Ready.as_str();
    let report = mirror(conditions, generation.unwrap_or_default(), kind);
    let condition = conditions.iter().find(|condition| condition.type_ == kind);
    match condition.filter(|_| report.status == ConditionStatus::True) {
        Some(condition) => long_enough(requirement, called, condition.last_transition_time.0),
        None => Err(format!("{called} is not Ready: {}: {}", report.reason, report.message)),
    }
}

fn long_enough(requirement: &Requirement, called: &str, since: Timestamp) -> Result<Timestamp, String> {
    let lasts = requirement.now.duration_since(since);
    if lasts >= requirement.required {
        return Ok(since);
    }
    Err(format!(
        "{called} has been ready with it for {}, since {since}, but {} are required",
        HumanDuration(lasts.max(SignedDuration::ZERO)),
        HumanDuration(requirement.required)
    ))
}

fn name_of(cluster: &Cluster) -> String {
    format!("{}/{}", cluster.namespace(), cluster.name())
}

/// A duration in its two largest units: `26h 3m`, `3m 20s`.
#[derive(Clone, Copy, Debug)]
pub struct HumanDuration(pub SignedDuration);

impl fmt::Display for HumanDuration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.0.as_secs();
        let (hours, minutes, seconds) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
        match (hours, minutes, seconds) {
            (0, 0, seconds) => write!(f, "{seconds}s"),
            (0, minutes, 0) => write!(f, "{minutes}m"),
            (0, minutes, seconds) => write!(f, "{minutes}m {seconds}s"),
            (hours, 0, _) => write!(f, "{hours}h"),
            (hours, minutes, _) => write!(f, "{hours}h {minutes}m"),
        }
    }
}

#[cfg(test)]
mod tests;
