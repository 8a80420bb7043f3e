//! The work of Kubernetes' own controllers, one step at a time.

use std::collections::BTreeSet;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::kinds::{KINDS, NAMESPACE};
use super::{ApiServer, Place, Target};

impl ApiServer {
    /// Deletes one object without existing owners, or removes one missing owner from an object that has others. Whether
    /// there was anything to do.
    pub(crate) fn collect_garbage(&mut self) -> bool {
        let Some((place, left)) = self.garbage() else {
            self.collected = self.log.len();
            return false;
        };
        if left.is_empty() {
            self.delete_now(&place);
        } else {
            let target = Target { place, subresource: None };
            let patched = self.patch(&target, "kube-controller-manager", |object| {
                object["metadata"]["ownerReferences"] = json!(left);
                true
            });
            assert!(patched.is_ok(), "{patched:?}");
        }
        true
    }

    /// The first object with a missing owner, and its other owners. Only a deletion makes garbage of an object that did
    /// not change.
    fn garbage(&self) -> Option<(Place, Vec<Value>)> {
        let news = &self.log[self.collected..];
        let is_any = news.iter().any(|entry| entry.is_deleted);
        let changed: BTreeSet<&Place> = news.iter().map(|entry| &entry.place).collect();
        let uids: BTreeSet<&str> =
            self.objects.values().filter_map(|stored| stored.object["metadata"]["uid"].as_str()).collect();
        let is_there = |owner: &&Value| owner["uid"].as_str().is_some_and(|uid| uids.contains(uid));
        let mut objects = self.objects.iter().filter(|(place, _)| is_any || changed.contains(place));
        objects.find_map(|(place, stored)| {
            let metadata = &stored.object["metadata"];
            let owners = metadata["ownerReferences"].as_array()?;
            if metadata.get("deletionTimestamp").is_some() || owners.iter().all(|owner| is_there(&owner)) {
                return None;
            }
            Some((place.clone(), owners.iter().filter(is_there).cloned().collect()))
        })
    }

    /// The time of the first deletion of a namespace that is still there, in seconds since the epoch.
    pub(crate) fn terminating_since(&self) -> Option<i64> {
        let times =
            self.objects(NAMESPACE).filter_map(|found| found["metadata"]["deletionTimestamp"].as_str());
        times.filter_map(|time| Some(time.parse::<Timestamp>().ok()?.as_second())).min()
    }

    /// Deletes one object of a namespace that is being deleted, or a namespace that is empty. Whether there was anything to do.
    pub(crate) fn empty_namespaces(&mut self) -> bool {
        let is_going = |stored: &Value| stored["metadata"].get("deletionTimestamp").is_some();
        let going: Vec<Place> = self
            .objects
            .iter()
            .filter(|(place, stored)| place.0 == NAMESPACE && is_going(&stored.object))
            .map(|(place, _)| place.clone())
            .collect();
        for namespace in going {
            let mut inside = self.objects.iter().filter(|(place, _)| place.1 == namespace.2).peekable();
            if inside.peek().is_none() {
                self.remove(&namespace);
                return true;
            }
            let next = inside.find(|(_, stored)| !is_going(&stored.object)).map(|(place, _)| place.clone());
            if let Some(place) = next {
                debug_assert!(KINDS[place.0].is_custom());
                self.delete_now(&place);
                return true;
            }
        }
        false
    }
}
