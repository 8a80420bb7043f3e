//! A table of all bad situations that can be produced: the real content of the workload cluster, and the reports of
//! conditions, `status`, `tree`, `why`, metrics and exit codes.
//!
//! Every situation is a ClusterStack with one Cluster in a namespace of its own, all of them at once under one operator.
//! A new reason needs a row in `situations`, or the name of the test that produces it in `elsewhere`.

mod elsewhere;
mod situations;
mod stacks;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use stackflux_testbed::{Object, Operator, Testbed};

use self::situations::{SITUATIONS, Says, Situation, Start};
use self::stacks::{STACK_SITUATIONS, StackSituation};
use super::record::record;
use super::scenario::{STACK, Scenario, TIMEOUT, V1, V2, at_once, condition};
use crate::support::{copy, stackflux};

/// The Cluster of each situation.
pub(super) const CLUSTER: &str = "c";
/// The name of its `ClusterAddon`.
const ADDON: &str = "cluster-addon-c";

/// A situation in its namespace.
struct Case {
    situation: &'static Situation,
    scenario: Scenario<'static>,
}

#[test]
fn conditions_and_commands_agree_with_the_cluster() {
    let cases = at_once(SITUATIONS, Case::new);
    let stacks = at_once(STACK_SITUATIONS, StackCase::new);
    let scenarios = cases.iter().map(|case| &case.scenario).chain(stacks.iter().map(|case| &case.scenario));
    let operator = operator(scenarios.clone());
    at_once(&stacks, StackCase::make);
    for case in cases.iter().filter(|case| case.situation.start == Start::Ready) {
        case.scenario.wait_addons(CLUSTER);
        assert_eq!(case.content(), Some("v1".to_owned()), "{}", case.situation.name);
    }
    at_once(&cases, |case| (case.situation.make)(&case.scenario));
    // A report must still be there when all other situations are done, and then the commands have to agree with it.
    let mut wrong = Vec::new();
    for (patience, commands) in [(TIMEOUT, false), (Duration::from_mins(1), true)] {
        let limit = Instant::now() + patience;
        let of_cases = at_once(&cases, |case| settled(limit, || case.differences(&operator, commands)));
        let of_stacks = at_once(&stacks, |case| settled(limit, || case.differences(commands)));
        wrong.extend(of_cases.into_iter().chain(of_stacks).flatten());
    }
    for (name, scenario) in cases.iter().map(|case| (case.situation.name, &case.scenario)) {
        record(name, scenario);
    }
    for (name, scenario) in stacks.iter().map(|case| (case.situation.name, &case.scenario)) {
        record(name, scenario);
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    elsewhere::complete(&scenarios.flat_map(reasons).collect());
}

/// The differences that remain at the limit: Flux shows other states while it retries.
fn settled(limit: Instant, differences: impl Fn() -> Vec<String>) -> Vec<String> {
    loop {
        let found = differences();
        if found.is_empty() || Instant::now() > limit {
            for found in &found {
                eprintln!("{found}");
            }
            return found;
        }
        sleep(Duration::from_millis(500));
    }
}

/// The reasons of all conditions and addons of a namespace.
fn reasons(scenario: &Scenario) -> BTreeSet<String> {
    let kinds = ["clusterstack", "clusterstackrelease", "clusteraddon"];
    let objects = kinds.iter().flat_map(|kind| scenario.list(kind));
    let reports = objects.flat_map(|object| {
        let lists = [&object["status"]["conditions"], &object["status"]["addons"]];
        let parts = lists.into_iter().filter_map(Value::as_array).flatten();
        parts.filter_map(|part| Some(part["reason"].as_str()?.to_owned())).collect::<Vec<_>>()
    });
    reports.collect()
}

/// One operator for the namespaces of all scenarios.
fn operator<'a>(scenarios: impl Iterator<Item = &'a Scenario<'static>>) -> Operator {
    let namespaces: Vec<&str> = scenarios.map(|scenario| scenario.namespace.as_str()).collect();
    let selector = format!("--watch-label-selector=test in ({})", namespaces.join(","));
    let (testbed, binary) = (Testbed::shared(), Path::new(env!("CARGO_BIN_EXE_stackflux")));
    let flags = ["--log-level=debug", "--enable-leader-election=false", &selector];
    let operator = Operator::start(testbed, binary, testbed.operator_kubeconfig(), &flags).unwrap();
    operator.wait_ready(TIMEOUT).unwrap();
    operator
}

impl Case {
    /// Prepares the stack repository with two releases, the ClusterStack, and the Cluster if it starts ready.
    fn new(situation: &'static Situation) -> Self {
        let scenario = published(situation.name, situation.prepare);
        let spec = (situation.spec)(&scenario);
        scenario.apply_stack(situation.versions, &spec);
        if situation.start == Start::Ready {
            scenario.create_cluster(CLUSTER, V1, "one");
        }
        Self { situation, scenario }
    }

    /// The release of the workload cluster's content.
    fn content(&self) -> Option<String> {
        let name = self.scenario.addon("app");
        let object = Object { kind: "configmap", namespace: "kube-system", name: &name };
        let found = self.scenario.testbed.workload("one").unwrap().get(object).unwrap()?;
        Some(crate::text(&found, "/data/content").to_owned())
    }

    /// The expected reports: on a slow machine, a delivery has failed for so long that it is an issue.
    fn says(&self, addon: &Value) -> Says {
        let says = self.situation.says;
        let is_issue = says.reason == "DeliveryFailed" && condition(addon, "Ready").0 == "False";
        if is_issue { Says { ready: "False", clusters_ready: "False", ..says } } else { says }
    }

    /// The current differences from the row; with or without those of the commands.
    fn differences(&self, operator: &Operator, commands: bool) -> Vec<String> {
        let (name, mut wrong) = (self.situation.name, Vec::new());
        let addon = self.scenario.get("clusteraddon", ADDON).unwrap_or_default();
        let says = self.says(&addon);
        self.compare_objects(&says, &addon, operator, &mut expectations(name, &mut wrong));
        // Commands take a second each: they run only after the objects that they read match the row.
        if commands && wrong.is_empty() {
            let (_, _, message) = condition(&addon, "Ready");
            self.compare_commands(message, &mut expectations(name, &mut wrong));
        }
        wrong
    }

    /// Compares the objects, the workload cluster and the metric with the row.
    fn compare_objects(
        &self,
        says: &Says,
        addon: &Value,
        operator: &Operator,
        expect: &mut impl FnMut(&str, &str, &str),
    ) {
        let Says { ready, reason, content, .. } = *says;
        let (status, because, message) = condition(addon, "Ready");
        let output = format!("Ready={status} {because}: {message}");
        expect("the ClusterAddon", &output, &format!("Ready={ready} {reason}"));
        let found = self.content().unwrap_or_else(|| "nothing".to_owned());
        expect("the workload cluster", &found, content);
        self.compare_stack(says, expect);
        let label = format!("stackflux_clusters{{ready=\"{ready}\",reason=\"{reason}\"}}");
        let metrics = operator.metrics().unwrap_or_default();
        let clusters = metrics.get(&label).copied().unwrap_or_default();
        // Of rows with the same reason, all or none have waited that long.
        let rows = SITUATIONS.iter().filter(|row| {
            row.says.reason == reason && (row.says.ready == ready || reason == "DeliveryFailed")
        });
        expect(&label, &format!("{label} {clusters};"), &format!("{label} {};", rows.count()));
    }

    /// Compares the ClusterStack: it is ready, and counts its one Cluster as the row says.
    fn compare_stack(&self, says: &Says, expect: &mut impl FnMut(&str, &str, &str)) {
        let Says { clusters_ready, counted_as, stack_ready, .. } = *says;
        let stack = self.scenario.get("clusterstack", STACK).unwrap_or_default();
        expect("Ready of the ClusterStack", condition(&stack, "Ready").0, stack_ready);
        let (status, _, message) = condition(&stack, "ClustersReady");
        let output = format!("ClustersReady={status}: {message}");
        expect("the ClusterStack", &output, &format!("ClustersReady={clusters_ready}"));
        expect("the ClusterStack", &output, counted_as);
    }

    /// Compares `tree` and `why` with the reason and `status` with the message. All exit with 1 if the Cluster is not ready.
    fn compare_commands(&self, message: &str, expect: &mut impl FnMut(&str, &str, &str)) {
        let Says { reason, ready, why, .. } = self.situation.says;
        let code = if ready == "True" { "exit code 0" } else { "exit code 1" };
        let (of_tree, of_status) = if ready == "True" { ("", "") } else { (reason, message) };
        for (command, of_it) in [("status", of_status), ("tree", of_tree)] {
            let output = output_of(&self.scenario, &[command]);
            expect(command, &output, code);
            expect(command, &output, of_it);
        }
        let output = output_of(&self.scenario, &["why", CLUSTER]);
        let reason = if ready == "True" { "is ready" } else { reason };
        for should in [code, reason, why] {
            expect("why", &output, should);
        }
    }
}

/// Compares texts, and notes a missing part: the subject, the text, and the expected part.
fn expectations(situation: &str, wrong: &mut Vec<String>) -> impl FnMut(&str, &str, &str) {
    move |what, is, should| {
        if !is.contains(should) {
            wrong.push(format!("{situation}: {what} has no {should:?}: {is}"));
        }
    }
}

/// The output of a command in the namespace of a scenario, and its exit code.
fn output_of(scenario: &Scenario, command: &[&str]) -> String {
    let kubeconfig = scenario.management().kubeconfig().to_str().unwrap();
    let access = ["--namespace", &scenario.namespace, "--kubeconfig", kubeconfig];
    let run = stackflux(&[command, &access].concat());
    format!("{}{}exit code {}", run.stdout, run.stderr, run.code)
}

/// A situation of a ClusterStack without Clusters, in its namespace.
struct StackCase {
    situation: &'static StackSituation,
    scenario: Scenario<'static>,
}

impl StackCase {
    fn new(situation: &'static StackSituation) -> Self {
        let scenario = published(situation.name, situation.prepare);
        scenario.apply_stack(situation.versions, &(situation.spec)());
        Self { situation, scenario }
    }

    fn make(&self) {
        if let Some(make) = self.situation.make {
            self.scenario.wait_ready("clusterstack", STACK);
            make(&self.scenario);
        }
    }

    /// The current differences from the row: the condition, and with `commands` the exit code and the words of `status`.
    fn differences(&self, commands: bool) -> Vec<String> {
        let StackSituation { name, object: (kind, object), ready, reason, .. } = self.situation;
        let found = self.scenario.get(kind, object).unwrap_or_default();
        let (status, because, message) = condition(&found, "Ready");
        let mut wrong = Vec::new();
        if (status, because) != (*ready, *reason) || message.is_empty() {
            let output =
                format!("{name}: Ready={status} {because}: {message:?} and not Ready={ready} {reason}");
            wrong.push(output);
        }
        // A ClusterStack is never better than its releases.
        let stack = self.scenario.get("clusterstack", STACK).unwrap_or_default();
        if *kind == "clusterstackrelease" && condition(&stack, "Ready").0 != *ready {
            wrong.push(format!("{name}: the ClusterStack is {:?}", condition(&stack, "Ready")));
        }
        if commands && wrong.is_empty() {
            let output = output_of(&self.scenario, &["status"]);
            if !output.contains(message) || !output.contains("exit code 1") {
                wrong.push(format!("{name}: status does not exit with 1 and say {message:?}: {output}"));
            }
        }
        wrong
    }
}

/// A stack repository with two releases.
fn published(name: &str, prepare: fn(&Scenario)) -> Scenario<'static> {
    let scenario = Scenario::shared(&format!("truth-{name}"));
    for (release, version) in [(V1, "v1"), (V2, "v2")] {
        publish(&scenario, release, version);
    }
    prepare(&scenario);
    scenario.push("two releases");
    scenario
}

/// A release of the example whose only addon is a chart of one `ConfigMap`, which names the version.
fn publish(scenario: &Scenario, release: &str, version: &str) {
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/stack/releases").join(release);
    copy(&example, &scenario.path("releases"));
    for removed in ["cluster-addon", "node-images"] {
        fs::remove_dir_all(scenario.path(&format!("releases/{release}/{removed}"))).unwrap();
    }
    add_app(scenario, release, "app", version);
}

/// Adds a chart of one `ConfigMap` to a release: its content names the version.
pub(super) fn add_app(scenario: &Scenario, release: &str, addon: &str, version: &str) {
    let addon = scenario.addon(addon);
    let chart = scenario.path(&format!("releases/{release}/cluster-addon/{addon}"));
    fs::create_dir_all(chart.join("templates")).unwrap();
    let metadata = json!({"apiVersion": "v2", "name": addon, "version": "v1"});
    fs::write(chart.join("Chart.yaml"), metadata.to_string()).unwrap();
    let manifest = format!(
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {addon}, namespace: kube-system}}\ndata:\n  \
         content: {version}\n  host: {{{{ .Values.host | quote }}}}\n"
    );
    fs::write(chart.join("templates/configmap.yaml"), manifest).unwrap();
    let values = "values: |\n  host: {{ .InfraCluster.spec.controlPlaneEndpoint.host }}\n";
    fs::write(chart.join("overwrite.yaml"), values).unwrap();
    let stages = scenario.path(&format!("releases/{release}/clusteraddon.yaml"));
    let mut addons: Vec<String> = fs::read_dir(chart.parent().unwrap())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    addons.sort();
    let applied: Vec<Value> = addons.iter().map(|name| json!({"name": name, "action": "apply"})).collect();
    let config = json!({
        "apiVersion": "clusteraddonconfig.x-k8s.io/v1alpha1",
        "clusterAddonVersion": "clusteraddons.clusterstack.x-k8s.io/v1alpha1",
        "addonStages": {"AfterControlPlaneInitialized": applied},
    });
    fs::write(stages, config.to_string()).unwrap();
}
