//! The memory of the process of a connection: little until the server has listed its branches, then all of the limit.

use std::fs;
use std::io;
use std::sync::OnceLock;

use rustix::process::{Resource, Rlimit, setrlimit};

/// The share of the memory that the list of branches may use, in addition to what the process has when it connects.
pub(in super::super) const LIST_SHARE: u64 = 8;

/// The limit after the list of branches, in bytes. Unset in every process but that of a connection.
static LIMIT: OnceLock<u64> = OnceLock::new();

/// Limits the memory of this process, and its files of a crash, which would have the credentials.
pub(in super::super) fn begin(memory: u64) -> io::Result<()> {
    setrlimit(Resource::Core, Rlimit { current: Some(0), maximum: Some(0) })?;
    let list = used().map_or(memory, |used| memory.min(used + memory / LIST_SHARE));
    setrlimit(Resource::As, Rlimit { current: Some(list), maximum: Some(memory) })?;
    let _first = LIMIT.set(memory);
    Ok(())
}

/// Allows the rest of the memory. Does nothing outside the process of a connection.
pub(super) fn list_is_over() {
    if let Some(memory) = LIMIT.get() {
        // At worst the limit stays as it is.
        let _ = setrlimit(Resource::As, Rlimit { current: Some(*memory), maximum: Some(*memory) });
    }
}

/// Returns the address space of this process in bytes, if the system tells.
fn used() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmSize:"))?;
    Some(line.split_whitespace().next()?.parse::<u64>().ok()? << 10)
}
