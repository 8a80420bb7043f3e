//! How long libgit2 waits for a server: for ever, unless it is told otherwise for the whole process.

use std::ffi::c_int;
use std::sync::OnceLock;
use std::time::Duration;

/// How long a server may keep silent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Waiting {
    /// Until there is a connection.
    pub connect: Duration,
    /// Between two answers.
    pub silence: Duration,
}

const DEFAULT: Waiting = Waiting { connect: Duration::from_secs(10), silence: Duration::from_mins(1) };

/// Sets how long servers may keep silent, for the whole process, and returns what holds: the first call decides. Every
/// connection calls it with `None` before it is made.
pub fn limit_waiting(waiting: Option<Waiting>) -> Waiting {
    static WAITING: OnceLock<Waiting> = OnceLock::new();
    *WAITING.get_or_init(|| {
        let waiting = waiting.unwrap_or(DEFAULT);
        set(waiting);
        waiting
    })
}

#[allow(unsafe_code, reason = "git2 has no other way to give libgit2 a timeout")]
fn set(waiting: Waiting) {
    let milliseconds = |time: Duration| c_int::try_from(time.as_millis()).unwrap_or(c_int::MAX);
    // SAFETY: both calls write a C integer that libgit2 reads when it makes a connection, which must not happen at the
    // same time. All connections of this process are made in `git`, each after `limit_waiting`, whose `OnceLock` lets
    // everybody wait until this function is done and never calls it again.
    let set = unsafe {
        git2::opts::set_server_connect_timeout_in_milliseconds(milliseconds(waiting.connect))
            .and_then(|()| git2::opts::set_server_timeout_in_milliseconds(milliseconds(waiting.silence)))
    };
    // Both refuse negative numbers only.
    debug_assert!(set.is_ok(), "libgit2 refuses a timeout");
}
