//! Flux's controllers, outside a cluster.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use crate::cluster::Cluster;
use crate::control_plane::Site;
use crate::election;
use crate::error::{Context as _, Result};
use crate::options::Options;
use crate::probe;
use crate::process::Process;

/// The namespace that the controllers use as their own.
pub(crate) const NAMESPACE: &str = "flux-system";

/// The times of the election. No kubelet restarts a controller that lost its Lease, so a Lease outlives an API server
/// that is down for less than a minute.
const ELECTION: [&str; 3] = [
    "--leader-election-lease-duration=75s",
    "--leader-election-renew-deadline=60s",
    "--leader-election-retry-period=2s",
];

/// Deletes the Lease that a killed controller left behind: the next one would wait until it passes. Other components
/// have none.
pub(crate) fn release_lease(management: &Cluster, component: &str) -> Result<()> {
    if !Options::default().flux.contains(&component) {
        return Ok(());
    }
    let (lease, namespace) = (format!("{component}-leader-election"), format!("--namespace={NAMESPACE}"));
    management.kubectl(&["delete", "lease", &lease, &namespace, "--ignore-not-found"]).map(drop)
}

/// Starts the wanted ones of source-, kustomize- and helm-controller on the management cluster, whose CRDs must be
/// established, and waits until they are ready.
pub(crate) fn start(site: &Site<'_>, management: &Cluster) -> Result<()> {
    let directory = directory(site);
    fs::create_dir_all(&directory).context(|| format!("cannot create {}", directory.display()))?;
    // Written once, before the first controller can read it.
    election::set_namespace(&directory, NAMESPACE)?;
    let mut started = Vec::new();
    for name in site.options.flux {
        let no_references = format!("--no-cross-namespace-refs={}", site.options.no_cross_namespace_refs);
        let flags = match *name {
            "source-controller" => source_flags(site)?,
            "helm-controller" => {
                vec![format!("--concurrent={}", site.options.helm_concurrent), no_references]
            }
            _ => vec![no_references],
        };
        started.push(start_controller(site, management, name, &flags)?);
    }
    for (process, health_port) in started {
        site.supervisor.wait(&process, move || probe::answers(health_port, "/readyz"))?;
    }
    Ok(())
}

/// The directory that the controllers are started in.
fn directory(site: &Site<'_>) -> PathBuf {
    site.supervisor.data().join("flux")
}

fn source_flags(site: &Site<'_>) -> Result<Vec<String>> {
    let storage = format!("127.0.0.1:{}", site.ports.free()?);
    let artifacts = site.supervisor.data().join("artifacts");
    fs::create_dir_all(&artifacts).context(|| format!("cannot create {}", artifacts.display()))?;
    Ok(vec![
        format!("--storage-path={}", artifacts.display()),
        format!("--storage-addr={storage}"),
        format!("--storage-adv-addr={storage}"),
    ])
}

fn start_controller(
    site: &Site<'_>,
    management: &Cluster,
    name: &str,
    flags: &[String],
) -> Result<(Process, u16)> {
    let health_port = site.ports.free()?;
    let mut command = Command::new(site.toolbox.program(name)?);
    command
        .current_dir(directory(site))
        .env("KUBECONFIG", &management.kubeconfig)
        .env("RUNTIME_NAMESPACE", NAMESPACE)
        // No notification-controller runs; dependants are requeued soon.
        .args(["--events-addr=", "--log-encoding=console", "--requeue-dependency=2s"])
        .arg("--enable-leader-election")
        .args(ELECTION)
        .arg(format!("--metrics-addr=127.0.0.1:{}", site.ports.free()?))
        .arg(format!("--health-addr=127.0.0.1:{health_port}"))
        .args(flags);
    Ok((site.supervisor.start(name, command)?, health_port))
}
