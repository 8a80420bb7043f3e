//! `testbed`: starts and stops the testbed for users.

use std::fmt::Write as _;
use std::io;
use std::process::ExitCode;

use stackflux_testbed::{Error, Result, Testbed, build};

/// The option that starts Cluster API's controllers too.
const CLUSTER_API: &str = "--cluster-api";

const USAGE: &str = "\
Real Kubernetes API servers and a real Flux on loopback, without containers.

Usage: testbed <command>

  build   build the components that are not built yet, those of Cluster API too, into the cache
  up      build, start everything in the background, print how to use it
  down    stop exactly what `up` started
  env     as `up`, but print the settings of a shell: KUBECONFIG, KUBECTL, STACKS (the URL of a repository),
          REGISTRY (host:port)
          `up` and `env` start Cluster API's controllers too with --cluster-api
  state   print the path of the state file of what `up` started

tests/testbed/README.md says more, and lists the environment variables.
";

#[expect(clippy::disallowed_methods, reason = "this is the command line")]
fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match run(&arguments) {
        Ok(text) => print(&mut io::stdout(), &text, ExitCode::SUCCESS),
        Err(error) => print(&mut io::stderr(), &format!("testbed: {error}\n"), ExitCode::from(2)),
    }
}

fn run(arguments: &[&str]) -> Result<String> {
    match arguments {
        ["build"] => Ok(format!("{}\n", build()?.display())),
        ["up"] => Testbed::up(false).map(|testbed| introduction(&testbed)),
        ["up", CLUSTER_API] => Testbed::up(true).map(|testbed| introduction(&testbed)),
        ["env"] => Testbed::up(false).map(|testbed| environment(&testbed)),
        ["env", CLUSTER_API] => Testbed::up(true).map(|testbed| environment(&testbed)),
        ["down"] if Testbed::down()? => Ok("testbed: stopped\n".to_owned()),
        ["down"] => Ok("testbed: not up\n".to_owned()),
        ["state"] => Ok(format!("{}\n", Testbed::state_path().display())),
        ["help" | "--help" | "-h"] => Ok(USAGE.to_owned()),
        _ => Err(Error::new(format!("unknown command\n\n{USAGE}"))),
    }
}

/// The variables of a testbed for scripts, for `eval`.
fn environment(testbed: &Testbed) -> String {
    let management = testbed.management();
    format!(
        "export KUBECONFIG='{}' KUBECTL='{}' STACKS='{}' REGISTRY='{}'\n",
        management.kubeconfig().display(),
        management.kubectl_path().display(),
        testbed.git().url("stacks"),
        testbed.registry().address(),
    )
}

/// An introduction for a user who has just started the testbed.
fn introduction(testbed: &Testbed) -> String {
    let mut text = format!("testbed: up after {:.1} s\n\n", testbed.seconds());
    for cluster in std::iter::once(testbed.management()).chain(testbed.workloads()) {
        // Writing to a String cannot fail.
        let _ = writeln!(text, "  {:<12} KUBECONFIG={}", cluster.name(), cluster.kubeconfig().display());
    }
    let kubeconfig = testbed.management().kubeconfig().display();
    let kubectl = testbed.management().kubectl_path().display();
    let (user, password) = testbed.protected_registry().user().unwrap_or_default();
    text + &format!(
        "  {git:<12} {url}   (every name; created at the first push)
  {registry:<12} {address}   (OCI, plain HTTP; {protected} requires {user}:{password:?})
  {logs:<12} {log_directory}
  {state:<12} {state_file}

Try:
  export KUBECONFIG={kubeconfig}
  {kubectl} -n demo get secrets          # the kubeconfigs of the clusters one and two
  git push {url} HEAD:main
  make testbed-down
",
        git = "git",
        url = testbed.git().url("stacks"),
        registry = "registry",
        address = testbed.registry().address(),
        protected = testbed.protected_registry().address(),
        logs = "logs",
        log_directory = testbed.logs().display(),
        state = "state",
        state_file = Testbed::state_path().display(),
    )
}

fn print(to: &mut dyn io::Write, text: &str, code: ExitCode) -> ExitCode {
    match to.write_all(text.as_bytes()) {
        Ok(()) => code,
        Err(_) => ExitCode::from(2),
    }
}
