//! Cluster API's controllers, outside a cluster: core, kubeadm's bootstrap and control plane, and the provider whose machines
//! and API servers exist in its memory alone.
//!
//! The webhooks have the certificate of the management API server, which is one for loopback and its own authority.

use std::process::Command;

use serde_json::{Value, json};

use crate::building;
use crate::cluster::Cluster;
use crate::control_plane::Site;
use crate::error::{Context as _, Result};
use crate::in_memory;
use crate::options::Providers;
use crate::probe;
use crate::process::Process;

/// One of the controllers.
struct Provider {
    /// The name of its program.
    program: &'static str,
    /// The Go module of its sources.
    dependency: &'static str,
    /// The directory of its manifests in that module.
    manifests: &'static str,
    feature_gates: &'static str,
}

const CORE: &str = "sigs.k8s.io/cluster-api";
const TEST: &str = "sigs.k8s.io/cluster-api/test";

const PROVIDERS: [Provider; 4] = [
    Provider {
        program: "cluster-api",
        dependency: CORE,
        manifests: "config/default",
        feature_gates: "ClusterTopology=true,RuntimeSDK=true,MachinePool=true",
    },
    Provider {
        program: "kubeadm-bootstrap",
        dependency: CORE,
        manifests: "bootstrap/kubeadm/config/default",
        feature_gates: "MachinePool=true",
    },
    Provider {
        program: "kubeadm-control-plane",
        dependency: CORE,
        manifests: "controlplane/kubeadm/config/default",
        feature_gates: "ClusterTopology=true",
    },
    Provider {
        program: in_memory::PROGRAM,
        dependency: TEST,
        manifests: "infrastructure/docker/config/default",
        feature_gates: "ClusterTopology=true,MachinePool=true",
    },
];

/// The parts of the manifests that are of use without Pods.
#[derive(Default)]
struct Manifests {
    namespaces: Vec<Value>,
    definitions: Vec<Value>,
    webhooks: Vec<Value>,
}

/// Installs the CRDs, starts the controllers, and installs the webhooks when the controllers answer them.
pub(crate) fn start(site: &Site<'_>, management: &Cluster) -> Result<()> {
    building::ensure_cluster_api(site.toolbox)?;
    let mut manifests = Manifests::default();
    let mut ports = Vec::new();
    let authority = authority(management)?;
    for provider in &PROVIDERS {
        let port = site.ports.free()?;
        ports.push(port);
        manifests.add(management, provider, (port, &authority))?;
    }
    apply(management, &manifests.namespaces)?;
    apply(management, &manifests.definitions)?;
    management.wait_established(&["--all", "crd"])?;
    let mut started = Vec::new();
    for (provider, port) in PROVIDERS.iter().zip(ports) {
        started.push(start_controller(site, management, provider, port)?);
    }
    for (process, health_port) in started {
        site.supervisor.wait(&process, move || probe::answers(health_port, "/readyz"))?;
    }
    apply(management, &manifests.webhooks)
}

/// The certificate of the API server, in base64.
fn authority(management: &Cluster) -> Result<String> {
    let path = "--output=jsonpath={.clusters[0].cluster.certificate-authority-data}";
    management.kubectl(&["config", "view", "--raw", "--minify", path])
}

fn apply(management: &Cluster, objects: &[Value]) -> Result<()> {
    let list = json!({"apiVersion": "v1", "kind": "List", "items": objects});
    management.apply(&list.to_string())
}

impl Manifests {
    /// Adds those of a provider, whose webhooks are on a port.
    fn add(&mut self, management: &Cluster, provider: &Provider, webhook: (u16, &str)) -> Result<()> {
        let source = building::source_directory("cluster-api", provider.dependency)?;
        let directory = source.join(provider.manifests).display().to_string();
        let text = management.kubectl(&["kustomize", &directory])?;
        for document in text.split("\n---\n") {
            let mut object: Value = serde_yaml::from_str(document)
                .context(|| format!("cannot parse the manifests of {}", provider.program))?;
            match object.get("kind").and_then(Value::as_str).unwrap_or_default() {
                "Namespace" => self.namespaces.push(object),
                "CustomResourceDefinition" => {
                    if let Some(client) = object.pointer_mut("/spec/conversion/webhook/clientConfig") {
                        address(client, webhook);
                    }
                    self.definitions.push(object);
                }
                "ValidatingWebhookConfiguration" | "MutatingWebhookConfiguration" => {
                    let hooks = object.get_mut("webhooks").and_then(Value::as_array_mut);
                    for client in hooks.into_iter().flatten().filter_map(|hook| hook.get_mut("clientConfig"))
                    {
                        address(client, webhook);
                    }
                    self.webhooks.push(object);
                }
                _ => {}
            }
        }
        Ok(())
    }
}

/// Makes the API server reach a webhook by its port instead of a Service.
fn address(client: &mut Value, (port, authority): (u16, &str)) {
    let path = client.pointer("/service/path").and_then(Value::as_str).unwrap_or_default();
    *client = json!({"url": format!("https://127.0.0.1:{port}{path}"), "caBundle": authority});
}

/// The feature gates of a provider, with or without the core's hooks.
fn feature_gates(provider: &Provider, runtime_sdk: bool) -> String {
    provider.feature_gates.replace("RuntimeSDK=true", &format!("RuntimeSDK={runtime_sdk}"))
}

fn start_controller(
    site: &Site<'_>,
    management: &Cluster,
    provider: &Provider,
    webhook_port: u16,
) -> Result<(Process, u16)> {
    let health_port = site.ports.free()?;
    let certificates = management.certificates();
    let mut command = Command::new(site.toolbox.program(provider.program)?);
    command
        .env("KUBECONFIG", &management.kubeconfig)
        .envs([("POD_NAMESPACE", "capi-system"), ("POD_NAME", provider.program)])
        // The address of the API servers in its memory.
        .env("POD_UID", "00000000-0000-4000-8000-000000000000")
        .env("POD_IP", in_memory::address(webhook_port).to_string())
        .args(["--leader-elect=false", "--insecure-diagnostics", "--v=0"])
        .arg(format!(
            "--feature-gates={}",
            feature_gates(provider, site.options.cluster_api != Providers::WithoutHooks)
        ))
        .arg(format!("--webhook-cert-dir={}", certificates.display()))
        .args(["--webhook-cert-name=apiserver.crt", "--webhook-key-name=apiserver.key"])
        .arg(format!("--webhook-port={webhook_port}"))
        .arg(format!("--health-addr=127.0.0.1:{health_port}"))
        .arg(format!("--diagnostics-address=127.0.0.1:{}", site.ports.free()?));
    Ok((site.supervisor.start(provider.program, command)?, health_port))
}
