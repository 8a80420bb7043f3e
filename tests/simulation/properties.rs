//! The properties that hold for all seeds of all scenarios, and their runner.

use std::fs;
use std::mem::take;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;
use std::thread;

use serde_json::Value;
use tokio::runtime::{Builder, Runtime};

use crate::api_server::kinds::KINDS;
use crate::driver::{Checkpoint, Simulation};
use crate::flux::number;
use crate::golden::{self, finished};
use crate::random::Random;
use crate::seam::Guard;

/// Number of seeds of all scenarios together, unless the variable `SEEDS` is set. The first one is 0, or the variable `BASE`. A
/// scenario through Git takes several times
/// as long as another, and has a third of its seeds: of 10,000 about 60, and each other one about 190.
const SEEDS: u64 = 1000;

/// A rule that holds in any order of steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rule {
    /// A status names a content that the cluster never had.
    Lie,
    /// A status is outdated for too long.
    Late,
    /// The cause of a deletion does not hold.
    DeletionWithoutCause,
    /// A deletion hits another object than the one that was decided on.
    DeletionOfAnother,
    /// A deletion happens before the status counts it.
    Uncounted,
    /// An object of others is written.
    ForeignWrite,
    /// A process without the Lease writes.
    NotLeader,
    /// A late request of a process that has ended replaces a status that is newer than its decision.
    StatusReplaced,
    /// The operator writes although nothing changes.
    Unquiet,
    /// `diff --live` prints something else than the operator writes.
    Preview,
    /// The simulation does not end.
    Endless,
}

/// A broken rule.
#[derive(Clone, Debug)]
pub(crate) struct Violation {
    pub(crate) rule: Rule,
    pub(crate) what: String,
}

/// The outcome of a scenario in one order of steps.
pub(crate) struct Outcome {
    pub(crate) broken: Vec<Violation>,
    /// The log of all steps.
    pub(crate) log: Vec<String>,
    /// The golden log, if the order is the calm one.
    golden: Vec<String>,
    /// The state after the first delivery, if the order is the calm one.
    checkpoint: Option<Checkpoint>,
    /// The objects at the end; an error if the scenario itself failed.
    end: thread::Result<Vec<String>>,
}

/// A runtime for the simulations of a thread.
pub(crate) fn runtime() -> &'static Runtime {
    Box::leak(Box::new(Builder::new_current_thread().enable_time().build().unwrap()))
}

/// Runs a scenario in one order of steps, without a guard.
pub(crate) fn simulate(
    random: Random,
    without: Option<Guard>,
    runtime: &'static Runtime,
    scenario: impl Fn(&mut Simulation),
) -> Outcome {
    outcome(Simulation::new(random, without, runtime), scenario)
}

/// Runs a scenario to its end.
fn outcome(mut simulation: Simulation, scenario: impl Fn(&mut Simulation)) -> Outcome {
    let wire = simulation.wire.clone();
    let end = catch_unwind(AssertUnwindSafe(|| {
        scenario(&mut simulation);
        simulation.stay_quiet();
        end(&simulation)
    }));
    let mut cluster = wire.cluster();
    let golden = finished(cluster.golden.take().unwrap_or_default(), &simulation.namespace);
    let (broken, log) = (take(&mut cluster.broken), take(&mut cluster.log));
    Outcome { broken, log, golden, checkpoint: simulation.take_checkpoint(), end }
}

/// Runs a scenario without accidents and with many seeds: it ends, no rule is broken, and the end is the same for all. What
/// the operator writes without accidents is in the golden log.
pub(crate) fn run(name: &str, scenario: impl Fn(&mut Simulation)) {
    let runtime = runtime();
    let mut calm = simulate(Random::calm(), None, runtime, &scenario);
    let golden = take(&mut calm.golden);
    let checkpoint = calm.checkpoint.take().map(Rc::new);
    let first = ended(name, None, calm, None);
    let base = variable("BASE").unwrap_or_default();
    let all = || (base..base + seeds_of(name)).collect();
    let seeds = variable("SEED").map_or_else(all, |seed| vec![seed]);
    for seed in seeds {
        let mut simulation = Simulation::new(Random::of(name, seed), None, runtime);
        simulation.begin_from(checkpoint.clone());
        ended(name, Some(seed), outcome(simulation, &scenario), Some(&first));
    }
    golden::compare(name, &golden);
}

/// The end of an outcome. Fails if there is none, if a rule is broken, or if it is another end than the first one.
fn ended(name: &str, seed: Option<u64>, outcome: Outcome, first: Option<&[String]>) -> Vec<String> {
    let Outcome { broken, log, end, .. } = outcome;
    let end = end.unwrap_or_else(|panic| {
        eprintln!("{}", report(name, seed, &log));
        resume_unwind(panic)
    });
    let broken: Vec<String> =
        broken.iter().map(|Violation { rule, what }| format!("{rule:?}: {what}")).collect();
    assert!(broken.is_empty(), "{}\n{}", report(name, seed, &log), broken.join("\n"));
    if let Some(first) = first {
        assert!(end == first, "{}\n\n{}", report(name, seed, &log), difference(&end, first));
    }
    end
}

/// The log of a failure, and how to repeat it.
fn report(name: &str, seed: Option<u64>, log: &[String]) -> String {
    let thread = thread::current();
    let test = thread.name().filter(|test| test.contains("::")).unwrap_or(name);
    let (seed, order) = match seed {
        Some(seed) => (format!("SEED={seed} "), format!("seed {seed}")),
        None => (String::new(), "the calm order".to_owned()),
    };
    let log = log.join("\n");
    format!("{log}\n\n{name} fails with {order}; repeat it: {seed}make simulate SCENARIO={test}")
}

/// The objects in which two ends differ.
fn difference(end: &[String], first: &[String]) -> String {
    let only = |these: &[String], those: &[String]| {
        let lines: Vec<&str> =
            these.iter().filter(|line| !those.contains(line)).map(String::as_str).collect();
        lines.join("\n")
    };
    format!("it ends with\n{}\ninstead of\n{}", only(end, first), only(first, end))
}

/// Lets a simulation settle.
pub(crate) fn settle(simulation: &mut Simulation) {
    simulation.settle();
}

fn variable(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|value| value.parse().unwrap())
}

/// The names of all scenarios.
pub(crate) fn scenarios() -> Vec<String> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/simulation/scenarios");
    let texts =
        fs::read_dir(directory).unwrap().map(|file| fs::read_to_string(file.unwrap().path()).unwrap());
    let names = |text: String| {
        let begun = text.split("run(\"").skip(1);
        begun.filter_map(|name| Some(name.split_once('"')?.0.to_owned())).collect::<Vec<_>>()
    };
    texts.flat_map(names).collect()
}

/// Number of seeds of a scenario: its [`share`] of all.
fn seeds_of(name: &str) -> u64 {
    let shares: u64 = scenarios().iter().map(|name| share(name)).sum();
    (variable("SEEDS").unwrap_or(SEEDS) * share(name)).div_ceil(shares)
}

fn share(name: &str) -> u64 {
    if name.starts_with("git") { 1 } else { 3 }
}

/// The status of a condition, and whether it is of the present generation.
pub(crate) fn condition<'a>(object: &'a Value, kind: &str) -> Option<(&'a str, bool)> {
    let conditions = object["status"]["conditions"].as_array()?;
    let found = conditions.iter().find(|condition| condition["type"] == kind)?;
    let is_current = found["observedGeneration"] == object["metadata"]["generation"];
    Some((found["status"].as_str()?, is_current))
}

/// All objects at the end, without the parts that depend on the order: UIDs, versions and times.
fn end(simulation: &Simulation) -> Vec<String> {
    let cluster = simulation.wire.cluster();
    let objects = (0..KINDS.len()).flat_map(|kind| cluster.server.list(kind));
    let stacks = cluster.server.list(number("ClusterStack"));
    let url = |stack: &Arc<Value>| stack.pointer("/spec/delivery/git/url")?.as_str().map(str::to_owned);
    let url = stacks.iter().find_map(url);
    let line = |object: Arc<Value>| {
        let conditions = object["status"]["conditions"].as_array().into_iter().flatten();
        // The reasons of Flux say whether it upgraded in between, before the operator restored what a user changed.
        let is_helm_release = object["kind"] == "HelmRelease";
        let reason =
            |condition: &Value| if is_helm_release { Value::Null } else { condition["reason"].clone() };
        let conditions: Vec<String> = conditions
            .map(|condition| format!("{}={} {}", condition["type"], condition["status"], reason(condition)))
            .collect();
        let (kind, name, spec) = (&object["kind"], &object["metadata"]["name"], &object["spec"]);
        let spec = if *kind == "ClusterAddon" { &Value::Null } else { spec };
        let line = format!("{kind} {name} {spec} {}", conditions.join(" "));
        let line = line.replace(&simulation.namespace, "team");
        url.as_ref().map_or(line.clone(), |url| line.replace(url, "fleet"))
    };
    objects.map(line).collect()
}
