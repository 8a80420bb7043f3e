//! A row per line of the table of sources, written by hand after source-controller's sources.

use super::*;
use crate::error::Class::{Terminal, Transient};

const READY: &str = "Ready=True Succeeded: stored artifact";
const GONE: &str = "Ready=False GitOperationFailed: no such commit";

const BUSY: &[&str] =
    &["Ready=Unknown Progressing: building artifact", "Reconciling=True Progressing: building artifact"];

/// A retry, and how the attempt before it failed.
const AGAIN: [&str; 4] = [
    "Ready=Unknown Progressing: building artifact",
    "Reconciling=True Progressing: building artifact",
    "FetchFailed=True GitOperationFailed: no",
    "SourceVerified=False VerificationError: no",
];
const UNVERIFIED: &[&str] = &[AGAIN[0], AGAIN[1], AGAIN[3]];

/// Creates the verdict for a revision other than the expected one.
fn another(fetched: &str) -> Verdict {
    progressing(&format!("commit {COMMIT} is expected, {fetched} is fetched"))
}

#[test]
fn git_repository_status_gives_its_verdict() {
    let fetched = |revision: &str, generation: i64| json!({"observedGeneration": generation, "artifact": {"revision": revision, "url": "http://source/a.tar.gz"}});
    let commit = format!("sha1:{COMMIT}");
    let rows: Vec<(&str, Value, &[&str], Verdict)> = vec![
        ("no status", json!({}), &[], Verdict::Pending),
        ("fetched", fetched(&commit, 2), &[READY], Verdict::Fetched),
        ("on a branch", fetched(&format!("main@{commit}"), 2), &[READY], Verdict::Fetched),
        ("another commit", fetched("main@sha1:ff", 2), &[READY], another("main@sha1:ff")),
        (
            "twelve digits are no commit",
            fetched("sha1:0123456789ab", 2),
            &[READY],
            another("sha1:0123456789ab"),
        ),
        ("not observed", fetched(&commit, 1), &[READY], progressing("stored artifact")),
        ("before the change", fetched(&commit, 1), &["Ready=True Succeeded@1"], Verdict::Pending),
        (
            "failed before the change",
            fetched(&commit, 1),
            &["Ready=False GitOperationFailed@1"],
            Verdict::Pending,
        ),
        ("no artifact", json!({"observedGeneration": 2}), &[READY], progressing("stored artifact")),
        ("fetching again", fetched(&commit, 2), BUSY, Verdict::Fetched),
        ("a retry after a failure", fetched(&commit, 2), &AGAIN[..3], progressing("building artifact")),
        (
            "a retry after a refused signature",
            fetched(&commit, 2),
            UNVERIFIED,
            progressing("building artifact"),
        ),
        ("fetching the first time", json!({"observedGeneration": 2}), BUSY, progressing("building artifact")),
        ("fetching another commit", fetched("main@sha1:ff", 2), BUSY, another("main@sha1:ff")),
        (
            "the pin is gone",
            fetched(&commit, 2),
            &[GONE],
            failed(Transient, "GitOperationFailed", "no such commit"),
        ),
        (
            "a bad URL",
            json!({}),
            &["Ready=False URLInvalid: x", "Stalled=True URLInvalid: x"],
            failed(Terminal, "URLInvalid", "x"),
        ),
    ];
    for (case, status, reported, verdict) in rows {
        let object = object(status, reported);
        let expected = expected(&object, COMMIT);
        let source = read(FluxKind::GitRepository, &object);
        assert_eq!(judge(&source, &expected, &soon()), verdict, "{case}");
    }
}

#[test]
fn helm_chart_status_gives_its_verdict() {
    let packaged = |source: &str, artifact: Value| json!({"observedGeneration": 2, "observedSourceArtifactRevision": source, "artifact": artifact});
    let (commit, artifact) = (format!("main@sha1:{COMMIT}"), json!({"revision": "v2"}));
    let rows: Vec<(&str, Value, Verdict)> = vec![
        (
            "from the commit, which its version does not name",
            packaged(&commit, artifact.clone()),
            Verdict::Fetched,
        ),
        ("from another commit", packaged("main@sha1:ff", artifact), another("main@sha1:ff")),
        ("its artifact is gone", packaged(&commit, Value::Null), progressing("stored artifact")),
    ];
    for (case, status, verdict) in rows {
        let object = object(status, &[READY]);
        let expected = expected(&object, COMMIT);
        let chart = read(FluxKind::HelmChart, &object);
        assert_eq!(judge(&chart, &expected, &soon()), verdict, "{case}");
    }
}

/// Clusters can have what Flux serves while it packages what it has fetched since.
#[test]
fn chart_of_a_branch_is_expected_as_it_is_packaged() {
    let status = json!({"observedGeneration": 2, "observedSourceArtifactRevision": "main@sha1:old", "artifact": {"revision": "v2"}});
    let mut chart = object(status, &[READY]);
    chart["spec"] = json!({"sourceRef": {"kind": "GitRepository", "name": "s"}});
    let source = |reference: Value| {
        let mut source = object(json!({"artifact": {"revision": "main@sha1:new", "url": "u"}}), &[READY]);
        source["spec"] = json!({"ref": reference});
        read(FluxKind::GitRepository, &source)
    };
    let chart = read(FluxKind::HelmChart, &chart);
    for (reference, expected) in [(json!({"branch": "main"}), "old"), (json!({"commit": "exact"}), "exact")] {
        let source = source(reference);
        assert_eq!(present_version(&chart, |_, _| Some(&source)).as_deref(), Some(expected));
    }
}

/// The digest of a manifest, and another one.
const MANIFEST: &str = "sha256:3a5b7c9d1e2f4051627384950617283940516273849506172839405162738495";
const MISSING: &str = "Ready=False OCIArtifactPullFailed: no such manifest";
const OTHER: &str = "sha256:ff5b7c9d1e2f4051627384950617283940516273849506172839405162738495";

#[test]
fn oci_repository_status_gives_its_verdict() {
    let fetched = |revision: &str| json!({"observedGeneration": 2, "artifact": {"revision": revision}});
    let rows: Vec<(Value, &[&str], Verdict)> = vec![
        (json!({}), &[], Verdict::Pending),
        (fetched(MANIFEST), &[READY], Verdict::Fetched),
        (fetched(&format!("1.2.3@{MANIFEST}")), &[READY], Verdict::Fetched),
        (
            fetched(OTHER),
            &[READY],
            progressing(&format!("manifest {MANIFEST} is expected, {OTHER} is fetched")),
        ),
        (json!({}), &[MISSING], failed(Transient, "OCIArtifactPullFailed", "no such manifest")),
    ];
    for (status, reported, verdict) in rows {
        let object = object(status, reported);
        let expected = expected(&object, MANIFEST);
        assert_eq!(judge(&read(FluxKind::OCIRepository, &object), &expected, &soon()), verdict);
    }
}

/// The version of the chart is the same for both manifests.
#[test]
fn chart_of_a_registry_is_judged_by_its_manifest() {
    for (deployed, verdict) in [
        (json!(MANIFEST), Verdict::Applied),
        (
            json!(OTHER),
            progressing(&format!("the chart of manifest {MANIFEST} is expected, {OTHER} is deployed")),
        ),
        (
            Value::Null,
            progressing(&format!(
                "the chart of manifest {MANIFEST} is expected, one of another source is deployed"
            )),
        ),
    ] {
        let latest = json!({"status": "deployed", "chartVersion": CHART, "ociDigest": deployed});
        let status = json!({"observedGeneration": 2, "lastAttemptedGeneration": 2, "history": [latest]});
        let object = object(status, &["Ready=True UpgradeSucceeded: done"]);
        let expected = expected(&object, MANIFEST);
        assert_eq!(judge(&read(FluxKind::HelmRelease, &object), &expected, &soon()), verdict);
    }
}
