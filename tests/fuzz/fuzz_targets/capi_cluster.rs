//! A Cluster of any JSON: no panic, and its facts do not change by what is added for templates.
#![no_main]

use libfuzzer_sys::fuzz_target;
use serde_json::Value;
use stackflux::foreign::capi::Cluster;

// The input is a Cluster, and after a zero byte the object that it refers to.
fuzz_target!(|bytes: &[u8]| {
    let mut objects =
        bytes.splitn(2, |byte| *byte == 0).map(|part| serde_json::from_slice::<Value>(part).ok());
    let (Some(Some(object)), referred) = (objects.next(), objects.next().flatten()) else { return };
    let Ok(cluster) = Cluster::new(object) else { return };
    let referred = referred.as_ref();
    let seen = cluster.for_templates(referred, referred);
    let again = Cluster::new(seen.clone()).expect("a Cluster as templates see it is a Cluster");
    assert_eq!(facts(&again), facts(&cluster));
    assert_eq!(again.for_templates(referred, referred), seen);

    let version = "v1.34.2".parse().expect("a version");
    let upgraded = cluster.with_class("docker-demo-1-34-v2", &version);
    let class = cluster.class().map(|_| "docker-demo-1-34-v2".to_owned());
    assert_eq!(upgraded.class().map(|class| class.name), class);
    assert_eq!(upgraded.class().map(|class| class.namespace), cluster.class().map(|class| class.namespace));
});

/// Everything that is asked of a Cluster.
fn facts(cluster: &Cluster) -> impl PartialEq + std::fmt::Debug {
    (
        (cluster.name().clone(), cluster.namespace().clone()),
        (cluster.class(), cluster.kubernetes_version()),
        (cluster.control_plane_initialized(), cluster.paused(), cluster.deleting()),
        (cluster.control_plane_ref(), cluster.infrastructure_ref()),
    )
}
