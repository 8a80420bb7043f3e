//! What the Git server of the built-in stack repositories costs: the answer to a fetch of 100 releases of 300 KiB.
//!
//! `make bench` runs it. It fails when the answer is later than the bar.

#![allow(clippy::disallowed_methods, reason = "a program that measures")]
#![allow(clippy::print_stdout, reason = "a program that prints")]
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a program for developers")]

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use stackflux::git::ServedRepository;
use stackflux::release::{File, Files};
use stackflux::serve::{Found, GitServer, Repositories, ServerLimits};
use tokio::net::TcpListener;

const RELEASES: usize = 100;
const SIZE: usize = 300 << 10;
const ROUNDS: usize = 40;
/// The bar of the 95th percentile.
const BAR: Duration = Duration::from_millis(500);

struct One(PathBuf);

impl Repositories for One {
    fn find(&self, _: &str) -> Found {
        Found::At { directory: self.0.clone(), login: None }
    }
}

fn main() -> ExitCode {
    let directory = tempfile::tempdir().unwrap();
    let begun = Instant::now();
    let repository = ServedRepository::open(&directory.path().join("served")).unwrap();
    for number in 1..=RELEASES {
        let name = format!("docker-demo-1-34-v{number}").parse().unwrap();
        repository.add(&name, &release(number)).unwrap();
    }
    let main = repository.merge().unwrap().unwrap().to_string();
    println!("{RELEASES} releases of {} KiB added in {:.2?}", SIZE >> 10, begun.elapsed());
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let address = runtime.block_on(async {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let served = Arc::new(One(repository.path().to_owned()));
        tokio::spawn(GitServer::new(served, None, ServerLimits::default()).run(listener));
        address
    });
    let mut times: Vec<Duration> = Vec::new();
    let mut size = 0;
    for _ in 0..ROUNDS {
        let begun = Instant::now();
        size = fetch(address, &main);
        times.push(begun.elapsed());
    }
    times.sort();
    let (median, p95) = (times[ROUNDS / 2], times[ROUNDS * 95 / 100]);
    println!("fetch of all, {} MiB: median {median:.2?}, p95 {p95:.2?} (bar {BAR:.2?})", size >> 20);
    if p95 > BAR { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

/// A release that compresses as badly as a packed chart.
fn release(number: usize) -> Files {
    let mut files = Files::default();
    let mut state = number as u64;
    let noise = (0..SIZE).map(|_| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 56) as u8
    });
    let content = noise.collect();
    files.insert("cluster-addon/cni/charts/cni.tgz", File { content, executable: false }).unwrap();
    files
}

/// Fetches everything, and returns the size of the answer.
fn fetch(address: SocketAddr, main: &str) -> usize {
    let body = format!("0032want {main}\n00000009done\n");
    let request = format!(
        "POST /a.git/git-upload-pack HTTP/1.1\r\nHost: a\r\nContent-Type: application/x-git-upload-pack-request\r\n\
         Content-Length: {}\r\n\r\n{body}",
        body.len()
    );
    let mut stream = TcpStream::connect(address).unwrap();
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    assert!(
        answer.starts_with(b"HTTP/1.1 200"),
        "{}",
        String::from_utf8_lossy(&answer[..200.min(answer.len())])
    );
    answer.len()
}
