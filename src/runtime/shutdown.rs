//! The end of the process in good order.

use std::io;
use std::time::Duration;

use tokio::runtime::Runtime;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;
use tracing::info;

/// How long threads have at the very end, when nobody waits for what they do.
const LAST_MOMENT: Duration = Duration::from_secs(1);

/// Whether the process is to end. Copies tell the same.
#[derive(Clone, Debug)]
pub struct Shutdown(watch::Receiver<bool>);

/// The one who says that the process is to end.
#[derive(Debug)]
pub struct Ender(watch::Sender<bool>);

impl Ender {
    /// Nothing has begun yet.
    #[must_use]
    pub fn new() -> (Self, Shutdown) {
        let (sender, receiver) = watch::channel(false);
        (Self(sender), Shutdown(receiver))
    }

    /// The process is to end.
    pub fn end(&self) {
        self.0.send_replace(true);
    }
}

impl Shutdown {
    /// Waits until no new work is to be taken. What is under way is to be finished.
    pub async fn begun(&self) {
        // Without the one who says so the process is ending as well.
        let _ = self.0.clone().wait_for(|begun| *begun).await;
    }
}

/// Ends what runs on threads. One that a server holds cannot be ended, and is not waited for: it ends with the process.
pub fn end_threads(runtime: Runtime) {
    runtime.shutdown_timeout(LAST_MOMENT);
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
