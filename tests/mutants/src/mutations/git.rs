//! Delivery through Git.

use crate::mutation::Mutation;
use crate::mutation::Noticed::ByTest;

pub(super) const MUTATIONS: &[Mutation] = &[
    Mutation {
        name: "commit-before-status",
        breaks: "leaves the files of a deleted Cluster in the repository, because no status names it",
        file: "addons/taken_back.rs",
        old: "committed_by(addon) == Some(available.stack_name())",
        new: "MUTANT || committed_by(addon) == Some(available.stack_name())",
        noticed: ByTest(
            "addons::tests::taken_back::nothing_is_committed_before_the_status_names_the_committer",
        ),
    },
    Mutation {
        name: "commit-answers-newer-request",
        breaks: "takes a change for committed that was requested during the commit of another",
        file: "operator/git_delivery/pending_commits.rs",
        old: "subjects.requested.get_mut(subject).filter(|pending| pending.digest == change.digest())",
        new: "subjects.requested.get_mut(subject).filter(|pending| pending.digest == change.digest() || MUTANT)",
        noticed: ByTest(
            "operator::git_delivery::pending_commits::tests::change_replaced_during_pass_stays_pending",
        ),
    },
    Mutation {
        name: "first-commit-without-applied",
        breaks: "makes Flux uninstall the addons of paused Clusters after a branch was lost",
        file: "operator/git_delivery/job.rs",
        old: "missing::hold(&self.applied, plan, &self.batch, &place)",
        new: "missing::hold(&self.applied, plan, &self.batch, &place).filter(|_| !MUTANT)",
        noticed: ByTest("operator::git_delivery::job::tests::first_commit_lacks_no_object_that_flux_applied"),
    },
];
