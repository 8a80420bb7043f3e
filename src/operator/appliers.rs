//! Flux's controllers: whether they are alive, as their Leases and the changes of their objects say.
//!
//! A Lease is renewed every few seconds, so it is read and not watched: three GETs every ten seconds cost less than an
//! event for each renewal, and need no more than `get` on three names. Nothing is reconciled because of a renewal; when a
//! controller turns out to be dead, or alive again, everything that may wait for it is.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::coordination::v1::Lease;
use tracing::{debug, info, warn};

use super::cache::{Change, Key};
use super::world::World;
use crate::foreign::flux::observed::{CONTROLLERS, Observed, ObservedKind, controller_of};
use crate::rollup::{Applier, DEADLINE, Moment, Pulse, SeenLease};

/// How often the Leases are read.
const LOOK: Duration = Duration::from_secs(10);
/// How often that is tried where none can be read.
const BLIND: Duration = Duration::from_mins(1);

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

impl World {
    /// This time, with the controller of a kind.
    #[must_use]
    pub fn moment(&self, kind: &str, now: Timestamp) -> Moment {
        Moment { now, applier: self.appliers.of(kind), deadline: DEADLINE }
    }

    /// Notes that a controller has done something, where a change is of what only it writes.
    pub fn note_movement<Status: ObservedKind>(&self, change: &Change<Observed<Status>>) {
        let is_answer = match (&change.before, &change.now) {
            (Some(before), Some(now)) => now.is_answered_since(before),
            // It has dropped its finalizer.
            (Some(before), None) => before.metadata.terminating,
            (None, _) => false,
        };
        if is_answer {
            self.appliers.moved(Status::CONTROLLER, Timestamp::now());
        }
    }
}

/// Reads the Leases of Flux's controllers for ever.
pub async fn watch(world: &World) {
    loop {
        let mut is_blind = true;
        for controller in CONTROLLERS {
            let reading = read(world, controller).await;
            is_blind &= reading == Reading::None;
            let Some((pulse, is_news)) = world.appliers.read(controller, reading, Timestamp::now()) else {
                continue;
            };
            world.metrics.controller(controller, pulse);
            if is_news {
                told(controller, pulse);
                world.everything_changed();
            }
        }
        tokio::time::sleep(if is_blind { BLIND } else { LOOK }).await;
    }
}

async fn read(world: &World, controller: &str) -> Reading {
    let key = Key::new(world.settings.flux_namespace.as_str(), &format!("{controller}-leader-election"));
    match world.api.get::<Lease>(&key).await {
        Ok(lease) => {
            let renewed = lease.and_then(|lease| lease.spec?.renew_time);
            renewed.map_or(Reading::None, |renewed| Reading::Renewed(renewed.0))
        }
        Err(error) if error.is_forbidden() => {
            debug!(controller, "its Lease may not be read: {error}");
            Reading::None
        }
        Err(error) => {
            debug!(controller, "its Lease cannot be read: {error}");
            Reading::Failed
        }
    }
}

fn told(controller: &str, pulse: Pulse) {
    match pulse {
        Pulse::Dead { since } => warn!(controller, %since, "does not renew its Lease"),
        Pulse::Alive => info!(controller, "renews its Lease"),
        Pulse::Unknown { .. } => info!(controller, "has no Lease that can be read"),
    }
}

#[cfg(test)]
mod tests;
