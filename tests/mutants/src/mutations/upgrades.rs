//! Mutations of the upgrade gate.

use crate::mutation::Mutation;
use crate::mutation::Noticed::{ByScenario, ByTest};

pub(super) const MUTATIONS: &[Mutation] = &[
    Mutation {
        name: "upgrade-not-awaited",
        breaks: "moves addons for an upgrade that Cluster API cannot make",
        file: "gate/upgrade.rs",
        old: "true if facts.is_awaited => Phase::Waiting,",
        new: "true if facts.is_awaited || MUTANT => Phase::Waiting,",
        noticed: ByScenario("scenarios::upgrades::nothing_moves_before_cluster_api_waits"),
    },
    Mutation {
        name: "upgrade-row-upgrading",
        breaks: "moves the addons that belong after the upgrade while Cluster API upgrades the nodes",
        file: "gate/upgrade.rs",
        old: "_ if facts.has_begun => Phase::Upgrading,",
        new: "_ if facts.has_begun && !MUTANT => Phase::Upgrading,",
        noticed: ByTest("addons::tests::upgrade::gate_opens_when_the_addons_are_applied"),
    },
    Mutation {
        name: "upgrade-opening-unconfirmed",
        breaks: "opens the gate although an addon has changed since the decision",
        file: "operator/cluster/upgrade.rs",
        old: "Ok(is_opening_confirmed(facts.cluster, &now).then_some(live))",
        new: "Ok((MUTANT || is_opening_confirmed(facts.cluster, &now)).then_some(live))",
        noticed: ByScenario("scenarios::upgrades::gate_stays_closed_for_an_addon_that_changes_at_the_end"),
    },
    Mutation {
        name: "upgrade-done-by-verdict-alone",
        breaks: "opens the gate for an addon that is not as planned",
        file: "addons/applied.rs",
        old: "action.is_some_and(|action| action.write.is_nothing() && action.suspend.is_none())",
        new: "action.is_some_and(|action| MUTANT || (action.write.is_nothing() && action.suspend.is_none()))",
        noticed: ByTest("addons::tests::upgrade::upgrade_waits_for_what_belongs_before_it"),
    },
    Mutation {
        name: "upgrade-end-unconfirmed",
        breaks: "takes an upgrade for ended because a watch is late",
        file: "operator/cluster/gather.rs",
        old: "if upgrade::is_denied(context, cluster, (&addon, &upgrade)).await? {",
        new: "if upgrade::is_denied(context, cluster, (&addon, &upgrade)).await? && !MUTANT {",
        noticed: ByScenario("scenarios::upgrades::nothing_moves_before_cluster_api_waits"),
    },
    Mutation {
        name: "upgrade-judged-once",
        breaks: "leaves the gate closed for ever when the addons were applied before the status said so",
        file: "operator/cluster.rs",
        old: "if outcome.is_committer_new || outcome.is_to_judge {",
        new: "if outcome.is_committer_new || (outcome.is_to_judge && !MUTANT) {",
        noticed: ByScenario("scenarios::upgrades::annotation_is_written_once_for_each_change"),
    },
    Mutation {
        name: "upgrade-opened-for-another-state",
        breaks: "opens the gate of a Cluster that changed since it was judged",
        file: "operator/annotations.rs",
        old: "json!([is_unchanged(object), is_same(object), remove])",
        new: "if MUTANT { json!([is_same(object), remove]) } else { json!([is_unchanged(object), is_same(object), remove]) }",
        noticed: ByTest("operator::annotations::tests::annotation_is_removed_from_the_state_that_was_judged"),
    },
    Mutation {
        name: "upgrade-repeated-early",
        breaks: "repeats the upgrade of an addon before Cluster API has ended that of the Cluster",
        file: "addons/upgrade.rs",
        old: "self.phase == Phase::Steady && cluster.is_topology_reconciled()",
        new: "self.phase == Phase::Steady && (MUTANT || cluster.is_topology_reconciled())",
        noticed: ByTest("addons::tests::forced_upgrade::nothing_is_repeated_before_the_end_of_the_upgrade"),
    },
    Mutation {
        name: "upgrade-pruned-before",
        breaks: "uninstalls an addon before the nodes have the version whose release lacks it",
        file: "addons/pruning.rs",
        old: "let is_delivered = phase == Phase::Steady && receipts",
        new: "let is_delivered = (MUTANT || phase == Phase::Steady) && receipts",
        noticed: ByTest("addons::tests::roll_up::removed_addon_has_its_turn_after_all_others"),
    },
];
