//! The statuses of `ClusterStack`s and `ClusterStackRelease`s, against what their reconcile could know.

use serde_json::Value;

use crate::api_server::ApiServer;
use crate::intent::{Known, is_ready};
use crate::past::{Past, is_deleting};
use crate::properties::condition;

/// The numbers of Clusters that are no sum.
const PARTS: [&str; 8] =
    ["ready", "notReady", "unknown", "deleting", "paused", "suspended", "notInitialized", "notOffered"];

/// The states from which a status was computed: all since its reconcile began.
struct Window<'a> {
    server: &'a ApiServer,
    known: &'a Known,
    /// The position of the status in the log.
    position: usize,
}

impl<'a> Window<'a> {
    /// The states of a kind, the last one first.
    fn states(&self, kind: &str) -> impl Iterator<Item = Past<'a>> {
        let states = self.known.states(self.server, kind, self.position);
        states.into_iter().map(|at| Past::new(self.server, at))
    }

    /// Whether an object of a kind was ready in one of the states.
    fn was_ready(&self, kind: &str, namespace: &str, name: &str) -> bool {
        self.states(kind).any(|past| past.named(kind, namespace, name).is_some_and(is_ready))
    }

    /// Whether a Cluster used a release in one of the states, or its `ClusterAddon` named it; and whether a Cluster used it in
    /// all of them.
    fn uses(&self, release: &Value) -> [bool; 2] {
        let metadata = &release["metadata"];
        let has_class =
            |past: Past| past.list("Cluster").into_iter().any(|cluster| class(cluster) == place(metadata));
        let uses: Vec<bool> = self.states("Cluster").map(has_class).collect();
        let names = |addon: &Value| {
            let release = &addon["status"]["release"];
            [&release["desired"], &release["applied"]].contains(&&metadata["name"])
        };
        let mut addons = self.states("ClusterAddon").flat_map(|past| past.list("ClusterAddon"));
        [uses.contains(&true) || addons.any(names), !uses.contains(&false)]
    }
}

/// Checks the status of an object at a position of the log. `known` is what its reconcile knew when it began.
pub(crate) fn check(
    server: &ApiServer,
    object: &Value,
    position: usize,
    known: &Known,
) -> Result<(), String> {
    let window = Window { server, known, position };
    match text(&object["kind"]) {
        "ClusterStack" => check_stack(&window, object),
        "ClusterStackRelease" => check_release(&window, object),
        _ => Ok(()),
    }
}

/// A `ClusterStack` is usable only with releases that are ready, its Clusters are ready only if their addons are, and the
/// numbers add up.
fn check_stack(window: &Window, stack: &Value) -> Result<(), String> {
    if is_deleting(stack) {
        return Ok(());
    }
    let (status, namespace) = (&stack["status"], text(&stack["metadata"]["namespace"]));
    let number_of = |field: &str| status["clusters"][field].as_u64().unwrap_or_default();
    let (total, parts) = (number_of("total"), PARTS.map(number_of));
    if total != parts.iter().sum::<u64>() {
        return Err(format!("{total} Clusters are not the sum of {}", status["clusters"]));
    }
    let addons = window.states("ClusterAddon").flat_map(|past| past.list("ClusterAddon"));
    let mut ready: Vec<&str> =
        addons.filter(|addon| is_ready(addon)).map(|addon| text(&addon["metadata"]["name"])).collect();
    ready.sort_unstable();
    ready.dedup();
    if number_of("ready") > ready.len() as u64 {
        return Err(format!(
            "{} Clusters are ready, and these ClusterAddons were: {ready:?}",
            number_of("ready")
        ));
    }
    let summary = status["summary"].as_array().into_iter().flatten();
    for release in summary.filter(|release| release["ready"] == true) {
        if !window.was_ready("ClusterStackRelease", namespace, text(&release["name"])) {
            return Err(format!("release {} is ready, and the ClusterStackRelease was not", release["name"]));
        }
    }
    let offered = stack["spec"]["versions"].as_array().into_iter().flatten();
    let offered: Vec<String> = offered.map(|version| format!("-{}", text(version))).collect();
    let is_offered =
        |release: &Value| offered.iter().any(|version| text(&release["name"]).ends_with(version));
    let mut summary = status["summary"].as_array().into_iter().flatten();
    if is_ready(stack) && summary.any(|release| release["ready"] != true && is_offered(release)) {
        return Err(format!("it offers a release that is not ready: {}", status["summary"]));
    }
    let is_sum = condition(stack, "ClustersReady") == Some(("True", true));
    if is_sum && number_of("notReady") + number_of("unknown") > 0 {
        return Err(format!("ClustersReady is True with {}", status["clusters"]));
    }
    Ok(())
}

/// A `ClusterStackRelease` is ready only if its class is installed, and in use only if a Cluster has the class.
fn check_release(window: &Window, release: &Value) -> Result<(), String> {
    let is_usable = is_ready(release);
    if (release["status"]["ready"] == true) != is_usable && !is_deleting(release) {
        return Err(format!(
            "Ready is {:?}, and status.ready {}",
            condition(release, "Ready"),
            release["status"]["ready"]
        ));
    }
    let (namespace, name) = (text(&release["metadata"]["namespace"]), text(&release["metadata"]["name"]));
    if is_usable && !window.was_ready("HelmRelease", namespace, name) {
        return Err("Ready is True, and the HelmRelease of its class was not ready".to_owned());
    }
    let [any, all] = window.uses(release);
    match condition(release, "InUse") {
        Some(("True", true)) if !any => Err("InUse is True, and no Cluster has the class".to_owned()),
        Some(("False", true)) if all => Err("InUse is False, and a Cluster has the class".to_owned()),
        _ => Ok(()),
    }
}

/// Namespace and name of a Cluster's class.
fn class(cluster: &Value) -> (&str, &str) {
    let class = &cluster["spec"]["topology"]["classRef"];
    let namespace = class.get("namespace").unwrap_or(&cluster["metadata"]["namespace"]);
    (text(namespace), text(&class["name"]))
}

fn place(metadata: &Value) -> (&str, &str) {
    (text(&metadata["namespace"]), text(&metadata["name"]))
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}
