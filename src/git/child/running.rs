//! The running processes of connections: how much memory they use together, and whether they are to end.

use std::collections::BTreeMap;
use std::fs;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A process that runs; forgotten on drop.
pub(super) struct Running(u32);

/// Why a process is to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cause {
    /// All processes together use too much memory, and this one the most.
    Memory,
    /// The program ends.
    Shutdown,
}

#[derive(Default)]
struct All {
    /// Bytes of memory per process.
    used: BTreeMap<u32, u64>,
    ends: bool,
}

static ALL: Mutex<All> = Mutex::new(All { used: BTreeMap::new(), ends: false });

fn all() -> MutexGuard<'static, All> {
    ALL.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Ends all connections to Git servers, and those that begin later.
pub fn end_connections() {
    all().ends = true;
}

/// Whether the program ends, and with it all connections.
pub(super) fn are_ended() -> bool {
    all().ends
}

impl Running {
    pub(super) fn new(process: u32) -> Self {
        all().used.insert(process, 0);
        Self(process)
    }

    /// Notes what the process uses, and returns why it is to end, if it is.
    pub(super) fn look(&self, most: u64) -> Option<Cause> {
        let used = used(self.0);
        let mut all = all();
        all.used.insert(self.0, used);
        if all.ends {
            return Some(Cause::Shutdown);
        }
        is_to_end(&all.used, self.0, most).then_some(Cause::Memory)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        all().used.remove(&self.0);
    }
}

/// Whether the processes use more than `most` together, and this one the most of them.
fn is_to_end(used: &BTreeMap<u32, u64>, process: u32, most: u64) -> bool {
    let largest = used.iter().max_by_key(|(_, used)| **used).map(|(process, _)| *process);
    used.values().sum::<u64>() > most && largest == Some(process)
}

/// Returns the memory in bytes that a process does not share with other processes; 0 if the system does not tell.
fn used(process: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:"));
    let used = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
    used.unwrap_or_default() << 10
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn largest_process_ends_if_all_use_too_much() {
        let used = |sizes: [u64; 3]| (1..).zip(sizes).collect::<BTreeMap<_, _>>();
        let ends =
            |sizes| (1..=3).filter(|process| is_to_end(&used(sizes), *process, 100)).collect::<Vec<_>>();
        assert_eq!(ends([30, 30, 40]), Vec::<u32>::new());
        assert_eq!(ends([30, 41, 30]), [2]);
        assert_eq!(ends([200, 0, 10]), [1]);
        assert_eq!(ends([50, 50, 50]).len(), 1, "one after the other");
    }
}
