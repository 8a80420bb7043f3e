//! Git servers that never end their list of branches.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

use stackflux::git::{
    Access, BareRepository, Credentials, GitError, Reference, TransferLimits, set_connection_program,
};
use stackflux::http::TransportError;

use crate::support::scratch;

/// The head of the answer.
const HEAD: &str = "HTTP/1.1 200 OK\r\nContent-Type: application/x-git-upload-pack-advertisement\r\n\
     Transfer-Encoding: chunked\r\n\r\n";

/// The start of the list.
const START: &str = "001e# service=git-upload-pack\n0000\
     00500123456789abcdef0123456789abcdef01234567 HEAD\0side-band-64k ofs-delta agent\n";

/// The most that a server sends: it ends before the machine's memory does.
const MOST: usize = 1 << 30;

/// The most memory of the program that waits for a connection, in KiB.
const LITTLE: u64 = 200 << 10;

/// A list of branches.
#[derive(Clone)]
struct List {
    /// Number of parts of 1,000 branches that are sent at once. Afterwards, each part is one branch, with a pause.
    at_once: usize,
    /// Whether to end every connection.
    stop: Arc<AtomicBool>,
}

impl List {
    fn new(at_once: usize) -> Self {
        Self { at_once, stop: Arc::default() }
    }

    /// Serves the list; tells each connection that has ended.
    fn serve(&self) -> (String, Receiver<()>) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let ((sender, ended), list) = (channel(), self.clone());
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (sender, list) = (sender.clone(), list.clone());
                thread::spawn(move || {
                    list.send(stream);
                    let _ = sender.send(());
                });
            }
        });
        (address, ended)
    }

    fn send(&self, mut stream: TcpStream) {
        let mut request = [0; 4096];
        let chunk = |text: &str| format!("{:x}\r\n{text}\r\n", text.len());
        let head = HEAD.to_owned() + &chunk(START);
        if stream.read(&mut request).is_err() || stream.write_all(head.as_bytes()).is_err() {
            return;
        }
        let mut sent = 0;
        for number in 0.. {
            let (branches, pause) = if number < self.at_once { (1_000, 0) } else { (1, 50) };
            let line = |branch| {
                format!("00600123456789abcdef0123456789abcdef01234567 refs/heads/{number:019}-{branch:019}\n")
            };
            let part: String = (0..branches).map(line).collect();
            sent += part.len();
            if sent > MOST
                || self.stop.load(Ordering::Relaxed)
                || stream.write_all(chunk(&part).as_bytes()).is_err()
            {
                return;
            }
            thread::sleep(Duration::from_millis(pause));
        }
    }
}

/// The program with a clone in a directory of its own, which lists the releases of a repository.
fn releases(address: &str, name: &str) -> (Child, PathBuf) {
    let temporary = scratch(name);
    let password = temporary.with_extension("password");
    fs::write(&password, "s3cret").unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_stackflux"));
    command.args(["releases", &format!("git+http://{address}/a.git"), "--git-password-file"]).arg(password);
    for variable in
        ["STACKFLUX_GIT_PASSWORD", "STACKFLUX_FORGE_TOKEN", "STACKFLUX_REGISTRY_PASSWORD", "GITHUB_TOKEN"]
    {
        command.env(variable, "s3cret");
    }
    command.env("TMPDIR", &temporary).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    (command.spawn().unwrap(), temporary)
}

/// A line of a process's status, if the process exists.
fn status(process: u32, name: &str) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix(name))?;
    line.split_whitespace().next()?.parse().ok()
}

/// The processes that a process has started.
fn children(process: u32) -> Vec<u32> {
    let all = fs::read_dir("/proc").unwrap().flatten();
    let all = all.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    all.filter(|child| status(*child, "PPid:") == Some(u64::from(process))).collect()
}

/// Waits until a process has a child that has begun its connection.
fn connection_of(process: u32) -> u32 {
    for _ in 0..1_000 {
        let limited = |child: &u32| {
            let limits = fs::read_to_string(format!("/proc/{child}/limits")).unwrap_or_default();
            limits.lines().any(|line| line.starts_with("Max address space") && line.contains(" 536870912 "))
        };
        if let Some(child) = children(process).into_iter().find(limited) {
            return child;
        }
        thread::sleep(Duration::from_millis(20));
    }
    panic!("no connection has begun")
}

#[test]
fn endless_list_takes_little_memory() {
    let (address, _closed) = List::new(usize::MAX).serve();
    let (mut child, temporary) = releases(&address, "git-endless");
    let (mut peak, mut peak_of_connection) = (0, 0);
    while child.try_wait().unwrap().is_none() {
        peak = peak.max(status(child.id(), "VmHWM:").unwrap_or_default());
        for connection in children(child.id()) {
            peak_of_connection = peak_of_connection.max(status(connection, "VmHWM:").unwrap_or_default());
        }
        thread::sleep(Duration::from_millis(10));
    }
    let output = child.wait_with_output().unwrap();
    let message = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{message}");
    let expected = format!("http://{address}/a.git: the connection exceeds its limit of memory (512 MiB");
    assert!(message.contains(&expected) && !message.contains("s3cret"), "{message}");
    assert!(peak < LITTLE && peak_of_connection < LITTLE, "{peak} KiB, {peak_of_connection} KiB");
    assert_eq!(fs::read_dir(temporary).unwrap().count(), 0);
}

#[test]
fn slow_list_ends_in_time() {
    set_connection_program(env!("CARGO_BIN_EXE_stackflux").into());
    let (address, closed) = List::new(0).serve();
    let url = format!("http://ann@{address}/a.git").parse().unwrap();
    let mut clone = BareRepository::temporary(Access { url, credentials: Credentials::default() }).unwrap();
    // A busy machine may take longer than the first to connect.
    for seconds in [1, 10, 60] {
        let overall = Duration::from_secs(seconds);
        clone = clone.with_limits(TransferLimits { overall, ..TransferLimits::default() });
        let error = clone.fetch(&Reference::Head).unwrap_err();
        assert!(
            matches!(&error, GitError::Transport(TransportError::Timeout { after, .. }) if *after == overall),
            "{error}"
        );
        assert_eq!(error.to_string(), format!("http://{address}/a.git: timed out after {seconds} s"));
        if closed.recv_timeout(Duration::from_secs(20)).is_ok() {
            return;
        }
    }
    panic!("no connection was made and closed")
}

#[test]
fn servers_have_a_common_limit() {
    set_connection_program(env!("CARGO_BIN_EXE_stackflux").into());
    // Each may have this much memory, but not all of them.
    let list = List::new(80);
    let (address, ended) = list.serve();
    let fetch = |number: usize| {
        let url = format!("http://{address}/{number}.git").parse().unwrap();
        let clone = BareRepository::temporary(Access { url, credentials: Credentials::default() }).unwrap();
        let clone = clone.with_limits(TransferLimits { memory: 128 << 20, ..TransferLimits::default() });
        thread::spawn(move || clone.fetch(&Reference::Head).unwrap_err().to_string())
    };
    let fetches: Vec<_> = (0..10).map(fetch).collect();
    ended.recv().unwrap();
    list.stop.store(true, Ordering::Relaxed);
    let errors: Vec<String> = fetches.into_iter().map(|fetch| fetch.join().unwrap()).collect();
    let common = "exceed their common limit of memory (128 MiB), and this one uses the most";
    assert!(errors.iter().any(|error| error.contains(common)), "{errors:?}");
    assert!(!errors.iter().all(|error| error.contains(common)), "{errors:?}");
}

#[test]
fn connection_ends_with_the_program() {
    for signal in ["TERM", "KILL"] {
        let (address, closed) = List::new(0).serve();
        let (mut child, temporary) = releases(&address, &format!("git-ended-{signal}"));
        let connection = connection_of(child.id());
        let read = |name: &str| fs::read(format!("/proc/{connection}/{name}")).unwrap();
        for shown in [read("cmdline"), read("environ")] {
            assert!(!String::from_utf8_lossy(&shown).contains("s3cret"));
        }
        let kill = Command::new("kill").args([&format!("-{signal}"), &child.id().to_string()]).status();
        assert!(kill.unwrap().success());
        child.wait().unwrap();
        // Otherwise the server waits for ever.
        closed.recv_timeout(Duration::from_secs(20)).unwrap();
        let left = fs::read_dir(&temporary).unwrap().count();
        // Nothing can remove the clone of a process that is killed, but the next one.
        assert_eq!(left, usize::from(signal == "KILL"), "{signal}");
    }
}
