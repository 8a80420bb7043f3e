//! `docs/reference/operator.md`: the operator's flags and metrics, out of the code.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::time::Duration;

use clap::{Arg, Args as _, Command};
use serde_json::json;
use stackflux::api::Reason;
use stackflux::api::cluster_addon::ClusterAddonStatus;
use stackflux::error::Class;
use stackflux::operator::metrics::{ConditionOf, Metrics, Objects, Queue, RemoteOperation};
use stackflux::operator::settings::Flags;
use stackflux::rollup::{ClusterReadiness, Pulse, Verdict};
use stackflux::runtime::metrics::{Verb, Written, text};

use crate::documents::{assert_is, cell};

const HEAD: &str = "\
# Flags and metrics of the operator

<!-- Generated from the code by tests/integration/operating.rs; to update, run UPDATE_GOLDEN=1 cargo test. -->

[Operate](../do/operate.md) explains how to use them.
";

const METRICS: &str = "
## Metrics

`GET /metrics` at `--metrics-addr`, in the text format of OpenMetrics.

| metric | type | labels | description |
|---|---|---|---|
";

fn flag(argument: &Arg) -> String {
    let value = argument.get_value_names().unwrap_or_default().join(" ");
    let default: Vec<_> = argument.get_default_values().iter().map(|value| value.to_string_lossy()).collect();
    let default = if default.is_empty() { String::new() } else { format!("`{}`", default.join(" ")) };
    let help = argument.get_long_help().or_else(|| argument.get_help());
    let mut help = help.map(ToString::to_string).unwrap_or_default();
    if let Some(variable) = argument.get_env() {
        write!(help, " (or the variable `{}`)", variable.to_string_lossy()).unwrap();
    }
    let words = argument.get_possible_values();
    if !words.is_empty() && value != "BOOL" {
        let words: Vec<_> = words.iter().map(|word| format!("`{}`", word.get_name())).collect();
        write!(help, ": {}", words.join(", ")).unwrap();
    }
    format!("| `--{}={value}` | {default} | {} |\n", argument.get_long().unwrap(), cell(&help))
}

fn flags() -> String {
    let command = Flags::augment_args(Command::new("operator"));
    let mut groups: Vec<(String, String)> = Vec::new();
    for argument in command.get_arguments() {
        let heading = argument.get_help_heading().unwrap_or("Flags").to_owned();
        match groups.iter_mut().find(|(group, _)| *group == heading) {
            Some((_, rows)) => rows.push_str(&flag(argument)),
            None => groups.push((heading, flag(argument))),
        }
    }
    let mut text = String::new();
    for (heading, rows) in groups {
        write!(text, "\n## {heading}\n\n| flag | default | what it does |\n|---|---|---|\n{rows}").unwrap();
    }
    text
}

/// Metrics of which each has a value: one that has none is not written.
fn metrics() -> Metrics {
    let metrics = Metrics::new();
    metrics.runtime.reconciled("Cluster", Ok(()), Duration::ZERO);
    metrics.found(Queue::Cluster, "demo/one", [("HelmRelease", &Verdict::Pending)], [Reason::Paused]);
    metrics.reported("demo/one", &reported());
    metrics.runtime.wrote(Verb::Apply, "HelmRelease", Written::Changed);
    metrics.runtime.skipped("HelmRelease");
    metrics.runtime.queued("Cluster", 0, 0);
    metrics.controller("helm-controller", Pulse::Alive);
    metrics.runtime.answered(Verb::Get, "Lease", Duration::ZERO);
    metrics.converged("ClusterAddon", [jiff::SignedDuration::ZERO]);
    metrics.requested(RemoteOperation::Commit, Err(Class::Transient), Duration::ZERO);
    metrics.read_objects(|| Some(objects()));
    metrics
}

fn objects() -> Objects {
    let ready = ConditionOf {
        kind: "ClusterStack",
        namespace: "demo".to_owned(),
        name: "one".to_owned(),
        type_: "Ready".to_owned(),
        status: "True".to_owned(),
    };
    Objects { conditions: vec![ready], oldest_unready_seconds: 0.0 }
}

fn reported() -> ClusterAddonStatus {
    let ready = json!({
        "type": "Ready", "status": "True", "reason": "Applied", "message": "",
        "lastTransitionTime": "2026-11-22T10:00:00Z",
    });
    let upgrade =
        json!({"from": "v1.34.0", "to": "v1.35.0", "phase": "Waiting", "since": "2026-11-22T10:00:00Z"});
    serde_json::from_value(json!({"conditions": [ready], "upgrade": upgrade})).unwrap()
}

/// The labels of the samples of a metric, but for the bounds of a histogram.
fn labels(text: &str, metric: &str) -> String {
    let starts = ["", "_total", "_info", "_bucket"].map(|suffix| format!("{metric}{suffix}{{"));
    let samples = text.lines().filter(|line| starts.iter().any(|start| line.starts_with(start)));
    let names: BTreeSet<_> = samples
        .filter_map(|line| line.split_once('{')?.1.split_once('}'))
        .flat_map(|(labels, _)| labels.split(',').filter_map(|label| label.split_once('=')))
        .map(|(name, _)| name)
        .filter(|name| *name != "le")
        .collect();
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

/// The names of all samples that the operator can write.
pub(crate) fn sample_names() -> BTreeSet<String> {
    let text = text(&metrics().registry()).unwrap();
    let samples = text.lines().filter(|line| !line.starts_with('#'));
    samples.filter_map(|line| Some(line.split(['{', ' ']).next()?.to_owned())).collect()
}

fn metric_rows() -> String {
    let text = text(&metrics().registry()).unwrap();
    let mut rows = String::new();
    for line in text.lines() {
        let Some((name, help)) = line.strip_prefix("# HELP ").and_then(|rest| rest.split_once(' ')) else {
            continue;
        };
        let kind = text.lines().find_map(|line| line.strip_prefix(&format!("# TYPE {name} "))).unwrap();
        let sample = match kind {
            "counter" => format!("{name}_total"),
            "info" => format!("{name}_info"),
            _ => name.to_owned(),
        };
        writeln!(rows, "| `{sample}` | {kind} | {} | {} |", labels(&text, name), cell(help)).unwrap();
    }
    rows
}

#[test]
fn flags_and_metrics_are_those_of_the_code() {
    assert_is(&(HEAD.to_owned() + &flags() + METRICS + &metric_rows()), "docs/reference/operator.md");
}

/// What a Cluster counts as, as `docs/do/operate.md` has it.
fn readiness_table() -> String {
    let mut text =
        "| a Cluster that … | counts as | number in `status.clusters` |\n|---|---|---|\n".to_owned();
    for readiness in ClusterReadiness::ALL {
        let counts = readiness.counts_as().map_or("not counted", |status| status.as_str());
        writeln!(text, "| {} | {counts} | `{}` |", readiness.meaning(), readiness.field()).unwrap();
    }
    text
}

#[test]
fn operating_has_the_readiness_table() {
    let document = include_str!("../../docs/do/operate.md");
    assert!(
        document.contains(&readiness_table()),
        "docs/do/operate.md has not this table:\n{}",
        readiness_table()
    );
}
