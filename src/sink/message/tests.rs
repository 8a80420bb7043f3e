//! Messages stay readable, also with many changes.

use super::*;
use crate::plan::Plan;
use crate::plan::tests::fixture::Fixture;
use crate::sink::update::{Budget, Delivery, Limit, Overwrite, Scope, update};
use std::collections::BTreeMap;

type Files = BTreeMap<String, Vec<u8>>;

fn delivered(files: &mut Files, plan: &Plan) -> String {
    let delivery = Delivery {
        stack: "stacks/demo".to_owned(),
        plan,
        scope: Scope::default(),
        overwrite: Overwrite::default(),
        budget: Budget { limit: Limit::All, allowed: None },
    };
    let changes = update(files, &delivery).unwrap();
    changes.removes.iter().for_each(|path| _ = files.remove(path));
    files.extend(changes.writes.clone());
    let origin = Origin { stack: "stacks/demo", plan: Digest::of_bytes(b"plan"), version: "1.2.3" };
    message(&changes, &origin).to_string()
}

#[test]
fn message_names_change_cluster_and_cause() {
    let (fixture, mut files) = (Fixture::new(), Files::new());
    let first = delivered(&mut files, &fixture.plan("v1", &["one", "two"]));
    assert!(first.starts_with("stackflux: 2 clusters: docker-demo-1-34-v1\n\n"), "{first}");
    let added = "cluster stacks/one: added HelmRelease stacks/one.ccm, HelmRelease stacks/one.cni, Kustomization stacks/one.policies\n";
    assert!(first.contains(added), "{first}");
    let trailers = format!(
        "\n\nStackflux-Cluster-Stack: stacks/demo\nStackflux-Plan-Digest: {}\nStackflux-Version: 1.2.3\n",
        Digest::of_bytes(b"plan")
    );
    assert!(first.ends_with(&trailers), "{first}");

    let second = delivered(&mut files, &fixture.plan("v2", &["one"]));
    assert!(second.starts_with("stackflux: 2 clusters: docker-demo-1-34-v2\n\n"), "{second}");
    assert!(second.contains("cluster stacks/two: removed HelmRelease"), "{second}");
    let why = "cluster stacks/one\n- changed HelmRelease stacks/one.cni: release docker-demo-1-34-v1 → docker-demo-1-34-v2; chart cni-";
    assert!(second.contains(why), "{second}");
    assert!(second.contains("sources\n- added GitRepository stacks/docker-demo-1-34-v2\n"), "{second}");
}

#[test]
fn commit_message_for_thousand_clusters_stays_short() {
    let (mut fixture, mut files) = (Fixture::new(), Files::new());
    let names: Vec<String> = (0..1_000).map(|number| format!("cluster-{number:04}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let first = delivered(&mut files, &fixture.plan("v1", &names));
    assert!(first.contains("and 960 more clusters: added\n"), "{first}");
    fixture.ccm_template = "values: |\n  name: {{ .Cluster.metadata.name }}\n";
    let second = delivered(&mut files, &fixture.plan("v2", &names));
    assert!(second.contains("and 960 more clusters\n"), "{second}");
    for text in [first, second] {
        assert!(text.len() < 32 << 10 && text.lines().count() < 400, "{} bytes", text.len());
        assert!(text.lines().all(|line| line.chars().count() <= MAX_LINE_CHARACTERS + 1));
        assert_eq!(text.lines().nth(1), Some(""));
    }
}
