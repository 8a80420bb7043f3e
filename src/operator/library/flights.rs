//! Work that is done once for all who ask for it at the same time.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use futures::FutureExt as _;
use futures::future::{BoxFuture, Shared};

type Flight<T> = Shared<BoxFuture<'static, Option<T>>>;

/// The work that is under way, by what it is for.
pub(super) struct Flights<K, T>(Arc<Mutex<BTreeMap<K, Flight<T>>>>);

impl<K, T> Default for Flights<K, T> {
    fn default() -> Self {
        Self(Arc::default())
    }
}

impl<K, T> fmt::Debug for Flights<K, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Flights")
    }
}

impl<K: Ord + Clone + Send + 'static, T: Clone + Send + Sync + 'static> Flights<K, T> {
    /// The result of the work of this key: of that under way, else of `work`, which goes on even when nobody waits any
    /// more. `None` where it panicked or the process ends.
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
