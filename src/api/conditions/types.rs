//! The table of condition types: the word, and what the condition says.

use crate::names::words;

/// The types of conditions, each with what it says.
macro_rules! types {
    ($($variant:ident: $meaning:literal;)*) => {
        words! {
            /// The type of a condition.
            ConditionType { $(#[doc = $meaning] $variant,)* }
        }

        impl ConditionType {
            /// Returns what a condition of this type says, for each kind that has it.
            #[must_use]
            pub fn meaning(self) -> &'static str {
                match self { $(Self::$variant => $meaning),* }
            }
        }
    };
}

types! {
    Ready:
        "All kinds: the sum of the others. As in kstatus.";
    Reconciling:
        "All kinds: the object is being reconciled. Absent otherwise. As in kstatus.";
    Stalled:
        "All kinds: progress needs a change by a user. Absent otherwise. As in kstatus.";
    SourceReady:
        "`ClusterStack`: Flux follows the stack repository, and it was read.";
    ReleasesSynced:
        "`ClusterStack`: a `ClusterStackRelease` exists for each release that is offered or in use, and no others exist.";
    ClusterClassesReady:
        "`ClusterStack`: the cluster classes of all releases in use exist.";
    ComponentsReady:
        "`ClusterStack`, with components of its own: all of them can be used.";
    ClustersReady:
        "`ClusterStack`: the Clusters of its classes are ready. `Ready` does not include it.";
    AddonsReady:
        "`ClusterAddon`: the addons of the Cluster are ready.";
    ReleasesPublished:
        "`ClusterStack`, with an upstream source: the releases that it offers are in the stack repository.";
    ReleaseValid:
        "`ClusterStackRelease`: the release was read and has no errors.";
    ProviderReady:
        "`ClusterStackRelease`: the provider's object reports that it is ready.";
    SourcesReady:
        "`ClusterStackRelease`, with components: Flux has fetched all sources of the release.";
    NodeImagesReady:
        "`ClusterStackRelease`: the node images were applied and are ready.";
    ClusterClassReady:
        "`ClusterStackRelease`: the cluster class was applied and is ready.";
    InUse:
        "`ClusterStackRelease`: a cluster uses the release.";
    ClusterAvailable:
        "`ClusterAddon`: the cluster's control plane is initialized, and nothing holds the cluster.";
    ReleaseReady:
        "`ClusterAddon`: the release of the cluster's class can be used.";
    ValuesRendered:
        "`ClusterAddon`: all fields that the values templates read exist.";
    Delivered:
        "`ClusterAddon`: the Flux objects are as planned. `ClusterStack`, with delivery through Git: they are committed, \
        and Flux has applied the commit.";
    Accepted:
        "`ClusterAddonOverride`: all requests are accepted.";
    UpgradeGate:
        "`ClusterAddon`: nothing of stackflux delays an upgrade to another Kubernetes version.";
}
