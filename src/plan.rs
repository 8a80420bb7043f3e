//! Inputs to ordered Flux objects.

pub mod canonical;
