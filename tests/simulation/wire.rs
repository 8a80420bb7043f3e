//! The transport of the operator's requests to the API server in memory, in steps that the driver takes.

mod tickets;

use std::collections::{BTreeMap, BTreeSet};
use std::future::poll_fn;
use std::sync::{Arc, Mutex, MutexGuard};

use axum::http::{Request, StatusCode};
use futures::future::BoxFuture;
use serde_json::Value;
use stackflux::runtime::api_server::{Answer, Transport};
use stackflux::runtime::cache::Key;

use crate::api_server::{ApiServer, Call, Place};
use crate::causes::{Deletions, Request as Deletion};
use crate::cluster_api::changes_hook_alone;
use crate::commits::Committed;
use crate::flux::number;
use crate::golden::write_line;
use crate::intent::Known;
use crate::operator::Millis;
use crate::past::Past;
use crate::properties::{Rule, Violation};
use crate::seam::{self, Guard};

pub(crate) use tickets::{Fault, Sent};
use tickets::{Ticket, UnderWay};

/// The number of a process of the operator.
pub(crate) type Process = usize;

/// Whether the API server refuses a request.
pub(crate) type Refuses = fn(&ApiServer, &Call) -> bool;

/// The position in the API server's log up to which a watch has reported.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Seen {
    /// The position.
    pub(crate) position: usize,
    /// Whether the last list was empty although the API server had objects.
    pub(crate) is_blind: bool,
}

/// The state that the operator and its surroundings share.
#[derive(Debug)]
pub(crate) struct Cluster {
    /// The API server.
    pub(crate) server: ApiServer,
    /// The log of all steps, for readers.
    pub(crate) log: Vec<String>,
    /// The golden log, if this simulation is for it.
    pub(crate) golden: Option<Vec<String>>,
    /// Number of changes by requests of the operator.
    pub(crate) writes: usize,
    /// The UIDs of objects that the operator must never write.
    pub(crate) foreign: BTreeSet<String>,
    /// The broken rules.
    pub(crate) broken: Vec<Violation>,
    /// The guard that is taken out.
    pub(crate) without: Option<Guard>,
    /// Whether the API server refuses a request, in this state.
    pub(crate) refuses: Option<Refuses>,
    /// The process that holds the Lease.
    pub(crate) leader: Process,
    /// The watches of each process, by kind.
    pub(crate) seen: BTreeMap<Process, Vec<Seen>>,
    /// The requests under way, by their numbers.
    tickets: BTreeMap<usize, Ticket>,
    /// Number of requests so far.
    sent: usize,
    /// The requests that nobody waits for any longer, and that still arrive.
    pub(crate) lost: Vec<Sent>,
    /// The number of the reconcile that runs now.
    reconcile: usize,
    /// What each reconcile knew when it began.
    pub(crate) known: BTreeMap<usize, Known>,
    /// The last reconcile that succeeded of each release and process.
    resolved: BTreeMap<(Process, Key), usize>,
    /// The positions in the log of what late requests wrote.
    pub(crate) written_late: BTreeSet<usize>,
    /// The positions of written statuses in the log, with their reconciles.
    pub(crate) reported: Vec<(usize, usize)>,
    /// The time.
    pub(crate) now: Millis,
    /// The requests that change something, if they are recorded: method, media type and place.
    pub(crate) requests: Option<Vec<(String, String, Place)>>,
    /// Whether nothing changes from outside: the operator has no reason to write.
    pub(crate) is_quiet: bool,
    pub(crate) deletions: Deletions,
    /// The UIDs of the objects that users have deleted.
    pub(crate) deleted_by_users: BTreeSet<String>,
    pub(crate) committed: Committed,
    /// What was reached, and how often.
    pub(crate) reached: BTreeMap<&'static str, usize>,
}

/// The part of the state that a simulation can begin from.
#[derive(Clone, Debug)]
pub(crate) struct Saved {
    server: ApiServer,
    foreign: BTreeSet<String>,
    deletions: Deletions,
}

/// The kinds whose field managers the operator reads.
const MANAGERS_READ: &[&str] =
    &["GitRepository", "OCIRepository", "HelmChart", "HelmRelease", "Kustomization"];

/// A connection to the API server.
#[derive(Clone, Debug)]
pub(crate) struct Wire {
    cluster: Arc<Mutex<Cluster>>,
    process: Process,
}

impl Wire {
    pub(crate) fn new(mut server: ApiServer, without: Option<Guard>) -> Self {
        server.managers_read = Some(MANAGERS_READ);
        let cluster = Cluster {
            server,
            log: Vec::new(),
            golden: None,
            writes: 0,
            foreign: BTreeSet::new(),
            broken: Vec::new(),
            without,
            refuses: None,
            leader: 0,
            seen: BTreeMap::new(),
            tickets: BTreeMap::new(),
            sent: 0,
            lost: Vec::new(),
            reconcile: 0,
            known: BTreeMap::new(),
            resolved: BTreeMap::new(),
            written_late: BTreeSet::new(),
            reported: Vec::new(),
            now: 0,
            requests: None,
            is_quiet: false,
            deletions: Deletions::default(),
            deleted_by_users: BTreeSet::new(),
            committed: Committed::default(),
            reached: BTreeMap::new(),
        };
        Self { cluster: Arc::new(Mutex::new(cluster)), process: 0 }
    }

    /// The connection of a process.
    pub(crate) fn of(&self, process: Process) -> Self {
        Self { cluster: self.cluster.clone(), process }
    }

    /// The process that has this connection.
    pub(crate) fn process(&self) -> Process {
        self.process
    }

    pub(crate) fn cluster(&self) -> MutexGuard<'_, Cluster> {
        self.cluster.lock().unwrap()
    }
}

impl Transport for Wire {
    /// Sends a request. It is on its way until the driver lets it arrive, and so is the answer.
    fn send(&self, request: Request<Vec<u8>>) -> BoxFuture<'_, kube::Result<Answer>> {
        let (head, body) = request.into_parts();
        let media = head.headers.get("content-type").and_then(|media| media.to_str().ok());
        let content_type = media.unwrap_or_default().to_owned();
        let call = Call { method: head.method.to_string(), uri: head.uri.to_string(), content_type, body };
        Box::pin(async move {
            let ticket = self.cluster().open(call, self.process);
            let _under_way = UnderWay { wire: self, ticket };
            poll_fn(|context| self.cluster().poll(ticket, context.waker())).await
        })
    }
}

impl Cluster {
    /// Records a broken rule, once for each rule.
    pub(crate) fn broke(&mut self, rule: Rule, what: String) {
        if self.is_broken(rule) {
            return;
        }
        self.log.push(format!("BROKEN: {rule:?}: {what}"));
        self.broken.push(Violation { rule, what });
    }

    /// Records that something is reached.
    pub(crate) fn reached(&mut self, name: &'static str) {
        *self.reached.entry(name).or_default() += 1;
    }

    /// Saves the state.
    pub(crate) fn save(&self) -> Saved {
        let (server, foreign) = (self.server.clone(), self.foreign.clone());
        Saved { server, foreign, deletions: self.deletions.clone() }
    }

    /// Restores a saved state.
    pub(crate) fn restore(&mut self, saved: &Saved) {
        let Saved { server, foreign, deletions } = saved.clone();
        (self.server, self.foreign, self.deletions) = (server, foreign, deletions);
    }

    /// Whether a rule is broken.
    pub(crate) fn is_broken(&self, rule: Rule) -> bool {
        self.broken.iter().any(|known| known.rule == rule)
    }

    /// Records that a reconcile runs now.
    pub(crate) fn running(&mut self, reconcile: usize, process: Process) {
        self.reconcile = reconcile;
        let (server, seen) = (&self.server, self.seen.get(&process).map(Vec::as_slice).unwrap_or_default());
        self.known.entry(reconcile).or_insert_with(|| Known::of(server, seen));
    }

    /// Records that a reconcile of a release succeeded.
    pub(crate) fn resolved(&mut self, release: &Key, reconcile: usize, process: Process) {
        self.resolved.insert((process, release.clone()), reconcile);
    }

    /// Records that a reconcile of a Cluster begins: it has `ClusterStack`s and releases as the last reconciles of the releases
    /// knew them.
    pub(crate) fn uses_resolved(&mut self, reconcile: usize, process: Process) {
        self.running(reconcile, process);
        let kind = number("ClusterStackRelease");
        let exists = |key: &Key| self.server.get(&(kind, key.namespace.clone(), key.name.clone())).is_some();
        let of_process = self.resolved.iter().filter(|((of, key), _)| *of == process && exists(key));
        let resolved: Vec<usize> = of_process.map(|(_, resolved)| *resolved).collect();
        for kind in ["ClusterStack", "ClusterStackRelease"] {
            let position = resolved.iter().map(|resolved| self.known[resolved].of_kind(kind)).min();
            if let Some((position, known)) = position.zip(self.known.get_mut(&reconcile)) {
                known.is_shown(number(kind), position);
            }
        }
    }

    fn answer(&mut self, sent: &Sent, is_late: bool) -> Answer {
        let (call, process) = (&sent.call, sent.process);
        let before = self.server.log.len();
        let known = self.golden.is_some().then(|| self.server.get(&ApiServer::place_of(call))).flatten();
        let answer = match self.refuses {
            Some(refuses) if refuses(&self.server, call) => ApiServer::forbidden(&ApiServer::place_of(call)),
            _ => seam::answer(self, call, process),
        };
        if let Some(golden) = self.golden.as_mut().filter(|_| call.method != "GET") {
            golden.push(write_line(call, known.as_deref(), &answer, self.server.log[before..].last()));
        }
        match call.method.as_str() {
            "GET" => self.deletions.asked(sent.reconcile, ApiServer::place_of(call), before),
            "POST" => {
                let (reason, note) = (&answer.body["reason"], &answer.body["note"]);
                self.log.push(format!("event: {}: {note}", reason.as_str().unwrap_or_default()));
            }
            _ => self.check_write(sent, is_late, before, answer.code),
        }
        let status = StatusCode::from_u16(answer.code).unwrap();
        Answer { status, body: serde_json::to_vec(&*answer.body).unwrap() }
    }

    /// Logs a write, and checks the rules of writes.
    fn check_write(&mut self, sent: &Sent, is_late: bool, before: usize, code: u16) {
        let (call, process) = (&sent.call, sent.process);
        if let Some(requests) = self.requests.as_mut().filter(|_| code < 300 && !seam::is_status(call)) {
            requests.push((call.method.clone(), call.content_type.clone(), ApiServer::place_of(call)));
        }
        let path = call.uri.split('?').next().unwrap_or_default();
        let changes: Vec<Arc<Value>> =
            self.server.log[before..].iter().map(|entry| entry.object.clone()).collect();
        self.writes += changes.len();
        let count = changes.len();
        self.log.push(format!("operator {process}: {} {path}: {code} ({count})", call.method));
        if changes.is_empty() {
            return;
        }
        if seam::is_status(call) {
            self.reported.push((before, sent.reconcile));
        }
        if process != self.leader && !is_late {
            self.broke(
                Rule::NotLeader,
                format!("process {process} writes {path}, and {} leads", self.leader),
            );
        }
        if self.is_quiet {
            let body = String::from_utf8_lossy(&call.body).into_owned();
            self.broke(Rule::Unquiet, format!("writes {path} although nothing changes: {body}"));
        }
        for (index, object) in changes.iter().enumerate() {
            let uid = object["metadata"]["uid"].as_str().unwrap_or_default();
            let place = &self.server.log[before + index].place;
            let is_hook = || {
                let known = Past::new(&self.server, before).get(place);
                known.is_some_and(|known| changes_hook_alone(known, object))
            };
            if !(is_ours(object) || is_hook()) || self.foreign.contains(uid) {
                self.broke(Rule::ForeignWrite, format!("{} {path}", call.method));
            }
        }
        if call.method == "DELETE" {
            self.check_deletion(sent, before);
        }
    }

    fn check_deletion(&mut self, sent: &Sent, before: usize) {
        let call = &sent.call;
        let options: Value = serde_json::from_slice(&call.body).unwrap_or_default();
        let entry = &self.server.log[before];
        let request = Deletion {
            place: entry.place.clone(),
            uid: options["preconditions"]["uid"].as_str().map(str::to_owned),
            reconcile: sent.reconcile,
            before,
            now: self.now,
        };
        if let Err((rule, what)) = self.deletions.check(&self.server, &request) {
            self.broke(rule, what);
        }
    }

    /// An object as the operator sees it.
    pub(crate) fn shown(&self, object: Arc<Value>) -> Arc<Value> {
        match self.without {
            Some(Guard::Ownership) => seam::adopted(self, object),
            Some(Guard::ObservedGeneration) => seam::as_if_observed(object),
            _ => object,
        }
    }
}

/// Whether the operator may write to an object: it is of our API, or we created it.
fn is_ours(object: &Value) -> bool {
    let is_of_api =
        object["apiVersion"].as_str().is_some_and(|version| version.starts_with("clusterstack.x-k8s.io/"));
    is_of_api || object["metadata"]["labels"]["app.kubernetes.io/managed-by"] == "stackflux"
}
