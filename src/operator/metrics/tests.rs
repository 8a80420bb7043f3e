use serde_json::json;

use super::*;

struct Failed(Class);

impl Classify for Failed {
    fn class(&self) -> Class {
        self.0
    }

    fn reason(&self) -> &'static str {
        "SourceUnreadable"
    }
}

/// Whether the text has exactly this line.
fn assert_has(metrics: &Metrics, lines: &[&str]) {
    let text = metrics.text().unwrap();
    for line in lines {
        assert!(text.lines().any(|found| found == *line), "no line {line} in:\n{text}");
    }
}

#[test]
fn what_happened_is_counted() {
    let metrics = Metrics::new();
    let took = Duration::from_millis(30);
    metrics.reconciled(Queue::Cluster, Ok(()), took);
    metrics.reconciled(Queue::Cluster, Ok(()), took);
    metrics.reconciled(Queue::ClusterStack, Err(&Failed(Class::Transient)), took);
    metrics.reconciled(Queue::ClusterStack, Err(&Failed(Class::Terminal)), took);
    metrics.wrote(Verb::Apply, "HelmRelease", Written::Changed);
    metrics.wrote(Verb::Delete, "HelmRelease", Written::Fenced);
    metrics.skipped("HelmRelease");
    metrics.queued(Queue::Cluster, 300, 32);
    metrics.answered(Verb::Get, "Lease", Duration::from_secs(2));
    metrics.clone().leads(true);
    assert_has(
        &metrics,
        &[
            concat!("stackflux_build_info{version=\"", env!("CARGO_PKG_VERSION"), "\"} 1"),
            r#"stackflux_reconciles_total{kind="Cluster",outcome="success",reason=""} 2"#,
            r#"stackflux_reconciles_total{kind="ClusterStack",outcome="transient",reason="SourceUnreadable"} 1"#,
            r#"stackflux_reconciles_total{kind="ClusterStack",outcome="terminal",reason="SourceUnreadable"} 1"#,
            r#"stackflux_reconcile_duration_seconds_count{queue="Cluster"} 2"#,
            r#"stackflux_reconcile_duration_seconds_bucket{le="0.025",queue="Cluster"} 0"#,
            r#"stackflux_reconcile_duration_seconds_bucket{le="0.05",queue="Cluster"} 2"#,
            r#"stackflux_writes_total{kind="HelmRelease",verb="apply",result="changed"} 1"#,
            r#"stackflux_writes_total{kind="HelmRelease",verb="delete",result="fenced"} 1"#,
            r#"stackflux_skipped_writes_total{kind="HelmRelease"} 1"#,
            r#"stackflux_queue_depth{queue="Cluster"} 300"#,
            r#"stackflux_reconciles_in_flight{queue="Cluster"} 32"#,
            r#"stackflux_api_request_duration_seconds_sum{verb="get",kind="Lease"} 2.0"#,
            "stackflux_leader 1",
            "# UNIT stackflux_reconcile_duration_seconds seconds",
            "# EOF",
        ],
    );
    metrics.leads(false);
    assert_has(&metrics, &["stackflux_leader 0"]);
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
    assert!(!metrics.text().unwrap().contains("controller_up{"));
}

#[test]
fn what_an_object_finds_takes_the_place_of_what_it_found_before() {
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
    find("demo/one", &[&applied, &pending], &[]);
    find("demo/two", &[&pending], &[Reason::Paused]);
    counts(1, 2, 1);
    find("demo/one", &[&applied, &applied], &[Reason::Paused]);
    counts(2, 1, 2);
    // Another queue's object of the same key is another object.
    metrics.forgot(Queue::ClusterStack, "demo/one");
    counts(2, 1, 2);
    metrics.forgot(Queue::Cluster, "demo/one");
    counts(0, 1, 1);
    metrics.forgot(Queue::Cluster, "demo/two");
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
    metrics.forgot(Queue::Cluster, "demo/two");
    assert_has(&metrics, &[&line("False", "Failed", 0), &line("True", "Applied", 1)]);
}
