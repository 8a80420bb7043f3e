//! Reads the watched objects for a scrape of the metrics.

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;

use super::context::Context;
use super::metrics::{ConditionOf, Objects};
use super::status::Reported;
use crate::api::{ClusterAddon, ClusterStackRelease};
use crate::foreign::flux::ownership::cluster_of;
use crate::rollup::unready_since;
use crate::runtime::cache::Key;

/// Reads the objects that this process reports on; `None` unless it leads: another process reports on the same objects.
#[expect(clippy::disallowed_methods, reason = "a scrape gathers facts of its time")]
pub(super) fn objects(context: &Context) -> Option<Objects> {
    if !context.api.may_write() {
        return None;
    }
    let (stacks, releases) = (context.caches.stacks.all(), context.caches.releases.all());
    let releases = releases.iter().filter(|release| is_reported(context, release));
    let conditions = stacks.iter().flat_map(|stack| conditions(&**stack, "ClusterStack"));
    let conditions = conditions.chain(releases.flat_map(|of| self::conditions(&**of, "ClusterStackRelease")));
    let addons = context.caches.addons.all();
    let addons = addons.iter().filter(|addon| is_cluster_reported(context, addon));
    let unready = addons.filter_map(|addon| unready_since(addon));
    Some(Objects {
        conditions: conditions.collect(),
        oldest_unready_seconds: age(unready.min(), context.clock.now()),
    })
}

/// Whether this operator reports on a release: with a label selector, only if it watches its `ClusterStack`.
fn is_reported(context: &Context, release: &ClusterStackRelease) -> bool {
    let is_known = |key: Key| context.caches.stacks.get(&key).is_some();
    !context.is_sharded() || release.stack_key().is_some_and(is_known)
}

/// Whether this operator reports on the Cluster of a `ClusterAddon`: with a label selector, not on those of other operators.
fn is_cluster_reported(context: &Context, addon: &ClusterAddon) -> bool {
    let cluster = || context.caches.clusters.get(&cluster_of(addon));
    !context.is_sharded() || cluster().is_some_and(|cluster| context.reports_on(&cluster, Some(addon)))
}

/// Returns the conditions of an object.
fn conditions<K: Reported>(object: &K, kind: &'static str) -> Vec<ConditionOf> {
    let Key { namespace, name } = Key::of(object);
    let of = |condition: &Condition| ConditionOf {
        kind,
        namespace: namespace.clone(),
        name: name.clone(),
        type_: condition.type_.clone(),
        status: condition.status.clone(),
    };
    object.status().map(K::conditions).unwrap_or_default().iter().map(of).collect()
}

/// Returns the seconds since a time, and 0 without one.
fn age(since: Option<Timestamp>, now: Timestamp) -> f64 {
    since.map_or(0.0, |since| now.duration_since(since).as_secs_f64().max(0.0))
}
