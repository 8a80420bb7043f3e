//! Reads the inputs of plans and the objects to compare plans with: one LIST per kind, all at the same time, regardless
//! of the number of clusters.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use futures::future::join_all;
use k8s_openapi::api::core::v1::Namespace;
use kube::{Api, Error, ResourceExt as _};
use serde_json::Value;

use super::lists::{self, Listed, everything, list};
use super::read::with_timeout;
use super::{Scope, Session, advice};
use crate::api::{self, ClusterAddon, ClusterAddonOverride, ClusterStack, ClusterStackRelease, labels};
use crate::cli::error::CliError;
use crate::foreign::capi::{Cluster, text};
use crate::foreign::flux::FluxKind;
use crate::foreign::flux::observed::FluxObject;
use crate::foreign::flux::ownership::cluster_of;
use crate::inputs::ClusterInputs;
use crate::names::Key;
use crate::operator::related::contract;
use crate::runtime::client::explain;

/// The existing objects, read at about the same time.
pub(in crate::cli) struct Present {
    pub(in crate::cli) stacks: BTreeMap<Key, ClusterStack>,
    pub(in crate::cli) releases: BTreeMap<Key, ClusterStackRelease>,
    /// The `ClusterAddon`s by the key of their Cluster.
    pub(in crate::cli) addons: BTreeMap<Key, ClusterAddon>,
    /// The Clusters in scope, with the objects that they refer to.
    pub(in crate::cli) clusters: Vec<ClusterInputs>,
    /// All objects of the Flux kinds that stackflux writes, including those of others.
    pub(in crate::cli) flux: Vec<Value>,
}

/// Reads everything in scope. Fails if anything cannot be read, because a plan from incomplete inputs is wrong.
pub(in crate::cli) async fn read(session: &Session, scope: &Scope) -> Result<Present, CliError> {
    with_timeout(session, Box::pin(present(session, scope))).await
}

async fn present(session: &Session, scope: &Scope) -> Result<Present, CliError> {
    let (kind, inside) = (
        Listed::new(api::GROUP, api::VERSION, "clusteraddonoverrides"),
        Scope { selector: None, ..scope.clone() },
    );
    let (found, overrides) =
        tokio::join!(everything(&session.client, scope), list(&session.client, &kind, &inside));
    let mut flux = Vec::new();
    for (kind, objects) in found.flux {
        flux.extend(needed(session, kind.many(), objects)?);
    }
    let stacks = needed(session, "ClusterStacks", found.stacks)?;
    let releases = needed(session, "ClusterStackReleases", found.releases)?;
    let addons = needed(session, "ClusterAddons", found.addons)?;
    let overrides = needed(session, "ClusterAddonOverrides", overrides)?;
    let mut overrides: BTreeMap<Key, Arc<ClusterAddonOverride>> =
        overrides.into_iter().map(|found| (Key::of(&found), Arc::new(found))).collect();
    let clusters = needed(session, "Clusters", found.clusters)?;
    let clusters = with_related(session, scope, clusters).await?.into_iter();
    let clusters = clusters.map(|inputs| {
        let requested = overrides.remove(&inputs.cluster.key());
        inputs.with_requested(requested).with_installed_of(&flux)
    });
    Ok(Present {
        stacks: stacks.into_iter().map(|found| (Key::of(&found), found)).collect(),
        releases: releases.into_iter().map(|found| (Key::of(&found), found)).collect(),
        addons: addons.into_iter().map(|found| (cluster_of(&found), found)).collect(),
        clusters: clusters.collect(),
        flux,
    })
}

/// An existing Namespace.
#[derive(Clone, Debug)]
pub(in crate::cli) struct LiveNamespace {
    pub(in crate::cli) uid: String,
    pub(in crate::cli) is_terminating: bool,
    /// The digest of the plan from which it was applied.
    pub(in crate::cli) plan_digest: Option<String>,
}

impl LiveNamespace {
    /// Returns a Namespace with its name.
    pub(in crate::cli) fn named(found: Namespace) -> Option<(String, Self)> {
        let is_terminating = found.metadata.deletion_timestamp.is_some();
        let plan_digest = found.annotations().get(labels::PLAN_DIGEST).cloned();
        Some((found.metadata.name?, Self { uid: found.metadata.uid?, is_terminating, plan_digest }))
    }
}

/// Returns the Namespaces by name: the one in scope, or all.
pub(in crate::cli) async fn namespaces(
    session: &Session,
    scope: &Scope,
) -> Result<BTreeMap<String, LiveNamespace>, Error> {
    let all = Api::<Namespace>::all(session.client.clone());
    let found = if let Some(name) = &scope.namespace {
        all.get_opt(name).await?.into_iter().collect()
    } else {
        let everywhere = Scope { namespace: None, selector: None };
        list(&session.client, &Listed::new("", "v1", "namespaces"), &everywhere).await?
    };
    Ok(found.into_iter().filter_map(LiveNamespace::named).collect())
}

/// The objects of all namespaces that removal budgets count.
pub(in crate::cli) struct Counted {
    pub(in crate::cli) clusters: Vec<Cluster>,
    /// The `ClusterAddon`s by the key of their Cluster.
    pub(in crate::cli) addons: BTreeMap<Key, ClusterAddon>,
    pub(in crate::cli) objects: Vec<FluxObject>,
}

/// Reads what removal budgets count.
pub(in crate::cli) async fn counted(session: &Session) -> Result<Counted, CliError> {
    with_timeout(session, Box::pin(counted_now(session))).await
}

async fn counted_now(session: &Session) -> Result<Counted, CliError> {
    let (client, everywhere) = (&session.client, &Scope { namespace: None, selector: None });
    let objects = FluxKind::DELIVERING.map(|kind| async move {
        let listed = Listed::new(kind.group(), kind.version(), &kind.plural());
        list::<FluxObject>(client, &listed, everywhere).await
    });
    let addons = Listed::new(api::GROUP, api::VERSION, "clusteraddons");
    let (clusters, addons, objects) = tokio::join!(
        lists::clusters(client, everywhere),
        list::<ClusterAddon>(client, &addons, everywhere),
        join_all(objects),
    );
    let failed = |error: Error| CliError::usage(explain(&error));
    let clusters = clusters.map_err(failed)?.into_iter().map(Cluster::new);
    let addons = addons.map_err(failed)?.into_iter().map(|found| (cluster_of(&found), found));
    let objects: Vec<Vec<FluxObject>> = objects.into_iter().collect::<Result<_, _>>().map_err(failed)?;
    Ok(Counted {
        clusters: clusters.collect::<Result<_, _>>()?,
        addons: addons.collect(),
        objects: objects.into_iter().flatten().collect(),
    })
}

fn needed<T>(session: &Session, kinds: &str, list: Result<Vec<T>, Error>) -> Result<Vec<T>, CliError> {
    list.map_err(|error| match advice::about_list(kinds, &error) {
        Some(why) => CliError::usage(format!("{kinds} {why}")),
        None => advice::failed(session, &error),
    })
}

/// Adds the objects that the Clusters refer to, with one LIST per referenced kind.
async fn with_related(
    session: &Session,
    scope: &Scope,
    clusters: Vec<Value>,
) -> Result<Vec<ClusterInputs>, CliError> {
    let scope = Scope { selector: None, ..scope.clone() };
    let clusters: Vec<Cluster> = clusters.into_iter().map(Cluster::new).collect::<Result<_, _>>()?;
    let references =
        clusters.iter().flat_map(|cluster| [cluster.control_plane_ref(), cluster.infrastructure_ref()]);
    let kinds: BTreeSet<(String, String)> = references.flatten().map(|to| (to.group, to.kind)).collect();
    let mut related: BTreeMap<(String, String, Key), Value> = BTreeMap::new();
    for (group, kind) in kinds {
        for object in objects_of(session, &scope, &group, &kind).await? {
            let at = |path: &[&str]| text(&object, path).to_owned();
            let key = Key { namespace: at(&["metadata", "namespace"]), name: at(&["metadata", "name"]) };
            related.insert((group.clone(), kind.clone(), key), object);
        }
    }
    let inputs = |cluster: Cluster| {
        let namespace = cluster.namespace().to_string();
        ClusterInputs::new(cluster, |to| {
            related.get(&(to.group.clone(), to.kind.clone(), Key::new(&namespace, &to.name)))
        })
    };
    Ok(clusters.into_iter().map(inputs).collect())
}

/// Lists all objects of a kind, in the version that the operator reads; empty if the kind is not served.
async fn objects_of(
    session: &Session,
    scope: &Scope,
    group: &str,
    kind: &str,
) -> Result<Vec<Value>, CliError> {
    let client = &session.client;
    let resource = match contract::readable(client, group, kind).await {
        Ok(Some(found)) => found.resource,
        Ok(None) | Err(Error::Discovery(_)) => return Ok(Vec::new()),
        Err(error) => return Err(advice::failed(session, &error)),
    };
    let listed = Listed::new(&resource.group, &resource.version, &resource.plural);
    list(client, &listed, scope).await.map_err(|error| advice::failed(session, &error))
}
