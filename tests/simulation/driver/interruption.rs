//! One interruption of a simulation that is calm otherwise, at one of the operator's effects: a write or a commit.

use std::fmt::{self, Display, Formatter};

use super::Simulation;
use crate::commits::Commit;
use crate::flux::number;

/// Number of steps in which a watch reports nothing after a wrong list.
const DELAY: usize = 60;
/// The kinds whose lists decide what is deleted and what is written.
const LISTED: [&str; 5] = ["Cluster", "ClusterStack", "ClusterStackRelease", "ClusterAddon", "HelmRelease"];

/// What happens at an effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// The leader crashes, and the request does not arrive.
    CrashBefore,
    /// The leader crashes when the request has been carried out.
    CrashAfter,
    /// The watch of a kind lists nothing.
    EmptyList(&'static str),
    /// The watch of a kind lists what there was before the last change from outside.
    OutdatedList(&'static str),
}

impl Kind {
    /// Returns all of them.
    pub(crate) fn all() -> Vec<Self> {
        let lists = LISTED.into_iter().flat_map(|kind| [Self::EmptyList(kind), Self::OutdatedList(kind)]);
        [Self::CrashBefore, Self::CrashAfter].into_iter().chain(lists).collect()
    }
}

impl Display for Kind {
    fn fmt(&self, formatter: &mut Formatter) -> fmt::Result {
        match self {
            Self::CrashBefore => formatter.write_str("crash-before"),
            Self::CrashAfter => formatter.write_str("crash-after"),
            Self::EmptyList(kind) => write!(formatter, "empty-{kind}"),
            Self::OutdatedList(kind) => write!(formatter, "outdated-{kind}"),
        }
    }
}

/// The interruption of a simulation.
#[derive(Debug, Default)]
pub(super) struct Interruption {
    /// What happens, and the number of the effect at which it happens.
    due: Option<(Kind, usize)>,
    /// Number of effects so far. Those of a first delivery that is a scenario of its own do not count.
    effects: usize,
    /// The interruptions that make a difference, with the numbers of their effects, if they are noted.
    noted: Option<Vec<(Kind, usize)>>,
    /// The position in the API server's log at which nothing was left to do.
    settled: usize,
}

impl Interruption {
    /// Counts the effects from now on.
    pub(super) fn begin(&mut self) {
        self.effects = 0;
        self.noted = self.noted.take().map(|_| Vec::new());
    }

    /// The position in the API server's log at which nothing was left to do.
    pub(super) fn settled(&self) -> usize {
        self.settled
    }
}

impl Simulation {
    /// Lets this happen at the effect with this number.
    pub(crate) fn interrupt(&mut self, kind: Kind, effect: usize) {
        self.interruption.due = Some((kind, effect));
        self.wire.cluster().golden = None;
    }

    /// Whether it has happened.
    pub(crate) fn is_interrupted(&self) -> bool {
        self.interruption.due.is_none()
    }

    /// Notes the interruptions that make a difference.
    pub(crate) fn note_interruptions(&mut self) {
        self.interruption.noted = Some(Vec::new());
    }

    /// Takes what was noted.
    pub(crate) fn take_interruptions(&mut self) -> Vec<(Kind, usize)> {
        self.interruption.noted.take().unwrap_or_default()
    }

    fn note_possible(&mut self, kinds: Vec<Kind>) {
        let Interruption { effects, settled, noted: Some(noted), .. } = &mut self.interruption else {
            return;
        };
        let server = &self.wire.cluster().server;
        let makes_a_difference = |kind: &Kind| match kind {
            Kind::CrashBefore | Kind::CrashAfter => true,
            Kind::EmptyList(kind) => server.places(number(kind)).next().is_some(),
            Kind::OutdatedList(kind) => {
                server.log[*settled..].iter().any(|entry| entry.place.0 == number(kind))
            }
        };
        noted.extend(kinds.into_iter().filter(makes_a_difference).map(|kind| (kind, *effects)));
    }

    /// Notes that nothing is left to do.
    pub(super) fn note_settled(&mut self) {
        self.interruption.settled = self.wire.cluster().server.log.len();
    }

    /// Interrupts the operator before a request arrives. Returns whether the request is lost.
    pub(super) fn interrupt_before(&mut self, ticket: usize) -> bool {
        if self.is_calm || !self.wire.cluster().is_write(ticket) {
            return false;
        }
        self.interruption.effects += 1;
        self.note_possible(Kind::all());
        match self.take_due(|kind| kind != Kind::CrashAfter) {
            Some(Kind::EmptyList(kind)) => self.list_wrongly(kind, None, self.step + DELAY),
            Some(Kind::OutdatedList(kind)) => {
                self.list_wrongly(kind, Some(self.interruption.settled), self.step + DELAY);
            }
            Some(_) => {
                self.crash();
                return true;
            }
            None => {}
        }
        false
    }

    /// Interrupts the operator after a request was carried out.
    pub(super) fn interrupt_after(&mut self) {
        if self.take_due(|kind| kind == Kind::CrashAfter).is_some() {
            self.crash();
        }
    }

    /// Checks a commit of a process, if there was one since the head of the branch was `before`, and interrupts the operator
    /// after it.
    pub(super) fn after_commit(&mut self, index: usize, before: Option<&str>) {
        let Some(fleet) = &self.flux.fleet else { return };
        let head = fleet.head();
        if head.as_deref() == before {
            return;
        }
        let files = [before, head.as_deref()].map(|commit| fleet.all_files_at(commit));
        let (process, since) = (self.processes[index].number, self.interruption.settled);
        self.wire.cluster().reached("a commit");
        self.wire.cluster().check_commit(&Commit { process, files, since, now: self.now });
        if !self.is_calm {
            self.interruption.effects += 1;
            self.note_possible(vec![Kind::CrashAfter]);
            self.interrupt_after();
        }
    }

    fn take_due(&mut self, is_it: impl Fn(Kind) -> bool) -> Option<Kind> {
        let effects = self.interruption.effects;
        let due = self.interruption.due.take_if(|(kind, effect)| *effect == effects && is_it(*kind));
        due.map(|(kind, _)| kind)
    }

    /// Lets the leader's watch of a kind list what there was at a position of the log, or nothing, and then report nothing
    /// before a step.
    pub(super) fn list_wrongly(&mut self, kind: &str, position: Option<usize>, until: usize) {
        let (kind, wire, now) = (number(kind), self.wire.clone(), self.now);
        let leader = self.leader();
        let events = leader.watches[kind].list_wrongly(&mut wire.cluster(), position, until);
        for event in events {
            leader.operator.deliver(kind, event, now);
        }
    }
}
