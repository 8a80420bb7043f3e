//! Reads whole lists, in pages: of one kind, and of all kinds that the live commands need.

use futures::future::join_all;
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{APIGroup, ListMeta};
use kube::api::{Api, ListParams};
use kube::core::Request;
use kube::{Client, Error};
use serde::Deserialize;
use serde::de::{DeserializeOwned, IgnoredAny};
use serde_json::Value;

use super::Scope;
use crate::api::{self, ClusterAddon, ClusterAddonOverride, ClusterStack, ClusterStackRelease};
use crate::explain::operator::OperatorLease;
use crate::foreign::capi;
use crate::foreign::flux::FluxKind;

/// Number of objects per page, as in kubectl.
const PAGE: u32 = 500;

/// A kind to list.
#[derive(Clone, Debug)]
pub(in crate::cli) struct Listed {
    /// The API group; empty for the core group.
    pub(super) group: String,
    pub(super) version: String,
    pub(super) plural: String,
}

#[derive(Deserialize)]
struct Page<T> {
    #[serde(default)]
    metadata: ListMeta,
    items: Vec<T>,
}

impl Listed {
    pub(in crate::cli) fn new(group: &str, version: &str, plural: &str) -> Self {
        Self { group: group.to_owned(), version: version.to_owned(), plural: plural.to_owned() }
    }

    fn path(&self, namespace: Option<&str>) -> String {
        let Self { group, version, plural } = self;
        let root =
            if group.is_empty() { format!("/api/{version}") } else { format!("/apis/{group}/{version}") };
        match namespace {
            Some(namespace) => format!("{root}/namespaces/{namespace}/{plural}"),
            None => format!("{root}/{plural}"),
        }
    }
}

/// The API server's answer for each kind. `F` determines which fields of Flux's objects are read.
pub(super) struct Everything<F> {
    pub(super) stacks: Result<Vec<ClusterStack>, Error>,
    pub(super) releases: Result<Vec<ClusterStackRelease>, Error>,
    pub(super) addons: Result<Vec<ClusterAddon>, Error>,
    pub(super) clusters: Result<Vec<Value>, Error>,
    pub(super) flux: Vec<(FluxKind, Result<Vec<F>, Error>)>,
    /// Whether ClusterStacks or releases could be read only in the requested namespace, so that those of other
    /// namespaces are unknown.
    pub(super) is_narrow: bool,
}

/// Lists every kind once, all at the same time, regardless of the number of clusters.
///
/// `ClusterStacks`, releases and sources are read in all namespaces: there are few, and the clusters of one namespace
/// depend on those of others.
pub(super) async fn everything<F: DeserializeOwned>(client: &Client, scope: &Scope) -> Everything<F> {
    let ours = |plural| Listed::new(api::GROUP, api::VERSION, plural);
    let (stacks, releases) = (ours("clusterstacks"), ours("clusterstackreleases"));
    let addons = ours("clusteraddons");
    let (inside, namespace) = (&Scope { selector: None, ..scope.clone() }, scope.namespace.as_deref());
    let flux = |kind: FluxKind| async move {
        let listed = Listed::new(kind.group(), kind.version(), &kind.plural());
        let found = if kind.is_source() {
            list_wide(client, &listed, namespace).await.0
        } else {
            list(client, &listed, inside).await
        };
        (kind, found)
    };
    let ((stacks, narrow_stacks), (releases, narrow_releases), addons, clusters, flux) = tokio::join!(
        list_wide(client, &stacks, namespace),
        list_wide(client, &releases, namespace),
        list(client, &addons, inside),
        clusters(client, scope),
        join_all(FluxKind::ALL.map(flux)),
    );
    let is_narrow = narrow_stacks || narrow_releases;
    Everything { stacks, releases, addons, clusters, flux, is_narrow }
}

/// Lists the requests of owners of Clusters in scope; none if the reader may not list them.
pub(super) async fn overrides(client: &Client, scope: &Scope) -> Vec<ClusterAddonOverride> {
    let kind = Listed::new(api::GROUP, api::VERSION, "clusteraddonoverrides");
    list(client, &kind, &Scope { selector: None, ..scope.clone() }).await.unwrap_or_default()
}

/// Lists the Leases of operators in all namespaces.
pub(in crate::cli) async fn operators(client: &Client) -> Result<Vec<OperatorLease>, Error> {
    // Each node has a Lease, too.
    let others = ListParams::default().fields("metadata.namespace!=kube-node-lease");
    let found = Api::<Lease>::all(client.clone()).list(&others).await?;
    Ok(found.iter().filter_map(OperatorLease::of).collect())
}

/// Lists the Clusters, in the version that the API server prefers.
pub(super) async fn clusters(client: &Client, scope: &Scope) -> Result<Vec<Value>, Error> {
    let version = preferred_version(client, capi::GROUP).await?;
    list(client, &Listed::new(capi::GROUP, &version, "clusters"), scope).await
}

/// Lists all objects of a kind in scope.
pub(in crate::cli) async fn list<T: DeserializeOwned>(
    client: &Client,
    kind: &Listed,
    scope: &Scope,
) -> Result<Vec<T>, Error> {
    let request = Request::new(kind.path(scope.namespace.as_deref()));
    let mut parameters = ListParams::default().limit(PAGE);
    parameters.label_selector.clone_from(&scope.selector);
    let mut items = Vec::new();
    loop {
        let page = request.list(&parameters).map_err(Error::BuildRequest)?;
        let page: Page<T> = client.request(page).await?;
        items.extend(page.items);
        match page.metadata.continue_.filter(|token| !token.is_empty()) {
            Some(token) => parameters.continue_token = Some(token),
            None => return Ok(items),
        }
    }
}

/// Returns the number of objects of a kind in all namespaces, without reading more than one of them.
pub(in crate::cli) async fn number(client: &Client, kind: &Listed) -> Result<usize, Error> {
    let request = Request::new(kind.path(None)).list(&ListParams::default().limit(1));
    let page: Page<IgnoredAny> = client.request(request.map_err(Error::BuildRequest)?).await?;
    let remaining = page.metadata.remaining_item_count.unwrap_or_default();
    Ok(page.items.len() + usize::try_from(remaining).unwrap_or_default())
}

/// Lists all objects of a kind in all namespaces. If that is forbidden, lists those of `namespace` and returns `true`.
async fn list_wide<T: DeserializeOwned>(
    client: &Client,
    kind: &Listed,
    namespace: Option<&str>,
) -> (Result<Vec<T>, Error>, bool) {
    let scope = |namespace: Option<&str>| Scope { namespace: namespace.map(str::to_owned), selector: None };
    match list(client, kind, &scope(None)).await {
        Err(Error::Api(status)) if status.is_forbidden() && namespace.is_some() => {
            (list(client, kind, &scope(namespace)).await, true)
        }
        answer => (answer, false),
    }
}

/// Returns the version of a group that the API server prefers.
pub(in crate::cli) async fn preferred_version(client: &Client, group: &str) -> Result<String, Error> {
    let request = Request::new("/apis").get(group, &kube::api::GetParams::default());
    let group: APIGroup = client.request(request.map_err(Error::BuildRequest)?).await?;
    let first = group.versions.into_iter().next();
    Ok(group.preferred_version.or(first).map(|version| version.version).unwrap_or_default())
}
