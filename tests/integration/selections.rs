//! The objects that commands on a live cluster select, by the one table of conventions: forms of names, and exit codes.

use std::collections::BTreeSet;

use clap::Command;
use serde_json::json;
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
