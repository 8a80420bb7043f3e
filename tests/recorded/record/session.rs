//! A namespace of the testbed in which everything is watched, and the files that come of it.

use std::fs;
use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use regex::Regex;
use serde_json::{Value, json};
use stackflux_testbed::{Cluster, Testbed};

pub(crate) type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

/// What the namespace is called in the files.
const NAMESPACE: &str = "tenant";
/// How long any state may take to come: kustomize-controller waits at least 30 s for health.
const TIMEOUT: Duration = Duration::from_mins(2);
const KINDS: [&str; 5] =
    ["gitrepositories", "ocirepositories", "helmcharts", "helmreleases", "kustomizations"];

pub(crate) struct Session {
    testbed: &'static Testbed,
    namespace: String,
    /// Every state of every object, in the order in which they came.
    states: Arc<Mutex<Vec<Value>>>,
    watches: Vec<Child>,
    /// The commit of `content/` on the Git server.
    pub(crate) commit: String,
    /// What names this machine in messages: addresses, and the testbed's directory.
    scrub: Regex,
    data: String,
}

/// A state of an object that is waited for.
pub(crate) struct Sought<'a> {
    pub(crate) kind: &'a str,
    pub(crate) name: &'a str,
    /// Beginnings of `Type=Status Reason: message`, each of some condition; with `!` of none.
    pub(crate) shows: &'a [&'a str],
}

impl Session {
    pub(crate) fn start() -> Result<Self> {
        let testbed = Testbed::shared();
        let namespace = testbed.namespace("recorded")?;
        testbed.add_kubeconfig_secret(&namespace, "c1", "one")?;
        let commit =
            testbed.git().push_directory("recorded", "main", &directory().join("content"), "content")?;
        let states = Arc::new(Mutex::new(Vec::new()));
        let watches = KINDS
            .iter()
            .map(|kind| watch(testbed.management(), &namespace, kind, &states))
            .collect::<Result<Vec<_>>>()?;
        let scrub = Regex::new(r"127\.0\.0\.1:\d+")?;
        let data = testbed.logs().with_file_name("data").display().to_string();
        Ok(Self { testbed, namespace, states, watches, commit, scrub, data })
    }

    pub(crate) fn end(mut self) -> Result<()> {
        self.kubectl(&["delete", "helmreleases,kustomizations", "--all", "-n", &self.namespace])?;
        for watch in &mut self.watches {
            watch.kill()?;
            watch.wait()?;
        }
        Ok(())
    }

    /// The URL of the Git repository with `content/`.
    pub(crate) fn url(&self) -> String {
        self.testbed.git().url("recorded")
    }

    /// The address of the registry.
    pub(crate) fn registry(&self) -> &str {
        self.testbed.registry().address()
    }

    /// The address of the registry that requires a user.
    pub(crate) fn protected_registry(&self) -> &str {
        self.testbed.protected_registry().address()
    }

    /// Creates a Secret in the namespace.
    pub(crate) fn add_secret(&self, name: &str, data: &Value) -> Result<()> {
        let metadata = json!({"name": name, "namespace": self.namespace});
        self.create(&json!({"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "stringData": data}))
    }

    /// Applies an object into the namespace as stackflux does.
    pub(crate) fn apply(&self, api_version: &str, kind: &str, name: &str, spec: &Value) -> Result<()> {
        let metadata = json!({"name": name, "namespace": self.namespace});
        self.create(&json!({"apiVersion": api_version, "kind": kind, "metadata": metadata, "spec": spec}))
    }

    /// The kubeconfig Secret of a cluster whose API server nobody can reach.
    pub(crate) fn add_dead_cluster(&self, name: &str) -> Result<()> {
        let kubeconfig = fs::read_to_string(self.workload()?.kubeconfig())?;
        let kubeconfig = self.scrub.replace_all(&kubeconfig, "127.0.0.1:1");
        let metadata = json!({"name": format!("{name}-kubeconfig"), "namespace": self.namespace});
        self.create(&json!({"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "stringData": {"value": kubeconfig}}))
    }

    fn create(&self, object: &Value) -> Result<()> {
        let path = std::env::temp_dir().join(format!("{}.json", self.namespace));
        fs::write(&path, object.to_string())?;
        let file = path.display().to_string();
        self.kubectl(&[
            "apply",
            "--server-side",
            "--force-conflicts",
            "--field-manager=stackflux",
            "-f",
            &file,
        ])?;
        Ok(fs::remove_file(&path)?)
    }

    /// A merge patch of an object in the namespace, by a person.
    pub(crate) fn patch(&self, kind: &str, name: &str, patch: &Value) -> Result<()> {
        let patch = patch.to_string();
        let namespace = &self.namespace;
        self.kubectl(&[
            "patch",
            kind,
            name,
            "-n",
            namespace,
            "--type=merge",
            "--field-manager=kubectl-edit",
            "-p",
            &patch,
        ])
    }

    /// Asks Flux to reconcile now.
    pub(crate) fn request(&self, kind: &str, name: &str) -> Result<()> {
        let now = jiff::Timestamp::now().to_string();
        self.patch(
            kind,
            name,
            &json!({"metadata": {"annotations": {"reconcile.fluxcd.io/requestedAt": now}}}),
        )
    }

    /// Deletes an object without waiting for its end.
    pub(crate) fn delete(&self, kind: &str, name: &str) -> Result<()> {
        self.kubectl(&["delete", kind, name, "-n", &self.namespace, "--wait=false"])
    }

    /// The workload cluster.
    pub(crate) fn workload(&self) -> Result<&Cluster> {
        Ok(self.testbed.workload("one")?)
    }

    fn kubectl(&self, arguments: &[&str]) -> Result<()> {
        self.testbed.management().kubectl(arguments)?;
        Ok(())
    }

    /// How many states there are so far, to ask for a later one.
    pub(crate) fn mark(&self) -> usize {
        self.states.lock().unwrap_or_else(PoisonError::into_inner).len()
    }

    /// The first state after `mark` that is the one that is sought.
    pub(crate) fn wait(&self, sought: &Sought<'_>, mark: usize) -> Result<Value> {
        let began = Instant::now();
        while began.elapsed() < TIMEOUT {
            {
                let states = self.states.lock().unwrap_or_else(PoisonError::into_inner);
                if let Some(state) = states.iter().skip(mark).find(|state| sought.is_met(state)) {
                    return Ok(state.clone());
                }
            }
            thread::sleep(Duration::from_millis(100));
        }
        let states = self.states.lock().unwrap_or_else(PoisonError::into_inner);
        let last = states.iter().rev().find(|state| sought.is_of(state)).unwrap_or(&Value::Null);
        Err(format!("{} {} never shows {:?}, last is {last:#}", sought.kind, sought.name, sought.shows)
            .into())
    }

    /// Waits for the state and writes the file. `version` is what stackflux would expect of the object.
    pub(crate) fn record(&self, file: &str, sought: &Sought<'_>, mark: usize, version: &str) -> Result<()> {
        let state = self.wait(sought, mark)?;
        self.write(file, &json!({"version": version, "object": trimmed(state, false)}))
    }

    /// As [`Session::record`] for an object that somebody changed after stackflux wrote this spec of it.
    pub(crate) fn record_foreign(
        &self,
        file: &str,
        sought: &Sought<'_>,
        mark: usize,
        version: &str,
        written: &Value,
    ) -> Result<()> {
        let state = self.wait(sought, mark)?;
        self.write(file, &json!({"version": version, "written": written, "object": trimmed(state, true)}))
    }

    fn write(&self, file: &str, record: &Value) -> Result<()> {
        let text = format!("{record:#}\n").replace(&self.namespace, NAMESPACE);
        let text = self.scrub.replace_all(&text, "testbed.invalid").replace(&self.data, "/data");
        fs::write(directory().join(file).with_extension("json"), text.as_bytes())?;
        eprintln!("recorded {file}");
        Ok(())
    }
}

impl Sought<'_> {
    fn is_of(&self, state: &Value) -> bool {
        let is = |pointer, text| state.pointer(pointer).and_then(Value::as_str) == Some(text);
        is("/kind", self.kind) && is("/metadata/name", self.name)
    }

    fn is_met(&self, state: &Value) -> bool {
        let reported = reported(state);
        let shows = |wanted: &&str| match wanted.strip_prefix('!') {
            Some(unwanted) => !reported.iter().any(|line| line.starts_with(unwanted)),
            None => reported.iter().any(|line| line.starts_with(*wanted)),
        };
        self.is_of(state) && self.shows.iter().all(shows)
    }
}

/// The conditions of an object, each as `Type=Status Reason: message`; also `Observed`, `Attempted`, `Terminating` and
/// `Suspended`.
///
/// Flux writes conditions first and the rest of a status after them, so that what is sought often has to be `Observed`
/// or `Attempted`, too.
fn reported(state: &Value) -> Vec<String> {
    let text = |condition: &Value, field: &str| {
        condition.get(field).and_then(Value::as_str).unwrap_or_default().to_owned()
    };
    let conditions = state.pointer("/status/conditions").and_then(Value::as_array);
    let mut reported: Vec<String> = conditions
        .into_iter()
        .flatten()
        .map(|one| {
            let [kind, status, reason, message] =
                ["type", "status", "reason", "message"].map(|field| text(one, field));
            format!("{kind}={status} {reason}: {message}")
        })
        .collect();
    for (word, field) in [("Observed", "observedGeneration"), ("Attempted", "lastAttemptedGeneration")] {
        if state.pointer(&format!("/status/{field}")) == state.pointer("/metadata/generation") {
            reported.push(word.to_owned());
        }
    }
    if state.pointer("/metadata/deletionTimestamp").is_some() {
        reported.push("Terminating".to_owned());
    }
    if state.pointer("/spec/suspend") == Some(&Value::Bool(true)) {
        reported.push("Suspended".to_owned());
    }
    reported
}

/// The object without what differs from run to run and nobody reads.
fn trimmed(mut state: Value, keep_managers: bool) -> Value {
    if let Some(metadata) = state.get_mut("metadata").and_then(Value::as_object_mut) {
        for field in ["uid", "resourceVersion", "selfLink", "ownerReferences"] {
            metadata.remove(field);
        }
        if !keep_managers {
            metadata.remove("managedFields");
        }
    }
    state
}

fn watch(cluster: &Cluster, namespace: &str, kind: &str, states: &Arc<Mutex<Vec<Value>>>) -> Result<Child> {
    let mut child = Command::new(cluster.kubectl_path())
        .arg(format!("--kubeconfig={}", cluster.kubeconfig().display()))
        .args(["get", kind, "-n", namespace, "--watch", "-o", "json", "--show-managed-fields"])
        .stdout(Stdio::piped())
        .spawn()?;
    let stdout = child.stdout.take().ok_or("kubectl has no output")?;
    let states = Arc::clone(states);
    thread::spawn(move || {
        let read = serde_json::Deserializer::from_reader(BufReader::new(stdout)).into_iter::<Value>();
        for state in read.map_while(std::result::Result::ok) {
            states.lock().unwrap_or_else(PoisonError::into_inner).push(state);
        }
    });
    Ok(child)
}

/// A spec with these fields instead of its own.
pub(crate) fn with(mut spec: Value, fields: &[(&str, Value)]) -> Value {
    if let Some(spec) = spec.as_object_mut() {
        spec.extend(fields.iter().map(|(field, value)| ((*field).to_owned(), value.clone())));
    }
    spec
}

fn directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/recorded")
}
