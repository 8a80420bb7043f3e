//! The fence that every write passes.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::task::Poll;
use std::time::Instant;

use hyper::rt::Executor;
use tokio::sync::watch;

/// The write was not sent, or its answer was not awaited: this process is not the leader, or no longer is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("this process does not hold the leader election Lease, so it writes nothing")]
pub struct NotLeader;

/// The leadership of this process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Leadership {
    /// Another process leads.
    Candidate,
    /// This process leads until then, unless it renews the Lease before.
    LeaderUntil(Instant),
    /// Leader election is disabled.
    Alone,
    /// This process led, and no longer does.
    Closed,
}

impl Leadership {
    /// Whether a write may be sent at the time `now`.
    pub(super) fn allows(self, now: Instant) -> bool {
        match self {
            Self::LeaderUntil(until) => now < until,
            Self::Alone => true,
            Self::Candidate | Self::Closed => false,
        }
    }

    /// Whether this process led, and no longer does at the time `now`.
    fn is_lost(self, now: Instant) -> bool {
        match self {
            Self::LeaderUntil(until) => now >= until,
            Self::Closed => true,
            Self::Alone | Self::Candidate => false,
        }
    }
}

/// Whether this process may write, as of now.
///
/// The fence closes by itself at the renew deadline, by the monotonic clock. That clock runs on while a process is stopped:
/// in a process that was stopped past its Lease (`SIGSTOP`) and continues, every task finds the fence closed.
#[derive(Clone, Debug)]
pub struct Fence(watch::Receiver<Leadership>);

impl Fence {
    /// Creates a fence that is always open, for operators without leader election.
    #[must_use]
    pub fn open() -> Self {
        Self(watch::channel(Leadership::Alone).1)
    }

    /// Creates a fence with the leadership that the sender reports.
    pub(super) fn new() -> (watch::Sender<Leadership>, Self) {
        let (sender, receiver) = watch::channel(Leadership::Candidate);
        (sender, Self(receiver))
    }

    /// Whether a write may be sent now.
    pub fn check(&self) -> Result<(), NotLeader> {
        if self.0.borrow().allows(Instant::now()) { Ok(()) } else { Err(NotLeader) }
    }

    /// Runs a write: not at all while the fence is closed, and only until the fence closes.
    ///
    /// The fence is checked each time that the write is polled, so a stopped process never sends what it has not sent yet.
    /// Bytes that a connection has taken already end with the connection, if the client has this fence for its executor. A
    /// request that the operating system has cannot be called back: the time between the renew deadline and the Lease's
    /// duration covers that.
    pub async fn guard<T>(&self, write: impl Future<Output = T>) -> Result<T, NotLeader> {
        let mut write = pin!(write);
        let guarded = poll_fn(|context| match self.check() {
            Err(closed) => Poll::Ready(Err(closed)),
            Ok(()) => write.as_mut().poll(context).map(Ok),
        });
        tokio::select! {
            biased;
            answer = guarded => answer,
            () = self.closed() => Err(NotLeader),
        }
    }

    /// Waits until this process leads. Fails if it led before and lost the leadership.
    pub async fn leading(&self) -> Result<(), NotLeader> {
        let mut leadership = self.0.clone();
        // The sender lives as long as the process.
        let led =
            leadership.wait_for(|leadership| *leadership != Leadership::Candidate).await.map(|found| *found);
        if led.is_ok_and(|leadership| leadership.allows(Instant::now())) { Ok(()) } else { Err(NotLeader) }
    }

    /// Whether this process led, and no longer does.
    fn is_lost(&self) -> bool {
        self.0.borrow().is_lost(Instant::now())
    }

    /// Waits until an open fence is closed.
    async fn closed(&self) {
        let mut leadership = self.0.clone();
        loop {
            let current = *leadership.borrow_and_update();
            let until = match current {
                Leadership::LeaderUntil(until) if Instant::now() < until => until,
                Leadership::Alone => return std::future::pending().await,
                _ => return,
            };
            tokio::select! {
                () = tokio::time::sleep_until(until.into()) => {}
                changed = leadership.changed() => if changed.is_err() {
                    return tokio::time::sleep_until(until.into()).await;
                },
            }
        }
    }
}

/// Runs each connection of a client until this process loses its leadership. A connection that is polled after that ends,
/// and does not send what it has taken.
impl<Connection: Future<Output = ()> + Send + 'static> Executor<Connection> for Fence {
    fn execute(&self, connection: Connection) {
        let fence = self.clone();
        tokio::spawn(async move {
            let mut connection = pin!(connection);
            let fenced =
                poll_fn(
                    |context| {
                        if fence.is_lost() { Poll::Ready(()) } else { connection.as_mut().poll(context) }
                    },
                );
            fenced.await;
        });
    }
}
