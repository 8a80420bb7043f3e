//! All states of the operator's kinds during a test: every state that a watch reports, not only those that polling would
//! find.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use futures::StreamExt as _;
use kube::Api;
use kube::core::{ApiResource, DynamicObject, GroupVersionKind};
use kube::runtime::WatchStreamExt as _;
use kube::runtime::watcher::{self, Event, watcher};
use serde_json::{Value, json};
use stackflux::runtime::client::{ClusterAccess, connect};
use tokio::runtime::Runtime;

use super::scenario::{Scenario, eventually};

/// The states, once each: `ClusterAddon cluster-addon-a: Ready=False Waiting: ccm: ...`.
pub(crate) struct Diary {
    /// The watches end with the runtime. After a failure they are restarted.
    _runtime: Runtime,
    entries: Arc<Mutex<BTreeSet<String>>>,
}

impl Diary {
    /// Starts to record the states of the objects in the scenario's namespace.
    pub(crate) fn of(scenario: &Scenario) -> Self {
        let runtime = Runtime::new().unwrap();
        let access =
            ClusterAccess { kubeconfig: Some(scenario.management().kubeconfig().to_owned()), context: None };
        let client = runtime.block_on(connect(&access)).unwrap().client;
        let entries: Arc<Mutex<BTreeSet<String>>> = Arc::default();
        for kind in ["ClusterStack", "ClusterStackRelease", "ClusterAddon"] {
            let resource =
                ApiResource::from_gvk(&GroupVersionKind::gvk("clusterstack.x-k8s.io", "v1alpha1", kind));
            let api = Api::<DynamicObject>::namespaced_with(client.clone(), &scenario.namespace, &resource);
            let entries = entries.clone();
            runtime.spawn(async move {
                let mut events = std::pin::pin!(watcher(api, watcher::Config::default()).default_backoff());
                while let Some(event) = events.next().await {
                    if let Ok(Event::Apply(object) | Event::InitApply(object)) = event {
                        entries
                            .lock()
                            .unwrap_or_else(PoisonError::into_inner)
                            .extend(sentences(&json!(object)));
                    }
                }
            });
        }
        Self { _runtime: runtime, entries }
    }

    /// Waits for a state.
    pub(crate) fn wait_for(&self, state: &str) {
        let is_written = |entries: &BTreeSet<String>| entries.iter().any(|entry| entry.contains(state));
        eventually(state, || is_written(&self.entries.lock().unwrap_or_else(PoisonError::into_inner)));
    }

    /// Fails if any state was a failure, or required action by a user.
    pub(crate) fn assert_nothing_failed(&self, during: &str) {
        let entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        assert!(!entries.is_empty(), "the diary is empty: nothing was watched");
        // Whether a release is in use is not a matter of success.
        let is_bad = |sentence: &&String| {
            !sentence.contains(": InUse=") && BAD.iter().any(|bad| sentence.contains(bad))
        };
        let bad: Vec<_> = entries.iter().filter(is_bad).collect();
        assert!(bad.is_empty(), "{during}: {bad:#?}");
    }
}

/// The marks of a state that is a failure.
const BAD: [&str; 6] = ["=False", "Stalled=", " Failed", " DeadlineExceeded", " RolledBack", " Retrying"];

fn sentences(object: &Value) -> Vec<String> {
    let name = format!("{} {}", crate::text(object, "/kind"), crate::text(object, "/metadata/name"));
    let list = |pointer: &str| object.pointer(pointer).and_then(Value::as_array).cloned().unwrap_or_default();
    let text = |value: &Value, key: &str| value[key].as_str().unwrap_or_default().to_owned();
    let conditions = list("/status/conditions").into_iter().map(|condition| {
        let [kind, status, reason, message] =
            ["type", "status", "reason", "message"].map(|key| text(&condition, key));
        format!("{name}: {kind}={status} {reason}: {message}")
    });
    let addons = list("/status/addons").into_iter().filter(|addon| !addon["phase"].is_null()).map(|addon| {
        let [of, phase, reason, message] =
            ["name", "phase", "reason", "message"].map(|key| text(&addon, key));
        format!("{name}: addon {of} {phase} {reason}: {message}")
    });
    conditions.chain(addons).collect()
}
