//! What the operator queues at once, and what it gathers first.

use std::sync::Arc;

use kube::runtime::watcher::Event;
use serde_json::{Value, json};
use stackflux::api::labels::{FIELD_MANAGER, MANAGED_BY};
use stackflux::operator::metrics::Queue;
use stackflux::runtime::clock::Clock;
use stackflux::runtime::lease::Fence;

use super::{Millis, Operator, QUEUES, timestamp};
use crate::api_server::ApiServer;
use crate::flux::number;
use crate::properties::runtime;
use crate::wire::Wire;

const RELEASE: &str = "docker-demo-1-34-v1";

/// Returns the times at which work of a queue is due after an object changed, at time 0.
fn due_after(queue: Queue, kind: &str, before: &Value, now: &Value) -> Vec<Millis> {
    let _entered = runtime().enter();
    let wire = Wire::new(ApiServer::new(&["team"]), None);
    let mut operator = Operator::start(&wire.of(0), Clock::new(|| timestamp(0)), Fence::open());
    let object = |object: &Value| Arc::new(object.clone());
    for event in [Event::Init, Event::InitApply(object(before)), Event::InitDone] {
        operator.deliver(number(kind), event, 0);
    }
    operator.due.clear();
    operator.deliver(number(kind), Event::Apply(object(now)), 0);
    operator.due.iter().filter(|((found, _), _)| QUEUES[*found] == queue).map(|(_, at)| *at).collect()
}

fn owner(kind: &str, name: &str) -> Value {
    json!([{"apiVersion": "clusterstack.x-k8s.io/v1alpha1", "kind": kind, "name": name, "uid": "a"}])
}

#[test]
fn release_gathers_statuses_of_its_sources_alone() {
    let chart = |version: &str, chart: &str, ready: &str| {
        json!({
            "apiVersion": "source.toolkit.fluxcd.io/v1", "kind": "HelmChart",
            "metadata": {
                "name": "cni", "namespace": "team", "uid": "b", "generation": 1, "resourceVersion": version,
                "labels": {MANAGED_BY: FIELD_MANAGER}, "ownerReferences": owner("ClusterStackRelease", RELEASE),
            },
            "spec": {"chart": chart, "sourceRef": {"kind": "GitRepository", "name": "demo"}},
            "status": {"conditions": [{
                "type": "Ready", "status": ready, "reason": "Reason", "message": "", "observedGeneration": 1,
                "lastTransitionTime": "2026-11-18T11:06:40Z",
            }]},
        })
    };
    let before = chart("1", "cni", "False");
    let due = |now: &Value| due_after(Queue::ClusterStackRelease, "HelmChart", &before, now);
    assert_eq!(due(&chart("2", "cni", "True")), [1000], "the longest delay of the queue");
    assert_eq!(due(&chart("2", "other", "False")), [0], "another client changed the spec");
}

#[test]
fn stack_gathers_the_progress_of_its_releases_alone() {
    let release = |version: &str, message: &str, ready: bool| {
        json!({
            "apiVersion": "clusterstack.x-k8s.io/v1alpha1", "kind": "ClusterStackRelease",
            "metadata": {
                "name": RELEASE, "namespace": "team", "uid": "b", "generation": 1, "resourceVersion": version,
                "ownerReferences": owner("ClusterStack", "docker"),
            },
            "spec": {},
            "status": {"ready": ready, "conditions": [{
                "type": "SourcesReady", "status": "False", "reason": "Progressing", "message": message,
                "observedGeneration": 1, "lastTransitionTime": "2026-11-18T11:06:40Z",
            }]},
        })
    };
    let before = release("1", "3 of 9 are ready", false);
    let due = |now: &Value| due_after(Queue::ClusterStack, "ClusterStackRelease", &before, now);
    assert_eq!(due(&release("2", "4 of 9 are ready", false)), [1000]);
    assert_eq!(due(&release("2", "3 of 9 are ready", true)), [0], "clusters can use it");
}
