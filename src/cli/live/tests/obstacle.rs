//! Tests that a Cluster without a `ClusterAddon` has the reason and the message that the operator finds.

use std::collections::BTreeMap;

use super::*;
use crate::addons::{Installation, lack};
use crate::api::ClusterStack;
use crate::foreign::capi::Cluster;
use crate::names::{ReleaseName, Revision};
use crate::release::Findings;
use crate::rollup::{InRepository, Report, missing_release};
use crate::subscription::CatalogFacts;

/// A `ClusterStack` and a Cluster without a `ClusterAddon` whose class is of v9.
struct Situation {
    /// The namespace of the Cluster.
    namespace: &'static str,
    /// The releases in the stack repository, if the operator has read it.
    repository: Option<&'static [&'static str]>,
    /// `spec.versions`.
    versions: &'static [&'static str],
    suspended: bool,
}

/// The release v9 is offered, and the stack repository has it.
const OFFERED: Situation =
    Situation { namespace: "prod", repository: Some(&[NOT_OFFERED]), versions: &["v9"], suspended: false };

impl Situation {
    /// Returns the `ClusterStack` with the part of its status that names the stack repository.
    fn stack(&self, is_wanted: bool) -> ClusterStack {
        let mut stack = stack();
        stack["spec"]["versions"] = json!(self.versions);
        stack["spec"]["suspend"] = json!(self.suspended);
        let has_it = self.repository.is_none_or(|releases| releases.contains(&NOT_OFFERED));
        let missing =
            [json!({"name": NOT_OFFERED, "ready": false, "phase": "ReleaseNotFound", "message": "no such"})];
        let missing = if is_wanted && !has_it { missing.as_slice() } else { &[] };
        stack["status"]["summary"] = json!(missing);
        let revision = self.repository.map(|_| format!("main@sha1:{COMMIT}"));
        stack["status"]["source"] = json!({"gitRepository": "stacks/demo-catalog", "revision": revision});
        read(stack)
    }

    /// Returns the report of the operator, and that of the command line.
    fn reports(&self) -> [String; 2] {
        let name: ReleaseName = NOT_OFFERED.parse().unwrap();
        let is_wanted = self.versions.contains(&"v9") || self.namespace == "stacks";
        let stack = self.stack(is_wanted);
        let class = json!({"classRef": {"name": NOT_OFFERED, "namespace": "stacks"}});
        let object = cluster(self.namespace, "late", &class, true);

        let revision: Revision = COMMIT.parse().unwrap();
        let entry = |name: &&str| (name.parse().unwrap(), Err(Findings::default()));
        let releases: Option<BTreeMap<ReleaseName, _>> =
            self.repository.map(|all| all.iter().map(entry).collect());
        let catalog = releases.as_ref();
        let catalog =
            catalog.map(|releases| CatalogFacts { revision: &revision, releases, is_current: true });
        let report = missing_release(&stack, InRepository::of(catalog, &name), is_wanted, &name);
        let operator =
            lack(&Cluster::new(object.clone()).unwrap(), None, Installation::Missing(report)).unwrap().report;

        let lists = Lists { stacks: vec![stack], clusters: vec![object], addons: Vec::new(), ..lists() };
        [line(&operator), shown(lists, self.namespace, "late")]
    }
}

fn line(report: &Report) -> String {
    format!("{} {}: {}", report.status.as_str(), report.reason, report.message)
}

/// Returns what `status` and `tree` say about a Cluster.
fn shown(lists: Lists, namespace: &str, name: &str) -> String {
    let snapshot = Snapshot::new(lists, None, NOW.parse().unwrap());
    let (key, member) = snapshot.member(namespace, name).unwrap();
    line(&tree::cluster_report(&snapshot, key, member))
}

#[test]
fn cluster_without_release_has_the_operators_reason() {
    let nothing: &[&str] = &[];
    let table = [
        (OFFERED, "Unknown NotYetReported: ClusterStack stacks/demo is about to install docker-demo-1-34-v9"),
        (
            Situation { repository: None, ..OFFERED },
            "Unknown NotYetReported: the stack repository of ClusterStack stacks/demo was not read yet",
        ),
        (
            Situation { repository: Some(nothing), ..OFFERED },
            "False ReleaseNotFound: the stack repository of ClusterStack stacks/demo has no release \
             docker-demo-1-34-v9 at 0123456789ab: ",
        ),
        (
            Situation { repository: Some(nothing), versions: nothing, namespace: "stacks", ..OFFERED },
            "False ReleaseNotFound: the stack repository of ClusterStack stacks/demo has no release",
        ),
        (
            Situation { suspended: true, ..OFFERED },
            "Unknown Suspended: ClusterStack stacks/demo is suspended",
        ),
        (
            Situation { versions: nothing, ..OFFERED },
            "False ReleaseNotOffered: ClusterStack stacks/demo does not offer docker-demo-1-34-v9",
        ),
        (
            Situation { versions: nothing, namespace: "stacks", ..OFFERED },
            "Unknown NotYetReported: ClusterStack stacks/demo is about to install docker-demo-1-34-v9",
        ),
    ];
    for (situation, expected) in table {
        let [operator, shown] = situation.reports();
        assert!(operator.starts_with(expected), "{operator}");
        assert_eq!(shown, operator);
    }
}

#[test]
fn cluster_without_class_has_the_operators_reason() {
    for (name, expected) in [
        ("plain", "the Cluster has no class (spec.topology), so it belongs to no ClusterStack"),
        ("foreign", "the Cluster's class prod/quick-start is not the class of a cluster stack release"),
        ("lost", "no ClusterStack in namespace prod has the Cluster's class docker-demo-1-34-v1"),
    ] {
        let objects = lists().clusters.into_iter().map(|object| Cluster::new(object).unwrap());
        let cluster = objects.into_iter().find(|cluster| cluster.name().as_str() == name).unwrap();
        let operator = lack(&cluster, None, Installation::NoStack).unwrap();
        assert_eq!(
            (line(&operator.report), operator.is_certain),
            (format!("False ClassUnknown: {expected}"), false)
        );
        assert_eq!(shown(lists(), "prod", name), line(&operator.report));
    }
}

/// Whoever may read the `ClusterStack` sees why its stack repository was not read, and gets the advice about that.
#[test]
fn why_follows_an_unread_repository() {
    let situation = Situation { repository: None, ..OFFERED };
    let mut stack = situation.stack(true);
    let source =
        condition("SourceReady", "False", "AccessDenied", "refers to GitRepository flux-system/stacks");
    stack.status.as_mut().unwrap().conditions = vec![read(source)];
    let class = json!({"classRef": {"name": NOT_OFFERED, "namespace": "stacks"}});
    let clusters = vec![cluster("prod", "late", &class, true)];
    let lists = Lists { stacks: vec![stack], clusters, addons: Vec::new(), ..lists() };
    let snapshot = Snapshot::new(lists, None, NOW.parse().unwrap());
    let (key, member) = snapshot.member("prod", "late").unwrap();
    let why = sentences(&chain::cluster(&snapshot, key, member, None).unwrap());
    for expected in [
        "◎ Cluster prod/late: NotYetReported: the stack repository of ClusterStack stacks/demo was not read yet",
        "ClusterStack stacks/demo SourceReady: refers to GitRepository flux-system/stacks",
        "(stackflux explain AccessDenied)",
    ] {
        assert!(why.contains(expected), "{why}");
    }
}
