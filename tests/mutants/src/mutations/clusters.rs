//! The reconcile of a Cluster, and what it decides by.

use crate::mutation::Mutation;
use crate::mutation::Noticed::{ByScenario, ByTest};

pub(super) const MUTATIONS: &[Mutation] = &[
    Mutation {
        name: "cluster-gone-from-the-cache",
        breaks: "suspends and deletes all addons of a Cluster that a list of Clusters lacks",
        file: "operator/cluster/suspend_and_delete.rs",
        old: "let cluster = cluster.as_ref().map(|cluster| &cluster.cluster);
    let live",
        new: "let cluster = cluster.as_ref().map(|cluster| &cluster.cluster);
    let cluster = cluster.filter(|_| !MUTANT || context.caches.clusters.get(key).is_some());
    let live",
        noticed: ByScenario("scenarios::deletion::cluster_that_a_list_lacks_keeps_its_addons"),
    },
    Mutation {
        name: "ready-while-delivering",
        breaks: "leaves Ready=True of the earlier content while the operator writes another",
        file: "operator/cluster.rs",
        old: "let Some(status) = ready_taken_back(facts, decision) else",
        new: "let Some(status) = ready_taken_back(facts, decision).filter(|_| !MUTANT) else",
        noticed: ByScenario("scenarios::delivery::changed_field_of_a_cluster_reaches_its_values"),
    },
    Mutation {
        name: "write-over-object-of-others",
        breaks: "takes over an object that a user gave the name of a planned one",
        file: "operator/deliver.rs",
        old: "Precondition::Absent => metadata[\"resourceVersion\"] = json!(ABSENT),",
        new: "Precondition::Absent if MUTANT => {}
            Precondition::Absent => metadata[\"resourceVersion\"] = json!(ABSENT),",
        noticed: ByTest("operator::deliver::tests::write_has_the_state_that_it_is_decided_for"),
    },
    Mutation {
        name: "resume-suspended-by-user",
        breaks: "resumes an object that a user suspended",
        file: "plan/delivery.rs",
        old: "(object.suspended && object.metadata.suspended_by_settings)",
        new: "(object.suspended && (object.metadata.suspended_by_settings || MUTANT))",
        noticed: ByTest("plan::delivery::tests::suspension_follows_the_purpose"),
    },
    Mutation {
        name: "addons-without-source",
        breaks: "installs what the source of another client has",
        file: "addons/decision.rs",
        old: "if !is_blocked && (decision",
        new: "if (!is_blocked || MUTANT) && (decision",
        noticed: ByTest("addons::tests::decision::addons_wait_for_a_source_that_is_taken_or_repaired_later"),
    },
    Mutation {
        name: "finalizer-off-with-objects",
        breaks: "lets garbage collection uninstall an addon that a list lacked when its ClusterAddon ended",
        file: "operator/cluster/hand_over.rs",
        old: "if is_owner {",
        new: "if is_owner && !MUTANT {",
        noticed: ByScenario(
            "scenarios::deletion::deleted_cluster_addon_hands_over_objects_that_a_list_lacks",
        ),
    },
    Mutation {
        name: "delivered-before-applied",
        breaks: "reports a release as delivered whose commit Flux has not applied",
        file: "addons/receipts.rs",
        old: "&& self.on_their_way.is_empty()",
        new: "&& (self.on_their_way.is_empty() || MUTANT)",
        noticed: ByTest("addons::tests::roll_up::receipts_give_reason_for_missing_delivery"),
    },
    Mutation {
        name: "request-answered-while-paused",
        breaks: "answers a request to reconcile that nothing has carried out",
        file: "addons/roll_up.rs",
        old: "requested_at: None,",
        new: "requested_at: if MUTANT { requested_at(addon) } else { None },",
        noticed: ByTest("addons::tests::roll_up::paused_cluster_reports_only_the_pause"),
    },
    Mutation {
        name: "suspended-addon-delivered",
        breaks: "delivers to a Cluster whose ClusterAddon is suspended",
        file: "operator/cluster/gather.rs",
        old: "resolved.suspended || addon.spec.suspend;",
        new: "resolved.suspended || (addon.spec.suspend && !MUTANT);",
        noticed: ByScenario("scenarios::clusters::suspended_cluster_addon_is_not_written"),
    },
    Mutation {
        name: "status-over-newer",
        breaks: "replaces a status that another process has written since the decision",
        file: "operator/status.rs",
        old: "&& latest.status() == object.status()",
        new: "&& (MUTANT || latest.status() == object.status())",
        noticed: ByTest("operator::status::tests::later_state_is_the_same_with_the_same_status_alone"),
    },
];
