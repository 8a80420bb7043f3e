use super::*;

fn message(wanted: &[&str], held: &[&str]) -> String {
    let listing = Listing::of(["openstack-scs-1-32-v1", "openstack-scs-1-32-v2"].map(str::to_owned));
    let wanted = wanted.iter().map(|name| name.parse().unwrap()).collect();
    let held: Vec<String> = held.iter().map(|hold| (*hold).to_owned()).collect();
    let report = report(&wanted, &listing, &held);
    assert_eq!(report.status, ConditionStatus::True);
    report.message
}

#[test]
fn held_release_is_reported_but_not_as_present() {
    assert_eq!(message(&[], &[]), "the ClusterStack offers no release that is published upstream");
    let there = message(&["openstack-scs-1-32-v2"], &[]);
    assert_eq!(
        there,
        "the stack repository has openstack-scs-1-32-v2 and all other offered releases, of 2 upstream"
    );
    let held = "openstack-scs-1-32-v2 is held back from stage stage: it leaks";
    assert_eq!(
        message(&["openstack-scs-1-32-v2"], &[held]),
        format!("the stack repository has all offered releases, of 2 upstream, except held ones: {held}")
    );
}

#[test]
fn offered_upstream_release_is_published_once() {
    let names = |versions: &str| -> Vec<String> {
        versions.split_whitespace().map(|version| format!("openstack-scs-1-32-{version}")).collect()
    };
    for (versions, auto_subscribe, upstream, there, offered, missing) in [
        (&["v1"][..], false, "v1 v2", "", "v1", "v1"),
        (&["v1", "v2"], false, "v1 v2", "v1", "v1 v2", "v2"),
        (&["v1", "v9"], false, "v1", "v1", "v1", ""),
        (&["v1"], true, "v1 v2 v3", "v1", "v1 v3", "v3"),
        // The stack repository may have more than the upstream source.
        (&["v1"], false, "", "v1 v2", "", ""),
        (&[], false, "v1", "", "", ""),
    ] {
        let stack: ClusterStack = serde_json::from_value(serde_json::json!({
            "apiVersion": "clusterstack.x-k8s.io/v1alpha1", "kind": "ClusterStack", "metadata": {"name": "demo"},
            "spec": {
                "provider": "openstack", "name": "scs", "kubernetesVersion": "1.32",
                "versions": versions, "autoSubscribe": auto_subscribe,
            },
        }))
        .unwrap();
        let there = names(there).iter().map(|name| name.parse().unwrap()).collect();
        let decision = decide(&stack, &Listing::of(names(upstream)), &there);
        let text = |names: Vec<&ReleaseName>| names.iter().map(ToString::to_string).collect::<Vec<_>>();
        assert_eq!(text(decision.offered.iter().collect()), names(offered), "{versions:?} of {upstream}");
        assert_eq!(text(decision.missing.iter().collect()), names(missing), "{versions:?} of {upstream}");
    }
}

#[test]
fn failure_that_may_pass_is_retried() {
    let interval = Duration::from_mins(5);
    let held = |class| Err(Stop::Held(hold(Reason::PublishFailed, "m".to_owned()), class));
    let published = || Report::new(ConditionStatus::True, Reason::Published.as_str(), "m");
    for (result, expected, next) in [
        (Ok(published()), Some(ConditionStatus::True), Next::After(interval)),
        // The last report stays.
        (Err(Stop::Busy), None, Next::After(REQUEUE_BUSY_AFTER)),
        (held(Class::Transient), Some(ConditionStatus::False), Next::Retry),
        (held(Class::Terminal), Some(ConditionStatus::False), Next::After(interval)),
    ] {
        let (report, found) = roll_up(result, interval);
        assert_eq!((report.map(|report| report.status), found), (expected, next));
    }
}

#[tokio::test]
async fn endless_upstream_times_out() {
    let endless = std::future::pending::<Result<Listing, OriginError>>();
    let error =
        within(Duration::from_millis(1), "oci://registry.example.com/stacks", endless).await.unwrap_err();
    assert_eq!(error.class(), Class::Transient, "the next look may have an answer");
    assert_eq!(error.to_string(), "oci://registry.example.com/stacks: timed out after 0 s");
}
