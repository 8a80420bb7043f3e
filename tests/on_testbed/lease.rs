//! Leader election on a real API server: two candidates for one Lease.

use std::future::Future;
use std::time::Duration;

use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use kube::Client;
use kube::api::{Api, Patch, PatchParams};
use prometheus_client::registry::Registry;
use serde_json::json;
use stackflux::names::Namespace;
use stackflux::runtime::client::{ClusterAccess, connect};
use stackflux::runtime::lease::{Candidate, Fence, Holding, LeaseError, LeaseSettings, NotLeader};
use stackflux::runtime::metrics::Metrics;
use stackflux_testbed::Testbed;

const NAME: &str = "operator";
const TIMEOUT: Duration = Duration::from_mins(1);
/// Times that are short enough to wait for, and long enough for a busy machine.
const SHORT: LeaseSettings = LeaseSettings {
    duration: Duration::from_secs(8),
    renew_deadline: Duration::from_secs(6),
    retry_period: Duration::from_millis(200),
};
/// A Lease that does not pass during a test.
const LONG: LeaseSettings = LeaseSettings { duration: Duration::from_hours(1), ..SHORT };

fn namespace(name: &str) -> Namespace {
    Testbed::shared().namespace(name).unwrap().parse().unwrap()
}

async fn client() -> Client {
    let kubeconfig = Testbed::shared().management().kubeconfig().to_owned();
    connect(&ClusterAccess { kubeconfig: Some(kubeconfig), context: None }).await.unwrap().client
}

/// Starts a candidate on the runtime of the caller.
async fn candidate(namespace: &Namespace, identity: &str, settings: LeaseSettings) -> (Fence, Holding) {
    let (client, identity) = (client().await, identity.to_owned());
    let metrics = Metrics::new(&mut Registry::default());
    Candidate::new(client, namespace, NAME, identity, settings, metrics, "stackflux").start()
}

async fn soon<T>(what: &str, future: impl Future<Output = T>) -> T {
    tokio::time::timeout(TIMEOUT, future).await.unwrap_or_else(|_| panic!("no {what} within {TIMEOUT:?}"))
}

async fn lease(namespace: &Namespace) -> LeaseSpec {
    let api: Api<Lease> = Api::namespaced(client().await, namespace.as_str());
    api.get(NAME).await.unwrap().spec.unwrap()
}

#[test]
fn paused_leader_is_replaced_and_stays_fenced() {
    let namespace = namespace("lease-paused");
    // Tasks of this runtime run only within `block_on`: like a stopped process.
    let paused = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let running = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let (first, mut first_holding) = paused.block_on(async {
        let (fence, holding) = candidate(&namespace, "first", SHORT).await;
        soon("leadership", fence.leading()).await.unwrap();
        (fence, holding)
    });
    assert_eq!(first.check(), Ok(()));
    running.block_on(async {
        let (second, second_holding) = candidate(&namespace, "second", SHORT).await;
        let before = lease(&namespace).await;
        assert_eq!(before.holder_identity.as_deref(), Some("first"));
        assert_eq!(second.check(), Err(NotLeader));
        soon("takeover", second.leading()).await.unwrap();
        assert_eq!(first.check(), Err(NotLeader), "two may never write at once");
        let after = lease(&namespace).await;
        assert_eq!(after.holder_identity.as_deref(), Some("second"));
        assert_eq!((before.lease_transitions, after.lease_transitions), (Some(0), Some(1)));
        let waited = after.acquire_time.unwrap().0.duration_since(before.renew_time.unwrap().0);
        assert!(waited >= SHORT.duration.try_into().unwrap(), "it took over after {waited:?}");
        assert_eq!(second.check(), Ok(()), "renewed since");
        soon("release", second_holding.release()).await.unwrap();
    });
    // It continues, and the Lease is even free: its pending write is lost nevertheless.
    paused.block_on(async {
        let written = first.guard(async { panic!("written without the Lease") }).await;
        assert_eq!(written, Err::<(), _>(NotLeader));
        let lost = soon("end", first_holding.lost()).await;
        assert!(matches!(lost, LeaseError::Expired { .. }), "{lost}");
    });
    assert_eq!(first.check(), Err(NotLeader));
}

#[tokio::test(flavor = "multi_thread")]
async fn stopped_leader_hands_over_at_once() {
    let namespace = namespace("lease-released");
    let (first, first_holding) = candidate(&namespace, "first", LONG).await;
    soon("leadership", first.leading()).await.unwrap();
    let (second, second_holding) = candidate(&namespace, "second", LONG).await;
    soon("release", first_holding.release()).await.unwrap();
    assert_eq!(first.check(), Err(NotLeader));
    soon("handover", second.leading()).await.unwrap();
    assert_eq!(lease(&namespace).await.holder_identity.as_deref(), Some("second"));
    soon("release", second_holding.release()).await.unwrap();
    assert_eq!(lease(&namespace).await.holder_identity.as_deref(), Some(""));
    // A waiting candidate has nothing to release.
    let (third, third_holding) = candidate(&namespace, "third", LONG).await;
    soon("leadership", third.leading()).await.unwrap();
    let (_, fourth_holding) = candidate(&namespace, "fourth", LONG).await;
    soon("release", fourth_holding.release()).await.unwrap();
    assert_eq!(lease(&namespace).await.holder_identity.as_deref(), Some("third"));
    soon("release", third_holding.release()).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn leader_renews_until_another_holder_takes_its_lease() {
    let namespace = namespace("lease-taken");
    let (fence, mut holding) = candidate(&namespace, "first", LONG).await;
    soon("leadership", fence.leading()).await.unwrap();
    let acquired = lease(&namespace).await;
    soon("renewal", async {
        while lease(&namespace).await.renew_time == acquired.renew_time {
            tokio::time::sleep(SHORT.retry_period).await;
        }
    })
    .await;
    assert_eq!(fence.check(), Ok(()));
    let api: Api<Lease> = Api::namespaced(client().await, namespace.as_str());
    let patch = Patch::Merge(json!({"spec": {"holderIdentity": "somebody"}}));
    api.patch(NAME, &PatchParams::default(), &patch).await.unwrap();
    let lost = soon("end", holding.lost()).await;
    assert!(matches!(&lost, LeaseError::Taken { holder, .. } if holder == "somebody"), "{lost}");
    assert_eq!(fence.check(), Err(NotLeader));
    let after = lease(&namespace).await;
    assert_eq!(
        after.holder_identity.as_deref(),
        Some("somebody"),
        "nothing is written that is not ours any more"
    );
    assert_eq!(after.acquire_time, acquired.acquire_time);
}
