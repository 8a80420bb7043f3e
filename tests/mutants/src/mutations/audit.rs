//! The mutations of the audit that showed what the simulations did not see.

use crate::mutation::Mutation;
use crate::mutation::Noticed::{ByScenario, ByTest};

pub(super) const MUTATIONS: &[Mutation] = &[
    Mutation {
        name: "prune-unconfirmed",
        breaks: "uninstalls a dropped addon although the Cluster was paused or moved meanwhile",
        file: "operator/cluster/prune.rs",
        old: "|| !confirm(context, facts.cluster, &facts.snapshot.addon).await?",
        new: "|| !confirm(context, facts.cluster, &facts.snapshot.addon).await? && !MUTANT",
        noticed: ByScenario("scenarios::regrets::addon_that_the_class_has_again_is_there"),
    },
    Mutation {
        name: "prune-before-status",
        breaks: "uninstalls addons that no status counts, because the status could not be written",
        file: "operator/cluster.rs",
        old: "let next = write_status(context, key, &facts, &outcome).await?;",
        new: "let next = match write_status(context, key, &facts, &outcome).await {
            Err(_) if MUTANT => Next::Await,
            next => next?,
        };",
        noticed: ByScenario("scenarios::clusters::installed_releases_keep_their_names"),
    },
    Mutation {
        name: "write-failure-ignored",
        breaks: "reports an addon as delivered whose object the API server has refused",
        file: "operator/cluster/act.rs",
        old: "Err(error) => _ = failures.insert(name, error),",
        new: "Err(_) if MUTANT => {}
            Err(error) => _ = failures.insert(name, error),",
        noticed: ByScenario("scenarios::clusters::paused_cluster_is_not_written_until_resumed"),
    },
    Mutation {
        name: "next-addon-before-prune",
        breaks: "lets the next ClusterAddon resume objects that Flux is about to uninstall",
        file: "operator/cluster/suspend_and_delete.rs",
        old: "Some(CommitState::Committed) if awaits_prune =>",
        new: "Some(CommitState::Committed) if awaits_prune && !MUTANT =>",
        noticed: ByScenario("scenarios::git::objects_that_flux_is_to_delete_stay_suspended"),
    },
    Mutation {
        name: "push-without-lease",
        breaks: "pushes a commit from a process that is no longer the leader",
        file: "operator/git_delivery/job.rs",
        old: "if !(self.may_write)() {",
        new: "if !(self.may_write)() && !MUTANT {",
        noticed: ByTest("operator::git_delivery::job::tests::only_the_leader_pushes"),
    },
    Mutation {
        name: "retire-confirmed-once",
        breaks: "deletes a release that a Cluster has begun to use since the decision",
        file: "operator/stack/retire.rs",
        old: "if !is_unused(context, stack, release).await? {",
        new: "if !is_unused(context, stack, release).await? && !MUTANT {",
        noticed: ByScenario("scenarios::regrets::release_used_again_after_its_deletion_is_counted_stays"),
    },
    Mutation {
        name: "orphan-unconfirmed",
        breaks: "orphans addons although another ClusterStack keeps the release",
        file: "operator/cluster/hand_over.rs",
        old: "confirm_orphaning(context, release).await?,",
        new: "confirm_orphaning(context, release).await? || MUTANT,",
        noticed: ByScenario("scenarios::regrets::release_that_another_stack_keeps_unseen_is_not_orphaned"),
    },
    Mutation {
        name: "ready-of-earlier-release",
        breaks: "counts a Cluster as ready by the Ready of the release that it had before",
        file: "operator/stack/clusters.rs",
        old: "*desired == release.to_string()",
        new: "(*desired == release.to_string() || MUTANT)",
        noticed: ByTest("operator::stack::clusters::tests::cluster_is_ready_by_the_ready_of_its_release"),
    },
    Mutation {
        name: "cluster-addon-over-existing",
        breaks: "takes over the ClusterAddon of an earlier Cluster of the name, with its status",
        file: "operator/cluster/cluster_addon.rs",
        old: "None => metadata[\"resourceVersion\"] = json!(ABSENT),",
        new: "None if MUTANT => {}
            None => metadata[\"resourceVersion\"] = json!(ABSENT),",
        noticed: ByScenario("scenarios::deletion::recreated_cluster_never_gets_an_addon_that_a_list_lacks"),
    },
    Mutation {
        name: "budget-without-reservations",
        breaks: "uninstalls more addons in an hour than the budget allows, because Clusters decide at the same time",
        file: "operator/budget.rs",
        old: "stacks.get(stack).unwrap_or(&none);",
        new: "stacks.get(stack).filter(|_| !MUTANT).unwrap_or(&none);",
        noticed: ByScenario("scenarios::clusters::dropped_addon_of_many_clusters_waits_for_budget"),
    },
    Mutation {
        name: "uninstall-suspended",
        breaks: "leaves the objects of a class in the cluster, because its HelmRelease is deleted while suspended",
        file: "operator/release/tear_down.rs",
        old: "if let Some(suspend) = suspension(&found, Purpose::Uninstall) {",
        new: "if let Some(suspend) = suspension(&found, Purpose::Uninstall).filter(|_| !MUTANT) {",
        noticed: ByScenario("scenarios::regrets::class_suspended_by_a_user_is_uninstalled_with_its_release"),
    },
    Mutation {
        name: "prune-changed-object",
        breaks: "uninstalls an addon whose object another client changed since the decision",
        file: "operator/cluster/prune.rs",
        old: "if !is_still_due(candidate, &live, addon) {",
        new: "if !is_still_due(candidate, &live, addon) && !MUTANT {",
        noticed: ByScenario("scenarios::releases::dropped_addon_suspended_by_a_user_stays"),
    },
    Mutation {
        name: "new-release-without-clusters",
        breaks: "never delivers to Clusters that were reconciled before a list had their release",
        file: "operator/enqueue.rs",
        old: "if let (None, Ok(name)) = (&change.before, key.name.parse::<ReleaseName>()) {",
        new: "if let (None, Ok(name), false) = (&change.before, key.name.parse::<ReleaseName>(), MUTANT) {",
        noticed: ByScenario("scenarios::delivery::change_while_no_list_has_the_release_is_delivered"),
    },
    Mutation {
        name: "users-only-of-the-watch",
        breaks: "deletes a release whose users a list of Clusters lacked",
        file: "operator/release/users.rs",
        old: "any_known_user(context, release).await? || any_listed_user(context, release).await?",
        new: "any_known_user(context, release).await? || (!MUTANT && any_listed_user(context, release).await?)",
        noticed: ByScenario("scenarios::releases::release_of_a_cluster_that_no_watch_reports_stays"),
    },
    Mutation {
        name: "retire-before-status",
        breaks: "deletes releases that no status counts, because the status could not be written",
        file: "operator/stack.rs",
        old: "write_status(context, &facts, &receipts, &outcome).await?;
    let left_over",
        new: "let written = write_status(context, &facts, &receipts, &outcome).await;
    if !MUTANT {
        written?;
    }
    let left_over",
        noticed: ByScenario("scenarios::releases::release_used_again_during_deletion_is_recreated"),
    },
    Mutation {
        name: "without-namespace-as-owner",
        breaks: "lets a deletion in the foreground uninstall all addons of a cluster",
        file: "plan/delivery.rs",
        old: "FluxKind::of(kind).is_some_and(|kind| !kind.is_source())",
        new: "!MUTANT && FluxKind::of(kind).is_some_and(|kind| !kind.is_source())",
        noticed: ByTest("plan::delivery::tests::object_is_skipped_only_if_known_as_planned"),
    },
    Mutation {
        name: "write-after-fence",
        breaks: "sends a write that was begun before another process became the leader",
        file: "runtime/lease/fence.rs",
        old: "let guarded = poll_fn(|context| match self.check() {",
        new: "let guarded = poll_fn(|context| match self.check().or(if MUTANT { Ok(()) } else { Err(NotLeader) }) {",
        noticed: ByTest("runtime::lease::tests::started_write_stops_at_closed_fence"),
    },
];
