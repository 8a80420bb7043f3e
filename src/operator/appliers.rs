//! Whether Flux's controllers are alive, as their Leases and the changes of their objects say.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use jiff::Timestamp;

use crate::foreign::flux::observed::{CONTROLLERS, controller_of};
use crate::rollup::{Applier, Pulse, SeenLease};

/// What is known of Flux's controllers.
#[derive(Debug)]
pub struct Appliers(Mutex<BTreeMap<&'static str, Known>>);

/// What is known of one.
#[derive(Clone, Copy, Debug)]
struct Known {
    lease: Option<SeenLease>,
    /// When an object of it last changed its status; at first the start of the process, before which nothing was seen.
    moved: Timestamp,
    pulse: Pulse,
}

/// What one reading of a Lease gave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reading {
    /// When it was last renewed.
    Renewed(Timestamp),
    /// There is none, or it may not be read.
    None,
    /// The API server did not answer: nothing is learnt, and time in which nothing could be seen does not count.
    Failed,
}

impl Appliers {
    /// Nothing is known yet.
    #[must_use]
    pub fn new(now: Timestamp) -> Self {
        let known = Known { lease: None, moved: now, pulse: Pulse::Unknown { moved: Some(now) } };
        Self(Mutex::new(CONTROLLERS.iter().map(|name| (*name, known)).collect()))
    }

    /// The controller of a kind.
    #[must_use]
    pub fn of(&self, kind: &str) -> Applier {
        let Some(name) = controller_of(kind) else { return Applier::unknown() };
        self.lock().get(name).map_or_else(Applier::unknown, |known| Applier { name, pulse: known.pulse })
    }

    /// Notes that the status of an object of a controller has changed.
    pub fn moved(&self, controller: &str, now: Timestamp) {
        if let Some(known) = self.lock().get_mut(controller) {
            known.moved = now;
            if let Pulse::Unknown { moved } = &mut known.pulse {
                *moved = Some(now);
            }
        }
    }

    /// Notes what a reading of the Lease of a controller gave. Returns its pulse, and whether it is another kind of pulse
    /// than before.
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
        let is_news = std::mem::discriminant(&before) != std::mem::discriminant(&known.pulse);
        Some((known.pulse, is_news))
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<&'static str, Known>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests;
