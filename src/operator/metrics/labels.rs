//! The labels of metrics, and the words that they take.

use prometheus_client::encoding::EncodeLabelSet;

use crate::runtime::metrics::label;

label! {
    /// What is reconciled: each has a queue of its own.
    Queue {
        /// `ClusterStack`.
        ClusterStack => "ClusterStack",
        /// `ClusterStackRelease`.
        ClusterStackRelease => "ClusterStackRelease",
        /// `Cluster`, with its `ClusterAddon`.
        Cluster => "Cluster",
        /// Commits of a `ClusterStack` that is delivered through Git.
        Commit => "Commit",
        /// Releases that a `ClusterStack` brings from its upstream source.
        Publish => "Publish",
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

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct ControllerLabels {
    pub(super) controller: &'static str,
}
