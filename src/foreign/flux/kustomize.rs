//! kustomize-controller's kind: `Kustomization`.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::api::flux_fields::Decryption;

use super::{FluxKind, Kind, KubeConfig, Reference};

/// A `Kustomization`'s desired state. `suspend` is not here: no plan ever owns it.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct KustomizationSpec<'a> {
    /// The source.
    pub source_ref: Reference<'a>,
    /// The directory in the source.
    pub path: &'a str,
    /// Whether objects that are removed from the source are deleted.
    pub prune: bool,
    /// Whether the `Kustomization` is ready only when all objects are.
    pub wait: bool,
    /// The workload cluster; absent for the management cluster.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kube_config: Option<KubeConfig<'a>>,
    /// The `ServiceAccount` in the management cluster that Flux impersonates to apply.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub service_account_name: Option<&'a str>,
    /// The namespace that all objects are put into; absent if each keeps its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target_namespace: Option<&'a str>,
    /// Interval at which to check for drift.
    pub interval: &'a str,
    /// Time from a failure to the next attempt; Flux's default is the whole interval.
    pub retry_interval: &'a str,
    /// Maximum duration of an apply and the wait after it.
    pub timeout: &'a str,
    /// `Kustomization`s of the same namespace that must be ready first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub depends_on: Vec<Dependency>,
    /// The substitution of variables in the manifests; absent if their `${…}` stay as they are.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub post_build: Option<PostBuild>,
    /// The decryption of the manifests.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decryption: Option<Decryption>,
}

/// A `Kustomization` of the same namespace that must be ready first.
#[derive(Clone, Debug, Serialize)]
pub struct Dependency {
    /// The name of the `Kustomization`.
    pub name: String,
}

/// The substitution of variables.
#[derive(Clone, Debug, Serialize)]
pub struct PostBuild {
    /// The texts by variable. Flux fails for a variable that has none and no default.
    pub substitute: BTreeMap<String, String>,
}

impl Kind for KustomizationSpec<'_> {
    const KIND: FluxKind = FluxKind::Kustomization;
}
