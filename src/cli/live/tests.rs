//! Tests of what the commands print for snapshots that are made by hand.

mod blocking;
mod counted;
mod deleting;
mod documents;
mod holder;
mod observed;
mod obstacle;
mod rolled;
mod situations;
mod upgrades;

use std::path::Path;

use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::text::age;
use super::{events, text};
use crate::cli::output::Layout;
use crate::explain::chain::{self, Chain};
use crate::explain::fleet::{self, Fleet};
use crate::explain::snapshot::{Lists, Snapshot};
use crate::explain::{Named, tree};
use crate::foreign::flux::FluxKind;
use observed::{flux, pinned};
use rolled::{addon, addon_without_release};

const RELEASE: &str = "docker-demo-1-34-v1";
/// A release that the ClusterStack does not offer.
const NOT_OFFERED: &str = "docker-demo-1-34-v9";
const NOW: &str = "2026-11-21T12:00:00Z";
const COMMIT: &str = "0123456789abcdef0123456789abcdef01234567";

fn read<T: DeserializeOwned>(object: Value) -> T {
    serde_json::from_value(object).unwrap()
}

fn condition(kind: &str, status: &str, reason: &str, message: &str) -> Value {
    json!({
        "type": kind, "status": status, "reason": reason, "message": message,
        "lastTransitionTime": "2026-11-21T11:00:00Z", "observedGeneration": 1,
    })
}

fn metadata(namespace: &str, name: &str) -> Value {
    json!({
        "namespace": namespace, "name": name, "generation": 1, "creationTimestamp": "2026-11-21T10:00:00Z",
        "labels": {"app.kubernetes.io/managed-by": "stackflux"},
    })
}

fn cluster(namespace: &str, name: &str, topology: &Value, initialized: bool) -> Value {
    json!({
        "apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Cluster", "metadata": metadata(namespace, name),
        "spec": {"topology": topology},
        "status": {"initialization": {"controlPlaneInitialized": initialized}},
    })
}

const FAILED: &str = "Helm upgrade failed: context deadline exceeded";

fn stack() -> Value {
    let [one, two] = addons();
    rolled::stack(&one, &two)
}

fn addons() -> [Value; 2] {
    [addon("prod", "one", "Applied", "Applied", ""), addon("prod", "two", "Failed", "UpgradeFailed", FAILED)]
}

/// Returns one ClusterStack in namespace `stacks`; in `prod` the clusters `one`, which is ready, and `two`, which is
/// not; and clusters that belong to no ClusterStack.
fn lists() -> Lists {
    let ready = |reason: &str, message: &str| [condition("Ready", "True", reason, message)];
    let fetched = |revision: &str| ready("Succeeded", &format!("stored artifact for revision '{revision}'"));
    let installed = |release: &str, chart: &str| {
        let message = format!("Helm install succeeded for release {release}.v1 with chart {chart}");
        ready("InstallSucceeded", &message)
    };
    let packaged = ready("ChartPackageSucceeded", "packaged 'CNI' chart with version 'v1'");
    let class = json!({"classRef": {"name": RELEASE, "namespace": "stacks"}});
    let failed = [
        condition("Ready", "False", "UpgradeFailed", FAILED),
        condition("Released", "False", "UpgradeFailed", "Deployment kube-system/cni is not ready"),
    ];
    let chart = observed::chart();
    let source = json!({"sourceRef": {"kind": "GitRepository", "name": RELEASE}});
    let release = |namespace, name, spec: &Value, conditions: &[Value], applied: &[&str]| {
        flux((FluxKind::HelmRelease, namespace, name), spec, conditions, applied)
    };
    let repository = |name, spec: &Value, conditions: &[Value]| {
        flux((FluxKind::GitRepository, "stacks", name), spec, conditions, &[])
    };
    let applied = ["kube-system_cni_apps_DaemonSet", "_system__cni_rbac.authorization.k8s.io_ClusterRole"];
    Lists {
        is_narrow: false,
        stacks: vec![read(stack())],
        releases: vec![read(rolled::release())],
        addons: addons()
            .into_iter()
            .chain([addon_without_release("prod", "old", NOT_OFFERED)])
            .map(read)
            .collect(),
        clusters: vec![
            cluster("prod", "one", &class, true),
            cluster("prod", "two", &class, true),
            cluster("prod", "young", &class, false),
            cluster("prod", "lost", &json!({"classRef": {"name": RELEASE}}), true),
            cluster("prod", "old", &json!({"classRef": {"name": NOT_OFFERED, "namespace": "stacks"}}), true),
            cluster("prod", "foreign", &json!({"class": "quick-start"}), true),
            cluster("prod", "plain", &json!({}), true),
        ],
        flux: vec![
            (
                FluxKind::HelmRelease,
                Some(vec![
                    release("prod", "one.cni", &chart, &installed("kube-system/cni", "CNI@v1"), &applied),
                    release("prod", "two.cni", &chart, &failed, &[]),
                    release(
                        "stacks",
                        RELEASE,
                        &json!({}),
                        &installed(&format!("stacks/{RELEASE}"), "class@v1"),
                        &[],
                    ),
                ]),
            ),
            (FluxKind::Kustomization, None),
            (
                FluxKind::GitRepository,
                Some(vec![
                    repository("demo-catalog", &json!({}), &fetched(&format!("main@sha1:{COMMIT}"))),
                    repository(RELEASE, &pinned(), &fetched(&format!("sha1:{COMMIT}"))),
                ]),
            ),
            (
                FluxKind::HelmChart,
                Some(vec![flux((FluxKind::HelmChart, "stacks", "cni-1"), &source, &packaged, &[])]),
            ),
        ],
        overrides: Vec::new(),
        operators: Vec::new(),
        selected: false,
    }
}

/// Returns the snapshot of one namespace, or of all.
fn snapshot(namespace: Option<&str>) -> Snapshot {
    let mut lists = lists();
    if namespace.is_some_and(|namespace| namespace != "prod") {
        (lists.clusters, lists.addons) = (Vec::new(), Vec::new());
    }
    Snapshot::new(lists, namespace.map(str::to_owned), NOW.parse().unwrap())
}

/// Returns what `why --verbose` prints.
fn sentences(chain: &Chain) -> String {
    plain(&text::chain::text(chain, NOW.parse().unwrap(), true, None))
}

/// Returns a text without its colours.
fn plain(text: &str) -> String {
    anstream::adapter::strip_str(text).to_string()
}

/// Returns what `status` prints.
fn table(fleet: &Fleet) -> String {
    plain(&text::fleet::text(fleet, Layout::default()))
}

fn tree_of(namespace: Option<&str>, only: Option<(Named, &str)>) -> String {
    let snapshot = snapshot(namespace);
    let only = only.map(|(kind, name)| tree::Only { kind, name: name.to_owned() });
    tree_text(&tree::tree(&snapshot, only.as_ref()))
}

/// Returns what `tree` prints.
fn tree_text(nodes: &[tree::Node]) -> String {
    plain(&text::tree::text(nodes, NOW.parse().unwrap(), Layout::default()))
}

fn why(name: &str, addon: Option<&str>) -> String {
    let snapshot = snapshot(Some("prod"));
    let (key, member) = snapshot.member("prod", name).unwrap();
    sentences(&chain::cluster(&snapshot, key, member, addon).unwrap())
}

#[test]
fn tree_spans_stack_to_applied_objects() {
    assert_printed("tree", &tree_of(None, None));
}

#[test]
fn tree_is_limited_to_cluster_release_or_namespace() {
    assert_printed("tree-cluster", &tree_of(Some("prod"), Some((Named::Cluster, "one"))));
    let all_but_the_stack = |text: &str| {
        let lines = text.lines().filter(|line| !line.starts_with("ClusterStack"));
        lines.map(str::to_owned).collect::<Vec<_>>()
    };
    let of_prod = tree_of(Some("prod"), None);
    let (here, all) = (all_but_the_stack(&of_prod), all_but_the_stack(&tree_of(None, None)));
    assert_eq!(here, all, "what its clusters depend on");
    assert!(!of_prod.contains("ClustersReady"), "the Clusters of other namespaces are not shown: {of_prod}");
    let elsewhere = tree_of(Some("elsewhere"), None);
    assert_eq!(tree_of(None, Some((Named::Release, "nope"))), elsewhere);
    assert_eq!(elsewhere, "");
    let foreign = tree_of(None, Some((Named::Cluster, "foreign")));
    assert!(foreign.contains("Cluster prod/foreign   False   ClassUnknown"), "{foreign}");
}

#[test]
fn tree_is_ready_if_all_parts_are() {
    let mut lists = lists();
    assert!(!tree::all_ready(&tree::tree(&snapshot(None), None)));
    assert!(!tree::all_ready(&[]), "nothing is not everything");
    lists.clusters.truncate(1);
    lists.addons.truncate(1);
    let mut stack = stack();
    let own = condition("Ready", "True", "Applied", "");
    stack["status"]["conditions"] = json!([own, condition("ClustersReady", "True", "Applied", "")]);
    lists.stacks = vec![read(stack.clone())];
    let ready = Snapshot::new(lists.clone(), None, NOW.parse().unwrap());
    assert!(tree::all_ready(&tree::tree(&ready, None)), "{}", tree_text(&tree::tree(&ready, None)));
    assert!(fleet::fleet(&ready).all_ready());
    for clusters in ["False", "Unknown"] {
        stack["status"]["conditions"] = json!([own, condition("ClustersReady", clusters, "Failed", "two")]);
        lists.stacks = vec![read(stack.clone())];
        let broken = Snapshot::new(lists.clone(), None, NOW.parse().unwrap());
        assert!(!fleet::fleet(&broken).all_ready(), "of the ClusterStack's Clusters one is not ready");
        assert!(!tree::all_ready(&tree::tree(&broken, None)));
        let one = tree::Only { kind: Named::Cluster, name: "one".to_owned() };
        assert!(tree::all_ready(&tree::tree(&broken, Some(&one))), "but not this one");
        let selected = Lists { selected: true, ..lists.clone() };
        let selected = Snapshot::new(selected, None, NOW.parse().unwrap());
        assert!(fleet::fleet(&selected).all_ready(), "those that were asked for are");
    }
}

#[test]
fn outdated_cluster_addon_is_not_counted() {
    let mut lists = lists();
    let mut outdated = addon("prod", "one", "Applied", "Applied", "");
    outdated["status"]["release"] = json!({"desired": "docker-demo-1-34-v0"});
    lists.addons = vec![read(outdated)];
    let snapshot = Snapshot::new(lists, None, NOW.parse().unwrap());
    let (key, member) = snapshot.member("prod", "one").unwrap();
    let chain = chain::cluster(&snapshot, key, member, None).unwrap();
    assert!(!chain.ready && sentences(&chain).contains("docker-demo-1-34-v0"), "{}", sentences(&chain));
    let status = table(&fleet::fleet(&snapshot));
    let row = status.lines().find(|line| line.contains("prod        one")).unwrap();
    assert!(row.contains("Unknown"), "{row}");
}

#[test]
fn object_of_unread_kind_is_not_reported_missing() {
    let mut lists = lists();
    lists.flux.retain(|(kind, _)| *kind != FluxKind::HelmRelease);
    lists.flux.push((FluxKind::HelmRelease, None));
    let snapshot = Snapshot::new(lists, None, NOW.parse().unwrap());
    let text = tree_text(&tree::tree(&snapshot, None));
    assert!(text.contains("HelmRelease prod/one.cni") && text.contains("NotRead"), "{text}");
    let missing = text.lines().find(|line| line.contains("NotFound") && line.contains("HelmRelease"));
    assert_eq!(missing, None);
}

/// A tenant may read only their own namespace: objects elsewhere may exist.
#[test]
fn forbidden_object_is_not_reported_missing() {
    let mut lists = lists();
    (lists.stacks, lists.releases, lists.is_narrow) = (Vec::new(), Vec::new(), true);
    let snapshot = Snapshot::new(lists, Some("prod".to_owned()), NOW.parse().unwrap());
    let (key, member) = snapshot.member("prod", "young").unwrap();
    let why = sentences(&chain::cluster(&snapshot, key, member, None).unwrap());
    assert!(why.contains("NotRead") && why.contains("namespace stacks, which you may not read"), "{why}");
    let overview = fleet::fleet(&snapshot);
    assert!(table(&overview).contains("young"), "{}", table(&overview));
    assert_eq!(overview.unclaimed(), 3, "lost, foreign and plain");
    let charts = |namespace| snapshot.absent(FluxKind::HelmChart, namespace).reason;
    assert_eq!((charts("stacks").as_str(), charts("prod").as_str()), ("NotRead", "NotFound"));
}

#[test]
fn status_has_a_line_for_each() {
    let overview = fleet::fleet(&snapshot(None));
    assert_printed("status", &table(&overview));
    assert_eq!((overview.all_ready(), overview.unclaimed()), (false, 3));
}

#[test]
fn status_of_one_object_has_its_line_alone() {
    let lines = |kind, name: &str| {
        let text = table(&fleet::fleet(&snapshot(None)).only(kind, name));
        text.lines().filter(|line| line.starts_with("stacks") || line.starts_with("prod")).count()
    };
    for (kind, name, expected) in [
        (Named::Clusterstack, "demo", 1),
        (Named::Release, RELEASE, 1),
        (Named::Cluster, "two", 1),
        (Named::Cluster, "demo", 0),
    ] {
        assert_eq!(lines(kind, name), expected, "{kind} {name}");
    }
    assert!(fleet::fleet(&snapshot(None)).only(Named::Cluster, "one").all_ready());
}

#[test]
fn why_follows_the_chain_to_flux_messages() {
    assert_printed("why-failing", &why("two", None));
    assert_printed("why-failing-addon", &why("two", Some("cni")));
    assert_printed("why-ready", &why("one", Some("cni")));
    let snapshot = snapshot(None);
    let (key, member) = snapshot.member("prod", "one").unwrap();
    assert!(chain::cluster(&snapshot, key, member, Some("nope")).is_none());
    assert_eq!(chain::addons(member), ["cni"]);
}

#[test]
fn why_explains_a_cluster_without_addons() {
    let all = ["young", "lost", "old", "foreign", "plain"].map(|name| why(name, None));
    assert_printed("why-unclaimed", &all.join("\n"));
}

/// Its addons would get into the hands of another tenant.
#[test]
fn why_sends_no_orphaned_cluster_to_another_namespace() {
    let mut lists = lists();
    if let Some((_, Some(releases))) = lists.flux.first_mut() {
        releases.push(flux((FluxKind::HelmRelease, "prod", "lost.cni"), &json!({"suspend": true}), &[], &[]));
    }
    let snapshot = Snapshot::new(lists, None, NOW.parse().unwrap());
    let (key, member) = snapshot.member("prod", "lost").unwrap();
    let why = sentences(&chain::cluster(&snapshot, key, member, None).unwrap());
    assert!(why.contains("Apply the ClusterStack in namespace prod again"), "{why}");
    assert!(!why.contains("classRef.namespace"), "{why}");
}

#[test]
fn events_are_limited_to_objects_of_stackflux() {
    let event = |group: &str, kind: &str, namespace: &str, name: &str, time: &str| {
        read(json!({
            "metadata": {"name": "event", "namespace": namespace},
            "involvedObject": {"apiVersion": group, "kind": kind, "namespace": namespace, "name": name},
            "reason": "Reason", "type": "Normal", "message": "two\nlines", "count": 2, "lastTimestamp": time,
        }))
    };
    let flux = "helm.toolkit.fluxcd.io/v2";
    let ours = "clusterstack.x-k8s.io/v1alpha1";
    let all = [
        event(flux, "HelmRelease", "prod", "one.cni", "2026-11-21T11:59:00Z"),
        event(ours, "ClusterAddon", "prod", "cluster-addon-one", "2026-11-21T11:00:00Z"),
        event(ours, "ClusterAddon", "prod", "cluster-addon-two", "2026-11-21T11:01:00Z"),
        event(flux, "HelmRelease", "prod", "somebody-elses", "2026-11-21T11:00:00Z"),
        event("v1", "Pod", "prod", "pod", "2026-11-21T11:00:00Z"),
    ];
    let snapshot = snapshot(None);
    assert_printed(
        "events",
        &events::text(&events::select(&all, &snapshot, None), snapshot.now(), Layout::default()),
    );
    let of_one = events::select(&all, &snapshot, Some(&[(Named::Cluster, "one".to_owned())]));
    let text = events::text(&of_one, snapshot.now(), Layout::default());
    assert!(text.contains("cluster-addon-one") && text.contains("one.cni"), "{text}");
    assert!(!text.contains("cluster-addon-two"), "{text}");
    let of_stack = events::select(&all, &snapshot, Some(&[(Named::Clusterstack, "demo".to_owned())]));
    let text = events::text(&of_stack, snapshot.now(), Layout::default());
    assert!(text.contains("cluster-addon-two") && text.contains("one.cni"), "{text}");
    let mut selected = lists();
    selected.selected = true;
    selected.clusters.truncate(1);
    let selected = Snapshot::new(selected, None, NOW.parse().unwrap());
    assert_eq!(events::select(&all, &selected, None), of_one, "only of the Clusters that were selected");
    assert_eq!(events::text(&[], NOW.parse().unwrap(), Layout::default()), "");
}

#[test]
fn ages_are_formatted_as_by_kubectl() {
    let now = NOW.parse().unwrap();
    let at = |time: &str| age(Some(time.parse().unwrap()), now);
    assert_eq!(at("2026-11-21T11:58:01Z"), "119s");
    assert_eq!(at("2026-11-21T11:58:00Z"), "2m");
    assert_eq!(at("2026-11-21T10:00:00Z"), "2h");
    assert_eq!(at("2026-11-19T12:00:00Z"), "2d");
    assert_eq!(at("2026-11-21T12:00:09Z"), "0s", "clocks differ");
    assert_eq!(age(None, now), "-");
}

/// The text is that of a file in `tests/printed`.
#[allow(clippy::disallowed_methods, reason = "a test may read files and how it was called")]
fn assert_printed(name: &str, text: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("src/cli/live/tests/printed/{name}.txt"));
    let text = format!("{}\n", text.trim_end());
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&path, &text).unwrap();
    }
    assert_eq!(std::fs::read_to_string(&path).unwrap(), text, "{name}: UPDATE_GOLDEN=1 writes it again");
}
