//! The reasons that no row of the tables reliably produces, each with the test that does.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use stackflux::api::Reason;

/// The table of the reasons of `UpgradeGate`.
const GATE: &str = "src/rollup/cluster_addon/upgrade_gate/tests.rs";
const GATE_TABLE: &str = "gate_reports_why_it_is_closed_or_open";

/// The table of the status of a `ClusterAddonOverride`.
const OVERRIDE: &str = "src/rollup/cluster_addon_override/tests.rs";

/// A reason, the file of the test that produces it, and the function of the test that checks it.
const ELSEWHERE: &[(Reason, &str, &str)] = &[
    (Reason::AlreadyExists, "tests/on_testbed/operator/existing.rs", "expect_held"),
    (
        Reason::ComponentInvalid,
        "tests/simulation/scenarios/platform.rs",
        "broken_platform_component_uninstalls_nothing",
    ),
    (Reason::FluxTooOld, "tests/on_testbed/operator/old_flux.rs", "renamed_chart_is_held"),
    (
        Reason::FluxVersionUnknown,
        "src/addons/tests/renamed.rs",
        "renamed_chart_is_held_unless_it_is_upgraded_in_place",
    ),
    (Reason::SettingsInvalid, "src/plan/tests/settings.rs", "settings_for_another_form_hold_the_addon"),
    (Reason::Accepted, OVERRIDE, "each_request_has_its_answer"),
    (Reason::OverrideRefused, OVERRIDE, "each_request_has_its_answer"),
    (Reason::ClusterNotFound, OVERRIDE, "requests_without_a_release_keep_their_answers"),
    (Reason::Committing, "src/rollup/cluster_stack/tests.rs", "git_delivery_counts_only_own_problems"),
    (Reason::CommitNotApplied, "src/rollup/cluster_stack/tests.rs", "git_delivery_counts_only_own_problems"),
    (
        Reason::DeliveredElsewhere,
        "tests/on_testbed/operator/by_git_wanted.rs",
        "upgrade_to_next_stack_requires_same_git_path",
    ),
    (Reason::PushFailed, "src/rollup/cluster_stack/tests.rs", "git_delivery_counts_only_own_problems"),
    (Reason::FileEdited, "tests/on_testbed/operator/by_git.rs", "edited_file_is_kept"),
    (
        Reason::PullRequestOpen,
        "tests/on_testbed/operator/pull_requests.rs",
        "plan_waits_until_its_pull_request_is_merged",
    ),
    (
        Reason::SecretInvalid,
        "tests/on_testbed/operator/secrets.rs",
        "only_named_secrets_are_read_and_none_is_shown",
    ),
    (Reason::Published, "tests/on_testbed/operator/upstream.rs", "upstream_release_is_published_and_offered"),
    (
        Reason::PublishFailed,
        "tests/on_testbed/operator/upstream.rs",
        "upstream_release_is_published_and_offered",
    ),
    (
        Reason::UpstreamUnavailable,
        "tests/on_testbed/operator/upstream.rs",
        "upstream_release_is_published_and_offered",
    ),
    (
        Reason::ChartNameCollision,
        "src/inputs/content/tests.rs",
        "different_content_under_same_name_is_refused",
    ),
    (Reason::SharesObjects, "tests/on_testbed/operator/releases.rs", "class_with_shared_object_is_kept"),
    (Reason::ArtifactUnavailable, "src/source/artifact/tests.rs", "unreachable_server_is_reported"),
    (Reason::ArtifactInvalid, "src/source/artifact/tests.rs", "other_bytes_are_not_read"),
    (Reason::WaitingForDependency, "src/addons/tests/dependents.rs", "held"),
    (Reason::WaitingForStage, "src/plan/tests/stages.rs", "hold_says_what_precedes_the_addon"),
    (Reason::WaitingForUpgrade, "src/plan/tests.rs", "upgrade_holds_addons_by_its_phase"),
    (Reason::NotUpgrading, GATE, GATE_TABLE),
    (Reason::WaitingForClusterAPI, GATE, GATE_TABLE),
    (Reason::WaitingForAddons, GATE, GATE_TABLE),
    (Reason::Opened, GATE, GATE_TABLE),
    (Reason::Upgrading, GATE, GATE_TABLE),
    (Reason::Forced, GATE, GATE_TABLE),
    (Reason::Off, GATE, GATE_TABLE),
    (Reason::ForeignAnnotation, GATE, GATE_TABLE),
    (Reason::NotEnforced, GATE, GATE_TABLE),
    (Reason::Bypassed, GATE, GATE_TABLE),
    (
        Reason::GateNotWritable,
        "tests/on_testbed/operator/go_samples.rs",
        "default_source_serves_v1beta1_clusters",
    ),
    (Reason::ControlPlaneUnreadable, GATE, GATE_TABLE),
    (Reason::NotYetReported, "src/rollup/tests/conditions.rs", "missing_is_never_true"),
    (
        Reason::ApplierUnavailable,
        "tests/on_testbed/operator/outages.rs",
        "wait_until_helm_controller_is_named",
    ),
    (Reason::Pending, "src/rollup/tests/helm_release.rs", "while_all_is_well"),
    (Reason::Progressing, "src/rollup/tests/helm_release.rs", "while_all_is_well"),
    (Reason::Waiting, "src/cli/live/tests/blocking.rs", "why_reports_a_shared_cause_once"),
    (Reason::Retrying, "src/rollup/tests/helm_release.rs", "failed_release_gives_its_verdict"),
    (
        Reason::RepeatedlyFailing,
        "tests/on_testbed/operator/failures.rs",
        "failing_addons_report_helm_messages",
    ),
    (Reason::Failed, "src/rollup/tests/helm_release.rs", "failed_release_gives_its_verdict"),
    (Reason::DeadlineExceeded, "src/rollup/tests/moments.rs", "object_not_ready_by_deadline_has_failed"),
    (Reason::Foreign, "src/rollup/tests/helm_release.rs", "metadata_and_spec_precede_the_status"),
    (Reason::AddonRemoved, "src/rollup/cluster_addon/tests.rs", "removed_addon_does_not_affect_addons_ready"),
    (Reason::FileRemoved, "src/rollup/cluster_addon/tests.rs", "removed_addon_does_not_affect_addons_ready"),
    (Reason::Terminating, "src/rollup/tests/helm_release.rs", "metadata_and_spec_precede_the_status"),
    (Reason::Several, "src/rollup/tests/conditions.rs", "aggregate_counts_all_and_names_a_few"),
    (Reason::Unrecognized, "src/rollup/tests/conditions.rs", "condition_is_valid_for_any_message_of_flux"),
    (Reason::Retiring, "src/rollup/cluster_stack_release/tests.rs", "in_use_follows_users_and_deletion"),
    (Reason::InUse, "tests/on_testbed/operator/letgo.rs", "orphaned_stack_leaves_releases_suspended"),
    (Reason::AccessDenied, "tests/on_testbed/operator/strict.rs", "references_are_refused"),
    (Reason::SourceNotAllowed, "src/inputs/consent.rs", "refusal_has_the_command_of_the_owner"),
    (Reason::CommitLost, "tests/on_testbed/operator/by_git.rs", "lost_commit_is_delivered_again"),
    (
        Reason::ReleaseNotOffered,
        "tests/on_testbed/operator/tenants.rs",
        "brings_nothing_into_other_namespaces",
    ),
    (Reason::ProviderNotReady, "tests/on_testbed/operator/releases.rs", "class_waits_for_the_provider"),
    (Reason::WaitingForNodeImages, "src/rollup/cluster_stack_release/tests.rs", "missing_parts_are_named"),
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
