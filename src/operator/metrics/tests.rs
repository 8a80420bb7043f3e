use std::sync::Mutex;

use serde_json::json;

use super::*;

/// Asserts that the metrics have exactly these lines.
fn assert_has(metrics: &Metrics, lines: &[&str]) {
    let text = runtime::text(&metrics.registry()).unwrap();
    for line in lines {
        assert!(text.lines().any(|found| found == *line), "no line {line} in:\n{text}");
    }
}

#[test]
fn flux_controller_is_up_down_or_absent() {
    let metrics = Metrics::new();
    let line = |up| format!("stackflux_flux_controller_up{{controller=\"helm-controller\"}} {up}");
    let dead = Pulse::Dead { since: jiff::Timestamp::UNIX_EPOCH };
    for (pulse, up) in [(Pulse::Alive, 1), (dead, 0), (Pulse::Alive, 1)] {
        metrics.controller("helm-controller", pulse);
        assert_has(&metrics, &[&line(up)]);
    }
    metrics.controller("helm-controller", Pulse::Unknown { moved: None });
    assert!(!runtime::text(&metrics.registry()).unwrap().contains("controller_up{"));
}

#[test]
fn size_of_built_in_repositories_has_its_unit() {
    let metrics = Metrics::new();
    assert_has(&metrics, &["stackflux_builtin_repositories_bytes 0"]);
    metrics.builtin(7 << 20);
    assert_has(&metrics, &["stackflux_builtin_repositories_bytes 7340032"]);
}

#[test]
fn new_count_of_object_replaces_the_old_one() {
    let metrics = Metrics::new();
    let (applied, pending) = (Verdict::Applied, Verdict::Pending);
    let find = |key: &str, verdicts: &[&Verdict], holds: &[Reason]| {
        let verdicts = verdicts.iter().map(|verdict| ("HelmRelease", *verdict));
        metrics.found(Queue::Cluster, key, verdicts, holds.iter().copied());
    };
    let counts = |applied, pending, paused| {
        let line = |verdict, count: u8| {
            format!("stackflux_objects{{kind=\"HelmRelease\",verdict=\"{verdict}\"}} {count}")
        };
        let holds = format!("stackflux_holds{{reason=\"Paused\"}} {paused}");
        let lines = [line("Applied", applied), line("Pending", pending), holds];
        assert_has(&metrics, &lines.each_ref().map(String::as_str));
    };
    let build = format!("stackflux_build_info{{version=\"{}\"}} 1", env!("CARGO_PKG_VERSION"));
    assert_has(&metrics, &[&build]);
    find("demo/one", &[&applied, &pending], &[]);
    find("demo/two", &[&pending], &[Reason::Paused]);
    counts(1, 2, 1);
    find("demo/one", &[&applied, &applied], &[Reason::Paused]);
    counts(2, 1, 2);
    // The same key in another queue is another object.
    metrics.remove(Queue::ClusterStack, "demo/one");
    counts(2, 1, 2);
    metrics.remove(Queue::Cluster, "demo/one");
    counts(0, 1, 1);
    metrics.remove(Queue::Cluster, "demo/two");
    counts(0, 0, 0);
}

#[test]
fn clusters_are_counted_by_ready_and_reason() {
    let metrics = Metrics::new();
    let status = |ready: &str, reason: &str| -> ClusterAddonStatus {
        let transition = "2026-11-22T10:00:00Z";
        let condition = json!({
            "type": "Ready", "status": ready, "reason": reason, "message": "", "lastTransitionTime": transition,
        });
        serde_json::from_value(json!({"conditions": [condition]})).unwrap()
    };
    let line =
        |ready, reason, count| format!("stackflux_clusters{{ready=\"{ready}\",reason=\"{reason}\"}} {count}");
    metrics.reported("demo/one", &status("False", "Failed"));
    metrics.reported("demo/two", &status("False", "Failed"));
    assert_has(&metrics, &[&line("False", "Failed", 2)]);
    metrics.reported("demo/one", &status("True", "Applied"));
    assert_has(&metrics, &[&line("False", "Failed", 1), &line("True", "Applied", 1)]);
    metrics.remove(Queue::Cluster, "demo/two");
    assert_has(&metrics, &[&line("False", "Failed", 0), &line("True", "Applied", 1)]);
}

#[test]
fn upgrades_are_counted_by_phase() {
    let metrics = Metrics::new();
    let upgrade = |phase: &str| -> ClusterAddonStatus {
        let upgrade =
            json!({"from": "v1.34.0", "to": "v1.35.0", "phase": phase, "since": "2026-11-22T10:00:00Z"});
        serde_json::from_value(json!({"upgrade": upgrade})).unwrap()
    };
    let line = |phase, count| format!("stackflux_upgrade_gates{{phase=\"{phase}\"}} {count}");
    metrics.reported("demo/one", &upgrade("Waiting"));
    metrics.reported("demo/two", &upgrade("Waiting"));
    metrics.reported("demo/three", &ClusterAddonStatus::default());
    assert_has(&metrics, &[&line("Waiting", 2)]);
    metrics.reported("demo/one", &upgrade("Open"));
    metrics.remove(Queue::Cluster, "demo/two");
    assert_has(&metrics, &[&line("Waiting", 0), &line("Open", 1)]);
}

#[test]
fn conditions_are_those_of_the_last_scrape() {
    let metrics = Metrics::new();
    let condition = |name: &str, status: &str| ConditionOf {
        kind: "ClusterStack",
        namespace: "demo".to_owned(),
        name: name.to_owned(),
        type_: "Ready".to_owned(),
        status: status.to_owned(),
    };
    let found: Arc<Mutex<Option<Objects>>> = Arc::default();
    let read = found.clone();
    metrics.read_objects(move || read.lock().unwrap().clone());
    let line = |name, status| {
        format!(
            "stackflux_condition{{kind=\"ClusterStack\",namespace=\"demo\",name=\"{name}\",type=\"Ready\",status=\"{status}\"}} 1"
        )
    };
    *found.lock().unwrap() = Some(Objects {
        conditions: vec![condition("one", "False"), condition("two", "True")],
        oldest_unready_seconds: 90.5,
    });
    let age = "stackflux_oldest_unready_cluster_age_seconds 90.5";
    assert_has(&metrics, &[&line("one", "False"), &line("two", "True"), age]);
    // `two` is deleted, and `one` is ready by now.
    *found.lock().unwrap() =
        Some(Objects { conditions: vec![condition("one", "True")], ..Objects::default() });
    assert_has(&metrics, &[&line("one", "True"), "stackflux_oldest_unready_cluster_age_seconds 0.0"]);
    let text = runtime::text(&metrics.registry()).unwrap();
    assert_eq!(text.matches("stackflux_condition{").count(), 1, "{text}");
    // Another process leads.
    *found.lock().unwrap() = None;
    let text = runtime::text(&metrics.registry()).unwrap();
    assert!(!text.contains("stackflux_condition") && !text.contains("unready"), "{text}");
}

#[test]
fn convergence_is_counted_by_kind() {
    let metrics = Metrics::new();
    metrics.converged("ClusterAddon", [SignedDuration::from_secs(8), SignedDuration::from_secs(90)]);
    let bucket = |le, count| {
        format!("stackflux_convergence_seconds_bucket{{le=\"{le}\",kind=\"ClusterAddon\"}} {count}")
    };
    assert_has(&metrics, &[&bucket("5.0", 0), &bucket("10.0", 1), &bucket("120.0", 2), &bucket("3600.0", 2)]);
}

#[tokio::test]
async fn remote_operations_are_counted_by_outcome() {
    let metrics = Metrics::new();
    let outcome = |answer: &Result<u8, Class>| match answer {
        Ok(0) => None,
        Ok(_) => Some(Ok(())),
        Err(class) => Some(Err(*class)),
    };
    for answer in [Ok(1), Ok(0), Err(Class::Transient), Err(Class::Transient), Err(Class::Terminal)] {
        let found = metrics.measure(RemoteOperation::Commit, async { answer }, outcome).await;
        assert_eq!(found, answer);
    }
    let line = |outcome, count| {
        format!("stackflux_remote_requests_total{{operation=\"commit\",outcome=\"{outcome}\"}} {count}")
    };
    let count = "stackflux_remote_request_duration_seconds_count{operation=\"commit\"} 4";
    assert_has(&metrics, &[&line("success", 1), &line("transient", 2), &line("terminal", 1), count]);
}
