//! Where plans go.
//!
//! ```text
//! plan ─▶ cluster: server-side apply
//!      └▶ layout, index ─▶ update over a tree of files ─▶ changes ─▶ directory
//!                                                                 └▶ git: one commit
//! ```
//!
//! What is written as files has one layout and one set of rules, whether it is a directory or a Git repository. What comes
//! of a plan and a tree is pure; the cluster, the directory and Git are not.

pub mod changes;
pub mod index;
pub mod layout;
pub mod tree;
pub mod update;

#[cfg(feature = "shell")]
pub mod cluster;
#[cfg(feature = "shell")]
pub mod directory;
#[cfg(feature = "shell")]
pub mod git;
#[cfg(feature = "shell")]
pub mod message;
