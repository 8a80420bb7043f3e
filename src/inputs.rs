//! The immutable snapshot that a plan is computed from.
