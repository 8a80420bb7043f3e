//! Earlier states of the API server, by its log.

use serde_json::Value;

use crate::api_server::{ApiServer, Place};
use crate::flux::number;

/// The state of the API server at a position of its log.
#[derive(Clone, Copy)]
pub(crate) struct Past<'a> {
    server: &'a ApiServer,
    position: usize,
}

impl<'a> Past<'a> {
    pub(crate) fn new(server: &'a ApiServer, position: usize) -> Self {
        Self { server, position }
    }

    /// The object at a place.
    pub(crate) fn get(self, at: &Place) -> Option<&'a Value> {
        let log = self.server.log[..self.position].iter().rev();
        let mut entries = log.filter(|entry| entry.place == *at);
        entries.next().filter(|entry| !entry.is_deleted).map(|entry| &*entry.object)
    }

    /// The object of a kind with this name in a namespace.
    pub(crate) fn named(self, kind: &str, namespace: &str, name: &str) -> Option<&'a Value> {
        self.get(&(number(kind), namespace.to_owned(), name.to_owned()))
    }

    /// All objects of a kind.
    pub(crate) fn list(self, kind: &str) -> Vec<&'a Value> {
        let kind = number(kind);
        let mut found: Vec<(&Place, Option<&Value>)> = Vec::new();
        for entry in self.server.log[..self.position].iter().rev().filter(|entry| entry.place.0 == kind) {
            if found.iter().all(|(known, _)| **known != entry.place) {
                found.push((&entry.place, (!entry.is_deleted).then_some(&*entry.object)));
            }
        }
        found.into_iter().filter_map(|(_, object)| object).collect()
    }

    /// The object of a kind with this UID.
    pub(crate) fn with_uid(self, kind: &str, uid: &str) -> Option<&'a Value> {
        self.list(kind).into_iter().find(|object| object["metadata"]["uid"] == uid)
    }
}

/// Whether an object is being deleted.
pub(crate) fn is_deleting(object: &Value) -> bool {
    object["metadata"].get("deletionTimestamp").is_some()
}
