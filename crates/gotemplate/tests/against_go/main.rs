//! The template engine against Go's own: the committed conformance files, random templates, hostile input.
//!
//! What counts as the same answer is in `tests/oracle/README.md`.
#![cfg(test)]
#![allow(clippy::disallowed_methods, reason = "tests read files and the environment")]

mod case;
mod conformance;
mod fields;
mod hostile;
mod oracle;
mod tally;
