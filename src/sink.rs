//! Where plans go.

pub mod directory;
