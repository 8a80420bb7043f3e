//! The tests on real API servers and a real Flux: one binary, a module per area, one testbed for all.

#![allow(clippy::disallowed_methods, reason = "tests read and write files")]

#[cfg(test)]
mod artifacts;
#[cfg(test)]
mod cluster_api;
#[cfg(test)]
#[path = "../cluster_stack_cases.rs"]
mod cluster_stack_cases;
#[cfg(test)]
mod crds;
#[cfg(test)]
#[path = "../support/definitions.rs"]
mod definitions;
#[cfg(test)]
mod delivery;
#[cfg(test)]
mod digests;
#[cfg(test)]
mod forge;
#[cfg(test)]
#[path = "../support/git.rs"]
mod git;
#[cfg(test)]
mod guides;
#[cfg(test)]
mod installation;
#[cfg(test)]
mod lease;
#[cfg(test)]
mod live;
#[cfg(test)]
mod operator;
#[cfg(test)]
mod promote;
#[cfg(test)]
#[path = "../support/promtool.rs"]
mod promtool;
#[cfg(test)]
mod publish;
#[cfg(test)]
#[path = "../support/push.rs"]
mod push;
#[cfg(test)]
mod registry;
#[cfg(test)]
mod repositories;
#[cfg(test)]
mod same_answers;
#[cfg(test)]
mod signatures;
#[cfg(test)]
#[path = "../support/stages.rs"]
mod stages;

#[cfg(test)]
#[path = "../support.rs"]
mod support;

/// The text at a JSON pointer.
#[cfg(test)]
fn text<'a>(object: &'a serde_json::Value, pointer: &str) -> &'a str {
    object
        .pointer(pointer)
        .and_then(serde_json::Value::as_str)
        .unwrap_or_else(|| panic!("no text at {pointer}: {object:#}"))
}
