//! Remembers the objects that have the names of planned ones and that no watch reports, most of them of other clients. A write
//! that conflicts finds them.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use jiff::{SignedDuration, Timestamp};

use crate::foreign::flux::FluxKind;
use crate::foreign::flux::observed::FluxObject;
use crate::names::Key;

/// The time after which an object is fetched again.
const OUTDATED: SignedDuration = SignedDuration::from_secs(30);

/// The time after which an object that nothing asks for is forgotten.
const FORGOTTEN: SignedDuration = SignedDuration::from_mins(10);

/// The objects by their kind and name, each with the time at which it was fetched.
type Fetched = BTreeMap<(FluxKind, Key), (Timestamp, Arc<FluxObject>)>;

/// The objects of other clients.
#[derive(Debug, Default)]
pub struct Occupants(Mutex<Fetched>);

impl Occupants {
    /// Returns the object of another client with this name, if one was found.
    pub fn get(&self, kind: FluxKind, key: &Key) -> Option<Arc<FluxObject>> {
        let all = self.lock();
        (!all.is_empty()).then(|| all.get(&(kind, key.clone())).map(|(_, object)| object.clone())).flatten()
    }

    /// Whether the object with this name was fetched so long ago that it may be gone.
    pub fn is_outdated(&self, kind: FluxKind, key: &Key, now: Timestamp) -> bool {
        let all = self.lock();
        let fetched = (!all.is_empty()).then(|| all.get(&(kind, key.clone())).map(|(fetched, _)| *fetched));
        fetched.flatten().is_some_and(|fetched| !is_within(OUTDATED, fetched, now))
    }

    /// Remembers an object of another client, and forgets those that nothing asks for.
    pub fn note(&self, object: FluxObject, now: Timestamp) {
        let mut all = self.lock();
        all.retain(|_, (fetched, _)| is_within(FORGOTTEN, *fetched, now));
        all.insert((object.kind(), Key::of(&object)), (now, Arc::new(object)));
    }

    /// Forgets the object with this name.
    pub fn forget(&self, kind: FluxKind, key: &Key) {
        self.lock().remove(&(kind, key.clone()));
    }

    fn lock(&self) -> MutexGuard<'_, Fetched> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether a time was less than `limit` ago. A clock that was set back is not believed.
fn is_within(limit: SignedDuration, time: Timestamp, now: Timestamp) -> bool {
    (SignedDuration::ZERO..limit).contains(&now.duration_since(time))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn object(name: &str) -> FluxObject {
        let metadata = json!({"name": name, "namespace": "n", "uid": name});
        serde_json::from_value(json!({"kind": "HelmRelease", "metadata": metadata, "spec": {}})).unwrap()
    }

    #[test]
    fn object_is_fetched_again_and_forgotten_in_time() {
        let (occupants, kind) = (Occupants::default(), FluxKind::HelmRelease);
        let at = |seconds: i64| Timestamp::from_second(1_800_000_000 + seconds).unwrap();
        let (one, two) = (Key::new("n", "one"), Key::new("n", "two"));
        assert!(occupants.get(kind, &one).is_none() && !occupants.is_outdated(kind, &one, at(0)));
        occupants.note(object("one"), at(0));
        for (seconds, expected) in [(0, false), (29, false), (30, true), (-1, true)] {
            assert_eq!(occupants.is_outdated(kind, &one, at(seconds)), expected, "after {seconds} s");
            assert!(occupants.get(kind, &one).is_some(), "it is there until it is fetched again");
        }
        occupants.note(object("two"), at(600));
        let found = |key: &Key| occupants.get(kind, key).is_some();
        assert_eq!((found(&one), found(&two)), (false, true), "nothing asked for the first in ten minutes");
        occupants.forget(kind, &two);
        assert!(!found(&two));
        assert!(occupants.get(FluxKind::Kustomization, &two).is_none());
    }
}
