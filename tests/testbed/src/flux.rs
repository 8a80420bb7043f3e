//! Flux's controllers, outside a cluster.

use std::fs;
use std::process::Command;

use crate::cluster::Cluster;
use crate::control_plane::Site;
use crate::error::{Context as _, Result};
use crate::probe;
use crate::process::Process;

/// The namespace that the controllers take for their own.
pub(crate) const NAMESPACE: &str = "flux-system";

/// Starts the wanted ones of source-, kustomize- and helm-controller on the management cluster, whose CRDs must be
/// established, and waits until they are ready.
pub(crate) fn start(site: &Site<'_>, management: &Cluster) -> Result<()> {
    let mut started = Vec::new();
    for name in site.options.flux {
        let flags = match *name {
            "source-controller" => source_flags(site)?,
            "helm-controller" => vec![format!("--concurrent={}", site.options.helm_concurrent)],
            _ => Vec::new(),
        };
        started.push(start_controller(site, management, name, &flags)?);
    }
    for (process, health_port) in started {
        site.supervisor.wait(&process, move || probe::answers(health_port, "/readyz"))?;
    }
    Ok(())
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
        .env("KUBECONFIG", &management.kubeconfig)
        .env("RUNTIME_NAMESPACE", NAMESPACE)
        // No notification-controller runs; what others wait for is looked at again soon.
        .args(["--events-addr=", "--log-encoding=console", "--requeue-dependency=2s"])
        .arg(format!("--metrics-addr=127.0.0.1:{}", site.ports.free()?))
        .arg(format!("--health-addr=127.0.0.1:{health_port}"))
        .args(flags);
    Ok((site.supervisor.start(name, command)?, health_port))
}
