//! The branch that releases are published to, used on a separate thread.

use std::collections::BTreeSet;

use jiff::Timestamp;

use super::super::context::Context;
use super::super::git_delivery::clone::CloneAccess;
use super::super::git_delivery::threads::THREAD_TIMEOUT;
use super::super::metrics::RemoteOperation;
use super::{Stop, hold};
use crate::api::git_source::GitSource;
use crate::api::{Reason, Upstream};
use crate::error::{Class, Classify as _};
use crate::explain::cause::{Component, hinted};
use crate::git::{BareRepository, GitError};
use crate::names::ReleaseName;
use crate::promote::holds;
use crate::publish::git::{Committed, Committing, GitTarget};
use crate::publish::{Prepared, PublishError, Published};
use crate::release::Limits;
use crate::runtime::cache::Key;
use crate::source::origin::Fetched;

/// The branch that Flux follows if a source names none.
const DEFAULT_BRANCH: &str = "master";

/// A branch, with everything that is needed to push to it.
#[derive(Clone)]
pub(super) struct Target {
    access: CloneAccess,
    branch: String,
    path: String,
}

impl Target {
    /// Returns the stack repository of a `ClusterStack`, for commits at the time `now`.
    pub(super) async fn of(
        context: &Context,
        key: &Key,
        git: &GitSource,
        (upstream, now): (&Upstream, Timestamp),
    ) -> Result<Self, Stop> {
        let remote = (git.url.as_str(), upstream.push_secret_ref.as_ref().or(git.secret_ref.as_ref()));
        let (commit, failure) = ((&upstream.commit, now), Reason::PublishFailed);
        let access = CloneAccess::read(context, &key.namespace, remote, commit, failure).await?;
        let branch = git.reference.as_ref().and_then(|reference| reference.branch.clone());
        Ok(Self {
            access,
            branch: branch.unwrap_or_else(|| DEFAULT_BRANCH.to_owned()),
            path: git.path.trim_start_matches("./").trim_matches('/').to_owned(),
        })
    }

    /// Returns the releases in the branch.
    pub(super) async fn releases(self, context: &Context) -> Result<BTreeSet<ReleaseName>, Stop> {
        self.blocking(context, RemoteOperation::ReadRepository, |repository, _| repository.names()).await
    }

    /// Returns the hold of a release, if any.
    pub(super) async fn held(
        self,
        context: &Context,
        name: ReleaseName,
    ) -> Result<Option<holds::Hold>, Stop> {
        let read = move |repository: &GitTarget, _: &Committing| Ok(repository.existing(&name)?.held);
        self.blocking(context, RemoteOperation::ReadRepository, read).await
    }

    /// Checks a release and publishes it.
    pub(super) async fn publish(
        self,
        context: &Context,
        fetched: Fetched,
    ) -> Result<Published<Committed>, Stop> {
        self.blocking(context, RemoteOperation::PublishRelease, move |repository, committing| {
            let prepared = Prepared::of(fetched, &Limits::default())?;
            repository.publish(&prepared, false, committing)
        })
        .await
    }

    /// Runs work with the clone, whose directory has a lock: each repository has one writer at a time.
    async fn blocking<T: Send + 'static>(
        self,
        context: &Context,
        operation: RemoteOperation,
        work: impl FnOnce(&GitTarget, &Committing) -> Result<T, PublishError> + Send + 'static,
    ) -> Result<T, Stop> {
        let (url, directory) = (self.access.remote.url.clone(), self.access.directory.clone());
        let job = move || {
            let CloneAccess { directory, remote, signer, identity } = self.access;
            let clone = BareRepository::open(&directory, remote)?;
            let repository = GitTarget { clone, branch: self.branch, directory: self.path };
            work(&repository, &Committing { identity, signer, pull_request: false })
        };
        let run = async {
            match context.git.threads.run((&url, &directory), THREAD_TIMEOUT, job).await {
                Ok(Ok(done)) => Ok(done),
                Ok(Err(PublishError::Git(GitError::InUse(_)))) => Err(Stop::Busy),
                Ok(Err(error)) => Err(Stop::Held(
                    hold(Reason::PublishFailed, hinted(Component::Publishing, &error.to_string())),
                    error.class(),
                )),
                Err(error) => Err(hold(Reason::PublishFailed, error.to_string()).into()),
            }
        };
        context.metrics.measure(operation, run, outcome).await
    }
}

/// Returns the outcome of work with a clone; `None` if another task uses the clone.
fn outcome<T>(result: &Result<T, Stop>) -> Option<Result<(), Class>> {
    match result {
        Ok(_) => Some(Ok(())),
        Err(Stop::Held(_, class)) => Some(Err(*class)),
        Err(Stop::Busy | Stop::Changed) => None,
    }
}
