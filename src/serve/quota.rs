//! Limits of which no client takes all.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A limit in number, for all clients together and for each address.
#[derive(Clone, Debug)]
pub(super) struct Quota {
    limit: usize,
    of_address: usize,
    used: Arc<Mutex<BTreeMap<IpAddr, usize>>>,
}

/// A place that an address has until this is dropped.
#[derive(Debug)]
pub(super) struct Place {
    quota: Quota,
    address: IpAddr,
}

impl Quota {
    /// Creates a limit. An address gets at most three quarters of it, which leaves some to others.
    pub(super) fn new(limit: usize) -> Self {
        Self { limit, of_address: (limit * 3).div_ceil(4), used: Arc::default() }
    }

    /// Takes a place for an address; `None` if it has all that it may have, or if there is none.
    pub(super) fn take(&self, address: IpAddr) -> Option<Place> {
        let mut used = self.used();
        let own = used.get(&address).copied().unwrap_or_default();
        if own >= self.of_address || used.values().sum::<usize>() >= self.limit {
            return None;
        }
        used.insert(address, own + 1);
        drop(used);
        Some(Place { quota: self.clone(), address })
    }

    fn used(&self) -> MutexGuard<'_, BTreeMap<IpAddr, usize>> {
        self.used.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut used = self.quota.used();
        match used.get_mut(&self.address) {
            Some(own) if *own > 1 => *own -= 1,
            _ => drop(used.remove(&self.address)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_address_leaves_some_to_others() {
        let (one, other) = ("192.0.2.1".parse().unwrap(), "192.0.2.2".parse().unwrap());
        let quota = Quota::new(8);
        let mut places: Vec<Place> = (0..6).map(|_| quota.take(one).unwrap()).collect();
        assert!(quota.take(one).is_none());
        places.extend((0..2).map(|_| quota.take(other).unwrap()));
        assert!(quota.take(other).is_none(), "all are taken");
        drop(places.remove(0));
        places.push(quota.take(one).unwrap());
        drop(places);
        assert!(quota.used().is_empty(), "nothing is kept about clients that have gone");
    }
}
