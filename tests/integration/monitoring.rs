//! `monitoring/`: the alerts fire and end as its tests say, and each has a section in the runbook.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use regex::Regex;
use serde_json::{Value, json};

use crate::operating::sample_names;
use crate::promtool::{check_rules, file, rules, test_rules};

const RUNBOOK: &str = "docs/fix/alerts.md";

/// All alerts, in their order.
fn alerts() -> Vec<Value> {
    let all = rules();
    let groups = all["groups"].as_array().unwrap().iter();
    groups.flat_map(|group| group["rules"].as_array().unwrap().clone()).collect()
}

fn text<'a>(alert: &'a Value, pointer: &str) -> &'a str {
    alert.pointer(pointer).and_then(Value::as_str).unwrap_or_else(|| panic!("no {pointer}: {alert:#}"))
}

/// All parts of a text that a pattern captures.
fn captured(pattern: &str, text: &str) -> Vec<String> {
    let pattern = Regex::new(pattern).unwrap();
    pattern.captures_iter(text).map(|found| found[1].to_owned()).collect()
}

#[test]
fn alerts_fire_and_end_as_their_tests_say() {
    let tests = fs::read_to_string(file("monitoring/tests/rules.yaml")).unwrap();
    let directory = tempfile::tempdir().unwrap();
    test_rules(directory.path(), &tests);
    let fires = captured(r#"alertname="(\w+)", alertstate="firing""#, &tests);
    let ends = captured(r#"alertname="(\w+)"\}\n\s+eval_time: \w+\n\s+exp_samples: \[\]"#, &tests);
    for alert in alerts() {
        let name = text(&alert, "/alert").to_owned();
        assert!(
            fires.contains(&name) && ends.contains(&name),
            "no test in which {name} fires, and one in which it does not"
        );
    }
}

#[test]
fn alert_says_what_a_person_needs() {
    for alert in alerts() {
        let name = text(&alert, "/alert");
        let severity = text(&alert, "/labels/severity");
        assert!(["critical", "warning"].contains(&severity), "{name}: {severity}");
        assert!(text(&alert, "/for").ends_with('m'), "{name}");
        let (summary, description) =
            (text(&alert, "/annotations/summary"), text(&alert, "/annotations/description"));
        assert!(!summary.ends_with('.') && description.ends_with('.'), "{name}");
        let link = format!("{RUNBOOK}#{}", name.to_lowercase());
        assert_eq!(text(&alert, "/annotations/runbook_url"), link);
        // A label that the expression drops would be an empty text.
        let expression = text(&alert, "/expr");
        let kept = captured(r"by \(([^)]*)\)", expression).join(", ");
        for label in captured(r"\$labels\.(\w+)", &format!("{summary} {description}")) {
            let is_kept = kept.split(", ").any(|kept| kept == label) || !expression.contains(" by (");
            assert!(is_kept, "{name}: {label} is not among {kept}");
        }
    }
}

#[test]
fn runbook_has_a_section_for_each_alert() {
    let runbook = fs::read_to_string(file(RUNBOOK)).unwrap();
    let sections: Vec<&str> = runbook.split("\n## ").skip(1).collect();
    let names: Vec<&str> = sections.iter().map(|section| section.lines().next().unwrap()).collect();
    let alerts = alerts();
    let expected: Vec<&str> = alerts.iter().map(|alert| text(alert, "/alert")).collect();
    assert_eq!(names, expected, "{RUNBOOK} has the sections of other alerts");
    for section in sections {
        let parts = ["- **Fires when** ", "- **You see** ", "- **Stop the damage**: ", "- **Mend**: "];
        assert!(parts.iter().all(|part| section.contains(part)), "a part is missing:\n{section}");
        let commands = section.split("```sh\n").nth(1).and_then(|rest| rest.split("\n```").next()).unwrap();
        assert_eq!(commands.lines().count(), 3, "not three commands:\n{section}");
    }
    let unique: BTreeSet<&&str> = names.iter().collect();
    assert_eq!(unique.len(), names.len());
}

/// All files below a directory.
fn files(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
}

/// The configuration of kube-state-metrics.
fn kube_state_metrics() -> Value {
    let text = fs::read_to_string(file("monitoring/kube-state-metrics.yaml")).unwrap();
    let mut configuration: Value = serde_yaml::from_str(&text).unwrap();
    configuration["spec"]["resources"][0].take()
}

#[test]
fn every_named_metric_is_one_of_the_operator() {
    let mut known = sample_names();
    let resource = kube_state_metrics();
    for metric in resource["metrics"].as_array().unwrap() {
        known.insert(format!("{}_{}", text(&resource, "/metricNamePrefix"), text(metric, "/name")));
    }
    // It is generated from the code, with the names of histograms.
    let reference = file("docs/reference/operator.md");
    let places = ["monitoring", "docs"].into_iter().flat_map(|place| files(&file(place)));
    let places = places.filter(|path| *path != reference);
    let (mut named, mut unknown) = (0, Vec::new());
    for path in places.chain([file("README.md"), file("CHANGELOG.md")]) {
        for name in
            captured(r"\b((?:stackflux|process)_[a-z]+(?:_[a-z]+)*)", &fs::read_to_string(&path).unwrap())
        {
            named += 1;
            if !known.contains(&name) {
                unknown.push(format!("{}: {name}", path.display()));
            }
        }
    }
    assert!(named > 100, "{named} names");
    assert!(unknown.is_empty(), "the operator registers none of these:\n{}", unknown.join("\n"));
}

#[test]
fn expressions_of_the_dashboard_are_valid() {
    let dashboard = fs::read_to_string(file("monitoring/dashboard.json")).unwrap();
    let dashboard: Value = serde_json::from_str(&dashboard).unwrap();
    let mut rules = Vec::new();
    for panel in dashboard["panels"].as_array().unwrap() {
        for target in panel["targets"].as_array().into_iter().flatten() {
            let expression = text(target, "/expr").replace("$__rate_interval", "5m").replace("$job", ".*");
            rules.push(json!({"record": format!("panel_{}", rules.len()), "expr": expression}));
        }
    }
    assert!(rules.len() > 30, "{}", rules.len());
    let rows = dashboard["panels"].as_array().unwrap().iter().filter(|panel| panel["type"] == "row");
    assert_eq!(rows.map(|row| text(row, "/title")).collect::<Vec<_>>(), ["Fleet", "Operator"]);
    let directory = tempfile::tempdir().unwrap();
    check_rules(directory.path(), &json!({"groups": [{"name": "dashboard", "rules": rules}]}));
}

/// The schema of a field below another one.
fn field<'a>(schema: &'a Value, path: &Value) -> &'a Value {
    let names = path.as_array().unwrap().iter().map(|name| name.as_str().unwrap());
    names.fold(schema, |schema, name| &schema["properties"][name])
}

/// The fields that kube-state-metrics reads are those of the kind.
#[test]
fn kube_state_metrics_reads_existing_fields() {
    let definition = fs::read_to_string(file("crds/clusteraddons.yaml")).unwrap();
    let definition: Value = serde_yaml::from_str(&definition).unwrap();
    let resource = kube_state_metrics();
    assert_eq!(resource["groupVersionKind"]["group"], definition["spec"]["group"]);
    assert_eq!(resource["groupVersionKind"]["version"], definition["spec"]["versions"][0]["name"]);
    assert_eq!(resource["groupVersionKind"]["kind"], definition["spec"]["names"]["kind"]);
    let root = &definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"];
    let mut fields = Vec::new();
    let labels = |of: &Value| of["labelsFromPath"].as_object().unwrap().values().cloned().collect::<Vec<_>>();
    // The schema of a definition does not describe metadata.
    fields
        .extend(labels(&resource).into_iter().filter(|path| path[0] != "metadata").map(|path| (root, path)));
    for metric in resource["metrics"].as_array().unwrap() {
        let info = &metric["each"]["info"];
        let of = if info["path"].is_null() { root } else { &field(root, &info["path"])["items"] };
        fields.extend(labels(info).into_iter().map(|path| (of, path)));
    }
    assert_eq!(fields.len(), 6);
    for (schema, path) in fields {
        assert_eq!(field(schema, &path)["type"], "string", "{path}");
    }
}
