//! The task that acquires, renews and releases the Lease.

use std::time::{Duration, Instant};

use kube::Client;
use tokio::sync::{oneshot, watch};
use tokio::task::{JoinError, JoinHandle};
use tracing::{info, warn};

use super::fence::Leadership;
use super::record::{Record, RecordError};
use super::{Decision, Fence, LeaseSettings, decide};
use crate::names::Namespace;
use crate::runtime::metrics::Metrics;

/// The Lease was lost, or could not be released.
#[derive(Debug, thiserror::Error)]
pub enum LeaseError {
    /// Another process holds it.
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
    /// The Lease could not be released.
    #[error("{0}; other replicas wait until the Lease expires")]
    NotGivenBack(#[source] RecordError),
    /// The task itself failed.
    #[error("the task that renews the Lease failed: {0}")]
    Task(#[from] JoinError),
}

/// A process that competes for a Lease.
pub struct Candidate {
    record: Record,
    identity: String,
    settings: LeaseSettings,
    metrics: Metrics,
}

/// The outcome of one attempt.
enum Attempt {
    /// This process holds the Lease and may write until then.
    Leading(Instant),
    /// Another process holds the Lease, which expires then at the earliest.
    Following { holder: String, until: Instant },
}

/// The task that holds the Lease.
#[derive(Debug)]
pub struct Holding {
    /// `None` after its end was reported.
    task: Option<JoinHandle<Result<(), LeaseError>>>,
    release: oneshot::Sender<()>,
}

impl Holding {
    /// Waits until the Lease is lost. Returns once; afterwards it waits forever.
    pub async fn lost(&mut self) -> LeaseError {
        let Some(task) = &mut self.task else { return std::future::pending().await };
        let ended = task.await;
        self.task = None;
        match ended {
            Ok(Err(lost)) => lost,
            Err(failed) => LeaseError::Task(failed),
            // The task ends without an error only after `release`, which consumes `self`.
            Ok(Ok(())) => std::future::pending().await,
        }
    }

    /// Closes the fence and releases the Lease, so that another operator takes over at once.
    pub async fn release(self) -> Result<(), LeaseError> {
        // A task that has ended does not receive this; its result is read below.
        let _ = self.release.send(());
        match self.task {
            Some(task) => task.await?,
            None => Ok(()),
        }
    }
}

impl Candidate {
    /// Creates a candidate for the Lease `namespace`/`name`. `identity` must be unique among all processes ever.
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

    /// Starts the election in a separate task.
    #[must_use]
    pub fn start(self) -> (Fence, Holding) {
        let (leadership, fence) = Fence::new();
        let (release, released) = oneshot::channel();
        let task = tokio::spawn(self.run(leadership, released));
        (fence, Holding { task: Some(task), release })
    }

    async fn run(
        mut self,
        leadership: watch::Sender<Leadership>,
        mut released: oneshot::Receiver<()>,
    ) -> Result<(), LeaseError> {
        let lost = tokio::select! {
            lost = self.hold(&leadership) => Some(lost),
            // A dropped sender also releases the Lease, because the process no longer writes.
            _ = &mut released => None,
        };
        leadership.send_replace(Leadership::Closed);
        self.metrics.leads(false);
        match lost {
            Some(lost) => Err(lost),
            None => self.give_back().await.map_err(LeaseError::NotGivenBack),
        }
    }

    /// Acquires the Lease and renews it until it is lost.
    async fn hold(&mut self, leadership: &watch::Sender<Leadership>) -> LeaseError {
        let mut until = self.acquire().await;
        info!(lease = self.record.lease, identity = self.identity, "leading");
        self.metrics.leads(true);
        loop {
            leadership.send_replace(Leadership::LeaderUntil(until));
            until = match self.renew(until).await {
                Ok(until) => until,
                Err(lost) => return lost,
            };
        }
    }

    /// Retries until this process holds the Lease.
    async fn acquire(&mut self) -> Instant {
        let mut reported = None;
        loop {
            let pause = match self.try_once().await {
                Ok(Attempt::Leading(until)) => return until,
                Ok(Attempt::Following { holder, until }) => {
                    if reported.as_ref() != Some(&holder) {
                        info!(lease = self.record.lease, holder, "another operator leads; waiting");
                        reported = Some(holder);
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

    /// Retries until the Lease is renewed, at most until the given time.
    async fn renew(&mut self, until: Instant) -> Result<Instant, LeaseError> {
        loop {
            tokio::time::sleep(self.settings.retry_period).await;
            // A process that was stopped past its deadline must not renew: it would lead again without having noticed that
            // it did not lead in between.
            if Instant::now() >= until {
                return Err(self.expired());
            }
            match tokio::time::timeout_at(until.into(), self.try_once()).await {
                // The answer may have arrived after the deadline.
                Ok(Ok(Attempt::Leading(_))) if Instant::now() >= until => return Err(self.expired()),
                Ok(Ok(Attempt::Leading(until))) => return Ok(until),
                Ok(Ok(Attempt::Following { holder, .. })) => {
                    return Err(LeaseError::Taken { lease: self.record.lease.clone(), holder });
                }
                Ok(Err(error)) => warn!("{error}; trying again"),
                Err(_) => return Err(self.expired()),
            }
        }
    }

    /// Reads the Lease, unless the answer to the last write is still valid, and takes the next step.
    async fn try_once(&mut self) -> Result<Attempt, RecordError> {
        if !self.record.is_of(&self.identity) {
            self.record.look(&self.settings).await?;
        }
        let observation = self.record.observation();
        let start = Instant::now();
        match decide(observation.as_ref(), &self.identity, start, &self.settings) {
            Decision::Wait { holder, until } => return Ok(Attempt::Following { holder, until }),
            decision => self.record.write(&self.identity, &decision, &self.settings).await?,
        }
        Ok(Attempt::Leading(start + self.settings.renew_deadline))
    }

    /// Releases the Lease if this process holds it.
    async fn give_back(mut self) -> Result<(), RecordError> {
        // The last state may be outdated: a renewal may have been on its way.
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
