//! Starts everything, in parallel if nothing depends on the other.

use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::building;
use crate::cluster::{Cluster, Object, Requests};
use crate::control_plane::{self, Site};
use crate::error::{Error, Result};
use crate::flux;
use crate::git::GitServer;
use crate::options::{Options, Providers};
use crate::paths;
use crate::ports::Ports;
use crate::process::Supervisor;
use crate::providers;
use crate::registry::Registry;
use crate::testbed::Testbed;

/// The kinds that an existing management cluster must serve.
const NEEDED: [&str; 5] = [
    "helmreleases.helm.toolkit.fluxcd.io",
    "kustomizations.kustomize.toolkit.fluxcd.io",
    "gitrepositories.source.toolkit.fluxcd.io",
    "ocirepositories.source.toolkit.fluxcd.io",
    "clusterclasses.cluster.x-k8s.io",
];

/// The namespace for trying things: its workload clusters have their kubeconfig Secrets.
pub(crate) const DEMO_NAMESPACE: &str = "demo";

/// Builds missing components and starts everything in the directory `run`, which is emptied first. Everything stops with
/// the returned supervisor.
pub(crate) fn start(run: &Path, options: &Options) -> Result<(Testbed, Supervisor)> {
    let toolbox = building::ensure_built()?;
    let start = Instant::now();
    let supervisor = Supervisor::new(run)?;
    let ports = Ports::of_this_process();
    let site = Site { toolbox: &toolbox, supervisor: &supervisor, ports, run, options };
    let ((management, operator_kubeconfig), workloads, git, registries) = thread::scope(|scope| {
        let start = |name| {
            let site = &site;
            scope.spawn(move || control_plane::start_workload(site, name))
        };
        let workloads: Vec<_> = options.workloads.iter().copied().map(start).collect();
        let git = scope.spawn(|| GitServer::start(&site));
        let registries = scope.spawn(|| Ok((Registry::start(&site)?, Registry::start_protected(&site)?)));
        let management = match paths::variable("TESTBED_KUBECONFIG") {
            Some(kubeconfig) => existing_management(&site, Path::new(&kubeconfig)),
            None => start_management(&site),
        };
        let workloads: Result<Vec<Cluster>> = workloads.into_iter().map(join).collect();
        Ok::<_, Error>((management?, workloads?, join(git)?, join(registries)?))
    })?;
    let mut testbed = Testbed {
        directory: run.to_owned(),
        seconds: 0.0,
        management,
        operator_kubeconfig,
        workloads,
        cluster_api: options.cluster_api != Providers::None,
        git,
        registry: registries.0,
        protected_registry: registries.1,
        processes: supervisor.processes()?,
    };
    if testbed.management.get(Object { kind: "namespace", namespace: "", name: DEMO_NAMESPACE })?.is_none() {
        create_namespace(&testbed.management, DEMO_NAMESPACE)?;
    }
    for name in options.workloads {
        // The real Cluster API writes a Secret for the API server in its provider's memory.
        let purpose = if options.cluster_api == Providers::None { "kubeconfig" } else { "workload" };
        testbed.add_secret(DEMO_NAMESPACE, &format!("{name}-{purpose}"), (name, name))?;
    }
    if let Some(process) = testbed.processes.iter().find(|process| !process.is_running()) {
        return Err(Error::new(format!(
            "{} ended; see its log in {}",
            process.name,
            run.join("logs").display()
        )));
    }
    testbed.seconds = start.elapsed().as_secs_f64();
    Ok((testbed, supervisor))
}

fn join<T>(thread: thread::ScopedJoinHandle<'_, Result<T>>) -> Result<T> {
    thread.join().unwrap_or_else(|_| Err(Error::new("a thread that starts components panicked")))
}

/// The management cluster and the kubeconfig of the operator under test.
fn start_management(site: &Site<'_>) -> Result<(Cluster, PathBuf)> {
    let (cluster, operator) = control_plane::start_management(site)?;
    create_crds(&cluster, &site.toolbox.flux_crds())?;
    create_namespace(&cluster, flux::NAMESPACE)?;
    thread::scope(|scope| {
        let others = scope.spawn(|| {
            if site.options.cluster_api == Providers::None {
                create_crds(&cluster, &site.toolbox.cluster_api_crds())?;
            } else {
                providers::start(site, &cluster)?;
            }
            create_crds(&cluster, &paths::sources().join("crds"))
        });
        flux::start(site, &cluster)?;
        join(others)
    })?;
    Ok((cluster, operator))
}

/// An external management cluster with Flux in it, in which nothing is started, stopped or installed here. The user of
/// its kubeconfig is also that of the operator under test.
fn existing_management(site: &Site<'_>, kubeconfig: &Path) -> Result<(Cluster, PathBuf)> {
    let mut cluster = Cluster {
        name: "management".to_owned(),
        server: String::new(),
        kubeconfig: kubeconfig.to_owned(),
        kubectl: site.toolbox.program("kubectl")?,
        logs: site.run.join("logs"),
        requests: Requests::default(),
    };
    let path = "--output=jsonpath={.clusters[0].cluster.server}";
    cluster.server = cluster.kubectl(&["config", "view", "--minify", path])?;
    for kind in NEEDED {
        cluster.kubectl(&["get", "crd", kind]).map_err(|error| {
            Error::new(format!("the cluster of TESTBED_KUBECONFIG lacks what the tests need: {error}"))
        })?;
    }
    Ok((cluster, kubeconfig.to_owned()))
}

/// Creates the CRDs of a directory and waits until they are served.
fn create_crds(cluster: &Cluster, directory: &Path) -> Result<()> {
    let path = directory.display().to_string();
    cluster.kubectl(&["create", "--validate=false", "-f", &path])?;
    cluster.wait_established(&["-f", &path])
}

/// Creates a namespace and waits for the account that the controllers create in each.
pub(crate) fn create_namespace(cluster: &Cluster, name: &str) -> Result<()> {
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
    cluster.apply(&namespace.to_string())?;
    let account = Object { kind: "serviceaccount", namespace: name, name: "default" };
    cluster.wait(account, "account", Duration::from_mins(1), |_| true).map(drop)
}
