//! Flux: per kind an authored view (what we apply) and an observed view (what we read).

pub mod observed;
