//! The template engine against Go's own: the committed conformance files, random templates, hostile input.
//!
//! `tests/oracle/README.md` defines which answers count as the same.
#![cfg(test)]
#![allow(clippy::disallowed_methods, reason = "tests read files and the environment")]

mod case;
mod conformance;
mod fields;
mod hostile;
mod oracle;
mod tally;
