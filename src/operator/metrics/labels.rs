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

words! {
    /// The operations on Git repositories, registries and forges.
    RemoteOperation {
        /// Lists the releases of an upstream source.
        ListReleases => "list-releases",
        /// Fetches a release from an upstream source.
        FetchRelease => "fetch-release",
        /// Reads the releases of a stack repository in Git.
        ReadRepository => "read-repository",
        /// Commits a release to a stack repository in Git, and pushes.
        PublishRelease => "publish-release",
        /// Commits Flux objects of delivery through Git, and pushes if they changed.
        Commit => "commit",
        /// Finds or opens a pull request.
        PullRequest => "pull-request",
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct RemoteLabels {
    pub(super) operation: &'static str,
    pub(super) outcome: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct OperationLabels {
    pub(super) operation: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct ObjectLabels {
    pub(super) kind: String,
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
