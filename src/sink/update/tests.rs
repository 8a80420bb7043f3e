//! Deliveries into a tree in memory: repeated, beside other `ClusterStack`s, and with foreign edits.

mod foreign;
mod properties;

use std::convert::Infallible;

use serde_json::{Value, json};

use super::*;
use crate::api::SourcePlacement;
use crate::gate::Hold;
use crate::plan::tests::fixture::Fixture;
use crate::sink::changes::ChangeKind;
use crate::sink::index::sha256;
use crate::sink::layout::KUSTOMIZATION;

type Files = BTreeMap<String, Vec<u8>>;

const STACK: &str = "stacks/demo";

fn delivery(plan: &Plan) -> Delivery<'_> {
    Delivery {
        stack: STACK.to_owned(),
        plan,
        scope: Scope::default(),
        overwrite: Overwrite::default(),
        budget: Budget { limit: Limit::All, allowed: None },
    }
}

fn cluster(name: &str) -> ClusterName {
    ClusterName::new(&"stacks".parse().unwrap(), &name.parse().unwrap()).unwrap()
}

fn clusters(names: &[&str]) -> BTreeSet<ClusterName> {
    names.iter().map(|name| cluster(name)).collect()
}

/// Delivers, and returns the changes.
#[track_caller]
fn deliver(files: &mut Files, delivery: &Delivery<'_>) -> Changes {
    let result: Result<_, DeliveryError<Infallible>> = update(files, delivery);
    let changes = result.unwrap();
    for path in &changes.removes {
        assert!(files.remove(path).is_some(), "{path} was not there");
    }
    files.extend(changes.writes.clone());
    changes
}

fn delivered(plan: &Plan) -> Files {
    let mut files = Files::new();
    let changes = deliver(&mut files, &delivery(plan));
    assert!(changes.refused.is_empty());
    files
}

fn below(files: &Files, part: &str) -> Files {
    let inside = files.iter().filter(|(path, _)| path.starts_with(&format!("{part}/")));
    inside.map(|(path, bytes)| (path.clone(), bytes.clone())).collect()
}

fn edit(files: &mut Files, path: &str) {
    files.get_mut(path).unwrap_or_else(|| panic!("no {path}")).extend(b"# by hand\n");
}

fn refusals(changes: &Changes) -> Vec<String> {
    changes.refused.iter().map(|refused| format!("{} {}", refused.file, refused.why)).collect()
}

fn list(files: &Files, directory: &str) -> Vec<String> {
    let value: Value = serde_yaml::from_slice(&files[&format!("{directory}{KUSTOMIZATION}")]).unwrap();
    let names = value["resources"].as_array().unwrap().iter();
    names.map(|name| name.as_str().unwrap().to_owned()).collect()
}

const CNI: &str = "clusters/stacks/one/helmrelease-one.cni.yaml";

#[test]
fn delivered_directories_list_and_index_all_files() {
    let plan = Fixture::new().plan("v1", &["one", "two"]);
    let files = delivered(&plan);
    let expected = ["cluster-class", "clusters/stacks/one", "clusters/stacks/two", "node-images", "sources"];
    assert_eq!(list(&files, ""), expected);
    let mut objects = 0;
    for directory in expected {
        let index = Index::parse(&files[&format!("{directory}/{INDEX}")]).unwrap();
        assert_eq!(list(&files, &format!("{directory}/")), index.files.keys().cloned().collect::<Vec<_>>());
        for (file, entry) in &index.files {
            let bytes = &files[&format!("{directory}/{file}")];
            assert_eq!(entry.sha256, sha256(bytes));
            assert_eq!(entry.cluster_stacks[STACK], entry.sha256);
            objects += 1;
        }
    }
    assert_eq!(objects, plan.objects().count());
    assert_eq!(files.len(), objects + 2 * expected.len() + 2);
    let root = Index::parse(&files[INDEX]).unwrap();
    assert!(root.directories.values().all(|owners| owners.iter().eq([STACK])));
}

#[test]
fn cluster_changes_only_its_own_files() {
    let mut fixture = Fixture::new();
    let before = fixture.plan("v1", &["one", "two"]);
    let mut files = delivered(&before);
    fixture.edit_cluster = |cluster| {
        if cluster["metadata"]["name"] == "one" {
            cluster["spec"]["controlPlaneEndpoint"]["port"] = json!(8443);
        }
    };
    let after = fixture.plan("v1", &["one", "two"]);
    let changes = deliver(&mut files, &delivery(&after));
    let written: Vec<&String> = changes.writes.keys().collect();
    assert_eq!(
        written,
        ["clusters/stacks/one/helmrelease-one.ccm.yaml", "clusters/stacks/one/stackflux.index"]
    );
    let [object] = changes.objects.as_slice() else { panic!("{:?}", changes.objects) };
    assert_eq!(
        (object.change, object.why.as_slice()),
        (ChangeKind::Changed, &["values .port".to_owned()][..])
    );
    assert_eq!(files, delivered(&after));
}

/// A tree in which reading a file of another cluster is an error.
struct Only<'a>(&'a Files, &'static str);

impl Tree for Only<'_> {
    type Error = Infallible;

    fn read(&self, path: &str, most: usize) -> Result<Found, Infallible> {
        assert!(!path.starts_with("clusters/") || path.starts_with(self.1), "{path} was read");
        self.0.read(path, most)
    }
}

#[test]
fn scoped_delivery_equals_full_delivery() {
    let fixture = Fixture::new();
    let (before, after) = (fixture.plan("v1", &["one", "two"]), fixture.plan("v2", &["one"]));
    let mut files = delivered(&before);
    let scope = Scope { only: Some(clusters(&["one"])), ..Scope::default() };
    let changes =
        update(&Only(&files, "clusters/stacks/one/"), &Delivery { scope, ..delivery(&after) }).unwrap();
    assert!(changes.removes.is_empty(), "what all share is not known to be unused");
    files.extend(changes.writes);
    let mut all = fixture.plan("v2", &["one"]);
    all.merge(fixture.plan("v1", &["two"])).unwrap();
    assert_eq!(files, delivered(&all));
}

#[test]
fn added_or_removed_cluster_updates_the_root_list() {
    let fixture = Fixture::new();
    let both = delivered(&fixture.plan("v1", &["one", "two"]));
    let one = fixture.plan("v1", &["one"]);
    let mut files = both.clone();
    let scope = Scope { only: Some(clusters(&["two"])), gone: clusters(&["two"]), ..Scope::default() };
    let nothing = Plan::default();
    let budget = Budget { limit: Limit::Left(0), allowed: None };
    let changes = deliver(&mut files, &Delivery { scope, budget, ..delivery(&nothing) });
    assert_eq!(changes.count(ChangeKind::Removed), 3, "the budget does not count what is gone");
    assert_eq!(changes.writes.keys().collect::<Vec<_>>(), [KUSTOMIZATION, INDEX]);
    assert_eq!(files, delivered(&one));
    let two = fixture.plan("v1", &["two"]);
    let scope = Scope { only: Some(clusters(&["two"])), ..Scope::default() };
    deliver(&mut files, &Delivery { scope, ..delivery(&two) });
    assert_eq!(files, both);
}

#[test]
fn held_cluster_keeps_files_and_their_references() {
    let mut fixture = Fixture::new();
    let mut files = delivered(&fixture.plan("v1", &["one", "two"]));
    fixture.edit_cluster = |cluster| {
        if cluster["metadata"]["name"] == "one" {
            cluster["spec"]["paused"] = json!(true);
        }
    };
    let before = files.clone();
    let plan = fixture.plan("v2", &["one", "two"]);
    let changes = deliver(&mut files, &delivery(&plan));
    assert_eq!(changes.kept, 3 + 1 + 1, "its addons, its chart, and the namespace of Helm's record");
    assert_eq!(below(&files, "clusters/stacks/one"), below(&before, "clusters/stacks/one"));
    assert_eq!(files.keys().filter(|path| path.contains("helmchart-cni-")).count(), 2);
    assert!(
        deliver(&mut files, &delivery(&plan)).writes.keys().all(|path| path.starts_with("cluster-class/"))
    );
}

#[test]
fn held_addon_keeps_its_file_and_others_change() {
    let mut fixture = Fixture::new();
    let mut files = delivered(&fixture.plan("v1", &["one"]));
    let ccm = "clusters/stacks/one/helmrelease-one.ccm.yaml";
    let before = files.clone();
    fixture.edit_cluster = |cluster| cluster["spec"]["controlPlaneEndpoint"] = json!({});
    let plan = fixture.plan("v2", &["one"]);
    assert_eq!(plan.held().len(), 1);
    deliver(&mut files, &delivery(&plan));
    assert_eq!(files[ccm], before[ccm]);
    assert_ne!(files[CNI], before[CNI]);
    assert!(list(&files, "clusters/stacks/one/").contains(&"helmrelease-one.ccm.yaml".to_owned()));
}

#[test]
fn cluster_of_other_stack_keeps_files_until_takeover() {
    let fixture = Fixture::new();
    let mut files = delivered(&fixture.plan("v1", &["one", "two"]));
    let before = files.clone();
    let without = fixture.plan("v1", &["one"]);
    let scope = Scope { present: clusters(&["two"]), ..Scope::default() };
    deliver(&mut files, &Delivery { scope, ..delivery(&without) });
    assert_eq!(files, before);

    let other = Fixture::new().plan("v2", &["two"]);
    let stack = "stacks/other".to_owned();
    deliver(&mut files, &Delivery { stack, ..delivery(&other) });
    let changes = deliver(&mut files, &delivery(&without));
    assert_eq!(changes.count(ChangeKind::Removed), 0, "it is the other's now");
    assert!(files.contains_key("clusters/stacks/two/helmrelease-two.cni.yaml"));
}

#[test]
fn shared_object_is_removed_with_the_last_stack() {
    let fixture = Fixture::new();
    let (mine, theirs) = (fixture.plan("v1", &["one"]), fixture.plan("v1", &["two"]));
    let other = || "stacks/other".to_owned();
    let mut files = delivered(&mine);
    let changes = deliver(&mut files, &Delivery { stack: other(), ..delivery(&theirs) });
    assert_eq!(changes.count(ChangeKind::Added), 3, "all else is there: {:?}", changes.objects);
    let nothing = Plan::default();
    deliver(&mut files, &delivery(&nothing));
    let left = delivered_as(&other(), &theirs);
    assert_eq!(files, left);
    deliver(&mut files, &Delivery { stack: other(), ..delivery(&nothing) });
    let namespace = files.keys().filter(|path| path.contains("namespace-")).count();
    assert_eq!((files.len(), namespace), (1 + 2 + 2, 1), "{:?}", files.keys());
    deliver(&mut files, &Delivery { stack: other(), ..delivery(&nothing) });
    assert_eq!(files.keys().collect::<Vec<_>>(), [KUSTOMIZATION, INDEX]);
}

fn delivered_as(stack: &str, plan: &Plan) -> Files {
    let mut files = Files::new();
    deliver(&mut files, &Delivery { stack: stack.to_owned(), ..delivery(plan) });
    files
}

/// Two stacks with different plans for an object would overwrite each other forever.
#[test]
fn stack_conflict_keeps_newer_object() {
    let mut fixture = Fixture::new();
    let plain = fixture.plan("v1", &["one"]);
    fixture.stack.source.url = "https://elsewhere.example.org/stacks.git".to_owned();
    let moved = fixture.plan("v1", &["two"]);
    let other = |plan| Delivery { stack: "stacks/other".to_owned(), ..delivery(plan) };
    let mut files = delivered(&plain);
    deliver(&mut files, &other(&moved));
    let source = "sources/stacks/gitrepository-docker-demo-1-34-v1.yaml";
    let has = |files: &Files, url: &str| String::from_utf8_lossy(&files[source]).contains(url);
    assert!(has(&files, "elsewhere"));
    let changes = deliver(&mut files, &delivery(&plain));
    assert!(changes.is_empty());
    assert!(refusals(&changes)[0].contains("conflicts with ClusterStack stacks/other"), "{changes:?}");
    // The first stack changes its plan as well: both agree.
    fixture.stack.source.url = "https://elsewhere.example.org/stacks.git".to_owned();
    let agreed = fixture.plan("v1", &["one"]);
    assert!(deliver(&mut files, &delivery(&agreed)).refused.is_empty());
    assert!(deliver(&mut files, &other(&moved)).refused.is_empty());
}

#[test]
fn removals_over_budget_wait_for_allowed_digest() {
    let fixture = Fixture::new();
    let names: Vec<String> = (0..12).map(|number| format!("c{number}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let mut files = delivered(&fixture.plan("v1", &names));
    let plan = fixture.plan("v1", &names[..9]);
    // 36 addons, a class and its node images: a tenth is 3, which is one cluster.
    let within = |allowed| Delivery { budget: Budget { limit: Limit::Tenth, allowed }, ..delivery(&plan) };
    let mut first = files.clone();
    let changes = deliver(&mut first, &within(None));
    assert_eq!(changes.count(ChangeKind::Removed), 3);
    let withheld = changes.withheld.unwrap();
    assert_eq!(withheld.names.len(), 2);
    let allowed = update(&first, &within(None)).unwrap().withheld.unwrap();
    let changes = deliver(&mut files, &within(Some(withheld.digest.clone())));
    assert_eq!((changes.count(ChangeKind::Removed), changes.withheld), (9, None));
    assert_ne!(allowed.digest, withheld.digest, "what is left is another set");
    let changes = deliver(&mut first, &within(Some(withheld.digest)));
    assert_eq!((changes.count(ChangeKind::Removed), changes.withheld), (6, None), "what was told to wait");
    assert_eq!(first, files);
}

#[test]
fn class_removal_waits_for_its_clusters() {
    let fixture = Fixture::new();
    let mut files = delivered(&fixture.plan("v1", &["one", "two"]));
    let plan = fixture.plan("v2", &["one"]);
    let within = |allowed| Delivery { budget: Budget { limit: Limit::Tenth, allowed }, ..delivery(&plan) };
    let changes = deliver(&mut files, &within(None));
    let withheld = changes.withheld.unwrap();
    assert_eq!(withheld.names, ["Cluster stacks/two", "release docker-demo-1-34-v1"]);
    assert!(files.contains_key("cluster-class/stacks/helmrelease-docker-demo-1-34-v1.yaml"));
    deliver(&mut files, &within(Some(withheld.digest)));
    deliver(&mut files, &within(None));
    assert_eq!(files, delivered(&plan));
}

#[test]
fn removal_budget_does_not_count_charts() {
    let mut fixture = Fixture::new();
    let mut files = delivered(&fixture.plan("v1", &["one"]));
    fixture.addons = &["cni"];
    let plan = fixture.plan("v1", &["one"]);
    let budget = Budget { limit: Limit::Left(1), allowed: None };
    let changes = deliver(&mut files, &Delivery { budget, ..delivery(&plan) });
    let withheld = changes.withheld.clone().unwrap();
    assert_eq!(withheld.names, ["kustomization-one.policies in clusters/stacks/one"]);
    assert_eq!(changes.count(ChangeKind::Removed), 1 + 1, "the object and its chart");
    assert!(!files.keys().any(|path| path.contains("ccm")));
    assert!(files.contains_key("clusters/stacks/one/kustomization-one.policies.yaml"));
}

/// The operator names the objects to remove.
#[test]
fn only_named_unplanned_objects_are_removed() {
    let mut fixture = Fixture::new();
    let before = fixture.plan("v1", &["one"]);
    let mut files = delivered(&before);
    let chart = before.objects().find(|object| object.id.name.starts_with("ccm-")).unwrap();
    fixture.addons = &["cni"];
    let plan = fixture.plan("v1", &["one"]);
    let removes = |names: &[String]| Scope {
        only: Some(clusters(&["one"])),
        removes: Some(names.iter().cloned().collect()),
        ..Scope::default()
    };
    let nothing = deliver(&mut files, &Delivery { scope: removes(&[]), ..delivery(&plan) });
    assert_eq!(nothing.count(ChangeKind::Removed), 0);
    let named = ["HelmRelease stacks/one.ccm".to_owned(), chart.id.to_string()];
    let changes = deliver(&mut files, &Delivery { scope: removes(&named), ..delivery(&plan) });
    let found: BTreeSet<&String> = changes.objects.iter().map(|object| &object.object).collect();
    assert_eq!(found, named.iter().collect());
    assert!(files.contains_key("clusters/stacks/one/kustomization-one.policies.yaml"));
    let gone = Scope { gone: clusters(&["one"]), ..removes(&[]) };
    let nothing = Plan::default();
    deliver(&mut files, &Delivery { scope: gone, ..delivery(&nothing) });
    assert!(below(&files, "clusters").is_empty());
}

#[test]
fn scoped_delivery_keeps_sources_of_other_namespaces() {
    let mut fixture = Fixture::new();
    fixture.stack.flux.sources = SourcePlacement::PerNamespace;
    let mut files = delivered(&fixture.plan("v1", &["one"]));
    let plan = fixture.plan("v2", &["two"]);
    let scope = Scope { only: Some(clusters(&["two"])), ..Scope::default() };
    let before: Vec<String> = files.keys().cloned().collect();
    deliver(&mut files, &Delivery { scope, ..delivery(&plan) });
    assert!(before.iter().all(|path| files.contains_key(path)));
    assert!(files.len() > before.len());
}

#[test]
fn written_sources_are_found_again() {
    let plan = Fixture::new().plan("v1", &["one"]);
    let files = delivered(&plan);
    let planned = plan.objects().filter(|object| place(object).0 == Part::Sources);
    let mut planned: Vec<String> = planned.map(|object| object.value.to_string()).collect();
    let mut found: Vec<String> = sources(&files).unwrap().iter().map(Value::to_string).collect();
    planned.sort();
    found.sort();
    assert_eq!(planned, found);
}

#[test]
fn held_new_cluster_without_plan_writes_nothing() {
    let mut plan = Plan::default();
    let hold = Hold { reason: Reason::Paused, message: "paused".to_owned() };
    let (namespace, name) = ("stacks".parse().unwrap(), "one".parse().unwrap());
    plan.hold(Held { namespace, cluster: name, addon: None, hold });
    let scope = Scope { only: Some(clusters(&["one"])), ..Scope::default() };
    let mut files = Files::new();
    assert!(deliver(&mut files, &Delivery { scope, ..delivery(&plan) }).is_empty());
}
