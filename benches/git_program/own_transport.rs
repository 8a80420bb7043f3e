//! Shows for decision 0031 that libgit2 fetches and pushes over a transport of ours, and that such a transport bounds a
//! hostile server. It has neither TLS nor passwords, and is not part of stackflux. To run it:
//!
//! ```text
//! cargo new --vcs none /tmp/own && cp benches/git_program/own_transport.rs /tmp/own/src/main.rs
//! cd /tmp/own && cargo add git2@0.21 --no-default-features --features vendored-libgit2 && cargo build
//! target/debug/own $(what `git_program.py --serve` prints); ldd target/debug/own
//! ```

use std::cell::Cell;
use std::io::{self, BufRead as _, BufReader, Error, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};
use std::{env, fs, process};

use git2::transport::{Service, SmartSubtransport, SmartSubtransportStream, Transport, register};
use git2::{Repository, Signature};

/// The bounds of a connection, from the first byte of the list of branches to the last of the pack.
#[derive(Clone, Copy)]
struct Limits {
    end: Instant,
    bytes: u64,
}

thread_local! {
    // libgit2 creates the transport on the thread that fetches or pushes.
    static LIMITS: Cell<Option<Limits>> = const { Cell::new(None) };
}

struct Http(Limits);

impl SmartSubtransport for Http {
    fn action(&self, url: &str, service: Service) -> Result<Box<dyn SmartSubtransportStream>, git2::Error> {
        let rest = url.strip_prefix("own://").unwrap();
        let (host, path) = rest.split_once('/').unwrap();
        let (list, name) = match service {
            Service::UploadPackLs => (true, "git-upload-pack"),
            Service::UploadPack => (false, "git-upload-pack"),
            Service::ReceivePackLs => (true, "git-receive-pack"),
            Service::ReceivePack => (false, "git-receive-pack"),
        };
        let request = if list {
            format!("GET /{path}/info/refs?service={name} HTTP/1.1")
        } else {
            format!("POST /{path}/{name} HTTP/1.1\r\nContent-Type: application/x-{name}-request")
        };
        let head = format!("{request}\r\nHost: {host}\r\nConnection: close\r\n");
        let host = host.to_owned();
        Ok(Box::new(Exchange { host, head, body: Vec::new(), answer: None, limits: self.0, received: 0 }))
    }

    fn close(&self) -> Result<(), git2::Error> {
        Ok(())
    }
}

/// An exchange: a request that grows by writes and is sent by the first read, and its answer.
struct Exchange {
    host: String,
    head: String,
    body: Vec<u8>,
    answer: Option<Answer>,
    limits: Limits,
    received: u64,
}

struct Answer {
    stream: BufReader<TcpStream>,
    is_chunked: bool,
    /// Bytes left of the chunk, or of the answer.
    left: usize,
    is_over: bool,
}

/// Limits waiting to the end of the connection's time. Called before each read.
fn limit_waiting(stream: &TcpStream, limits: &Limits) -> io::Result<()> {
    let left = limits.end.saturating_duration_since(Instant::now());
    if left.is_zero() {
        return Err(Error::other("timed out"));
    }
    stream.set_read_timeout(Some(left))
}

impl Exchange {
    fn send(&mut self) -> io::Result<Answer> {
        let mut stream = TcpStream::connect(&self.host)?;
        limit_waiting(&stream, &self.limits)?;
        stream.write_all(format!("{}Content-Length: {}\r\n\r\n", self.head, self.body.len()).as_bytes())?;
        stream.write_all(&self.body)?;
        let mut answer =
            Answer { stream: BufReader::new(stream), is_chunked: false, left: 0, is_over: false };
        loop {
            let mut line = String::new();
            answer.stream.read_line(&mut line)?;
            match line.trim().to_ascii_lowercase().split_once(": ") {
                Some(("content-length", length)) => answer.left = length.parse().unwrap(),
                Some(("transfer-encoding", "chunked")) => answer.is_chunked = true,
                None if line.trim().is_empty() => return Ok(answer),
                _ => {}
            }
        }
    }
}

impl Answer {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        if self.is_chunked && self.left == 0 && !self.is_over {
            let mut line = String::new();
            while line.trim().is_empty() && self.stream.read_line(&mut line)? > 0 {}
            self.left = usize::from_str_radix(line.trim(), 16).unwrap_or(0);
            self.is_over = self.left == 0;
        }
        let most = to.len().min(self.left);
        let read = self.stream.read(&mut to[..most])?;
        self.left -= read;
        Ok(read)
    }
}

impl Read for Exchange {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        let mut answer = self.answer.take().map_or_else(|| self.send(), Ok)?;
        limit_waiting(answer.stream.get_ref(), &self.limits)?;
        let read = answer.read(to)?;
        self.answer = Some(answer);
        self.received += read as u64;
        if self.received > self.limits.bytes {
            return Err(Error::other("over the limit of bytes"));
        }
        Ok(read)
    }
}

impl Write for Exchange {
    fn write(&mut self, from: &[u8]) -> io::Result<usize> {
        self.body.extend_from_slice(from);
        Ok(from.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn limit(seconds: u64, bytes: u64) {
    LIMITS.set(Some(Limits { end: Instant::now() + Duration::from_secs(seconds), bytes }));
}

fn peak() -> String {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().to_owned()
}

fn main() {
    // SAFETY: nothing else uses libgit2 yet.
    unsafe { register("own", |remote| Transport::smart(remote, true, Http(LIMITS.get().unwrap()))).unwrap() };
    let own = |number| env::args().nth(number).unwrap().replace("http://", "own://");
    let (good, bad) = (own(1), own(2));
    let directory = env::temp_dir().join(format!("own-transport-{}", process::id()));
    let repository = Repository::init_bare(&directory).unwrap();

    limit(60, 64 << 20);
    let mut remote = repository.remote_anonymous(&good).unwrap();
    remote.fetch(&["+refs/heads/main:refs/own/main"], None, None).unwrap();
    let parent = repository.find_reference("refs/own/main").unwrap().peel_to_commit().unwrap();
    let mut builder = repository.treebuilder(Some(&parent.tree().unwrap())).unwrap();
    builder.insert("new", repository.blob(b"new").unwrap(), 0o100_644).unwrap();
    let tree = repository.find_tree(builder.write().unwrap()).unwrap();
    let author = Signature::now("a", "a@b").unwrap();
    let commit = repository.commit(None, &author, &author, "x", &tree, &[&parent]).unwrap();
    let mut remote = repository.remote_anonymous(&good).unwrap();
    remote.push(&[format!("{commit}:refs/heads/main")], None).unwrap();
    println!("fetched {}, pushed {commit}; peak {}", parent.id(), peak());

    for (name, path, bytes) in [
        ("endless list", "r.git", 8 << 20),
        ("a byte a second", "slow/r.git", 8 << 20),
        ("endless list", "r.git", 1 << 40),
    ] {
        let start = Instant::now();
        limit(5, bytes);
        let mut remote = repository.remote_anonymous(&format!("{bad}/{path}")).unwrap();
        let error = remote.fetch(&["main"], None, None).unwrap_err();
        let (took, said) = (start.elapsed().as_secs_f64(), error.message());
        println!("{name}, limit {bytes} bytes: {said:?} after {took:.1} s; peak {}", peak());
    }
    fs::remove_dir_all(directory).unwrap();
}
