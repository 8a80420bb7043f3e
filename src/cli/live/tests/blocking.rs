//! Tests of the advice of `why`, which is about the blocking one of several problems.

use super::*;

/// Returns whether cluster `two` is ready with these conditions and addons, and the output of `why`.
fn why_of(
    conditions: &[(&str, &str, &str, &str)],
    addons: &[[&str; 4]],
    only: Option<&str>,
) -> (bool, String) {
    let mut lists = lists();
    let mut two = addon("prod", "two", "Applied", "Applied", "");
    let conditions =
        conditions.iter().map(|(kind, status, reason, message)| condition(kind, status, reason, message));
    two["status"]["conditions"] = conditions.collect();
    two["status"]["addons"] = addons
        .iter()
        .map(|[name, phase, reason, message]| json!({"name": name, "phase": phase, "reason": reason, "message": message}))
        .collect();
    lists.addons[1] = read(two);
    let snapshot = Snapshot::new(lists, None, NOW.parse().unwrap());
    let (key, member) = snapshot.member("prod", "two").unwrap();
    let chain = chain::chain(&snapshot, key, member, only).unwrap();
    (chain.is_ready(), chain.text())
}

#[track_caller]
fn advises(text: &str, about: &str, reason: &str) {
    let advice = text.lines().last().unwrap();
    let place = format!("(docs/reasons.md#{reason})");
    assert!(advice.starts_with(&format!("What to do about {about}: ")) && advice.ends_with(&place), "{text}");
}

#[test]
fn why_advice_fits_the_blocker() {
    let field = "ccm: spec.region of OpenStackCluster prod/two is not there";
    let failed = "cni: no such image";
    let both = [
        ("ClusterAvailable", "True", "Available", ""),
        ("ReleaseReady", "True", "Usable", ""),
        ("ValuesRendered", "Unknown", "WaitingForField", field),
        ("Delivered", "Unknown", "NotYetReported", "not yet reported"),
        ("AddonsReady", "False", "UpgradeFailed", failed),
    ];
    let addons = [
        ["ccm", "Held", "WaitingForField", "spec.region of OpenStackCluster prod/two is not there"],
        ["cni", "Failed", "UpgradeFailed", "no such image"],
    ];
    let (_, text) = why_of(&both, &addons, None);
    advises(&text, "addon cni", "failed");
    let (_, text) = why_of(&both, &addons, Some("ccm"));
    advises(&text, "ValuesRendered", "waitingforfield");

    let mut gone = both;
    gone[0] = ("ClusterAvailable", "Unknown", "Paused", "the Cluster is paused");
    advises(&why_of(&gone, &addons, None).1, "ClusterAvailable", "paused");
    gone[1] = ("ReleaseReady", "False", "ReleaseMutated", "");
    advises(&why_of(&gone, &addons, None).1, "ClusterAvailable", "paused");

    let mut invalid = both;
    invalid[2] = ("ValuesRendered", "False", "ValuesInvalid", "ccm: line 3");
    let addons = [["ccm", "Held", "ValuesInvalid", "line 3"], ["cni", "Progressing", "Progressing", ""]];
    invalid[4] = ("AddonsReady", "Unknown", "Several", "");
    let (_, text) = why_of(&invalid, &addons, None);
    advises(&text, "ValuesRendered", "valuesinvalid");
    assert!(text.contains("✗ addon ccm: ValuesInvalid: line 3"), "{text}");
}

#[test]
fn why_of_one_addon_ignores_other_addons() {
    let conditions = [
        ("ClusterAvailable", "True", "Available", ""),
        ("ReleaseReady", "True", "Usable", ""),
        ("ValuesRendered", "False", "ValuesInvalid", "ccm: line 3; csi: line 4"),
        ("Delivered", "True", "Delivered", ""),
        ("AddonsReady", "False", "Failed", "cni: no such image"),
    ];
    let addons = [
        ["cni", "Failed", "Failed", "no such image"],
        ["ccm", "Applied", "Applied", ""],
        ["cc", "Applied", "Applied", ""],
    ];
    assert!(!why_of(&conditions, &addons, Some("cni")).0);
    let (is_ready, text) = why_of(&conditions, &addons, Some("cc"));
    assert!(is_ready && !text.contains("ValuesRendered") && !text.contains("AddonsReady"), "{text}");
    let (is_ready, text) = why_of(&conditions, &addons, Some("ccm"));
    assert!(!is_ready, "what it has is applied, what it should have cannot be rendered:\n{text}");
    advises(&text, "ValuesRendered", "valuesinvalid");
}

/// Returns a snapshot in which the source of all addons fails. If `suspended`, so are the ClusterStack and the addons
/// of both Clusters.
fn with_failing_source(suspended: bool) -> Snapshot {
    let mut lists = lists();
    let refused = [condition("Ready", "False", "GitOperationFailed", "connection refused")];
    let waits = [condition("Ready", "False", "NoSourceArtifact", "no artifact")];
    let source = json!({"sourceRef": {"kind": "GitRepository", "name": RELEASE}});
    let repository = flux((FluxKind::GitRepository, "stacks", RELEASE), &pinned(), &refused, &[]);
    lists.flux[2].1 = Some(vec![repository]);
    lists.flux[3].1 = Some(vec![flux((FluxKind::HelmChart, "stacks", "cni-1"), &source, &waits, &[])]);
    let waiting = addon("prod", "two", "Waiting", "SourceNotReady", "HelmChart is not ready");
    let ready = addon("prod", "one", "Applied", "Applied", "");
    let suspend = |mut object: Value| {
        object["spec"]["suspend"] = json!(suspended);
        object
    };
    lists.stacks = vec![read(suspend(stack()))];
    lists.addons = vec![read(suspend(ready)), read(suspend(waiting))];
    Snapshot::new(lists, None, NOW.parse().unwrap())
}

#[test]
fn why_names_the_failing_source() {
    let snapshot = with_failing_source(false);
    let (key, member) = snapshot.member("prod", "two").unwrap();
    let text = chain::chain(&snapshot, key, member, None).unwrap().text();
    advises(&text, &format!("GitRepository stacks/{RELEASE}"), "failed");
}

#[test]
fn why_shows_suspended_objects() {
    let snapshot = with_failing_source(true);
    let status = overview::overview(&snapshot).text();
    assert_eq!(status.matches("suspended; ").count(), 3, "a ClusterStack and two clusters:\n{status}");
    let of = |name: &str, only: Option<&str>| {
        let (key, member) = snapshot.member("prod", name).unwrap();
        chain::chain(&snapshot, key, member, only).unwrap()
    };
    let text = of("two", None).text();
    advises(&text, "ClusterStack stacks/demo spec.suspend", "suspended");
    assert!(text.contains(&format!("✗ GitRepository stacks/{RELEASE}: GitOperationFailed")), "{text}");
    for line in
        ["◎ ClusterStack stacks/demo spec.suspend: Suspended", "◎ ClusterAddon spec.suspend: Suspended"]
    {
        assert!(text.contains(line), "{text}");
    }
    let one = of("one", Some("cni"));
    assert!(one.is_ready() && one.text().contains("ClusterAddon spec.suspend"), "{}", one.text());
}

/// One missing Secret is one cause, regardless of how many addons wait for it.
#[test]
fn why_reports_a_shared_cause_once() {
    let message = "Secret prod/two-kubeconfig with the kubeconfig of the cluster is missing";
    let names = ["ccm", "cni", "csi", "dns", "metrics"];
    let addons = names.map(|name| [name, "Waiting", "KubeConfigNotFound", message]);
    let sum = format!("ccm, cni, csi and 2 others: {message}");
    let conditions = [
        ("ClusterAvailable", "True", "Available", ""),
        ("ReleaseReady", "True", "Usable", ""),
        ("ValuesRendered", "True", "Rendered", ""),
        ("Delivered", "True", "Delivered", ""),
        ("AddonsReady", "Unknown", "KubeConfigNotFound", sum.as_str()),
    ];
    let (_, text) = why_of(&conditions, &addons, None);
    advises(&text, "addons ccm, cni, csi, dns, metrics", "kubeconfignotfound");
    assert_eq!(text.matches(message).count(), 2, "once in the condition, and once with all names: {text}");
    let (_, text) = why_of(&conditions, &addons, Some("metrics"));
    advises(&text, "addon metrics", "kubeconfignotfound");
}

#[test]
fn why_advice_changes_with_repeated_failures() {
    let conditions = [
        ("ClusterAvailable", "True", "Available", ""),
        ("ReleaseReady", "True", "Usable", ""),
        ("ValuesRendered", "True", "Rendered", ""),
        ("Delivered", "True", "Delivered", ""),
        ("AddonsReady", "False", "RepeatedlyFailing", "cni: 5 or more attempts have failed: x"),
    ];
    for (phase, reason, advice) in [
        ("Retrying", "Retrying", "retrying"),
        ("RepeatedlyFailing", "RepeatedlyFailing", "repeatedlyfailing"),
        ("RepeatedlyFailing", "RefusedByChart", "refusedbychart"),
        ("Failed", "DeadlineExceeded", "deadlineexceeded"),
    ] {
        let (_, text) = why_of(&conditions, &[["cni", phase, reason, "x"]], Some("cni"));
        advises(&text, "addon cni", advice);
    }
}

/// The operator does not run, so that its status does not know the change yet.
#[test]
fn why_names_an_object_before_its_conditions_do() {
    let mut lists = lists();
    let spec = json!({"chartRef": {"kind": "HelmChart", "name": "other", "namespace": "stacks"}});
    let ready = [condition("Ready", "True", "UpgradeSucceeded", "")];
    lists.flux[0].1 = Some(vec![flux((FluxKind::HelmRelease, "prod", "one.cni"), &spec, &ready, &[])]);
    let snapshot = Snapshot::new(lists, None, NOW.parse().unwrap());
    let (key, member) = snapshot.member("prod", "one").unwrap();
    let chain = chain::chain(&snapshot, key, member, Some("cni")).unwrap();
    assert!(!chain.is_ready());
    advises(&chain.text(), "HelmRelease prod/one.cni", "foreign");
}
