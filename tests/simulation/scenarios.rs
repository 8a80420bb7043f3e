//! The scenarios of simulations, and the properties that hold in any order of steps.

use serde_json::{Value, json};

use crate::driver::Simulation;
use crate::flux::number;
use crate::repository::{V1, V2};

/// Number of seeds that each scenario runs with.
const SEEDS: u64 = 1000;

/// Runs a scenario with many seeds: it ends, no rule is broken, and the end is the same for all.
fn run(scenario: impl Fn(&mut Simulation)) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    let runtime: &'static _ = Box::leak(Box::new(runtime));
    let mut first: Option<Vec<String>> = None;
    for seed in 0..SEEDS {
        let mut simulation = Simulation::new(seed, runtime);
        scenario(&mut simulation);
        let end = end(&simulation);
        let cluster = simulation.wire.cluster();
        let first = first.get_or_insert_with(|| end.clone());
        let is_right = cluster.wrong.is_empty() && *first == end;
        assert!(
            is_right,
            "seed {seed}: {:?}\n{}\n\nends as\n{}\ninstead of\n{}",
            cluster.wrong,
            cluster.log.join("\n"),
            end.join("\n"),
            first.join("\n")
        );
    }
}

/// Lets the simulation settle, and checks every state on the way.
fn settle(simulation: &mut Simulation) {
    simulation.settle(|simulation| {
        if let Some(lie) = lie(simulation) {
            simulation.wire.cluster().wrong.push(lie);
        }
    });
}

/// A `ClusterAddon` that is `Ready` although its cluster lacks the content that the status names.
fn lie(simulation: &Simulation) -> Option<String> {
    let addons = simulation.wire.cluster().server.list(number("ClusterAddon"));
    let ready = addons.iter().filter(|addon| condition(addon, "Ready") == Some(("True", true)));
    let named = ready.flat_map(|addon| addon["status"]["addons"].as_array().into_iter().flatten());
    let mut wrong = named.filter(|addon| {
        let text = |pointer: &str| addon.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
        let place = simulation.place(text("/object/kind"), text("/object/name"));
        let installed = simulation.flux.installed.get(&place);
        installed.is_none_or(|(version, _)| !version.ends_with(text("/expected/version")))
    });
    wrong.next().map(|addon| format!("Ready, but {addon} is not what is installed"))
}

/// The status of a condition, and whether it is of the present generation.
fn condition<'a>(object: &'a Value, kind: &str) -> Option<(&'a str, bool)> {
    let conditions = object["status"]["conditions"].as_array()?;
    let found = conditions.iter().find(|condition| condition["type"] == kind)?;
    let is_current = found["observedGeneration"] == object["metadata"]["generation"];
    Some((found["status"].as_str()?, is_current))
}

/// All objects at the end, without the parts that depend on the order: UIDs, versions and times.
fn end(simulation: &Simulation) -> Vec<String> {
    let cluster = simulation.wire.cluster();
    let kinds = 0..crate::api_server::kinds::KINDS.len();
    let objects = kinds.flat_map(|kind| cluster.server.list(kind));
    let line = |object: Value| {
        let conditions = object["status"]["conditions"].as_array().into_iter().flatten();
        let conditions: Vec<String> = conditions
            .map(|condition| format!("{}={} {}", condition["type"], condition["status"], condition["reason"]))
            .collect();
        let (kind, name, spec) = (&object["kind"], &object["metadata"]["name"], &object["spec"]);
        let spec = if *kind == "ClusterAddon" { &Value::Null } else { spec };
        format!("{kind} {name} {spec} {}", conditions.join(" ")).replace(&simulation.namespace, "team")
    };
    objects.map(line).collect()
}

fn stack(simulation: &Simulation, versions: &[&str]) -> Value {
    json!({
        "apiVersion": "clusterstack.x-k8s.io/v1alpha1",
        "kind": "ClusterStack",
        "metadata": {"name": "docker", "namespace": simulation.namespace},
        "spec": {
            "provider": "docker", "name": "demo", "kubernetesVersion": "1.34", "channel": "stable",
            "versions": versions, "noProvider": true,
            "source": {"git": {"url": "https://git.example.org/stacks.git", "ref": {"branch": "main"}}},
        },
    })
}

fn cluster(simulation: &Simulation, class: &str) -> Value {
    json!({
        "apiVersion": "cluster.x-k8s.io/v1beta2",
        "kind": "Cluster",
        "metadata": {"name": "one", "namespace": simulation.namespace},
        "spec": {
            "clusterNetwork": {"pods": {"cidrBlocks": ["10.244.0.0/16"]}},
            "controlPlaneEndpoint": {"host": "172.18.0.3", "port": 6443},
            "topology": {"classRef": {"name": class}, "version": "v1.34.0"},
        },
    })
}

/// Creates a stack repository with one release, and a Cluster that is up and has its class.
fn deliver(simulation: &mut Simulation) {
    simulation.apply(&stack(simulation, &["v1"]));
    simulation.apply(&cluster(simulation, V1));
    let up = json!({"status": {
        "initialization": {"controlPlaneInitialized": true, "infrastructureProvisioned": true},
        "conditions": [{"type": "RemoteConnectionProbe", "status": "True", "reason": "ProbeSucceeded", "message": "",
            "lastTransitionTime": "2026-11-02T09:13:52Z"}],
    }});
    let place = simulation.place("Cluster", "one");
    simulation.wire.cluster().server.merge_as("capi", &place, true, &up);
    settle(simulation);
}

fn is_ready(simulation: &Simulation) -> bool {
    let addon = simulation.get("ClusterAddon", "cluster-addon-one");
    addon.is_some_and(|addon| condition(&addon, "Ready") == Some(("True", true)))
}

#[test]
fn delivery_and_upgrade_end_the_same_for_all_seeds() {
    run(|simulation| {
        deliver(simulation);
        assert!(is_ready(simulation), "{}", simulation.wire.cluster().log.join("\n"));
        simulation.flux.publish(&simulation.wire.cluster().server);
        simulation.apply(&stack(simulation, &["v1", "v2"]));
        settle(simulation);
        simulation.apply(&cluster(simulation, V2));
        settle(simulation);
        assert!(is_ready(simulation), "{}", simulation.wire.cluster().log.join("\n"));
    });
}
