//! The template engine against Go's own: the committed conformance files, random templates, hostile input.
//!
//! What counts as the same answer is in `tests/oracle/README.md`.
#![allow(clippy::disallowed_methods, reason = "tests read files and the environment")]

#[cfg(test)]
mod case;
#[cfg(test)]
mod conformance;
#[cfg(test)]
mod fields;
#[cfg(test)]
mod hostile;
#[cfg(test)]
mod oracle;
#[cfg(test)]
mod tally;
