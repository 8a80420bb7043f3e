//! The only writes of the command line to a live cluster: a request to reconcile, `spec.suspend`, and annotations of Clusters
//! that control their upgrades.

use std::time::Duration;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::api::{Api, ApiResource, DynamicObject, Patch, PatchParams};
use kube::core::GroupVersionKind;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep, timeout};

use super::lists::{self, preferred_version};
use super::watch::Timeout;
use super::{Scope, Session, advice};
use crate::api::labels::{CLI_FIELD_MANAGER, REQUESTED_AT};
use crate::api::{ClusterAddon, ClusterStack, ClusterStackRelease};
use crate::cli::error::CliError;
use crate::explain::Named;
use crate::explain::snapshot::ready;
use crate::foreign::capi::{self, Cluster, text};
use crate::names::Key;
use crate::rollup::Report;

/// Timeout of one request.
const TIMEOUT: Duration = Duration::from_secs(30);
/// Interval at which to check whether the operator has handled a request.
const INTERVAL: Duration = Duration::from_millis(500);

/// One object that the operator reconciles.
pub(in crate::cli) struct Target {
    session: Session,
    api: Api<DynamicObject>,
    name: String,
    /// The object in messages: kind, namespace and name.
    pub(in crate::cli) label: String,
    /// The kind in the plural.
    kinds: &'static str,
    /// The hint if the object does not exist.
    missing: String,
}

impl Target {
    /// Returns the target for a named object; for a Cluster, its `ClusterAddon`.
    pub(in crate::cli) fn new(session: &Session, kind: Named, Key { namespace, name }: &Key) -> Self {
        let (resource, kinds) = match kind {
            Named::Clusterstack => (ApiResource::erase::<ClusterStack>(&()), "ClusterStacks"),
            Named::Release => (ApiResource::erase::<ClusterStackRelease>(&()), "ClusterStackReleases"),
            Named::Cluster => (ApiResource::erase::<ClusterAddon>(&()), "ClusterAddons"),
        };
        let (name, missing) = if kind == Named::Cluster {
            (
                ClusterAddon::name_for(name),
                format!("stackflux why {name} -n {namespace} explains why Cluster {name} has none"),
            )
        } else {
            (name.to_owned(), format!("stackflux status --all-namespaces lists the {kinds}"))
        };
        let label = format!("{} {namespace}/{name}", resource.kind);
        let api = Api::namespaced_with(session.client.clone(), namespace, &resource);
        Self { session: session.clone(), api, name, label, kinds, missing }
    }

    /// Reads the object.
    pub(in crate::cli) async fn get(&self) -> Result<DynamicObject, CliError> {
        self.answered(self.api.get(&self.name)).await
    }

    /// Sets or unsets `spec.suspend`.
    pub(in crate::cli) async fn suspend(&self, suspend: bool) -> Result<(), CliError> {
        self.patch(&json!({"spec": {"suspend": suspend}})).await.map(drop)
    }

    /// Requests a reconciliation, and waits until the status reports that the operator handled the request.
    pub(in crate::cli) async fn reconcile(&self, timeout: &Timeout) -> Result<Report, CliError> {
        let (start, requested) = (Instant::now(), jiff::Timestamp::now().to_string());
        let mut object = self.patch(&json!({"metadata": {"annotations": {REQUESTED_AT: requested}}})).await?;
        while text(&object.data, &["status", "lastHandledReconcileAt"]) != requested {
            if start.elapsed() >= timeout.limit {
                let message = format!("{}: timed out after {timeout} waiting for the operator", self.label);
                return Err(CliError::usage(message)
                    .hint("check that the operator runs and watches this namespace, or raise --timeout"));
            }
            sleep(INTERVAL).await;
            object = self.get().await?;
        }
        let conditions = object.data.pointer("/status/conditions").cloned().unwrap_or(Value::Null);
        let conditions: Option<Vec<Condition>> = serde_json::from_value(conditions).map_err(|error| {
            CliError::usage(format!("{}: status.conditions cannot be read: {error}", self.label))
        })?;
        Ok(ready(&object.metadata, conditions.as_ref()))
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
        let answer = timeout(TIMEOUT, request).await;
        let answer = answer.map_err(|_| {
            let (server, seconds) = (&self.session.server, TIMEOUT.as_secs());
            CliError::usage(format!("{}: the API server {server} timed out after {seconds} s", self.label))
        })?;
        answer.map_err(|error| match &error {
            kube::Error::Api(status) if status.is_not_found() => {
                CliError::usage(format!("{} not found", self.label)).hint(&self.missing)
            }
            kube::Error::Api(status) if status.code == 404 => {
                CliError::usage(format!("{} {}", self.kinds, advice::not_served(self.kinds)))
            }
            _ => advice::failed(&self.session, &error),
        })
    }
}

/// The Clusters of a management cluster.
pub(in crate::cli) struct Clusters {
    session: Session,
    kind: ApiResource,
}

/// One Cluster.
pub(in crate::cli) struct ClusterTarget {
    session: Session,
    api: Api<DynamicObject>,
    /// Namespace and name of the Cluster.
    pub(in crate::cli) key: Key,
}

impl Clusters {
    /// Finds the version of Clusters that the API server prefers.
    pub(in crate::cli) async fn new(session: &Session) -> Result<Self, CliError> {
        let version = preferred_version(&session.client, capi::GROUP).await;
        let version = version.map_err(|error| advice::failed(session, &error))?;
        let kind = GroupVersionKind::gvk(capi::GROUP, &version, "Cluster");
        Ok(Self { session: session.clone(), kind: ApiResource::from_gvk_with_plural(&kind, "clusters") })
    }

    /// Lists the Clusters of a namespace, or of all.
    pub(in crate::cli) async fn list(&self, namespace: Option<String>) -> Result<Vec<Cluster>, CliError> {
        let found = lists::clusters(&self.session.client, &Scope { namespace, selector: None }).await;
        let found = found.map_err(|error| advice::failed(&self.session, &error))?;
        Ok(found.into_iter().filter_map(|cluster| Cluster::new(cluster).ok()).collect())
    }

    /// Returns the target for a Cluster.
    pub(in crate::cli) fn one(&self, key: &Key) -> ClusterTarget {
        let api = Api::namespaced_with(self.session.client.clone(), &key.namespace, &self.kind);
        ClusterTarget { session: self.session.clone(), api, key: key.clone() }
    }
}

impl ClusterTarget {
    /// Reads the Cluster.
    pub(in crate::cli) async fn get(&self) -> Result<Cluster, CliError> {
        let found = self.api.get(&self.key.name).await.map_err(|error| self.failed(&error))?;
        let found = serde_json::to_value(found);
        let cluster = found.map_err(|error| error.to_string());
        let cluster = cluster.and_then(|found| Cluster::new(found).map_err(|error| error.to_string()));
        cluster.map_err(|error| CliError::usage(format!("Cluster {}: {error}", self.key)))
    }

    /// Sets an annotation, or removes it if the value is null.
    pub(in crate::cli) async fn annotate(&self, annotation: &str, value: &Value) -> Result<(), CliError> {
        let parameters =
            PatchParams { field_manager: Some(CLI_FIELD_MANAGER.to_owned()), ..PatchParams::default() };
        let patch = json!({"metadata": {"annotations": {annotation: value}}});
        let answer = self.api.patch(&self.key.name, &parameters, &Patch::Merge(&patch)).await;
        answer.map(drop).map_err(|error| self.failed(&error))
    }

    /// Removes an annotation. Returns whether the Cluster exists.
    pub(in crate::cli) async fn remove_annotation(&self, annotation: &str) -> Result<bool, CliError> {
        let removed = self.annotate(annotation, &Value::Null).await;
        if removed.is_err() && matches!(self.api.get_opt(&self.key.name).await, Ok(None)) {
            return Ok(false);
        }
        removed.map(|()| true)
    }

    fn failed(&self, error: &kube::Error) -> CliError {
        match error {
            kube::Error::Api(status) if status.is_not_found() => {
                CliError::usage(format!("Cluster {} not found", self.key))
                    .hint("check --namespace; kubectl get clusters -A lists them")
            }
            _ => advice::failed(&self.session, error),
        }
    }
}

/// Whether an object is suspended.
pub(in crate::cli) fn is_suspended(object: &DynamicObject) -> bool {
    object.data.pointer("/spec/suspend") == Some(&Value::Bool(true))
}
