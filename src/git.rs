//! Git without a work tree: fetches a repository, reads a commit, commits on top of it, and pushes by compare-and-swap.
//!
//! ```text
//!  Access (URL, credentials) ─▶ BareRepository ── fetch ──▶ Snapshot of a commit ──▶ Edit ── commit (signed) ──▶ push
//!                                 ▲                                                                   │
//!                                 └───────────── branch moved: update starts over ◀───────────────────┘
//! ```
//! Everything uses libgit2 and blocks (`docs/decisions/0017-git-over-libgit2.md`). No error contains a credential.

#![allow(
    clippy::disallowed_methods,
    reason = "a clone lies in a directory, and a connection has an end in time"
)]

mod certificate;
mod child;
mod clone;
mod commit;
mod connection;
mod credentials;
mod edit;
mod error;
mod fetch;
mod hosts;
mod leftovers;
mod limits;
mod log;
mod push;
mod served;
mod sign;
mod snapshot;
mod transfer;
mod update;
mod url;

pub use child::{CONNECT, end_connections, serve, set_connection_program};
pub use clone::BareRepository;
pub use commit::{CommitId, Identity, IdentityError, Message, TreeId};
pub use connection::{ServerTimeouts, set_server_timeouts};
pub use credentials::{Access, Credentials, SecretError, SshKey};
pub use edit::Edit;
pub use error::GitError;
pub use fetch::Reference;
pub use hosts::{HostKeyError, KnownHosts};
pub use limits::{TransferLimits, set_connection_memory};
pub use log::LogEntry;
pub use served::{ServedRepository, directory_size};
pub use sign::{SignError, Signer};
pub use snapshot::{Entry, EntryKind, Snapshot};
pub use transfer::Pushed;
pub use update::{Proposal, PushUpdateError, Target, Updated, update};
pub use url::{GitUrl, GitUrlError, Transport};

#[cfg(test)]
pub(crate) mod tests;
