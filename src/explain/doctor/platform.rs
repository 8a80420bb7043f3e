//! What the management cluster must have: Kubernetes and Cluster API.

use super::check::Check;
use super::facts::{Facts, Program, Unread};
use super::version::is_older;
use crate::api::cluster_stack::UpgradeGate;
use crate::foreign::capi;
use crate::names::Key;

const KUBERNETES: &str = "Kubernetes";
const CLUSTER_API: &str = "ClusterAPI";
const RUNTIME_SDK: &str = "RuntimeSDK";

/// The oldest Kubernetes: the definitions have rules that older ones do not know.
const MINIMUM_KUBERNETES: (u64, u64) = (1, 30);
/// The oldest Cluster API that looks at the annotation with which an upgrade waits.
const MINIMUM_CLUSTER_API_FOR_GATE: (u64, u64) = (1, 10);
/// The Deployment of Cluster API's core, as its manifests name it.
const CONTROLLER: &str = "capi-controller-manager";
/// The label of a provider's objects.
const PROVIDER: &str = "cluster.x-k8s.io/provider";

/// Checks the version of the API server.
#[must_use]
pub fn kubernetes(facts: &Facts) -> Check {
    let version = match &facts.kubernetes {
        Ok(version) => version,
        Err(why) => return Check::unread(KUBERNETES, why),
    };
    match is_older(version, MINIMUM_KUBERNETES) {
        Some(false) => Check::ok(KUBERNETES, version),
        Some(true) => Check::problem(
            KUBERNETES,
            format!("{version} is older than 1.30, and does not know the rules in stackflux's definitions"),
            "kubectl version",
        )
        .then("Upgrade the management cluster to 1.30 or newer."),
        None => {
            Check::unknown(KUBERNETES, format!("{version:?} cannot be compared with 1.30"), "kubectl version")
        }
    }
}

/// Checks Cluster API, and its feature gate that the upgrade gate needs.
#[must_use]
pub fn cluster_api(facts: &Facts) -> Vec<Check> {
    let groups = match &facts.groups {
        Ok(groups) => groups,
        Err(why) => return vec![Check::unread(CLUSTER_API, why)],
    };
    let Some(served) = groups.get(capi::GROUP) else {
        let message = "is not installed: the API server does not serve Clusters";
        let run = "EXP_RUNTIME_SDK=true CLUSTER_TOPOLOGY=true clusterctl init";
        return vec![Check::problem(CLUSTER_API, message, run).then("Add your infrastructure provider.")];
    };
    let served = served.iter().map(String::as_str).collect::<Vec<_>>().join(", ");
    let program = match &facts.programs {
        Ok(programs) => programs.iter().find(|program| is_core(program)),
        Err(why) => return [CLUSTER_API, RUNTIME_SDK].map(|check| Check::unread(check, why)).into(),
    };
    let Some(program) = program else {
        let message = format!(
            "serves {served}, but no Deployment {CONTROLLER} was found: its version and its feature gates are unknown"
        );
        return vec![Check::unknown(
            CLUSTER_API,
            message,
            "kubectl get deployments -A -l cluster.x-k8s.io/provider=cluster-api",
        )];
    };
    let core = if program.ready == 0 { stopped(program) } else { topology(program, &served) };
    vec![core, runtime_sdk(program, gate_users(facts), facts.unreadable())]
}

/// Reports that no Pod reconciles Clusters.
fn stopped(Program { key, replicas, .. }: &Program) -> Check {
    let message = format!(
        "{} has 0 of {replicas} Pods that are ready: Clusters are neither created, upgraded nor deleted",
        key.name
    );
    Check::problem(
        CLUSTER_API,
        message,
        format!("kubectl -n {} describe deployment {}", key.namespace, key.name),
    )
}

/// Checks that Clusters can have a class.
fn topology(program: &Program, served: &str) -> Check {
    let found = if program.tag().is_empty() { "unknown version" } else { program.tag() };
    if gate(program, "ClusterTopology") {
        return Check::ok(CLUSTER_API, format!("{found}, serves {served}"));
    }
    let message = format!(
        "{found} runs without the feature gate ClusterTopology, so that Clusters cannot have a class"
    );
    let (run, then) = set(program, "ClusterTopology");
    Check::problem(CLUSTER_API, message, run).then(then)
}

/// Checks that upgrades can wait for addons. That they do not is a problem if a `ClusterStack` expects it.
fn runtime_sdk(program: &Program, users: Option<usize>, unreadable: Option<&Key>) -> Check {
    let is_old = is_older(program.tag(), MINIMUM_CLUSTER_API_FOR_GATE).unwrap_or(false);
    let (what, (run, then)) = match (is_old, gate(program, RUNTIME_SDK)) {
        (false, true) => return Check::ok(RUNTIME_SDK, "on: upgrades wait for the addons before them"),
        (true, _) => (
            format!("Cluster API {} is older than 1.10", program.tag()),
            ("clusterctl upgrade plan".to_owned(), "Upgrade Cluster API to 1.10 or newer.".to_owned()),
        ),
        (false, false) => ("the feature gate of Cluster API is off".to_owned(), set(program, RUNTIME_SDK)),
    };
    let so = "so that Cluster API upgrades clusters without waiting for their addons";
    let check = match users {
        Some(0) => Check::warning(RUNTIME_SDK, format!("{what}, {so}; no ClusterStack expects it yet"), run),
        Some(number) => {
            let (stacks, expect) =
                if number == 1 { ("ClusterStack", "expects") } else { ("ClusterStacks", "expect") };
            let message = format!("{what}, {so}, but {number} {stacks} {expect} it (upgradeGate: Enforce)");
            Check::problem(RUNTIME_SDK, message, run)
        }
        None => {
            let why = unreadable.map_or_else(
                || "you may not list ClusterStacks".to_owned(),
                |key| format!("the spec of ClusterStack {key} cannot be read"),
            );
            let message = format!("{what}, {so}; whether a ClusterStack expects it is unknown: {why}");
            Check::warning(RUNTIME_SDK, message, run)
        }
    };
    check.then(then)
}

/// Returns the number of `ClusterStack`s whose upgrades are to wait; `None` if none is known, and not all could be read.
fn gate_users(facts: &Facts) -> Option<usize> {
    let stacks = match &facts.stacks {
        Ok(stacks) => stacks,
        Err(Unread::NotServed(_)) => return Some(0),
        Err(Unread::Forbidden(_)) => return None,
    };
    let specs = || stacks.iter().map(|stack| stack.stack.as_ref());
    let number = specs().flatten().filter(|spec| spec.upgrade_gate == UpgradeGate::Enforce).count();
    (number > 0 || specs().all(|spec| spec.is_some())).then_some(number)
}

fn is_core(program: &Program) -> bool {
    let is_provider = program.labels.get(PROVIDER).is_some_and(|provider| provider == "cluster-api");
    program.key.name == CONTROLLER || is_provider
}

/// Whether a feature gate that is off by default is on.
fn gate(program: &Program, name: &str) -> bool {
    let gates = program.feature_gates();
    let last = gates.split(',').rev().filter_map(|gate| gate.split_once('=')).find(|(gate, _)| *gate == name);
    last.is_some_and(|(_, value)| value == "true")
}

/// Returns the command with which a feature gate is switched on, and how.
fn set(program: &Program, name: &str) -> (String, String) {
    let variable = if name == RUNTIME_SDK { "EXP_RUNTIME_SDK" } else { "CLUSTER_TOPOLOGY" };
    let (namespace, deployment) = (&program.key.namespace, &program.key.name);
    (
        format!("kubectl -n {namespace} edit deployment {deployment}"),
        format!("Add {name}=true to --feature-gates; for clusterctl, set {variable}=true."),
    )
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::check::Outcome::{self, NotChecked, Ok as Good, Problem, Warning};
    use super::super::facts::Own;
    use super::super::tests::{assert_found, forbidden, healthy, program, stack};
    use super::*;

    #[test]
    fn old_kubernetes_is_a_problem() {
        for (version, expected) in [("v1.30.0", Good), ("v1.29.3+k3s1", Problem), ("main", NotChecked)] {
            let facts = Facts { kubernetes: Ok(version.to_owned()), ..healthy() };
            assert_found(&[kubernetes(&facts)], &[(KUBERNETES, expected, version)]);
        }
        let facts = Facts { kubernetes: Err(forbidden("get", "", "version")), ..healthy() };
        assert_found(&[kubernetes(&facts)], &[(KUBERNETES, NotChecked, "you may not get version")]);
    }

    /// Checks Cluster API with a Deployment of this tag and these arguments.
    fn found(tag: &str, arguments: &[&str], gate: &str) -> Vec<Check> {
        let core =
            program("capi-system", CONTROLLER, &format!("registry.example.org:5000/capi:{tag}"), arguments);
        let stacks =
            if gate.is_empty() { Vec::new() } else { vec![stack(&serde_json::json!({"upgradeGate": gate}))] };
        cluster_api(&Facts { programs: Ok(vec![core]), stacks: Ok(stacks), ..healthy() })
    }

    #[test]
    fn gate_of_cluster_api_counts_for_stacks_that_use_it() {
        const BOTH: &[&str] = &["--feature-gates=ClusterTopology=true,RuntimeSDK=true"];
        const ONE: &[&str] = &["--feature-gates", "ClusterTopology=true,RuntimeSDK=false"];
        type Row = (&'static str, &'static [&'static str], &'static str, [(Outcome, &'static str); 2]);
        const TWICE: &[&str] = &["--feature-gates=ClusterTopology=true", "--feature-gates=RuntimeSDK=true"];
        let rows: [Row; 7] = [
            ("v1.13.3", TWICE, "Enforce", [(Good, "v1.13.3, serves v1beta2"), (Good, "on")]),
            ("v1.13.3", BOTH, "Enforce", [(Good, "v1.13.3, serves v1beta2"), (Good, "on")]),
            ("v1.13.3", ONE, "Enforce", [(Good, "v1.13.3"), (Problem, "1 ClusterStack expects it")]),
            ("v1.13.3", ONE, "Off", [(Good, "v1.13.3"), (Warning, "the feature gate of Cluster API is off")]),
            ("v1.13.3", ONE, "", [(Good, "v1.13.3"), (Warning, "no ClusterStack expects it yet")]),
            ("v1.9.4", BOTH, "Enforce", [(Good, "v1.9.4"), (Problem, "v1.9.4 is older than 1.10")]),
            ("", &[], "", [(Problem, "without the feature gate ClusterTopology"), (Warning, "is off")]),
        ];
        for (tag, arguments, gate, [core, sdk]) in rows {
            let expected = [(CLUSTER_API, core.0, core.1), (RUNTIME_SDK, sdk.0, sdk.1)];
            assert_found(&found(tag, arguments, gate), &expected);
        }
    }

    #[test]
    fn missing_cluster_api_is_a_problem_and_unread_is_not() {
        let none = Facts { groups: Ok(std::collections::BTreeMap::new()), ..healthy() };
        assert_found(&cluster_api(&none), &[(CLUSTER_API, Problem, "is not installed")]);
        let core = Program { ready: 0, ..program("capi-system", CONTROLLER, "capi:v1.13.3", &[]) };
        let stopped = cluster_api(&Facts { programs: Ok(vec![core]), ..healthy() });
        assert_found(&stopped[..1], &[(CLUSTER_API, Problem, "has 0 of 2 Pods that are ready")]);
        let elsewhere = Facts { programs: Ok(Vec::new()), ..healthy() };
        assert_found(
            &cluster_api(&elsewhere),
            &[(CLUSTER_API, NotChecked, "no Deployment capi-controller-manager")],
        );
        let unread = Facts { programs: Err(forbidden("list", "apps", "deployments")), ..healthy() };
        let why = "you may not list deployments.apps";
        assert_found(
            &cluster_api(&unread),
            &[(CLUSTER_API, NotChecked, why), (RUNTIME_SDK, NotChecked, why)],
        );
        let stacks = Err(forbidden("list", "clusterstack.x-k8s.io", "clusterstacks"));
        let core =
            program("capi-system", CONTROLLER, "capi:v1.13.3", &["--feature-gates=ClusterTopology=true"]);
        let half = Facts { stacks, programs: Ok(vec![core]), ..healthy() };
        let unknown = |why| [(CLUSTER_API, Good, ""), (RUNTIME_SDK, Warning, why)];
        assert_found(&cluster_api(&half), &unknown("is unknown: you may not list ClusterStacks"));

        // A spec of a newer version may expect it. One that can be read and expects it is enough.
        let unreadable = Own { stack: None, ..stack(&json!({})) };
        let off = stack(&json!({"upgradeGate": "Off"}));
        let half = Facts { stacks: Ok(vec![unreadable.clone(), off]), ..half };
        let part = "is unknown: the spec of ClusterStack demo/docker-demo-1-34 cannot be read";
        assert_found(&cluster_api(&half), &unknown(part));
        let half = Facts { stacks: Ok(vec![unreadable, stack(&json!({}))]), ..half };
        assert_found(
            &cluster_api(&half),
            &[(CLUSTER_API, Good, ""), (RUNTIME_SDK, Problem, "but 1 ClusterStack")],
        );
    }
}
