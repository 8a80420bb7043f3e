//! Reads a snapshot of a live cluster: one LIST per kind, all at the same time, regardless of the number of clusters.

use std::time::Duration;

use kube::Error;
use tokio::time::timeout;

use super::lists::{everything, operators, overrides};
use super::{Scope, Session, advice};
use crate::cli::error::CliError;
use crate::explain::snapshot::{Lists, Member, Snapshot};
use crate::operator::related::contract::readable;

/// Maximum time to read everything.
const TIMEOUT: Duration = Duration::from_mins(1);

/// Reads everything in scope. The notices name the kinds that could not be read, if the rest is still useful.
pub(in crate::cli) async fn read(
    session: &Session,
    scope: &Scope,
) -> Result<(Snapshot, Vec<String>), CliError> {
    let (lists, notices) = with_timeout(session, Box::pin(lists(session, scope))).await?;
    Ok((Snapshot::new(lists, scope.namespace.clone(), jiff::Timestamp::now()), notices))
}

/// Returns the notes about the API versions in which the objects that a Cluster refers to are read. Ignores kinds that cannot
/// be looked up, because few users may read CRDs.
pub(in crate::cli) async fn version_notes(session: &Session, member: &Member) -> Vec<String> {
    let Some(cluster) = &member.cluster else { return Vec::new() };
    let mut notes = Vec::new();
    for object in [cluster.control_plane_ref(), cluster.infrastructure_ref()].into_iter().flatten() {
        if let Ok(Some(found)) = readable(&session.client, &object.group, &object.kind).await {
            notes.extend(found.note);
        }
    }
    notes
}

/// Times out the reading after [`TIMEOUT`].
pub(super) async fn with_timeout<T>(
    session: &Session,
    reading: impl Future<Output = Result<T, CliError>>,
) -> Result<T, CliError> {
    within(session, TIMEOUT, reading).await
}

/// Times out the reading after a limit.
pub(in crate::cli) async fn within<T>(
    session: &Session,
    limit: Duration,
    reading: impl Future<Output = Result<T, CliError>>,
) -> Result<T, CliError> {
    timeout(limit, reading).await.map_err(|_| {
        let (server, seconds) = (&session.server, limit.as_secs());
        CliError::usage(format!("the API server {server} timed out after {seconds} s"))
            .hint("check the API server with kubectl get --raw='/readyz?verbose'")
    })?
}

async fn lists(session: &Session, scope: &Scope) -> Result<(Lists, Vec<String>), CliError> {
    let client = &session.client;
    let (found, overrides, operators) =
        tokio::join!(everything(client, scope), overrides(client, scope), operators(client));
    // Without the right to list Leases, the commands show what the objects report.
    let operators = operators.unwrap_or_default();
    let mut unread = Unread { session, why: Vec::new() };
    let mut flux = Vec::new();
    let (stacks, releases) = (
        unread.take("ClusterStacks", found.stacks)?.unwrap_or_default(),
        unread.take("ClusterStackReleases", found.releases)?.unwrap_or_default(),
    );
    let addons = unread.take("ClusterAddons", found.addons)?.unwrap_or_default();
    let clusters = unread.take("Clusters", found.clusters)?.unwrap_or_default();
    for (kind, objects) in found.flux {
        flux.push((kind, unread.take(kind.many(), objects)?));
    }
    let (selected, is_narrow) = (scope.selector.is_some(), found.is_narrow);
    let lists = Lists { stacks, releases, addons, clusters, flux, overrides, operators, selected, is_narrow };
    Ok((lists, unread.notices()))
}

/// The kinds that are missing in a snapshot, by the reason.
struct Unread<'a> {
    session: &'a Session,
    why: Vec<(String, Vec<&'static str>)>,
}

impl Unread<'_> {
    /// Returns the list; `None` if only this kind cannot be read.
    fn take<T>(
        &mut self,
        kinds: &'static str,
        list: Result<Vec<T>, Error>,
    ) -> Result<Option<Vec<T>>, CliError> {
        let error = match list {
            Ok(list) => return Ok(Some(list)),
            Err(error) => error,
        };
        let why = advice::about_list(kinds, &error).ok_or_else(|| advice::failed(self.session, &error))?;
        match self.why.iter_mut().find(|(known, _)| *known == why) {
            Some((_, all)) => all.push(kinds),
            None => self.why.push((why, vec![kinds])),
        }
        Ok(None)
    }

    fn notices(self) -> Vec<String> {
        self.why.into_iter().map(|(why, kinds)| format!("{} {why}", kinds.join(", "))).collect()
    }
}
