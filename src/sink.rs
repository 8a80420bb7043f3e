//! Writes plans as files.
//!
//! ```text
//! plan ─▶ layout, index ─▶ update over a tree of files ─▶ changes ─▶ directory
//!                                                               └▶ git: one commit
//! ```
//!
//! Files have one layout and one set of rules, whether in a directory or in a Git repository. The changes to a tree are pure;
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
