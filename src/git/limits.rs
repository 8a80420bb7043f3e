//! The limits of a connection.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Bytes of memory for one connection, and for all.
static MEMORY: AtomicU64 = AtomicU64::new(512 << 20);

/// Sets the memory in MiB that a connection to a Git server may use, and all connections together.
pub fn set_connection_memory(mebibytes: u32) {
    MEMORY.store(u64::from(mebibytes) << 20, Ordering::Relaxed);
}

/// Returns the memory in bytes that a connection may use.
fn connection_memory() -> u64 {
    MEMORY.load(Ordering::Relaxed)
}

/// Limits for fetching from and pushing to a repository.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TransferLimits {
    /// Maximum number of bytes received in one fetch.
    pub bytes: u64,
    /// Maximum duration of a fetch or push, from the first byte to the last.
    pub overall: Duration,
    /// Maximum memory of the process that is connected to a server, in bytes of address space, and of all such processes
    /// together.
    pub memory: u64,
}

impl Default for TransferLimits {
    fn default() -> Self {
        Self { bytes: 1 << 30, overall: Duration::from_mins(10), memory: connection_memory() }
    }
}
