//! Resolves claims of several `ClusterStack`s of one namespace on the same release.

use jiff::Timestamp;

use super::is_orphaned;
use super::roles::{is_of, subscribes};
use crate::api::{ClusterStack, ClusterStackRelease};
use crate::names::ReleaseName;

/// A `ClusterStack` that may claim a release.
#[derive(Clone, Copy, Debug)]
pub struct Claimant<'a>(pub &'a ClusterStack);

/// The owner of a release.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Claim {
    /// No other `ClusterStack` claims the release.
    Ours,
    /// The `ClusterStack` owns the release, but the one with this name claims it too.
    Disputed(String),
    /// The release belongs to the `ClusterStack` with this name.
    Theirs(String),
}

impl<'a> Claimant<'a> {
    fn name(self) -> &'a str {
        self.0.metadata.name.as_deref().unwrap_or_default()
    }

    fn uid(self) -> Option<&'a str> {
        self.0.metadata.uid.as_deref()
    }

    /// Orders claimants by age. Those of the same second are ordered by name.
    fn age(self) -> (Option<Timestamp>, &'a str) {
        (self.0.metadata.creation_timestamp.as_ref().map(|time| time.0), self.name())
    }

    fn claims(self, release: &ReleaseName, is_used: bool) -> bool {
        let spec = &self.0.spec;
        let version = release.version().dotted();
        is_of(spec, release) && (is_used || subscribes(spec) || spec.versions.contains(&version))
    }
}

/// Returns the `ClusterStack` that a release belongs to, whether or not the release exists: the owner of its
/// `ClusterStackRelease`, otherwise the oldest one whose line has the release. The Clusters of the release's class count
/// only there. `stacks` are those of the class's namespace, `owner` is the UID of the owner.
#[must_use]
pub fn holder<'a>(
    stacks: impl IntoIterator<Item = Claimant<'a>>,
    release: &ReleaseName,
    owner: Option<&str>,
) -> Option<&'a ClusterStack> {
    let candidates = stacks.into_iter().filter(|stack| is_of(&stack.0.spec, release));
    let first = candidates.min_by_key(|stack| (owner.is_none() || stack.uid() != owner, stack.age()))?;
    Some(first.0)
}

/// Returns the first `ClusterStack` that keeps a release: an owner, unless it is deleted and orphans everything. `stacks` are
/// those that exist.
#[must_use]
pub fn keeper<'a>(
    release: &ClusterStackRelease,
    stacks: impl IntoIterator<Item = &'a ClusterStack>,
) -> Option<&'a ClusterStack> {
    stacks.into_iter().find(|stack| release.is_owned_by(stack) && !is_orphaning(stack))
}

/// Returns the deleted `ClusterStack` that orphans the objects of a release; `None` if another owner [keeps](keeper) the
/// release. `stacks` are those that exist.
#[must_use]
pub fn orphaning_stack<'a>(
    release: &ClusterStackRelease,
    stacks: impl IntoIterator<Item = &'a ClusterStack, IntoIter: Clone>,
) -> Option<&'a ClusterStack> {
    let mut stacks = stacks.into_iter();
    if keeper(release, stacks.clone()).is_some() {
        return None;
    }
    stacks.find(|stack| release.is_owned_by(stack))
}

fn is_orphaning(stack: &ClusterStack) -> bool {
    stack.metadata.deletion_timestamp.is_some() && is_orphaned(stack)
}

/// Decides the owner of a release for the `ClusterStack` `us`. `others` are the other `ClusterStack`s of the namespace.
/// `owner` is the UID of the owner of the `ClusterStackRelease`, which keeps the release whatever the others offer.
#[must_use]
pub fn claim(
    us: Claimant,
    others: &[Claimant],
    release: &ReleaseName,
    is_used: bool,
    owner: Option<&str>,
) -> Claim {
    let is_owner = |one: &Claimant| owner.is_some() && one.uid() == owner;
    if let Some(incumbent) = others.iter().find(|other| is_owner(other)) {
        return Claim::Theirs(incumbent.name().to_owned());
    }
    let rivals = others.iter().filter(|other| other.claims(release, is_used));
    let Some(oldest) = rivals.min_by_key(|rival| rival.age()) else { return Claim::Ours };
    if is_owner(&us) || us.age() < oldest.age() {
        Claim::Disputed(oldest.name().to_owned())
    } else {
        Claim::Theirs(oldest.name().to_owned())
    }
}
