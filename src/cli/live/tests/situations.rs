//! What `why`, `status` and the conditions say in each situation that `tests/on_testbed/operator/truth` has recorded, and in
//! what is made of these records: twenty minutes later, or with one status of Flux replaced.
//!
//! The golden files are in `tests/situations`. Ask of each: would this help a user who has never read our documents?

use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use serde_json::Value;

use super::{plain, read, text};
use crate::explain::chain::Chain;
use crate::explain::fleet::fleet;
use crate::explain::issues::{count, issues};
use crate::explain::operator::OperatorLease;
use crate::explain::snapshot::{Lists, Snapshot};
use crate::foreign::flux::FluxKind;
use crate::names::Key;

/// The situation in which nothing is wrong.
const WELL: &str = "well";

fn directory() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/situations")
}

/// Returns the names of all records.
fn names() -> Vec<String> {
    let files = fs::read_dir(directory()).unwrap().map(|entry| entry.unwrap().path());
    let records = files.filter(|file| file.extension().is_some_and(|kind| kind == "json"));
    let mut names: Vec<String> =
        records.map(|file| file.file_stem().unwrap().to_str().unwrap().to_owned()).collect();
    names.sort();
    names
}

/// Returns a recorded situation, this long after the record. An operator that is down renewed its Lease when the record was made.
fn snapshot(name: &str, later: SignedDuration, is_operator_down: bool) -> (Snapshot, String) {
    let text = fs::read_to_string(directory().join(format!("{name}.json"))).unwrap();
    let record: Value = serde_json::from_str(&text).unwrap();
    let now: Timestamp = record["now"].as_str().unwrap().parse().unwrap();
    let mut lists =
        Lists { flux: FluxKind::ALL.map(|kind| (kind, Some(Vec::new()))).to_vec(), ..Lists::default() };
    for object in record["objects"].as_array().unwrap() {
        let (kind, object) = (object["kind"].as_str().unwrap(), object.clone());
        match kind {
            "ClusterStack" => lists.stacks.push(read(object)),
            "ClusterStackRelease" => lists.releases.push(read(object)),
            "ClusterAddon" => lists.addons.push(read(object)),
            "Cluster" => lists.clusters.push(object),
            _ => {
                let kind = FluxKind::of(kind).unwrap();
                let list = lists.flux.iter_mut().find(|(of, _)| *of == kind).unwrap();
                list.1.as_mut().unwrap().push(read(object));
            }
        }
    }
    if is_operator_down {
        let key = Key::new("flux-system", "stackflux-leader-election");
        lists.operators.push(OperatorLease { key, renewed: now, holder: "a".to_owned(), acquired: None });
    }
    let namespace = record["namespace"].as_str().unwrap().to_owned();
    (Snapshot::new(lists, Some(namespace.clone()), now.checked_add(later).unwrap()), namespace)
}

/// Returns what is printed about a situation.
fn printed(snapshot: &Snapshot, found: &[Chain]) -> String {
    let notices = snapshot.operators_down.iter().map(|down| text::operator_down(down, snapshot.now()) + "\n");
    let mut said = format!("$ stackflux why\n{}", notices.collect::<String>());
    for (number, chain) in found.iter().enumerate() {
        match number {
            0 => said.push_str(&plain(&text::chain::text(chain, snapshot.now(), false, None))),
            _ => _ = write!(said, "\n{}", plain(&text::chain::answer(chain, snapshot.now(), None))),
        }
    }
    if found.is_empty() {
        said.push_str(&text::all_ready(snapshot));
    }
    write!(said, "\n$ stackflux status\n{}", super::table(&fleet(snapshot))).unwrap();
    let conditions = conditions(snapshot);
    write!(said, "\nConditions:\n{conditions}").unwrap();
    said
}

/// Returns the conditions that are not as they should be.
fn conditions(snapshot: &Snapshot) -> String {
    let of = |what: String, conditions: Option<Vec<_>>| {
        let lines = conditions.unwrap_or_default().into_iter().filter_map(move |condition: Condition| {
            let is_well =
                (condition.status == "True") != ["Reconciling", "Stalled"].contains(&&*condition.type_);
            (!is_well).then(|| {
                let Condition { type_, status, reason, message, .. } = condition;
                format!("{what} {type_}={status} {reason}: {message}\n")
            })
        });
        lines.collect::<String>()
    };
    let stacks = snapshot.stacks.iter().map(|(key, stack)| {
        of(format!("ClusterStack {key}"), stack.status.as_ref().map(|status| status.conditions.clone()))
    });
    let releases = snapshot.releases.iter().map(|(key, release)| {
        of(
            format!("ClusterStackRelease {key}"),
            release.status.as_ref().map(|status| status.conditions.clone()),
        )
    });
    let clusters = snapshot.members.iter().map(|(key, member)| {
        let status = member.addon.as_ref().and_then(|addon| addon.status.as_ref());
        of(format!("Cluster {key}"), status.map(|status| status.conditions.clone()))
    });
    stacks.chain(releases).chain(clusters).collect()
}

/// Returns what an explanation lacks: what is wrong, since when, what to do, or the next command with the names of the object.
fn lacks(chain: &Chain, namespace: &str) -> Vec<&'static str> {
    let Some(action) = &chain.action else { return vec!["an action"] };
    // A controller of Flux has a Deployment in Flux's namespace; a CRD and a policy are in none.
    let elsewhere = [
        "deployment/helm-controller -n flux-system",
        "get crd helmreleases.helm.toolkit.fluxcd.io",
        "get validatingadmissionpolicies",
    ];
    let names =
        [format!("-n {namespace}")].into_iter().chain(elsewhere.map(str::to_owned)).collect::<Vec<_>>();
    let has_names =
        |command: &String| names.iter().any(|name| command.contains(name)) && !command.contains("{cluster}");
    let checks = [
        ("a cause", chain.cause.as_ref().is_some_and(|cause| !cause.message.is_empty())),
        ("a time", chain.since.is_some()),
        ("an action", action.text.len() > 20),
        ("a command", action.commands.iter().any(has_names)),
    ];
    checks.into_iter().filter(|(_, has)| !has).map(|(what, _)| what).collect()
}

#[test]
fn each_situation_is_explained() {
    let names = names();
    assert!(names.len() >= 35, "{names:?}");
    let twenty = SignedDuration::from_mins(20);
    let later = ["git-secret", "no-answer", "well"].map(|name| (name, "-20-minutes-later", twenty, false));
    let three_hours = SignedDuration::from_hours(3);
    let down = [(WELL, "-operator-down", three_hours, true)];
    let now = names.iter().map(|name| (name.as_str(), "", SignedDuration::ZERO, false));
    let mut wrong = Vec::new();
    for (name, suffix, after, is_operator_down) in now.chain(later).chain(down) {
        let (snapshot, namespace) = snapshot(name, after, is_operator_down);
        let found = issues(&snapshot);
        let golden = directory().join(format!("{name}{suffix}.txt"));
        // The names of scenarios have a random end.
        let said = printed(&snapshot, &found).replace(&namespace, "demo");
        if std::env::var_os("UPDATE_GOLDEN").is_some() {
            fs::write(&golden, &said).unwrap();
        }
        assert_eq!(said, fs::read_to_string(&golden).unwrap(), "{name}");
        match found.first() {
            Some(chain) => {
                wrong.extend(lacks(chain, &namespace).into_iter().map(|what| format!("{name}: {what}")));
            }
            None => assert_eq!(name, WELL, "nothing is wrong"),
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn joined_objects_are_counted() {
    let (snapshot, _) = snapshot("class-refused", SignedDuration::ZERO, false);
    let found = issues(&snapshot);
    assert_eq!((found.len(), count(&found)), (1, 2), "the ClusterStack, and its release");
}
