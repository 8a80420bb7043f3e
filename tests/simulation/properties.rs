//! The properties that hold for all seeds of all scenarios, and their runner.

use std::collections::BTreeMap;
use std::fs;
use std::mem::take;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::Path;
use std::rc::Rc;
use std::thread;

use serde_json::Value;
use tokio::runtime::{Builder, Runtime};

use crate::driver::{Checkpoint, InterruptionKind, Simulation};
use crate::end;
use crate::exhaustive::{self, Wanted};
use crate::golden::{self, finished};
use crate::invariants::Reached;
use crate::random::Random;
use crate::seam::Guard;

/// Number of seeds of all scenarios together, unless the variable `SEEDS` is set. The first one is 0, or the variable `BASE`. A
/// scenario through Git takes several times as long as another, and has a third of its seeds: of 10,000 about 60, and each
/// other one about 190.
const SEEDS: u64 = 200;

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
    /// Content is uninstalled, or its object removed from Git, without a cause.
    Uninstall,
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
    /// An invariant of the scenario does not hold.
    Always,
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
    pub(crate) checkpoint: Option<Checkpoint>,
    /// What was reached, and how often.
    reached: BTreeMap<&'static str, usize>,
    /// The moments that users waited for in vain.
    missed: Vec<&'static str>,
    /// The objects at the end; an error if the scenario itself failed.
    end: thread::Result<Vec<String>>,
}

/// A runtime for the simulations of a thread.
pub(crate) fn runtime() -> &'static Runtime {
    let mut builder = Builder::new_current_thread();
    // `Operator::go_on` holds the only thread.
    Box::leak(Box::new(builder.enable_time().max_blocking_threads(1).build().unwrap()))
}

/// An order of steps.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Order {
    /// Without accidents.
    Calm,
    /// That of a seed.
    Seed(u64),
    /// Without accidents, except for an interruption at the effect with this number.
    Interrupted(InterruptionKind, usize),
}

impl Order {
    /// The variable that repeats it.
    fn variable(self) -> String {
        match self {
            Self::Calm => String::new(),
            Self::Seed(seed) => format!("SEED={seed} "),
            Self::Interrupted(kind, effect) => format!("INTERRUPT={kind}-{effect} "),
        }
    }
}

/// Runs a scenario in one order of steps, without a guard.
pub(crate) fn simulate(
    random: Random,
    without: Option<Guard>,
    runtime: &'static Runtime,
    scenario: impl Fn(&mut Simulation),
) -> Outcome {
    outcome(&mut Simulation::new(random, without, runtime), scenario)
}

/// Runs a scenario to its end.
pub(crate) fn outcome(simulation: &mut Simulation, scenario: impl Fn(&mut Simulation)) -> Outcome {
    let wire = simulation.wire.clone();
    let end = catch_unwind(AssertUnwindSafe(|| {
        scenario(simulation);
        simulation.stay_quiet();
        end::lines(&simulation.wire.cluster().server, &simulation.namespace)
    }));
    let mut cluster = wire.cluster();
    let golden = finished(cluster.golden.take().unwrap_or_default(), &simulation.namespace);
    let (broken, log, reached) =
        (take(&mut cluster.broken), take(&mut cluster.log), take(&mut cluster.reached));
    let missed = simulation.missed_chances();
    Outcome { broken, log, golden, checkpoint: simulation.take_checkpoint(), reached, missed, end }
}

/// Runs a scenario without accidents and with many seeds: it ends, no rule is broken, and the end is the same for all. What
/// the operator writes without accidents is in the golden log.
pub(crate) fn run(name: &str, scenario: impl Fn(&mut Simulation)) {
    let runtime = runtime();
    let mut calm = simulate(Random::calm(), None, runtime, &scenario);
    let golden = take(&mut calm.golden);
    let missed = take(&mut calm.missed);
    let checkpoint = calm.checkpoint.take().map(Rc::new);
    let first = ended(name, Order::Calm, calm, None);
    assert_eq!(missed, [""; 0], "{name}: these moments never come in the calm order");
    if let Some(wanted) = Wanted::read() {
        let count = exhaustive::run(name, &wanted, checkpoint.as_ref(), &first, scenario);
        return println!("{name}: {count} interruptions");
    }
    let base = variable("BASE").unwrap_or_default();
    let all = || (base..base + seeds_of(name)).collect();
    let seeds = variable("SEED").map_or_else(all, |seed| vec![seed]);
    let mut reached = Reached::default();
    for seed in seeds {
        let mut simulation = Simulation::new(Random::of(name, seed), None, runtime);
        simulation.begin_from(checkpoint.clone());
        let mut outcome = outcome(&mut simulation, &scenario);
        reached.add(take(&mut outcome.reached));
        ended(name, Order::Seed(seed), outcome, Some(&first));
    }
    reached.write(name);
    golden::compare(name, &golden);
}

/// The end of an outcome. Fails if there is none, if a rule is broken, or if it is another end than the first one.
pub(crate) fn ended(name: &str, order: Order, outcome: Outcome, first: Option<&[String]>) -> Vec<String> {
    let Outcome { broken, log, end, .. } = outcome;
    let end = end.unwrap_or_else(|panic| {
        eprintln!("{}", report(name, order, &log));
        resume_unwind(panic)
    });
    let broken: Vec<String> =
        broken.iter().map(|Violation { rule, what }| format!("{rule:?}: {what}")).collect();
    assert!(broken.is_empty(), "{}\n{}", report(name, order, &log), broken.join("\n"));
    if let Some(first) = first {
        assert!(end == first, "{}\n\n{}", report(name, order, &log), difference(&end, first));
    }
    end
}

/// The log of a failure, and how to repeat it.
fn report(name: &str, order: Order, log: &[String]) -> String {
    let thread = thread::current();
    let test = thread.name().filter(|test| test.contains("::")).unwrap_or(name);
    let (log, variable) = (log.join("\n"), order.variable());
    format!("{log}\n\n{name} fails ({order:?}); repeat it: {variable}make simulate SCENARIO={test}")
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
