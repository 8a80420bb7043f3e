//! `stackflux gate`: opens the upgrade gate of a cluster, or removes the annotations of all gates.

use k8s_openapi::api::coordination::v1::Lease;
use kube::api::Api;
use serde_json::Value;

use super::error::CliError;
use super::live::request::Clusters;
use super::live::subject::ClusterArgument;
use super::live::{self, Access, Connection, Session};
use super::output::count;
use super::{CommandResult, Outcome, terminal};
use crate::api::cluster_stack::UpgradeGate;
use crate::api::labels::OPEN_UPGRADE_GATE;
use crate::api::{ClusterAddon, ClusterStack, ConditionType};
use crate::foreign::capi::Cluster;
use crate::foreign::capi::upgrade::UPGRADE_HOOK;
use crate::installation::lease::is_lease;
use crate::names::Key;

/// Control the gates that delay Kubernetes upgrades of clusters
///
/// Cluster API upgrades the control plane of a cluster when the addons that belong before the upgrade are upgraded. The
/// operator delays it with an annotation of the Cluster.
#[derive(Debug, clap::Subcommand)]
#[command(after_help = "Examples:
  # Let an upgrade begin in spite of an addon that cannot be upgraded
  stackflux gate open two -n prod
  # Before stackflux is removed
  stackflux gate release --all")]
pub(super) enum Command {
    Open(Open),
    Release(Release),
}

/// Let Cluster API upgrade a cluster before its addons are upgraded
///
/// Annotates the Cluster with the version that it is to get: the gate opens for this upgrade, and not for the next one.
/// First prints what the upgrade waits for.
#[derive(Debug, clap::Args)]
#[command(
    override_usage = "stackflux gate open [OPTIONS] [cluster/]NAME",
    after_help = "Examples:
  # Open the gate of a cluster whose addon cannot be upgraded
  stackflux gate open two -n prod"
)]
pub(super) struct Open {
    #[command(flatten)]
    cluster: ClusterArgument,
    #[command(flatten)]
    connection: Connection,
}

/// Remove the annotations of all gates, for good
///
/// Removes those of the Clusters of all namespaces, whatever the namespace of the context; with --namespace, only those of the
/// Clusters in this namespace.
///
/// Needs no operator, and refuses while one runs that would add the annotations again: uninstall it first, or set
/// upgradeGate of all ClusterStacks to Off.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  # Before stackflux is removed
  stackflux gate release --all
  # Only the Clusters of one namespace
  stackflux gate release --all -n prod")]
pub(super) struct Release {
    /// Release the gates of all Clusters
    #[arg(long, required = true)]
    all: bool,
    #[command(flatten)]
    access: Access,
    /// Release only the gates of Clusters in this namespace (default: all namespaces)
    #[arg(short, long, value_name = "NAMESPACE")]
    namespace: Option<String>,
    /// Release the gates in all namespaces (the default)
    #[arg(short = 'A', long, conflicts_with = "namespace")]
    all_namespaces: bool,
}

pub(super) fn run(command: &Command) -> CommandResult {
    match command {
        Command::Open(arguments) => live::block_on(open(arguments)),
        Command::Release(arguments) => live::block_on(release(arguments)),
    }
}

async fn open(arguments: &Open) -> CommandResult {
    let session = arguments.connection.open().await?;
    let clusters = Clusters::new(&session).await?;
    let key = arguments.connection.key(&session, &arguments.cluster.subject()?)?;
    let target = clusters.one(&key);
    let cluster = target.get().await?;
    let addon: Api<ClusterAddon> = Api::namespaced(session.client(), &key.namespace);
    let addon = addon.get_opt(&ClusterAddon::name_for(&key.name)).await;
    let addon = addon.map_err(|error| session.failed(&error))?;
    let (version, waits) = waiting(&cluster, addon.as_ref())?;
    terminal::note(&waits);
    target.annotate(OPEN_UPGRADE_GATE, &Value::from(version)).await?;
    terminal::success(format!("the gate of Cluster {} is open for {version}", target.key));
    Ok(Outcome::Done)
}

/// Returns the version to open the gate for, and what the upgrade waits for.
fn waiting<'a>(cluster: &'a Cluster, addon: Option<&ClusterAddon>) -> Result<(&'a str, String), CliError> {
    let status = addon.and_then(|addon| addon.status.as_ref());
    let version = cluster.topology_version();
    let upgrade = status.and_then(|status| status.upgrade.as_ref()).filter(|upgrade| upgrade.to == version);
    let (Some(upgrade), Some(status)) = (upgrade, status) else {
        let message = format!("Cluster {} is not on its way to another Kubernetes version", cluster.key());
        return Err(CliError::usage(message).hint(
            "set spec.topology.version first; an operator that runs reports the upgrade within a second",
        ));
    };
    let gate = status.conditions.iter().find(|it| it.type_ == ConditionType::UpgradeGate.as_str());
    let message = gate.map(|gate| gate.message.as_str()).unwrap_or_default();
    Ok((version, format!("{} to {}: {}: {message}", upgrade.from, upgrade.to, upgrade.phase)))
}

async fn release(arguments: &Release) -> CommandResult {
    debug_assert!(arguments.all, "clap requires it");
    let namespace = arguments.namespace.clone().filter(|_| !arguments.all_namespaces);
    let session = arguments.access.open(namespace.clone()).await?;
    refuse_beside_operator(&session).await?;
    let clusters = Clusters::new(&session).await?;
    let (mut released, mut refused) = (0, 0);
    for cluster in clusters.list(namespace).await? {
        if cluster.annotation(UPGRADE_HOOK).is_none() {
            continue;
        }
        let target = clusters.one(&cluster.key());
        match target.remove_annotation(UPGRADE_HOOK).await {
            Ok(true) => {
                terminal::note(format!("Cluster {}: its upgrades do not wait", target.key));
                released += 1;
            }
            Ok(false) => {}
            Err(error) => {
                terminal::problem(format!("Cluster {}: its upgrades still wait: {error}", target.key));
                refused += 1;
            }
        }
    }
    let place = arguments.namespace.as_ref().map(|name| format!(" in namespace {name}")).unwrap_or_default();
    if refused > 0 {
        terminal::problem(format!("{} released{place}, and {refused} not", count(released, "gate")));
        return Ok(Outcome::Failed);
    }
    terminal::success(format!("{} released{place}", count(released, "gate")));
    Ok(Outcome::Done)
}

/// Refuses to remove annotations that an operator adds again.
async fn refuse_beside_operator(session: &Session) -> Result<(), CliError> {
    let leases: Api<Lease> = Api::all(session.client());
    let all = kube::api::ListParams::default();
    let leases = leases.list(&all).await.map_err(|error| session.failed(&error))?;
    let now = jiff::Timestamp::now();
    let Some((lease, holder)) = leases.items.iter().find_map(|lease| Some((lease, leader(lease, now)?)))
    else {
        return Ok(());
    };
    let stacks: Api<ClusterStack> = Api::all(session.client());
    let stacks = stacks.list(&all).await.map_err(|error| session.failed(&error))?;
    if stacks.items.iter().all(|stack| stack.spec.upgrade_gate == UpgradeGate::Off) {
        return Ok(());
    }
    let lease = Key::of(lease);
    let message = format!("the operator {holder} holds Lease {lease}, and adds the annotations again");
    Err(CliError::usage(message).hint(
        "scale its Deployment to 0 and try again when the Lease has passed, or set upgradeGate of all ClusterStacks to Off",
    ))
}

/// Returns the operator that holds a Lease of stackflux at a time; `None` if it is the Lease of another program, or has passed.
fn leader(lease: &Lease, now: jiff::Timestamp) -> Option<&str> {
    let spec = lease.spec.as_ref().filter(|_| lease.metadata.name.as_deref().is_some_and(is_lease))?;
    let holder = spec.holder_identity.as_deref().filter(|holder| !holder.is_empty())?;
    let seconds = jiff::SignedDuration::from_secs(spec.lease_duration_seconds.unwrap_or_default().into());
    let ends = spec.renew_time.as_ref()?.0.checked_add(seconds).ok()?;
    (now < ends).then_some(holder)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::installation::lease::LEASE;

    use super::*;

    #[test]
    fn gate_opens_for_the_version_on_the_way() {
        let cluster = |version: &str| {
            Cluster::new(json!({
                "apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Cluster",
                "metadata": {"name": "two", "namespace": "prod"}, "spec": {"topology": {"version": version}},
            }))
            .unwrap()
        };
        let condition = json!({
            "type": "UpgradeGate", "status": "False", "reason": "WaitingForAddons", "message": "cni: timed out",
            "lastTransitionTime": "2026-11-26T10:00:00Z",
        });
        let upgrade =
            json!({"from": "v1.34.0", "to": "v1.35.0", "phase": "Waiting", "since": "2026-11-26T10:00:00Z"});
        let addon: ClusterAddon = serde_json::from_value(json!({
            "apiVersion": "clusterstack.x-k8s.io/v1alpha1", "kind": "ClusterAddon",
            "metadata": {"name": "cluster-addon-two", "namespace": "prod"},
            "spec": {"clusterRef": {"name": "two"}},
            "status": {"conditions": [condition], "upgrade": upgrade, "ready": false},
        }))
        .unwrap();
        let due = cluster("v1.35.0");
        let (version, waits) = waiting(&due, Some(&addon)).unwrap();
        assert_eq!((version, waits.as_str()), ("v1.35.0", "v1.34.0 to v1.35.0: Waiting: cni: timed out"));
        for (cluster, addon) in [(cluster("v1.35.1"), Some(&addon)), (cluster("v1.35.0"), None)] {
            let refusal = waiting(&cluster, addon).unwrap_err().to_string();
            assert!(refusal.contains("prod/two is not on its way"), "{refusal}");
        }
    }

    #[test]
    fn operator_holds_its_lease_until_it_passes() {
        let lease = |name: &str, holder: &str| -> Lease {
            serde_json::from_value(json!({
                "metadata": {"name": name, "namespace": "platform"},
                "spec": {
                    "holderIdentity": holder, "leaseDurationSeconds": 15,
                    "renewTime": "2026-11-26T10:00:00.000000Z",
                },
            }))
            .unwrap()
        };
        let at = |time: &str| -> jiff::Timestamp { format!("2026-11-26T{time}Z").parse().unwrap() };
        for (lease, time, expected) in [
            (lease(LEASE, "a"), "10:00:14", Some("a")),
            (lease(LEASE, "a"), "10:00:15", None),
            (lease(LEASE, ""), "10:00:01", None),
            (lease(&format!("{LEASE}-0123456789ab"), "shard"), "10:00:01", Some("shard")),
            (lease(&format!("{LEASE}s"), "a"), "10:00:01", None),
            (lease("helm-controller-leader-election", "a"), "10:00:01", None),
        ] {
            assert_eq!(leader(&lease, at(time)), expected, "{lease:?} at {time}");
        }
    }
}
