//! Tracks whether Flux's controllers are alive, by their Leases and by status changes of their objects.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use jiff::Timestamp;

use crate::foreign::flux::FluxKind;
use crate::foreign::flux::observed::CONTROLLERS;
use crate::rollup::{Applier, Pulse, SeenLease};

/// The state of Flux's controllers.
#[derive(Debug)]
pub struct Appliers(Mutex<BTreeMap<&'static str, Known>>);

/// The state of one controller.
#[derive(Clone, Copy, Debug)]
struct Known {
    lease: Option<SeenLease>,
    /// Time of the last status change of one of its objects; initially the start of the process.
    moved: Timestamp,
    pulse: Pulse,
}

/// The result of reading a Lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reading {
    /// Time of the last renewal.
    Renewed(Timestamp),
    /// The Lease does not exist, or the operator may not read it.
    None,
    /// The API server did not answer: the state stays as it is, and this time does not count towards a missed renewal.
    Failed,
}

impl Appliers {
    /// Creates the state in which no controller was observed.
    #[must_use]
    pub fn new(now: Timestamp) -> Self {
        let known = Known { lease: None, moved: now, pulse: Pulse::Unknown { moved: Some(now) } };
        Self(Mutex::new(CONTROLLERS.iter().map(|name| (*name, known)).collect()))
    }

    /// Returns the controller that applies objects of a kind.
    #[must_use]
    pub fn of(&self, kind: &str) -> Applier {
        let Some(name) = FluxKind::of(kind).map(FluxKind::controller) else { return Applier::unknown() };
        self.lock().get(name).map_or_else(Applier::unknown, |known| Applier { name, pulse: known.pulse })
    }

    /// Records that the status of an object of a controller changed.
    pub fn moved(&self, controller: &str, now: Timestamp) {
        if let Some(known) = self.lock().get_mut(controller) {
            known.moved = now;
            if let Pulse::Unknown { moved } = &mut known.pulse {
                *moved = Some(now);
            }
        }
    }

    /// Records the result of reading a controller's Lease. Returns the controller's pulse, and whether the kind of pulse
    /// changed.
    pub fn read(&self, controller: &str, reading: Reading, now: Timestamp) -> Option<(Pulse, bool)> {
        let mut all = self.lock();
        let known = all.get_mut(controller)?;
        known.lease = match reading {
            Reading::Renewed(renewed) => Some(SeenLease::read(known.lease, renewed, now)),
            Reading::None => None,
            Reading::Failed => known.lease.map(|lease| SeenLease { seen: now, ..lease }),
        };
        let before = known.pulse;
        if reading != Reading::Failed {
            known.pulse = Pulse::of(known.lease, Some(known.moved), now);
        }
        let is_changed = std::mem::discriminant(&before) != std::mem::discriminant(&known.pulse);
        Some((known.pulse, is_changed))
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<&'static str, Known>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests;
