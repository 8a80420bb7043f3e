//! What a change enqueues.

use crate::mutation::Mutation;
use crate::mutation::Noticed::ByScenario;

pub(super) const MUTATIONS: &[Mutation] = &[
    Mutation {
        name: "counts-not-enqueued",
        breaks: "leaves the counts of a ClusterStack as they were",
        file: "operator/enqueue.rs",
        old: "if before.and_then(counted) == now.and_then(counted) && is_suspended(before) == is_suspended(now) {",
        new: "if MUTANT || before.and_then(counted) == now.and_then(counted) && is_suspended(before) == is_suspended(now) {",
        noticed: ByScenario("scenarios::delivery::first_delivery_installs_each_addon_once"),
    },
    Mutation {
        name: "use-not-enqueued",
        breaks: "leaves the use of a release as it was before a Cluster came, moved or went",
        file: "operator/enqueue.rs",
        old: "if change.before.as_deref().map(use_of) != change.now.as_deref().map(use_of) {",
        new: "if change.before.as_deref().map(use_of) != change.now.as_deref().map(use_of) && !MUTANT {",
        noticed: ByScenario("scenarios::clusters::moved_cluster_keeps_its_addons_in_both_places"),
    },
    Mutation {
        name: "terminating-namespace-not-enqueued",
        breaks: "lets Kubernetes uninstall the addons of a namespace that is being deleted",
        file: "operator/enqueue.rs",
        old: "for cluster in clusters {
        context.triggers.clusters.now(cluster);
    }
}

/// Handles a change of an object that",
        new: "for cluster in clusters.into_iter().filter(|_| !MUTANT) {
        context.triggers.clusters.now(cluster);
    }
}

/// Handles a change of an object that",
        noticed: ByScenario("scenarios::deletion::deleted_namespace_uninstalls_nothing"),
    },
    Mutation {
        name: "settings-not-enqueued",
        breaks: "never delivers a changed setting or release to the Clusters",
        file: "operator/context.rs",
        old: "if self.resolutions.set(release, found) {",
        new: "if self.resolutions.set(release, found) && !MUTANT {",
        noticed: ByScenario("scenarios::delivery::changed_settings_are_in_every_object"),
    },
];
