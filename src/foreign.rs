//! The kinds that stackflux does not own: what it writes of them and what it reads.

pub mod capi;
pub mod flux;
