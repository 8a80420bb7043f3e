//! A hundred releases, and a hostile client: Flux is served all the same, and the operator stays small.

use std::fmt::Write as _;
use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};
use stackflux_testbed::{Operator, Process};
use tokio::net::TcpSocket;
use tokio::runtime::Runtime;

use super::super::scenario::{STACK, Scenario, V1, condition, eventually};
use super::super::upstream::push_files;
use super::uid;
use crate::git::git;
use crate::push::{Layout, packed};
use crate::support::scratch;

const RELEASES: usize = 100;
/// The size in bytes of one release.
const SIZE: usize = 300 << 10;
/// Maximum of memory that the operator and its programs may use.
const MAX_MEMORY: u64 = 220 << 20;
/// Number of programs that one client may have.
const PROGRAMS: usize = 6;

/// Writes a release that compresses badly, and returns its name.
fn write_release(below: &Path, version: usize) -> String {
    let name = format!("{STACK}-v{version}");
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/stack/releases").join(V1);
    let directory = below.join(&name);
    let copied = Command::new("cp").arg("-r").args([&example, &directory]).status().unwrap();
    assert!(copied.success());
    let metadata = fs::read_to_string(directory.join("metadata.yaml")).unwrap();
    fs::write(
        directory.join("metadata.yaml"),
        metadata.replace("clusterStack: v1", &format!("clusterStack: v{version}")),
    )
    .unwrap();
    let mut noise = String::new();
    let mut state = version as u64;
    while noise.len() < SIZE {
        state = state.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(0x1405_7B7E_F767_814F);
        write!(noise, "{:08x}", state >> 32).unwrap();
    }
    fs::write(directory.join("cluster-addon/cni/noise.txt"), noise).unwrap();
    name
}

/// A process and its children.
fn family(process: &Process) -> Vec<u32> {
    // A child is that of the thread which started it.
    let threads = fs::read_dir(format!("/proc/{}/task", process.id)).unwrap().flatten();
    let children = threads.filter_map(|thread| fs::read_to_string(thread.path().join("children")).ok());
    let children: Vec<String> = children.collect();
    let ids = children.iter().flat_map(|ids| ids.split(' ')).filter_map(|id| id.parse().ok());
    ids.chain([process.id]).collect()
}

/// Resident memory in bytes.
fn resident(id: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{id}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.and_then(|line| line.trim().strip_suffix(" kB")?.parse::<u64>().ok()).unwrap_or_default() * 1024
}

fn memory(operator: &Operator) -> u64 {
    family(&operator.process().unwrap()).into_iter().map(resident).sum()
}

/// Clients of one repository, each from an address of its own.
struct Attacker {
    runtime: Runtime,
    server: SocketAddr,
    uid: String,
    main: String,
}

impl Attacker {
    /// Connects from `127.0.0.<client>`.
    fn connect(&self, client: u8) -> Option<TcpStream> {
        let connected = self.runtime.block_on(async {
            let socket = TcpSocket::new_v4()?;
            socket.bind(SocketAddr::from(([127, 0, 0, client], 0)))?;
            socket.connect(self.server).await?.into_std()
        });
        let stream = connected.ok()?;
        stream.set_nonblocking(false).ok()?;
        stream.set_read_timeout(Some(Duration::from_secs(20))).ok()?;
        stream.set_write_timeout(Some(Duration::from_secs(20))).ok()?;
        Some(stream)
    }

    fn head(&self, more: &str) -> String {
        format!(
            "POST /{}.git/git-upload-pack HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\
             Content-Type: application/x-git-upload-pack-request\r\n{more}\r\n",
            self.uid
        )
    }

    /// Sends a request from an address of its own, and returns the first line of the answer.
    fn send(&self, request: &[u8]) -> String {
        let mut stream = self.connect(4).unwrap();
        let mut answers = stream.try_clone().unwrap();
        let answer = thread::spawn(move || {
            let mut answer = [0; 512];
            let length = answers.read(&mut answer).unwrap_or_default();
            String::from_utf8_lossy(&answer[..length]).lines().next().unwrap_or_default().to_owned()
        });
        // The server may close the connection before it has read everything.
        let _ = stream.write_all(request);
        answer.join().unwrap()
    }

    /// Requests everything and reads nothing.
    fn slow(&self) -> Option<TcpStream> {
        let body = format!("0032want {}\n00000009done\n", self.main);
        let head = self.head(&format!("Content-Length: {}\r\n", body.len()));
        let mut stream = self.connect(3)?;
        stream.write_all(format!("{head}{body}").as_bytes()).ok()?;
        Some(stream)
    }

    /// Returns requests that the server refuses, each with the status of its answer.
    fn refused(&self) -> Vec<(Vec<u8>, &'static str)> {
        let zipped = bomb();
        let gzip = self.head(&format!("Content-Encoding: gzip\r\nContent-Length: {}\r\n", zipped.len()));
        let chunk = format!("100000\r\n{}\r\n", "0".repeat(1 << 20));
        let endless = self.head("Transfer-Encoding: chunked\r\n") + &chunk.repeat(32);
        let get =
            |path: &str| format!("GET /{path} HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n").into_bytes();
        let other = "00000000-0000-0000-0000-000000000000";
        vec![
            ([gzip.as_bytes(), &zipped].concat(), "413"),
            (endless.into_bytes(), "413"),
            (get("../../etc/passwd"), "404"),
            (get(&format!("{other}.git/info/refs?service=git-upload-pack")), "404"),
            (get(&format!("{}.git/info/refs?service=git-receive-pack", self.uid)), "403"),
        ]
    }
}

/// 200 MiB of zeros.
fn bomb() -> Vec<u8> {
    let packed = Command::new("sh").args(["-c", "head -c 209715200 /dev/zero | gzip -9"]).output().unwrap();
    assert!(packed.status.success());
    packed.stdout
}

/// Pushes the releases, and starts an operator that serves all of them at a port.
fn serve(scenario: &Scenario<'_>, port: u16) -> Operator {
    let (registry, repository) = (scenario.testbed.registry(), format!("{}/stacks", scenario.namespace));
    let releases = scratch("builtin-many-releases");
    fs::create_dir_all(&releases).unwrap();
    for version in 1..=RELEASES {
        let name = write_release(&releases, version);
        push_files(registry, &repository, &name, Layout::Scs, &packed(&releases.join(&name)));
    }
    let flags = [
        format!("--builtin-url=http://127.0.0.1:{port}"),
        format!("--builtin-addr=127.0.0.1:{port}"),
        format!("--builtin-path={}", scratch("builtin-many-volume").display()),
    ];
    let kubeconfig = scenario.testbed.operator_kubeconfig();
    let operator = scenario.operator_as(kubeconfig, &flags.each_ref().map(String::as_str));
    let upstream = json!({"url": format!("oci://{}/{repository}", registry.address()), "insecure": true});
    let versions: Vec<String> = (1..=RELEASES).map(|version| format!("v{version}")).collect();
    let versions: Vec<&str> = versions.iter().map(String::as_str).collect();
    scenario.apply_stack(&versions, &json!({"source": {"upstream": upstream}}));
    let published = |stack: &Value| condition(stack, "ReleasesPublished").0 == "True";
    scenario.wait("clusterstack", STACK, "all releases are brought in", published);
    scenario.wait_ready("clusterstackrelease", V1);
    operator
}

#[test]
#[ignore = "a hundred releases take minutes: make test-long"]
fn hostile_client_of_hundred_releases_is_refused() {
    let scenario = Scenario::shared("builtin-many");
    let port = scenario.testbed.free_port().unwrap();
    let operator = serve(&scenario, port);
    let url = format!("http://127.0.0.1:{port}/{}.git", uid(&scenario));
    let heads = git(Path::new("/"), &["ls-remote", "--heads", &url]);
    assert_eq!(heads.lines().count(), RELEASES + 1, "{heads}");
    let size = operator.metrics().unwrap()["stackflux_builtin_repositories_bytes"];
    // Content that compresses badly takes half of its size or more.
    assert!(size > 15e6, "{size} bytes");

    let main = git(Path::new("/"), &["ls-remote", &url, "refs/heads/main"]);
    let attacker = Attacker {
        runtime: Runtime::new().unwrap(),
        server: SocketAddr::from(([127, 0, 0, 1], port)),
        uid: uid(&scenario),
        main: main.split('\t').next().unwrap().to_owned(),
    };
    let refused = attacker.refused();
    let programs = || family(&operator.process().unwrap()).len() - 1;
    let slow: Vec<TcpStream> = (0..12).filter_map(|_| attacker.slow()).collect();
    eventually("the slow client has all programs that it may have", || programs() == PROGRAMS);
    let silent: Vec<TcpStream> = (0..1000).filter_map(|_| attacker.connect(2)).collect();
    let mut peak = memory(&operator);
    for (request, expected) in refused {
        let answer = attacker.send(&request);
        assert!(answer.contains(expected), "{answer}, not {expected}");
        peak = peak.max(memory(&operator));
    }
    // Flux has another address, and is served meanwhile.
    let fetched = json!({"metadata": {"annotations": {"reconcile.fluxcd.io/requestedAt": "meanwhile"}}});
    scenario.patch("gitrepository", V1, &fetched);
    scenario.wait("gitrepository", V1, "fetched", |source| {
        condition(source, "Ready").0 == "True" && source["status"]["lastHandledReconcileAt"] == "meanwhile"
    });
    assert!(programs() >= PROGRAMS, "the attack is over");
    peak = peak.max(memory(&operator));
    assert!(peak < MAX_MEMORY, "{peak} bytes");
    println!("{} MiB in {PROGRAMS} programs and the operator, at most", peak >> 20);
    drop((silent, slow));
    eventually("no program is left", || programs() == 0);
}
