//! The reasons that no row of the tables reliably produces, each with the test that does.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use stackflux::api::Reason;

/// A reason, the file of the test that produces it, and the function of the test that checks it.
const ELSEWHERE: &[(Reason, &str, &str)] = &[
    (Reason::Committing, "src/rollup/cluster_stack/tests.rs", "of_git_delivery_only_own_trouble_counts"),
    (
        Reason::CommitNotApplied,
        "src/rollup/cluster_stack/tests.rs",
        "of_git_delivery_only_own_trouble_counts",
    ),
    (
        Reason::DeliveredElsewhere,
        "tests/on_testbed/operator/by_git_wanted.rs",
        "cluster_upgrade_to_next_stack_requires_the_same_git_path",
    ),
    (Reason::PushFailed, "src/rollup/cluster_stack/tests.rs", "of_git_delivery_only_own_trouble_counts"),
    (Reason::FileEdited, "tests/on_testbed/operator/by_git.rs", "edited_file_is_kept"),
    (
        Reason::PullRequestOpen,
        "tests/on_testbed/operator/pull_requests.rs",
        "what_is_planned_waits_in_a_pull_request_until_it_is_merged",
    ),
    (
        Reason::SecretInvalid,
        "tests/on_testbed/operator/secrets.rs",
        "only_named_secrets_are_read_and_none_is_shown",
    ),
    (
        Reason::Published,
        "tests/on_testbed/operator/upstream.rs",
        "what_is_published_upstream_is_offered_by_itself",
    ),
    (
        Reason::PublishFailed,
        "tests/on_testbed/operator/upstream.rs",
        "what_is_published_upstream_is_offered_by_itself",
    ),
    (
        Reason::UpstreamUnavailable,
        "tests/on_testbed/operator/upstream.rs",
        "what_is_published_upstream_is_offered_by_itself",
    ),
    (
        Reason::ChartNameCollision,
        "src/inputs/content/tests.rs",
        "another_content_under_the_same_name_is_refused",
    ),
    (
        Reason::SharesObjects,
        "tests/on_testbed/operator/releases.rs",
        "a_class_that_shares_an_object_with_another_stays",
    ),
    (Reason::ArtifactUnavailable, "src/source/artifact/tests.rs", "unreachable_server_is_reported"),
    (Reason::ArtifactInvalid, "src/source/artifact/tests.rs", "other_bytes_are_not_read"),
    (Reason::NotYetReported, "src/rollup/tests/conditions.rs", "missing_is_never_true"),
    (
        Reason::ApplierUnavailable,
        "tests/on_testbed/operator/outages.rs",
        "wait_until_helm_controller_is_named",
    ),
    (Reason::Pending, "src/rollup/tests/helm_release.rs", "while_all_is_well"),
    (Reason::Progressing, "src/rollup/tests/helm_release.rs", "while_all_is_well"),
    (Reason::Waiting, "src/cli/live/tests/blocking.rs", "why_reports_a_shared_cause_once"),
    (Reason::Retrying, "src/rollup/tests/helm_release.rs", "when_it_fails"),
    (
        Reason::RepeatedlyFailing,
        "tests/on_testbed/operator/failures.rs",
        "failing_addons_report_helm_messages_and_others_stay_ready",
    ),
    (Reason::Failed, "src/rollup/tests/helm_release.rs", "when_it_fails"),
    (Reason::DeadlineExceeded, "src/rollup/tests/moments.rs", "what_is_not_done_by_the_deadline_has_failed"),
    (Reason::Foreign, "src/rollup/tests/helm_release.rs", "what_comes_before_the_status"),
    (
        Reason::AddonRemoved,
        "src/rollup/cluster_addon/tests.rs",
        "what_the_release_drops_keeps_no_addon_from_being_ready",
    ),
    (Reason::Terminating, "src/rollup/tests/helm_release.rs", "what_comes_before_the_status"),
    (Reason::Several, "src/rollup/tests/conditions.rs", "an_aggregate_counts_and_names_only_a_few"),
    (
        Reason::Unrecognized,
        "src/rollup/tests/conditions.rs",
        "a_condition_is_small_and_fit_for_the_api_whatever_flux_says",
    ),
    (Reason::Retiring, "src/rollup/cluster_stack_release/tests.rs", "who_uses_it_and_what_that_means"),
    (
        Reason::InUse,
        "tests/on_testbed/operator/letgo.rs",
        "orphaned_stack_leaves_releases_suspended_and_installed",
    ),
    (Reason::AccessDenied, "tests/on_testbed/operator/strict.rs", "references_are_refused"),
    (Reason::ProviderNotReady, "tests/on_testbed/operator/releases.rs", "the_class_waits_for_the_provider"),
    (
        Reason::WaitingForNodeImages,
        "src/rollup/cluster_stack_release/tests.rs",
        "each_part_that_is_missing_is_named",
    ),
];

/// Asserts that every reason was seen, or has a test that produces it.
pub(super) fn complete(seen: &BTreeSet<String>) {
    let is_named = |reason: &Reason| ELSEWHERE.iter().any(|(elsewhere, ..)| elsewhere == reason);
    let unseen = Reason::ALL.iter().filter(|reason| !seen.contains(reason.as_str()) && !is_named(reason));
    let unseen: Vec<&str> = unseen.map(|reason| reason.as_str()).collect();
    assert!(unseen.is_empty(), "these reasons have neither a row nor a test in ELSEWHERE: {unseen:?}");
}

#[test]
fn functions_of_elsewhere_name_their_reasons() {
    let wrong = ELSEWHERE.iter().filter(|(reason, file, test)| !names(file, test, *reason));
    let wrong: Vec<_> = wrong.map(|(reason, file, test)| format!("{file}: {test}: {reason}")).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Whether a file has a function of that name, and the function names the reason.
fn names(file: &str, test: &str, reason: Reason) -> bool {
    let source = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(file)).unwrap_or_default();
    let body = source.split_once(&format!("fn {test}(")).and_then(|(_, after)| after.split("\n}\n").next());
    body.is_some_and(|body| body.contains(reason.as_str()))
}
