//! Addons that a Cluster's release does not have any more: what becomes of their objects.

/// A Flux object that names a `ClusterAddon` as its owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Belonging {
    /// What it delivers.
    pub delivers: Delivers,
    /// Whether it is suspended.
    pub suspended: bool,
    /// Whether it is being deleted.
    pub terminating: bool,
}

/// What an object delivers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delivers {
    /// An addon of the release.
    Wanted,
    /// An addon that the release does not have.
    Dropped,
    /// Something of another `ClusterAddon`, one that had the same name.
    Anothers,
}

/// What becomes of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It is none of a removed addon.
    Stays,
    /// Its addon is removed, and something keeps it for now: it is suspended, or not all of the release is delivered.
    Waits,
    /// It is deleted already.
    Goes,
    /// It is to be deleted: Flux uninstalls it.
    Due,
}

/// What becomes of an object; `delivered` says whether all that the release has is delivered and nothing is held. What is
/// suspended waits: its deletion would leave everything in the cluster, and somebody wants it left alone.
#[must_use]
pub fn fate(object: Belonging, delivered: bool) -> Fate {
    match object {
        Belonging { delivers: Delivers::Wanted | Delivers::Anothers, .. } => Fate::Stays,
        Belonging { terminating: true, .. } => Fate::Goes,
        Belonging { suspended: true, .. } => Fate::Waits,
        Belonging { .. } if delivered => Fate::Due,
        Belonging { .. } => Fate::Waits,
    }
}

#[cfg(test)]
mod tests;
