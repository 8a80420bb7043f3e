//! The work of Kubernetes' own controllers, one step at a time.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::kinds::{KINDS, NAMESPACE};
use super::{ApiServer, Place, Target};

impl ApiServer {
    /// Deletes one object without existing owners, or removes one missing owner from an object that has others. Whether
    /// there was anything to do.
    pub(crate) fn collect_garbage(&mut self) -> bool {
        let found = self.objects.iter().find_map(|(place, stored)| {
            let owners = stored.object["metadata"]["ownerReferences"].as_array()?;
            if stored.object["metadata"].get("deletionTimestamp").is_some() {
                return None;
            }
            let (there, gone): (Vec<&Value>, Vec<&Value>) =
                owners.iter().partition(|owner| self.is_there(owner));
            let left: Vec<Value> = there.into_iter().cloned().collect();
            (!gone.is_empty()).then(|| (place.clone(), left))
        });
        let Some((place, left)) = found else { return false };
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

    fn is_there(&self, owner: &Value) -> bool {
        self.objects.values().any(|stored| stored.object["metadata"]["uid"] == owner["uid"])
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
