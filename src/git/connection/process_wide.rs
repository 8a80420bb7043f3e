//! Settings that libgit2 has only process-wide: its timeouts (none by default), and the home directory, whose
//! `.ssh/known_hosts` decides which kinds of host key it asks a server for.

use std::env;
use std::ffi::{CString, c_int};
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use crate::temporary::{RemoveOnDrop, unless_missing};

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

struct Settings {
    timeouts: ServerTimeouts,
    /// Home directory for libgit2; exists only while a [`KnownHostsHome`] lives.
    home: PathBuf,
}

static SETTINGS: OnceLock<Settings> = OnceLock::new();

/// Sets the timeouts for the whole process, and returns those in force: the first call decides. Every connection calls this
/// with `None` before it is opened.
#[allow(clippy::must_use_candidate, reason = "who sets the time knows it")]
pub fn set_server_timeouts(timeouts: Option<ServerTimeouts>) -> ServerTimeouts {
    settings(timeouts).timeouts
}

fn settings(timeouts: Option<ServerTimeouts>) -> &'static Settings {
    SETTINGS.get_or_init(|| {
        let settings = Settings {
            timeouts: timeouts.unwrap_or(DEFAULT),
            home: env::temp_dir().join(format!("stackflux-home-{}", std::process::id())),
        };
        set(&settings);
        settings
    })
}

#[allow(unsafe_code, reason = "git2 has no other way to set these")]
fn set(settings: &Settings) {
    let milliseconds = |time: Duration| c_int::try_from(time.as_millis()).unwrap_or(c_int::MAX);
    let home_directory = libgit2_sys::GIT_OPT_SET_HOMEDIR.cast_signed();
    let home = CString::new(settings.home.as_os_str().as_bytes()).unwrap_or_default();
    // SAFETY: the calls write settings that libgit2 reads when it opens a connection, which must not happen at the same
    // time. All connections of this process are opened in `git`, each after `settings`, whose `OnceLock` blocks other
    // callers until this function returns and never calls it again. The path is a C string that libgit2 copies.
    unsafe {
        // These calls refuse negative numbers only.
        let _always_ok =
            git2::opts::set_server_connect_timeout_in_milliseconds(milliseconds(settings.timeouts.connect));
        let _always_ok =
            git2::opts::set_server_timeout_in_milliseconds(milliseconds(settings.timeouts.silence));
        libgit2_sys::git_libgit2_opts(home_directory, home.as_ptr());
    }
}

/// While it lives, libgit2 asks servers only for the kinds of host key in a `known_hosts` text. Only one exists at a time.
pub(super) struct KnownHostsHome {
    // Dropped in this order: the directory is removed before the next `KnownHostsHome` creates it again. A leftover
    // directory has no secret, and the next `KnownHostsHome` removes it.
    _home: RemoveOnDrop,
    _alone: MutexGuard<'static, ()>,
}

impl KnownHostsHome {
    pub(super) fn new(known_hosts: &str) -> io::Result<Self> {
        static ALONE: Mutex<()> = Mutex::new(());
        let alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
        let home = &settings(None).home;
        // In a container every process may have the same id, so a killed process may have left this directory. A directory
        // of another user cannot be removed, and is an error.
        unless_missing(fs::remove_dir_all(home))?;
        fs::DirBuilder::new().mode(0o700).create(home)?;
        let known_hosts_home = Self { _home: RemoveOnDrop::new(home.clone()), _alone: alone };
        fs::create_dir(home.join(".ssh"))?;
        fs::write(home.join(".ssh/known_hosts"), known_hosts)?;
        Ok(known_hosts_home)
    }
}
