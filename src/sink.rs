//! Where plans go.
//!
//! ```text
//! plan ─▶ cluster: server-side apply
//!      └▶ layout, index ─▶ update over a tree of files ─▶ changes ─▶ directory
//!                                                                 └▶ git: one commit
//! ```
//!
//! What is written as files has one layout and one set of rules, whether it is a directory or a Git repository.

pub mod changes;
pub mod cluster;
pub mod directory;
pub mod git;
pub mod index;
pub mod layout;
pub mod message;
pub mod tree;
pub mod update;
