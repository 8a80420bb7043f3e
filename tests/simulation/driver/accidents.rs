//! Accidents: the leader crashes or loses the Lease, and requests fail.

use std::mem::take;

use super::Simulation;
use crate::flux::number;
use crate::process::Role;
use crate::wire::Fault;

/// Maximum number of steps that a process still takes after it lost the Lease.
const LAST_STEPS: usize = 100;

impl Simulation {
    /// Lets the leader crash or lose the Lease, occasionally.
    pub(super) fn disturb(&mut self) {
        let step = self.step;
        self.processes.retain(|process| !matches!(process.role, Role::Ends(end) if end <= step));
        let lost = take(&mut self.wire.cluster().lost);
        self.late.extend(lost.into_iter().filter(|_| self.random.requests.once_in(2)));
        if self.is_calm || self.changes == 0 || !self.random.processes.once_in(150) {
            return;
        }
        self.changes -= 1;
        self.truth.overlook();
        if self.election.is_some() && !self.random.processes.once_in(3) {
            let end = step + self.random.processes.below(LAST_STEPS);
            let number = self.leader().number;
            self.note(format!("process {number} loses the Lease"));
            self.wire.cluster().reached("a lost Lease");
            let at = self.processes.iter().position(|process| process.role == Role::Leads).unwrap();
            self.processes[at].end(self.election.as_ref(), end);
        } else {
            return self.crash();
        }
        self.start_leader();
    }

    /// Ends the process that leads, without a warning, and starts another one.
    pub(crate) fn crash(&mut self) {
        self.note("crash".to_owned());
        self.wire.cluster().reached("a crash");
        self.processes.retain(|process| process.role != Role::Leads);
        self.start_leader();
    }

    /// Starts another leader, which only knows those objects of a kind that change from now on.
    pub(crate) fn restart_blind(&mut self, kind: &str) {
        self.note(format!("restart without a list of {kind}"));
        self.processes.clear();
        self.start_blind(Some(number(kind)));
        self.start_leader();
        self.leader().watches[number(kind)].skip_list();
    }

    /// Lets the leader's watch of a kind report nothing, as long as anything else is left to do.
    pub(crate) fn delay(&mut self, kind: &str) {
        self.leader().watches[number(kind)].delay(usize::MAX);
    }

    /// Lets the leader's watch of a kind list nothing, and then everything.
    pub(crate) fn lose(&mut self, kind: &str) {
        let step = self.step;
        self.list_wrongly(kind, None, step);
    }

    /// The present position in the log of the API server.
    pub(crate) fn position(&self) -> usize {
        self.wire.cluster().server.log.len()
    }

    /// Starts another leader. Its watch of a kind lists what there was at a position, and reports nothing as long as anything else
    /// is left to do.
    pub(crate) fn restart_outdated(&mut self, kind: &str, position: usize) {
        self.note(format!("restart with an outdated list of {kind}"));
        self.processes.clear();
        self.start_blind(Some(number(kind)));
        self.start_leader();
        self.list_wrongly(kind, Some(position), usize::MAX);
    }

    /// What happens to a request, occasionally.
    pub(super) fn fault(&mut self, ticket: usize) -> Option<Fault> {
        if self.is_calm || self.faults == 0 || !self.random.requests.once_in(60) {
            return None;
        }
        self.faults -= 1;
        let codes: &[u16] =
            if self.wire.cluster().is_write(ticket) { &[500, 503, 429, 409] } else { &[500, 503, 429] };
        Some(match self.random.requests.below(4) {
            0 => Fault::Refused(codes[self.random.requests.below(codes.len())]),
            1 => Fault::Unsent,
            2 => Fault::Late,
            _ => Fault::Unanswered,
        })
    }
}
