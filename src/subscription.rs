//! Decides about the releases of a `ClusterStack`: which are offered, in use, kept or retiring, which `ClusterStack` has a
//! release that two claim, what each `ClusterStackRelease` says, and how many may be deleted per hour.

mod budget;
mod claims;
mod releases;
mod retirement;
mod roles;

pub use budget::{allowance, allows, deletions, in_words, known, left, refilled, spent};
pub use claims::{Claim, Claimant, claim, holder};
pub use releases::{
    CatalogFacts, DesiredRelease, FoundRelease, ReleaseDecision, ReleaseProblem, ReleasesFacts,
    decide_releases, first_error, short,
};
pub use retirement::{Retirement, RetirementFacts, decide_retirement, due, has_room, is_confirmed};
pub use roles::{Facts, PATIENCE, Role, ignored, is_of, is_used, latest, offered, roles, subscribes};

#[cfg(test)]
mod tests;
