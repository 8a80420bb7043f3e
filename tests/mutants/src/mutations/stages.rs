//! Mutations of stages and of dependencies between addons.

use crate::mutation::Mutation;
use crate::mutation::Noticed::{ByScenario, ByTest};

pub(super) const MUTATIONS: &[Mutation] = &[
    Mutation {
        name: "dependents-not-held",
        breaks: "writes an addon before the manifests that it depends on are applied",
        file: "addons/dependents.rs",
        old: "if dependents.is_empty() ||",
        new: "if MUTANT || dependents.is_empty() ||",
        noticed: ByScenario("scenarios::dependencies::addon_waits_for_what_flux_does_not_wait_for"),
    },
    Mutation {
        name: "dependents-judged-once",
        breaks: "does not look again at an addon that waits for another one",
        file: "addons/roll_up.rs",
        old: "let waits_for_addons = facts.upgrade.depends_on_addons() || waits_for_others(facts);",
        new: "let waits_for_addons = facts.upgrade.depends_on_addons() || (!MUTANT && waits_for_others(facts));",
        noticed: ByScenario("scenarios::dependencies::addon_waits_for_what_flux_does_not_wait_for"),
    },
    Mutation {
        name: "stage-deletion-unrecorded",
        breaks: "leaves a deletion behind that no status has recorded, so that a crash deletes what was installed again",
        file: "plan/stages.rs",
        old: "let is_done = |stage: &Stage| stage.action == Action::Apply && is_applied(&stage.addon);",
        new: "let is_done = |stage: &Stage| (MUTANT || stage.action == Action::Apply) && is_applied(&stage.addon);",
        noticed: ByTest("plan::tests::stages::next_step_follows_when_all_is_applied"),
    },
    Mutation {
        name: "stage-deletion-no-barrier",
        breaks: "applies what comes after a deletion at once",
        file: "plan/stages.rs",
        old: "rest.iter().take_while(|stage| stage.action == Action::Apply).count()",
        new: "rest.iter().take_while(|stage| MUTANT || stage.action == Action::Apply).count()",
        noticed: ByTest("plan::tests::stages::stages_run_in_their_order"),
    },
    Mutation {
        name: "stage-first-unawaited",
        breaks: "moves the rest before what moves first is applied",
        file: "plan/stages.rs",
        old: "let is_first_done = self.unlisted_first(release).all(is_applied);",
        new: "let is_first_done = MUTANT || self.unlisted_first(release).all(is_applied);",
        noticed: ByTest("plan::tests::stages::next_step_follows_when_all_is_applied"),
    },
    Mutation {
        name: "stage-deletion-early",
        breaks: "runs the stages of an upgrade while Cluster API does not wait",
        file: "plan/stages.rs",
        old: "Phase::Requested => has_deleted(list(release, hook), done),",
        new: "Phase::Requested => MUTANT || has_deleted(list(release, hook), done),",
        noticed: ByTest("plan::tests::stages::stages_run_in_their_order"),
    },
    Mutation {
        name: "stages-unconfirmed",
        breaks: "deletes an addon although the stages have come further since",
        file: "addons/confirmation.rs",
        old: "    of(one) == of(other)",
        new: "    MUTANT || of(one) == of(other)",
        noticed: ByTest("addons::tests::pruning::prune_needs_unchanged_cluster_and_addon"),
    },
];
