//! What the command line writes: a request to reconcile, and `spec.suspend`. Nothing else.

use std::time::Duration;

use kube::api::{Api, ApiResource, DynamicObject, Patch, PatchParams};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep, timeout};

use super::snapshot::ready;
use super::{Named, Session, advice};
use crate::api::labels::{CLI_FIELD_MANAGER, REQUESTED_AT};
use crate::api::{ClusterAddon, ClusterStack, ClusterStackRelease};
use crate::cli::error::CliError;
use crate::foreign::capi::text;
use crate::names::ObjectName;
use crate::rollup::Report;

/// How long one request may take.
const PATIENCE: Duration = Duration::from_secs(30);
/// How often to look whether the operator has answered.
const INTERVAL: Duration = Duration::from_millis(500);

/// One object that the operator reconciles.
pub(in crate::cli) struct Target {
    api: Api<DynamicObject>,
    name: String,
    /// As it is told: kind, namespace and name.
    pub(in crate::cli) label: String,
}

impl Target {
    /// The object behind what was named: of a Cluster its `ClusterAddon`.
    pub(in crate::cli) fn new(session: &Session, kind: Named, name: &str) -> Result<Self, CliError> {
        let (resource, name) = match kind {
            Named::Clusterstack => (ApiResource::erase::<ClusterStack>(&()), name.to_owned()),
            Named::Release => (ApiResource::erase::<ClusterStackRelease>(&()), name.to_owned()),
            Named::Cluster => {
                let name = ObjectName::bounded(&format!("cluster-addon-{name}"))?.to_string();
                (ApiResource::erase::<ClusterAddon>(&()), name)
            }
        };
        let label = format!("{} {}/{name}", resource.kind, session.namespace);
        let api = Api::namespaced_with(session.client.clone(), &session.namespace, &resource);
        Ok(Self { api, name, label })
    }

    /// Reads it.
    pub(in crate::cli) async fn get(&self) -> Result<DynamicObject, CliError> {
        self.answered(self.api.get(&self.name)).await
    }

    /// Sets or unsets `spec.suspend`.
    pub(in crate::cli) async fn suspend(&self, suspend: bool) -> Result<(), CliError> {
        self.patch(&json!({"spec": {"suspend": suspend}})).await.map(drop)
    }

    /// Asks for a reconciliation, and waits until the operator says that it has done that.
    pub(in crate::cli) async fn reconcile(&self, patience: Duration) -> Result<Report, CliError> {
        let (start, requested) = (Instant::now(), jiff::Timestamp::now().to_string());
        let mut object = self.patch(&json!({"metadata": {"annotations": {REQUESTED_AT: requested}}})).await?;
        while text(&object.data, &["status", "lastHandledReconcileAt"]) != requested {
            if start.elapsed() >= patience {
                let message = format!("{}: the operator has not answered within {patience:?}", self.label);
                return Err(CliError::usage(message)
                    .hint("does it run, and does it watch this namespace? A longer --timeout waits on"));
            }
            sleep(INTERVAL).await;
            object = self.get().await?;
        }
        let conditions = object.data.pointer("/status/conditions").cloned().unwrap_or(Value::Null);
        let conditions = serde_json::from_value(conditions).unwrap_or_default();
        Ok(ready(&object.metadata, Some(&conditions)))
    }

    async fn patch(&self, patch: &Value) -> Result<DynamicObject, CliError> {
        let parameters =
            PatchParams { field_manager: Some(CLI_FIELD_MANAGER.to_owned()), ..PatchParams::default() };
        self.answered(self.api.patch(&self.name, &parameters, &Patch::Merge(patch))).await
    }

    async fn answered<T>(
        &self,
        request: impl Future<Output = Result<T, kube::Error>>,
    ) -> Result<T, CliError> {
        let answer = timeout(PATIENCE, request).await;
        let answer = answer.map_err(|_| CliError::usage(format!("{}: no answer", self.label)))?;
        answer.map_err(|error| match &error {
            kube::Error::Api(status) if status.is_not_found() => {
                CliError::usage(format!("{} is not there", self.label)).hint(
                    "stackflux status --all-namespaces shows what there is, stackflux why <cluster> why a Cluster has \
                     no ClusterAddon",
                )
            }
            _ => advice::failed(&error),
        })
    }
}

/// Whether an object is suspended.
pub(in crate::cli) fn is_suspended(object: &DynamicObject) -> bool {
    object.data.pointer("/spec/suspend") == Some(&Value::Bool(true))
}
