//! `diff --live`: what it prints in a state is what an operator that is alone from then on writes.
//!
//! Alone means that nobody else acts: neither Flux, nor users, nor the controllers of Kubernetes. Compared are the applies and
//! the removals of Flux objects; stackflux's own kinds are none of them.

use std::collections::BTreeSet;

use serde_json::Value;
use stackflux::api::labels;
use stackflux::cli::{Preview, preview};
use stackflux::foreign::flux::FluxKind;

use super::Simulation;
use crate::api_server::kinds::KINDS;
use crate::api_server::{ApiServer, Place, Watched};
use crate::flux::fleet::Fleet;
use crate::flux::number;
use crate::operator::{Millis, timestamp};
use crate::process::Process;
use crate::properties::Rule;
use crate::repository::loaded;
use crate::wire::Wire;

/// The time without a write after which the operator has nothing left to write.
const QUIET: Millis = 15_000;
/// Maximum number of steps of the operator.
const STEPS: usize = 5_000;

/// Kind, namespace and name of an object.
type Id = (String, String, String);

/// What `diff --live` prints.
#[derive(Debug, Default)]
struct Printed {
    applied: BTreeSet<Id>,
    removed: BTreeSet<Id>,
    /// The Clusters to which nothing is delivered before something else is deleted.
    held: BTreeSet<(String, String)>,
    /// Namespace and name of the objects whose files are removed already.
    without_file: BTreeSet<(String, String)>,
    /// The same of those that wait for another addon or their stage: the operator moves them after it has reported in the status
    /// that the others are applied.
    waiting: BTreeSet<(String, String)>,
    /// The Clusters whose addons wait for a stage that deletes one: once that is gone and reported, it may be installed again.
    staged: BTreeSet<(String, String)>,
    /// The Clusters whose addons wait for an upgrade: once the addons before it are reported as applied, a stage may delete one.
    upgrading: BTreeSet<(String, String)>,
}

/// What the operator writes.
#[derive(Debug, Default)]
struct Written {
    applied: BTreeSet<Id>,
    removed: BTreeSet<Id>,
    /// Whether it pins a release, or makes the objects of one that is being deleted: that may become an owner of the sources of others.
    pins: bool,
}

impl Simulation {
    /// Occasionally previews what the operator writes.
    pub(super) fn preview_once_in(&mut self, times: usize) {
        if self.previews > 0 && self.random.previews.once_in(times) {
            self.previews -= 1;
            self.preview();
        }
    }

    /// Compares what `diff --live` prints now with what an operator writes that is alone from now on.
    fn preview(&mut self) {
        let server = self.wire.cluster().server.clone();
        let objects = all(&server);
        // `diff --live` does not read the repository of the operator.
        let is_moved = self.flux.fleet.as_ref().is_some_and(Fleet::is_moved);
        if is_moved || self.wire.cluster().refuses.is_some() {
            return;
        }
        let Preview { differences, skipped } =
            match preview(&objects, loaded(self.flux.head), timestamp(self.now)) {
                Ok(preview) => preview,
                Err(error) => return self.wire.cluster().broke(Rule::Preview, format!("it fails: {error}")),
            };
        self.wire.cluster().reached("a preview");
        let printed = Printed::of(&differences);
        let fleet_head = self.flux.fleet.as_ref().map(Fleet::head);
        let mut written = self.write_alone(server.clone());
        written.pins |= written.applied.iter().any(|id| is_of_deleted(&server, id));
        if let Some((fleet, head)) = self.flux.fleet.as_ref().zip(fleet_head) {
            fleet.reset(head.as_deref());
        }
        let is_known = |id: &Id| is_pinned(&server, id) && !skipped.iter().any(|what| names(what, id));
        let is_absent = |id: &Id| server.get(&(number(&id.0), id.1.clone(), id.2.clone())).is_none();
        for problem in compare(&printed, &written, is_known, is_absent) {
            let held: Vec<&Value> = held(&differences).collect();
            let message = format!("{problem}; left out: {skipped:?}; held: {held:?}");
            self.wire.cluster().broke(Rule::Preview, message);
        }
    }

    /// Lets a new operator write alone to a copy of the API server. Flux only applies what the operator commits.
    fn write_alone(&mut self, server: ApiServer) -> Written {
        let (wire, mut now) = (Wire::new(server, None), self.now);
        let before = wire.cluster().server.clone();
        wire.cluster().requests = Some(Vec::new());
        let clock = self.clock();
        let mut process = Process::start(&wire, 0, clock, None, None);
        let set_now = |simulation: &mut Self, now: Millis| {
            simulation.set_clock(now);
            let mut cluster = wire.cluster();
            (cluster.now, cluster.server.now) = (now, timestamp(now).as_second());
        };
        set_now(self, now);
        process.lead(&wire, None, now);
        let (mut flux, mut by_flux) = (self.flux.only_fleet(), Vec::new());
        let (mut known, mut quiet_since) = (0, now);
        for _ in 0..STEPS {
            for kind in 0..KINDS.len() {
                if process.watches[kind].is_behind(&wire.cluster()) {
                    process.deliver(kind, &wire, None, 0, now);
                }
            }
            if process.operator.is_running() {
                go_on(&mut process, &wire, now);
            } else if process.operator.count_startable(now) > 0 {
                process.operator.begin(0, now);
            } else if let Some(applied) =
                flux.as_mut().map(|flux| flux.apply_fleet(&mut wire.cluster().server))
                && !applied.is_empty()
            {
                by_flux.extend(applied);
                quiet_since = now;
            } else {
                let writes = wire.cluster().requests.as_ref().map_or(0, Vec::len);
                if writes > known {
                    (known, quiet_since) = (writes, now);
                }
                match process.operator.next_due() {
                    Some(due) if due <= quiet_since + QUIET => now = due.max(now),
                    _ => break,
                }
                set_now(self, now);
            }
        }
        let requests = wire.cluster().requests.take().unwrap_or_default();
        self.set_clock(self.now);
        let mut written = Written::of(&before, requests);
        let server = &wire.cluster().server;
        written.add_applied(&before, by_flux.iter().map(|position| &server.log[*position]));
        written
    }
}

/// Lets all requests under way arrive, and their reconciles continue.
fn go_on(process: &mut Process, wire: &Wire, now: Millis) {
    let under_way = wire.cluster().unsent();
    for ticket in under_way {
        wire.cluster().carry_out(ticket, None);
    }
    let answers = wire.cluster().unanswered();
    for ticket in answers {
        let (_, reconcile) = wire.cluster().deliver(ticket);
        process.operator.go_on(reconcile, now);
    }
    for number in process.operator.woken() {
        process.operator.go_on(number, now);
    }
}

/// What is printed as held.
fn held(differences: &Value) -> impl Iterator<Item = &Value> {
    let clusters = differences["clusters"].as_array().into_iter().flatten();
    clusters.flat_map(|cluster| cluster["held"].as_array().into_iter().flatten())
}

/// All objects.
fn all(server: &ApiServer) -> Vec<Value> {
    let objects =
        (0..KINDS.len()).flat_map(|kind| server.list(kind).into_iter().map(move |object| (kind, object)));
    let with_kind = objects.map(|(kind, object)| {
        let mut object = (*object).clone();
        object["kind"] = KINDS[kind].name.into();
        object
    });
    with_kind.collect()
}

impl Printed {
    fn of(differences: &Value) -> Self {
        let mut printed = Self::default();
        let list = |value: &Value, field: &str| value[field].as_array().cloned().unwrap_or_default();
        let mut changes = list(differences, "objects");
        for cluster in list(differences, "clusters") {
            let is_deleting = |held: &Value| {
                held.get("addon").is_none() && ["Terminating", "Deleting"].contains(&&*text(held, "reason"))
            };
            let held = list(&cluster, "held");
            let object = |addon: &Value| {
                (text(&cluster, "namespace"), format!("{}.{}", text(&cluster, "name"), text(addon, "addon")))
            };
            let of = |reason: &str| {
                let held = held.iter().filter(|held| held["reason"] == reason);
                held.map(object).collect::<Vec<_>>()
            };
            printed.without_file.extend(of("FileRemoved"));
            for reason in ["WaitingForDependency", "WaitingForStage"] {
                printed.waiting.extend(of(reason));
            }
            let key = (text(&cluster, "namespace"), text(&cluster, "name"));
            if held.iter().any(is_deleting) {
                printed.held.insert(key.clone());
            }
            if !of("WaitingForUpgrade").is_empty() {
                printed.upgrading.insert(key.clone());
            }
            if !of("WaitingForStage").is_empty() {
                printed.staged.insert(key);
            }
            changes.extend(list(&cluster, "objects"));
        }
        for change in changes.iter().filter(|change| change.get("waitsFor").is_none()) {
            let id = (text(change, "kind"), text(change, "namespace"), text(change, "name"));
            match change["change"].as_str() {
                Some("created" | "changed") => _ = printed.applied.insert(id),
                Some("removed") => _ = printed.removed.insert(id),
                _ => {}
            }
        }
        printed
    }
}

impl Written {
    fn of(before: &ApiServer, requests: Vec<(String, String, Place)>) -> Self {
        let mut written = Self::default();
        for (method, content_type, place) in requests {
            let kind = KINDS[place.0].name;
            written.pins |= kind == "ClusterStackRelease" && method == "PATCH";
            if kind != "Namespace" && FluxKind::of(kind).is_none() {
                continue;
            }
            let is_addon = is_addon(before, &place);
            let id = (kind.to_owned(), place.1, place.2);
            match method.as_str() {
                "PATCH" if content_type == "application/apply-patch+yaml" => _ = written.applied.insert(id),
                "DELETE" if is_addon => _ = written.removed.insert(id),
                _ => {}
            }
        }
        written
    }
}

impl Written {
    /// Adds what Flux applies and deletes.
    fn add_applied<'a>(&mut self, before: &ApiServer, entries: impl Iterator<Item = &'a Watched>) {
        for entry in entries {
            let id = (KINDS[entry.place.0].name.to_owned(), entry.place.1.clone(), entry.place.2.clone());
            if entry.is_deleted || entry.object["metadata"].get("deletionTimestamp").is_some() {
                if is_addon(before, &entry.place) {
                    self.removed.insert(id);
                }
            } else {
                self.applied.insert(id);
            }
        }
    }
}

/// Whether an object belongs to an addon.
fn is_addon(server: &ApiServer, place: &Place) -> bool {
    server.get(place).is_some_and(|object| object["metadata"]["labels"].get(labels::ADDON).is_some())
}

/// Lists what is printed and not written, or written and not printed.
fn compare(
    printed: &Printed,
    written: &Written,
    is_known: impl Fn(&Id) -> bool,
    is_absent: impl Fn(&Id) -> bool,
) -> Vec<String> {
    let mut problems = Vec::new();
    for id in printed.applied.difference(&written.applied) {
        problems.push(format!("prints a change of {id:?}, which the operator does not write"));
    }
    let is_delivered = |id: &&Id| !printed.held.iter().any(|held| is_of(id, held));
    let is_of_another =
        |id: &&Id| written.pins && ["GitRepository", "OCIRepository", "HelmChart"].contains(&&*id.0);
    let applied = written.applied.difference(&printed.applied).filter(is_delivered);
    let applied = applied.filter(|id| !is_of_another(id));
    let is_again = |id: &&Id| is_absent(id) && printed.staged.iter().any(|cluster| is_of(id, cluster));
    let is_waiting = |id: &&Id| printed.waiting.contains(&(id.1.clone(), id.2.clone())) || is_again(id);
    for id in applied.filter(|id| !is_waiting(id) && is_known(id)) {
        problems.push(format!("does not print the change of {id:?}, which the operator writes"));
    }
    for id in printed.removed.difference(&written.removed) {
        problems.push(format!("prints the removal of {id:?}, which the operator does not delete"));
    }
    let is_announced = |id: &&Id| {
        printed.without_file.contains(&(id.1.clone(), id.2.clone()))
            || printed.upgrading.iter().any(|cluster| is_of(id, cluster))
    };
    let removed = written.removed.difference(&printed.removed).filter(is_delivered);
    for id in removed.filter(|id| !is_announced(id) && is_known(id)) {
        problems.push(format!("does not print the removal of {id:?}, which the operator deletes"));
    }
    problems
}

/// Whether an object is one of a Cluster's addons.
fn is_of((_, namespace, name): &Id, cluster: &(String, String)) -> bool {
    *namespace == cluster.0 && name.strip_prefix(&cluster.1).is_some_and(|rest| rest.starts_with('.'))
}

/// Whether what an object belongs to existed before: `diff --live` shows no release that the operator is about to pin.
fn is_pinned(server: &ApiServer, (kind, namespace, name): &Id) -> bool {
    let mut releases = server.list(number("ClusterStackRelease"));
    releases.retain(|release| release.pointer("/metadata/deletionTimestamp").is_none());
    let pinned = |name: &str| {
        releases
            .iter()
            .any(|release| release["metadata"]["name"] == name && release.pointer("/spec/source").is_some())
    };
    if name.ends_with("-catalog") {
        return true;
    }
    let class = |cluster: &Value| {
        cluster.pointer("/spec/topology/classRef/name").and_then(Value::as_str).map(str::to_owned)
    };
    if kind == "HelmRelease" || kind == "Kustomization" {
        let clusters = server.list(number("Cluster"));
        let of = clusters.iter().find(|cluster| {
            let metadata = &cluster["metadata"];
            is_of(
                &(kind.clone(), namespace.clone(), name.clone()),
                &(text(metadata, "namespace"), text(metadata, "name")),
            )
        });
        if let Some(cluster) = of {
            return class(cluster).is_some_and(|class| pinned(&class));
        }
    }
    releases.iter().any(|release| {
        let release_name = text(&release["metadata"], "name");
        name.starts_with(&release_name) && pinned(&release_name)
    })
}

/// Whether an object is one of a release that is being deleted, which `diff --live` does not show.
fn is_of_deleted(server: &ApiServer, (_, _, name): &Id) -> bool {
    let releases = server.list(number("ClusterStackRelease"));
    let mut deleted = releases.iter().filter(|it| it.pointer("/metadata/deletionTimestamp").is_some());
    deleted.any(|release| name.starts_with(&text(&release["metadata"], "name")))
}

/// Whether the reason why something is left out names what an object belongs to.
fn names(skipped: &str, (_, _, name): &Id) -> bool {
    skipped.starts_with("ClusterStack ")
        || skipped.split(' ').next().is_some_and(|release| name.starts_with(release))
}

fn text(value: &Value, field: &str) -> String {
    value[field].as_str().unwrap_or_default().to_owned()
}
