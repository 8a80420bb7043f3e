//! The truth tables over records of a running Flux 2.9: every file of `tests/recorded` and its verdict.
//!
//! `cargo run --example record` writes the files again; `README.md` beside them describes how.

use std::collections::BTreeSet;

use super::*;
use crate::error::Class;
use crate::rollup;

/// The file's name without its extension, its content, and the beginning of its [verdict in short](short): the ends of
/// messages differ from run to run.
type Row = (&'static str, &'static str, &'static str);

macro_rules! rows {
    ($($file:literal => $expected:literal,)*) => {
        &[$(($file, include_str!(concat!("../../../tests/recorded/", $file, ".json")), $expected)),*]
    };
}

const ROWS: &[Row] = rows! {
    "git-repository-fetched" => "Fetched |",
    "git-repository-on-a-branch" => "Fetched |",
    "git-repository-pin-is-gone" => "Failed Transient GitOperationFailed | failed to checkout and determine revision: unable to resolve",

    "oci-repository-fetched" => "Fetched |",
    "oci-repository-in-a-range" => "Fetched |",
    "oci-repository-not-found" => "Failed Transient OCIArtifactPullFailed | failed to determine artifact digest: GET http://testbed.invalid/v2/recorded/nowhere/manifests/1.2.3: MANIFEST_UNKNOWN",
    "oci-repository-digest-is-gone" => "Failed Transient OCIArtifactPullFailed | failed to pull artifact from",
    "oci-repository-unauthorized" => "Failed Transient OCIArtifactPullFailed | failed to determine artifact digest: GET http://testbed.invalid/v2/recorded/probe/manifests/1.2.3: UNAUTHORIZED",
    "oci-repository-range-without-tag" => "Failed Transient ReadOperationFailed | failed to determine the artifact tag for 'oci://testbed.invalid/recorded/probe': no match found for semver: 9.x",
    "oci-repository-not-signed" => "Failed Transient VerificationError | failed to verify the signature using provider 'cosign': no matching signatures",

    "helm-chart-half-told" => "Progressing | packaged 'addon' chart with version '1.0.0+",
    "helm-chart-packaged" => "Fetched |",
    "helm-chart-keeps-its-version" => "Fetched |",
    "helm-chart-without-directory" => "Failed Terminal InvalidChartReference | invalid chart reference: stat",
    "helm-chart-without-source" => "Waiting SourceUnavailable None | failed to get source: GitRepository",

    "helm-release-pending" => "Pending |",
    "helm-release-install-half-told" => "Pending |",
    "helm-release-installing" => "Progressing | Running 'install' action with timeout of 1m0s",
    "helm-release-ready" => "Applied |",
    "helm-release-at-the-interval" => "Applied |",
    "helm-release-changed" => "Pending |",
    "helm-release-upgrading" => "Progressing | Running 'upgrade' action with timeout of 5s",
    "helm-release-upgraded" => "Applied |",
    "helm-release-waits-for-dependency" => "Waiting DependencyNotReady None | unable to get 'tenant/nobody' dependency",
    "helm-release-without-chart" => "Waiting ArtifactFailed None | could not get Source object",
    "helm-release-chart-not-packaged" => "Waiting SourceNotReady None | HelmChart 'tenant/nowhere' is not ready",
    "helm-release-without-values" => "Waiting ValuesError None | could not resolve Secret",
    "helm-release-without-kubeconfig" => "Waiting KubeConfigNotFound None | Secret tenant/no-such-secret with the kubeconfig of the cluster is missing",
    "helm-release-unreachable" => "Waiting StateError None | Could not determine release state",
    "helm-release-retrying" => "Retrying 1 | Helm install failed for release kube-system/stuck",
    "helm-release-retry-begins" => "Failed Transient InstallFailed | Helm install failed for release kube-system/stuck",
    "helm-release-retry-runs" => "Progressing | Helm install failed for release kube-system/stuck",
    "helm-release-install-given-up" => "Failed Terminal RetriesExceeded | Failed to install after 1 attempt(s): Helm install failed for release",
    "helm-release-upgrade-failed" => "Failed Transient UpgradeFailed | Helm upgrade failed for release kube-system/good",
    "helm-release-rolled-back" => "RolledBack, tries again | Helm rollback to previous release kube-system/good.v1",
    "helm-release-rolled-back-for-good" => "RolledBack for good | Helm rollback to previous release",
    "helm-release-changed-after-stall" => "Pending |",
    "helm-release-drift-repaired" => "Progressing | Cluster state of release kube-system/good.v6 has drifted from the desired state",
    "helm-release-drift-reported" => "Drifted | Cluster state of release kube-system/reported.v1 has drifted",
    "helm-release-edited" => "Foreign Some(\"kubectl-edit\") |",
    "helm-release-suspended" => "Suspended |",
    "helm-release-terminating" => "Terminating |",

    "kustomization-ready" => "Applied |",
    "kustomization-at-the-interval" => "Applied |",
    "kustomization-refused-by-the-api" => "Failed Transient ReconciliationFailed | ConfigMap/kube-system/Not_A_Name dry-run failed",
    "kustomization-without-path" => "Waiting ArtifactFailed None | kustomization path not found",
    "kustomization-without-source" => "Waiting ArtifactFailed None | GitRepository",
    "kustomization-waits-for-dependency" => "Waiting DependencyNotReady None | dependency 'tenant/nobody' not found",
    "kustomization-waits-for-health" => "Progressing | Running health checks for revision",
    "kustomization-unhealthy" => "Failed Transient HealthCheckFailed | health check failed after",
    "kustomization-retries-health" => "Progressing | Fetching manifests for revision",
    "kustomization-suspended" => "Suspended |",
    "kustomization-terminating" => "Terminating |",
};

#[test]
fn record_gives_its_verdict() {
    for (file, content, expected) in ROWS {
        let verdict = short(&judge(&record(content)));
        assert!(verdict.starts_with(expected), "{file}: {verdict}");
    }
}

#[test]
#[expect(clippy::disallowed_methods, reason = "whether a file has no row is only seen in the directory")]
fn records_and_rows_agree() {
    let directory = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/recorded");
    let names =
        std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let files: BTreeSet<String> =
        names.filter_map(|name| name.strip_suffix(".json").map(str::to_owned)).collect();
    assert_eq!(ROWS.iter().map(|(file, ..)| (*file).to_owned()).collect::<BTreeSet<_>>(), files);
}

/// Flux reports an upgraded chart as ready before it has handled the new one.
#[test]
fn ready_with_another_chart_than_ours_is_not_applied() {
    let mut ready = recorded("helm-release-ready");
    ready["version"] = json!("1.0.0+ffffffffffff");
    let reported = short(&judge(&ready));
    let expected = "Progressing | chart version 1.0.0+ffffffffffff is expected, 1.0.0+";
    assert!(reported.starts_with(expected) && reported.ends_with(" is deployed"), "{reported}");
}

/// A user's addition is in the digest, and Flux's own writes are not: without the addition the digest is that of our write.
#[test]
fn live_spec_digest_is_that_of_the_write() {
    let mut edited = recorded("helm-release-edited");
    let spec = &mut edited["object"]["spec"];
    assert_ne!(SpecDigest::of(spec.clone()), SpecDigest::of(edited["written"].clone()));
    let spec = &mut edited["object"]["spec"];
    spec["values"].as_object_mut().unwrap().remove("added").unwrap();
    assert_eq!(SpecDigest::of(spec.clone()), SpecDigest::of(edited["written"].clone()));
}

#[test]
fn other_deployed_chart_names_the_expected_one() {
    let done = |version: &str, observed: i64| {
        let history = json!([{"status": "deployed", "chartVersion": version}]);
        let status =
            json!({"observedGeneration": observed, "lastAttemptedGeneration": 2, "history": history});
        judge_helm_release(&object(status, &["Ready=True UpgradeSucceeded: Helm upgrade succeeded"]), &soon())
    };
    assert_eq!(
        done("1.0.0+old", 2),
        progressing("chart version 1.0.0+0123456789ab is expected, 1.0.0+old is deployed")
    );
    let before = "helm-controller has not finished generation 2; its status is of an earlier generation";
    assert_eq!(done(CHART, 1), progressing(before));
    assert_eq!(done(CHART, 2), Verdict::Applied);
}

fn record(content: &str) -> Value {
    serde_json::from_str(content).unwrap()
}

fn recorded(file: &str) -> Value {
    record(ROWS.iter().find(|row| row.0 == file).unwrap().1)
}

/// Judges a record: the object, its expected version, and its spec as stackflux wrote it if it was changed since.
fn judge(record: &Value) -> Verdict {
    let object = record["object"].clone();
    let written = record.get("written").unwrap_or(&object["spec"]).clone();
    let version = record["version"].as_str().map(str::to_owned);
    let expected = Expected {
        spec_digest: SpecDigest::of(written),
        version,
        revision_before: None,
        since: written_at(),
    };
    rollup::judge(&serde_json::from_value(object).unwrap(), &expected, &soon())
}

/// Formats a verdict with all its fields, the message last.
fn short(verdict: &Verdict) -> String {
    let (head, message) = match verdict {
        Verdict::Terminating => ("Terminating".to_owned(), ""),
        Verdict::Suspended => ("Suspended".to_owned(), ""),
        Verdict::Foreign { manager, .. } => (format!("Foreign {manager:?}"), ""),
        Verdict::RolledBack { exhausted: true, message } => {
            ("RolledBack for good".to_owned(), message.as_str())
        }
        Verdict::RolledBack { exhausted: false, message } => {
            ("RolledBack, tries again".to_owned(), message.as_str())
        }
        Verdict::Failed { class: Class::Terminal, reason, message } => {
            (format!("Failed Terminal {reason}"), message.as_str())
        }
        Verdict::Failed { class: Class::Transient, reason, message } => {
            (format!("Failed Transient {reason}"), message.as_str())
        }
        Verdict::Waiting { reason, message, last_good } => {
            (format!("Waiting {reason} {last_good:?}"), message.as_str())
        }
        Verdict::Pending => ("Pending".to_owned(), ""),
        Verdict::Applied => ("Applied".to_owned(), ""),
        Verdict::Drifted { message } => ("Drifted".to_owned(), message.as_str()),
        Verdict::Retrying { attempt, message } => (format!("Retrying {attempt}"), message.as_str()),
        Verdict::Progressing { message, .. } => ("Progressing".to_owned(), message.as_str()),
        Verdict::Fetched => ("Fetched".to_owned(), ""),
        Verdict::ApplierUnavailable(silence) => (format!("ApplierUnavailable {silence:?}"), ""),
    };
    format!("{head} | {message}")
}
