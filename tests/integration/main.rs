//! The integration tests: one binary, a module per area.

#![allow(clippy::disallowed_methods, reason = "tests read and write files")]

#[cfg(test)]
mod architecture;
#[cfg(test)]
mod cli;
#[cfg(test)]
#[path = "../cluster_stack_cases.rs"]
mod cluster_stack_cases;
#[cfg(test)]
mod crds;
#[cfg(test)]
mod documents;
#[cfg(test)]
mod generate;
#[cfg(test)]
#[path = "../support/git.rs"]
mod git;
#[cfg(test)]
mod language;
#[cfg(test)]
mod operating;
#[cfg(test)]
mod operator;
#[cfg(test)]
mod oracle;
#[cfg(test)]
mod promote;
#[cfg(test)]
mod proxies;
#[cfg(test)]
mod reference;
#[cfg(test)]
mod sources;
#[cfg(test)]
#[path = "../support/stages.rs"]
mod stages;
#[cfg(test)]
mod streams;

#[cfg(test)]
#[path = "../support.rs"]
mod support;
#[cfg(test)]
mod temporary;
#[cfg(test)]
mod yaml;
