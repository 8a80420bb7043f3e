//! The moments of a cluster's life at which addons move.

use crate::names::words;

words! {
    /// A moment of a cluster's life, by Cluster API's name of the hook.
    Hook {
        /// The control plane of a new cluster answers for the first time.
        AfterControlPlaneInitialized,
        /// Cluster API is about to upgrade the control plane.
        BeforeClusterUpgrade,
        /// Cluster API has upgraded the whole cluster.
        AfterClusterUpgrade,
    }
}
