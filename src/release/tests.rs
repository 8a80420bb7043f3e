//! A small good release, and every way to break it.

mod builder;
mod forms;
mod properties;
mod refusals;
mod warnings;
