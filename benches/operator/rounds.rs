//! Rounds in which the operator and the plain client write the same in turns, and their results.

use std::collections::BTreeMap;

use crate::ground::Ground;
use crate::pace::{Pace, Sampler, kinds};
use crate::plain::{Bodies, Plain};

/// Minimum share of the plain client's rate.
const SHARE: f64 = 0.8;
/// Maximum processor seconds, user and system, from the first to the last write.
const PROCESSOR: f64 = 2.0;
/// Maximum memory, in MiB.
const MEMORY: f64 = 100.0;

/// Number of writes by kind.
type Kinds = BTreeMap<String, usize>;

/// The operator's writes for new clusters, and those after the clusters moved to another release.
pub(crate) struct Written {
    everything: Bodies,
    difference: Bodies,
}

/// The results of a round.
struct Round {
    plain: PlainRound,
    operator: OperatorRound,
}

struct PlainRound {
    created: Pace,
    changed: Pace,
}

struct OperatorRound {
    created: Work,
    changed: Work,
}

/// The work of an operator from its start until nothing was left to do.
struct Work {
    pace: Pace,
    /// Processor seconds from the first to the last write.
    processor: f64,
    /// Peak memory, in MiB.
    memory: f64,
    writes: Kinds,
}

/// Runs rounds and prints them. Whether the bars are kept.
pub(crate) fn measure(ground: &Ground, (clusters, components): (usize, usize), rounds: usize) -> bool {
    // An API server is three times slower in its first minute: this round only warms it up.
    let (_, written) = operator_round(ground);
    plain_round(ground, &written);
    println!("{clusters} clusters × {} addons: writes in a second, what the operator used", 4 + components);
    println!("{:>8} {:^34} {:^34} {:>7}", "", "everything new", "one chart changed", "");
    let columns = ["plain", "operator", "share"].map(|name| format!("{name:>8}")).join(" ");
    println!("{:>8} {columns} {:>7} {columns} {:>7} {:>7}", "round", "CPU s", "CPU s", "MiB");
    let rounds: Vec<Round> = (0..rounds).map(|number| round(ground, &written, number)).collect();
    let medians = medians(&rounds);
    print_row("median", &medians);
    let [_, _, created, created_processor, _, _, changed, changed_processor, memory] = medians;
    let bars = format!("{SHARE:>26.2} {PROCESSOR:>7.2}");
    println!("{:>8} {bars} {bars} {MEMORY:>7.1}", "bar");
    let is_cheap = created_processor < PROCESSOR && changed_processor < PROCESSOR;
    let mut within = created >= SHARE && changed >= SHARE && is_cheap && memory < MEMORY;
    for round in &rounds {
        within &= is_needed(&round.operator, (clusters, components));
    }
    within
}

/// Runs a round. The operator and the plain client take turns in being first.
fn round(ground: &Ground, written: &Written, number: usize) -> Round {
    let round = if number.is_multiple_of(2) {
        let (operator, _) = operator_round(ground);
        Round { plain: plain_round(ground, written), operator }
    } else {
        let plain = plain_round(ground, written);
        Round { plain, operator: operator_round(ground).0 }
    };
    print_row(&(number + 1).to_string(), &figures(&round));
    round
}

/// The operator finds new clusters, then that they were moved to another release when they were ready.
fn operator_round(ground: &Ground) -> (OperatorRound, Written) {
    let namespace = ground.namespace("operator");
    ground.create_clusters(&namespace);
    let created = work(ground);
    let everything = Bodies::read(&ground.api, &namespace);
    ground.make_ready(&namespace);
    ground.move_clusters(&namespace);
    let changed = work(ground);
    let difference = Bodies::read(&ground.api, &namespace).changed_since(&everything);
    ground.clear(&namespace);
    (OperatorRound { created, changed }, Written { everything, difference })
}

/// Runs an operator until it has nothing left to do.
fn work(ground: &Ground) -> Work {
    let mark = ground.mark();
    let operator = ground.operator();
    let process = operator.process().unwrap();
    let sampler = Sampler::start(process.clone());
    ground.wait_until_quiet(mark);
    let writes = ground.audit().operator_writes_since(mark).unwrap();
    let pace = Pace::of(writes.iter());
    let processor = sampler.used(&pace);
    let memory = mebibytes(process.peak_memory_bytes().unwrap());
    process.terminate().unwrap();
    Work { pace, processor, memory, writes: kinds(&writes) }
}

/// The plain client writes the same into a namespace of its own, while no operator runs.
fn plain_round(ground: &Ground, written: &Written) -> PlainRound {
    let namespace = ground.namespace("plain");
    let mut plain = Plain::new(&ground.api, &namespace);
    let clusters = written.everything.clusters();
    plain.create_clusters(clusters);
    ground.wait_until_quiet(ground.mark());
    let mark = ground.mark();
    plain.create(&written.everything, &namespace);
    let created = plain_pace(ground, mark, &namespace, written.everything.count() + clusters);
    let mark = ground.mark();
    plain.update(&written.difference);
    let changed = plain_pace(ground, mark, &namespace, written.difference.count());
    ground.clear(&namespace);
    PlainRound { created, changed }
}

fn plain_pace(ground: &Ground, mark: stackflux_testbed::Mark, namespace: &str, count: usize) -> Pace {
    ground.wait_until_quiet(mark);
    let writes = ground.audit().writes_since(mark).unwrap();
    let pace = Pace::of(writes.iter().filter(|write| write.namespace == namespace));
    assert_eq!(pace.count, count, "the plain client writes each object once");
    pace
}

/// Whether the operator wrote each object once, and no other writes for clusters. The status of a ready cluster is written twice
/// for another content: an operator that ends in between must not leave it ready. Prints the writes otherwise.
fn is_needed(operator: &OperatorRound, (clusters, components): (usize, usize)) -> bool {
    let (releases, addons, statuses) =
        ("helmreleases patch", "clusteraddons patch", "clusteraddons/status patch");
    let new = [
        (releases, (4 + components) * clusters),
        (addons, clusters),
        (statuses, clusters),
        ("clusters patch", clusters),
    ];
    let moved = [(releases, clusters), (statuses, 2 * clusters)];
    let mut needed = true;
    for (what, work, expected) in
        [("everything new", &operator.created, &new[..]), ("one chart changed", &operator.changed, &moved)]
    {
        let mut others = work.writes.clone();
        let is_each = expected.iter().all(|(kind, count)| others.remove(*kind) == Some(*count));
        let is_of_addons =
            |kind: &String| kind.starts_with("clusteraddons") || kind.starts_with("helmreleases");
        if !is_each || others.keys().any(is_of_addons) {
            needed = false;
            println!("{what}: needed {expected:?}, written {:?}", work.writes);
        } else if !others.is_empty() {
            println!("{what}: written besides: {others:?}");
        }
    }
    needed
}

fn figures(Round { plain, operator }: &Round) -> [f64; 9] {
    let OperatorRound { created, changed } = operator;
    let share = |work: &Work, plain: &Pace| work.pace.rate() / plain.rate();
    [
        plain.created.rate(),
        created.pace.rate(),
        share(created, &plain.created),
        created.processor,
        plain.changed.rate(),
        changed.pace.rate(),
        share(changed, &plain.changed),
        changed.processor,
        created.memory.max(changed.memory),
    ]
}

/// The median of each figure; the shares are those of the median rates.
fn medians(rounds: &[Round]) -> [f64; 9] {
    let rows: Vec<[f64; 9]> = rounds.iter().map(figures).collect();
    let mut medians = std::array::from_fn(|column| median(rows.iter().map(|row| row[column])));
    medians[2] = medians[1] / medians[0];
    medians[6] = medians[5] / medians[4];
    medians
}

pub(crate) fn median(numbers: impl Iterator<Item = f64>) -> f64 {
    let mut numbers: Vec<f64> = numbers.collect();
    numbers.sort_by(f64::total_cmp);
    let (low, high) = ((numbers.len() - 1) / 2, numbers.len() / 2);
    f64::midpoint(numbers[low], numbers[high])
}

fn print_row(name: &str, figures: &[f64; 9]) {
    let columns = |part: &[f64]| match part {
        [plain, operator, share, processor] => {
            format!("{plain:>8.0} {operator:>8.0} {share:>8.2} {processor:>7.2}")
        }
        _ => String::new(),
    };
    let [created @ .., memory] = figures;
    let (created, changed) = created.split_at(created.len() / 2);
    println!("{name:>8} {} {} {memory:>7.1}", columns(created), columns(changed));
}

#[expect(clippy::cast_precision_loss, reason = "fewer than 2^52 bytes")]
fn mebibytes(bytes: u64) -> f64 {
    bytes as f64 / f64::from(1024 * 1024)
}
