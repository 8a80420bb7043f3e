//! The integration tests: one binary, a module per area.

#![cfg(test)]
#![allow(clippy::disallowed_methods, reason = "tests read and write files")]

mod api_server;
mod architecture;
mod book;
mod cel;
mod cli;
#[path = "../cluster_stack_cases.rs"]
mod cluster_stack_cases;
mod command_line;
mod conditions;
mod crds;
mod doctor;
mod documents;
mod generate;
#[path = "../support/git.rs"]
mod git;
mod git_servers;
mod guides;
mod language;
mod monitoring;
mod operating;
mod operator;
mod oracle;
mod pictures;
mod promote;
#[path = "../support/promtool.rs"]
mod promtool;
mod proxies;
mod reference;
mod selections;
mod sources;
#[path = "../support/stages.rs"]
mod stages;
mod streams;

#[path = "../support.rs"]
mod support;
mod temporary;
mod transcripts;
mod yaml;
