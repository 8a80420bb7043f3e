//! Selects the version to read of a kind that Clusters refer to.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::core::ApiResource;
use kube::discovery::{self, ApiGroup};
use kube::{Api, Client, Error};

use crate::foreign::capi::{self, contract};
use crate::runtime::watches::in_a_version;

/// A kind that the API server serves, in the version to read.
pub(crate) struct Readable {
    /// The kind in that version.
    pub(crate) resource: ApiResource,
    /// A note for users: no label of the CRD names a version.
    pub(crate) note: Option<String>,
}

/// Returns the kind in the version that Cluster API's contract names, or in the API server's preferred version if the CRD
/// has no label or may not be read. `None` if the API server does not know the kind.
pub(crate) async fn readable(client: &Client, group: &str, kind: &str) -> Result<Option<Readable>, Error> {
    let found = discovery::group(client, group).await?;
    let Some(preferred) = in_a_version(&found, kind) else { return Ok(None) };
    let plain = |note| Ok(Some(Readable { resource: preferred.clone(), note }));
    if !group.ends_with(capi::GROUP) {
        // Providers with other contracts, such as that of cluster stacks, do not set these labels.
        return plain(None);
    }
    let definitions: Api<CustomResourceDefinition> = Api::all(client.clone());
    let definition = match definitions.get_metadata(&format!("{}.{group}", preferred.plural)).await {
        Ok(definition) => definition,
        Err(Error::Api(status)) if matches!(status.code, 403 | 404) => return plain(None),
        Err(error) => return Err(error),
    };
    let cluster_api = in_a_version(&discovery::group(client, capi::GROUP).await?, "Cluster");
    let Some(cluster_api) = cluster_api.map(|resource| resource.version) else { return plain(None) };
    let served = served(&found, kind);
    let versions: Vec<&str> = served.iter().map(|resource| resource.version.as_str()).collect();
    let labels = definition.metadata.labels.unwrap_or_default();
    let Some(version) = contract::version(&labels, &versions, &cluster_api) else {
        return plain(Some(contract::without_label(kind, group, &cluster_api, &preferred.version)));
    };
    let resource = served.iter().find(|resource| resource.version == version);
    Ok(Some(Readable { resource: resource.unwrap_or(&preferred).clone(), note: None }))
}

/// Returns the kind in each served version.
fn served(group: &ApiGroup, kind: &str) -> Vec<ApiResource> {
    let of_version = |version| {
        let resources = group.versioned_resources(version).into_iter().map(|(resource, _)| resource);
        resources.filter(|resource| resource.kind == kind && !resource.plural.contains('/'))
    };
    group.versions().flat_map(of_version).collect()
}
