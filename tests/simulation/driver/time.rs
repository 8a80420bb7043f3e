//! The time of a simulation.

use std::sync::atomic::Ordering;
use std::time::Duration;

use stackflux::runtime::clock::Clock;

use super::Simulation;
use crate::operator::{BEGIN, Millis, timestamp};

/// Time after which the namespace controller begins to delete the objects of a namespace (its
/// `namespaceDeletionGracePeriod`).
const NAMESPACE_GRACE: Millis = 5_000;

/// Time by which the clock may run ahead to the operator's next work while other steps are possible.
const SOON: Millis = 1_000;

impl Simulation {
    pub(super) fn set_now(&mut self, now: Millis) {
        self.now = now;
        self.set_clock(now);
        let mut cluster = self.wire.cluster();
        (cluster.now, cluster.server.now) = (now, timestamp(now).as_second());
    }

    pub(super) fn set_clock(&self, now: Millis) {
        self.clock.store(BEGIN + i64::try_from(now).unwrap(), Ordering::Relaxed);
    }

    pub(super) fn clock(&self) -> Clock {
        let clock = self.clock.clone();
        Clock::new(move || jiff::Timestamp::from_millisecond(clock.load(Ordering::Relaxed)).unwrap())
    }

    /// Lets the namespace controller begin to delete the objects of a namespace, some seconds after its deletion. Whether it
    /// begins now: nothing else is due before.
    pub(super) fn begin_to_empty(&mut self) -> bool {
        let deleted = self.wire.cluster().server.terminating_since().filter(|_| !self.is_emptying);
        let Some(deleted) = deleted else { return false };
        let due = Millis::try_from(deleted * 1000 - BEGIN).unwrap_or_default() + NAMESPACE_GRACE;
        if self.leader().operator.next_due().is_some_and(|next| next < due) {
            return false;
        }
        self.set_now(due.max(self.now));
        (self.is_emptying, self.collected) = (true, 0);
        true
    }

    /// Occasionally lets time pass until the operator's next work is due, although something else can happen before.
    pub(super) fn hurry(&mut self) {
        if self.is_calm || !self.random.time.once_in(20) {
            return;
        }
        let now = self.now;
        if let Some(due) = self.leader().operator.next_due_after(now).filter(|due| *due <= now + SOON) {
            self.set_now(due);
            self.wire.cluster().reached("delayed work that is due early");
        }
    }

    /// Lets time pass without events. Work that is due by then begins when the simulation settles.
    pub(crate) fn wait(&mut self, pause: Duration) {
        self.set_now(self.now + Millis::try_from(pause.as_millis()).unwrap());
        self.note(format!("{} min pass", pause.as_secs() / 60));
    }
}
