//! source-controller's kinds: `GitRepository`, `OCIRepository` and `HelmChart`.

use serde::Serialize;
use serde_json::Value;

use super::{FluxKind, Kind, Reference};
use crate::foreign::capi::text;

/// A `GitRepository`'s desired state.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct GitRepositorySpec<'a> {
    /// The URL of the repository.
    pub url: &'a str,
    /// The reference to check out.
    #[serde(rename = "ref")]
    pub reference: Value,
    /// Interval at which the remote is fetched.
    pub interval: &'a str,
    /// Directories that the artifact holds; empty for the whole tree.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub sparse_checkout: Vec<String>,
    /// Credentials, proxy, verification and identity, as the followed source has them.
    #[serde(flatten)]
    pub access: &'a Access,
}

/// Access to a repository, and its verification. A pinned `GitRepository` copies them from the one that it derives from.
/// The values are Flux's own and are passed on unchanged.
#[derive(Clone, Debug, Default, PartialEq, Serialize, serde::Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Access {
    /// The Secret with credentials.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret_ref: Option<Value>,
    /// The Secret with the proxy's address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proxy_secret_ref: Option<Value>,
    /// The provider of credentials.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider: Option<Value>,
    /// The signatures that Flux requires.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verify: Option<Value>,
    /// The `ServiceAccount` that fetches.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub service_account_name: Option<Value>,
}

impl Kind for GitRepositorySpec<'_> {
    const KIND: FluxKind = FluxKind::GitRepository;
}

/// An `OCIRepository`'s desired state.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct OciRepositorySpec<'a> {
    /// The address of the repository.
    pub url: &'a str,
    /// The reference to fetch.
    #[serde(rename = "ref")]
    pub reference: Value,
    /// Interval at which the registry is asked.
    pub interval: &'a str,
    /// The layer of the artifact that is taken; absent for the first one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub layer_selector: Option<LayerSelector>,
    /// Credentials and verification.
    #[serde(flatten)]
    pub access: OciAccess<'a>,
}

/// The layer of an artifact that is taken, and what happens to it.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct LayerSelector {
    /// The media type.
    pub media_type: &'static str,
    /// `extract` or `copy`.
    pub operation: &'static str,
}

impl LayerSelector {
    /// The layer with a Helm chart, as it is.
    pub const CHART: Self =
        Self { media_type: "application/vnd.cncf.helm.chart.content.v1.tar+gzip", operation: "copy" };
}

/// Access to a registry.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct OciAccess<'a> {
    /// The fields that a `GitRepository` has too.
    #[serde(flatten)]
    pub common: &'a Access,
    /// The Secret with certificates.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cert_secret_ref: Option<Value>,
    /// Whether the registry is asked by plain HTTP.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub insecure: bool,
}

impl Kind for OciRepositorySpec<'_> {
    const KIND: FluxKind = FluxKind::OCIRepository;
}

/// A `HelmChart`'s desired state.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct HelmChartSpec<'a> {
    /// The chart's directory in the source.
    pub chart: &'a str,
    /// The source, in the `HelmChart`'s own namespace.
    pub source_ref: Reference<'a>,
    /// The event that makes a new chart.
    pub reconcile_strategy: ReconcileStrategy,
    /// Interval at which the source is checked.
    pub interval: &'a str,
}

/// The event that makes a new chart, and the version of that chart.
#[derive(Clone, Copy, Debug, Serialize)]
pub enum ReconcileStrategy {
    /// A new `version` in `Chart.yaml`; the chart's version stays as written.
    ChartVersion,
    /// A new revision of the source, which becomes part of the chart's version.
    Revision,
}

impl Kind for HelmChartSpec<'_> {
    const KIND: FluxKind = FluxKind::HelmChart;
}

/// Finds the `GitRepository` of this namespace and name among objects of any kind. An object without a namespace is in
/// `default`, as for kubectl.
pub fn git_repository<'a>(
    objects: impl IntoIterator<Item = &'a Value>,
    namespace: &str,
    name: &str,
) -> Option<&'a Value> {
    objects.into_iter().find(|object| {
        let of = match text(object, &["metadata", "namespace"]) {
            "" => "default",
            of => of,
        };
        (text(object, &["kind"]), text(object, &["metadata", "name"]), of)
            == (FluxKind::GitRepository.as_str(), name, namespace)
    })
}
