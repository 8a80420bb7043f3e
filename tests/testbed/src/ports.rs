//! Free loopback ports.

use std::net::{Ipv4Addr, TcpListener};
use std::process;
use std::sync::{Mutex, OnceLock};

use crate::error::{Error, Result};

/// The first port: below the range that Linux uses for outgoing connections (32768 and up), because a connection of a
/// running component must not take the port of one that starts a second later.
const FIRST: u16 = 10_000;
const COUNT: u16 = 20_000;

/// Hands out every port at most once in a process; starts at a port at which another process is unlikely to start.
pub(crate) struct Ports {
    next: Mutex<u16>,
}

impl Ports {
    pub(crate) fn of_this_process() -> &'static Self {
        static PORTS: OnceLock<Ports> = OnceLock::new();
        PORTS.get_or_init(|| {
            let spread = process::id().wrapping_mul(97) % u32::from(COUNT);
            Self { next: Mutex::new(u16::try_from(spread).unwrap_or_default()) }
        })
    }

    /// A port of 127.0.0.1 on which no process listens now.
    pub(crate) fn free(&self) -> Result<u16> {
        let mut next = self.next.lock().map_err(|_| Error::new("another thread of the testbed failed"))?;
        for _ in 0..COUNT {
            let port = FIRST + *next;
            *next = (*next + 1) % COUNT;
            if TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok() {
                return Ok(port);
            }
        }
        Err(Error::new(format!("no free loopback port from {FIRST} on")))
    }
}
