//! What plans are made of and compared with, whole: one LIST per kind, all at once, however many clusters there are.

use std::collections::{BTreeMap, BTreeSet};

use kube::{Client, Error, discovery};
use serde_json::Value;

use super::flux::FluxKind;
use super::lists::{Listed, list, list_wide, preferred_version};
use super::read::within_patience;
use super::snapshot::{Key, key};
use super::{Scope, Session, advice};
use crate::api::{self, ClusterAddon, ClusterStack, ClusterStackRelease};
use crate::cli::error::CliError;
use crate::foreign::capi::{self, Cluster, text};
use crate::inputs::ClusterInputs;
use crate::operator::watches::in_a_version;

/// What there is, read at about one time.
pub(in crate::cli) struct Present {
    pub(in crate::cli) stacks: BTreeMap<Key, ClusterStack>,
    pub(in crate::cli) releases: BTreeMap<Key, ClusterStackRelease>,
    /// By namespace and name of the Cluster.
    pub(in crate::cli) addons: BTreeMap<Key, ClusterAddon>,
    /// The Clusters in scope, with what they refer to.
    pub(in crate::cli) clusters: Vec<ClusterInputs>,
    /// All objects of the Flux kinds that we write, ours and those of others.
    pub(in crate::cli) flux: Vec<Value>,
}

/// Reads everything in scope. As a plan is wrong where anything is missing, what cannot be read is an error.
pub(in crate::cli) async fn read(session: &Session, scope: &Scope) -> Result<Present, CliError> {
    within_patience(Box::pin(present(&session.client, scope))).await
}

async fn present(client: &Client, scope: &Scope) -> Result<Present, CliError> {
    let namespace = scope.namespace.as_deref();
    let inside = Scope { selector: None, ..scope.clone() };
    let ours = |plural| Listed::new(api::GROUP, api::VERSION, plural);
    let (stacks, releases) = (ours("clusterstacks"), ours("clusterstackreleases"));
    let addons = ours("clusteraddons");
    let [helm, kustomize, git, charts] = FluxKind::ALL.map(|kind| {
        let (group, version, _, plural) = kind.names();
        Listed::new(group, version, plural)
    });
    let (stacks, releases, addons, clusters, helm, kustomize, git, charts) = tokio::join!(
        list_wide::<ClusterStack>(client, &stacks, namespace),
        list_wide::<ClusterStackRelease>(client, &releases, namespace),
        list::<ClusterAddon>(client, &addons, &inside),
        clusters(client, scope),
        list::<Value>(client, &helm, &inside),
        list(client, &kustomize, &inside),
        list_wide(client, &git, namespace),
        list_wide(client, &charts, namespace),
    );
    let flux = [
        needed("HelmReleases", helm)?,
        needed("Kustomizations", kustomize)?,
        needed("GitRepositories", git)?,
        needed("HelmCharts", charts)?,
    ];
    let of = |addon: ClusterAddon| {
        let cluster = addon.spec.cluster_ref.name.clone().unwrap_or_default();
        ((addon.metadata.namespace.clone().unwrap_or_default(), cluster), addon)
    };
    Ok(Present {
        stacks: needed("ClusterStacks", stacks)?
            .into_iter()
            .map(|found| (key(&found.metadata), found))
            .collect(),
        releases: needed("ClusterStackReleases", releases)?
            .into_iter()
            .map(|found| (key(&found.metadata), found))
            .collect(),
        addons: needed("ClusterAddons", addons)?.into_iter().map(of).collect(),
        clusters: with_related(client, &inside, needed("Clusters", clusters)?).await?,
        flux: flux.into_iter().flatten().collect(),
    })
}

fn needed<T>(kinds: &str, list: Result<Vec<T>, Error>) -> Result<Vec<T>, CliError> {
    list.map_err(|error| {
        advice::about_list(kinds, &error).map_or_else(|| advice::failed(&error), CliError::usage)
    })
}

async fn clusters(client: &Client, scope: &Scope) -> Result<Vec<Value>, Error> {
    let version = preferred_version(client, capi::GROUP).await?;
    list(client, &Listed::new(capi::GROUP, &version, "clusters"), scope).await
}

/// The Clusters with what they refer to: one LIST for each kind that any of them refers to.
async fn with_related(
    client: &Client,
    scope: &Scope,
    clusters: Vec<Value>,
) -> Result<Vec<ClusterInputs>, CliError> {
    // The API server has checked what could be wrong with them.
    let clusters: Vec<Cluster> = clusters.into_iter().filter_map(|found| Cluster::new(found).ok()).collect();
    let references =
        clusters.iter().flat_map(|cluster| [cluster.control_plane_ref(), cluster.infrastructure_ref()]);
    let kinds: BTreeSet<(String, String)> = references.flatten().map(|to| (to.group, to.kind)).collect();
    let mut related: BTreeMap<(String, String, Key), Value> = BTreeMap::new();
    for (group, kind) in kinds {
        for object in objects_of(client, scope, &group, &kind).await? {
            let at = |path: &[&str]| text(&object, path).to_owned();
            let place = (at(&["metadata", "namespace"]), at(&["metadata", "name"]));
            related.insert((group.clone(), kind.clone(), place), object);
        }
    }
    let inputs = |cluster: Cluster| {
        let namespace = cluster.namespace().to_string();
        ClusterInputs::new(cluster, |to| {
            related.get(&(to.group.clone(), to.kind.clone(), (namespace.clone(), to.name.clone())))
        })
    };
    Ok(clusters.into_iter().map(inputs).collect())
}

/// All objects of a kind; none of one that is not served.
async fn objects_of(client: &Client, scope: &Scope, group: &str, kind: &str) -> Result<Vec<Value>, CliError> {
    let found = match discovery::group(client, group).await {
        Ok(found) => found,
        Err(Error::Discovery(_)) => return Ok(Vec::new()),
        Err(error) => return Err(advice::failed(&error)),
    };
    let Some(resource) = in_a_version(&found, kind) else { return Ok(Vec::new()) };
    let listed = Listed::new(&resource.group, &resource.version, &resource.plural);
    list(client, &listed, scope).await.map_err(|error| advice::failed(&error))
}
