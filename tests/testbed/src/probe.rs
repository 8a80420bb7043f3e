//! Waits for a server to come up, without a client library.

use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

const INTERVAL: Duration = Duration::from_millis(100);
const ATTEMPT: Duration = Duration::from_secs(2);

/// Repeats `ask` until the answer is yes, an error ends it, or the time is over (`false`).
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

/// Whether a process accepts connections on this loopback port.
pub(crate) fn accepts(port: u16) -> bool {
    connect(port).is_some()
}

/// Whether `GET <path>` over plain HTTP on this loopback port answers 200.
#[must_use]
pub fn answers(port: u16, path: &str) -> bool {
    get(port, path).is_some_and(|(status, _)| status == 200)
}

/// The status and the body of the answer to `GET <path>` over plain HTTP on this loopback port; `None` if there is no
/// answer soon.
pub(crate) fn get(port: u16, path: &str) -> Option<(u16, String)> {
    // Version 1.0: the body ends with the connection, in one piece.
    let request = format!("GET {path} HTTP/1.0\r\nHost: 127.0.0.1\r\n\r\n");
    let mut stream = connect(port)?;
    stream.set_read_timeout(Some(ATTEMPT)).ok()?;
    stream.write_all(request.as_bytes()).ok()?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).ok()?;
    let (head, body) = answer.split_once("\r\n\r\n")?;
    let status = head.split(' ').nth(1)?.parse().ok()?;
    Some((status, body.to_owned()))
}

fn connect(port: u16) -> Option<TcpStream> {
    TcpStream::connect_timeout(&SocketAddr::from((Ipv4Addr::LOCALHOST, port)), ATTEMPT).ok()
}
