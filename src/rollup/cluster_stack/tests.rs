//! The status of a stack.

use proptest::prelude::*;
use serde_json::json;

use super::*;

fn now() -> Timestamp {
    "2026-11-20T10:00:00Z".parse().unwrap()
}

fn name(version: &str) -> ReleaseName {
    format!("docker-demo-1-34-{version}").parse().unwrap()
}

fn release(version: &str, ready: bool) -> ClusterStackRelease {
    let status = if ready { "True" } else { "Unknown" };
    let condition = |kind: &str| {
        json!({
            "type": kind, "status": status, "reason": "Told", "message": "m", "observedGeneration": 1,
            "lastTransitionTime": "2026-11-20T10:00:00Z",
        })
    };
    serde_json::from_value(json!({
        "apiVersion": "clusterstack.x-k8s.io/v1alpha1", "kind": "ClusterStackRelease",
        "metadata": {"name": name(version).to_string(), "namespace": "stacks", "generation": 1},
        "spec": {},
        "status": {
            "ready": ready, "kubernetesVersion": "v1.34.2",
            "conditions": [condition("Ready"), condition("ClusterClassReady")],
        },
    }))
    .unwrap()
}

fn state(role: Role, clusters: usize, release: Option<&ClusterStackRelease>) -> ReleaseState<'_> {
    ReleaseState { role, clusters, release }
}

fn good(report: &str) -> Report {
    Report::new(ConditionStatus::True, report, "")
}

fn cluster(name: &str, ready: Report) -> ClusterState<'_> {
    ClusterState {
        namespace: "a",
        name,
        deleting: false,
        paused: false,
        suspended: false,
        initialized: true,
        without_release: None,
        unoffered: false,
        ready: Some(ready),
    }
}

fn facts<'a>(releases: impl IntoIterator<Item = (&'a str, ReleaseState<'a>)>) -> StackFacts<'a> {
    let releases: BTreeMap<_, _> =
        releases.into_iter().map(|(version, state)| (name(version), state)).collect();
    StackFacts {
        generation: 3,
        requested_at: Some("now".to_owned()),
        source_ready: good("Fetched"),
        source: None,
        interval: SignedDuration::from_mins(10),
        available: Some((Some(name("v2")), 2)),
        releases,
        problems: BTreeMap::new(),
        clusters: vec![cluster("1", good("Applied"))],
        notes: Vec::new(),
        pruned: None,
        pruned_addons: None,
        delivered: None,
        published: None,
        components: None,
        deletion_hold: None,
    }
}

fn roll_up(facts: StackFacts) -> ClusterStackStatus {
    cluster_stack(facts, &ClusterStackStatus::default(), now())
}

fn reported(status: &ClusterStackStatus, kind: &str) -> String {
    status.conditions.iter().find(|condition| condition.type_ == kind).map_or_else(
        || "none".to_owned(),
        |condition| format!("{} {}: {}", condition.status, condition.reason, condition.message),
    )
}

#[test]
fn autosubscribe_of_custom_is_noted() {
    let notes = vec!["autoSubscribe has no effect, because …".to_owned()];
    let found = StackFacts { notes, ..facts([]) };
    assert_eq!(
        reported(&roll_up(found), "ReleasesSynced"),
        "True Synced: 0 releases; autoSubscribe has no effect, because …"
    );
}

fn problem(is_issue: bool, reason: Reason, message: &str) -> ReleaseProblem {
    ReleaseProblem { is_issue, hold: Hold { reason, message: message.to_owned() } }
}

#[test]
fn stack_with_ready_releases_and_clusters_is_ready() {
    let (v1, v2) = (release("v1", true), release("v2", true));
    let releases = [("v1", state(Role::Used, 1, Some(&v1))), ("v2", state(Role::Offered, 0, Some(&v2)))];
    let status = roll_up(facts(releases));
    assert_eq!(reported(&status, "Ready"), "True Usable: 2 releases");
    assert_eq!(reported(&status, "ReleasesSynced"), "True Synced: 2 releases");
    assert_eq!(reported(&status, "ClusterClassesReady"), "True Applied: 2 of 2 cluster classes");
    assert_eq!(reported(&status, "ClustersReady"), "True Applied: 1 of 1 Cluster is ready");
    assert_eq!(reported(&status, "AddonsReady"), "none");
    assert_eq!(status.clusters.map(|clusters| (clusters.total, clusters.ready)), Some((1, 1)));
    assert_eq!(
        (reported(&status, "Reconciling"), reported(&status, "Stalled")),
        ("none".into(), "none".into())
    );
    assert_eq!(status.latest_release.as_deref(), Some("docker-demo-1-34-v2"));
    assert_eq!(status.usable_versions.as_deref(), Some("v2"), "v1 is not offered");
    assert_eq!(status.releases, Some(ReleaseCounts { available: 2, used: 1, unused: 1 }));
    assert_eq!(status.last_handled_reconcile_at.as_deref(), Some("now"));
    assert!(status.summary.iter().all(|release| release.ready && release.phase == "done"));
    assert_eq!(cluster_stack(facts(releases), &status, now()), status);
}

#[test]
fn release_problem_is_reported_with_its_name() {
    let v1 = release("v1", true);
    let mut facts =
        facts([("v1", state(Role::Offered, 0, Some(&v1))), ("v9", state(Role::Offered, 0, None))]);
    facts.problems.insert(name("v9"), problem(true, Reason::ReleaseNotFound, "it is not there"));
    facts.problems.insert(name("v1"), problem(false, Reason::ReleaseClaimed, "b wants it, too"));
    let status = roll_up(facts);
    assert_eq!(
        reported(&status, "ReleasesSynced"),
        "False ReleaseNotFound: docker-demo-1-34-v9: it is not there"
    );
    assert!(reported(&status, "Reconciling").starts_with("True ReleaseNotFound"));
    let broken = &status.summary[1];
    assert_eq!((broken.ready, broken.phase.as_str()), (false, "ReleaseNotFound"));
}

/// A release's class may exist while its source, its images or the provider fail.
#[test]
fn stack_is_never_better_than_its_worst_release() {
    let mut failing = release("v1", true);
    let conditions = &mut failing.status.as_mut().unwrap().conditions;
    for condition in conditions.iter_mut().filter(|condition| condition.type_ == "Ready") {
        (condition.status, condition.reason) = ("False".to_owned(), "PinUnreachable".to_owned());
    }
    let good = release("v2", true);
    let of = |role| {
        let releases = [("v1", state(role, 0, Some(&failing))), ("v2", state(Role::Offered, 1, Some(&good)))];
        reported(&roll_up(facts(releases)), "Ready")
    };
    let failed = "False PinUnreachable: Releases: 1 of 2 releases: 1 PinUnreachable (docker-demo-1-34-v1)";
    assert_eq!([of(Role::Offered), of(Role::Used)], [failed, failed]);
    assert_eq!(of(Role::Retiring), "True Usable: 2 releases", "nothing wants it");
    let releases = [("v1", state(Role::Offered, 0, Some(&failing)))];
    let problems = [(name("v1"), problem(true, Reason::ReleaseMutated, "changed"))].into();
    let status = roll_up(StackFacts { problems, ..facts(releases) });
    assert_eq!(
        reported(&status, "Ready"),
        "False ReleaseMutated: ReleasesSynced: docker-demo-1-34-v1: changed",
        "once"
    );
}

/// Releases that a suspended ClusterStack does not publish are not an issue; a suspended source is one.
#[test]
fn suspended_source_counts_suspended_publishing_not() {
    let suspended = || Report::new(ConditionStatus::Unknown, Reason::Suspended.as_str(), "is suspended");
    let mut of_source = facts([]);
    of_source.source_ready = suspended();
    assert_eq!(reported(&roll_up(of_source), "Ready"), "Unknown Suspended: SourceReady: is suspended");
    let status = roll_up(StackFacts { published: Some(suspended()), ..facts([]) });
    assert_eq!(reported(&status, "ReleasesPublished"), "Unknown Suspended: is suspended");
    assert_eq!(reported(&status, "Ready"), "True Usable: 0 releases");
}

#[test]
fn missing_release_stalls_after_an_interval() {
    let missing = |reason| {
        let mut facts = facts([("v9", state(Role::Offered, 0, None))]);
        facts.problems.insert(name("v9"), problem(true, reason, "it is not there"));
        facts
    };
    let kinds = |status: &ClusterStackStatus| {
        ["Reconciling", "Stalled"].map(|kind| reported(status, kind).starts_with("True"))
    };
    let after = |minutes| now() + SignedDuration::from_mins(minutes);
    let first = roll_up(missing(Reason::ReleaseNotFound));
    let limit = next_limit(SignedDuration::from_mins(10), &first, now()).unwrap();
    for (minutes, stalled) in [(1, false), (10, false), (11, true), (60, true)] {
        let status = cluster_stack(missing(Reason::ReleaseNotFound), &first, after(minutes));
        assert_eq!(kinds(&status), [!stalled, stalled], "after {minutes} min");
        assert_eq!(limit <= after(minutes), stalled, "the next look, after {minutes} min");
    }
    // Each release in the message has its own time.
    let renamed = cluster_stack(missing(Reason::ReleaseClaimed), &first, after(60));
    assert_eq!(kinds(&renamed), [false, true]);
    let again = cluster_stack(missing(Reason::ReleaseNotFound), &renamed, after(61));
    assert_eq!(kinds(&again), [true, false], "the time began again");
    let dead = cluster_stack(missing(Reason::ApplierUnavailable), &first, after(60));
    assert_eq!(kinds(&dead), [true, false], "source-controller comes back");
}

#[test]
fn missing_source_is_reconciling() {
    for (reason, stalled) in
        [("SourceNotFound", false), ("NoSource", true), ("AccessDenied", true), ("SourceNotAllowed", true)]
    {
        let mut facts = facts([]);
        facts.source_ready = Report::new(ConditionStatus::False, reason, "m");
        assert_eq!(reported(&roll_up(facts), "Stalled") != "none", stalled, "{reason}");
    }
}

#[test]
fn note_is_not_an_issue() {
    let v1 = release("v1", true);
    let mut facts = facts([("v1", state(Role::Offered, 0, Some(&v1)))]);
    facts.problems.insert(name("v1"), problem(false, Reason::ReleaseClaimed, "b wants it, too"));
    let reported = reported(&roll_up(facts), "ReleasesSynced");
    assert_eq!(reported, "True Synced: 1 release; docker-demo-1-34-v1: b wants it, too");
}

#[test]
fn unknown_state_is_reconciling() {
    let v1 = release("v1", false);
    let status = roll_up(facts([("v1", state(Role::Offered, 0, Some(&v1)))]));
    assert_eq!(
        reported(&status, "ClusterClassesReady"),
        "Unknown Told: 0 of 1 cluster classes: 1 Told (docker-demo-1-34-v1)"
    );
    assert!(reported(&status, "Reconciling").starts_with("True "));
    let unread = StackFacts { available: None, ..facts([("v1", state(Role::Offered, 0, None))]) };
    assert!(reported(&roll_up(unread), "ReleasesSynced").starts_with("Unknown NotYetReported"));
}

#[test]
fn unread_source_keeps_previous_facts() {
    let v1 = release("v1", true);
    let releases = [("v1", state(Role::Offered, 0, Some(&v1)))];
    let first = roll_up(facts(releases));
    let mut unread = StackFacts { available: None, ..facts(releases) };
    unread.source_ready = Report::new(ConditionStatus::False, "GitOperationFailed", "gone");
    let status = cluster_stack(unread, &first, now());
    assert_eq!((status.latest_release, status.releases), (first.latest_release, first.releases));
    assert_eq!((status.usable_versions, status.summary), (first.usable_versions, first.summary));
}

#[test]
fn refused_write_of_a_release_is_tried_again() {
    let v1 = release("v1", true);
    let mut facts = facts([("v1", state(Role::Offered, 0, Some(&v1)))]);
    facts.problems.insert(name("v1"), problem(true, Reason::DeliveryFailed, "no"));
    let status = roll_up(facts);
    assert_eq!(reported(&status, "Ready"), "Unknown DeliveryFailed: ReleasesSynced: docker-demo-1-34-v1: no");
    assert!(reported(&status, "Reconciling").starts_with("True DeliveryFailed"));
    assert_eq!(reported(&status, "Stalled"), "none");
}

#[test]
fn kept_deleted_stack_gives_its_reason() {
    let hold = Hold { reason: Reason::InUse, message: "1 Cluster uses it".to_owned() };
    let status = roll_up(StackFacts { deletion_hold: Some(hold), ..facts([]) });
    assert_eq!(reported(&status, "Ready"), "False InUse: Deletion: 1 Cluster uses it");
}

#[test]
fn clusters_in_trouble_leave_the_stack_ready() {
    let v1 = release("v1", true);
    let broken = Report::new(ConditionStatus::False, "KubernetesVersionMismatch", "m");
    let mut facts = facts([("v1", state(Role::Used, 1, Some(&v1)))]);
    facts.clusters = vec![cluster("1", broken)];
    facts.problems.insert(name("v99"), problem(false, Reason::ReleaseNotFound, "it is not there"));
    let status = roll_up(facts);
    assert_eq!(reported(&status, "Ready"), "True Usable: 1 release");
    assert_eq!(
        reported(&status, "ClustersReady"),
        "False KubernetesVersionMismatch: 1 of 1 Cluster is not ready: 1 KubernetesVersionMismatch (a/1)"
    );
    assert_eq!(reported(&status, "Stalled"), "none");
    assert_eq!(
        reported(&status, "ReleasesSynced"),
        "True Synced: 1 release; docker-demo-1-34-v99: it is not there"
    );
}

#[test]
fn git_delivery_counts_only_own_problems() {
    let v1 = release("v1", true);
    for (status, reason, expected) in [
        (ConditionStatus::Unknown, "CommitNotApplied", "True Usable"),
        (ConditionStatus::Unknown, "Committing", "True Usable"),
        (ConditionStatus::False, "FileEdited", "True Usable"),
        (ConditionStatus::Unknown, "PushFailed", "Unknown PushFailed: Delivered: m"),
        (ConditionStatus::False, "SecretInvalid", "False SecretInvalid: Delivered: m"),
    ] {
        let delivered = Some((Report::new(status, reason, "m"), None));
        let status = roll_up(StackFacts { delivered, ..facts([("v1", state(Role::Offered, 0, Some(&v1)))]) });
        assert!(reported(&status, "Ready").starts_with(expected), "{reason}: {}", reported(&status, "Ready"));
        assert!(reported(&status, "Delivered").contains(reason), "{reason}");
    }
}

#[test]
fn push_that_keeps_failing_is_an_issue() {
    let v1 = release("v1", true);
    let at = |minutes| now().checked_add(SignedDuration::from_mins(minutes)).unwrap();
    let pushed = |old: &ClusterStackStatus, minutes| {
        let report = Report::new(ConditionStatus::Unknown, Reason::PushFailed.as_str(), "m");
        let facts = facts([("v1", state(Role::Offered, 0, Some(&v1)))]);
        cluster_stack(StackFacts { delivered: Some((report, None)), ..facts }, old, at(minutes))
    };
    let first = pushed(&ClusterStackStatus::default(), 0);
    assert_eq!(reported(&first, "Ready"), "Unknown PushFailed: Delivered: m");
    let late = pushed(&first, 5);
    assert_eq!(reported(&late, "Ready"), "False PushFailed: Delivered: m");
    assert_eq!(reported(&pushed(&late, 6), "Delivered"), "False PushFailed: m");
}

fn any_status() -> impl Strategy<Value = ConditionStatus> {
    let all =
        [ConditionStatus::True, ConditionStatus::True, ConditionStatus::Unknown, ConditionStatus::False];
    proptest::sample::select(all.to_vec())
}

/// Creates a release with this status of `Ready`.
fn release_that_is(version: &str, ready: ConditionStatus) -> ClusterStackRelease {
    let mut release = release(version, ready == ConditionStatus::True);
    for condition in &mut release.status.as_mut().unwrap().conditions {
        condition.status = ready.as_str().to_owned();
    }
    release
}

proptest! {
    #[test]
    fn stack_is_never_better_than_source_and_releases(
        source in any_status(),
        releases in proptest::collection::vec((any_status(), 0..3_usize, any::<Option<bool>>()), 0..4),
        is_held in any::<bool>(),
    ) {
        let versions = ["v1", "v2", "v3", "v4"];
        let roles = [Role::Offered, Role::Used, Role::Retiring];
        let there: Vec<_> =
            releases.iter().zip(versions).map(|((ready, ..), version)| release_that_is(version, *ready)).collect();
        let states = releases.iter().zip(&there).zip(versions);
        let states = states.map(|(((_, role, _), release), version)| (version, state(roles[*role], 0, Some(release))));
        let mut facts = facts(states);
        facts.source_ready = Report::new(source, "Told", "");
        facts.deletion_hold = is_held.then(|| Hold { reason: Reason::InUse, message: "used".to_owned() });
        for ((.., trouble_of), version) in releases.iter().zip(versions) {
            if let Some(is_issue) = trouble_of {
                facts.problems.insert(name(version), problem(*is_issue, Reason::ReleaseMutated, "changed"));
            }
        }
        let counted = releases.iter().filter(|(_, role, _)| roles[*role] <= Role::Used).map(|(ready, ..)| *ready);
        // An issue of a release counts in place of its Ready, whatever its role is.
        let issues = releases.iter().filter(|(.., problem)| *problem == Some(true)).map(|_| ConditionStatus::False);
        let own = [source].into_iter().chain(is_held.then_some(ConditionStatus::False));
        let worst = own.chain(counted).chain(issues).min().unwrap();
        let status = roll_up(facts);
        let ready = status.conditions.iter().find(|condition| condition.type_ == "Ready").unwrap();
        prop_assert_eq!(&ready.status, worst.as_str());
    }
}
