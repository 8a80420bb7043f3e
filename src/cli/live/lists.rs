//! Whole lists of a kind, in pages.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{APIGroup, ListMeta};
use kube::api::ListParams;
use kube::core::Request;
use kube::{Client, Error};
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::Scope;

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

/// All objects of a kind in all namespaces; in the one that was asked for, where only that is allowed.
pub(super) async fn list_wide<T: DeserializeOwned>(
    client: &Client,
    kind: &Listed,
    namespace: Option<&str>,
) -> Result<Vec<T>, Error> {
    let scope = |namespace: Option<&str>| Scope { namespace: namespace.map(str::to_owned), selector: None };
    match list(client, kind, &scope(None)).await {
        Err(Error::Api(status)) if status.is_forbidden() && namespace.is_some() => {
            list(client, kind, &scope(namespace)).await
        }
        answer => answer,
    }
}

/// The version in which the API server prefers to serve a group.
pub(super) async fn preferred_version(client: &Client, group: &str) -> Result<String, Error> {
    let request = Request::new("/apis").get(group, &kube::api::GetParams::default());
    let group: APIGroup = client.request(request.map_err(Error::BuildRequest)?).await?;
    let first = group.versions.into_iter().next();
    Ok(group.preferred_version.or(first).map(|version| version.version).unwrap_or_default())
}
