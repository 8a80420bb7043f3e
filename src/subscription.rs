//! What a `ClusterStack` wants of the releases of its stack: which are offered, in use, kept or on their way out, whose
//! they are where two want the same, and how many may go at a time.

mod budget;
mod claims;
mod roles;

pub use budget::{allowance, allows, deletions, in_words, known, left, refilled, spent};
pub use claims::{Claim, Claimant, claim, holder};
pub use roles::{Facts, PATIENCE, Role, ignored, is_of, is_used, latest, offered, roles, subscribes};

#[cfg(test)]
mod tests;
