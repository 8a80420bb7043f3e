//! What an installation lacks, as data: facts that were read once, and a pure check for each question about them.
//!
//! ```text
//!  API server ─▶ Facts ─┬─ platform: Kubernetes, Cluster API
//!                       ├─ flux: versions, flags, workers
//!                       ├─ definitions: those of stackflux against those of this program
//!                       ├─ rights: of the operator's account
//!                       ├─ operator: leader, version, what it reports about source-controller
//!                       └─ leftovers: of the cluster-stack-operator
//! ```
//!
//! What the reader may not read is a result of its own, never `ok`.

pub mod check;
pub mod definitions;
pub mod facts;
pub mod flux;
pub mod leftovers;
pub mod operator;
pub mod platform;
pub mod rights;
#[cfg(test)]
mod tests;
mod version;

use serde::Serialize;

use check::{Check, Outcome};
use facts::Facts;

/// All checks of a cluster.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Diagnosis {
    /// The number of problems.
    pub problems: usize,
    /// The number of warnings.
    pub warnings: usize,
    /// The number of checks that could not be made.
    pub not_checked: usize,
    /// The checks, in their order.
    pub checks: Vec<Check>,
}

/// Returns what a cluster must have before stackflux is installed.
#[must_use]
pub fn before_install(facts: &Facts) -> Diagnosis {
    let checks = [
        vec![platform::kubernetes(facts)],
        platform::cluster_api(facts),
        flux::flux(facts),
        vec![definitions::before_install(facts)],
        leftovers::leftovers(facts),
    ];
    Diagnosis::new(checks.concat())
}

/// Returns what an installation lacks.
#[must_use]
pub fn installed(facts: &Facts) -> Diagnosis {
    let checks = [
        vec![platform::kubernetes(facts)],
        platform::cluster_api(facts),
        flux::flux(facts),
        flux::together(facts),
        vec![definitions::installed(facts)],
        operator::operator(facts),
        rights::rights(facts),
        leftovers::leftovers(facts),
    ];
    Diagnosis::new(checks.concat())
}

impl Diagnosis {
    fn new(checks: Vec<Check>) -> Self {
        let count = |outcome| checks.iter().filter(|check| check.outcome == outcome).count();
        Self {
            problems: count(Outcome::Problem),
            warnings: count(Outcome::Warning),
            not_checked: count(Outcome::NotChecked),
            checks,
        }
    }

    /// Whether there is no problem, and the reader could read all that the checks need.
    #[must_use]
    pub fn is_healthy(&self) -> bool {
        self.problems == 0 && self.checks.iter().all(|check| check.missing_right.is_none())
    }
}
