//! Shares work among concurrent requests for the same result.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use futures::FutureExt as _;
use futures::future::{BoxFuture, Shared};

type Flight<T> = Shared<BoxFuture<'static, Option<T>>>;

/// The running work, by key.
pub(super) struct SingleFlight<K, T>(Arc<Mutex<BTreeMap<K, Flight<T>>>>);

impl<K, T> Default for SingleFlight<K, T> {
    fn default() -> Self {
        Self(Arc::default())
    }
}

impl<K, T> fmt::Debug for SingleFlight<K, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SingleFlight")
    }
}

impl<K: Ord + Clone + Send + 'static, T: Clone + Send + Sync + 'static> SingleFlight<K, T> {
    /// Returns the result of the running work with this key, otherwise that of `work`, which continues even if all callers
    /// stop waiting. `None` if the work panicked or the process ends.
    pub(super) async fn join(&self, key: K, work: impl Future<Output = T> + Send + 'static) -> Option<T> {
        let flight = {
            let mut flights = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            let flight = flights.entry(key.clone()).or_insert_with(|| {
                let task = tokio::spawn(work);
                let all = Arc::clone(&self.0);
                let watched = tokio::spawn(async move {
                    let result = task.await.ok();
                    all.lock().unwrap_or_else(PoisonError::into_inner).remove(&key);
                    result
                });
                watched.map(|result| result.ok().flatten()).boxed().shared()
            });
            flight.clone()
        };
        flight.await
    }
}
