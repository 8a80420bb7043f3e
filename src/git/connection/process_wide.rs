//! Settings that libgit2 has only process-wide: its timeouts (none by default), the memory that a pack may claim, and the
//! home directory, whose `.ssh/known_hosts` decides which kinds of host key it asks a server for.

use std::env;
use std::ffi::{CString, c_int};
use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;
use std::sync::OnceLock;
use std::time::Duration;

/// Maximum size in bytes of an object that a delta claims to make.
const MAX_OBJECT_BYTES: usize = 128 << 20;

/// Maximum size in bytes of a part of a pack that is mapped, and of all parts.
const MAPPED_BYTES: (usize, usize) = (32 << 20, 128 << 20);

/// Timeouts for a silent server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ServerTimeouts {
    /// Timeout for connecting.
    pub connect: Duration,
    /// Timeout between two answers.
    pub silence: Duration,
}

const DEFAULT: ServerTimeouts =
    ServerTimeouts { connect: Duration::from_secs(10), silence: Duration::from_mins(1) };

static TIMEOUTS: OnceLock<ServerTimeouts> = OnceLock::new();

/// Sets the timeouts for the whole process, and returns those in force: the first call decides. Every connection calls this
/// with `None` before it is opened.
#[allow(clippy::must_use_candidate, reason = "who sets the time knows it")]
pub fn set_server_timeouts(timeouts: Option<ServerTimeouts>) -> ServerTimeouts {
    settings(timeouts, None)
}

/// Sets the timeouts and the home directory for the process of one connection.
pub(in super::super) fn set_for_one(timeouts: ServerTimeouts, home: PathBuf) {
    settings(Some(timeouts), Some(home));
}

fn settings(timeouts: Option<ServerTimeouts>, home: Option<PathBuf>) -> ServerTimeouts {
    *TIMEOUTS.get_or_init(|| {
        let timeouts = timeouts.unwrap_or(DEFAULT);
        // A directory that does not exist: the user's own settings are not read.
        let home =
            home.unwrap_or_else(|| env::temp_dir().join(format!("stackflux-home-{}", std::process::id())));
        set(timeouts, &home);
        timeouts
    })
}

#[allow(unsafe_code, reason = "git2 has no other way to set these")]
fn set(timeouts: ServerTimeouts, home: &std::path::Path) {
    let milliseconds = |time: Duration| c_int::try_from(time.as_millis()).unwrap_or(c_int::MAX);
    let home_directory = libgit2_sys::GIT_OPT_SET_HOMEDIR.cast_signed();
    let object_size = libgit2_sys::GIT_OPT_SET_PACK_MAX_OBJECT_SIZE.cast_signed();
    let home = CString::new(home.as_os_str().as_bytes()).unwrap_or_default();
    // SAFETY: the calls write settings that libgit2 reads when it opens a connection or a pack, which must not happen at the
    // same time. All connections and repositories of this process are opened in `git`, each after `settings`, whose
    // `OnceLock` blocks other callers until this function returns and never calls it again. The path is a C string that
    // libgit2 copies; the size is a `size_t`.
    unsafe {
        // These calls refuse negative numbers only.
        let _always_ok =
            git2::opts::set_server_connect_timeout_in_milliseconds(milliseconds(timeouts.connect));
        let _always_ok = git2::opts::set_server_timeout_in_milliseconds(milliseconds(timeouts.silence));
        let _always_ok = git2::opts::set_mwindow_size(MAPPED_BYTES.0);
        let _always_ok = git2::opts::set_mwindow_mapped_limit(MAPPED_BYTES.1);
        libgit2_sys::git_libgit2_opts(object_size, MAX_OBJECT_BYTES);
        libgit2_sys::git_libgit2_opts(home_directory, home.as_ptr());
    }
}
