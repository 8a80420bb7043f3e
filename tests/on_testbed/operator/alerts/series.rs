//! What Prometheus would have after hours in two states, from scrapes of them: promtool evaluates the alerts over it.

use std::collections::BTreeMap;
use std::time::Instant;

use serde_json::{Value, json};
use stackflux_testbed::Operator;

use crate::promtool::test_rules;
use crate::support::scratch;

/// Minutes in the bad state, longer than any alert waits, and then in the good one.
const BAD_MINUTES: u32 = 240;
const GOOD_MINUTES: u32 = 150;

/// The samples of some operators, with the labels that Prometheus adds.
#[derive(Clone)]
pub(crate) struct Scrape {
    at: Instant,
    samples: BTreeMap<String, f64>,
}

impl Scrape {
    /// Scrapes operators, each under the name of a Pod.
    pub(crate) fn of(pods: &[(&str, &Operator)]) -> Self {
        let none = Self { at: Instant::now(), samples: BTreeMap::new() };
        pods.iter().fold(none, |scrape, (pod, operator)| scrape.and(pod, operator))
    }

    /// The same with the current samples of one more operator.
    pub(crate) fn and(mut self, pod: &str, operator: &Operator) -> Self {
        let found = operator.metrics().unwrap().into_iter();
        self.samples.extend(found.map(|(sample, value)| (with_target(&sample, pod), value)));
        Self { at: Instant::now(), ..self }
    }

    /// The value of the sample whose name begins like this.
    pub(crate) fn value(&self, beginning: &str) -> Option<f64> {
        Some(*self.samples.iter().find(|(sample, _)| sample.starts_with(beginning))?.1)
    }
}

/// A sample with the labels of its Pod. Those of the sample itself stay, as the `PodMonitor` says.
fn with_target(sample: &str, pod: &str) -> String {
    let (name, labels) = sample.split_once('{').unwrap_or((sample, "}"));
    let has_namespace = labels.starts_with("namespace=\"") || labels.contains(",namespace=\"");
    let namespace = if has_namespace { "" } else { "namespace=\"flux-system\"," };
    let comma = if labels == "}" { "" } else { "," };
    format!("{name}{{{namespace}pod=\"{pod}\"{comma}{labels}")
}

/// A bad state that began with `before`, and the good one after it.
pub(crate) struct Course<'a> {
    pub(crate) before: &'a Scrape,
    pub(crate) bad: &'a Scrape,
    pub(crate) good: &'a Scrape,
}

impl Course<'_> {
    /// Fails unless exactly these alerts fire at the end of the bad state, and none at the end of the good one.
    pub(crate) fn assert_fires(&self, name: &str, expected: &[&str]) {
        let samples =
            self.before.samples.keys().chain(self.bad.samples.keys()).chain(self.good.samples.keys());
        let mut series: Vec<&String> = samples.collect();
        series.sort();
        series.dedup();
        let series =
            series.into_iter().map(|sample| json!({"series": sample, "values": self.values(sample)}));
        let fires = |alert: &&str| json!({"labels": format!("{{alertname=\"{alert}\"}}"), "value": 1});
        let check = |expression: &str, minute: u32, samples: Vec<Value>| json!({"expr": expression, "eval_time": format!("{minute}m"), "exp_samples": samples});
        let mut expected = expected.to_vec();
        expected.sort_unstable();
        let firing = "group by (alertname) (ALERTS{alertstate=\"firing\"})";
        let checks = [
            check(firing, BAD_MINUTES - 1, expected.iter().map(fires).collect()),
            check("ALERTS", BAD_MINUTES + GOOD_MINUTES - 1, vec![]),
        ];
        let tests = json!({
            "rule_files": ["rules.yaml"],
            "evaluation_interval": "1m",
            "tests": [{
                "interval": "1m", "input_series": series.collect::<Vec<_>>(), "promql_expr_test": checks,
            }],
        });
        test_rules(&scratch(&format!("alerts-{name}")), &tests.to_string());
    }

    /// The values of a series: what it has in both states, and a counter rises in the bad one as it did until the scrape.
    fn values(&self, sample: &str) -> String {
        let [before, bad, good] = [self.before, self.bad, self.good].map(|of| of.samples.get(sample));
        let name = sample.split('{').next().unwrap_or_default();
        let Some(bad) = bad else {
            return format!("_x{BAD_MINUTES} {}", phase(good.copied(), 0.0, GOOD_MINUTES));
        };
        let minutes = self.bad.at.duration_since(self.before.at).as_secs_f64() / 60.0;
        let is_counter = ["_total", "_count", "_sum", "_bucket"].iter().any(|end| name.ends_with(end));
        let slope = match before {
            _ if name.ends_with("_age_seconds") && *bad > 0.0 => 60.0,
            _ if is_counter => (bad - before.copied().unwrap_or_default()).max(0.0) / minutes,
            _ => 0.0,
        };
        let end = bad + slope * f64::from(BAD_MINUTES - 1);
        let good = if is_counter { good.map(|_| end) } else { good.copied() };
        format!("{} {}", phase(Some(*bad), slope, BAD_MINUTES), phase(good, 0.0, GOOD_MINUTES))
    }
}

/// The values of some minutes, in promtool's notation.
fn phase(value: Option<f64>, slope: f64, minutes: u32) -> String {
    value.map_or_else(|| format!("_x{minutes}"), |value| format!("{value:.6}+{slope:.6}x{}", minutes - 1))
}

#[test]
fn samples_get_the_labels_of_their_pod() {
    for (sample, expected) in [
        ("a", r#"a{namespace="flux-system",pod="p"}"#),
        (r#"a{b="c"}"#, r#"a{namespace="flux-system",pod="p",b="c"}"#),
        (r#"a{b="c",namespace="d"}"#, r#"a{pod="p",b="c",namespace="d"}"#),
    ] {
        assert_eq!(with_target(sample, "p"), expected);
    }
}
