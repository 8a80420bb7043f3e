//! The watches that feed the caches of a process: each reports the log of the API server late, twice, or by a new list.

use std::collections::VecDeque;

use kube::runtime::watcher::Event;
use serde_json::Value;

use crate::operator::is_selected;
use crate::random::Random;
use crate::wire::{Cluster, Process, Seen};

/// Maximum number of steps in which a watch falls behind.
const MAX_DELAY: usize = 400;

/// Something that a watch does next.
enum Next {
    Event(Event<Value>),
    /// It lists the kind.
    List,
}

/// The watch of one kind.
#[derive(Default)]
pub(crate) struct Watch {
    kind: usize,
    process: Process,
    /// The position in the API server's log.
    position: usize,
    next: VecDeque<Next>,
    /// The step until which it reports nothing.
    delayed_until: usize,
}

impl Watch {
    /// A watch that has to list its kind.
    pub(crate) fn new(process: Process, kind: usize) -> Self {
        let next = VecDeque::from([Next::List]);
        Self { kind, process, next, ..Self::default() }
    }

    /// A watch whose first list is empty although the API server has objects, as its first two events report.
    pub(crate) fn blind(process: Process, kind: usize) -> Self {
        let mut watch = Self::new(process, kind);
        watch.next.push_front(Next::Event(Event::InitDone));
        watch.next.push_front(Next::Event(Event::Init));
        watch
    }

    /// Whether there is something to report, now or later.
    pub(crate) fn is_behind(&mut self, cluster: &Cluster) -> bool {
        let log = &cluster.server.log;
        if self.next.is_empty() && !log[self.position..].iter().any(|entry| entry.kind == self.kind) {
            self.position = log.len();
            return false;
        }
        true
    }

    /// Whether it reports nothing at this step.
    pub(crate) fn is_delayed(&self, step: usize) -> bool {
        self.delayed_until > step
    }

    /// Whether what it reported is incomplete, because it is delayed or lists.
    pub(crate) fn is_incomplete(&self, step: usize) -> bool {
        self.is_delayed(step) || !self.next.is_empty()
    }

    /// Ends its delay.
    pub(crate) fn catch_up(&mut self) {
        self.delayed_until = 0;
    }

    /// Lists the kind again.
    pub(crate) fn relist(&mut self) {
        self.next.push_back(Next::List);
    }

    /// Its next event. Occasionally it falls behind, lists, or repeats itself.
    pub(crate) fn next(
        &mut self,
        cluster: &mut Cluster,
        random: &mut Random,
        step: usize,
    ) -> Option<Event<Value>> {
        if self.next.is_empty() {
            if random.once_in(150) {
                self.delayed_until = step + random.below(MAX_DELAY);
                return None;
            }
            if random.once_in(40) {
                self.fail(cluster, random, step);
            }
        }
        self.report(cluster, random.once_in(20))
    }

    /// Its next event, if all is well.
    pub(crate) fn next_in_order(&mut self, cluster: &mut Cluster) -> Option<Event<Value>> {
        self.report(cluster, false)
    }

    /// The API server ended the watch: it lists again. That list may fail after some objects, or be empty.
    fn fail(&mut self, cluster: &mut Cluster, random: &mut Random, step: usize) {
        match random.below(6) {
            0 => {
                self.list(cluster);
                self.next.truncate(1 + random.below(self.next.len() - 1));
            }
            1 => {
                cluster
                    .log
                    .push(format!("an empty list of {}", crate::api_server::kinds::KINDS[self.kind].name));
                self.next.extend([Event::Init, Event::InitDone].map(Next::Event));
                self.position = cluster.server.log.len();
                self.delayed_until = step + random.below(MAX_DELAY / 4);
            }
            _ => {}
        }
        self.next.push_back(Next::List);
    }

    fn list(&mut self, cluster: &Cluster) {
        let mut listed = cluster.server.list(self.kind);
        listed.retain(|object| is_selected(self.kind, object));
        let listed = listed.into_iter().map(|object| Event::InitApply(cluster.shown(object)));
        let events = [Event::Init].into_iter().chain(listed).chain([Event::InitDone]);
        self.next.extend(events.map(Next::Event));
        self.position = cluster.server.log.len();
    }

    fn report(&mut self, cluster: &mut Cluster, again: bool) -> Option<Event<Value>> {
        if let Some(Next::List) = self.next.front() {
            self.next.pop_front();
            self.list(cluster);
        }
        let event = match self.next.pop_front() {
            Some(Next::Event(event)) => event,
            Some(Next::List) | None => self.follow(cluster, again)?,
        };
        let is_blind = matches!(event, Event::InitDone) && matches!(self.next.front(), Some(Next::List));
        let seen = &mut cluster.seen.entry(self.process).or_default()[self.kind];
        *seen = match event {
            Event::InitDone => Seen { position: self.position, is_blind },
            // The rest of a list is not known yet.
            Event::Init | Event::InitApply(_) => *seen,
            _ => Seen { position: self.position, ..*seen },
        };
        Some(event)
    }

    fn follow(&mut self, cluster: &Cluster, again: bool) -> Option<Event<Value>> {
        let log = &cluster.server.log[self.position..];
        let at = self.position + log.iter().position(|entry| entry.kind == self.kind)?;
        if !again {
            self.position = at + 1;
        }
        let entry = &cluster.server.log[at];
        let object = cluster.shown(entry.object.clone());
        Some(if entry.is_deleted { Event::Delete(object) } else { Event::Apply(object) })
    }
}
