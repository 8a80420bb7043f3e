//! The lifecycle of the process: creates what every part of the operator needs, and shuts it down in order.
//!
//! ```text
//! client ─ health and metrics servers ─ Lease ─▶ controllers
//!                                                   │ SIGTERM, SIGINT
//!                 exit 0 ◀─ Lease released ◀─ running reconciles finish
//! ```
//! A lost Lease ends the process immediately with an error, because another operator may write now.

use std::future::Future;
use std::hash::{BuildHasher as _, RandomState};
use std::io;
use std::sync::Arc;
use std::time::Duration;

use kube::Client;
use kube::client::ClientBuilder;
use tracing::{error, info, warn};

use super::builtin::BuiltinRepositories;
use super::metrics::Metrics;
use super::settings::{BuiltinSettings, Settings};
use crate::api::labels::FIELD_MANAGER;
use crate::git;
use crate::installation::lease::lease_name;
use crate::names::{NameError, Namespace};
use crate::runtime::client::{self, ConnectError, Connected};
use crate::runtime::health::{Readiness, ServeError, listen, serve_health, serve_metrics};
use crate::runtime::lease::{Candidate, Fence, Holding, LeaseError};
use crate::runtime::shutdown::{self, Ender, Shutdown};
use crate::runtime::tasks::{FirstEnd, TaskError, Tasks};
use crate::serve::{Certificate, CertificateError, GitServer, ServerLimits};

/// Time for running reconciles to finish. By default Kubernetes kills the process after 30 seconds, and the Lease must be
/// released before.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(20);
/// Time for connections to Git servers to finish by themselves.
const GIT_TIMEOUT: Duration = Duration::from_secs(1);

/// Everything that the controllers need to run.
#[derive(Clone)]
pub struct Process {
    /// The settings of the operator.
    pub settings: Settings,
    /// The management cluster.
    pub client: Client,
    /// The namespace that the operator runs in.
    pub namespace: Namespace,
    /// Guards every write. The controllers process the queues when it reports that this process leads.
    pub fence: Fence,
    /// The metrics of the process.
    pub metrics: Metrics,
    /// The reasons for which the process is not ready. The controllers call [`Readiness::started`] after adding all of
    /// theirs.
    pub readiness: Readiness,
    /// Signals when to stop taking new work.
    pub shutdown: Shutdown,
    /// The built-in stack repositories, for which the Git server answers.
    pub builtin: Arc<BuiltinRepositories>,
    /// Starts tasks that run as long as the process.
    pub tasks: Tasks,
}

/// A reason why the process ended unexpectedly.
#[derive(Debug, thiserror::Error)]
pub enum ProcessError {
    /// The connection to the management cluster is not configured.
    #[error(transparent)]
    Connect(#[from] ConnectError),
    /// The namespace of the kubeconfig's context or of the Pod has an invalid name.
    #[error("invalid runtime namespace: {0}; set --runtime-namespace")]
    Namespace(#[from] NameError),
    /// An address is in use.
    #[error(transparent)]
    Serve(#[from] ServeError),
    /// The certificate of the Git server cannot be used.
    #[error("the certificate of the Git server cannot be used: {0}")]
    Certificate(#[from] CertificateError),
    /// The Lease is lost.
    #[error(transparent)]
    Lease(#[from] LeaseError),
    /// Waiting for signals failed.
    #[error("cannot wait for signals: {0}")]
    Signals(#[from] io::Error),
    /// A task ended.
    #[error(transparent)]
    Task(#[from] TaskError),
    /// The controllers ended without a shutdown.
    #[error("the controllers ended unexpectedly")]
    ControllersEnded,
}

/// Runs the operator until a signal ends it. `controllers` receives what it needs, and runs until the shutdown begins and
/// running reconciles have finished. Logs an error before returning it.
pub async fn run<Controllers, Running>(
    settings: Settings,
    controllers: Controllers,
) -> Result<(), ProcessError>
where
    Controllers: FnOnce(Process) -> Running,
    Running: Future<Output = ()>,
{
    info!(version = env!("CARGO_PKG_VERSION"), "stackflux starts");
    let (ender, shutdown) = Ender::new();
    let (tasks, first_end) = Tasks::new();
    let outcome = match start(settings, shutdown, tasks).await {
        Ok((process, holding)) => supervise(controllers(process), first_end, holding, &ender).await,
        Err(error) => Err(error),
    };
    outcome.inspect_err(|error| error!("{error}"))
}

/// Creates everything that the controllers need.
async fn start(
    settings: Settings,
    shutdown: Shutdown,
    tasks: Tasks,
) -> Result<(Process, Option<Holding>), ProcessError> {
    let Connected { client, config, namespace: default_namespace, server } =
        client::connect(&settings.access).await?;
    let namespace = match &settings.runtime_namespace {
        Some(namespace) => namespace.clone(),
        None => default_namespace.parse()?,
    };
    let (metrics, readiness) = (Metrics::new(), Readiness::starting(&server));
    serve_health(&tasks, &settings.health_addr, readiness.clone()).await?;
    serve_metrics(&tasks, &settings.metrics_addr, metrics.registry()).await?;
    let builtin = Arc::new(BuiltinRepositories::starting(settings.builtin.is_some()));
    if let Some(served) = &settings.builtin {
        serve_git(&tasks, served, builtin.clone()).await?;
    }
    let (fence, client, holding) = match settings.election {
        None => {
            metrics.runtime.leads(true);
            warn!("no leader election: run only one operator");
            (Fence::open(), client, None)
        }
        Some(election) => {
            let name = lease_name(settings.watch.label_selector.as_deref());
            let metrics = metrics.runtime.clone();
            let candidate =
                Candidate::new(client, &namespace, &name, identity(), election, metrics, FIELD_MANAGER);
            let (fence, holding) = candidate.start();
            // The Lease has separate connections, which stay open when leadership ends.
            let client = ClientBuilder::try_from((config, fence.clone())).map_err(ConnectError::Client)?;
            (fence, client.build(), Some(holding))
        }
    };
    let process =
        Process { settings, client, namespace, fence, metrics, readiness, shutdown, builtin, tasks };
    Ok((process, holding))
}

/// Serves the built-in stack repositories until the process ends. It answers 503 as long as none is open.
async fn serve_git(
    tasks: &Tasks,
    settings: &BuiltinSettings,
    repositories: Arc<BuiltinRepositories>,
) -> Result<(), ProcessError> {
    let certificate = settings.certificate.as_deref().map(Certificate::open).transpose()?;
    let (listener, _) = listen("Git", &settings.address).await?;
    let server = GitServer::new(repositories, certificate, ServerLimits::default());
    tasks.spawn("Git server", server.run(listener));
    Ok(())
}

/// Runs the controllers until a signal, a lost Lease or a task that ends stops them.
async fn supervise(
    controllers: impl Future<Output = ()>,
    mut first_end: FirstEnd,
    mut holding: Option<Holding>,
    ender: &Ender,
) -> Result<(), ProcessError> {
    let mut controllers = Box::pin(controllers);
    let end: Option<ProcessError> = tokio::select! {
        () = &mut controllers => Some(ProcessError::ControllersEnded),
        end = first_end.wait() => Some(end.into()),
        lost = lost(&mut holding) => return Err(lost.into()),
        asked = shutdown::asked_to_end() => asked.map(|()| None)?,
    };
    if end.is_none() {
        ender.end();
        tokio::select! {
            lost = lost(&mut holding) => return Err(lost.into()),
            finished = tokio::time::timeout(SHUTDOWN_TIMEOUT, finish(&mut controllers, git::end_connections)) => if finished.is_err() {
                warn!("running reconciles did not finish within {SHUTDOWN_TIMEOUT:?} and are abandoned");
            },
        }
    }
    // After a task has ended, running reconciles would decide by caches that are no longer fed.
    drop(controllers);
    if let Some(holding) = holding {
        // If the release fails, other operators take over later.
        holding.release().await.unwrap_or_else(|error| warn!("{error}"));
    }
    info!("stackflux ends");
    end.map_or(Ok(()), Err)
}

/// Waits until running reconciles have finished. Those that wait for Git servers are ended: a server may take minutes.
async fn finish(mut controllers: impl Future<Output = ()> + Unpin, end_connections: impl FnOnce()) {
    if tokio::time::timeout(GIT_TIMEOUT, &mut controllers).await.is_err() {
        end_connections();
        controllers.await;
    }
}

async fn lost(holding: &mut Option<Holding>) -> LeaseError {
    match holding {
        Some(holding) => holding.lost().await,
        None => std::future::pending().await,
    }
}

/// Returns a unique name of this process: the host's (in a Pod, the Pod's) and a random number.
#[expect(clippy::disallowed_methods, reason = "the process starts")]
fn identity() -> String {
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname");
    let host = host.or_else(|_| std::env::var("HOSTNAME")).unwrap_or_else(|_| "unknown".to_owned());
    // The keys of `RandomState` come from the operating system's source of randomness.
    let random = RandomState::new().hash_one(std::process::id());
    format!("{}_{random:016x}", host.trim())
}

#[cfg(test)]
mod tests;
