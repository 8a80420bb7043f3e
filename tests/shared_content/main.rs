//! The real stacks, read from the directory that `STACKFLUX_SHARED` names (`make test-shared`).

#![cfg(test)]
#![allow(clippy::disallowed_methods, reason = "tests read and write files")]

mod components;
#[path = "../support/definitions.rs"]
mod definitions;
#[path = "../support/git.rs"]
mod git;
mod openstack;
mod operator;
#[path = "../support/push.rs"]
#[allow(dead_code, reason = "releases are pushed by other tests")]
mod push;
mod stack;
#[path = "../support.rs"]
mod support;
mod workers;

use std::path::PathBuf;

use serde_json::Value;
use stackflux::release::{Form, Hook, Limits, Loaded, Reason, Release};
use stackflux::source::{Opened, open};

/// A directory of the shared content.
fn shared(below: &str) -> PathBuf {
    let shared = std::env::var_os("STACKFLUX_SHARED")
        .expect("STACKFLUX_SHARED must name the directory that has stacks/ with the real cluster stacks");
    PathBuf::from(shared).join(below)
}

fn load(name: &str) -> Loaded {
    let path = shared("stacks").join(name);
    let Opened::Release(release) = open(&path, &Limits::default()).unwrap() else {
        panic!("{name} is no release")
    };
    // As one that is not published yet: nothing more is found in it.
    release.lint(&Limits::default()).unwrap_or_else(|findings| panic!("{name} is refused:\n{findings}"))
}

fn addons(release: &Release) -> Vec<&str> {
    release.addons.iter().map(|addon| addon.name.as_str()).collect()
}

/// Reason, file and line of each warning.
fn places(loaded: &Loaded) -> Vec<(Reason, &str, Option<u64>)> {
    loaded.warnings.iter().map(|finding| (finding.reason, finding.file.as_str(), finding.line)).collect()
}

/// The fields that the addon's template reads.
fn fields(release: &Release, addon: &str) -> Vec<String> {
    let template = release.addon(&addon.parse().unwrap()).unwrap().template.as_ref().unwrap();
    template.template.fields().iter().map(ToString::to_string).collect()
}

#[test]
fn multi_stage_source_form_is_read() {
    let loaded = load("openstack-scs-1-32-v1");
    let release = &loaded.release;
    assert_eq!((release.form, release.packed), (Form::MultiStage, false));
    assert_eq!(release.kubernetes.to_string(), "v1.32.5");
    assert_eq!(addons(release), ["cni", "metrics-server", "csi", "ccm"]);
    let versions = ["1.17.4", "3.12.2", "2.32.0", "2.32.0"];
    for (addon, version) in release.addons.iter().zip(versions) {
        let chart = addon.chart().unwrap();
        assert_eq!((chart.name.as_str(), chart.version.as_str()), ("openstack-scs-1-32-cluster-addon", "v1"));
        assert_eq!(chart.dependencies[0].vendored.as_deref(), Some(version));
    }
    for hook in [Hook::AfterControlPlaneInitialized, Hook::BeforeClusterUpgrade] {
        assert_eq!(release.stages[&hook].len(), 4);
    }
    assert_eq!(fields(release, "ccm"), [".Cluster.metadata.name"]);
    assert_eq!(fields(release, "metrics-server"), [".Cluster.spec.controlPlaneEndpoint.host"]);
    let image = (Reason::UnversionedObject, "cluster-class/templates/image.yaml", Some(4));
    assert_eq!(places(&loaded), [image]);
}

#[test]
fn unvendored_production_stack_is_read() {
    let loaded = load("openstack-scs2-1-34-v2");
    assert_eq!(loaded.release.kubernetes.to_string(), "v1.34.7");
    assert_eq!(addons(&loaded.release), ["cni", "metrics-server", "csi", "ccm"]);
    let not_vendored = |file| (Reason::DependencyNotVendored, file, Some(7));
    let expected = [
        not_vendored("cluster-addon/ccm/Chart.yaml"),
        not_vendored("cluster-addon/cni/Chart.yaml"),
        not_vendored("cluster-addon/csi/Chart.yaml"),
        not_vendored("cluster-addon/metrics-server/Chart.yaml"),
        // The source form says v1 until the release is published.
        (Reason::VersionMismatch, "cluster-class/Chart.yaml", Some(9)),
    ];
    assert_eq!(places(&loaded), expected);
}

#[test]
fn packed_single_chart_form_is_read() {
    for (name, version, addon_version) in
        [("docker-ferrol-1-27-v1", "v1", "v1"), ("docker-ferrol-1-27-v3", "v3", "v2")]
    {
        let loaded = load(name);
        let release = &loaded.release;
        // kind's manifest has the name of its ClusterRole three times. Flux refuses it.
        let twice = |line| (Reason::DuplicateKey, "cluster-addon/templates/kindnet.yaml", Some(line));
        assert_eq!(places(&loaded), [twice(7), twice(8)], "{}", loaded.warnings);
        assert_eq!((release.form, release.packed), (Form::SingleChart, true));
        assert_eq!(release.kubernetes.to_string(), "v1.27.3");
        assert_eq!(release.cluster_class.version, version);
        assert_eq!(addons(release), ["cluster-addon"]);
        let chart = release.addons[0].chart().unwrap();
        assert_eq!(chart.version, addon_version);
        assert_eq!(chart.dependencies[0].vendored.as_deref(), Some("3.11.0"));
        assert_eq!(fields(release, "cluster-addon"), [".Cluster.spec.controlPlaneEndpoint.host"]);
    }
}

#[test]
fn two_releases_of_one_class_differ_in_their_digests() {
    let (first, second) = (load("docker-ferrol-1-27-v1").release, load("docker-ferrol-1-27-v3").release);
    assert_ne!(first.digest, second.digest);
    assert_ne!(first.addons[0].digest, second.addons[0].digest);
    assert_eq!(first.digest, load("docker-ferrol-1-27-v1").release.digest);
}

#[test]
fn images_of_real_charts_are_listed() {
    let path = shared("stacks/openstack-scs-1-32-v1");
    let run = support::stackflux(&["inspect", path.to_str().unwrap(), "--output", "json"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let contents: Value = serde_json::from_str(&run.stdout).unwrap();
    let has = |addon: &str, image: &str| {
        let addons = contents["addons"].as_array().unwrap();
        let addon = addons.iter().find(|found| found["name"] == addon).unwrap();
        let images = addon["images"].as_array().unwrap();
        assert!(images.iter().any(|found| found.as_str().unwrap().starts_with(image)), "{images:?}");
    };
    has("ccm", "registry.k8s.io/provider-os/openstack-cloud-controller-manager");
    has("cni", "quay.io/cilium/cilium:v1.17.4");
    has("csi", "registry.k8s.io/sig-storage/csi-attacher:v");
    has("metrics-server", "registry.k8s.io/metrics-server/metrics-server");
}
