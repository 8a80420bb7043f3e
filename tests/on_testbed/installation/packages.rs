//! The packages of `make chart`: Flux installs the Helm chart and the manifests from a registry into workload clusters, where
//! Pods become ready, and the objects are those that kustomize builds.

mod pushed;
mod same;

use std::fs;

use serde_json::{Value, json};
use stackflux_testbed::{Cluster, Object, Testbed};

use super::{NAMESPACE, TIMEOUT, repository};
use crate::text;
use pushed::Pushed;
use same::{Overlay, installed};

/// The workload cluster in which the manifests are installed.
const OF_MANIFESTS: &str = "one";
/// The workload cluster in which the chart is installed.
const OF_CHART: &str = "two";
const DIGEST: &str = "sha256:0f343b0931126a20f133d67c2b018a3b1e5a2a64b2e2b6fd1d8b1b8e2b6ae1d4";

/// The packages in a registry, and Flux's objects for them in a namespace of their own.
struct Site {
    testbed: &'static Testbed,
    namespace: String,
    pushed: Pushed,
}

impl Site {
    fn new() -> Self {
        let testbed = Testbed::shared();
        let namespace = testbed.namespace("packages").unwrap();
        for workload in [OF_MANIFESTS, OF_CHART] {
            testbed.add_kubeconfig_secret(&namespace, workload, workload).unwrap();
            let cluster = testbed.workload(workload).unwrap();
            for name in [NAMESPACE, "stackflux-system"] {
                let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
                cluster.apply(&namespace.to_string()).unwrap();
            }
            for (kind, plural) in [("PodMonitor", "podmonitors"), ("PrometheusRule", "prometheusrules")] {
                cluster.apply(&definition(kind, plural).to_string()).unwrap();
                let name = format!("crd/{plural}.monitoring.coreos.com");
                cluster.wait_established(&[&name]).unwrap();
            }
        }
        let pushed = Pushed::new(testbed.registry(), &namespace);
        testbed.management().apply(&pushed.secret(&namespace).to_string()).unwrap();
        Self { testbed, namespace, pushed }
    }

    fn cluster(&self, workload: &str) -> &'static Cluster {
        self.testbed.workload(workload).unwrap()
    }

    /// Applies the objects of a file in `flux/` with what differs on the testbed.
    fn apply(&self, file: &str, change: impl Fn(&mut Value)) {
        for document in fs::read_to_string(repository(file)).unwrap().split("\n---\n") {
            let mut object: Value = serde_yaml::from_str(document).unwrap();
            object["metadata"]["namespace"] = self.namespace.as_str().into();
            if object["kind"] == "OCIRepository" {
                object["spec"]["insecure"] = true.into();
                let url = object["spec"]["url"].as_str().unwrap();
                let path = url.strip_prefix("oci://registry.example.org/").unwrap();
                object["spec"]["url"] = self.pushed.url(path).into();
            }
            change(&mut object);
            self.testbed.management().apply(&object.to_string()).unwrap();
        }
    }

    fn object<'a>(&'a self, kind: &'a str, name: &'a str) -> Object<'a> {
        Object { kind, namespace: &self.namespace, name }
    }

    /// Installs the chart with these values.
    fn install(&self, name: &str, namespace: &str, values: &Value) {
        self.apply("flux/chart.yaml", |object| {
            if object["kind"] == "HelmRelease" {
                install_into(object, name, namespace);
                object["spec"]["values"] = values.clone();
            }
        });
    }

    /// Waits until Flux has installed something, and returns the object that says so.
    fn ready(&self, kind: &str, name: &str) -> Value {
        self.testbed.management().wait_ready(self.object(kind, name), TIMEOUT).unwrap()
    }

    /// Deletes an object of Flux, and waits until Flux has deleted what it installed.
    fn delete(&self, kind: &str, name: &str) {
        let management = self.testbed.management();
        management.kubectl(&["delete", "--wait=false", kind, name, "-n", &self.namespace]).unwrap();
        management.wait_gone(self.object(kind, name), TIMEOUT).unwrap();
    }

    /// Waits until Flux refuses an object with this message.
    #[track_caller]
    fn refused(&self, kind: &str, name: &str, message: &str) {
        let is_refused = |found: &Value| {
            let conditions = found["status"]["conditions"].as_array().into_iter().flatten();
            let mut conditions =
                conditions.filter(|found| found["type"] == "Ready" && found["status"] == "False");
            conditions.any(|found| found["message"].as_str().unwrap().contains(message))
        };
        self.testbed.management().wait(self.object(kind, name), message, TIMEOUT, is_refused).unwrap();
    }
}

/// Makes a `HelmRelease` install into the workload cluster of the chart.
fn install_into(release: &mut Value, name: &str, namespace: &str) {
    release["metadata"]["name"] = name.into();
    release["spec"]["kubeConfig"] = json!({"secretRef": {"name": format!("{OF_CHART}-kubeconfig")}});
    release["spec"]["releaseName"] = name.into();
    release["spec"]["targetNamespace"] = namespace.into();
    release["spec"]["storageNamespace"] = namespace.into();
    release["spec"]["uninstall"]["timeout"] = "2s".into();
}

/// A stand-in for a kind of Prometheus Operator.
fn definition(kind: &str, plural: &str) -> Value {
    let schema = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("{plural}.monitoring.coreos.com")},
        "spec": {
            "group": "monitoring.coreos.com", "scope": "Namespaced",
            "names": {"kind": kind, "plural": plural, "singular": kind.to_lowercase()},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": schema}}],
        },
    })
}

/// The values that set everything, and the overlay of kustomize that does the same.
fn everything() -> (Value, Overlay) {
    let values = json!({
        "image": {
            "repository": "registry.example.org/stackflux", "digest": DIGEST, "pullPolicy": "IfNotPresent",
            "pullSecrets": ["registry"],
        },
        "replicas": 1,
        "flags": ["--concurrent=4"],
        "resources": {"requests": {"cpu": "50m"}, "limits": {"memory": "512Mi"}},
        "nodeSelector": {"kubernetes.io/arch": "amd64"},
        "tolerations": [{"key": "control-plane", "operator": "Exists"}],
        "priorityClassName": "system-node-critical",
        "policies": {"enabled": true},
        "monitoring": {
            "enabled": true, "labels": {"release": "prometheus"},
            "runbookUrl": "https://docs.example.org/stackflux/alerts",
        },
    });
    let guide = fs::read_to_string(repository("docs/do/operate.md")).unwrap();
    let replacements =
        same::block(&guide, "../monitoring").split_once("configMapGenerator").unwrap().1.to_owned();
    let overlay = format!(
        "resources: [../flux/base, ../flux/policy]\ncomponents: [../monitoring]
images: [{{name: stackflux, newName: registry.example.org/stackflux, digest: '{DIGEST}'}}]
patches:
  - target: {{kind: Deployment}}
    patch: |
      - {{op: replace, path: /spec/replicas, value: 1}}
      - {{op: replace, path: /spec/template/spec/nodeSelector, value: {{kubernetes.io/os: linux, kubernetes.io/arch: amd64}}}}
      - {{op: replace, path: /spec/template/spec/priorityClassName, value: system-node-critical}}
      - {{op: add, path: /spec/template/spec/tolerations, value: [{{key: control-plane, operator: Exists}}]}}
      - {{op: add, path: /spec/template/spec/imagePullSecrets, value: [{{name: registry}}]}}
      - {{op: add, path: /spec/template/spec/containers/0/imagePullPolicy, value: IfNotPresent}}
      - {{op: add, path: /spec/template/spec/containers/0/args/-, value: --concurrent=4}}
      - op: replace
        path: /spec/template/spec/containers/0/resources
        value: {{requests: {{cpu: 50m, memory: 64Mi}}, limits: {{cpu: 1000m, memory: 512Mi}}}}
  - target: {{kind: PodMonitor|PrometheusRule}}
    patch: |
      - {{op: add, path: /metadata/labels, value: {{release: prometheus}}}}
configMapGenerator{replacements}"
    );
    (values, Overlay::new("everything", &overlay).without("ConfigMap", "stackflux-runbook"))
}

/// The shard of the guide.
fn shard() -> (Value, Overlay) {
    let image = json!({"repository": "registry.example.org/stackflux", "tag": "v1"});
    let values = json!({"image": image, "shard": {"name": "a"}, "crds": {"enabled": false}});
    let guide = fs::read_to_string(repository("docs/do/operate.md")).unwrap();
    let overlay = Overlay::new("shard", same::block(&guide, "nameSuffix"));
    (values, overlay.without("CustomResourceDefinition", ""))
}

/// Without the definitions, every `ClusterStack` would be deleted. Kubernetes may create an aggregated role again while Flux
/// deletes the roles of which it is made: its controller applies the rules to a role that it knows only from its cache.
#[track_caller]
fn only_definitions_are_kept(cluster: &Cluster, base: &Overlay) {
    for object in base.built().iter().filter(|object| object["aggregationRule"].is_null()) {
        let [kind, name] = ["/kind", "/metadata/name"].map(|pointer| text(object, pointer));
        let namespace = object["metadata"]["namespace"].as_str().unwrap_or_default();
        let found = cluster.get(Object { kind: &kind.to_lowercase(), namespace, name }).unwrap();
        let is_kept = found.is_some_and(|found| found["metadata"]["deletionTimestamp"].is_null());
        assert_eq!(is_kept, kind == "CustomResourceDefinition", "{kind} {name}");
    }
}

#[test]
fn packages_install_what_kustomize_builds() {
    let site = Site::new();
    let (one, two) = (site.cluster(OF_MANIFESTS), site.cluster(OF_CHART));
    let base = Overlay::new("base", "resources: [../flux/base]");
    let own = "resources: [../flux/own-namespace]";
    let own = Overlay::new("own", own).without("Namespace", "stackflux-system");
    let ((of_shard, shard), (of_everything, everything)) = (shard(), everything());
    // Before anything is installed: the API server would add fields of objects that exist.
    let expected = [&base, &shard, &everything, &own].map(|overlay| overlay.expected(one));

    site.apply("flux/source-oci.yaml", |_| {});
    site.apply("flux/sync.yaml", |object| {
        object["spec"]["sourceRef"]["kind"] = "OCIRepository".into();
        object["spec"]["kubeConfig"] = json!({"secretRef": {"name": format!("{OF_MANIFESTS}-kubeconfig")}});
    });
    site.install("stackflux", NAMESPACE, &json!({}));
    site.install("stackflux-a", NAMESPACE, &of_shard);
    installed(&site.ready("kustomization", "stackflux"), one, &base, &expected[0]);
    installed(&site.ready("helmrelease", "stackflux"), two, &base, &expected[0]);
    installed(&site.ready("helmrelease", "stackflux-a"), two, &shard, &expected[1]);
    site.delete("helmrelease", "stackflux-a");

    site.install("stackflux", NAMESPACE, &of_everything);
    installed(&site.ready("helmrelease", "stackflux"), two, &everything, &expected[2]);
    site.delete("helmrelease", "stackflux");
    only_definitions_are_kept(two, &base);

    // The definitions that stayed are taken over.
    site.install("stackflux", "stackflux-system", &json!({}));
    installed(&site.ready("helmrelease", "stackflux"), two, &own, &expected[3]);
    site.delete("helmrelease", "stackflux");
    site.delete("kustomization", "stackflux");
    only_definitions_are_kept(one, &base);
}

#[test]
fn unsigned_chart_and_unknown_values_are_refused() {
    let site = Site::new();
    site.apply("flux/chart.yaml", |object| {
        if object["kind"] == "OCIRepository" {
            object["metadata"]["name"] = "unsigned".into();
            object["spec"]["url"] = site.pushed.url("unsigned/stackflux").into();
        } else {
            install_into(object, "unsigned", NAMESPACE);
            object["spec"]["chartRef"]["name"] = "unsigned".into();
        }
    });
    let refused = [
        ("flag", json!({"flags": ["concurrent"]})),
        ("role", json!({"flags": ["--flux-namespace=flux"]})),
        ("unknown", json!({"replica": 1})),
    ];
    for (name, values) in refused {
        site.apply("flux/chart.yaml", |object| {
            if object["kind"] == "HelmRelease" {
                install_into(object, name, NAMESPACE);
                object["spec"]["values"] = values.clone();
            }
        });
    }
    site.refused("ocirepository", "unsigned", "failed to verify the signature");
    site.refused("helmrelease", "flag", "does not match pattern");
    site.refused("helmrelease", "role", "set fluxNamespace instead");
    site.refused("helmrelease", "unknown", "'replica' not allowed");
    site.testbed.management().suspend_flux(&site.namespace).unwrap();
}
