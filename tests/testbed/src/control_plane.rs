//! A Kubernetes control plane: etcd, API server, controllers; for workload clusters also a scheduler and nodes.

use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crate::audit;
use crate::cluster::{Cluster, Object, Requests};
use crate::error::{Context as _, Error, Result};
use crate::options::Options;
use crate::ports::Ports;
use crate::probe;
use crate::process::{Process, Supervisor};
use crate::tools::Toolbox;

/// The common parts of the control planes of one testbed.
pub(crate) struct Site<'a> {
    pub(crate) toolbox: &'a Toolbox,
    pub(crate) supervisor: &'a Supervisor,
    pub(crate) ports: &'a Ports,
    pub(crate) run: &'a Path,
    pub(crate) options: &'a Options,
}

/// The user of the operator under test, so that its requests are distinct from those of tests.
const OPERATOR: &str = "stackflux";

/// The management cluster runs no pods: only controllers that clean up after objects.
const MANAGEMENT_CONTROLLERS: &str = "namespace-controller,garbage-collector-controller,serviceaccount-controller,clusterrole-aggregation-controller";

/// The controllers that workloads need to become ready.
const WORKLOAD_CONTROLLERS: &str = "deployment-controller,replicaset-controller,daemonset-controller,\
     statefulset-controller,job-controller,namespace-controller,garbage-collector-controller,\
     serviceaccount-controller,endpointslice-controller,disruption-controller,\
     clusterrole-aggregation-controller";

/// Two nodes with room for everything: charts for real clusters look for a control plane node, and some (Cilium's
/// operator) put their replicas on different nodes.
const NODES: &str = r#"
apiVersion: v1
kind: Node
metadata:
  name: control-plane
  labels:
    kubernetes.io/arch: amd64
    kubernetes.io/hostname: control-plane
    kubernetes.io/os: linux
    node-role.kubernetes.io/control-plane: ""
status:
  allocatable: {cpu: "64", memory: 256Gi, pods: "1000"}
  capacity: {cpu: "64", memory: 256Gi, pods: "1000"}
---
apiVersion: v1
kind: Node
metadata:
  name: worker
  labels:
    kubernetes.io/arch: amd64
    kubernetes.io/hostname: worker
    kubernetes.io/os: linux
status:
  allocatable: {cpu: "64", memory: 256Gi, pods: "1000"}
  capacity: {cpu: "64", memory: 256Gi, pods: "1000"}
"#;

const TIMEOUT: Duration = Duration::from_mins(1);

/// Starts the control plane of the management cluster, and returns the kubeconfig of the operator under test as well.
pub(crate) fn start_management(site: &Site<'_>) -> Result<(Cluster, PathBuf)> {
    let operator = random_token()?;
    let users = format!("{operator},{OPERATOR},{OPERATOR},system:masters\n");
    let audit = if site.options.audit { audit::flags(site.supervisor.data(), site.run)? } else { Vec::new() };
    let cluster = start_api_server(site, "management", &users, &audit)?;
    start_controllers(site, &cluster, MANAGEMENT_CONTROLLERS)?;
    let kubeconfig = cluster.kubeconfig_with_token(OPERATOR, &operator)?;
    Ok((cluster, kubeconfig))
}

/// Starts a workload cluster with two ready nodes.
pub(crate) fn start_workload(site: &Site<'_>, name: &str) -> Result<Cluster> {
    let cluster = start_api_server(site, name, "", &[])?;
    start_controllers(site, &cluster, WORKLOAD_CONTROLLERS)?;
    start_scheduler(site, &cluster)?;
    start_kwok(site, &cluster)?;
    cluster.kubectl_with_input(&["create", "--validate=false", "-f", "-"], NODES)?;
    for name in ["control-plane", "worker"] {
        cluster.wait_ready(Object { kind: "node", namespace: "", name }, TIMEOUT)?;
    }
    for namespace in ["default", "kube-system"] {
        let account = Object { kind: "serviceaccount", namespace, name: "default" };
        cluster.wait(account, "account", TIMEOUT, |_| true)?;
    }
    Ok(cluster)
}

fn start_etcd(site: &Site<'_>, name: &str) -> Result<String> {
    let (client_port, peer_port) = (site.ports.free()?, site.ports.free()?);
    let client = format!("http://127.0.0.1:{client_port}");
    let peer = format!("http://127.0.0.1:{peer_port}");
    let mut command = Command::new(site.toolbox.program("etcd")?);
    command
        .args(["--name=etcd", "--unsafe-no-fsync", "--log-level=warn"])
        .arg(format!("--data-dir={}", site.supervisor.data().join(name).join("etcd").display()))
        .arg(format!("--listen-client-urls={client}"))
        .arg(format!("--advertise-client-urls={client}"))
        .arg(format!("--listen-peer-urls={peer}"))
        .arg(format!("--initial-advertise-peer-urls={peer}"))
        .arg(format!("--initial-cluster=etcd={peer}"));
    let process = site.supervisor.start(&format!("{name}-etcd"), command)?;
    site.supervisor.wait(&process, move || probe::answers(client_port, "/health"))?;
    Ok(client)
}

/// Starts an API server. `users` are lines of a token file besides the administrator's.
fn start_api_server(site: &Site<'_>, name: &str, users: &str, flags: &[String]) -> Result<Cluster> {
    let directory = site.supervisor.data().join(name);
    fs::create_dir_all(&directory).context(|| format!("cannot create {}", directory.display()))?;
    let etcd = start_etcd(site, name)?;
    let port = site.ports.free()?;
    let token = random_token()?;
    let tokens = directory.join("tokens.csv");
    fs::write(&tokens, format!("{token},admin,admin,system:masters\n{users}"))
        .context(|| format!("cannot write {}", tokens.display()))?;
    // The server writes a self-signed certificate first, and reads the key for service accounts after that.
    let certificates = directory.join(Cluster::CERTIFICATES);
    let key = certificates.join("apiserver.key");
    let mut command = Command::new(site.toolbox.program("kube-apiserver")?);
    command
        .args([
            "--bind-address=127.0.0.1",
            "--advertise-address=127.0.0.1",
            "--endpoint-reconciler-type=none",
        ])
        .args([
            "--authorization-mode=RBAC",
            "--allow-privileged=true",
            "--service-cluster-ip-range=10.0.0.0/16",
        ])
        // Pods get no token (no component signs one), and nodes no taint that only a node controller removes.
        .arg("--disable-admission-plugins=ServiceAccount,TaintNodesByCondition")
        .arg("--service-account-issuer=https://kubernetes.default.svc")
        .arg(format!("--service-account-key-file={}", key.display()))
        .arg(format!("--service-account-signing-key-file={}", key.display()))
        .arg(format!("--cert-dir={}", certificates.display()))
        .arg(format!("--token-auth-file={}", tokens.display()))
        .arg(format!("--etcd-servers={etcd}"))
        .arg(format!("--secure-port={port}"))
        .args(flags);
    let process = site.supervisor.start(&format!("{name}-kube-apiserver"), command)?;
    site.supervisor.wait(&process, move || probe::accepts(port))?;
    let cluster = Cluster {
        name: name.to_owned(),
        server: format!("https://127.0.0.1:{port}"),
        kubeconfig: write_kubeconfig(site, name, port, &token, &certificates.join("apiserver.crt"))?,
        kubectl: site.toolbox.program("kubectl")?,
        logs: site.run.join("logs"),
        requests: Requests::default(),
    };
    let served = cluster.clone();
    site.supervisor.wait(&process, move || served.kubectl(&["get", "--raw=/readyz"]).is_ok())?;
    Ok(cluster)
}

/// Writes a kubeconfig with everything embedded, as Cluster API's are. Flux refuses one without an authority.
fn write_kubeconfig(
    site: &Site<'_>,
    name: &str,
    port: u16,
    token: &str,
    authority: &Path,
) -> Result<PathBuf> {
    let by_reference = serde_json::json!({
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": name,
        "clusters": [{"name": name, "cluster": {
            "server": format!("https://127.0.0.1:{port}"),
            "certificate-authority": authority,
        }}],
        "users": [{"name": "admin", "user": {"token": token}}],
        "contexts": [{"name": name, "context": {"cluster": name, "user": "admin"}}],
    });
    let source = site.supervisor.data().join(name).join("kubeconfig.json");
    fs::write(&source, by_reference.to_string()).context(|| format!("cannot write {}", source.display()))?;
    let output = Command::new(site.toolbox.program("kubectl")?)
        .arg(format!("--kubeconfig={}", source.display()))
        .args(["config", "view", "--raw", "--flatten"])
        .output()
        .context(|| "cannot run kubectl".to_owned())?;
    if !output.status.success() {
        return Err(Error::new(format!("kubectl config view: {}", String::from_utf8_lossy(&output.stderr))));
    }
    let target = site.supervisor.data().join(format!("{name}.kubeconfig"));
    fs::write(&target, output.stdout).context(|| format!("cannot write {}", target.display()))?;
    Ok(target)
}

fn start_controllers(site: &Site<'_>, cluster: &Cluster, controllers: &str) -> Result<Process> {
    let mut command = Command::new(site.toolbox.program("kube-controller-manager")?);
    command
        .args(["--secure-port=0", "--leader-elect=false"])
        .arg(format!("--controllers={controllers}"))
        .arg(format!("--kubeconfig={}", cluster.kubeconfig.display()));
    site.supervisor.start(&format!("{}-kube-controller-manager", cluster.name), command)
}

fn start_scheduler(site: &Site<'_>, cluster: &Cluster) -> Result<Process> {
    let mut command = Command::new(site.toolbox.program("kube-scheduler")?);
    command
        .args(["--secure-port=0", "--leader-elect=false"])
        .arg(format!("--kubeconfig={}", cluster.kubeconfig.display()));
    site.supervisor.start(&format!("{}-kube-scheduler", cluster.name), command)
}

/// Starts kwok, which plays the kubelet of every node: no container runs, pods become ready at once.
fn start_kwok(site: &Site<'_>, cluster: &Cluster) -> Result<Process> {
    let mut command = Command::new(site.toolbox.program("kwok")?);
    command
        .arg("--manage-all-nodes=true")
        .arg(format!("--config={}", site.toolbox.kwok_stages().display()))
        .arg(format!("--kubeconfig={}", cluster.kubeconfig.display()));
    site.supervisor.start(&format!("{}-kwok", cluster.name), command)
}

/// A random secret of this run: other users of the machine can reach loopback too.
fn random_token() -> Result<String> {
    let mut bytes = [0_u8; 16];
    fs::File::open("/dev/urandom")
        .and_then(|mut source| source.read_exact(&mut bytes))
        .context(|| "cannot read /dev/urandom".to_owned())?;
    Ok(bytes.iter().fold(String::new(), |token, byte| token + &format!("{byte:02x}")))
}
