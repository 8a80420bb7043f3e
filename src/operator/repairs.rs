//! Remembers the repairs of each object, so that an object that another client changes again and again is restored ever more
//! rarely. A new process begins with a repair at once.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use jiff::Timestamp;

use crate::foreign::flux::FluxKind;
use crate::names::Key;
use crate::plan::repair::Repairs;

/// The last write of each object, for a while.
#[derive(Debug, Default)]
pub struct RepairLog(Mutex<BTreeMap<(FluxKind, Key), Written>>);

impl RepairLog {
    /// Returns the number of repairs of an object, and the time of the next one; `None` if that is now.
    pub fn next(&self, kind: FluxKind, key: &Key, now: Timestamp) -> Option<(u32, Timestamp)> {
        let all = self.lock();
        let repairs = all.get(&(kind, key.clone()))?.repairs;
        Some((repairs.count, repairs.next(now)?))
    }

    /// Returns the digest of the plan that was written last, unless that was long ago.
    pub fn digest(&self, kind: FluxKind, key: &Key, now: Timestamp) -> Option<String> {
        let all = self.lock();
        let written = all.get(&(kind, key.clone())).filter(|written| written.repairs.are_counted(now))?;
        Some(written.digest.clone())
    }

    /// Records that the plan with this digest was written, and forgets the objects that were not written for a while.
    pub fn record(&self, kind: FluxKind, key: &Key, digest: &str, is_repair: bool, now: Timestamp) {
        let mut all = self.lock();
        all.retain(|_, written| written.repairs.are_counted(now));
        let before = all.get(&(kind, key.clone())).map(|written| written.repairs);
        let repairs =
            if is_repair { Repairs::one_more(before, now) } else { Repairs { count: 0, last: now } };
        all.insert((kind, key.clone()), Written { digest: digest.to_owned(), repairs });
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<(FluxKind, Key), Written>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The last write of an object.
#[derive(Debug)]
struct Written {
    /// The digest of the plan.
    digest: String,
    /// The repairs since the content was another one.
    repairs: Repairs,
}
