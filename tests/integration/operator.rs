//! The operator as a process: how it starts, answers and ends where there is no API server.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, ChildStderr, Command, Stdio};

use serde_json::{Value, json};

use crate::support::scratch;

/// A running operator. It is killed when the test ends first.
struct Operator {
    child: Child,
    log: BufReader<ChildStderr>,
}

impl Operator {
    fn start(kubeconfig: &Path, arguments: &[&str]) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_stackflux"));
        command.arg("operator").arg("--kubeconfig").arg(kubeconfig).args(arguments);
        command.args(["--health-addr=127.0.0.1:0", "--metrics-addr=127.0.0.1:0"]);
        let mut child = command
            .env_remove("RUNTIME_NAMESPACE")
            .stderr(Stdio::piped())
            .stdin(Stdio::null())
            .spawn()
            .unwrap();
        let log = BufReader::new(child.stderr.take().unwrap());
        Self { child, log }
    }

    /// The next line that says this. Every line is an object.
    fn says(&mut self, message: &str) -> Value {
        loop {
            let mut text = String::new();
            assert!(self.log.read_line(&mut text).unwrap() > 0, "it ended without saying {message}");
            let line: Value = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"));
            if line["message"].as_str().unwrap().contains(message) {
                return line;
            }
        }
    }

    /// Where it says that it listens.
    fn address(&mut self, message: &str) -> String {
        self.says(message)["address"].as_str().unwrap().to_owned()
    }

    fn signal(&self, name: &str) {
        let status = Command::new("kill").args(["-s", name, &self.child.id().to_string()]).status().unwrap();
        assert!(status.success());
    }

    fn exit_code(&mut self) -> Option<i32> {
        self.child.wait().unwrap().code()
    }
}

impl Drop for Operator {
    fn drop(&mut self) {
        // It may have ended.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// A kubeconfig of an API server that is not there.
fn kubeconfig(name: &str) -> std::path::PathBuf {
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let config = json!({
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "here",
        "clusters": [{"name": "here", "cluster": {"server": format!("http://127.0.0.1:{port}")}}],
        "users": [{"name": "here", "user": {}}],
        "contexts": [{"name": "here", "context": {"cluster": "here", "user": "here", "namespace": "operators"}}],
    });
    let path = scratch(name).join("kubeconfig");
    fs::write(&path, config.to_string()).unwrap();
    path
}

fn get(address: &str, path: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    write!(stream, "GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

#[test]
fn operator_without_api_server_stays_alive() {
    let mut operator = Operator::start(&kubeconfig("operator-alone"), &[]);
    let health = operator.address("health server listens");
    let metrics = operator.address("metrics server listens");
    assert!(get(&health, "/healthz").starts_with("HTTP/1.1 200 OK"));
    let failed = operator.says("the Lease operators/stackflux-leader-election cannot be read");
    assert!(failed["message"].as_str().unwrap().contains("Connection refused"), "{failed}");
    assert!(get(&metrics, "/metrics").contains("\nstackflux_leader 0\n"));
    operator.signal("TERM");
    operator.says("SIGTERM");
    operator.says("stackflux ends");
    assert_eq!(operator.exit_code(), Some(0));
}

#[test]
fn operator_without_election_leads_at_once() {
    let arguments = ["--enable-leader-election=false", "--runtime-namespace=flux-system"];
    let mut operator = Operator::start(&kubeconfig("operator-unelected"), &arguments);
    let metrics = operator.address("metrics server listens");
    operator.says("no leader election");
    assert!(get(&metrics, "/metrics").contains("\nstackflux_leader 1\n"));
    operator.signal("INT");
    operator.says("stackflux ends");
    assert_eq!(operator.exit_code(), Some(0));
}

#[test]
fn startup_failure_is_logged_and_ends_the_operator() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap();
    let kubeconfig = kubeconfig("operator-failing");
    let missing = kubeconfig.with_file_name("missing");
    let mut operator = Operator::start(&missing, &[]);
    assert_eq!(operator.says("the kubeconfig cannot be used")["level"], "ERROR");
    assert_eq!(operator.exit_code(), Some(2));
    let mut operator = Operator::start(&kubeconfig, &["--context=nowhere"]);
    operator.says("nowhere");
    assert_eq!(operator.exit_code(), Some(2));
    let program = env!("CARGO_BIN_EXE_stackflux");
    let taken = format!("--health-addr={address}");
    let output = Command::new(program)
        .args(["operator", &taken, "--log-encoding=console", "--kubeconfig"])
        .arg(&kubeconfig)
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2));
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(stderr.contains(&format!("cannot listen on {address} for health: ")), "{stderr}");
}
