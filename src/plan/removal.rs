//! Addons that a Cluster's release no longer has, or has in another form: the removal of their objects.

/// A Flux object that names a `ClusterAddon` as its owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Belonging {
    /// The addon that it delivers.
    pub delivers: Delivers,
    /// Whether it is suspended.
    pub suspended: bool,
    /// Whether it is being deleted.
    pub terminating: bool,
}

/// The relation of an object to the release.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delivers {
    /// An addon of the release.
    Wanted,
    /// An addon of the release in the form that it had: a chart that are manifests now, or the other way round.
    Replaced,
    /// An addon that the release does not have.
    Dropped,
    /// Something of another `ClusterAddon`, one that had the same name.
    Anothers,
}

/// The decision about an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It is of no addon that is removed or replaced.
    Stays,
    /// It should go, and something keeps it for now: it is suspended, or something else comes first.
    Waits,
    /// It is deleted already.
    Goes,
    /// It is to be deleted: Flux uninstalls it.
    Due,
}

/// Decides about an object; `may_go` says that nothing comes first: of a dropped addon all that the release has is
/// delivered, of a replaced one the new form only waits for this. What is suspended waits: its deletion would leave
/// everything in the cluster, and an owner wants it left alone.
#[must_use]
pub fn fate(object: Belonging, may_go: bool) -> Fate {
    match object {
        Belonging { delivers: Delivers::Wanted | Delivers::Anothers, .. } => Fate::Stays,
        Belonging { terminating: true, .. } => Fate::Goes,
        Belonging { suspended: true, .. } => Fate::Waits,
        Belonging { .. } if may_go => Fate::Due,
        Belonging { .. } => Fate::Waits,
    }
}

/// Lets as many objects wait as are due beyond what may go now; returns how many go. A replaced addon counts as a dropped one:
/// uninstalling it deletes what the cluster has of its own kinds.
pub fn spend<'a>(fates: impl IntoIterator<Item = &'a mut Fate>, allowance: usize) -> usize {
    let mut going = 0;
    for fate in fates.into_iter().filter(|fate| **fate == Fate::Due) {
        if going < allowance {
            going += 1;
        } else {
            *fate = Fate::Waits;
        }
    }
    going
}

#[cfg(test)]
mod tests;
