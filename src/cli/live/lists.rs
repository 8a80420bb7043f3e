//! Whole lists, in pages: of one kind, and of all kinds that the live commands look at.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{APIGroup, ListMeta};
use kube::api::ListParams;
use kube::core::Request;
use kube::{Client, Error};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::Scope;
use super::flux::FluxKind;
use crate::api::{self, ClusterAddon, ClusterStack, ClusterStackRelease};
use crate::foreign::capi;

/// How many objects a page has. As kubectl asks for.
const PAGE: u32 = 500;

/// A kind that is listed.
#[derive(Clone, Debug)]
pub(super) struct Listed {
    /// Empty for Kubernetes' own.
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
    pub(super) fn new(group: &str, version: &str, plural: &str) -> Self {
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

/// What the API server answered about each kind. Flux's objects are read as far as `F` has them.
pub(super) struct Everything<F> {
    pub(super) stacks: Result<Vec<ClusterStack>, Error>,
    pub(super) releases: Result<Vec<ClusterStackRelease>, Error>,
    pub(super) addons: Result<Vec<ClusterAddon>, Error>,
    pub(super) clusters: Result<Vec<Value>, Error>,
    pub(super) flux: [(FluxKind, Result<Vec<F>, Error>); 4],
    /// Whether ClusterStacks or releases may be read only in the namespace that was asked for, so that nothing is known of the
    /// others.
    pub(super) is_narrow: bool,
}

/// Lists every kind once, all at the same time, however many clusters there are.
///
/// `ClusterStacks`, releases and sources are read in all namespaces: they are few, and the clusters of a namespace
/// depend on those of others.
pub(super) async fn everything<F: DeserializeOwned>(client: &Client, scope: &Scope) -> Everything<F> {
    let ours = |plural| Listed::new(api::GROUP, api::VERSION, plural);
    let (stacks, releases) = (ours("clusterstacks"), ours("clusterstackreleases"));
    let addons = ours("clusteraddons");
    let flux = |kind: FluxKind| {
        let (group, version, _, plural) = kind.names();
        Listed::new(group, version, plural)
    };
    let [helm, kustomize, git, charts] = FluxKind::ALL.map(flux);
    let (inside, namespace) = (Scope { selector: None, ..scope.clone() }, scope.namespace.as_deref());
    let (
        (stacks, narrow_stacks),
        (releases, narrow_releases),
        addons,
        clusters,
        helm,
        kustomize,
        (git, _),
        (charts, _),
    ) = tokio::join!(
        list_wide(client, &stacks, namespace),
        list_wide(client, &releases, namespace),
        list(client, &addons, &inside),
        clusters(client, scope),
        list(client, &helm, &inside),
        list(client, &kustomize, &inside),
        list_wide(client, &git, namespace),
        list_wide(client, &charts, namespace),
    );
    let flux = [
        (FluxKind::HelmRelease, helm),
        (FluxKind::Kustomization, kustomize),
        (FluxKind::GitRepository, git),
        (FluxKind::HelmChart, charts),
    ];
    let is_narrow = narrow_stacks || narrow_releases;
    Everything { stacks, releases, addons, clusters, flux, is_narrow }
}

/// The Clusters, in the version that Cluster API prefers here.
async fn clusters(client: &Client, scope: &Scope) -> Result<Vec<Value>, Error> {
    let version = preferred_version(client, capi::GROUP).await?;
    list(client, &Listed::new(capi::GROUP, &version, "clusters"), scope).await
}

/// All objects of a kind.
pub(super) async fn list<T: DeserializeOwned>(
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

/// All objects of a kind in all namespaces; in the one that was asked for, and true, if only that is allowed.
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

/// The version in which the API server prefers to serve a group.
async fn preferred_version(client: &Client, group: &str) -> Result<String, Error> {
    let request = Request::new("/apis").get(group, &kube::api::GetParams::default());
    let group: APIGroup = client.request(request.map_err(Error::BuildRequest)?).await?;
    let first = group.versions.into_iter().next();
    Ok(group.preferred_version.or(first).map(|version| version.version).unwrap_or_default())
}
