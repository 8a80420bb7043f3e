//! A hundred releases, and a hostile client: Flux is served all the same, and the operator stays small.

use std::fmt::Write as _;
use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use serde_json::{Value, json};
use stackflux_testbed::{Operator, Process};

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

struct Attacker {
    port: u16,
    uid: String,
    main: String,
}

impl Attacker {
    fn connect(&self) -> Option<TcpStream> {
        let stream = TcpStream::connect(("127.0.0.1", self.port)).ok()?;
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

    /// Returns the first line of the answer.
    fn send(&self, request: &[u8]) -> String {
        let mut stream = self.connect().unwrap();
        // The server may close the connection before it has read everything.
        let _ = stream.write_all(request);
        let mut answer = [0; 512];
        let length = stream.read(&mut answer).unwrap_or_default();
        String::from_utf8_lossy(&answer[..length]).lines().next().unwrap_or_default().to_owned()
    }

    /// Requests everything and reads nothing.
    fn slow(&self) -> TcpStream {
        let body = format!("0032want {}\n00000009done\n", self.main);
        let mut stream = self.connect().unwrap();
        let _ = stream.write_all(
            format!("{}{body}", self.head(&format!("Content-Length: {}\r\n", body.len()))).as_bytes(),
        );
        stream
    }
}

/// 200 MiB of zeros.
fn bomb() -> Vec<u8> {
    let packed = Command::new("sh").args(["-c", "head -c 209715200 /dev/zero | gzip -9"]).output().unwrap();
    assert!(packed.status.success());
    packed.stdout
}

#[test]
#[ignore = "a hundred releases take minutes: make test-long"]
fn hostile_client_of_hundred_releases_is_refused() {
    let scenario = Scenario::shared("builtin-many");
    let (registry, repository) = (scenario.testbed.registry(), format!("{}/stacks", scenario.namespace));
    let releases = scratch("builtin-many-releases");
    fs::create_dir_all(&releases).unwrap();
    for version in 1..=RELEASES {
        let name = write_release(&releases, version);
        push_files(registry, &repository, &name, Layout::Scs, &packed(&releases.join(&name)));
    }
    let port = scenario.testbed.free_port().unwrap();
    let flags = [
        format!("--builtin-url=http://127.0.0.1:{port}"),
        format!("--builtin-addr=127.0.0.1:{port}"),
        format!("--builtin-path={}", scratch("builtin-many-volume").display()),
    ];
    let operator =
        scenario.operator_as(scenario.testbed.operator_kubeconfig(), &flags.each_ref().map(String::as_str));
    let upstream = json!({"url": format!("oci://{}/{repository}", registry.address()), "insecure": true});
    let versions: Vec<String> = (1..=RELEASES).map(|version| format!("v{version}")).collect();
    let versions: Vec<&str> = versions.iter().map(String::as_str).collect();
    scenario.apply_stack(&versions, &json!({"source": {"upstream": upstream}}));
    let published = |stack: &Value| condition(stack, "ReleasesPublished").0 == "True";
    scenario.wait("clusterstack", STACK, "all releases are brought in", published);
    scenario.wait_ready("clusterstackrelease", V1);
    let url = format!("http://127.0.0.1:{port}/{}.git", uid(&scenario));
    let heads = git(Path::new("/"), &["ls-remote", "--heads", &url]);
    assert_eq!(heads.lines().count(), RELEASES + 1, "{heads}");
    let size = operator.metrics().unwrap()["stackflux_builtin_repositories_bytes"];
    // Content that compresses badly takes half of its size or more.
    assert!(size > 15e6, "{size} bytes");

    let main = git(Path::new("/"), &["ls-remote", &url, "refs/heads/main"]);
    let attacker = Attacker { port, uid: uid(&scenario), main: main.split('\t').next().unwrap().to_owned() };
    let silent: Vec<TcpStream> = (0..1000).filter_map(|_| attacker.connect()).collect();
    let slow: Vec<TcpStream> = (0..12).map(|_| attacker.slow()).collect();
    let zipped = bomb();
    let gzip = attacker.head(&format!("Content-Encoding: gzip\r\nContent-Length: {}\r\n", zipped.len()));
    let endless = attacker.head("Transfer-Encoding: chunked\r\n") + "100000\r\n" + &"0".repeat(32 << 20);
    let other = "00000000-0000-0000-0000-000000000000";
    let mut peak = memory(&operator);
    for (request, expected) in [
        ([gzip.as_bytes(), &zipped].concat(), &["413", "503"][..]),
        (endless.into_bytes(), &["413", "503", "400"]),
        (b"GET /../../etc/passwd HTTP/1.1\r\nHost: h\r\n\r\n".to_vec(), &["404", "503"]),
        (
            format!("GET /{other}.git/info/refs?service=git-upload-pack HTTP/1.1\r\nHost: h\r\n\r\n").into(),
            &["404", "503"],
        ),
        (
            format!(
                "GET /{}.git/info/refs?service=git-receive-pack HTTP/1.1\r\nHost: h\r\n\r\n",
                attacker.uid
            )
            .into(),
            &["403", "503"],
        ),
    ] {
        let answer = attacker.send(&request);
        // A client with too many connections is closed without an answer.
        assert!(answer.is_empty() || expected.iter().any(|status| answer.contains(status)), "{answer}");
        peak = peak.max(memory(&operator));
    }
    assert!(peak < MAX_MEMORY, "{peak} bytes");
    drop((silent, slow));
    eventually("no program is left", || family(&operator.process().unwrap()).len() == 1);
    let fetched = json!({"metadata": {"annotations": {"reconcile.fluxcd.io/requestedAt": "after"}}});
    scenario.patch("gitrepository", V1, &fetched);
    scenario.wait("gitrepository", V1, "fetched", |source| {
        condition(source, "Ready").0 == "True" && source["status"]["lastHandledReconcileAt"] == "after"
    });
}
