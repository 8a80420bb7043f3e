//! The reconcile of a `ClusterStack`: pins, claims, retirement and deletion.

use crate::mutation::Mutation;
use crate::mutation::Noticed::{ByScenario, ByTest};

pub(super) const MUTATIONS: &[Mutation] = &[
    Mutation {
        name: "pin-moves",
        breaks: "replaces the content of a release that Clusters have",
        file: "subscription/releases.rs",
        old: ".and_then(|object| object.pin().cloned())",
        new: ".and_then(|object| object.pin().cloned().filter(|_| !MUTANT))",
        noticed: ByTest("subscription::tests::releases::release_is_pinned_once_and_keeps_its_pin"),
    },
    Mutation {
        name: "pin-of-earlier-source",
        breaks: "pins the content of the repository that the ClusterStack followed before",
        file: "operator/stack/source.rs",
        old: "now.is_some_and(is_same)",
        new: "(MUTANT || now.is_some_and(is_same))",
        noticed: ByTest("operator::stack::source::tests::artifact_of_an_earlier_spec_is_not_observed"),
    },
    Mutation {
        name: "pin-over-newer",
        breaks: "replaces a ClusterStackRelease that another process has pinned meanwhile",
        file: "operator/stack/pins.rs",
        old: "if let Some(metadata) = object.get_mut(\"metadata\") {",
        new: "if let Some(metadata) = object.get_mut(\"metadata\").filter(|_| !MUTANT) {",
        noticed: ByScenario("scenarios::releases::pin_of_a_release_that_a_list_lacks_stays"),
    },
    Mutation {
        name: "delete-kept-release",
        breaks: "deletes a release that another ClusterStack keeps",
        file: "operator/stack/delete.rs",
        old: "owners.iter().filter(|owner| owner.uid() != stack.uid())).is_some() {",
        new: "owners.iter().filter(|owner| owner.uid() != stack.uid())).is_some() && !MUTANT {",
        noticed: ByScenario("scenarios::deletion::release_with_another_owner_is_left_to_it"),
    },
    Mutation {
        name: "delete-used-stack",
        breaks: "deletes a ClusterStack whose Clusters a list lacked",
        file: "operator/stack/delete.rs",
        old: "if users::any_user(context, release).await? {",
        new: "if users::any_user(context, release).await? && !MUTANT {",
        noticed: ByScenario("scenarios::deletion::deleted_stack_is_kept_while_a_list_lacks_its_clusters"),
    },
    Mutation {
        name: "delete-without-recorded",
        breaks: "ends a ClusterStack whose releases a list lacked, and garbage collection uninstalls them",
        file: "operator/stack/delete.rs",
        old: "add_recorded(context, stack, &mut owned).await?;",
        new: "if !MUTANT {
        add_recorded(context, stack, &mut owned).await?;
    }",
        noticed: ByScenario(
            "scenarios::deletion::orphaned_stack_leaves_releases_suspended_that_a_list_lacks",
        ),
    },
    Mutation {
        name: "claim-without-asking",
        breaks: "takes the releases of a ClusterStack that a list lacked",
        file: "operator/stack/pins.rs",
        old: "&& let Some(other) = unwatched_stack(context, &object).await?",
        new: "&& let Some(other) = unwatched_stack(context, &object).await?.filter(|_| !MUTANT)",
        noticed: ByScenario("scenarios::clusters::release_stays_with_an_owner_that_a_list_lacks"),
    },
    Mutation {
        name: "used-release-counted-unused",
        breaks: "reports a release that Clusters use as unused",
        file: "operator/stack/roll_up.rs",
        old: "let clusters = facts.releases.clusters.get(name).map_or(0, Vec::len);",
        new: "let clusters = facts.releases.clusters.get(name).filter(|_| !MUTANT).map_or(0, Vec::len);",
        noticed: ByTest("operator::stack::tests::release_of_a_cluster_is_counted_as_used"),
    },
    Mutation {
        name: "retire-unread",
        breaks: "deletes releases before it is known which one is the latest",
        file: "subscription/roles.rs",
        old: "let is_unsure = subscribes(facts.spec) && facts.available.is_none();",
        new: "let is_unsure = subscribes(facts.spec) && facts.available.is_none() && !MUTANT;",
        noticed: ByTest("subscription::tests::roles_follow_offer_use_and_history"),
    },
    Mutation {
        name: "budget-forgets-deletions",
        breaks: "deletes more addons in an hour than the budget allows, because a decision forgets the last one",
        file: "operator/budget.rs",
        old: "if self.is_kept {",
        new: "if self.is_kept && !MUTANT {",
        noticed: ByTest("operator::budget::tests::kept_reservation_counts_without_status_for_an_hour"),
    },
];
