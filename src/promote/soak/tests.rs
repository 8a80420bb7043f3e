use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::{HumanDuration, Member, Requirement, Selection, SoakFailure, SoakResult, check};
use crate::api::{ClusterAddon, ClusterStackRelease};
use crate::foreign::capi::Cluster;
use crate::names::ReleaseName;

const DIGEST: &str = "sha256:0000";
const RELEASE: &str = "openstack-scs-1-32-v2";

fn at(text: &str) -> Timestamp {
    format!("2026-11-{text}:00Z").parse().unwrap()
}

fn ready(status: &str, since: &str) -> Value {
    json!([{"type": "Ready", "status": status, "reason": "Said", "message": "by a test", "observedGeneration": 1,
        "lastTransitionTime": at(since)}])
}

fn release(digest: &str, conditions: &Value) -> ClusterStackRelease {
    serde_json::from_value(json!({
        "apiVersion": "clusterstack.x-k8s.io/v1alpha1", "kind": "ClusterStackRelease",
        "metadata": {"name": RELEASE, "namespace": "stacks", "generation": 1},
        "spec": {}, "status": {"digest": digest, "conditions": conditions},
    }))
    .unwrap()
}

fn cluster(name: &str, class: &str, conditions: &Value) -> Cluster {
    Cluster::new(json!({
        "apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Cluster",
        "metadata": {"name": name, "namespace": "tenant"},
        "spec": {"topology": {"classRef": {"name": class, "namespace": "stacks"}, "version": "v1.32.1"}},
        "status": {"conditions": conditions},
    }))
    .unwrap()
}

fn addon(name: &str, applied: &str, conditions: &Value, settled: &str) -> ClusterAddon {
    serde_json::from_value(json!({
        "apiVersion": "clusterstack.x-k8s.io/v1alpha1", "kind": "ClusterAddon",
        "metadata": {"name": format!("cluster-addon-{name}"), "namespace": "tenant", "generation": 1},
        "spec": {"clusterRef": {"name": name}},
        "status": {"release": {"applied": applied}, "conditions": conditions,
            "addons": [{"name": "cni", "since": at(settled)}]},
    }))
    .unwrap()
}

struct World {
    releases: Vec<ClusterStackRelease>,
    members: Vec<(Cluster, Option<ClusterAddon>)>,
    others: Vec<String>,
    only: Selection,
}

impl World {
    /// Creates two clusters, the second ready since the 20th at ten.
    fn good() -> Self {
        let since = ready("True", "19T08:00");
        let one = (cluster("one", RELEASE, &json!([])), Some(addon("one", RELEASE, &since, "19T09:00")));
        let two = (cluster("two", RELEASE, &json!([])), Some(addon("two", RELEASE, &since, "20T10:00")));
        Self {
            releases: vec![release(DIGEST, &since)],
            members: vec![one, two],
            others: Vec::new(),
            only: Selection::default(),
        }
    }

    /// Checks the clusters at noon on the 21st.
    fn ask(&self, required: &str) -> Result<SoakResult, SoakFailure> {
        let name: ReleaseName = RELEASE.parse().unwrap();
        let required: SignedDuration = required.parse().unwrap();
        let now = at("21T12:00");
        let requirement =
            Requirement { stage: "stage", release: &name, digest: DIGEST, required, now, only: &self.only };
        let releases: Vec<&ClusterStackRelease> = self.releases.iter().collect();
        let member = |(cluster, addon): &'_ (Cluster, Option<ClusterAddon>)| (cluster.clone(), addon.clone());
        let owned: Vec<_> = self.members.iter().map(member).collect();
        let members: Vec<Member> =
            owned.iter().map(|(cluster, addon)| Member { cluster, addon: addon.as_ref() }).collect();
        check(&requirement, (&releases, &self.others), &members)
    }

    fn problems(&self, required: &str) -> Vec<String> {
        self.ask(required).unwrap_err().problems
    }
}

#[test]
fn soak_counts_from_the_last_settled_cluster() {
    let soaked = World::good().ask("24h").unwrap();
    assert_eq!(soaked.clusters, ["tenant/one", "tenant/two"]);
    assert_eq!((soaked.since, soaked.seconds), (at("20T10:00"), 26 * 3600));
    assert!(World::good().ask("26h").is_ok(), "the last second counts");
    let problems = World::good().problems("26h1s");
    assert_eq!(problems.len(), 1, "{problems:?}");
    assert!(
        problems[0].starts_with("Cluster tenant/two has been ready with it for 26h, since"),
        "{problems:?}"
    );
}

#[test]
fn flapping_cluster_restarts_the_soak() {
    let mut world = World::good();
    world.members[0].1 = Some(addon("one", RELEASE, &ready("True", "21T11:00"), "19T09:00"));
    assert_eq!(
        world.problems("24h"),
        [
            "Cluster tenant/one has been ready with it for 1h, since 2026-11-21T11:00:00Z, but 24h are required"
        ]
    );
    let conditions = json!([
        ready("True", "19T08:00")[0],
        {"type": "Delivered", "status": "True", "reason": "Said", "message": "", "lastTransitionTime": at("21T11:30")},
    ]);
    world.members[0].1 = Some(addon("one", RELEASE, &conditions, "19T09:00"));
    assert_eq!(world.problems("24h").len(), 1, "what is ready again after a write is as young as the write");
}

#[test]
fn clusters_without_ready_release_are_named() {
    let mut world = World::good();
    let since = ready("True", "19T08:00");
    world.members[0].1 = Some(addon("one", RELEASE, &ready("False", "21T11:00"), "19T09:00"));
    world.members[1].1 = Some(addon("two", "openstack-scs-1-32-v1", &since, "19T09:00"));
    world.members.push((cluster("three", "openstack-scs-1-32-v1", &json!([])), None));
    world.members.push((cluster("four", RELEASE, &json!([])), None));
    let problems = world.problems("24h");
    assert_eq!(
        problems,
        [
            "Cluster tenant/one is not Ready: Said: by a test",
            "Cluster tenant/two: the addons of openstack-scs-1-32-v1 are applied, not those of the release yet",
            "Cluster tenant/three runs openstack-scs-1-32-v1",
            "Cluster tenant/four has no ClusterAddon yet",
        ]
    );
}

#[test]
fn condition_of_an_older_generation_is_ignored() {
    let mut world = World::good();
    let mut conditions = ready("True", "19T08:00");
    conditions[0]["observedGeneration"] = json!(0);
    world.members[0].1 = Some(addon("one", RELEASE, &conditions, "19T09:00"));
    assert!(world.problems("1h")[0].contains("NotYetReported"));
}

#[test]
fn cluster_api_conditions_delay_the_soak() {
    let mut world = World::good();
    let condition = |kind: &str, status: &str, since: &str| {
        json!({"type": kind, "status": status, "reason": "ClusterUpgrading", "message": "1 of 3",
            "lastTransitionTime": at(since)})
    };
    let upgraded = json!([
        condition("TopologyReconciled", "True", "21T10:00"),
        condition("Deleting", "False", "21T11:00")
    ]);
    world.members[0].0 = cluster("one", RELEASE, &upgraded);
    assert!(world.problems("24h")[0].contains("for 2h"), "{:?}", world.problems("24h"));
    world.members[0].0 =
        cluster("one", RELEASE, &json!([condition("TopologyReconciled", "False", "19T10:00")]));
    assert_eq!(
        world.problems("1h"),
        ["Cluster tenant/one: Cluster API says that it is not TopologyReconciled: ClusterUpgrading: 1 of 3"]
    );
}

#[test]
fn other_content_does_not_complete_the_soak() {
    let mut world = World::good();
    world.releases[0] = release("sha256:1111", &ready("True", "19T08:00"));
    assert_eq!(
        world.problems("1h"),
        [
            "ClusterStackRelease stacks/openstack-scs-1-32-v2 has sha256:1111, but the stage has sha256:0000 in Git"
        ]
    );
}

#[test]
fn unselected_clusters_are_reported() {
    let mut world = World::good();
    world.only = Selection { namespace: Some("tenant".to_owned()), selector: Some("a=b".to_owned()) };
    assert_eq!(world.ask("1h").unwrap().only, world.only);
    world.members.clear();
    let expected = "no Cluster runs it; only Clusters in namespace tenant with the labels a=b were queried";
    assert_eq!(world.problems("1h"), [expected]);
    assert_eq!(Selection::default().to_string(), "");
}

#[test]
fn soak_without_clusters_fails() {
    let mut world = World::good();
    world.members.clear();
    assert_eq!(world.problems("1h"), ["no Cluster runs it"]);
    world.releases.clear();
    assert_eq!(world.problems("1h"), ["no ClusterStack of stage has it: there is none of its stack"]);
    world.others.push("ClusterStack a/b does not count: it follows the branch other".to_owned());
    let expected =
        ["no ClusterStack of stage has it", "ClusterStack a/b does not count: it follows the branch other"];
    assert_eq!(world.problems("1h"), expected);
}

#[test]
fn deleting_cluster_is_not_counted() {
    let mut world = World::good();
    let mut going = cluster("three", "openstack-scs-1-32-v1", &json!([])).object().clone();
    going["metadata"]["deletionTimestamp"] = json!(at("21T11:00"));
    world.members.push((Cluster::new(going).unwrap(), None));
    assert_eq!(world.ask("24h").unwrap().clusters.len(), 2);
}

#[test]
fn clock_behind_does_not_complete_the_soak() {
    let mut world = World::good();
    world.members[0].1 = Some(addon("one", RELEASE, &ready("True", "22T00:00"), "19T09:00"));
    assert!(world.problems("1s")[0].contains("ready with it for 0s"));
}

#[test]
fn long_problem_list_is_truncated() {
    let mut world = World::good();
    world.members = (0..30).map(|at| (cluster(&format!("c{at}"), RELEASE, &json!([])), None)).collect();
    let text = world.ask("1h").unwrap_err().to_string();
    assert!(
        text.starts_with(
            "stage stage has not completed the soak of openstack-scs-1-32-v2:\n  Cluster tenant/c0"
        ),
        "{text}"
    );
    assert!(text.contains("c19") && !text.contains("c20") && text.ends_with("\n  and 10 more"), "{text}");
}

#[test]
fn durations_show_two_units() {
    let text = |seconds| HumanDuration(SignedDuration::from_secs(seconds)).to_string();
    let seconds = [0, 59, 60, 200, 3600, 3659, 3660, 93_780];
    assert_eq!(seconds.map(text), ["0s", "59s", "1m", "3m 20s", "1h", "1h", "1h 1m", "26h 3m"]);
}
