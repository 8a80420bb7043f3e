//! Writes plans as files.
//!
//! ```text
//! plan ─▶ layout, index ─▶ update over a tree of files ─▶ changes ─▶ directory
//!                                                               └▶ git: one commit
//! ```
//!
//! A directory and a Git repository have the same layout and the same rules. Computing the changes to a tree is pure; only
//! writing them to a directory or to Git is not.

pub mod changes;
pub mod index;
pub mod layout;
pub mod tree;
pub mod update;

#[cfg(feature = "shell")]
pub mod directory;
#[cfg(feature = "shell")]
pub mod git;
#[cfg(feature = "shell")]
pub mod message;
