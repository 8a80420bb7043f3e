//! The status of a release.

use jiff::SignedDuration;
use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::foreign::flux::observed::SpecDigest;
use crate::release::{File, Files, Limits};
use crate::rollup::Verdict;

const APPLIED: Verdict = Verdict::Applied;

fn now() -> Timestamp {
    "2026-11-20T10:00:00Z".parse().unwrap()
}

fn later() -> Timestamp {
    now().saturating_add(SignedDuration::from_mins(5)).unwrap()
}

/// Returns a release whose only addon is in a registry.
fn by_reference() -> Release {
    let digest = format!("sha256:{}", "0123456789abcdef".repeat(4));
    let list = format!(
        "repositories:\n- name: a\n  oci: {{url: oci://h/cni, digest: '{digest}'}}\n  components: [{{name: cni, chart: .}}]\n"
    );
    load(&[
        ("metadata.yaml", "versions: {clusterStack: v1, kubernetes: v1.34.2}\n"),
        ("cluster-class/Chart.yaml", "apiVersion: v2\nname: class\nversion: v1\n"),
        ("components.yaml", &list),
    ])
}

fn release(images: bool) -> Release {
    let all = [
        ("metadata.yaml", "versions: {clusterStack: v1, kubernetes: v1.34.2}\n"),
        (
            "clusteraddon.yaml",
            "addonStages:\n  AfterControlPlaneInitialized:\n  - {name: cni, action: apply}\n",
        ),
        ("cluster-class/Chart.yaml", "apiVersion: v2\nname: class\nversion: v1\n"),
        ("cluster-addon/cni/Chart.yaml", "apiVersion: v2\nname: CNI\nversion: v1\n"),
        ("cluster-addon/cni/overwrite.yaml", "values: |\n  a: {{ .Cluster.metadata.name }}\n"),
        ("node-images/image.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: image}\n"),
    ];
    load(&all[..if images { 6 } else { 5 }])
}

fn load(all: &[(&str, &str)]) -> Release {
    let mut files = Files::default();
    for (path, content) in all {
        files.insert(path, File { content: content.as_bytes().to_vec(), executable: false }).unwrap();
    }
    let name = "docker-demo-1-34-v1".parse().unwrap();
    Release::load(&name, files, &Limits::default()).unwrap_or_else(|findings| panic!("{findings}")).release
}

fn object(kind: &str, step: Step, verdict: Option<Verdict>) -> ObjectFacts {
    let id = ObjectId {
        api_version: "v1".to_owned(),
        kind: kind.to_owned(),
        namespace: "stacks".to_owned(),
        name: "docker-demo-1-34-v1".to_owned(),
    };
    let expected = verdict.as_ref().map(|_| SpecDigest::kept("digest"));
    ObjectFacts { id, step, expected, verdict }
}

fn good(release: &Release) -> ReleaseFacts<'_> {
    ReleaseFacts {
        generation: 1,
        requested_at: None,
        pin: None,
        content: ContentFacts::Known { release, mutated: None },
        provider: Report::new(ConditionStatus::True, "NotNeeded", ""),
        objects: vec![
            object("GitRepository", Step::Sources, Some(Verdict::Fetched)),
            object("HelmRelease", Step::ClusterClass, Some(APPLIED)),
        ],
        class_hold: None,
        usage: Usage::default(),
        deletion_hold: None,
    }
}

fn reported(status: &ClusterStackReleaseStatus, kind: &str) -> String {
    status.conditions.iter().find(|condition| condition.type_ == kind).map_or_else(
        || "none".to_owned(),
        |condition| format!("{} {}: {}", condition.status, condition.reason, condition.message),
    )
}

fn roll_up(facts: ReleaseFacts) -> ClusterStackReleaseStatus {
    cluster_stack_release(facts, &ClusterStackReleaseStatus::default(), now())
}

#[test]
fn release_with_all_parts_is_usable() {
    let release = release(false);
    let status = roll_up(good(&release));
    assert!(status.ready);
    assert_eq!(reported(&status, "Ready"), "True Usable: Clusters can use it.");
    assert_eq!(reported(&status, "NodeImagesReady"), "True NotNeeded: the release has no node images");
    assert_eq!(reported(&status, "InUse"), "False NotUsed: No Cluster uses the release.");
    assert_eq!(
        (reported(&status, "Reconciling"), reported(&status, "Stalled")),
        ("none".into(), "none".into())
    );
    assert_eq!(status.kubernetes_version.as_deref(), Some("v1.34.2"));
    let addon = serde_json::to_value(&status.addons[0]).unwrap();
    assert_eq!(
        addon,
        json!({
            "name": "cni", "kind": "Chart", "version": "v1", "chartName": "CNI", "chartVersion": "v1",
            "digest": release.addons[0].digest.to_string(),
            "hooks": ["AfterControlPlaneInitialized"], "template": [".Cluster.metadata.name"],
        })
    );
}

#[test]
fn failing_source_is_reported_with_its_clusters() {
    let release = by_reference();
    let fetched = roll_up(good(&release));
    assert_eq!(reported(&fetched, "SourcesReady"), "True Fetched: ");
    let source = fetched.addons[0].source.as_ref().unwrap();
    assert_eq!(source.to_string(), "oci://h/cni@sha256:0123456789ab");
    let failed = Verdict::Failed {
        class: crate::error::Class::Transient,
        reason: "OCIArtifactPullFailed".to_owned(),
        message: "not found".to_owned(),
    };
    let mut facts = good(&release);
    facts.objects.push(object("OCIRepository", Step::Sources, Some(failed)));
    facts.usage.clusters = 3;
    let message = "OCIRepository stacks/docker-demo-1-34-v1: not found";
    let failing = cluster_stack_release(facts.clone(), &fetched, later());
    assert_eq!(
        reported(&failing, "SourcesReady"),
        format!("False OCIArtifactPullFailed: {message}; 3 Clusters use the release")
    );
    assert_eq!(reported(&failing, "Ready"), format!("False OCIArtifactPullFailed: Sources: {message}"));
    facts.content = ContentFacts::Unread(Report::not_yet_reported());
    let unread = cluster_stack_release(facts, &failing, later());
    assert_eq!(reported(&unread, "SourcesReady"), reported(&failing, "SourcesReady"));
    assert_eq!(reported(&roll_up(good(&self::release(false))), "SourcesReady"), "none");
}

#[test]
fn retry_of_node_images_keeps_their_cause() {
    let release = release(true);
    let with = |message: &str| {
        let verdict = Verdict::Failed {
            class: crate::error::Class::Transient,
            reason: "ReconciliationFailed".to_owned(),
            message: message.to_owned(),
        };
        let mut facts = good(&release);
        facts.objects.push(object("Kustomization", Step::NodeImages, Some(verdict)));
        facts
    };
    let failed = roll_up(with("no flavor"));
    assert_eq!(reported(&failed, "NodeImagesReady"), "False ReconciliationFailed: no flavor");
    assert_eq!(cluster_stack_release(with("Flux tries again"), &failed, later()), failed);
    let first = roll_up(with("Flux tries again"));
    assert_eq!(reported(&first, "NodeImagesReady"), "False ReconciliationFailed: Flux tries again");
}

#[test]
fn unchanged_facts_keep_status_and_timestamps() {
    let release = release(false);
    let first = roll_up(good(&release));
    assert_eq!(cluster_stack_release(good(&release), &first, later()), first);
    let mut facts = good(&release);
    facts.objects[1].verdict = Some(Verdict::Pending);
    let second = cluster_stack_release(facts.clone(), &first, later());
    assert_eq!(second.objects[0].since, first.objects[0].since);
    assert_eq!(second.objects[1].since.as_ref().map(|since| since.0), Some(later()));
    let much_later = later().saturating_add(SignedDuration::from_hours(1)).unwrap();
    assert_eq!(cluster_stack_release(facts, &second, much_later), second);
}

#[test]
fn missing_parts_are_named() {
    let (plain, imaged) = (release(false), release(true));
    let failed = Verdict::Failed {
        class: crate::error::Class::Terminal,
        reason: "InstallFailed".to_owned(),
        message: "no".to_owned(),
    };
    let hold = Hold { reason: Reason::WaitingForNodeImages, message: "images".to_owned() };
    let refused = Hold { reason: Reason::DeliveryFailed, message: "apply HelmRelease: no".to_owned() };
    let exists = Hold { reason: Reason::AlreadyExists, message: "HelmRelease n/x exists".to_owned() };
    let foreign = |release| ReleaseFacts { class_hold: Some(exists.clone()), ..good(release) };
    let class = |verdict| vec![object("HelmRelease", Step::ClusterClass, verdict)];
    for (facts, kind, expected) in [
        (foreign(&plain), "ClusterClassReady", "False AlreadyExists: HelmRelease n/x exists"),
        (foreign(&plain), "Stalled", "True AlreadyExists: HelmRelease n/x exists"),
        (foreign(&plain), "Reconciling", "none"),
        (
            ReleaseFacts { objects: Vec::new(), ..foreign(&imaged) },
            "NodeImagesReady",
            "False AlreadyExists: HelmRelease n/x exists",
        ),
        (
            ReleaseFacts { objects: class(None), ..good(&plain) },
            "ClusterClassReady",
            "Unknown NotYetReported",
        ),
        (ReleaseFacts { objects: class(Some(failed)), ..good(&plain) }, "Stalled", "True InstallFailed: no"),
        (ReleaseFacts { objects: Vec::new(), ..good(&plain) }, "Ready", "Unknown NotYetReported"),
        (good(&imaged), "NodeImagesReady", "Unknown NotYetReported"),
        (
            ReleaseFacts { class_hold: Some(refused), ..good(&plain) },
            "Ready",
            "Unknown DeliveryFailed: ClusterClassReady: apply HelmRelease: no",
        ),
        (
            ReleaseFacts { class_hold: Some(hold), ..good(&imaged) },
            "ClusterClassReady",
            "Unknown WaitingForNodeImages: images",
        ),
        (
            ReleaseFacts {
                provider: Report::new(ConditionStatus::Unknown, "ProviderNotReady", "x"),
                ..good(&plain)
            },
            "Ready",
            "Unknown ProviderNotReady: ProviderReady: x",
        ),
    ] {
        let status = roll_up(facts);
        assert!(!status.ready, "{kind}");
        assert!(reported(&status, kind).starts_with(expected), "{kind}: {}", reported(&status, kind));
    }
}

#[test]
fn invalid_release_reports_line_unread_keeps_status() {
    let release = release(false);
    let first = roll_up(good(&release));
    let report = |status| Report::new(status, "UnknownAction", "clusteraddon.yaml:3: no");
    let broken = ContentFacts::Unusable(report(ConditionStatus::False));
    let status = roll_up(ReleaseFacts { content: broken, objects: Vec::new(), ..good(&release) });
    assert_eq!(reported(&status, "ReleaseValid"), "False UnknownAction: clusteraddon.yaml:3: no");
    assert!(reported(&status, "Stalled").starts_with("True UnknownAction"));
    assert_eq!(reported(&status, "Ready"), "False UnknownAction: ReleaseValid: clusteraddon.yaml:3: no");
    let unread = ContentFacts::Unread(report(ConditionStatus::Unknown));
    let status = cluster_stack_release(ReleaseFacts { content: unread, ..good(&release) }, &first, later());
    assert_eq!(reported(&status, "ReleaseValid"), reported(&first, "ReleaseValid"));
    assert_eq!((status.digest, status.addons), (first.digest, first.addons));
}

#[test]
fn mutated_release_is_reported_only_while_read() {
    let release = release(false);
    let mutated = ContentFacts::Known { release: &release, mutated: Some("other".to_owned()) };
    let first = roll_up(ReleaseFacts { content: mutated, ..good(&release) });
    assert_eq!(
        (first.ready, reported(&first, "ReleaseValid")),
        (true, "True ReleaseMutated: other".to_owned())
    );
    let unread = Report::new(ConditionStatus::Unknown, "ArtifactUnavailable", "no answer");
    let facts = ReleaseFacts { content: ContentFacts::Unread(unread), ..good(&release) };
    let status = cluster_stack_release(facts, &first, later());
    assert!(
        reported(&status, "ReleaseValid").starts_with("True Valid: "),
        "{}",
        reported(&status, "ReleaseValid")
    );
}

#[test]
fn release_that_flux_has_not_fetched_is_unknown() {
    let unread = Report::new(ConditionStatus::Unknown, "NotYetReported", "Flux has not fetched it yet");
    let content = ContentFacts::Unread(unread);
    let status = roll_up(ReleaseFacts { content, objects: Vec::new(), ..good(&release(false)) });
    for kind in ["Ready", "ReleaseValid", "NodeImagesReady", "ClusterClassReady"] {
        assert!(
            reported(&status, kind).starts_with("Unknown NotYetReported"),
            "{kind}: {}",
            reported(&status, kind)
        );
    }
}

#[test]
fn missing_commit_is_reported_as_pin_unreachable() {
    let release = release(false);
    let failed = Verdict::Failed {
        class: crate::error::Class::Transient,
        reason: "GitOperationFailed".to_owned(),
        message: "failed to checkout: unable to resolve commit object for '1': object not found".to_owned(),
    };
    let objects = vec![object("GitRepository", Step::Sources, Some(failed))];
    let status = roll_up(ReleaseFacts { objects, ..good(&release) });
    assert!(reported(&status, "Ready").starts_with("False PinUnreachable"), "{}", reported(&status, "Ready"));
}

#[test]
fn in_use_follows_users_and_deletion() {
    let release = release(false);
    let shares = Hold { reason: Reason::SharesObjects, message: "Image a".to_owned() };
    for (clusters, retiring, deleted, deletion_hold, expected) in [
        (0, false, false, None, "False NotUsed"),
        (0, true, false, None, "False Retiring"),
        (0, true, false, Some(shares.clone()), "False SharesObjects: Image a"),
        (1, false, false, None, "True Used: 1 Cluster uses it"),
        (2, false, true, None, "True InUse: deleted, but 2 Clusters use it: kept until no Cluster does"),
    ] {
        let first = (0..clusters).map(|number| format!("a/{number}")).collect();
        let usage = Usage { clusters, first, retiring, deleted };
        let status = roll_up(ReleaseFacts { usage, deletion_hold, ..good(&release) });
        assert!(reported(&status, "InUse").starts_with(expected), "{}", reported(&status, "InUse"));
    }
}

#[test]
fn last_users_are_kept_without_users() {
    let release = release(false);
    let used = Usage { clusters: 1, first: vec!["a/1".to_owned()], ..Usage::default() };
    let first = roll_up(ReleaseFacts { usage: used, ..good(&release) });
    let status = cluster_stack_release(good(&release), &first, later());
    assert_eq!(status.last_users, ["a/1"]);
}

#[test]
fn unread_invalid_release_is_unknown() {
    let release = release(false);
    let broken = Report::new(ConditionStatus::False, "UnknownAction", "no");
    let facts =
        ReleaseFacts { content: ContentFacts::Unusable(broken), objects: Vec::new(), ..good(&release) };
    let first = roll_up(facts);
    let unread = Report::new(ConditionStatus::Unknown, "ArtifactUnavailable", "no answer");
    let facts = ReleaseFacts { content: ContentFacts::Unread(unread), ..good(&release) };
    let status = cluster_stack_release(facts, &first, later());
    assert_eq!(reported(&status, "ReleaseValid"), "Unknown ArtifactUnavailable: no answer");
}

fn any_verdict() -> impl Strategy<Value = Option<Verdict>> {
    let failed = Verdict::Failed {
        class: crate::error::Class::Terminal,
        reason: "InstallFailed".to_owned(),
        message: "no".to_owned(),
    };
    let some = proptest::sample::select(vec![APPLIED, Verdict::Fetched, Verdict::Pending, failed]);
    proptest::option::of(some)
}

proptest! {
    #[test]
    fn release_is_never_better_than_its_worst_part(
        images in any::<bool>(),
        verdicts in proptest::collection::vec((0..3_usize, any_verdict()), 0..6),
        provider in proptest::sample::select(vec![ConditionStatus::False, ConditionStatus::Unknown, ConditionStatus::True]),
    ) {
        let release = release(images);
        let steps = [Step::Sources, Step::NodeImages, Step::ClusterClass];
        // One object for node images and one for the class.
        let mut objects: Vec<ObjectFacts> = Vec::new();
        for (step, verdict) in verdicts {
            let step = steps[step];
            if step == Step::Sources || objects.iter().all(|object| object.step != step) {
                objects.push(object("HelmRelease", step, verdict));
            }
        }
        let provider = Report::new(provider, "Told", "");
        let parts: Vec<_> = objects.iter().map(|object| object_ready(object.verdict.as_ref()).status).collect();
        let worst = parts.into_iter().chain([provider.status]).min().unwrap();
        let status = roll_up(ReleaseFacts { provider, objects, ..good(&release) });
        let ready = ready_of(&status).status;
        prop_assert!(ready <= worst, "{ready:?} {worst:?}");
        prop_assert_eq!(status.ready, ready == ConditionStatus::True);
    }
}

/// An object that is missing because of an error is reported as before, and none twice: the API server would refuse such
/// a status.
#[test]
fn previous_object_is_reported_once() {
    let before = |kind| {
        let mut facts = object(kind, Step::Sources, None);
        facts.id.api_version = String::new();
        facts
    };
    let present = vec![object("GitRepository", Step::Sources, Some(Verdict::Fetched))];
    let all = with_rest(present, vec![before("GitRepository"), before("HelmRelease")]);
    let kinds: Vec<_> = all.iter().map(|facts| (facts.id.kind.as_str(), facts.verdict.is_some())).collect();
    assert_eq!(kinds, [("GitRepository", true), ("HelmRelease", false)]);
}
