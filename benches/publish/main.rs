//! Measures publishing a release of the size of a real one: from a registry on loopback into a Git server on loopback,
//! by the program as users run it. `BENCH_RELEASE` names the directory of a real release to use instead.

#![allow(clippy::disallowed_methods, reason = "a benchmark looks at the clock and writes files")]
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::expect_used,
    reason = "a benchmark that fails ends"
)]

#[path = "../../tests/support/push.rs"]
#[allow(dead_code, reason = "tests push in another layout as well")]
mod push;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

use push::{Layout, Pusher, packed};
use stackflux_testbed::{Options, Testbed};

/// The bar: one release of 300 kB, from start to exit of the program.
const BAR: Duration = Duration::from_secs(2);

/// Number of rounds; the median counts.
const ROUNDS: usize = 7;

const RELEASE: &str = "openstack-bench-1-34-v1";

fn main() -> ExitCode {
    let testbed = Testbed::start_own(&Options::default()).unwrap();
    let registry = testbed.registry();
    let (name, files) = match std::env::var_os("BENCH_RELEASE").map(PathBuf::from) {
        Some(path) => (path.file_name().unwrap().to_str().unwrap().to_owned(), packed(&path)),
        None => (RELEASE.to_owned(), made_up()),
    };
    let bytes: usize = files.values().map(Vec::len).sum();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let pusher = Pusher::new(registry.address(), registry.user());
    runtime.block_on(pusher.push("bench", &name, &files, Layout::Scs));
    let source = format!("oci://{}/bench:{name}", registry.address());
    let mut times: Vec<Duration> = (0..ROUNDS)
        .map(|round| {
            let url = testbed.git().url(&format!("bench-{round}"));
            let begin = Instant::now();
            let mut command = Command::new(env!("CARGO_BIN_EXE_stackflux"));
            command.args([
                "publish",
                &source,
                "--to",
                &url,
                "--plain-http",
                "--author",
                "Bench <bench@localhost>",
            ]);
            let output = command.output().unwrap();
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
            begin.elapsed()
        })
        .collect();
    times.sort();
    let middle = times.get(ROUNDS / 2).copied().unwrap_or_default();
    println!(
        "publish {name}: {bytes} bytes in {} files, {} ms (bar {} ms)",
        files.len(),
        middle.as_millis(),
        BAR.as_millis()
    );
    if middle <= BAR { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// A packed release of 300 kB: a class, and one addon with files that do not compress.
fn made_up() -> BTreeMap<String, Vec<u8>> {
    let directory = tempfile::tempdir().unwrap();
    let top = directory.path().join(RELEASE);
    let write = |path: &str, content: &[u8]| {
        let path = top.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    };
    write("metadata.yaml", b"versions: {clusterStack: v1, kubernetes: v1.34.2}\n");
    write("cluster-class/Chart.yaml", b"name: class\nversion: v1\n");
    write("cluster-addon/all/Chart.yaml", b"name: all\nversion: v1\n");
    write(
        "clusteraddon.yaml",
        b"addonStages: {AfterControlPlaneInitialized: [{name: all, action: apply}]}\n",
    );
    let mut state = 0x5eed_u32;
    for number in 0..60 {
        let noise = (0..5_000).map(|_| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            state.to_be_bytes()[0]
        });
        write(&format!("cluster-addon/all/files/{number}.bin"), &noise.collect::<Vec<u8>>());
    }
    packed(&top)
}
