//! Where plans go.
