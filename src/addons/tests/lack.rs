//! Tests of the reason why there is no release to deliver to a Cluster.

use super::*;

fn cluster(topology: &Value) -> Cluster {
    let object = json!({
        "apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Cluster",
        "metadata": {"name": "one", "namespace": "prod"}, "spec": {"topology": topology},
    });
    Cluster::new(object).unwrap()
}

fn missing(status: ConditionStatus) -> Installation {
    Installation::Missing(Report::new(status, "Why", "why"))
}

#[test]
fn lack_has_the_first_reason_that_applies() {
    let of_release = json!({"classRef": {"name": "docker-demo-1-34-v1", "namespace": "stacks"}});
    let certain = ConditionStatus::False;
    for (topology, release, expected) in [
        (&json!({}), missing(certain), Some(("", "False ClassUnknown: the Cluster has no class", false))),
        (
            &json!({"class": "quick-start"}),
            missing(certain),
            Some(("quick-start", "False ClassUnknown: the Cluster's class prod/quick-start is not", false)),
        ),
        (&of_release, Installation::Installed, None),
        (&of_release, Installation::Unknown, None),
        (
            &of_release,
            Installation::NoStack,
            Some((
                "docker-demo-1-34-v1",
                "False ClassUnknown: no ClusterStack in namespace stacks has",
                false,
            )),
        ),
        (&of_release, missing(certain), Some(("docker-demo-1-34-v1", "False Why: why", true))),
        (
            &of_release,
            missing(ConditionStatus::Unknown),
            Some(("docker-demo-1-34-v1", "Unknown Why: why", false)),
        ),
    ] {
        let found = lack(&cluster(topology), None, release.clone());
        let found = found.map(|Lack { desired, report: Report { status, reason, message }, is_certain }| {
            (desired, format!("{} {reason}: {message}", status.as_str()), is_certain)
        });
        match (found, expected) {
            (None, None) => {}
            (Some((desired, report, is_certain)), Some((name, text, certain))) => {
                assert_eq!((desired.as_str(), is_certain), (name, certain), "{report}");
                assert!(report.starts_with(text) && !report.contains("stay"), "{report}");
            }
            (found, _) => panic!("{release:?}: {found:?}"),
        }
    }
}

#[test]
fn lack_says_that_installed_addons_stay() {
    let mut addon = cluster_addon(&json!({}));
    assert!(!text(&addon).contains("stay"), "{}", text(&addon));
    addon.status = serde_json::from_value(json!({"addons": [{"name": "cni"}]})).unwrap();
    assert!(text(&addon).ends_with("; the installed addons stay as they are"), "{}", text(&addon));
}

fn text(addon: &ClusterAddon) -> String {
    lack(&cluster(&json!({})), Some(addon), Installation::NoStack).unwrap().report.message
}
