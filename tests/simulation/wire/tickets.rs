//! Requests under way: each arrives, and each answer arrives, when the driver lets it.

use std::task::{Poll, Waker};

use axum::http::StatusCode;
use serde_json::json;
use stackflux::runtime::api_server::Answer;

use super::{Cluster, Process, Wire};
use crate::api_server::{ApiServer, Call};
use crate::flux::number;
use crate::properties::Rule;
use crate::seam;

/// A request on its way to the API server.
#[derive(Clone, Debug)]
pub(crate) struct Sent {
    pub(super) call: Call,
    pub(super) process: Process,
    /// Whether its process led when it was sent.
    pub(super) is_by_leader: bool,
    /// The number of the reconcile that sent it.
    pub(super) reconcile: usize,
    /// The position in the API server's log when it was sent.
    pub(super) position: usize,
}

/// A request whose answer a reconcile waits for.
#[derive(Debug)]
pub(super) struct Ticket {
    sent: Sent,
    /// The answer on its way back.
    answer: Option<kube::Result<Answer>>,
    is_delivered: bool,
    waker: Option<Waker>,
}

/// A request that its process still waits for.
pub(super) struct UnderWay<'w> {
    pub(super) wire: &'w Wire,
    pub(super) ticket: usize,
}

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        // After a panic nothing is simulated any longer.
        if let Ok(mut cluster) = self.wire.cluster.lock()
            && let Some(ticket) = cluster.tickets.remove(&self.ticket)
            && ticket.answer.is_none()
        {
            cluster.lose(ticket.sent);
        }
    }
}

/// What happens to a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// The API server does not carry it out, and answers with this code.
    Refused(u16),
    /// It does not reach the API server.
    Unsent,
    /// It reaches the API server after its process has given up waiting.
    Late,
    /// It is carried out, and the answer is lost.
    Unanswered,
}

impl Fault {
    fn name(self) -> &'static str {
        match self {
            Self::Refused(_) => "a refused request",
            Self::Unsent => "a request that is lost",
            Self::Late => "a request after its process gave up",
            Self::Unanswered => "a request without an answer",
        }
    }
}

impl Cluster {
    /// Sends a request.
    pub(super) fn open(&mut self, call: Call, process: Process) -> usize {
        let (reconcile, position) = (self.reconcile, self.server.log.len());
        let sent = Sent { call, process, is_by_leader: process == self.leader, reconcile, position };
        self.sent += 1;
        self.tickets.insert(self.sent, Ticket { sent, answer: None, is_delivered: false, waker: None });
        self.sent
    }

    /// Waits for the answer of a request.
    pub(super) fn poll(&mut self, number: usize, waker: &Waker) -> Poll<kube::Result<Answer>> {
        let ticket = self.tickets.get_mut(&number).unwrap();
        ticket.waker = Some(waker.clone());
        if !ticket.is_delivered {
            return Poll::Pending;
        }
        Poll::Ready(self.tickets.remove(&number).unwrap().answer.unwrap())
    }

    /// The requests that have not arrived, by their numbers.
    pub(crate) fn unsent(&self) -> Vec<usize> {
        let unsent = self.tickets.iter().filter(|(_, ticket)| ticket.answer.is_none());
        unsent.map(|(number, _)| *number).collect()
    }

    /// The requests whose answers have not arrived, by their numbers.
    pub(crate) fn unanswered(&self) -> Vec<usize> {
        let unanswered = self.tickets.iter().filter(|(_, it)| it.answer.is_some() && !it.is_delivered);
        unanswered.map(|(number, _)| *number).collect()
    }

    /// Whether a reconcile waits for an answer.
    pub(crate) fn is_waiting(&self, reconcile: usize) -> bool {
        self.tickets.values().any(|ticket| ticket.sent.reconcile == reconcile)
    }

    /// Whether a request under way writes an object, other than an event.
    pub(crate) fn is_write(&self, number: usize) -> bool {
        let call = &self.tickets[&number].sent.call;
        ["PATCH", "DELETE"].contains(&call.method.as_str())
            && ApiServer::place_of(call).0 != self::number("Event")
    }

    /// Lets a request arrive.
    pub(crate) fn carry_out(&mut self, number: usize, fault: Option<Fault>) {
        let sent = self.tickets[&number].sent.clone();
        if let Some(fault) = fault {
            let path = sent.call.uri.split('?').next().unwrap_or_default();
            self.log.push(format!("fault: {fault:?}: {} {path}", sent.call.method));
            self.reached(fault.name());
        }
        let answer = match fault {
            None => Ok(self.arrive(&sent)),
            Some(Fault::Refused(code)) => Ok(refusal(code)),
            Some(Fault::Unsent) => Err(timeout()),
            Some(Fault::Late) => {
                self.lose(sent);
                Err(timeout())
            }
            Some(Fault::Unanswered) => {
                self.arrive(&sent);
                Err(timeout())
            }
        };
        self.tickets.get_mut(&number).unwrap().answer = Some(answer);
    }

    /// Delivers the answer of a request. Returns the process and the reconcile that waited for it.
    pub(crate) fn deliver(&mut self, number: usize) -> (Process, usize) {
        let ticket = self.tickets.get_mut(&number).unwrap();
        ticket.is_delivered = true;
        if let Some(waker) = ticket.waker.take() {
            waker.wake();
        }
        (ticket.sent.process, ticket.sent.reconcile)
    }

    /// Notes a request that nobody waits for any longer.
    fn lose(&mut self, sent: Sent) {
        if ["PATCH", "DELETE"].contains(&sent.call.method.as_str()) {
            self.lost.push(sent);
        }
    }

    /// Carries out a request that nobody waits for any longer.
    pub(crate) fn carry_out_late(&mut self, sent: &Sent) {
        self.log.push(format!("a late request of process {}:", sent.process));
        self.answer_late(sent);
    }

    /// Carries out a request when it arrives.
    fn arrive(&mut self, sent: &Sent) -> Answer {
        if sent.is_by_leader && sent.process != self.leader {
            return self.answer_late(sent);
        }
        self.answer(sent, false)
    }

    fn answer_late(&mut self, sent: &Sent) -> Answer {
        let before = self.server.log.len();
        let answer = self.answer(sent, true);
        self.written_late.extend(before..self.server.log.len());
        if let Some(written) = self.server.log.get(before).filter(|_| seam::is_status(&sent.call)) {
            let (place, mut newer) = (written.place.clone(), self.server.log[sent.position..before].iter());
            if newer.any(|entry| entry.place == place) {
                self.broke(Rule::StatusReplaced, format!("the status of {}/{}", place.1, place.2));
            }
        }
        answer
    }
}

/// The answer of an API server that refuses a request.
fn refusal(code: u16) -> Answer {
    let reason = match code {
        409 => "Conflict",
        429 => "TooManyRequests",
        503 => "ServiceUnavailable",
        _ => "InternalError",
    };
    let body = json!({
        "apiVersion": "v1", "kind": "Status", "status": "Failure", "code": code, "reason": reason,
        "message": format!("a fault of the simulation: {reason}"),
    });
    Answer { status: StatusCode::from_u16(code).unwrap(), body: body.to_string().into_bytes() }
}

/// The error of a connection that ends without an answer.
fn timeout() -> kube::Error {
    kube::Error::Service("a fault of the simulation: no answer".into())
}
