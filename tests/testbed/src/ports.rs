//! Free loopback ports.

use std::net::{Ipv4Addr, TcpListener};
use std::process;
use std::sync::{Mutex, OnceLock};

use crate::error::{Error, Result};

/// Below the range that Linux gives to outgoing connections (32768 and up): a connection of a component that
/// is already running must not take the port of one that starts a second later.
const FIRST: u16 = 10_000;
const COUNT: u16 = 20_000;

/// Hands out every port at most once in a process, whatever asks there; begins where another process is unlikely to begin.
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

    /// A port of 127.0.0.1 on which nothing listens now.
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
