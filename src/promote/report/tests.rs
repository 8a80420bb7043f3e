use serde_json::json;

use super::{Promotion, Soak, document};
use crate::compare::change::Change;
use crate::compare::charts::{ChartsAndKinds, KindChange, Owner, VersionChange};
use crate::compare::moments::{Moments, OnTheWay};
use crate::compare::plans::{ChangeKind, ClusterChange, HeldAddon, ObjectChange};
use crate::inputs::ClusterInputs;
use crate::plan::{ObjectId, Plan};
use crate::promote::compare::{Effect, NotFollowing, Offer, Offered, PartChange, Skipped, Upgrade};
use crate::promote::soak::{Selection, SoakResult};

/// The length that a forge accepts.
const MAX_BODY_BYTES: usize = 60_000;

/// Creates the change of an addon's HelmRelease to another chart, with values that change from `from` to `to`.
fn changed(cluster: &str, addon: &str, from: u8, to: u8) -> ObjectChange {
    let object = |chart: &str, value: u8| {
        json!({
            "metadata": {"labels": {(crate::api::labels::ADDON): addon}},
            "spec": {"chartRef": {"name": chart}, "values": {"cilium": {"tag": value}}},
        })
    };
    let id = ObjectId {
        api_version: "helm.toolkit.fluxcd.io/v2".to_owned(),
        kind: "HelmRelease".to_owned(),
        namespace: "tenant".to_owned(),
        name: format!("{cluster}.{addon}"),
    };
    ObjectChange::between(ChangeKind::Changed, &id, Some(&object("old", from)), Some(&object("new", to)))
}

fn cluster(name: &str, objects: Vec<ObjectChange>) -> ClusterChange {
    let object = json!({"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Cluster",
        "metadata": {"name": name, "namespace": "tenant"}});
    let inputs = ClusterInputs::new(crate::foreign::capi::Cluster::new(object).unwrap(), |_| None);
    ClusterChange::new(&inputs, objects, &Plan::default())
}

/// Returns the change of a Cluster whose `cni` moves before an upgrade.
fn upgraded(mut cluster: ClusterChange) -> ClusterChange {
    let moments = Moments {
        version: "v1.32.5".into(),
        before: vec!["cni".into()],
        after: Vec::new(),
        repeated: vec!["cni".into()],
    };
    cluster.upgrade = Some(moments);
    cluster.on_the_way = OnTheWay { temporary: vec!["helper".into()], reinstalled: vec!["storage".into()] };
    cluster
}

fn part(part: &str, charts: ChartsAndKinds) -> PartChange {
    PartChange { part: part.to_owned(), change: Change::Changed, files: 2, charts }
}

fn promotion() -> Promotion {
    let charts = ChartsAndKinds {
        charts: vec![VersionChange {
            name: "cilium".into(),
            from: Some("1.16.5".into()),
            to: Some("1.17.1".into()),
            was: None,
        }],
        kinds: vec![
            KindChange { name: "a.cilium.io".into(), change: Change::Added, deleted_by: None },
            KindChange { name: "b.cilium.io".into(), change: Change::Removed, deleted_by: Some(Owner::Helm) },
            KindChange { name: "c.cilium.io".into(), change: Change::Removed, deleted_by: Some(Owner::Flux) },
        ],
        values: crate::compare::values::differences(None, Some(&json!({"hubble": {"enabled": true}}))),
        unseen: Vec::new(),
    };
    let upgrade = Upgrade {
        from: "openstack-scs-1-32-v1".into(),
        kubernetes: "v1.32.1".into(),
        namespace: Some("prod".into()),
        parts: vec![part("cluster class", ChartsAndKinds::default()), part("addon cni", charts)],
        objects: Vec::new(),
        clusters: vec![
            cluster("one", vec![changed("one", "cni", 1, 2)]),
            cluster("two", vec![changed("two", "cni", 1, 2)]),
            upgraded(cluster("three", vec![changed("three", "cni", 1, 3)])),
        ],
    };
    let offer = |name: &str, offered| Offer {
        namespace: "prod".into(),
        name: name.into(),
        offered,
        latest: Some("openstack-scs-1-32-v1".into()),
    };
    Promotion {
        release: "openstack-scs-1-32-v2".into(),
        kubernetes: "v1.32.5".into(),
        digest: "sha256:abc".into(),
        from: "stage".into(),
        commit: "0123456789abcdef0123456789abcdef01234567".into(),
        to: "prod".into(),
        soak: Soak::Complete(SoakResult {
            clusters: vec!["a/b".into(), "a/c".into()],
            since: "2026-11-20T10:00:00Z".parse().unwrap(),
            seconds: 93_780,
            only: Selection::default(),
        }),
        lifts_hold: None,
        effect: Effect {
            stacks: vec![offer("auto", Offered::Latest), offer("listed", Offered::NotListed)],
            upgrades: vec![upgrade],
            elsewhere: Vec::new(),
            unreadable: Vec::new(),
            left_out: Vec::new(),
        },
    }
}

#[test]
fn report_has_all_sections() {
    let text = document(&promotion()).to_plain();
    for expected in [
        "Promote openstack-scs-1-32-v2 from stage to prod\n",
        "Soak: 2 clusters ready with this content for 26h 3m, since 2026-11-20T10:00:00Z",
        "ClusterStack prod/auto subscribes to the latest, and will offer it instead of openstack-scs-1-32-v1",
        "ClusterStack prod/listed will not offer it: its versions do not have v2",
        "Kubernetes v1.32.1 → v1.32.5: Cluster API replaces the machines",
        "cilium 1.16.5 → 1.17.1",
        "a.cilium.io added, b.cilium.io removed, c.cilium.io removed",
        "Helm deletes these CRDs, and with them all objects of their kinds: b.cilium.io\n",
        "Flux deletes these CRDs, and with them all objects of their kinds: c.cilium.io\n",
        "  1 value in values.yaml of addon cni:\n    hubble.enabled: true, new\n",
        "2 Clusters: tenant/one, tenant/two\n",
        "Helm upgrades cni to another chart with other values\n",
        "cilium.tag: 1 → 2\n",
        "Cluster tenant/three\n",
        "Before Cluster API upgrades to v1.32.5: cni\n",
        "Once more after Cluster API upgrades to v1.32.5: cni\n",
        "Installed and uninstalled again on the way: helper\n",
        "Uninstalled and installed again on the way: storage\n",
        "changed HelmRelease tenant/three.cni\n",
    ] {
        assert!(text.contains(expected), "{expected:?} is not in\n{text}");
    }
}

#[test]
fn unqueried_clusters_are_in_report_and_commit() {
    let mut promotion = promotion();
    let Soak::Complete(result) = &mut promotion.soak else { panic!() };
    result.only.selector = Some("wave=1".to_owned());
    let expected = "since 2026-11-20T10:00:00Z; only Clusters with the labels wave=1 were queried";
    assert!(promotion.soak.sentence().ends_with(expected));
    assert!(document(&promotion).to_plain().contains(&format!("{expected}\n")));
    assert_eq!(serde_json::to_value(&promotion).unwrap()["soak"]["vouched"]["only"]["selector"], "wave=1");
}

#[test]
fn foreign_text_cannot_change_a_pull_request() {
    let mut promotion = promotion();
    let hostile = "`x` </details> @everyone\n# heading | [a](b)";
    promotion.lifts_hold = Some(hostile.to_owned());
    promotion.effect.upgrades[0].clusters[2].held =
        vec![HeldAddon { addon: Some("cni".into()), reason: "Held", message: hostile.to_owned() }];
    promotion.effect.upgrades[0].parts[1].charts.charts[0].name = hostile.to_owned();
    let text = document(&promotion).to_markdown(MAX_BODY_BYTES);
    assert!(!text.contains("\n# heading") && text.contains("`` `x` </details> @everyone"), "{text}");
    assert_eq!(text.matches("\n</details>\n").count(), text.matches("<details>").count());
}

#[test]
fn clusters_with_same_change_share_one_paragraph() {
    let mut promotion = promotion();
    let names = (0..1000).map(|at| format!("cluster-{at}"));
    let same = names.map(|name| cluster(&name, vec![changed(&name, "cni", 1, 2)]));
    promotion.effect.upgrades[0].clusters = same.collect();
    let text = document(&promotion).to_markdown(MAX_BODY_BYTES);
    assert!(text.contains("1000 Clusters: ") && text.contains(" and 980 more"), "{text}");
    assert!(text.chars().count() < 4000, "{}", text.chars().count());
}

#[test]
fn thousand_different_clusters_fit_into_pull_request() {
    let mut promotion = promotion();
    let one = |at: usize| {
        let name = format!("cluster-{at}");
        let mut change = changed(&name, "cni", 1, 2);
        change.values[0].to = Some(at.to_string());
        cluster(&name, vec![change])
    };
    promotion.effect.upgrades[0].clusters = (0..1000).map(one).collect();
    let text = document(&promotion).to_markdown(MAX_BODY_BYTES);
    assert!(text.len() <= MAX_BODY_BYTES && text.contains("**Left out, because"), "{}", text.len());
    let expected = "`Cluster tenant/cluster-0: 1 value in the HelmRelease of cni`";
    assert!(text.contains("### Cluster `tenant/cluster-200`\n") && text.contains(expected), "{text}");
    let all = document(&promotion).to_plain();
    assert!(all.contains("Cluster tenant/cluster-999\n"));
}

#[test]
fn truncation_keeps_warnings() {
    let mut promotion = promotion();
    let long = "x".repeat(70_000);
    let upgrade = &mut promotion.effect.upgrades[0];
    upgrade.parts[1].charts.values =
        crate::compare::values::differences(None, Some(&json!({(long.as_str()): 1})));
    upgrade.clusters[2].held =
        vec![HeldAddon { addon: Some("cni".into()), reason: "Held", message: format!("{long} \u{1f6d1}") }];
    promotion.effect.left_out = (0..2000)
        .map(|at| Skipped { cluster: format!("tenant/left-{at}"), why: "it is later".into() })
        .collect();
    let text = document(&promotion).to_markdown(MAX_BODY_BYTES);
    assert!(text.len() <= MAX_BODY_BYTES, "{}", text.len());
    for expected in [
        "**Helm deletes these CRDs, and with them all objects of their kinds**: `b.cilium.io`\n",
        "- **Held**: `cni`: `Held`: `xxxx",
        "<summary>1 value in values.yaml of <code>addon cni</code></summary>\n\n- `xxxx",
        "because this is as long as a pull request may be:** `a part of Clusters that are not planned for`. The same",
    ] {
        assert!(text.contains(expected), "{expected:?} is not in\n{text}");
    }
    assert!(!text.contains(&"x".repeat(400)), "{text}");
}

#[test]
fn report_without_stacks_names_the_missing_inputs() {
    let mut promotion = promotion();
    promotion.effect.stacks.clear();
    let why = "it follows the branch other".to_owned();
    promotion.effect.elsewhere.push(NotFollowing { stack: "prod/other".into(), why });
    promotion.effect.upgrades[0].namespace = None;
    promotion.soak = Soak::NotQueried;
    let text = document(&promotion).to_plain();
    assert!(text.contains("No ClusterStack of prod is known for this release"), "{text}");
    assert!(text.contains("ClusterStack prod/other does not count: it follows the branch other\n"), "{text}");
    assert!(text.contains("Soak: not asked (--offline)") && !text.contains("tenant/one"), "{text}");
}

#[test]
fn json_has_each_cluster_and_value() {
    let value = serde_json::to_value(promotion()).unwrap();
    assert_eq!(value["upgrades"][0]["clusters"][2]["objects"][0]["values"][0]["to"], "3");
    assert_eq!(value["upgrades"][0]["clusters"][2]["objects"][0]["effect"], "upgradesChartAndValues");
    assert_eq!(value["soak"]["vouched"]["seconds"], 93_780);
    assert_eq!(value["stacks"][1]["offered"], "notListed");
    assert_eq!(value["upgrades"][0]["parts"][1]["kinds"][1]["deletedBy"], "helm");
}
