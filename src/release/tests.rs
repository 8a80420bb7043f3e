//! A small good release, and every way to break it.

pub(crate) mod builder;
mod forms;
mod hostile;
mod properties;
mod refusals;
mod warnings;
