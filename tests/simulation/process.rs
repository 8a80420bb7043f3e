//! A process of the operator with its watches and its part in the leader election.

use stackflux::runtime::clock::Clock;
use stackflux::runtime::lease::Fence;

use crate::api_server::kinds::KINDS;
use crate::election::{Elected, Election};
use crate::operator::{Millis, Operator};
use crate::random::Random;
use crate::seam::Guard;
use crate::watch::Watch;
use crate::wire::{Seen, Wire};

/// The role of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// It reconciles.
    Leads,
    /// It only feeds its caches.
    Waits,
    /// It lost the Lease, and ends at this step.
    Ends(usize),
}

/// A process.
pub(crate) struct Process {
    pub(crate) number: usize,
    pub(crate) operator: Operator,
    /// The watches by kind.
    pub(crate) watches: Vec<Watch>,
    pub(crate) role: Role,
    elected: Option<Elected>,
}

impl Process {
    /// A process that has listed everything. The first list of the kind `blind` is empty.
    pub(crate) fn start(
        wire: &Wire,
        number: usize,
        clock: Clock,
        election: Option<&Election>,
        blind: Option<usize>,
    ) -> Self {
        let elected = election.map(|election| election.enter(number));
        let is_fenced = wire.cluster().without != Some(Guard::Fence);
        let fence = elected.as_ref().filter(|_| is_fenced);
        let fence = fence.map_or_else(Fence::open, |elected| elected.fence.clone());
        wire.cluster().seen.insert(number, vec![Seen::default(); KINDS.len()]);
        let operator = Operator::start(&wire.of(number), clock, fence);
        let watches = (0..KINDS.len()).map(|kind| Watch::new(number, kind)).collect();
        let mut process = Self { number, operator, watches, role: Role::Waits, elected };
        for kind in 0..KINDS.len() {
            let watch = &mut process.watches[kind];
            let events = if blind == Some(kind) {
                watch.list_nothing(&mut wire.cluster())
            } else {
                watch.next_in_order(&mut wire.cluster())
            };
            for event in events {
                process.operator.deliver(kind, event, 0);
            }
        }
        process
    }

    /// Begins to lead.
    pub(crate) fn lead(&mut self, wire: &Wire, election: Option<&Election>, now: Millis) {
        if let (Some(election), Some(elected)) = (election, &self.elected) {
            election.lead(elected);
        }
        wire.cluster().leader = self.number;
        self.role = Role::Leads;
        self.operator.enqueue_all(now);
    }

    /// Loses the Lease. The process ends at a later step.
    pub(crate) fn end(&mut self, election: Option<&Election>, at: usize) {
        if let (Some(election), Some(elected)) = (election, self.elected.take()) {
            election.end(elected);
        }
        self.role = Role::Ends(at);
    }

    /// Takes the next events of a watch; without random numbers all is well.
    pub(crate) fn deliver(
        &mut self,
        kind: usize,
        wire: &Wire,
        random: Option<&mut Random>,
        step: usize,
        now: Millis,
    ) {
        let watch = &mut self.watches[kind];
        let events = match random {
            Some(random) => watch.next(&mut wire.cluster(), random, step),
            None => watch.next_in_order(&mut wire.cluster()),
        };
        for event in events {
            self.operator.deliver(kind, event, now);
        }
    }

    /// Whether a cache is incomplete or outdated because a watch is delayed.
    pub(crate) fn is_incomplete(&self, step: usize) -> bool {
        self.watches.iter().any(|watch| watch.is_incomplete(step))
    }
}
