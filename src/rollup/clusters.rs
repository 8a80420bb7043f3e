//! Derives the condition `ClustersReady` of a `ClusterStack` from its Clusters.

use std::collections::BTreeMap;

use super::report::{ConditionStatus, Report, aggregate_of, first};
use crate::api::cluster_stack::ClusterCounts;
use crate::api::conditions::Reason;

/// The state of one Cluster with a class of the `ClusterStack`.
#[derive(Clone, Debug)]
#[allow(clippy::struct_excessive_bools, reason = "five facts that do not depend on each other")]
pub struct ClusterState<'a> {
    /// The Cluster's namespace.
    pub namespace: &'a str,
    /// The Cluster's name.
    pub name: &'a str,
    /// Whether the Cluster is being deleted.
    pub deleting: bool,
    /// Whether the Cluster is paused.
    pub paused: bool,
    /// `spec.suspend` of the `ClusterAddon` or of the `ClusterStack`.
    pub suspended: bool,
    /// Whether the control plane was initialized.
    pub initialized: bool,
    /// The reason why the Cluster's class does not have a `ClusterStackRelease`: false if the stack repository does not
    /// have the release, unknown if that is not known.
    pub without_release: Option<Report>,
    /// Whether the Cluster is in another namespace, and the `ClusterStack` does not offer the release of its class.
    pub unoffered: bool,
    /// The `Ready` of the `ClusterAddon` about the release of the Cluster's class; `None` without such a report.
    pub ready: Option<Report>,
}

/// The part of a Cluster in `ClustersReady`: the first variant that describes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ClusterReadiness {
    /// The Cluster is being deleted.
    Deleting,
    /// The Cluster is paused.
    Paused,
    /// The operator must not write anything for the Cluster.
    Suspended,
    /// The Cluster is in another namespace, and the release of its class is neither offered nor installed.
    ReleaseNotOffered,
    /// The stack repository does not have the release of its class.
    ReleaseNotFound,
    /// The release of its class is not installed, and may exist.
    ReleaseUnknown,
    /// The control plane never answered.
    NotInitialized,
    /// The `ClusterAddon` does not exist, or does not report on the release of the class yet.
    NotReported,
    /// The `ClusterAddon` is not ready.
    NotReady,
    /// It is not known whether the `ClusterAddon` is ready.
    Unknown,
    /// The `ClusterAddon` is ready.
    Ready,
}

impl ClusterReadiness {
    /// All variants, in the order in which they are checked.
    pub const ALL: [Self; 11] = [
        Self::Deleting,
        Self::Paused,
        Self::Suspended,
        Self::ReleaseNotOffered,
        Self::ReleaseNotFound,
        Self::ReleaseUnknown,
        Self::NotInitialized,
        Self::NotReported,
        Self::NotReady,
        Self::Unknown,
        Self::Ready,
    ];

    /// Describes the Cluster, for the documents: "A Cluster …".
    #[must_use]
    pub fn meaning(self) -> &'static str {
        match self {
            Self::Deleting => "is being deleted",
            Self::Paused => "is paused (`spec.paused`, or the annotation `cluster.x-k8s.io/paused`)",
            Self::Suspended => "is suspended (`spec.suspend` of its ClusterAddon or of the ClusterStack)",
            Self::ReleaseNotOffered => {
                "is in another namespace than the ClusterStack, and has a class whose release is neither offered nor \
                 installed (`ReleaseNotOffered`)"
            }
            Self::ReleaseNotFound => {
                "has a class whose release the stack repository does not have (`ReleaseNotFound`)"
            }
            Self::ReleaseUnknown => "has a class whose release is not installed yet",
            Self::NotInitialized => "has a control plane that is not initialized yet",
            Self::NotReported => {
                "has no ClusterAddon yet, or one that says nothing about the release of its class yet"
            }
            Self::NotReady => "has a ClusterAddon with `Ready=False`",
            Self::Unknown => "has a ClusterAddon with `Ready=Unknown`",
            Self::Ready => "has a ClusterAddon with `Ready=True`",
        }
    }

    /// Returns the status that the Cluster adds to `ClustersReady`; `None` if it does not count.
    #[must_use]
    pub fn counts_as(self) -> Option<ConditionStatus> {
        match self {
            // A user who creates Clusters in one namespace must not change a condition of a ClusterStack in another.
            Self::Deleting
            | Self::Paused
            | Self::Suspended
            | Self::ReleaseNotOffered
            | Self::NotInitialized => None,
            Self::ReleaseNotFound | Self::NotReady => Some(ConditionStatus::False),
            Self::ReleaseUnknown | Self::NotReported | Self::Unknown => Some(ConditionStatus::Unknown),
            Self::Ready => Some(ConditionStatus::True),
        }
    }

    /// Returns the field of `status.clusters` that counts such Clusters.
    #[must_use]
    pub fn field(self) -> &'static str {
        match self {
            Self::Deleting => "deleting",
            Self::Paused => "paused",
            Self::Suspended => "suspended",
            Self::NotInitialized => "notInitialized",
            Self::ReleaseNotOffered => "notOffered",
            Self::ReleaseNotFound | Self::NotReady => "notReady",
            Self::ReleaseUnknown | Self::NotReported | Self::Unknown => "unknown",
            Self::Ready => "ready",
        }
    }

    /// Determines the readiness of a Cluster.
    #[must_use]
    pub fn of(cluster: &ClusterState) -> Self {
        let without_release = cluster.without_release.as_ref().map(|report| report.status);
        if cluster.deleting {
            Self::Deleting
        } else if cluster.paused {
            Self::Paused
        } else if cluster.suspended {
            Self::Suspended
        } else if without_release == Some(ConditionStatus::False) {
            if cluster.unoffered { Self::ReleaseNotOffered } else { Self::ReleaseNotFound }
        } else if without_release.is_some() {
            Self::ReleaseUnknown
        } else if !cluster.initialized {
            Self::NotInitialized
        } else {
            match cluster.ready.as_ref().map(|report| report.status) {
                None => Self::NotReported,
                Some(ConditionStatus::False) => Self::NotReady,
                Some(ConditionStatus::Unknown) => Self::Unknown,
                Some(ConditionStatus::True) => Self::Ready,
            }
        }
    }
}

/// Computes the condition `ClustersReady` and `status.clusters`.
///
/// The message has numbers by reason and the first names, never the message of a `ClusterAddon`: that changes without a
/// change of its reason, and would make the status of the `ClusterStack` outdated or change all the time.
#[must_use]
pub fn clusters_ready(clusters: &[ClusterState]) -> (Report, ClusterCounts) {
    let mut counts = ClusterCounts::default();
    let not_reported = Report::not_yet_reported();
    let mut counted: BTreeMap<String, &Report> = BTreeMap::new();
    let mut unoffered = Vec::new();
    for cluster in clusters {
        let readiness = ClusterReadiness::of(cluster);
        let number = field(&mut counts, readiness);
        *number = number.saturating_add(1);
        counts.total = counts.total.saturating_add(1);
        let name = format!("{}/{}", cluster.namespace, cluster.name);
        if readiness.counts_as().is_some() {
            let report = cluster.without_release.as_ref().or(cluster.ready.as_ref());
            counted.insert(name, report.unwrap_or(&not_reported));
        } else if readiness == ClusterReadiness::ReleaseNotOffered {
            unoffered.push(name);
        }
    }
    let aside = [
        (counts.deleting, "deleting"),
        (counts.paused, "paused"),
        (counts.suspended, "suspended"),
        (counts.not_initialized, "not initialized"),
    ];
    let aside = aside.iter().filter(|(number, _)| *number > 0);
    let mut aside: Vec<String> = aside.map(|(number, what)| format!("{number} {what}")).collect();
    if counts.not_offered > 0 {
        let names = first(unoffered.iter().map(String::as_str).collect());
        aside.push(format!("{} {} ({names})", counts.not_offered, Reason::ReleaseNotOffered));
    }
    let mut report = sum(&counted);
    if !aside.is_empty() {
        report =
            Report::new(report.status, &report.reason, &format!("{}; {}", report.message, aside.join(", ")));
    }
    (report, counts)
}

/// Sums up the reports that count.
fn sum(counted: &BTreeMap<String, &Report>) -> Report {
    let total = counted.len();
    let good = |message: &str| Report::new(ConditionStatus::True, Reason::Applied.as_str(), message);
    let parts: Vec<(&str, &Report)> = counted.iter().map(|(name, report)| (name.as_str(), *report)).collect();
    let not_ready = parts.iter().filter(|(_, report)| report.status != ConditionStatus::True).count();
    match (aggregate_of(&parts), total) {
        (None, 0) => good("no Cluster to count"),
        (None, 1) => good("1 of 1 Cluster is ready"),
        (None, _) => good(&format!("{total} of {total} Clusters are ready")),
        (Some((status, reason, groups)), _) => {
            let clusters = if total == 1 { "Cluster" } else { "Clusters" };
            let is = if not_ready == 1 { "is" } else { "are" };
            let message = format!("{not_ready} of {total} {clusters} {is} not ready: {groups}");
            Report::new(status, &reason, &message)
        }
    }
}

fn field(counts: &mut ClusterCounts, readiness: ClusterReadiness) -> &mut u32 {
    match readiness {
        ClusterReadiness::Deleting => &mut counts.deleting,
        ClusterReadiness::Paused => &mut counts.paused,
        ClusterReadiness::Suspended => &mut counts.suspended,
        ClusterReadiness::NotInitialized => &mut counts.not_initialized,
        ClusterReadiness::ReleaseNotOffered => &mut counts.not_offered,
        ClusterReadiness::ReleaseNotFound | ClusterReadiness::NotReady => &mut counts.not_ready,
        ClusterReadiness::ReleaseUnknown | ClusterReadiness::NotReported | ClusterReadiness::Unknown => {
            &mut counts.unknown
        }
        ClusterReadiness::Ready => &mut counts.ready,
    }
}

#[cfg(test)]
mod tests;
