//! Measures delivery through Git: the first commit of 1,000 clusters with four addons each, a change of one of them, and
//! a pass over all of them that finds nothing to do.
//!
//! The repository is a bare one behind the testbed's Git server on loopback. `cargo bench --bench git_delivery` fails when a
//! bar is missed: 15 s for the first commit, 500 ms and two files for the change of one cluster, 150 MiB of memory for all
//! of it in one process. `BENCH_CLUSTERS` (1,000) makes a quick run possible.
#![allow(clippy::disallowed_methods, reason = "a program that measures")]
#![allow(clippy::print_stdout, reason = "a program that prints")]
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a program for developers")]
#![allow(missing_docs, reason = "no library")]

#[path = "../planning.rs"]
mod planning;
#[path = "../support.rs"]
mod support;

use std::collections::BTreeSet;
use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

use jiff::Timestamp;
use planning::{RELEASE, release, stack};
use serde_json::{Value, json};
use stackflux::foreign::capi::Cluster;
use stackflux::gate::upgrade::Phase;
use stackflux::git::{self, Access, BareRepository, Credentials, Identity, Proposal, Target, Updated};
use stackflux::inputs::content::{self, Catalog, CatalogEntry, Contents, Existing};
use stackflux::inputs::stack::Stack;
use stackflux::inputs::{ClusterInputs, ReleaseInputs};
use stackflux::plan::stages::Course;
use stackflux::plan::{self, Plan};
use stackflux::release::Release;
use stackflux::sink::git::{Below, edit};
use stackflux::sink::layout::ClusterName;
use stackflux::sink::message::{Origin, message};
use stackflux::sink::update::{Budget, Delivery, DeliveryError, Limit, Overwrite, Scope, update};
use stackflux_testbed::GuardedGitServer;
use support::objects;

const COMMIT: &str = "1111111111111111111111111111111111111111";
const STACK: &str = "demo/bench";
const ROOT: &str = "fleet/demo";
const FIRST: Duration = Duration::from_secs(15);
const ONE: Duration = Duration::from_millis(500);
const MEMORY: f64 = 150.0;

fn main() -> ExitCode {
    let clusters = env::var("BENCH_CLUSTERS").map_or(1_000, |number| number.parse().unwrap());
    let ground = Ground::prepare();
    println!("{clusters} clusters × 4 addons into a bare repository on loopback");
    let first = timed("first commit", FIRST, || {
        let plan = ground.plan(0..clusters, 0);
        ground.deliver(&plan, Scope::default())
    });
    let mut within = first;
    for round in 1..=5 {
        let number = clusters / 2 + round;
        let mut commit = None;
        within &= timed("one cluster changes", ONE, || {
            let plan = ground.cluster(number, round);
            let name = plan.objects().next().unwrap().id.namespace.parse().unwrap();
            let cluster = format!("cluster-{number:05}").parse().unwrap();
            let only = BTreeSet::from([ClusterName::new(&name, &cluster).unwrap()]);
            let updated = ground.deliver(&plan, Scope { only: Some(only), ..Scope::default() });
            if let Updated::Pushed { commit: pushed, .. } = updated {
                commit = Some(pushed.to_string());
            }
            updated
        });
        let files = ground.files_of(&commit.unwrap());
        println!("{:>24} {files} files", "");
        within &= files == 2;
    }
    let plan = ground.plan(0..clusters, 0);
    let start = Instant::now();
    ground.deliver(&plan, Scope::default());
    println!(
        "{:>24} {:>9.1} ms (all clusters, five of them changed back)",
        "a whole pass",
        milliseconds(start.elapsed())
    );
    let memory = peak_memory();
    println!("{:>24} {memory:>9.1} MiB (bar {MEMORY})", "most memory");
    if within && memory < MEMORY { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Runs `run` and prints its duration. Whether that is within the bar.
fn timed(what: &str, bar: Duration, run: impl FnOnce() -> Updated) -> bool {
    let start = Instant::now();
    let updated = run();
    let time = start.elapsed();
    println!("{what:>24} {:>9.1} ms (bar {} ms)", milliseconds(time), bar.as_millis());
    assert!(matches!(updated, Updated::Pushed { attempts: 1, .. }), "{updated:?}");
    time < bar
}

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

/// The peak memory of this process, in MiB.
fn peak_memory() -> f64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().strip_suffix(" kB").unwrap().parse::<f64>().unwrap() / 1024.0
}

/// A stack with one release, an empty repository and a clone of it.
struct Ground {
    stack: Stack,
    release: Release,
    contents: Contents,
    /// The directory of the clone.
    directory: PathBuf,
    clone: BareRepository,
    _server: GuardedGitServer,
}

impl Ground {
    fn prepare() -> Self {
        let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join("bench-git-delivery");
        if directory.exists() {
            fs::remove_dir_all(&directory).unwrap();
        }
        git::set_connection_program(env!("CARGO_BIN_EXE_stackflux").into());
        let server = GuardedGitServer::start().unwrap();
        let url = server.url("bench").parse().unwrap();
        let clone = BareRepository::open(&directory, Access { url, credentials: Credentials::default() });
        let (stack, release) = (stack(), release());
        let entry = CatalogEntry::of(&release, COMMIT.parse().unwrap());
        let catalog = Catalog::from([(release.name.clone(), entry)]);
        let contents = content::resolve(&stack, &release, &catalog, &Existing::default()).unwrap();
        Self { stack, release, contents, directory, clone: clone.unwrap(), _server: server }
    }

    fn inputs(&self) -> ReleaseInputs<'_> {
        ReleaseInputs { stack: &self.stack, release: &self.release, contents: &self.contents }
    }

    /// Everything of the stack with these clusters.
    fn plan(&self, clusters: std::ops::Range<usize>, round: usize) -> Plan {
        let mut plan = plan::stack(&self.stack).unwrap();
        plan.merge(plan::release(&self.inputs()).unwrap()).unwrap();
        clusters.for_each(|number| plan.merge(self.cluster(number, round)).unwrap());
        plan
    }

    /// One cluster, which differs in each round.
    fn cluster(&self, number: usize, round: usize) -> Plan {
        let [mut cluster, control_plane, infrastructure] = objects("demo", "demo", RELEASE, number);
        if round > 0 {
            cluster["spec"]["controlPlaneEndpoint"]["port"] = json!(7_000 + round);
        }
        let related: [Value; 2] = [control_plane, infrastructure];
        let inputs = ClusterInputs::new(Cluster::new(cluster).unwrap(), |to| {
            related.iter().find(|object| object["kind"].as_str() == Some(&to.kind))
        });
        plan::cluster(&self.inputs(), &inputs, &Course::ended(Phase::Steady)).unwrap()
    }

    /// Commits and pushes the changes of a plan.
    fn deliver(&self, plan: &Plan, scope: Scope) -> Updated {
        let delivery = Delivery {
            stack: STACK.to_owned(),
            plan,
            scope,
            overwrite: Overwrite::default(),
            budget: Budget { limit: Limit::Tenth, allowed: None },
        };
        let identity = Identity::parse("Bench <bench@localhost>", Timestamp::now()).unwrap();
        let target = Target { branch: "main".to_owned(), push_to: None };
        let updated = git::update(&self.clone, &target, None, |snapshot| {
            let changes = update(&Below::new(snapshot, ROOT), &delivery)?;
            assert!(changes.refused.is_empty() && changes.withheld.is_none(), "{:?}", changes.refused);
            let origin = Origin { stack: STACK, plan: plan.digest(), version: "bench" };
            let (message, edit) =
                (message(&changes, &origin), edit(&changes, ROOT).map_err(DeliveryError::Tree)?);
            let proposal = Proposal { edit, message: message.to_string(), identity: identity.clone() };
            Ok::<_, DeliveryError<_>>((!changes.is_empty()).then_some(proposal))
        });
        updated.unwrap()
    }

    /// Number of files that a commit changed.
    fn files_of(&self, commit: &str) -> usize {
        let repository = self.directory.join("repository.git");
        let arguments = ["diff-tree", "-r", "--name-only", "--no-commit-id", commit];
        let output = Command::new("git").current_dir(repository).args(arguments).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap().lines().count()
    }
}
