//! Waiting for something to come up, without a client library.

use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

const INTERVAL: Duration = Duration::from_millis(100);
const ATTEMPT: Duration = Duration::from_secs(2);

/// Asks again and again until the answer is yes, an error ends it, or the time is over (`false`).
pub(crate) fn poll<E>(timeout: Duration, mut ask: impl FnMut() -> Result<bool, E>) -> Result<bool, E> {
    let start = Instant::now();
    loop {
        if ask()? {
            return Ok(true);
        }
        if start.elapsed() > timeout {
            return Ok(false);
        }
        thread::sleep(INTERVAL);
    }
}

/// Whether something accepts connections on this loopback port.
pub(crate) fn accepts(port: u16) -> bool {
    connect(port).is_some()
}

/// Whether `GET <path>` over plain HTTP on this loopback port answers 200.
pub(crate) fn answers(port: u16, path: &str) -> bool {
    let request = format!("GET {path} HTTP/1.0\r\nHost: 127.0.0.1\r\n\r\n");
    let mut status_line = [0_u8; 12];
    connect(port).is_some_and(|mut stream| {
        stream.set_read_timeout(Some(ATTEMPT)).is_ok()
            && stream.write_all(request.as_bytes()).is_ok()
            && stream.read_exact(&mut status_line).is_ok()
            && status_line.ends_with(b" 200")
    })
}

fn connect(port: u16) -> Option<TcpStream> {
    TcpStream::connect_timeout(&SocketAddr::from((Ipv4Addr::LOCALHOST, port)), ATTEMPT).ok()
}
