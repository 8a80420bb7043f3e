//! A queue of keys. One task at a time reconciles a key, and again if the key was queued meanwhile.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::future::Future;
use std::hash::Hash;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use backon::{BackoffBuilder as _, ExponentialBackoff, ExponentialBuilder};
use futures::StreamExt as _;
use futures::channel::mpsc::{UnboundedReceiver, UnboundedSender, unbounded};
use futures::stream::FuturesUnordered;
use jiff::{SignedDuration, Timestamp};
use kube::Resource;
use kube::runtime::scheduler::{ScheduleRequest, scheduler};
use tokio::time::Instant;

use crate::names::Key;

/// The shortest and the longest pause after a failure. Each further failure doubles the pause, with jitter.
const BACKOFF: (Duration, Duration) = (Duration::from_millis(200), Duration::from_mins(1));

/// The next reconcile of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// Only after a change.
    Await,
    /// After this time, if nothing changes before.
    After(Duration),
    /// The reconcile failed: after a pause that grows with each failure of this key.
    Retry,
}

impl Next {
    /// Returns the earlier of two next reconciles. A failure comes before both.
    #[must_use]
    pub fn earlier(self, other: Self) -> Self {
        match (self, other) {
            (Self::Retry, _) | (_, Self::Retry) => Self::Retry,
            (Self::Await, next) | (next, Self::Await) => next,
            (Self::After(one), Self::After(other)) => Self::After(one.min(other)),
        }
    }
}

/// Schedules a reconcile at this time, a little after the limit that it stands for.
#[must_use]
pub fn at(limit: Timestamp, now: Timestamp) -> Next {
    let left = limit.duration_since(now).max(SignedDuration::ZERO).unsigned_abs();
    Next::After(left.saturating_add(Duration::from_millis(10)))
}

/// Queues the keys of changed objects.
#[derive(Debug)]
pub struct Trigger<K>(UnboundedSender<ScheduleRequest<K>>);

impl<K> Clone for Trigger<K> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<K> Trigger<K> {
    /// Reconciles the key as soon as there is capacity.
    pub fn now(&self, key: K) {
        self.after(key, Duration::ZERO);
    }

    /// Reconciles the key after this time at the latest.
    pub fn after(&self, key: K, delay: Duration) {
        // If there is no receiver, the process is ending.
        _ = self.0.unbounded_send(ScheduleRequest { message: key, run_at: Instant::now() + delay });
    }
}

impl Trigger<Key> {
    /// Reconciles objects as soon as there is capacity.
    pub fn each<K: Resource>(&self, objects: &[Arc<K>]) {
        for object in objects {
            self.now(Key::of(&**object));
        }
    }
}

/// Keys on their way to a [`run`].
pub type Requests<K> = UnboundedReceiver<ScheduleRequest<K>>;

/// Creates a queue's two ends.
#[must_use]
pub fn queue<K>() -> (Trigger<K>, Requests<K>) {
    let (sender, receiver) = unbounded();
    (Trigger(sender), receiver)
}

/// Receives the depth of a queue.
pub trait QueueObserver {
    /// Reports the number of keys that are due and wait, and of those that are being reconciled.
    fn observe(&self, waiting: usize, running: usize);
}

/// The keys that are due, each once, in the order in which they became due.
struct Waiting<K> {
    order: VecDeque<K>,
    keys: BTreeSet<K>,
}

impl<K: Ord + Clone> Waiting<K> {
    fn push(&mut self, key: K) {
        if self.keys.insert(key.clone()) {
            self.order.push_back(key);
        }
    }

    /// Removes and returns the first key that is not busy.
    fn take(&mut self, busy: &BTreeSet<K>) -> Option<K> {
        let position = self.order.iter().position(|key| !busy.contains(key))?;
        let key = self.order.remove(position)?;
        self.keys.remove(&key);
        Some(key)
    }
}

/// Reconciles keys until `stop` completes, at most `concurrent` at a time; then waits for running reconciles.
pub async fn run<K, F>(
    requests: Requests<K>,
    trigger: Trigger<K>,
    concurrent: usize,
    stop: impl Future<Output = ()>,
    observer: impl QueueObserver,
    reconcile: impl Fn(K) -> F,
) where
    K: Ord + Hash + Clone,
    F: Future<Output = Next>,
{
    let mut due = pin!(scheduler(requests));
    let mut stop = pin!(stop);
    let mut running = FuturesUnordered::new();
    let (mut failing, mut busy) = (BTreeMap::new(), BTreeSet::<K>::new());
    let mut waiting = Waiting { order: VecDeque::new(), keys: BTreeSet::new() };
    loop {
        observer.observe(waiting.order.len(), busy.len());
        tokio::select! {
            biased;
            () = &mut stop => break,
            Some(key) = async { waiting.take(&busy) }, if busy.len() < concurrent => {
                busy.insert(key.clone());
                let reconciled = reconcile(key.clone());
                running.push(async move { (key, reconciled.await) });
            }
            Some((key, next)) = running.next(), if !running.is_empty() => {
                busy.remove(&key);
                settle(&mut failing, &trigger, key, next);
            }
            key = due.next() => match key {
                Some(key) => waiting.push(key),
                None => break,
            },
        }
    }
    while running.next().await.is_some() {}
}

/// Schedules the next reconcile. `failing` holds the pauses of the keys that failed last.
fn settle<K: Ord + Clone>(
    failing: &mut BTreeMap<K, ExponentialBackoff>,
    trigger: &Trigger<K>,
    key: K,
    next: Next,
) {
    match next {
        Next::Await => _ = failing.remove(&key),
        Next::After(delay) => {
            failing.remove(&key);
            trigger.after(key, delay);
        }
        Next::Retry => {
            let pauses = failing.entry(key.clone()).or_insert_with(pauses);
            trigger.after(key, pauses.next().unwrap_or(BACKOFF.1));
        }
    }
}

fn pauses() -> ExponentialBackoff {
    let builder = ExponentialBuilder::default().with_min_delay(BACKOFF.0).with_max_delay(BACKOFF.1);
    builder.without_max_times().with_jitter().build()
}

#[cfg(test)]
mod tests;
