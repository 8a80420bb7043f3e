//! The labels of metrics, and their values.

use prometheus_client::encoding::EncodeLabelSet;

use crate::names::words;

words! {
    /// The queues, one for each kind of reconcile.
    Queue {
        /// `ClusterStack`.
        ClusterStack,
        /// `ClusterStackRelease`.
        ClusterStackRelease,
        /// `Cluster` and its `ClusterAddon`.
        Cluster,
        /// Commits of a `ClusterStack` that is delivered through Git.
        Commit,
        /// Releases to publish from the upstream source of a `ClusterStack`.
        Publish,
    }
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, EncodeLabelSet)]
pub(super) struct VerdictLabels {
    pub(super) kind: String,
    pub(super) verdict: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, EncodeLabelSet)]
pub(super) struct HoldLabels {
    pub(super) reason: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, EncodeLabelSet)]
pub(super) struct ClusterLabels {
    pub(super) ready: String,
    pub(super) reason: String,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, EncodeLabelSet)]
pub(super) struct UpgradeLabels {
    pub(super) phase: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct ControllerLabels {
    pub(super) controller: &'static str,
}
