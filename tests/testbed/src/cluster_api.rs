//! Objects of Cluster API, in the state in which its controllers would leave them: no controller runs here.

use axum::http::{Method, Request, header};
use futures::{StreamExt as _, TryStreamExt as _, stream};
use kube::Client;
use serde_json::{Value, json};
use tokio::runtime::Runtime;

use crate::client;
use crate::cluster::Cluster;
use crate::error::{Context as _, Result};

/// Requests in flight.
const IN_FLIGHT: usize = 32;

const CLUSTERS: &str = "cluster.x-k8s.io/v1beta2";
const CONTROL_PLANES: &str = "controlplane.cluster.x-k8s.io/v1beta2";

/// The provider of a cluster's infrastructure object.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Infrastructure {
    /// `DevCluster`, of Cluster API's own provider for tests.
    Dev,
    /// `OpenStackCluster`.
    OpenStack,
}

/// A cluster to create.
#[derive(Clone, Debug)]
pub struct NewCluster {
    /// The namespace, which must exist.
    pub namespace: String,
    /// The name, also of its infrastructure and its control plane.
    pub name: String,
    /// The `ClusterClass` in the same namespace; need not exist.
    pub class: String,
    /// The version of Kubernetes, such as `v1.34.0`.
    pub version: String,
    /// The host of the control plane's endpoint; its port is 6443.
    pub endpoint: String,
    /// The provider.
    pub infrastructure: Infrastructure,
    /// Whether its control plane is initialized and its infrastructure provisioned.
    pub initialized: bool,
}

/// Creates, changes and deletes clusters, hundreds at once.
pub struct ClusterApi {
    runtime: Runtime,
    client: Client,
}

impl ClusterApi {
    /// A client for the management cluster, as its administrator.
    pub fn new(management: &Cluster) -> Result<Self> {
        let runtime = client::runtime()?;
        let client = runtime.block_on(client::connect(management.kubeconfig()))?;
        Ok(Self { runtime, client })
    }

    /// Creates clusters, each with its infrastructure object and its `KubeadmControlPlane`, owned by it.
    pub fn create(&self, clusters: &[NewCluster]) -> Result<()> {
        self.each(clusters, |cluster| self.create_one(cluster))
    }

    /// Changes a cluster by a merge patch, such as `{"spec": {"paused": true}}`.
    pub fn patch(&self, namespace: &str, name: &str, change: &Value) -> Result<()> {
        let path = object_path(CLUSTERS, "clusters", namespace, name);
        self.runtime.block_on(self.send(Method::PATCH, path, change)).map(drop)
    }

    /// Changes the status of a cluster by a merge patch.
    pub fn patch_status(&self, namespace: &str, name: &str, change: &Value) -> Result<()> {
        self.runtime.block_on(self.set_status(namespace, name, change))
    }

    /// Moves a cluster to another class and version in one request. The control plane follows at once, as it does for Cluster
    /// API without its feature gate `RuntimeSDK`.
    pub fn upgrade(&self, namespace: &str, name: &str, class: &str, version: &str) -> Result<()> {
        let topology = json!({"classRef": {"name": class}, "version": version});
        self.patch(namespace, name, &json!({"spec": {"topology": topology}}))?;
        let path = object_path(CONTROL_PLANES, "kubeadmcontrolplanes", namespace, name);
        self.runtime
            .block_on(self.send(Method::PATCH, path, &json!({"spec": {"version": version}})))
            .map(drop)
    }

    /// Deletes clusters. Their owned objects are collected soon after.
    pub fn delete(&self, namespace: &str, names: &[String]) -> Result<()> {
        self.each(names, |name| async move {
            let path = object_path(CLUSTERS, "clusters", namespace, name);
            self.send(Method::DELETE, path, &json!({})).await.map(drop)
        })
    }

    fn each<'a, T, Running>(&self, all: &'a [T], run: impl Fn(&'a T) -> Running) -> Result<()>
    where
        Running: Future<Output = Result<()>>,
    {
        let results = stream::iter(all).map(run).buffer_unordered(IN_FLIGHT);
        self.runtime.block_on(results.try_collect::<Vec<()>>()).map(drop)
    }

    async fn create_one(&self, cluster: &NewCluster) -> Result<()> {
        let NewCluster { namespace, name, .. } = cluster;
        let created =
            self.send(Method::POST, list_path(CLUSTERS, "clusters", namespace), &object(cluster)).await?;
        let owner = json!([{
            "apiVersion": CLUSTERS,
            "kind": "Cluster",
            "name": name,
            "uid": created.pointer("/metadata/uid"),
            "controller": true,
        }]);
        for (plural, mut owned) in [infrastructure(cluster), control_plane(cluster)] {
            if let Some(owned) = owned.as_object_mut() {
                let labels = json!({"cluster.x-k8s.io/cluster-name": name});
                let metadata =
                    json!({"name": name, "namespace": namespace, "labels": labels, "ownerReferences": owner});
                owned.insert("metadata".to_owned(), metadata);
            }
            let version = owned.get("apiVersion").and_then(Value::as_str).unwrap_or_default();
            self.send(Method::POST, list_path(version, plural, namespace), &owned).await?;
        }
        let done = cluster.initialized;
        let status = json!({"controlPlaneInitialized": done, "infrastructureProvisioned": done});
        let phase = if done { "Provisioned" } else { "Provisioning" };
        let status = json!({"status": {"initialization": status, "phase": phase}});
        // Cluster API leaves the fields out until they are true.
        if done { self.set_status(namespace, name, &status).await } else { Ok(()) }
    }

    async fn set_status(&self, namespace: &str, name: &str, change: &Value) -> Result<()> {
        let path = object_path(CLUSTERS, "clusters", namespace, name) + "/status";
        self.send(Method::PATCH, path, change).await.map(drop)
    }

    async fn send(&self, method: Method, path: String, body: &Value) -> Result<Value> {
        let failed = format!("{method} {path}");
        let kind = if method == Method::PATCH { "application/merge-patch+json" } else { "application/json" };
        let request = Request::builder().method(method).uri(path).header(header::CONTENT_TYPE, kind);
        let request = request.body(body.to_string().into_bytes()).context(|| failed.clone())?;
        self.client.request(request).await.context(|| failed)
    }
}

fn list_path(version: &str, plural: &str, namespace: &str) -> String {
    format!("/apis/{version}/namespaces/{namespace}/{plural}")
}

fn object_path(version: &str, plural: &str, namespace: &str, name: &str) -> String {
    list_path(version, plural, namespace) + "/" + name
}

fn object(cluster: &NewCluster) -> Value {
    let NewCluster { namespace, name, class, version, endpoint, .. } = cluster;
    let kind = match cluster.infrastructure {
        Infrastructure::Dev => "DevCluster",
        Infrastructure::OpenStack => "OpenStackCluster",
    };
    json!({
        "apiVersion": CLUSTERS,
        "kind": "Cluster",
        "metadata": {
            "name": name,
            "namespace": namespace,
            "labels": {"cluster.x-k8s.io/cluster-name": name},
            // Cluster API adds it before there is a control plane, with its feature gate RuntimeSDK.
            "annotations": {"runtime.cluster.x-k8s.io/pending-hooks": "AfterControlPlaneInitialized"},
        },
        "spec": {
            "clusterNetwork": {
                "pods": {"cidrBlocks": ["192.168.0.0/16"]},
                "serviceDomain": "cluster.local",
                "services": {"cidrBlocks": ["10.128.0.0/12"]},
            },
            "controlPlaneEndpoint": {"host": endpoint, "port": 6443},
            "controlPlaneRef": {"apiGroup": "controlplane.cluster.x-k8s.io", "kind": "KubeadmControlPlane", "name": name},
            "infrastructureRef": {"apiGroup": "infrastructure.cluster.x-k8s.io", "kind": kind, "name": name},
            "topology": {"classRef": {"name": class}, "controlPlane": {"replicas": 1}, "version": version},
        },
    })
}

/// The plural name of the kind and the object, without metadata.
fn infrastructure(cluster: &NewCluster) -> (&'static str, Value) {
    let endpoint = json!({"host": cluster.endpoint, "port": 6443});
    match cluster.infrastructure {
        Infrastructure::Dev => (
            "devclusters",
            json!({
                "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta2",
                "kind": "DevCluster",
                "spec": {"backend": {"inMemory": {}}, "controlPlaneEndpoint": endpoint},
            }),
        ),
        Infrastructure::OpenStack => (
            "openstackclusters",
            json!({
                "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta1",
                "kind": "OpenStackCluster",
                "spec": {
                    "identityRef": {"name": "openstack", "cloudName": "openstack"},
                    "controlPlaneEndpoint": endpoint,
                    "managedSubnets": [{"cidr": "10.8.0.0/20"}],
                },
            }),
        ),
    }
}

fn control_plane(cluster: &NewCluster) -> (&'static str, Value) {
    let template =
        json!({"apiGroup": "infrastructure.cluster.x-k8s.io", "kind": "DevMachineTemplate", "name": "none"});
    let object = json!({
        "apiVersion": CONTROL_PLANES,
        "kind": "KubeadmControlPlane",
        "spec": {
            "machineTemplate": {"spec": {"infrastructureRef": template}},
            "replicas": 1,
            "version": cluster.version,
        },
    });
    ("kubeadmcontrolplanes", object)
}
