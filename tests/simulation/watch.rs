//! The watches that feed the caches of a process: each reports the log of the API server late, twice, or by a new list.
//!
//! A watch lists when no reconcile of its process runs, and when it has reported the process's own writes. Otherwise the
//! caches miss changes (`runtime::cache`): the answer to a write can restore an object that a list has removed, and a list
//! hides the change of another client that the answer to a write contained.

use std::sync::Arc;

use kube::runtime::watcher::Event;
use serde_json::Value;

use crate::api_server::kinds::KINDS;
use crate::operator::is_selected;
use crate::past::Past;
use crate::random::Random;
use crate::wire::{Cluster, Process, Seen};

/// Maximum number of steps in which a watch falls behind.
const MAX_DELAY: usize = 400;

/// The events that a watch sends at once.
pub(crate) type Events = Vec<Event<Arc<Value>>>;

/// The watch of one kind.
pub(crate) struct Watch {
    kind: usize,
    process: Process,
    /// The position in the API server's log.
    position: usize,
    /// Whether it has to list.
    lists: bool,
    /// The step until which it reports nothing.
    delayed_until: usize,
}

impl Watch {
    /// A watch that has to list its kind.
    pub(crate) fn new(process: Process, kind: usize) -> Self {
        Self { kind, process, position: 0, lists: true, delayed_until: 0 }
    }

    /// Whether there is something to report, now or later.
    pub(crate) fn is_behind(&mut self, cluster: &Cluster) -> bool {
        let is_behind = self.lists || self.following(cluster).is_some();
        if !is_behind {
            self.position = cluster.server.log.len();
        }
        is_behind
    }

    /// Whether it reports nothing at this step.
    pub(crate) fn is_delayed(&self, step: usize) -> bool {
        self.delayed_until > step
    }

    /// Whether what it reported is incomplete, because it is delayed or has to list.
    pub(crate) fn is_incomplete(&self, step: usize) -> bool {
        self.is_delayed(step) || self.lists
    }

    /// Lets it follow without a list of what there is.
    pub(crate) fn skip_list(&mut self) {
        self.lists = false;
    }

    /// Lets it report nothing before a step.
    pub(crate) fn delay(&mut self, until: usize) {
        self.delayed_until = until;
    }

    /// Ends its delay.
    pub(crate) fn catch_up(&mut self) {
        self.delayed_until = 0;
    }

    /// Lets it list the kind again.
    pub(crate) fn relist(&mut self) {
        self.lists = true;
    }

    /// Its next events. Occasionally it falls behind, lists, or repeats itself.
    pub(crate) fn next(&mut self, cluster: &mut Cluster, random: &mut Random, step: usize) -> Events {
        if !self.lists && random.once_in(150) {
            self.delayed_until = step + random.below(MAX_DELAY);
            cluster.reached("a late watch");
            return Events::new();
        }
        if !self.lists && random.once_in(40) {
            // The API server ended the watch.
            self.lists = true;
            if random.once_in(6) {
                self.delayed_until = step + random.below(MAX_DELAY / 4);
                return self.list_nothing(cluster);
            }
        }
        if !self.lists {
            return self.follow(cluster, random.once_in(20)).into_iter().collect();
        }
        let list = self.list(cluster);
        // Occasionally a list fails after some objects, and is made again.
        let failed = if random.once_in(6) { random.below(list.len()) } else { 0 };
        if failed > 0 {
            cluster.reached("a failed list");
        }
        list[..failed].iter().cloned().chain(list.clone()).collect()
    }

    /// Its next events, if all is well.
    pub(crate) fn next_in_order(&mut self, cluster: &mut Cluster) -> Events {
        if self.lists {
            return self.list(cluster);
        }
        self.follow(cluster, false).into_iter().collect()
    }

    /// A list of what there was at a position of the log, or of nothing, and no event before a step.
    pub(crate) fn list_wrongly(
        &mut self,
        cluster: &mut Cluster,
        position: Option<usize>,
        until: usize,
    ) -> Events {
        self.delayed_until = until;
        self.lists = position.is_none();
        let Some(position) = position else { return self.list_nothing(cluster) };
        cluster.log.push(format!("an outdated list of {}", KINDS[self.kind].name));
        self.position = position;
        self.seen(cluster).is_blind = false;
        self.shows_reconciles(cluster, position);
        let past = Past::new(&cluster.server, position).list(KINDS[self.kind].name);
        let past = past.into_iter().filter(|object| is_selected(self.kind, object));
        let listed = past.map(|object| Event::InitApply(cluster.shown(object.clone().into())));
        [Event::Init].into_iter().chain(listed).chain([Event::InitDone]).collect()
    }

    /// A list without objects, although the API server has some.
    pub(crate) fn list_nothing(&mut self, cluster: &mut Cluster) -> Events {
        cluster.reached("an empty list");
        cluster.log.push(format!("an empty list of {}", KINDS[self.kind].name));
        self.has_seen(cluster, true);
        self.shows_reconciles(cluster, 0);
        vec![Event::Init, Event::InitDone]
    }

    /// Notes that the reconciles under way may read an older state of the kind than there was when they began.
    fn shows_reconciles(&self, cluster: &mut Cluster, position: usize) {
        cluster.known.values_mut().for_each(|known| known.is_shown(self.kind, position));
    }

    fn list(&mut self, cluster: &mut Cluster) -> Events {
        let mut listed = cluster.server.list(self.kind);
        listed.retain(|object| is_selected(self.kind, object));
        let listed = listed.into_iter().map(|object| Event::InitApply(cluster.shown(object)));
        let events = [Event::Init].into_iter().chain(listed).chain([Event::InitDone]).collect();
        self.lists = false;
        self.has_seen(cluster, false);
        events
    }

    /// Notes that it has reported everything, or nothing.
    fn has_seen(&mut self, cluster: &mut Cluster, is_blind: bool) {
        self.position = cluster.server.log.len();
        self.seen(cluster).is_blind = is_blind;
    }

    fn seen<'a>(&self, cluster: &'a mut Cluster) -> &'a mut Seen {
        let seen = &mut cluster.seen.entry(self.process).or_default()[self.kind];
        seen.position = self.position;
        seen
    }

    /// The position of the next entry of the log to report.
    fn following(&self, cluster: &Cluster) -> Option<usize> {
        let log = &cluster.server.log[self.position..];
        Some(self.position + log.iter().position(|entry| entry.place.0 == self.kind)?)
    }

    /// Reports the next entry of the log, or repeats it later.
    fn follow(&mut self, cluster: &mut Cluster, again: bool) -> Option<Event<Arc<Value>>> {
        let at = self.following(cluster)?;
        let entry = &cluster.server.log[at];
        let (object, is_deleted) = (cluster.shown(entry.object.clone()), entry.is_deleted);
        if !again {
            self.position = at + 1;
        }
        self.seen(cluster).position = at + 1;
        Some(if is_deleted { Event::Delete(object) } else { Event::Apply(object) })
    }
}
