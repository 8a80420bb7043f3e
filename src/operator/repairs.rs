//! Remembers the repairs of each object, so that an object that another client changes again and again is restored ever more
//! rarely. A new process begins with a repair at once.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use jiff::Timestamp;

use crate::foreign::flux::FluxKind;
use crate::names::Key;
use crate::plan::repair::Repairs;

/// The latest repairs of each object.
#[derive(Debug, Default)]
pub struct RepairLog(Mutex<BTreeMap<(FluxKind, Key), Repairs>>);

impl RepairLog {
    /// Returns the number of repairs of an object, and the time of the next one; `None` if that is now.
    pub fn next(&self, kind: FluxKind, key: &Key, now: Timestamp) -> Option<(u32, Timestamp)> {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let repairs = all.get(&(kind, key.clone()))?;
        Some((repairs.count, repairs.next(now)?))
    }

    /// Records a repair of an object, and forgets the objects that needed none for a while.
    pub fn record(&self, kind: FluxKind, key: &Key, now: Timestamp) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|_, repairs| repairs.are_counted(now));
        let before = all.get(&(kind, key.clone())).copied();
        all.insert((kind, key.clone()), Repairs::one_more(before, now));
    }
}
