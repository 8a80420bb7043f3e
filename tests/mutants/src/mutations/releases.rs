//! The reconcile of a release, and its end.

use crate::mutation::Mutation;
use crate::mutation::Noticed::{ByScenario, ByTest, Nowhere};

pub(super) const MUTATIONS: &[Mutation] = &[
    Mutation {
        name: "sources-before-class",
        breaks: "deletes the charts of a class that Flux is still uninstalling",
        file: "operator/release/tear_down.rs",
        old: "if !uninstall_all(context, kind, made).await? {",
        new: "if !uninstall_all(context, kind, made).await? && !MUTANT {",
        noticed: ByScenario("scenarios::releases::release_without_users_is_deleted_after_its_time"),
    },
    Mutation {
        name: "uninstall-without-list",
        breaks: "uninstalls the class of a new Cluster that no watch has shown",
        file: "operator/release/tear_down.rs",
        old: "users::any_listed_user(context, release).await?;",
        new: "users::any_listed_user(context, release).await? && !MUTANT;",
        noticed: ByScenario("scenarios::releases::class_of_a_cluster_that_no_watch_reports_is_kept"),
    },
    Mutation {
        name: "uninstall-shared-class",
        breaks: "uninstalls objects that the class of another release needs too",
        file: "operator/release/tear_down.rs",
        old: "inventory::shared_object_now(context, release).await?;",
        new: "inventory::shared_object_now(context, release).await?.filter(|_| !MUTANT);",
        noticed: Nowhere(
            "the stand-in for Flux has no object in two classes; on the testbed, \
             operator::releases::class_with_shared_object_is_kept has one",
        ),
    },
    Mutation {
        name: "delete-shared-source",
        breaks: "deletes the source of another release",
        file: "operator/release/tear_down.rs",
        old: "if is_of_others(release, &found) || is_shared(release, others.iter().map(|other| &**other), &found) {",
        new: "let is_needed = is_of_others(release, &found) || is_shared(release, others.iter().map(|other| &**other), &found);
        if is_needed && !MUTANT {",
        noticed: ByScenario("scenarios::releases::release_without_users_is_deleted_after_its_time"),
    },
    Mutation {
        name: "suspended-stack-delivered",
        breaks: "delivers to the Clusters of a suspended ClusterStack",
        file: "operator/release/roll_up.rs",
        old: "suspended: found.owner.spec.suspend,",
        new: "suspended: found.owner.spec.suspend && !MUTANT,",
        noticed: ByTest("operator::release::tests::clusters_know_whether_their_stack_is_suspended"),
    },
    Mutation {
        name: "class-before-provider",
        breaks: "installs a class whose images the provider does not have yet",
        file: "subscription/delivery.rs",
        old: "if let Some(problem) = facts.provider_problem {",
        new: "if let Some(problem) = facts.provider_problem.filter(|_| !MUTANT) {",
        noticed: ByTest("subscription::tests::delivery::steps_wait_for_taken_names_provider_and_images"),
    },
];
