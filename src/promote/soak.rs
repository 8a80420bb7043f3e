//! Whether the clusters of a stage have been ready with a content for long enough.
//!
//! What counts is what the clusters say themselves, and the latest of it: since when each is ready, when each of its
//! addons settled, when the release became ready, when Cluster API had last brought the cluster to its class. Where one
//! of them flapped the time begins anew.

use std::fmt;

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use serde::Serialize;
use serde_json::Value;

use crate::api::{ClusterAddon, ClusterStackRelease, ConditionType};
use crate::foreign::capi::{ClassReference, Cluster, field, text};
use crate::names::ReleaseName;
use crate::rollup::{ConditionStatus, mirror};

/// The conditions that Cluster API has of a Cluster that tell about an upgrade. One that is not there is not asked for:
/// not all versions have all.
const OF_CLUSTER: [&str; 2] = ["Available", "TopologyReconciled"];

/// The most problems that are told.
const MAX_LISTED: usize = 20;

/// What is asked.
#[derive(Clone, Copy, Debug)]
pub struct Question<'a> {
    /// The stage whose clusters are asked.
    pub stage: &'a str,
    /// The release.
    pub release: &'a ReleaseName,
    /// The digest of the content that the stage has in Git.
    pub digest: &'a str,
    /// How long they must have been ready.
    pub required: SignedDuration,
    /// The time.
    pub now: Timestamp,
    /// Which Clusters are asked.
    pub only: &'a Only,
}

/// Which Clusters are asked: all of the stage where nothing is said here.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Only {
    /// Those of one namespace.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// Those with these labels.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub selector: Option<String>,
}

impl Only {
    fn is_all(&self) -> bool {
        *self == Self::default()
    }
}

/// At the end of a sentence; empty where all are asked.
impl fmt::Display for Only {
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

/// That all were ready for long enough.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SoakResult {
    /// The Clusters, as `<namespace>/<name>`.
    pub clusters: Vec<String>,
    /// Since when all of them are ready.
    pub since: Timestamp,
    /// How long that is, in seconds.
    pub seconds: i64,
    /// Which Clusters were asked, where that were not all.
    #[serde(skip_serializing_if = "Only::is_all")]
    pub only: Only,
}

/// Why that cannot be said: what is wrong, cluster by cluster, the first twenty.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", told(self))]
pub struct SoakFailure {
    /// The stage.
    pub stage: String,
    /// The release.
    pub release: String,
    /// What is wrong.
    pub problems: Vec<String>,
}

fn told(refusal: &SoakFailure) -> String {
    let SoakFailure { stage, release, problems } = refusal;
    let listed: Vec<String> =
        problems.iter().take(MAX_LISTED).map(|problem| format!("\n  {problem}")).collect();
    let listed = listed.concat();
    let more = match problems.len().saturating_sub(MAX_LISTED) {
        0 => String::new(),
        more => format!("\n  and {more} more"),
    };
    format!("stage {stage} does not vouch for {release}:{listed}{more}")
}

/// Asks the releases of this name in the namespaces of the stage's `ClusterStacks`, and all Clusters of them. `others` says
/// of each `ClusterStack` of the release's stack why it is none that has the release, where none has it.
pub fn judge(
    question: &Question,
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
        take(of_release(question, release));
    }
    let members: Vec<&Member> = members.iter().filter(|member| !member.cluster.deleting()).collect();
    for member in &members {
        take(of_member(question, member));
    }
    if releases.is_empty() {
        let none = if others.is_empty() { ": there is none of its stack" } else { "" };
        problems.insert(0, format!("no ClusterStack of {} has it{none}", question.stage));
        problems.splice(1..1, others.iter().cloned());
    } else if members.is_empty() {
        problems.push(format!("no Cluster runs it{}", question.only));
    }
    match begins.into_iter().max() {
        Some(since) if problems.is_empty() => Ok(SoakResult {
            clusters: members.iter().map(|member| name_of(member.cluster)).collect(),
            since,
            seconds: question.now.duration_since(since).as_secs(),
            only: question.only.clone(),
        }),
        _ => Err(SoakFailure {
            stage: question.stage.to_owned(),
            release: question.release.to_string(),
            problems,
        }),
    }
}

/// Since when a release is ready with the content that the stage has.
fn of_release(question: &Question, release: &ClusterStackRelease) -> Result<Timestamp, String> {
    let metadata = &release.metadata;
    let called = format!(
        "ClusterStackRelease {}/{}",
        metadata.namespace.as_deref().unwrap_or_default(),
        metadata.name.as_deref().unwrap_or_default()
    );
    let status = release.status.as_ref();
    let digest = status.and_then(|status| status.digest.as_deref());
    if digest != Some(question.digest) {
        let has = digest.unwrap_or("not been read");
        return Err(format!("{called} has {has}, but the stage has {} in Git", question.digest));
    }
    let conditions = status.map(|status| status.conditions.as_slice()).unwrap_or_default();
    ready(question, &called, metadata.generation, conditions)
}

/// Since when a Cluster is ready with the release.
fn of_member(question: &Question, member: &Member) -> Result<Timestamp, String> {
    let called = format!("Cluster {}", name_of(member.cluster));
    let release = member.cluster.class().as_ref().and_then(ClassReference::release);
    if release.as_ref() != Some(question.release) {
        let runs = release.map_or_else(|| "no release".to_owned(), |release| release.to_string());
        return Err(format!("{called} runs {runs}"));
    }
    let of_cluster = cluster_since(&called, member.cluster)?;
    let addon = member.addon.ok_or_else(|| format!("{called} has no ClusterAddon yet"))?;
    let status = addon.status.clone().unwrap_or_default();
    let applied = status.release.unwrap_or_default().applied;
    if applied.as_deref() != Some(question.release.to_string().as_str()) {
        let has = applied.unwrap_or_else(|| "nothing".to_owned());
        return Err(format!("{called}: the addons of {has} are applied, not those of the release yet"));
    }
    let settled = status.addons.iter().filter_map(|addon| addon.since.as_ref().map(|since| since.0));
    let transitions = status.conditions.iter().filter(|condition| condition.status == "True");
    let began =
        settled.chain(transitions.map(|condition| condition.last_transition_time.0)).chain(of_cluster).max();
    let since = ready(question, &called, addon.metadata.generation, &status.conditions)?;
    long_enough(question, &called, began.map_or(since, |began| began.max(since)))
}

/// When Cluster API had last brought the Cluster to its class and was able to reach it, as far as it says so.
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

/// Since when the condition `Ready` is true and about the present spec.
fn ready(
    question: &Question,
    called: &str,
    generation: Option<i64>,
    conditions: &[Condition],
) -> Result<Timestamp, String> {
    let kind = ConditionType::Ready.as_str();
    let report = mirror(conditions, generation.unwrap_or_default(), kind);
    let condition = conditions.iter().find(|condition| condition.type_ == kind);
    match condition.filter(|_| report.status == ConditionStatus::True) {
        Some(condition) => long_enough(question, called, condition.last_transition_time.0),
        None => Err(format!("{called} is not Ready: {}: {}", report.reason, report.message)),
    }
}

fn long_enough(question: &Question, called: &str, since: Timestamp) -> Result<Timestamp, String> {
    let lasts = question.now.duration_since(since);
    if lasts >= question.required {
        return Ok(since);
    }
    Err(format!(
        "{called} has been ready with it for {}, since {since}, but {} are required",
        Spoken(lasts.max(SignedDuration::ZERO)),
        Spoken(question.required)
    ))
}

fn name_of(cluster: &Cluster) -> String {
    format!("{}/{}", cluster.namespace(), cluster.name())
}

/// A duration in its two largest units: `26h 3m`, `3m 20s`.
#[derive(Clone, Copy, Debug)]
pub struct Spoken(pub SignedDuration);

impl fmt::Display for Spoken {
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
