//! Graceful shutdown.

use std::io;
use std::time::Duration;

use tokio::runtime::Runtime;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;
use tracing::info;

/// Time for threads to finish at the very end, when their results are no longer needed.
const THREADS_TIMEOUT: Duration = Duration::from_secs(1);

/// Whether the process shuts down. Copies share the same state.
#[derive(Clone, Debug)]
pub struct Shutdown(watch::Receiver<bool>);

/// Begins the shutdown.
#[derive(Debug)]
pub struct Ender(watch::Sender<bool>);

impl Ender {
    /// Creates a shutdown that has not begun.
    #[must_use]
    pub fn new() -> (Self, Shutdown) {
        let (sender, receiver) = watch::channel(false);
        (Self(sender), Shutdown(receiver))
    }

    /// Begins the shutdown.
    pub fn end(&self) {
        self.0.send_replace(true);
    }
}

impl Shutdown {
    /// Waits until the shutdown begins: then no new work is taken, and running work is finished.
    pub async fn begun(&self) {
        // A dropped sender means that the process ends as well.
        let _ = self.0.clone().wait_for(|begun| *begun).await;
    }
}

/// Ends the threads of a runtime. A thread that a server blocks cannot be stopped, but ends with the process.
pub fn end_threads(runtime: Runtime) {
    runtime.shutdown_timeout(THREADS_TIMEOUT);
}

/// Waits for `SIGTERM` or `SIGINT`.
pub async fn asked_to_end() -> io::Result<()> {
    let (mut terminate, mut interrupt) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    let name = tokio::select! {
        _ = terminate.recv() => "SIGTERM",
        _ = interrupt.recv() => "SIGINT",
    };
    info!("{name}: ending in good order");
    Ok(())
}
