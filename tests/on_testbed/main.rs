//! The tests on real API servers and a real Flux: one binary, a module per area, one testbed for all.

#[cfg(test)]
#[path = "../cluster_stack_cases.rs"]
mod cluster_stack_cases;
#[cfg(test)]
mod crds;
#[cfg(test)]
mod delivery;
#[cfg(test)]
mod digests;
#[cfg(test)]
#[path = "../support.rs"]
mod support;
