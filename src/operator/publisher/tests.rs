use super::gather::is_unchanged;
use super::*;

fn message(wanted: &[&str], held: &[&str]) -> String {
    let offered = wanted.iter().map(|name| name.parse().unwrap()).collect();
    let held: Vec<String> = held.iter().map(|hold| (*hold).to_owned()).collect();
    let report = report(&Decision { offered, upstream: 2, ..Decision::default() }, &held);
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
        let decision = decide_missing(&stack, &Listing::of(names(upstream)), &there);
        let text = |names: Vec<&ReleaseName>| names.iter().map(ToString::to_string).collect::<Vec<_>>();
        assert_eq!(text(decision.offered.iter().collect()), names(offered), "{versions:?} of {upstream}");
        assert_eq!(text(decision.missing.iter().collect()), names(missing), "{versions:?} of {upstream}");
    }
}

#[test]
fn failure_that_may_pass_is_retried() {
    let interval = Duration::from_mins(5);
    let failure = |class| (hold(Reason::PublishFailed, "m".to_owned()), class);
    let stopped = |stop| Publication { stop: Some(stop), ..Publication::default() };
    let held = |class| stopped(Stop::Held(failure(class).0, class));
    let failed = |classes: &[Class]| {
        let failures = classes.iter().map(|class| failure(*class)).collect();
        Publication { is_changed: true, failures, ..Publication::default() }
    };
    for (publication, expected, next) in [
        (Publication::default(), Some(ConditionStatus::True), Next::After(interval)),
        // The last report stays.
        (stopped(Stop::Busy), None, Next::After(REQUEUE_BUSY_AFTER)),
        (stopped(Stop::Changed), None, Next::Await),
        (held(Class::Transient), Some(ConditionStatus::False), Next::Retry),
        (held(Class::Terminal), Some(ConditionStatus::False), Next::After(interval)),
        (failed(&[Class::Terminal]), Some(ConditionStatus::False), Next::After(interval)),
        (failed(&[Class::Terminal, Class::Transient]), Some(ConditionStatus::False), Next::Retry),
        // What stopped the publication precedes the releases that failed before.
        (
            Publication { stop: Some(Stop::Busy), ..failed(&[Class::Terminal]) },
            None,
            Next::After(REQUEUE_BUSY_AFTER),
        ),
    ] {
        let (report, found) = roll_up(&Decision::default(), publication, interval);
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

/// Publishes as many releases as there are results, and returns the publication and the number of those that were tried.
/// The `ClusterStack` changes after `changes_after` of them.
async fn publication(results: Vec<PublishedOne<()>>, changes_after: usize) -> (Publication, usize) {
    let names = (1..=results.len()).map(|number| format!("openstack-scs-1-32-v{number}").parse().unwrap());
    let (mut results, tried) = (results.into_iter(), std::cell::Cell::new(0));
    let names: Vec<ReleaseName> = names.collect();
    let publication = publish_each(
        &names,
        || tried.get() < changes_after,
        async |_| {
            tried.set(tried.get() + 1);
            results.next().unwrap()
        },
    );
    (publication.await, tried.get())
}

#[tokio::test]
async fn pushed_release_is_fetched_whatever_follows() {
    let (written, held) = (
        || Ok(Ok(Published::Written(()))),
        |class| Err(Stop::Held(hold(Reason::PublishFailed, "m".to_owned()), class)),
    );
    let (found, tried) = publication(vec![written(), Err(Stop::Busy), written()], 9).await;
    assert!(found.is_changed && matches!(found.stop, Some(Stop::Busy)), "the clone is busy");
    assert_eq!(tried, 2);
    let (found, tried) =
        publication(vec![written(), held(Class::Terminal), Ok(Ok(Published::Unchanged))], 9).await;
    assert!(found.is_changed && found.stop.is_none(), "the next release is tried");
    assert_eq!((tried, found.failures.len()), (3, 1));
    let (found, _) = publication(vec![Err(Stop::Busy)], 9).await;
    assert!(!found.is_changed, "nothing was pushed");
}

#[tokio::test]
async fn changed_stack_publishes_no_further_release() {
    let written = || Ok(Ok(Published::Written(())));
    for (changes_after, expected) in [(0, 0), (1, 1), (3, 3)] {
        let (found, tried) = publication(vec![written(), written(), written()], changes_after).await;
        assert_eq!((tried, found.is_changed), (expected, expected > 0));
        assert_eq!(matches!(found.stop, Some(Stop::Changed)), expected < 3, "{changes_after}");
    }
}

#[test]
fn publication_is_for_an_unchanged_stack() {
    let stack = |metadata: serde_json::Value| -> ClusterStack {
        serde_json::from_value(serde_json::json!({
            "apiVersion": "clusterstack.x-k8s.io/v1alpha1", "kind": "ClusterStack", "metadata": metadata,
            "spec": {"provider": "openstack", "name": "scs", "kubernetesVersion": "1.32"},
        }))
        .unwrap()
    };
    let of = |uid: &str, generation: u32| {
        stack(
            serde_json::json!({"name": "demo", "uid": uid, "generation": generation, "resourceVersion": "7"}),
        )
    };
    let mut deleted = of("a", 1);
    deleted.metadata.deletion_timestamp =
        Some(k8s_openapi::apimachinery::pkg::apis::meta::v1::Time("2026-11-25T00:00:00Z".parse().unwrap()));
    for (now, expected, why) in [
        (Some(of("a", 1)), true, "only its status changed"),
        (Some(of("a", 2)), false, "it was suspended, or its upstream source changed"),
        (Some(of("b", 1)), false, "it was recreated"),
        (Some(deleted), false, "it is being deleted"),
        (None, false, "it was deleted"),
    ] {
        assert_eq!(is_unchanged(&of("a", 1), now.as_ref()), expected, "{why}");
    }
}
