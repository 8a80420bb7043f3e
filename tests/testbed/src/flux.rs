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

/// Starts source-, kustomize- and helm-controller on the management cluster, whose CRDs must be established,
/// and waits until they are ready.
pub(crate) fn start(site: &Site<'_>, management: &Cluster) -> Result<()> {
    let storage = format!("127.0.0.1:{}", site.ports.free()?);
    let artifacts = site.supervisor.data().join("artifacts");
    fs::create_dir_all(&artifacts).context(|| format!("cannot create {}", artifacts.display()))?;
    let source_flags = [
        format!("--storage-path={}", artifacts.display()),
        format!("--storage-addr={storage}"),
        format!("--storage-adv-addr={storage}"),
    ];
    let controllers = [
        start_controller(site, management, "source-controller", &source_flags)?,
        start_controller(site, management, "kustomize-controller", &[])?,
        start_controller(site, management, "helm-controller", &[])?,
    ];
    for (process, health_port) in &controllers {
        site.supervisor.wait(process, || probe::answers(*health_port, "/readyz"))?;
    }
    Ok(())
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
    Ok((site.supervisor.start(name, &mut command)?, health_port))
}
