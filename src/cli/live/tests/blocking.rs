//! Tests of the advice of `why`, which is about the blocking one of several problems.

use super::*;

/// Returns what `why` explains about cluster `two` with these conditions and addons.
fn why_of(conditions: &[(&str, &str, &str, &str)], addons: &[[&str; 4]], only: Option<&str>) -> Chain {
    why_in(lists(), conditions, addons, only)
}

fn why_in(
    mut lists: Lists,
    conditions: &[(&str, &str, &str, &str)],
    addons: &[[&str; 4]],
    only: Option<&str>,
) -> Chain {
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
    chain::cluster(&snapshot, key, member, only).unwrap()
}

#[track_caller]
fn advises(chain: &Chain, about: &str, cause: &str) {
    let action = chain.action.as_ref().unwrap();
    assert_eq!((action.about.as_deref(), action.cause), (Some(about), Some(cause)), "{}", sentences(chain));
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
    let chain = why_of(&both, &addons, None);
    advises(&chain, "addon cni", "Failed");
    let chain = why_of(&both, &addons, Some("ccm"));
    advises(&chain, "ValuesRendered", "WaitingForField");

    let mut gone = both;
    gone[0] = ("ClusterAvailable", "Unknown", "Paused", "the Cluster is paused");
    advises(&why_of(&gone, &addons, None), "ClusterAvailable", "Paused");
    gone[1] = ("ReleaseReady", "False", "ReleaseMutated", "");
    advises(&why_of(&gone, &addons, None), "ClusterAvailable", "Paused");

    let mut invalid = both;
    invalid[2] = ("ValuesRendered", "False", "ValuesInvalid", "ccm: line 3");
    let addons = [["ccm", "Held", "ValuesInvalid", "line 3"], ["cni", "Progressing", "Progressing", ""]];
    invalid[4] = ("AddonsReady", "Unknown", "Several", "");
    let chain = why_of(&invalid, &addons, None);
    advises(&chain, "ValuesRendered", "ValuesInvalid");
    let text = sentences(&chain);
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
    assert!(!why_of(&conditions, &addons, Some("cni")).ready);
    let chain = why_of(&conditions, &addons, Some("cc"));
    let text = sentences(&chain);
    assert!(chain.ready && !text.contains("ValuesRendered") && !text.contains("AddonsReady"), "{text}");
    let chain = why_of(&conditions, &addons, Some("ccm"));
    assert!(!chain.ready, "what it has is applied, what it should have cannot be rendered");
    advises(&chain, "ValuesRendered", "ValuesInvalid");
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
    let chain = chain::cluster(&snapshot, key, member, None).unwrap();
    advises(&chain, &format!("GitRepository stacks/{RELEASE}"), "ServerUnreachable");
}

#[test]
fn why_shows_suspended_objects() {
    let snapshot = with_failing_source(true);
    let status = table(&fleet::fleet(&snapshot));
    assert_eq!(status.matches("suspended; ").count(), 3, "a ClusterStack and two clusters:\n{status}");
    let of = |name: &str, only: Option<&str>| {
        let (key, member) = snapshot.member("prod", name).unwrap();
        chain::cluster(&snapshot, key, member, only).unwrap()
    };
    let chain = of("two", None);
    advises(&chain, "ClusterStack stacks/demo spec.suspend", "Suspended");
    let text = sentences(&chain);
    assert!(text.contains(&format!("✗ GitRepository stacks/{RELEASE}: GitOperationFailed")), "{text}");
    for line in
        ["◎ ClusterStack stacks/demo spec.suspend: Suspended", "◎ ClusterAddon spec.suspend: Suspended"]
    {
        assert!(text.contains(line), "{text}");
    }
    let one = of("one", Some("cni"));
    assert!(one.ready && sentences(&one).contains("ClusterAddon spec.suspend"), "{}", sentences(&one));
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
    let chain = why_of(&conditions, &addons, None);
    advises(&chain, "addons ccm, cni, csi, dns, metrics", "KubeConfigNotFound");
    let text = sentences(&chain);
    assert_eq!(text.matches(message).count(), 1, "the message is printed once: {text}");
    let chain = why_of(&conditions, &addons, Some("metrics"));
    advises(&chain, "addon metrics", "KubeConfigNotFound");
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
        ("Retrying", "Retrying", "Retrying"),
        ("RepeatedlyFailing", "RepeatedlyFailing", "RepeatedlyFailing"),
        ("RepeatedlyFailing", "RefusedByChart", "RefusedByChart"),
        ("Failed", "DeadlineExceeded", "DeadlineExceeded"),
    ] {
        let chain = why_of(&conditions, &[["cni", phase, reason, "x"]], Some("cni"));
        advises(&chain, "addon cni", advice);
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
    let chain = chain::cluster(&snapshot, key, member, Some("cni")).unwrap();
    assert!(!chain.ready);
    advises(&chain, "HelmRelease prod/one.cni", "Foreign");
}

/// A timeout of Helm does not say which workload was late: the inventory has those of the addon.
#[test]
fn why_names_workloads_of_the_inventory() {
    let mut lists = lists();
    let failed = [condition("Ready", "False", "UpgradeFailed", FAILED)];
    let inventory = ["kube-system_cni_apps_DaemonSet", "_system__cni_rbac.authorization.k8s.io_ClusterRole"];
    let release = flux((FluxKind::HelmRelease, "prod", "two.cni"), &observed::chart(), &failed, &inventory);
    lists.flux[0].1 = Some(vec![release]);
    let snapshot = Snapshot::new(lists, None, NOW.parse().unwrap());
    let (key, member) = snapshot.member("prod", "two").unwrap();
    let action = chain::cluster(&snapshot, key, member, None).unwrap().action.unwrap();
    let describe = "kubectl --kubeconfig two.kubeconfig -n kube-system describe daemonset cni";
    assert!(action.commands.iter().any(|command| command == describe), "{action:#?}");
}

/// With delivery through Git, the source is in the repository, too, and waits for the same push.
#[test]
fn why_of_a_stack_names_the_push_before_its_source() {
    let mut stack = stack();
    let refused = "https://git.example.org/clusters.git: the Git server refuses the password or token";
    stack["status"]["conditions"] = json!([
        condition("Ready", "False", "PushFailed", "Delivered: m"),
        condition("SourceReady", "Unknown", "NotYetReported", "not yet reported"),
        condition("Delivered", "False", "PushFailed", refused),
    ]);
    let lists = Lists { stacks: vec![read(stack)], ..lists() };
    let snapshot = Snapshot::new(lists, None, NOW.parse().unwrap());
    let chain = chain::stack(&snapshot, &crate::names::Key::new("stacks", "demo")).unwrap();
    advises(&chain, "Delivered", "TokenRefused");
    assert_eq!(chain.cause.unwrap().message, refused);
}

#[test]
fn why_names_the_other_causes() {
    let conditions = [
        ("ClusterAvailable", "True", "Available", ""),
        ("ReleaseReady", "True", "Usable", ""),
        ("ValuesRendered", "False", "ValuesInvalid", "ccm: line 3"),
        ("Delivered", "True", "Delivered", ""),
        (
            "AddonsReady",
            "False",
            "Several",
            "ccm: held; cni: no such image; csi and dns: no room; log: not yet",
        ),
    ];
    let addons = [
        ["ccm", "Held", "ValuesInvalid", "line 3"],
        ["cni", "Failed", "UpgradeFailed", "no such image"],
        ["csi", "RolledBack", "RolledBack", "no room"],
        ["dns", "RolledBack", "RolledBack", "no room"],
        ["log", "Progressing", "Progressing", "not yet"],
    ];
    let others = |conditions: &[(&str, &str, &str, &str)], only| {
        let chain = why_of(conditions, &addons, only);
        let found =
            chain.others.iter().map(|other| format!("{}: {}: {}", other.what, other.reason, other.command));
        (found.collect::<Vec<_>>(), sentences(&chain))
    };
    let (cni, csi) = (
        "addon cni: UpgradeFailed: stackflux why two/cni -n prod",
        "addons csi, dns: RolledBack: stackflux why two/csi -n prod",
    );
    let (found, text) = others(&conditions, None);
    assert_eq!(found, [cni, csi], "the advice is about ccm, and log is on its way:\n{text}");
    let printed = "Not ready for other causes:\n  stackflux why two/cni -n prod  # addon cni: UpgradeFailed\n  \
                   stackflux why two/csi -n prod  # addons csi, dns: RolledBack\n\n";
    assert!(text.contains(printed), "{text}");

    let mut rendered = conditions;
    rendered[2] = ("ValuesRendered", "True", "Rendered", "");
    let (found, text) = others(&rendered, None);
    assert_eq!(found, [cni, csi], "the advice is about the step of ccm:\n{text}");
    assert_eq!(others(&conditions, Some("cni")).0, Vec::<String>::new(), "one addon has one cause");

    let mut gone = conditions;
    gone[0] = ("ClusterAvailable", "False", "Unreachable", "no answer");
    let (found, text) = others(&gone, None);
    assert_eq!(found, Vec::<String>::new(), "all addons wait for the Cluster:\n{text}");
    assert!(!text.contains("other causes"), "{text}");
}

/// Returns conditions of which only that of the addons is false.
fn with_addons(reason: &'static str) -> [(&'static str, &'static str, &'static str, &'static str); 5] {
    [
        ("ClusterAvailable", "True", "Available", ""),
        ("ReleaseReady", "True", "Usable", ""),
        ("ValuesRendered", "True", "Rendered", ""),
        ("Delivered", "True", "Delivered", ""),
        ("AddonsReady", "False", reason, "see below"),
    ]
}

#[test]
fn why_limits_the_other_causes() {
    let names: Vec<String> = (0..8).map(|number| format!("addon-{number}")).collect();
    let addons: Vec<[&str; 4]> = names.iter().map(|name| [name, "Failed", "UpgradeFailed", name]).collect();
    let chain = why_of(&with_addons("UpgradeFailed"), &addons, None);
    let text = sentences(&chain);
    assert_eq!((chain.others.len(), text.matches("-n prod  # ").count()), (7, 5), "{text}");
    assert!(text.contains("\n  and 2 more\n"), "{text}");
}

#[test]
fn why_mentions_values_beyond_the_release() {
    let conditions = with_addons("RolledBack");
    let addons = [["cni", "RolledBack", "RolledBack", "rolled back"]];
    let action = |values: Value| {
        let mut lists = lists();
        let mut stack = stack();
        stack["spec"]["flux"] = json!({"addons": {"cni": {"values": values}}});
        lists.stacks = vec![read(stack)];
        let chain = why_in(lists, &conditions, &addons, None);
        assert_eq!(chain.action.as_ref().unwrap().cause, Some("RolledBack"));
        chain.action.unwrap().text
    };
    let plain = "Read the message, and fix the addon or its values in a new release.";
    assert_eq!(action(json!({})), plain);
    let also = "The cause can also be in spec.flux.addons.cni.values of ClusterStack stacks/demo, which a new release does not change.";
    assert_eq!(action(json!({"a": 1})), format!("{plain} {also}"));
}
