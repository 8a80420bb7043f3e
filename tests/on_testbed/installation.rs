//! The installation in `flux/`, on a real API server with RBAC: it can be applied by hand and by Flux, and the
//! operator's account has the permissions that it needs and no others.

mod account;
mod export;
mod monitoring;
mod packages;
mod policy;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::Duration;

use serde_json::Value;
use stackflux_testbed::{Cluster, Object, Testbed};

use crate::git::{commit_and_push, git};
use crate::support::{copy, scratch};
use crate::text;

const TIMEOUT: Duration = Duration::from_mins(1);
/// Default namespace of Flux's installation.
const NAMESPACE: &str = "flux-system";

fn repository(below: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(below)
}

/// The management cluster with `flux/base` applied by hand.
fn installed() -> &'static Cluster {
    static INSTALLED: OnceLock<&'static Cluster> = OnceLock::new();
    INSTALLED.get_or_init(|| {
        let cluster = Testbed::shared().management();
        let base = repository("flux/base");
        let apply = ["apply", "--server-side", "--force-conflicts", "--kustomize", base.to_str().unwrap()];
        cluster.kubectl(&apply).unwrap();
        cluster
    })
}

/// The output of kustomize for a directory of `flux/`.
fn built(overlay: &str) -> String {
    let directory = repository("flux").join(overlay);
    Testbed::shared().management().kubectl(&["kustomize", directory.to_str().unwrap()]).unwrap()
}

/// The objects that kustomize builds from a directory, as the API server would read them.
fn objects(overlay: &str) -> Vec<Value> {
    let yaml = built(overlay);
    yaml.split("\n---\n").map(|document| serde_yaml::from_str(document).unwrap()).collect()
}

fn of_kind<'a>(objects: &'a [Value], kind: &str) -> Vec<&'a Value> {
    objects.iter().filter(|object| object["kind"] == kind).collect()
}

#[test]
fn crds_are_exempt_from_prune_and_substitution() {
    for overlay in ["base", "own-namespace", "builtin-volume"] {
        let objects = objects(overlay);
        let definitions = of_kind(&objects, "CustomResourceDefinition");
        assert_eq!(definitions.len(), 4);
        for definition in definitions {
            let annotations = &definition["metadata"]["annotations"];
            assert_eq!(annotations["kustomize.toolkit.fluxcd.io/prune"], "disabled");
            assert_eq!(annotations["kustomize.toolkit.fluxcd.io/substitute"], "disabled");
        }
    }
}

/// All namespaced objects are in one namespace, and so are the accounts of bindings.
#[test]
fn overlay_is_in_its_namespace() {
    for (overlay, namespace, elsewhere) in [
        ("base", NAMESPACE, &[][..]),
        (
            "own-namespace",
            "stackflux-system",
            &["NetworkPolicy allow-stackflux", "Role stackflux-leases", "RoleBinding stackflux-leases"][..],
        ),
    ] {
        let mut outside = BTreeSet::new();
        for object in objects(overlay) {
            let (kind, name) = (text(&object, "/kind"), text(&object, "/metadata/name"));
            let found = object["metadata"]["namespace"].as_str();
            if found.is_some_and(|found| found != namespace) {
                outside.insert(format!("{kind} {name}"));
            }
            for subject in object["subjects"].as_array().into_iter().flatten() {
                assert_eq!(subject["namespace"], namespace, "{kind} {name}");
            }
        }
        assert_eq!(outside, elsewhere.iter().map(ToString::to_string).collect(), "{overlay}");
    }
}

#[test]
fn roles_have_no_wildcard_or_secrets() {
    let objects = objects("own-namespace");
    let roles = [of_kind(&objects, "ClusterRole"), of_kind(&objects, "Role")].concat();
    assert_eq!(roles.len(), 7);
    for role in roles {
        for rule in role["rules"].as_array().into_iter().flatten() {
            for part in ["apiGroups", "resources", "verbs"] {
                for word in rule[part].as_array().unwrap() {
                    let word = word.as_str().unwrap();
                    assert!(!word.contains('*') && !word.starts_with("secrets"), "{role:#}");
                }
            }
        }
    }
}

/// The requirements of Pod Security's level `restricted`, and a read-only root file system, which it does not require.
#[test]
fn pod_security_is_restricted() {
    let namespace = Testbed::shared().namespace("restricted").unwrap();
    let enforce = "pod-security.kubernetes.io/enforce=restricted";
    let cluster = installed();
    cluster.kubectl(&["label", "namespace", &namespace, enforce]).unwrap();
    let name = Object { kind: "deployment", namespace: NAMESPACE, name: "stackflux" };
    let deployment = cluster.get(name).unwrap().unwrap();
    let mut pod = deployment["spec"]["template"].clone();
    let container = &pod["spec"]["containers"][0];
    assert_eq!(container["securityContext"]["readOnlyRootFilesystem"], true);
    assert!(container["resources"]["limits"]["memory"].is_string(), "{container:#}");
    pod["apiVersion"] = "v1".into();
    pod["kind"] = "Pod".into();
    pod["metadata"]["name"] = "stackflux".into();
    pod["metadata"]["namespace"] = namespace.as_str().into();
    cluster.apply(&pod.to_string()).unwrap();
    pod["metadata"]["name"] = "root".into();
    pod["spec"]["securityContext"]["runAsNonRoot"] = false.into();
    let refusal = cluster.apply(&pod.to_string()).unwrap_err().to_string();
    assert!(refusal.contains("violates PodSecurity"), "{refusal}");
}

/// Flux takes over objects that were applied by hand. The testbed's management cluster runs no Pods, so nothing waits
/// for them.
#[test]
fn operator_is_installed_by_flux() {
    let cluster = installed();
    let work_tree = scratch("installation");
    git(&work_tree, &["init", "--quiet", "--initial-branch=main"]);
    for directory in ["crds", "flux"] {
        copy(&repository(directory), &work_tree);
    }
    // A user's testbed keeps its repositories from one run to the next.
    let url = Testbed::shared().git().url(&format!("stackflux-{}", std::process::id()));
    let commit = commit_and_push(&work_tree, &url, "stackflux");
    let with = |file: &str, old: &str, new: &str| {
        let yaml = fs::read_to_string(repository(file)).unwrap();
        assert!(yaml.contains(old), "{file}");
        cluster.apply(&yaml.replace(old, new)).unwrap();
    };
    with("flux/source.yaml", "https://git.example.org/platform.git", &url);
    with("flux/sync.yaml", "wait: true", "wait: false");
    let kustomization = Object { kind: "kustomization", namespace: NAMESPACE, name: "stackflux" };
    let is_applied = |found: &Value| found["status"]["lastAppliedRevision"].to_string().contains(&commit);
    cluster.wait(kustomization, "the commit applied", TIMEOUT, is_applied).unwrap();
    let ready = cluster.wait_ready(kustomization, TIMEOUT).unwrap();
    let inventory = ready["status"]["inventory"]["entries"].as_array().unwrap();
    assert_eq!(inventory.len(), objects("base").len(), "{inventory:#?}");
    let name = "clusterstacks.clusterstack.x-k8s.io";
    let definition = cluster.get(Object { kind: "crd", namespace: "", name }).unwrap().unwrap();
    let labels = &definition["metadata"]["labels"];
    assert_eq!(labels["kustomize.toolkit.fluxcd.io/name"], "stackflux", "Flux applied it: {definition:#}");
}
