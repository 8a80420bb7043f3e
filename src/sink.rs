//! Where plans go.

pub mod cluster;
pub mod directory;
