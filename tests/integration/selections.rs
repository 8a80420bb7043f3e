//! The objects that commands on a live cluster select, by the one table of conventions: forms of names, and exit codes.

use std::collections::BTreeSet;

use clap::Command;
use serde_json::{Value, json};
use stackflux::foreign::capi::upgrade::UPGRADE_HOOK;

use crate::api_server::{ApiServer, object};
use crate::command_line::commands;

/// What a command that takes names is given.
struct Takes {
    /// The words of the command.
    command: &'static str,
    /// What else it needs.
    more: &'static [&'static str],
    /// The short names of the kinds that it takes; a name without a kind has the first.
    kinds: &'static [&'static str],
}

/// All commands on a live cluster that take names of objects of it.
const COMMANDS: [Takes; 11] = {
    const ALL: &[&str] = &["cl", "csk", "csr"];
    const fn takes(
        command: &'static str,
        more: &'static [&'static str],
        kinds: &'static [&'static str],
    ) -> Takes {
        Takes { command, more, kinds }
    }
    [
        takes("inputs export", &[], &["csk"]),
        takes("eject", &["--to", "file:///nowhere"], &["csk"]),
        takes("tree", &[], ALL),
        takes("status", &[], ALL),
        takes("why", &[], ALL),
        takes("addons", &[], &["cl"]),
        takes("events", &[], ALL),
        takes("reconcile", &[], ALL),
        takes("suspend", &[], &["cl", "csk"]),
        takes("resume", &[], &["cl", "csk"]),
        takes("gate open", &[], &["cl"]),
    ]
};

fn has(command: &Command, long: &str) -> bool {
    command.get_arguments().any(|argument| argument.get_long() == Some(long))
}

/// The words of a command line.
fn line<'a>(takes: &'a Takes, names: &[&'a str]) -> Vec<&'a str> {
    takes.command.split(' ').chain(names.iter().copied()).chain(takes.more.iter().copied()).collect()
}

#[test]
fn every_command_that_takes_names_is_tested() {
    // Their arguments are releases of a stack repository.
    let others = ["diff", "promote"];
    let found = commands().into_iter().filter(|(words, command)| {
        has(command, "kubeconfig")
            && command.get_positionals().next().is_some()
            && !others.contains(&words.as_str())
    });
    let found: BTreeSet<_> = found.map(|(words, _)| words).collect();
    assert_eq!(found, COMMANDS.iter().map(|takes| takes.command.to_owned()).collect());
}

#[test]
fn names_have_the_same_forms_in_all_commands() {
    let server = ApiServer::start("forms", Vec::new());
    for takes in &COMMANDS {
        let check = |names: &[&str], namespace: &str| {
            let run = server.run(&line(takes, names));
            let said = &run.stderr;
            let is_found = ["not found", "lost", namespace].iter().all(|part| said.contains(part));
            assert!(run.code == 2 && is_found, "{} {names:?}: {}: {said}", takes.command, run.code);
        };
        check(&["lost"], "alpha");
        check(&["lost", "--namespace", "beta"], "beta");
        check(&["beta/lost"], "beta");
        for kind in takes.kinds {
            check(&[&format!("{kind}/lost")], "alpha");
            check(&[&format!("{kind}/beta/lost")], "beta");
            check(&[kind, "lost"], "alpha");
        }
        for kind in ["cl", "csk", "csr"].iter().filter(|kind| !takes.kinds.contains(kind)) {
            let run = server.run(&line(takes, &[&format!("{kind}/lost")]));
            let is_refused = run.code == 2 && !run.stderr.contains("not found");
            assert!(is_refused, "{} {kind}/lost: {}: {}", takes.command, run.code, run.stderr);
        }
        let run = server.run(&line(takes, &["beta/lost", "--namespace", "other"]));
        assert_eq!(run.code, 2, "{}: {}", takes.command, run.stderr);
    }
    assert_eq!(server.writes().iter().filter(|write| !write.starts_with("PATCH ")).count(), 0);
}

#[test]
fn gate_release_acts_on_the_named_namespace() {
    let cluster = |namespace: &str, name: &str| {
        let mut cluster = object("cluster.x-k8s.io/v1beta2", "Cluster", namespace, name, &json!({}));
        cluster["metadata"]["annotations"] = json!({UPGRADE_HOOK: "x"});
        cluster
    };
    let all = vec![cluster("alpha", "one"), cluster("beta", "two"), cluster("gamma", "three")];
    let server = ApiServer::start("gate-release", all);
    let release = |flags: &[&str], expected: &[&str]| {
        let run = server.run(&[&["gate", "release", "--all"], flags].concat());
        assert_eq!(run.code, 0, "{}", run.stderr);
        let path = "PATCH /apis/cluster.x-k8s.io/v1beta2/namespaces";
        let expected: Vec<_> = expected.iter().map(|cluster| format!("{path}/{cluster}")).collect();
        assert_eq!(server.writes(), expected, "{flags:?}: {}", run.stderr);
        run.stderr
    };
    let everywhere = ["alpha/clusters/one", "beta/clusters/two", "gamma/clusters/three"];
    release(&[], &everywhere);
    release(&["-A"], &everywhere);
    let said = release(&["-n", "beta"], &["beta/clusters/two"]);
    assert!(said.contains("1 gate released in namespace beta"), "{said}");
    release(&["-n", "nowhere"], &[]);
    assert_eq!(server.run(&["gate", "release", "-n", "beta"]).code, 2, "--all is required");
    assert_eq!(server.writes(), Vec::<String>::new());
}

/// The commands that show what is selected.
const SHOWING: [&str; 4] = ["tree", "status", "why", "events"];

/// The commands that change what is selected.
const CHANGING: [&str; 3] = ["reconcile", "suspend", "resume"];

/// A `ClusterStack` and a Cluster in each of two namespaces, each with what makes it ready.
fn objects() -> Vec<Value> {
    let ours = "clusterstack.x-k8s.io/v1alpha1";
    let mut all = Vec::new();
    for namespace in ["alpha", "beta"] {
        let spec =
            json!({"provider": "docker", "name": "demo", "kubernetesVersion": "1.34", "noProvider": true});
        all.push(object(ours, "ClusterStack", namespace, "docker-demo-1-34", &spec));
        all.push(object("cluster.x-k8s.io/v1beta2", "Cluster", namespace, "one", &json!({})));
        all.push(object(
            ours,
            "ClusterAddon",
            namespace,
            "cluster-addon-one",
            &json!({"clusterRef": {"name": "one"}}),
        ));
    }
    let ready = json!({
        "type": "Ready", "status": "True", "reason": "Applied", "message": "", "observedGeneration": 1,
        "lastTransitionTime": "2026-11-26T10:00:00Z",
    });
    for object in &mut all {
        object["status"] = json!({"conditions": [ready], "observedGeneration": 1});
    }
    all
}

#[test]
fn every_command_with_a_selection_is_tested() {
    // A selection is not what they print, or they need nothing of it.
    let others = ["diff", "promote", "gate release"];
    let found = commands().into_iter().filter(|(words, command)| {
        has(command, "kubeconfig")
            && (has(command, "selector") || has(command, "all"))
            && !others.contains(&words.as_str())
    });
    let found: BTreeSet<_> = found.map(|(words, _)| words).collect();
    assert_eq!(found, SHOWING.into_iter().chain(CHANGING).map(str::to_owned).collect());
}

#[test]
fn exit_codes_of_selections_are_the_same() {
    let (full, empty) = (ApiServer::start("full", objects()), ApiServer::start("empty", Vec::new()));
    let code = |server: &ApiServer, command: &str, words: &[&str], expected: i32| {
        let line: Vec<&str> = command.split(' ').chain(words.iter().copied()).collect();
        let run = server.run(&line);
        assert_eq!(run.code, expected, "{line:?}: {}{}", run.stdout, run.stderr);
    };
    for command in SHOWING.into_iter().chain(CHANGING) {
        for place in ["-nalpha", "-A"] {
            code(&full, command, &["-l", "name=lost", place], 1);
            code(&empty, command, &["-l", "name=lost", place], 1);
        }
        code(&full, command, &["-l", "name=one", "-nnowhere"], 1);
        for lost in ["lost", "csk/lost", "cl/lost", "nowhere/one"] {
            code(&full, command, &[lost], 2);
            code(&empty, command, &[lost], 2);
        }
        code(&full, command, &["one", "-l", "name=one"], 2);
    }
    for command in SHOWING {
        for place in ["-nalpha", "-A", "-nnowhere"] {
            code(&empty, command, &[place], 1);
        }
    }
    for command in CHANGING {
        for place in ["-nalpha", "-A"] {
            for all in [&["--all"][..], &["csk", "--all"]] {
                code(&full, command, &[all, &[place]].concat(), 0);
                code(&empty, command, &[all, &[place]].concat(), 1);
            }
            code(&full, command, &["-l", "name=one", place], 0);
        }
        code(&full, command, &["one", "csk/beta/docker-demo-1-34"], 0);
        code(&full, command, &["one", "--all"], 2);
    }
}
