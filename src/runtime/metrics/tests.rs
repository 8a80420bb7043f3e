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

/// Asserts that the metrics have exactly these lines.
fn assert_has(registry: &Registry, lines: &[&str]) {
    let text = text(registry).unwrap();
    for line in lines {
        assert!(text.lines().any(|found| found == *line), "no line {line} in:\n{text}");
    }
}

#[test]
fn metrics_count_observations() {
    let mut registry = Registry::with_prefix("demo");
    let metrics = Metrics::new(&mut registry);
    let took = Duration::from_millis(30);
    metrics.reconciled("Cluster", Ok(()), took);
    metrics.reconciled("Cluster", Ok(()), took);
    metrics.reconciled("ClusterStack", Err(&Failed(Class::Transient)), took);
    metrics.reconciled("ClusterStack", Err(&Failed(Class::Terminal)), took);
    metrics.wrote(Verb::Apply, "HelmRelease", Written::Changed);
    metrics.wrote(Verb::Delete, "HelmRelease", Written::Fenced);
    metrics.skipped("HelmRelease");
    metrics.queued("Cluster", 300, 32);
    metrics.answered(Verb::Get, "Lease", Duration::from_secs(2));
    metrics.clone().leads(true);
    assert_has(
        &registry,
        &[
            r#"demo_reconciles_total{kind="Cluster",outcome="success",reason=""} 2"#,
            r#"demo_reconciles_total{kind="ClusterStack",outcome="transient",reason="SourceUnreadable"} 1"#,
            r#"demo_reconciles_total{kind="ClusterStack",outcome="terminal",reason="SourceUnreadable"} 1"#,
            r#"demo_reconcile_duration_seconds_count{queue="Cluster"} 2"#,
            r#"demo_reconcile_duration_seconds_bucket{le="0.025",queue="Cluster"} 0"#,
            r#"demo_reconcile_duration_seconds_bucket{le="0.05",queue="Cluster"} 2"#,
            r#"demo_writes_total{kind="HelmRelease",verb="apply",result="changed"} 1"#,
            r#"demo_writes_total{kind="HelmRelease",verb="delete",result="fenced"} 1"#,
            r#"demo_skipped_writes_total{kind="HelmRelease"} 1"#,
            r#"demo_queue_depth{queue="Cluster"} 300"#,
            r#"demo_reconciles_in_flight{queue="Cluster"} 32"#,
            r#"demo_api_request_duration_seconds_sum{verb="get",kind="Lease"} 2.0"#,
            "demo_leader 1",
            "# UNIT demo_reconcile_duration_seconds seconds",
            "# EOF",
        ],
    );
    metrics.leads(false);
    assert_has(&registry, &["demo_leader 0"]);
}
