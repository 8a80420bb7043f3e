//! All mutations.

mod audit;
mod clusters;
mod git;
mod platform;
mod releases;
mod stacks;
mod stages;
mod triggers;
mod upgrades;

use crate::mutation::Mutation;

/// Returns all mutations.
pub(crate) fn all() -> Vec<Mutation> {
    let all = [
        audit::MUTATIONS,
        clusters::MUTATIONS,
        releases::MUTATIONS,
        stacks::MUTATIONS,
        git::MUTATIONS,
        triggers::MUTATIONS,
        stages::MUTATIONS,
        upgrades::MUTATIONS,
        platform::MUTATIONS,
    ];
    all.concat()
}
