//! A pass: commits all requested changes of a `ClusterStack` to its branch together, and checks how far Flux has applied
//! them.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use jiff::Timestamp;
use kube::ResourceExt as _;
use tracing::{error, info, warn};

use super::super::context::Context;
use super::super::enqueue::enqueue_all_of;
use super::super::objects::index;
use super::super::reconcile::ReconcileError;
use super::clone::CloneAccess;
use super::id_of;
use super::job::{Done, Job, JobError};
use super::missing::Applied;
use super::pending_commits::{Batch, Subject};
use super::progress::{Fetched, Place, Progress};
use super::pull_request;
use super::threads::THREAD_TIMEOUT;
use crate::api::{ClusterStack, GitDelivery, Reason};
use crate::foreign::flux::FluxKind;
use crate::foreign::flux::observed::FluxObject;
use crate::foreign::flux::ownership::{applier_of, cluster_of, committing_stack, is_applied_by_flux};
use crate::gate::Hold;
use crate::git::GitError;
use crate::runtime::api_server::RequestError;
use crate::runtime::cache::Key;
use crate::runtime::queue::Next;
use crate::sink::git::plain;

/// Interval between checks whether Flux applied a commit.
const REQUEUE_UNAPPLIED_AFTER: Duration = Duration::from_secs(3);
/// Interval between checks of an unchanged branch for commits by other authors.
const REFRESH_INTERVAL: Duration = Duration::from_mins(5);
/// Delay before a retry while another `ClusterStack` uses the clone.
const REQUEUE_BUSY_AFTER: Duration = Duration::from_secs(1);
/// Delay before a retry of held changes, such as those of a file that another author edited.
const REQUEUE_HELD_AFTER: Duration = Duration::from_mins(1);

/// `Kustomization`s, with the last revision that each has applied.
type Kustomizations = BTreeMap<Key, Option<String>>;

/// The facts about a pass: one snapshot at one time.
struct Facts<'a> {
    now: Timestamp,
    key: &'a Key,
    /// The settings; `None` if the `ClusterStack` does not exist or is not delivered through Git.
    git: Option<&'a GitDelivery>,
    /// Whether the operator writes for the `ClusterStack`.
    may_write: bool,
    /// The result of the last pass.
    before: Option<Progress>,
    batch: Batch,
    kustomizations: Kustomizations,
    fetched: Fetched,
    /// The objects that Flux applied from the repository. Only gathered if something is requested.
    applied: Applied,
}

/// The decision about a pass.
enum Pass<'a> {
    /// Forget what was committed: nothing is committed for the `ClusterStack` now.
    Forget,
    /// Wait: nothing is to be committed, and the branch does not have to be checked.
    Wait {
        /// The next pass.
        next: Next,
        /// The progress, with what Flux has fetched since the last pass: a revision before it is then new again.
        progress: Option<Box<Progress>>,
    },
    /// Fetch the branch, and commit what is requested.
    Commit {
        git: &'a GitDelivery,
        /// The last pass for the same branch and directory.
        before: Box<Progress>,
        /// Whether everything is requested again, because it was committed elsewhere.
        is_moved: bool,
    },
}

/// Commits the requested changes of the `ClusterStack` with that key.
pub async fn reconcile(context: &Context, key: &Key) -> Result<Next, ReconcileError> {
    let stack = context.caches.stacks.get(key);
    let facts = gather(context, key, stack.as_deref()).await?;
    match decide(&facts) {
        Pass::Forget => {
            context.git.pending_commits.remove_stack(key);
            context.git.progress.set(key, None);
            Ok(Next::Await)
        }
        Pass::Wait { next, progress } => {
            if let Some(progress) = progress {
                context.git.progress.set(key, Some(*progress));
            }
            Ok(next)
        }
        Pass::Commit { git, before, is_moved } => {
            if is_moved {
                info!(stack = %key, "delivery.git was changed: committing everything again");
                context.git.pending_commits.forget(key);
                enqueue_all_of(context, key);
            }
            Ok(match commit(context, &facts, git, &before).await {
                Ok(Some(done)) => finish(context, &facts, git, done),
                Ok(None) => Next::After(REQUEUE_BUSY_AFTER),
                Err(why) => failed(context, &facts, *before, why),
            })
        }
    }
}

/// Gathers the facts about a pass. Asks the API server what Flux applied if the operator may commit.
async fn gather<'a>(
    context: &Context,
    key: &'a Key,
    stack: Option<&'a ClusterStack>,
) -> Result<Facts<'a>, RequestError> {
    let git = stack.and_then(|stack| stack.spec.delivery.git());
    let may_write = stack.is_some_and(|stack| !stack.spec.suspend) && context.api.may_write();
    let is_active = git.is_some() && may_write;
    let (kustomizations, sources) =
        if is_active { kustomizations(context, key).await? } else { <_>::default() };
    let (before, batch) = (context.git.progress.get(key), context.git.pending_commits.requested(key));
    let known = before.iter().flat_map(|before| before.fetched.keys().cloned());
    let fetched = fetched(context, sources.into_iter().chain(known).collect());
    let applied = if is_active && !batch.is_empty() { applied(context, key) } else { Applied::new() };
    Ok(Facts {
        now: context.clock.now(),
        key,
        git,
        may_write,
        before,
        batch,
        kustomizations,
        fetched,
        applied,
    })
}

/// Decides whether to commit.
fn decide<'a>(facts: &Facts<'a>) -> Pass<'a> {
    let Some(git) = facts.git else { return Pass::Forget };
    if !facts.may_write {
        return Pass::Wait { next: Next::Await, progress: None };
    }
    let before = facts.before.clone().unwrap_or_default();
    if before.place != Place::of(git) {
        let is_moved = before.looked.is_some();
        let before = Progress { place: Place::of(git), ..Progress::default() };
        return Pass::Commit { git, before: Box::new(before), is_moved };
    }
    let age = before.looked.map(|then| facts.now.duration_since(then).unsigned_abs());
    let is_unchanged = facts.batch.is_empty()
        && before.kustomizations == facts.kustomizations
        && !before.has_new_revision(&facts.fetched);
    if is_unchanged && before.hold.is_none() && age.is_some_and(|age| age < REFRESH_INTERVAL) {
        let (next, fetched) = (next(&before), facts.fetched.clone());
        return Pass::Wait { next, progress: Some(Box::new(Progress { fetched, ..before })) };
    }
    Pass::Commit { git, before: Box::new(before), is_moved: false }
}

/// Commits and pushes on a separate thread, and opens a pull request if the settings require one. Returns `None` while
/// another `ClusterStack` uses the clone.
async fn commit(
    context: &Context,
    facts: &Facts<'_>,
    git: &GitDelivery,
    before: &Progress,
) -> Result<Option<Done>, Hold> {
    let job = job(context, facts, git, before).await?;
    let (url, directory) = (job.access.remote.url.clone(), job.access.directory.clone());
    let done = match context.git.threads.run((&url, &directory), THREAD_TIMEOUT, move || job.run()).await {
        Ok(Ok(done)) => done,
        Ok(Err(JobError::Git(GitError::InUse(_)))) => return Ok(None),
        Ok(Err(error)) => return Err(push_failed(&error)),
        Err(error) => return Err(push_failed(&error)),
    };
    proposed(context, facts.key, git, &facts.batch, done).await.map(Some)
}

/// Opens a pull request if the settings require one, and holds the changes until it is merged.
async fn proposed(
    context: &Context,
    key: &Key,
    git: &GitDelivery,
    batch: &Batch,
    mut done: Done,
) -> Result<Done, Hold> {
    let (Some(settings), Some(proposed)) = (&git.pull_request, done.proposed.take()) else { return Ok(done) };
    let opened = pull_request::open(context, key, git, settings, proposed).await?;
    if opened.created {
        info!(stack = %key, url = opened.url, "pull request opened");
    }
    let hold =
        Hold { reason: Reason::PullRequestOpen, message: format!("waits for pull request {}", opened.url) };
    for subject in batch.keys() {
        done.held.entry(subject.clone()).or_insert_with(|| hold.clone());
    }
    Ok(done)
}

fn push_failed(error: &impl std::fmt::Display) -> Hold {
    Hold { reason: Reason::PushFailed, message: error.to_string() }
}

/// Returns the input of the thread, or the hold if it is not available.
async fn job(
    context: &Context,
    facts: &Facts<'_>,
    git: &GitDelivery,
    before: &Progress,
) -> Result<Job, Hold> {
    let (namespace, remote) = (&facts.key.namespace, (git.url.as_str(), git.secret_ref.as_ref()));
    let access = CloneAccess::read(context, namespace, remote, &git.commit, Reason::PushFailed).await?;
    Ok(Job {
        stack: facts.key.to_string(),
        access,
        branch: git.branch.clone(),
        path: plain(&git.path).to_owned(),
        by_pull_request: git.pull_request.is_some(),
        batch: facts.batch.clone(),
        before: before.seen.clone(),
        kustomizations: facts.kustomizations.clone(),
        applied: facts.applied.clone(),
        may_write: {
            let api = context.api.clone();
            Box::new(move || api.may_write())
        },
    })
}

/// Records that nothing could be committed, for this reason.
fn failed(context: &Context, facts: &Facts, before: Progress, why: Hold) -> Next {
    let key = facts.key;
    error!(stack = %key, reason = %why.reason, "{}", why.message);
    let held: BTreeMap<Subject, Hold> =
        facts.batch.keys().map(|subject| (subject.clone(), why.clone())).collect();
    complete(context, key, &facts.batch, &held);
    if context.git.progress.set(key, Some(Progress { hold: Some(why), ..before })) {
        context.triggers.stacks.now(key.clone());
    }
    Next::Retry
}

/// Records the result of a pass, and enqueues the reconciles that wait for it.
fn finish(context: &Context, facts: &Facts, git: &GitDelivery, done: Done) -> Next {
    let key = facts.key;
    if let Some(commit) = done.pushed {
        info!(stack = %key, %commit, changes = facts.batch.len(), "pushed");
    }
    if let Some(commit) = done.lost {
        warn!(
            stack = %key, branch = git.branch, %commit,
            "the branch lost the commit, because another client rewrote its history: committing everything again"
        );
    }
    if done.is_changed_by_others {
        info!(stack = %key, "another author changed committed files: comparing all of them again");
        context.git.pending_commits.forget(key);
        enqueue_all_of(context, key);
    }
    complete(context, key, &facts.batch, &done.held);
    // The first requests after the loss end the report about it.
    let before = facts.before.as_ref().filter(|before| before.place == Place::of(git));
    let reported = before.and_then(|before| before.lost).filter(|_| facts.batch.is_empty());
    let progress = Progress {
        commit: done.seen.as_ref().map(|seen| seen.commit.to_string()),
        kustomizations: facts.kustomizations.clone(),
        lagging: done.lagging,
        hold: done.held.into_values().next(),
        looked: Some(context.clock.now()),
        seen: done.seen,
        place: Place::of(git),
        fetched: facts.fetched.clone(),
        lost: done.lost.or(reported),
    };
    let next = next(&progress);
    if context.git.progress.set(key, Some(progress)) {
        context.triggers.stacks.now(key.clone());
    }
    next
}

fn complete(context: &Context, key: &Key, batch: &Batch, held: &BTreeMap<Subject, Hold>) {
    for (queue, requester) in context.git.pending_commits.complete(key, batch, held) {
        context.triggers.of(queue).now(requester);
    }
}

/// Returns when to check again if nothing is requested.
fn next(progress: &Progress) -> Next {
    Next::After(match progress.hold {
        Some(_) => REQUEUE_HELD_AFTER,
        None if progress.is_applied() => REFRESH_INTERVAL,
        None => REQUEUE_UNAPPLIED_AFTER,
    })
}

/// Returns the objects that Flux applied from the repository, according to the labels of those in the cache.
fn applied(context: &Context, stack: &Key) -> Applied {
    let caches = &context.caches;
    let of = |owner: &str, kinds: &[FluxKind], subject: Subject| {
        let applied = caches.flux.by_index(kinds, owner);
        let applied = applied.into_iter().filter(|found| is_applied_by_flux(&found.object));
        applied.map(move |found| (id_of(&*found, &found.kind()), subject.clone())).collect::<Vec<_>>()
    };
    let releases = caches.releases.by_index(&index::owned_by("ClusterStack", stack)).into_iter();
    let shared = releases.flat_map(|release| {
        let owner = index::owned_by("ClusterStackRelease", &Key::of(&*release));
        of(&owner, &FluxKind::ALL, Subject::Release(release.name_any()))
    });
    let addons = caches.addons.all().into_iter();
    let addons = addons.filter(|addon| committing_stack(addon).as_ref() == Some(stack));
    let of_clusters = addons.flat_map(|addon| {
        let owner = index::owned_by("ClusterAddon", &Key::of(&*addon));
        of(&owner, &FluxKind::DELIVERING, Subject::Cluster(cluster_of(&addon)))
    });
    shared.chain(of_clusters).collect()
}

/// Returns the Flux `Kustomization`s that apply what the Clusters of a `ClusterStack` share, according to the labels of the
/// applied objects, each with the last revision that it applied, and their sources.
async fn kustomizations(
    context: &Context,
    stack: &Key,
) -> Result<(Kustomizations, BTreeSet<Key>), RequestError> {
    let caches = &context.caches;
    let owners = caches.releases.by_index(&index::owned_by("ClusterStack", stack)).into_iter();
    let owners = owners.map(|release| index::owned_by("ClusterStackRelease", &Key::of(&*release)));
    // The sources may be in another namespace, and the class may not exist yet.
    let kinds = [FluxKind::GitRepository, FluxKind::HelmRelease];
    let objects = owners.flat_map(|owner| caches.flux.by_index(&kinds, &owner));
    let keys = objects.filter_map(|found| applier_of(&found.object));
    let (mut kustomizations, mut sources) = (Kustomizations::new(), BTreeSet::new());
    for key in keys.collect::<BTreeSet<Key>>() {
        let found: Option<FluxObject> = context.api.get_dynamic(&key, &FluxKind::Kustomization).await?;
        sources.extend(found.as_ref().map(FluxObject::source));
        let revision = found.and_then(|found| found.status.applied_revision().map(str::to_owned));
        kustomizations.insert(key, revision);
    }
    Ok((kustomizations, sources))
}

/// Returns the revisions that Flux fetched last, of the `GitRepository`s that the cache has.
fn fetched(context: &Context, repositories: BTreeSet<Key>) -> Fetched {
    let revision = |key: Key| {
        let found = context.caches.flux.get(FluxKind::GitRepository, &key)?;
        Some((key, found.status.artifact()?.revision.clone()))
    };
    repositories.into_iter().filter_map(revision).collect()
}

#[cfg(test)]
mod tests;
