//! The task that acquires, renews and gives back the Lease.

use std::time::{Duration, Instant};

use kube::Client;
use tokio::sync::{oneshot, watch};
use tokio::task::{JoinError, JoinHandle};
use tracing::{info, warn};

use super::fence::Standing;
use super::record::{Record, RecordError};
use super::{Decision, Fence, LeaseSettings, decide};
use crate::names::Namespace;
use crate::runtime::metrics::Metrics;

/// Why this process does not hold the Lease any more, or could not give it back.
#[derive(Debug, thiserror::Error)]
pub enum LeaseError {
    /// Somebody else has it.
    #[error("leadership lost: {holder} holds the Lease {lease} now")]
    Taken {
        /// Namespace and name.
        lease: String,
        /// The identity of the new holder.
        holder: String,
    },
    /// No renewal succeeded in time.
    #[error(
        "leadership lost: the Lease {lease} was not renewed for {deadline:?}; the API server did not answer, or this \
         process was stopped"
    )]
    Expired {
        /// Namespace and name.
        lease: String,
        /// The renew deadline.
        deadline: Duration,
    },
    /// It could not be given back.
    #[error("{0}; other replicas wait until the Lease expires")]
    NotGivenBack(#[source] RecordError),
    /// The task itself failed.
    #[error("the task that renews the Lease failed: {0}")]
    Task(#[from] JoinError),
}

/// One that wants to hold a Lease.
pub struct Candidate {
    record: Record,
    identity: String,
    settings: LeaseSettings,
    metrics: Metrics,
}

/// What came of one try.
enum Standpoint {
    /// It is ours; writes may be sent until then.
    Ours(Instant),
    /// It is somebody else's, and cannot be taken before then.
    Theirs { holder: String, until: Instant },
}

/// The task that holds the Lease.
#[derive(Debug)]
pub struct Holding {
    /// None when it has ended and was told about.
    task: Option<JoinHandle<Result<(), LeaseError>>>,
    release: oneshot::Sender<()>,
}

impl Holding {
    /// Waits until the Lease is lost, which is told once.
    pub async fn lost(&mut self) -> LeaseError {
        let Some(task) = &mut self.task else { return std::future::pending().await };
        let ended = task.await;
        self.task = None;
        match ended {
            Ok(Err(lost)) => lost,
            Err(failed) => LeaseError::Task(failed),
            // The task ends without an error only when it was told to, which consumes `self`.
            Ok(Ok(())) => std::future::pending().await,
        }
    }

    /// Closes the fence and gives the Lease back, so that another operator takes over at once.
    pub async fn release(self) -> Result<(), LeaseError> {
        // Nobody listens when the task has ended already; what it ended with is below.
        let _ = self.release.send(());
        match self.task {
            Some(task) => task.await?,
            None => Ok(()),
        }
    }
}

impl Candidate {
    /// One that wants the Lease `namespace`/`name`. `identity` is unique among all processes ever.
    #[must_use]
    pub fn new(
        client: Client,
        namespace: &Namespace,
        name: &str,
        identity: String,
        settings: LeaseSettings,
        metrics: Metrics,
        field_manager: &'static str,
    ) -> Self {
        let record = Record::new(client, namespace, name, metrics.clone(), field_manager);
        Self { record, identity, settings, metrics }
    }

    /// Starts to try, in a task of its own.
    #[must_use]
    pub fn start(self) -> (Fence, Holding) {
        let (standing, fence) = Fence::new();
        let (release, released) = oneshot::channel();
        let task = tokio::spawn(self.run(standing, released));
        (fence, Holding { task: Some(task), release })
    }

    async fn run(
        mut self,
        standing: watch::Sender<Standing>,
        mut released: oneshot::Receiver<()>,
    ) -> Result<(), LeaseError> {
        let lost = tokio::select! {
            lost = self.hold(&standing) => Some(lost),
            // A sender that is dropped releases as well: nobody is left who would write.
            _ = &mut released => None,
        };
        standing.send_replace(Standing::Closed);
        self.metrics.leads(false);
        match lost {
            Some(lost) => Err(lost),
            None => self.give_back().await.map_err(LeaseError::NotGivenBack),
        }
    }

    /// Acquires the Lease and renews it until it is lost.
    async fn hold(&mut self, standing: &watch::Sender<Standing>) -> LeaseError {
        let mut until = self.acquire().await;
        info!(lease = self.record.lease, identity = self.identity, "leading");
        self.metrics.leads(true);
        loop {
            standing.send_replace(Standing::LeaderUntil(until));
            until = match self.renew(until).await {
                Ok(until) => until,
                Err(lost) => return lost,
            };
        }
    }

    /// Tries until the Lease is ours.
    async fn acquire(&mut self) -> Instant {
        let mut told = None;
        loop {
            let pause = match self.try_once().await {
                Ok(Standpoint::Ours(until)) => return until,
                Ok(Standpoint::Theirs { holder, until }) => {
                    if told.as_ref() != Some(&holder) {
                        info!(lease = self.record.lease, holder, "another operator leads; waiting");
                        told = Some(holder);
                    }
                    until.saturating_duration_since(Instant::now())
                }
                Err(error) => {
                    warn!("{error}; trying again");
                    self.settings.retry_period
                }
            };
            tokio::time::sleep(pause.min(self.settings.retry_period)).await;
        }
    }

    /// Tries until the Lease is renewed, at most until the time given.
    async fn renew(&mut self, until: Instant) -> Result<Instant, LeaseError> {
        loop {
            tokio::time::sleep(self.settings.retry_period).await;
            // A process that was stopped for longer than it may lead must not even renew: it would lead again without
            // having been told that it did not.
            if Instant::now() >= until {
                return Err(self.expired());
            }
            match tokio::time::timeout_at(until.into(), self.try_once()).await {
                // The answer may be there as late as the end of the time.
                Ok(Ok(Standpoint::Ours(_))) if Instant::now() >= until => return Err(self.expired()),
                Ok(Ok(Standpoint::Ours(until))) => return Ok(until),
                Ok(Ok(Standpoint::Theirs { holder, .. })) => {
                    return Err(LeaseError::Taken { lease: self.record.lease.clone(), holder });
                }
                Ok(Err(error)) => warn!("{error}; trying again"),
                Err(_) => return Err(self.expired()),
            }
        }
    }

    /// Looks at the Lease, unless what our own last write returned still holds, and does what is to be done.
    async fn try_once(&mut self) -> Result<Standpoint, RecordError> {
        if !self.record.is_of(&self.identity) {
            self.record.look(&self.settings).await?;
        }
        let observation = self.record.observation();
        let start = Instant::now();
        match decide(observation.as_ref(), &self.identity, start, &self.settings) {
            Decision::Wait { holder, until } => return Ok(Standpoint::Theirs { holder, until }),
            decision => self.record.write(&self.identity, &decision, &self.settings).await?,
        }
        Ok(Standpoint::Ours(start + self.settings.renew_deadline))
    }

    /// Gives the Lease back if it is ours.
    async fn give_back(mut self) -> Result<(), RecordError> {
        // What is known may be old: a renewal may have been on its way.
        self.record.look(&self.settings).await?;
        if self.record.is_of(&self.identity) {
            self.record.give_back(&self.settings).await?;
            info!(lease = self.record.lease, "Lease given back");
        }
        Ok(())
    }

    fn expired(&self) -> LeaseError {
        LeaseError::Expired { lease: self.record.lease.clone(), deadline: self.settings.renew_deadline }
    }
}
