use std::net::SocketAddr;
use std::path::Path;
use std::process::Output;
use std::time::Instant;

use tempfile::TempDir;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpSocket;
use tokio::process::Command;

use super::*;
use crate::git::ServedRepository;
use crate::git::tests::file;
use crate::release::Files;

const UID: &str = "7f1c2a3b-4c5d-6e7f-8091-a2b3c4d5e6f7";
const RELEASE: &str = "docker-demo-1-34-v1";

/// A server of one repository, and its address.
struct Served {
    directory: TempDir,
    repository: ServedRepository,
    address: SocketAddr,
}

struct One(PathBuf);

impl Repositories for One {
    fn find(&self, identifier: &str) -> Found {
        match identifier {
            UID => Found::At { directory: self.0.clone(), login: None },
            "later" => Found::NotYet("the release is being fetched".to_owned()),
            _ => Found::Unknown,
        }
    }
}

impl Served {
    async fn start(limits: ServerLimits) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let repository = ServedRepository::open(&directory.path().join("served")).unwrap();
        let mut files = Files::default();
        files.insert("metadata.yaml", file("a: 1\n")).unwrap();
        // It does not fit into what a connection buffers.
        let noise = (0..1_000_000_u64).map(|number| number.wrapping_mul(0x9E37_79B9_7F4A_7C15).to_string());
        let noise = noise.collect::<Vec<_>>().join("\n");
        files.insert("noise", file(&noise)).unwrap();
        repository.add(&RELEASE.parse().unwrap(), &files).unwrap();
        repository.merge().unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let server = GitServer::new(Arc::new(One(repository.path().to_owned())), None, limits);
        tokio::spawn(server.run(listener));
        Self { directory, repository, address }
    }

    fn url(&self, identifier: &str) -> String {
        format!("http://{}/{identifier}.git", self.address)
    }

    async fn git(&self, arguments: &[&str]) -> Output {
        let mut git = Command::new("git");
        git.current_dir(self.directory.path()).args(arguments).env("GIT_TERMINAL_PROMPT", "0");
        git.output().await.unwrap()
    }

    /// Sends bytes, and returns all of the answer.
    async fn send(&self, request: &[u8]) -> String {
        let mut stream = TcpStream::connect(self.address).await.unwrap();
        stream.write_all(request).await.unwrap();
        let mut answer = Vec::new();
        // The server may reset a connection whose request it has not read.
        let _reset = stream.read_to_end(&mut answer).await;
        String::from_utf8_lossy(&answer).into_owned()
    }

    /// The request for everything.
    fn fetch(&self) -> Vec<u8> {
        let main = self.repository.main().unwrap().unwrap();
        let body = format!("0032want {main}\n00000009done\n");
        let head = format!(
            "POST /{UID}.git/git-upload-pack HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\
             Content-Type: application/x-git-upload-pack-request\r\nContent-Length: {}\r\n\r\n",
            body.len()
        );
        (head + &body).into_bytes()
    }
}

/// The git programs that serve from this directory.
fn programs(directory: &Path) -> usize {
    processes(directory.to_str().unwrap())
}

/// The processes with this text in their arguments.
pub(super) fn processes(text: &str) -> usize {
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let arguments = processes.filter_map(|process| std::fs::read(process.path().join("cmdline")).ok());
    arguments.filter(|found| String::from_utf8_lossy(found).contains(text)).count()
}

pub(super) async fn until(what: &str, is_so: impl Fn() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < Duration::from_secs(20), "{what}");
        sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test]
async fn git_clones_what_is_served() {
    let served = Served::start(ServerLimits::default()).await;
    let cloned = served.git(&["clone", "--quiet", &served.url(UID), "clone"]).await;
    assert!(cloned.status.success(), "{cloned:?}");
    let release = served.directory.path().join("clone/releases").join(RELEASE);
    assert_eq!(std::fs::read_to_string(release.join("metadata.yaml")).unwrap(), "a: 1\n");
    let branch = ["clone", "--quiet", "--depth=1", "--branch", RELEASE, &served.url(UID), "shallow"];
    assert!(served.git(&branch).await.status.success());
}

#[tokio::test]
async fn everything_else_is_refused() {
    let served = Served::start(ServerLimits::default()).await;
    for (identifier, message) in [("other", "not found"), ("later", "503")] {
        let cloned = served.git(&["clone", &served.url(identifier), "x"]).await;
        let text = String::from_utf8_lossy(&cloned.stderr).into_owned();
        assert!(!cloned.status.success() && text.contains(message), "{text}");
    }
    assert!(served.git(&["clone", "--quiet", &served.url(UID), "clone"]).await.status.success());
    let push = ["-C", "clone", "push", "origin", "main:other"];
    let pushed = served.git(&push).await;
    assert!(String::from_utf8_lossy(&pushed.stderr).contains("403"), "{pushed:?}");
    let archive = served.git(&["archive", &format!("--remote={}", served.url(UID)), "main"]).await;
    assert!(!archive.status.success(), "{archive:?}");
    for (request, status) in [
        ("GET /../../etc/passwd HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n".to_owned(), "404"),
        (format!("GET /{UID}.git/HEAD HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n"), "404"),
        (format!("POST /{UID}.git/git-upload-pack HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n"), "415"),
        ("rubbish\r\n\r\n".to_owned(), "400"),
    ] {
        let answer = served.send(request.as_bytes()).await;
        assert!(answer.starts_with(&format!("HTTP/1.1 {status}")), "{request}: {answer}");
    }
}

#[tokio::test]
async fn endless_body_is_refused() {
    let served = Served::start(ServerLimits { request: 4 << 10, ..ServerLimits::default() }).await;
    let head = format!(
        "POST /{UID}.git/git-upload-pack HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\
         Content-Type: application/x-git-upload-pack-request\r\nTransfer-Encoding: chunked\r\n\r\n"
    );
    let chunk = format!("800\r\n{}\r\n", "0".repeat(0x800));
    // It has no end: the answer does not wait for it.
    let answer = served.send((head + &chunk.repeat(3)).as_bytes()).await;
    assert!(answer.starts_with("HTTP/1.1 413"), "{answer}");
}

#[tokio::test]
async fn slow_clients_end_and_leave_no_program() {
    let limits = ServerLimits {
        connections: 4,
        programs: 1,
        connection: Duration::from_secs(10),
        idle: Duration::from_mins(10),
        ..ServerLimits::default()
    };
    let served = Served::start(limits).await;
    let path = served.directory.path().join("served");
    // It reads nothing of an answer that is too long for all buffers.
    let mut slow = TcpStream::connect(served.address).await.unwrap();
    slow.write_all(&served.fetch()).await.unwrap();
    until("a program runs", || programs(&path) > 0).await;
    let busy = served.send(&served.fetch()).await;
    assert!(busy.starts_with("HTTP/1.1 503") && busy.contains("retry-after: 5"), "{busy}");
    until("the slow client's program is killed", || programs(&path) == 0).await;
    drop(slow);
}

#[tokio::test]
async fn thousand_silent_connections_leave_room() {
    let served = Served::start(ServerLimits::default()).await;
    let mut silent = Vec::new();
    for _ in 0..1000 {
        let socket = TcpSocket::new_v4().unwrap();
        socket.bind("127.0.0.2:0".parse().unwrap()).unwrap();
        silent.push(socket.connect(served.address).await);
    }
    let cloned = served.git(&["clone", "--quiet", &served.url(UID), "clone"]).await;
    assert!(cloned.status.success(), "{cloned:?}");
    drop(silent);
}

#[tokio::test]
async fn program_ends_with_its_client() {
    let limits = ServerLimits { idle: Duration::from_mins(10), ..ServerLimits::default() };
    let served = Served::start(limits).await;
    let path = served.directory.path().join("served");
    let mut client = TcpStream::connect(served.address).await.unwrap();
    client.write_all(&served.fetch()).await.unwrap();
    until("a program runs", || programs(&path) > 0).await;
    drop(client);
    until("it is killed", || programs(&path) == 0).await;
}
