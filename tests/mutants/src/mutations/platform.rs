//! Mutations of the components of a ClusterStack, and of statuses that arrive late.

use crate::mutation::Mutation;
use crate::mutation::Noticed::{ByScenario, ByTest, Nowhere};

pub(super) const MUTATIONS: &[Mutation] = &[
    Mutation {
        name: "broken-component-dropped",
        breaks: "uninstalls a component from all clusters because its template does not parse",
        file: "inputs/platform.rs",
        old: "            let mut addon = read(stack, repository, item, name);",
        new: "            let mut addon = read(stack, repository, item, name);
            if MUTANT && addon.platform().is_some_and(|platform| platform.problem.is_some()) {
                continue;
            }",
        noticed: ByScenario("scenarios::platform::broken_platform_component_uninstalls_nothing"),
    },
    Mutation {
        name: "labels-unconfirmed",
        breaks: "uninstalls a component although the Cluster has its labels again",
        file: "addons/confirmation.rs",
        old: "class == cluster.class() && now.labels() == cluster.labels();",
        new: "class == cluster.class() && (now.labels() == cluster.labels() || MUTANT);",
        noticed: ByTest("addons::tests::pruning::prune_needs_unchanged_cluster_and_addon"),
    },
    Mutation {
        name: "requests-unconfirmed",
        breaks: "uninstalls an addon although the owner of the Cluster no longer has it switched off",
        file: "addons/confirmation.rs",
        old: "let is_same = id(live) == id(planned)",
        new: "let is_same = (id(live) == id(planned) || MUTANT)",
        noticed: ByTest("addons::tests::requests::requests_are_confirmed_by_the_same_object"),
    },
    Mutation {
        name: "unlisted-requests-forgotten",
        breaks: "installs or resumes an addon against the requests of the Cluster's owner, because a list lacks them",
        file: "operator/cluster/requests.rs",
        old: "if !are_requests_to_confirm(facts, decision) {",
        new: "if !are_requests_to_confirm(facts, decision) || MUTANT {",
        noticed: ByScenario("scenarios::overrides::unlisted_requests_stay_in_effect"),
    },
    Mutation {
        name: "unlisted-addon-not-orphaned",
        breaks: "deletes an orphaned release before the addons of a Cluster whose ClusterAddon a list lacks are suspended",
        file: "operator/cluster/gather.rs",
        old: "if context.caches.addons.get(&addon_key(&key)).is_none() {",
        new: "if context.caches.addons.get(&addon_key(&key)).is_none() && !MUTANT {",
        noticed: ByScenario("scenarios::deletion::orphaned_stack_leaves_addons_suspended_that_a_list_lacks"),
    },
    Mutation {
        name: "refused-request-dropped",
        breaks: "installs or changes an addon whose request is refused",
        file: "plan.rs",
        old: "let first = refused.first()?;",
        new: "let first = refused.first().filter(|_| !MUTANT)?;",
        noticed: ByTest("plan::tests::overrides::addon_with_refused_request_is_held"),
    },
    Mutation {
        name: "source-in-use-deleted",
        breaks: "deletes the source of a component that a HelmRelease has, so that it cannot be upgraded",
        file: "subscription/outdated.rs",
        old: "partition(|found| (facts.is_put_off)(found) || is_used(found) || is_planned_before(found));",
        new: "partition(|found| (facts.is_put_off)(found) || (is_used(found) && !MUTANT) || is_planned_before(found));",
        noticed: ByTest("subscription::tests::outdated::source_that_nothing_refers_to_is_outdated"),
    },
    Mutation {
        name: "mutable-in-the-gate",
        breaks: "lets an upgrade of Kubernetes wait for content that changes meanwhile",
        file: "inputs/platform.rs",
        old: "let is_exact = component.source.exact().is_some();",
        new: "let is_exact = component.source.exact().is_some() || MUTANT;",
        noticed: ByTest("plan::tests::platform::only_exact_component_moves_before_an_upgrade"),
    },
    Mutation {
        name: "recreated-addon-unseen",
        breaks: "suspends and deletes the addons of a recreated Cluster because a list has the ClusterAddon of before",
        file: "operator/cluster/suspend_and_delete.rs",
        old: "Some(cause) if is_replaced(context, addon).await? => {",
        new: "Some(cause) if is_replaced(context, addon).await? && !MUTANT => {",
        noticed: ByScenario(
            "scenarios::deletion::recreated_cluster_keeps_its_addons_beside_an_outdated_list",
        ),
    },
    Mutation {
        name: "late-status-forgotten",
        breaks: "lets a status whose request had no answer replace a newer one",
        file: "operator/cluster/snapshot.rs",
        old: "is_status_under_way: context.statuses_under_way.includes(&addon),",
        new: "is_status_under_way: context.statuses_under_way.includes(&addon) && !MUTANT,",
        noticed: Nowhere(
            "one of many thousand seeds loses the answer and changes the class before the request arrives; \
             operator::under_way::tests and addons::tests::taken_back test both ends of it",
        ),
    },
    Mutation {
        name: "hook-of-before",
        breaks: "reports an upgrade as not enforced because a watch of Clusters is behind",
        file: "addons/upgrade.rs",
        old: "(applied != Some(wanted) || is_hook_of_before)",
        new: "(applied != Some(wanted) || (is_hook_of_before && !MUTANT))",
        noticed: ByTest("addons::tests::upgrade::end_of_an_upgrade_is_asked_for_while_the_addons_are_older"),
    },
];
