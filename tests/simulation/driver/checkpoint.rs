//! The state after the first delivery. Most scenarios begin with one, and most of their seeds with the state after a calm one:
//! the operator starts there as a new process. The others simulate the first delivery too.

use std::rc::Rc;

use super::Simulation;
use crate::cluster_api::ClusterApi;
use crate::flux::Flux;
use crate::operator::Millis;
use crate::truth::Truth;
use crate::wire::Saved;

/// One in so many seeds simulates the first delivery too.
const WHOLE: usize = 6;

/// A state from which simulations begin.
pub(crate) struct Checkpoint {
    saved: Saved,
    flux: Flux,
    cluster_api: ClusterApi,
    truth: Truth,
    namespace: String,
    now: Millis,
    step: usize,
    collected: usize,
}

/// The checkpoints of a simulation.
#[derive(Default)]
pub(super) struct Checkpoints {
    /// The state to begin from.
    from: Option<Rc<Checkpoint>>,
    /// The state after the calm first delivery.
    saved: Option<Checkpoint>,
}

impl Simulation {
    /// Lets the simulation begin from a checkpoint.
    pub(crate) fn begin_from(&mut self, checkpoint: Option<Rc<Checkpoint>>) {
        self.checkpoints.from = checkpoint;
    }

    /// Takes the state after the calm first delivery, if this simulation had one.
    pub(crate) fn take_checkpoint(&mut self) -> Option<Checkpoint> {
        self.checkpoints.saved.take()
    }

    /// Makes the first delivery, or begins from the state after it. Only the first call of a simulation can do the latter, and
    /// only before a user acts meanwhile.
    pub(crate) fn begin_with(&mut self, first: impl FnOnce(&mut Self)) {
        let from = self.checkpoints.from.take().filter(|_| self.actions.is_empty());
        if let Some(from) = from
            && !self.random.start.once_in(WHOLE)
        {
            self.restore(&from);
            // The new process reconciles everything. In the other half of the seeds a user acts meanwhile.
            if self.random.is_calm() || self.random.start.once_in(2) {
                self.settle();
            }
            self.interruption.begin();
            return;
        }
        first(self);
        if self.random.is_calm() {
            self.checkpoints.saved.get_or_insert(Checkpoint {
                saved: self.wire.cluster().save(),
                flux: self.flux.without_fleet(),
                cluster_api: self.cluster_api.copied(),
                truth: self.truth.clone(),
                namespace: self.namespace.clone(),
                now: self.now,
                step: self.step,
                collected: self.collected,
            });
        }
    }

    fn restore(&mut self, from: &Checkpoint) {
        self.wire.cluster().restore(&from.saved);
        (self.flux, self.truth) = (from.flux.without_fleet(), from.truth.clone());
        self.cluster_api = from.cluster_api.copied();
        self.namespace.clone_from(&from.namespace);
        (self.step, self.collected) = (from.step, from.collected);
        self.set_now(from.now);
        self.note("begins after a calm first delivery".to_owned());
        self.processes.clear();
        self.start_leader();
    }
}
