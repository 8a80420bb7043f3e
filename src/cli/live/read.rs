//! A snapshot of a live cluster: one LIST per kind, all at once, however many clusters there are.

use std::time::Duration;

use kube::{Client, Error};
use serde_json::Value;
use tokio::time::timeout;

use super::flux::{FluxKind, FluxObject};
use super::lists::{Listed, list, list_wide, preferred_version};
use super::snapshot::{Lists, Snapshot};
use super::{Scope, Session, advice};
use crate::api;
use crate::cli::error::CliError;
use crate::foreign::capi;

/// How long reading may take in all.
const PATIENCE: Duration = Duration::from_mins(1);

/// Reads everything in scope. What could not be read and does not make the rest useless is told in the notices.
///
/// `ClusterStacks`, releases and sources are read in all namespaces: they are few, and the clusters of a namespace
/// depend on those of others.
pub(in crate::cli) async fn read(
    session: &Session,
    scope: &Scope,
) -> Result<(Snapshot, Vec<String>), CliError> {
    let (lists, notices) = within_patience(Box::pin(lists(&session.client, scope))).await?;
    Ok((Snapshot::new(lists, scope.namespace.clone(), jiff::Timestamp::now()), notices))
}

/// Ends what takes too long.
pub(super) async fn within_patience<T>(
    reading: impl Future<Output = Result<T, CliError>>,
) -> Result<T, CliError> {
    timeout(PATIENCE, reading).await.map_err(|_| {
        CliError::usage(format!("the API server has not answered for {} seconds", PATIENCE.as_secs()))
            .hint("kubectl get --raw='/readyz?verbose' says how it is")
    })?
}

async fn lists(client: &Client, scope: &Scope) -> Result<(Lists, Vec<String>), CliError> {
    let namespace = scope.namespace.as_deref();
    let ours = |plural| Listed::new(api::GROUP, api::VERSION, plural);
    let inside = Scope { selector: None, ..scope.clone() };
    let (stacks, releases) = (ours("clusterstacks"), ours("clusterstackreleases"));
    let addons = ours("clusteraddons");
    let [helm, kustomize, git, charts] = FluxKind::ALL.map(listed);
    let (stacks, releases, addons, clusters, helm, kustomize, git, charts) = tokio::join!(
        list_wide(client, &stacks, namespace),
        list_wide(client, &releases, namespace),
        list(client, &addons, &inside),
        clusters(client, scope),
        list::<FluxObject>(client, &helm, &inside),
        list(client, &kustomize, &inside),
        list_wide(client, &git, namespace),
        list_wide(client, &charts, namespace),
    );
    let mut notices = Notices::default();
    let lists = Lists {
        stacks: notices.take("ClusterStacks", stacks)?,
        releases: notices.take("ClusterStackReleases", releases)?,
        addons: notices.take("ClusterAddons", addons)?,
        clusters: notices.take("Clusters", clusters)?,
        flux: vec![
            (FluxKind::HelmRelease, notices.keep("HelmReleases", helm)?),
            (FluxKind::Kustomization, notices.keep("Kustomizations", kustomize)?),
            (FluxKind::GitRepository, notices.keep("GitRepositories", git)?),
            (FluxKind::HelmChart, notices.keep("HelmCharts", charts)?),
        ],
        selected: scope.selector.is_some(),
    };
    Ok((lists, notices.0))
}

/// The Clusters, in the version that Cluster API prefers here.
async fn clusters(client: &Client, scope: &Scope) -> Result<Vec<Value>, Error> {
    let version = preferred_version(client, capi::GROUP).await?;
    list(client, &Listed::new(capi::GROUP, &version, "clusters"), scope).await
}

fn listed(kind: FluxKind) -> Listed {
    let (group, version, _, plural) = kind.names();
    Listed::new(group, version, plural)
}

/// What is missing in a snapshot, and why.
#[derive(Default)]
struct Notices(Vec<String>);

impl Notices {
    /// The list; none, and a notice, where this kind alone cannot be read.
    fn keep<T>(&mut self, kind: &str, list: Result<Vec<T>, Error>) -> Result<Option<Vec<T>>, CliError> {
        let error = match list {
            Ok(list) => return Ok(Some(list)),
            Err(error) => error,
        };
        let notice = advice::about_list(kind, &error).ok_or_else(|| advice::failed(&error))?;
        self.0.push(notice);
        Ok(None)
    }

    /// As `keep`, with an empty list for none.
    fn take<T>(&mut self, kind: &str, list: Result<Vec<T>, Error>) -> Result<Vec<T>, CliError> {
        Ok(self.keep(kind, list)?.unwrap_or_default())
    }
}
