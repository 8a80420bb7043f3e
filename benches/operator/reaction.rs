//! Measures a running operator: how soon it follows a change of one cluster, how soon it works again after a restart,
//! and what it does while nothing happens.

use std::collections::BTreeMap;
use std::thread::sleep;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use stackflux_testbed::{Mark, Operator, Write};

use crate::ground::{CLUSTERS, Ground, HELM_RELEASES, cluster_name};
use crate::pace::{is_of_addons, kinds, time};
use crate::rounds::median;

/// Number of fields that are changed, one after another.
const CHANGES: usize = 50;
/// Maximum median of the times until a change is followed, and maximum of all of them, in milliseconds.
const FOLLOWED: (f64, f64) = (50.0, 250.0);
/// Maximum time, for 99 of 100 clusters, from the last status of their `HelmRelease`s to that of the `ClusterAddon`, in seconds.
const REPORTED: f64 = 2.0;
/// Maximum time until a restarted operator has reconciled all clusters, in seconds.
const READY: f64 = 3.0;
/// Duration of the idle phase, and the processor seconds that may be used in it.
const IDLE: (Duration, f64) = (Duration::from_mins(1), 0.3);
/// Time between changes: each is followed before the next one is made.
const PAUSE: Duration = Duration::from_millis(500);
/// Maximum time for an operator to become ready.
const TIMEOUT: Duration = Duration::from_mins(2);

/// Measures and prints. Whether the bars are kept.
pub(crate) fn measure(ground: &Ground, clusters: usize) -> bool {
    let namespace = ground.namespace("reaction");
    ground.create_clusters(&namespace);
    let mark = ground.mark();
    let operator = ground.operator();
    ground.wait_until_quiet(mark);
    let reported = statuses(ground, &namespace);
    let followed = changes(ground, &namespace, clusters);
    // Without these statuses nothing would come to rest: after two minutes the operator reports that Flux does not answer.
    ground.play_helm(&namespace);
    operator.process().unwrap().terminate().unwrap();
    let rests = restart(ground, clusters);
    ground.clear(&namespace);
    reported && followed && rests
}

/// Lets Flux report all `HelmRelease`s of all clusters at once.
fn statuses(ground: &Ground, namespace: &str) -> bool {
    let mark = ground.mark();
    ground.play_helm(namespace);
    let writes = ground.audit().writes_since(mark).unwrap();
    let (mut reported, mut answered) = (BTreeMap::new(), BTreeMap::new());
    for write in writes.iter().filter(|write| write.namespace == namespace && write.subresource == "status") {
        let (times, cluster) = if write.resource == HELM_RELEASES.plural {
            (&mut reported, write.name.split('.').next().unwrap())
        } else {
            (&mut answered, write.name.strip_prefix("cluster-addon-").unwrap())
        };
        let latest = times.entry(cluster).or_insert(time(write));
        *latest = time(write).max(*latest);
    }
    // A cluster whose last report is not answered has a negative time.
    let delay = |(cluster, time): (&&str, &Timestamp)| {
        answered.get(*cluster).map_or(f64::NEG_INFINITY, |answer| answer.duration_since(*time).as_secs_f64())
    };
    let mut delays: Vec<f64> = reported.iter().map(delay).collect();
    delays.sort_by(f64::total_cmp);
    let percentile = delays[delays.len() * 99 / 100];
    println!("all HelmReleases of {} clusters reported, until the status of the ClusterAddon", delays.len());
    println!("{:>8} {:>8.2} s", "median", median(delays.iter().copied()));
    println!("{:>8} {percentile:>8.2} s (bar {REPORTED} s)", "p99");
    percentile < REPORTED && delays[0] >= 0.0
}

/// Changes a field of one cluster after another.
fn changes(ground: &Ground, namespace: &str, clusters: usize) -> bool {
    let mark = ground.mark();
    for number in 0..CHANGES.min(clusters) {
        ground.move_endpoint(namespace, number);
        sleep(PAUSE);
    }
    ground.wait_until_quiet(mark);
    let writes = ground.audit().writes_since(mark).unwrap();
    let times = (0..CHANGES.min(clusters)).map(|number| followed(&writes, &cluster_name(number)));
    let (times, needed): (Vec<f64>, Vec<bool>) = times.unzip();
    let (half, longest) = (median(times.iter().copied()), times.iter().copied().fold(0.0, f64::max));
    let (half_bar, longest_bar) = FOLLOWED;
    println!("one field changed, until the last of its HelmReleases is written, {} times", times.len());
    println!("{:>8} {half:>8.1} ms (bar {half_bar} ms)", "median");
    println!("{:>8} {longest:>8.1} ms (bar {longest_bar} ms)", "longest");
    let needed = needed.iter().all(|needed| *needed);
    if !needed {
        println!("needed: two HelmReleases and two statuses for each; written: {:?}", kinds(&writes));
    }
    needed && half < half_bar && longest < longest_bar
}

/// Milliseconds from the answer to the change of a cluster to the answer to the last write of its `HelmRelease`s, and
/// whether both `HelmRelease`s that read the field were written, and the status before and after them, and nothing else.
fn followed(writes: &[Write], cluster: &str) -> (f64, bool) {
    let of_cluster = |name: &str| name.strip_prefix(cluster).is_some_and(|rest| rest.starts_with('.'));
    let changed = writes.iter().find(|write| write.resource == CLUSTERS.plural && write.name == cluster);
    let releases =
        writes.iter().filter(|write| of_cluster(&write.name) && write.resource == HELM_RELEASES.plural);
    let last = releases.clone().map(time).max().unwrap();
    let statuses = writes.iter().filter(|write| write.name == format!("cluster-addon-{cluster}"));
    let needed = releases.count() == 2 && statuses.count() == 2;
    (last.duration_since(time(changed.unwrap())).as_secs_f64() * 1e3, needed)
}

/// Starts an operator as shipped, with leader election, in a namespace in which everything is as planned.
fn restart(ground: &Ground, clusters: usize) -> bool {
    let all = f64::from(u32::try_from(clusters).unwrap());
    let (mark, begun) = (ground.mark(), Instant::now());
    let operator = ground.operator_with(&[]);
    while operator.ready().is_err() || reconciled(&operator) < all {
        assert!(begun.elapsed() < TIMEOUT, "not ready: {:?}, {:?}", operator.ready(), operator.metrics());
        sleep(Duration::from_millis(20));
    }
    let ready = begun.elapsed().as_secs_f64();
    println!("restarted");
    println!("{:>8} {ready:>8.2} s (bar {READY} s)", "ready");
    // Late work does not belong to the idle phase.
    sleep(Duration::from_secs(10));
    let quiet = is_quiet(ground, mark);
    let (rest, bar) = IDLE;
    let (mark, process) = (ground.mark(), operator.process().unwrap());
    let before = process.cpu_seconds().unwrap();
    sleep(rest);
    let used = process.cpu_seconds().unwrap() - before;
    println!("idle for {rest:?}");
    println!("{:>8} {used:>8.2} s (bar {bar} s)", "CPU");
    let rests = is_quiet(ground, mark);
    process.terminate().unwrap();
    quiet && rests && ready < READY && used < bar
}

/// Number of successful reconciles of Clusters.
fn reconciled(operator: &Operator) -> f64 {
    let metrics = operator.metrics().unwrap_or_default();
    let of_clusters = |name: &str| {
        name.starts_with("stackflux_reconciles_total{")
            && name.contains("\"Cluster\"")
            && name.contains("success")
    };
    metrics.iter().filter(|(name, _)| of_clusters(name)).map(|(_, count)| count).sum()
}

/// Whether the operator has written nothing but its Lease. Prints its other writes.
fn is_quiet(ground: &Ground, mark: Mark) -> bool {
    let writes = ground.audit().operator_writes_since(mark).unwrap();
    println!("{:>8} {:>8} (bar 0) {:?}", "writes", writes.len(), kinds(&writes));
    writes.iter().filter(|write| is_of_addons(write)).take(5).for_each(|write| println!("{write:?}"));
    writes.is_empty()
}
