//! Measures plans: rendering, planning and YAML in memory for 1 to 10,000 clusters, and `generate` from files.
//!
//! `cargo bench --bench plan` fails when a bar is missed: 200 ms for 1,000 clusters × 4 addons in memory, 1 s for
//! `generate` of them from files, 50 ms for `generate` of the example. Each figure is the best of several runs. In
//! memory it is the processor time of the one thread, so that other work on the machine does not count; from files it is
//! wall-clock time.
#![allow(clippy::disallowed_methods, reason = "a program that measures")]
#![allow(clippy::print_stdout, reason = "a program that prints")]
#![allow(clippy::unwrap_used, reason = "a program for developers")]
#![allow(missing_docs, reason = "no library")]

mod planning;
mod support;

use std::fs;
use std::hint::black_box;
use std::path::Path;
use std::process::{Command, ExitCode};
use std::sync::LazyLock;
use std::time::{Duration, Instant};

use planning::{RELEASE, release, stack};
use serde_json::Value;
use stackflux::foreign::capi::Cluster;
use stackflux::gate::upgrade::Phase;
use stackflux::inputs::content::{self, Catalog, CatalogEntry, Contents, Existing};
use stackflux::inputs::stack::Stack;
use stackflux::inputs::{ClusterInputs, ReleaseInputs};
use stackflux::plan::stages::Course;
use stackflux::plan::{self, canonical};
use stackflux::release::Release;
use support::{objects, release_files};

const COMMIT: &str = "1111111111111111111111111111111111111111";
/// Clusters planned in memory; the bar is for the fourth.
const SIZES: [usize; 5] = [1, 10, 100, 1_000, 10_000];
const IN_MEMORY: Duration = Duration::from_millis(200);
const FROM_FILES: Duration = Duration::from_secs(1);
const EXAMPLE: Duration = Duration::from_millis(50);

fn main() -> ExitCode {
    let in_memory = in_memory();
    let from_files = from_files();
    if in_memory && from_files { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn cluster_inputs(number: usize) -> ClusterInputs {
    let [cluster, control_plane, infrastructure] = objects("demo", "demo", RELEASE, number);
    let related = [control_plane, infrastructure];
    ClusterInputs::new(Cluster::new(cluster).unwrap(), |to| {
        related.iter().find(|object| object["kind"].as_str() == Some(&to.kind))
    })
}

/// Renders, plans and writes YAML. Returns the number of bytes.
fn plan(stack: &Stack, release: &Release, contents: &Contents, clusters: &[ClusterInputs]) -> usize {
    let inputs = ReleaseInputs { stack, release, contents };
    let mut plan = plan::stack(stack).unwrap();
    plan.merge(plan::release(&inputs).unwrap()).unwrap();
    for cluster in clusters {
        plan.merge(plan::cluster(&inputs, cluster, &Course::ended(Phase::Steady)).unwrap()).unwrap();
    }
    assert_eq!(plan.held(), [], "every addon is rendered");
    canonical::documents(plan.objects().map(|object| &object.value)).len()
}

/// Plans in memory. Whether the bar is kept.
fn in_memory() -> bool {
    let (stack, release) = (stack(), release());
    let entry = CatalogEntry::of(&release, COMMIT.parse().unwrap());
    let catalog = Catalog::from([(release.name.clone(), entry)]);
    let contents = content::resolve(&stack, &release, &catalog, &Existing::default()).unwrap();
    let clusters: Vec<ClusterInputs> = (0..10_000).map(cluster_inputs).collect();
    println!("in memory, rendering + planning + YAML, 4 addons each");
    println!("{:>8} {:>10} {:>12} {:>10} {:>10}", "clusters", "ms", "µs/cluster", "to linear", "KiB");
    let time = |size: usize| {
        let (clusters, _) = clusters.split_at(size);
        // Linux counts processor time in steps of milliseconds: short work is repeated.
        let times = u32::try_from(1_000 / size).unwrap().max(1);
        let plans = || (0..times).map(|_| plan(&stack, &release, &contents, clusters)).sum();
        (best(5, processor, plans) / times, plan(&stack, &release, &contents, clusters))
    };
    let per_cluster =
        |time: Duration, size: usize| time.as_secs_f64() * 1e6 / f64::from(u32::try_from(size).unwrap());
    let reference = per_cluster(time(1_000).0, 1_000);
    let mut within = true;
    for size in SIZES {
        let (time, bytes) = time(size);
        let each = per_cluster(time, size);
        let milliseconds = time.as_secs_f64() * 1e3;
        println!(
            "{size:>8} {milliseconds:>10.2} {each:>12.1} {:>10.2} {:>10}",
            each / reference,
            bytes / 1024
        );
        within &= size != 1_000 || time < IN_MEMORY;
    }
    within
}

/// Runs `generate` from files. Whether the bars are kept.
fn from_files() -> bool {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join("bench-plan");
    for (path, content) in release_files("v1") {
        let path = directory.join(RELEASE).join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }
    let objects: Vec<Value> =
        (0..1_000).flat_map(|number| objects("demo", "demo", RELEASE, number)).collect();
    fs::write(directory.join("clusters.yaml"), canonical::documents(objects.iter())).unwrap();
    let (stack, namespace) = (["--url", "https://git.example.org/stacks.git"], ["--namespace", "demo"]);
    let thousand = [&["generate", RELEASE, "--filename", "clusters.yaml"][..], &stack, &namespace].concat();
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples");
    let example = ["generate", "stack", "--settings", "clusterstack.yaml", "--filename", "clusters"];
    println!("generate from files");
    let runs = [
        ("1,000 clusters × 4 addons", directory.as_path(), &thousand[..], FROM_FILES),
        ("the example", examples.as_path(), &example, EXAMPLE),
    ];
    let mut within = true;
    for (name, directory, arguments, bar) in runs {
        let time = best(5, passing, || generate(directory, arguments));
        println!("{name:>28} {:>10.1} ms", time.as_secs_f64() * 1e3);
        within &= time < bar;
    }
    within
}

/// Runs the program. Returns the number of bytes that it prints.
fn generate(directory: &Path, arguments: &[&str]) -> usize {
    let mut command = Command::new(env!("CARGO_BIN_EXE_stackflux"));
    let output =
        command.current_dir(directory).args(arguments).args(["--revision", COMMIT]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    output.stdout.len()
}

/// The minimum that `clock` advances while `run` runs.
fn best(runs: usize, clock: fn() -> Duration, mut run: impl FnMut() -> usize) -> Duration {
    let time = |()| {
        let start = clock();
        black_box(run());
        clock().saturating_sub(start)
    };
    std::iter::repeat_n((), runs).map(time).min().unwrap()
}

/// The processor time of this thread: the first number of `schedstat` in Linux's `/proc` is nanoseconds.
fn processor() -> Duration {
    let times = fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    Duration::from_nanos(times.split_whitespace().next().unwrap().parse().unwrap())
}

/// Wall-clock time.
fn passing() -> Duration {
    static START: LazyLock<Instant> = LazyLock::new(Instant::now);
    START.elapsed()
}
