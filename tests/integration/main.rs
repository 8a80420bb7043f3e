//! The integration tests: one binary, a module per area.

#[cfg(test)]
mod cli;
#[cfg(test)]
#[path = "../cluster_stack_cases.rs"]
mod cluster_stack_cases;
#[cfg(test)]
mod crds;
#[cfg(test)]
mod oracle;
#[cfg(test)]
mod yaml;
