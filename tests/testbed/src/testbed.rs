//! The testbed as tests and users see it.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::{SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::audit::Audit;
use crate::building::{self, say};
use crate::cluster::Cluster;
use crate::error::{Context as _, Error, Result};
use crate::git::GitServer;
use crate::options::{Options, Providers};
use crate::own::OwnTestbed;
use crate::paths;
use crate::ports::Ports;
use crate::process::{self, Process, Supervisor};
use crate::registry::Registry;
use crate::seconds;
use crate::start;

/// A running testbed. Written as JSON, it is the state file of the one that a user started.
#[derive(Debug, Deserialize, Serialize)]
pub struct Testbed {
    pub(crate) directory: PathBuf,
    pub(crate) seconds: f64,
    pub(crate) management: Cluster,
    pub(crate) operator_kubeconfig: PathBuf,
    pub(crate) workloads: Vec<Cluster>,
    #[serde(default)]
    pub(crate) cluster_api: bool,
    pub(crate) git: GitServer,
    pub(crate) registry: Registry,
    pub(crate) protected_registry: Registry,
    pub(crate) processes: Vec<Process>,
}

/// The testbed of one test process, and its supervisor.
struct Shared {
    testbed: Testbed,
    /// Everything stops when this is dropped; `None` if the process uses a user's testbed.
    _supervisor: Option<Supervisor>,
}

static SHARED: OnceLock<Result<Shared>> = OnceLock::new();

impl Testbed {
    /// The testbed of this test process: started by the first test that needs it (built before if needed), and stopped
    /// with the process, for any reason. With `TESTBED_STATE` the one of that state file is used instead.
    ///
    /// # Panics
    ///
    /// If it cannot be built or started: every test that needs it fails, none is skipped.
    #[expect(clippy::panic, reason = "a test without its testbed has failed")]
    pub fn shared() -> &'static Self {
        match SHARED.get_or_init(start_shared) {
            Ok(shared) => {
                seconds::count();
                &shared.testbed
            }
            Err(error) => panic!("no testbed: {error}"),
        }
    }

    /// Starts a testbed for one test that stops parts of it or counts writes. It stops when the value is dropped, or
    /// with the process. Takes as long to start as the shared one.
    pub fn start_own(options: &Options) -> Result<OwnTestbed> {
        OwnTestbed::start(options)
    }

    /// Starts a testbed that outlives this process and writes its state file. If one is up and complete, it is returned
    /// unchanged; one that has Cluster API's controllers though they are not wanted, or lacks them, is an error.
    pub fn up(cluster_api: bool) -> Result<Self> {
        let run = paths::run_of_person();
        let _lock = lock(&run)?;
        if state_file(&run).exists() {
            let existing = read(&state_file(&run))?;
            let is_complete = existing.processes.iter().all(Process::is_running);
            if is_complete && existing.cluster_api != cluster_api {
                let which = if existing.cluster_api { "with" } else { "without" };
                return Err(Error::new(format!(
                    "the testbed that is up runs {which} Cluster API; stop it first: make testbed-down"
                )));
            }
            if is_complete {
                return Ok(existing);
            }
            existing.stop()?;
        }
        let providers = if cluster_api { Providers::WithHooks } else { Providers::None };
        let (testbed, supervisor) =
            start::start(&run, &Options { cluster_api: providers, ..Options::shared() })?;
        let text = serde_json::to_string_pretty(&testbed).context(|| "cannot write the state".to_owned())?;
        let path = state_file(&run);
        fs::write(&path, text).context(|| format!("cannot write {}", path.display()))?;
        supervisor.leave_running()?;
        Ok(testbed)
    }

    /// Stops the testbed that a user started: exactly its processes. `false` if there is none.
    pub fn down() -> Result<bool> {
        let run = paths::run_of_person();
        let _lock = lock(&run)?;
        let path = state_file(&run);
        if !path.exists() {
            return Ok(false);
        }
        read(&path)?.stop()?;
        Ok(true)
    }

    /// The path of the state file of the testbed that a user starts; the file exists while that testbed is up.
    #[must_use]
    pub fn state_path() -> PathBuf {
        state_file(&paths::run_of_person())
    }

    /// The management cluster: Flux, and the CRDs of Flux and Cluster API.
    #[must_use]
    pub fn management(&self) -> &Cluster {
        &self.management
    }

    /// A kubeconfig of the management cluster for the operator under test: an administrator too, but as user
    /// `stackflux`, so that its requests are distinct from those of tests.
    #[must_use]
    pub fn operator_kubeconfig(&self) -> &Path {
        &self.operator_kubeconfig
    }

    /// The workload cluster of this name: `one` or `two`, unless [`Options`] named others.
    pub fn workload(&self, name: &str) -> Result<&Cluster> {
        let found = self.workloads.iter().find(|cluster| cluster.name() == name);
        found.ok_or_else(|| Error::new(format!("there is no workload cluster {name}")))
    }

    /// All workload clusters.
    #[must_use]
    pub fn workloads(&self) -> &[Cluster] {
        &self.workloads
    }

    /// The Git server.
    #[must_use]
    pub fn git(&self) -> &GitServer {
        &self.git
    }

    /// The OCI registry with anonymous push and pull.
    #[must_use]
    pub fn registry(&self) -> &Registry {
        &self.registry
    }

    /// The OCI registry that requires a user and a password.
    #[must_use]
    pub fn protected_registry(&self) -> &Registry {
        &self.protected_registry
    }

    /// The directory of the components' logs.
    #[must_use]
    pub fn logs(&self) -> PathBuf {
        self.directory.join("logs")
    }

    /// Returns a port of 127.0.0.1 on which no process listens now. No other call returns it.
    pub fn free_port(&self) -> Result<u16> {
        Ports::of_this_process().free()
    }

    /// The log of writes to the management cluster, unless [`Options::audit`] is false. On the shared testbed it has the
    /// writes of all tests.
    #[must_use]
    pub fn audit(&self) -> Audit {
        Audit::of(&self.logs())
    }

    /// Duration of the start, in seconds, without building.
    #[must_use]
    pub fn seconds(&self) -> f64 {
        self.seconds
    }

    /// Creates a namespace of the management cluster that no other test has.
    pub fn namespace(&self, prefix: &str) -> Result<String> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let name = format!("{prefix}-{:x}", now.as_nanos());
        start::create_namespace(&self.management, &name)?;
        Ok(name)
    }

    /// Gives the cluster `cluster_name` of a namespace the kubeconfig of a workload cluster, like Cluster API: Secret
    /// `<cluster_name>-kubeconfig`, key `value`.
    pub fn add_kubeconfig_secret(&self, namespace: &str, cluster_name: &str, workload: &str) -> Result<()> {
        self.add_secret(namespace, &format!("{cluster_name}-kubeconfig"), (cluster_name, workload))
    }

    /// Creates a Secret with the kubeconfig of a workload cluster, for a Cluster.
    pub(crate) fn add_secret(
        &self,
        namespace: &str,
        name: &str,
        (cluster_name, workload): (&str, &str),
    ) -> Result<()> {
        let path = self.workload(workload)?.kubeconfig();
        let kubeconfig = fs::read_to_string(path).context(|| format!("cannot read {}", path.display()))?;
        let secret = json!({
            "apiVersion": "v1",
            "kind": "Secret",
            "type": "cluster.x-k8s.io/secret",
            "metadata": {
                "name": name,
                "namespace": namespace,
                "labels": {"cluster.x-k8s.io/cluster-name": cluster_name},
            },
            "stringData": {"value": kubeconfig},
        });
        self.management.apply(&secret.to_string())
    }

    fn stop(&self) -> Result<()> {
        process::stop(&self.processes, &self.directory.join("data"))?;
        let path = state_file(&self.directory);
        fs::remove_file(&path).context(|| format!("cannot remove {}", path.display()))
    }
}

fn start_shared() -> Result<Shared> {
    if let Some(path) = paths::variable("TESTBED_STATE") {
        return Ok(Shared { testbed: read(Path::new(&path))?, _supervisor: None });
    }
    // A compiler beside running tests would make them late.
    building::build()?;
    let (testbed, supervisor) = start::start(&paths::run_of_tests()?, &Options::shared())?;
    say(&format!("testbed: up after {:.1} s, logs in {}\n", testbed.seconds, testbed.logs().display()))?;
    Ok(Shared { testbed, _supervisor: Some(supervisor) })
}

/// Waits until no other process starts or stops the testbed in this directory.
fn lock(run: &Path) -> Result<File> {
    let path = run.with_added_extension("lock");
    fs::create_dir_all(run).context(|| format!("cannot create {}", run.display()))?;
    let file = File::create(&path).context(|| format!("cannot create {}", path.display()))?;
    file.lock().context(|| format!("cannot lock {}", path.display()))?;
    Ok(file)
}

fn state_file(run: &Path) -> PathBuf {
    run.join("state.json")
}

fn read(path: &Path) -> Result<Testbed> {
    let text = fs::read_to_string(path).context(|| format!("cannot read {}", path.display()))?;
    serde_json::from_str(&text).context(|| format!("{} is no state of a testbed", path.display()))
}
