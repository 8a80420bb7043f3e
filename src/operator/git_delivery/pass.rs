//! A pass: commits all requested changes of a `ClusterStack` to its branch together, and checks how far Flux has applied
//! them.

mod gather;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use jiff::Timestamp;
use tracing::{error, info, warn};

use super::super::context::Context;
use super::super::enqueue::enqueue_all_of;
use super::super::metrics::RemoteOperation;
use super::super::reconcile::ReconcileError;
use super::clone::CloneAccess;
use super::job::{ChangeError, Done, Job, JobError};
use super::missing::Applied;
use super::pending_commits::{Batch, Requester, Subject};
use super::progress::{Fetched, Place, Progress};
use super::pull_request;
use super::threads::{THREAD_TIMEOUT, ThreadError};
use crate::api::{GitDelivery, Reason};
use crate::error::Class;
use crate::explain::cause::{Component, hinted};
use crate::gate::Hold;
use crate::git::GitError;
use crate::runtime::cache::Key;
use crate::runtime::queue::Next;
use crate::sink::git::plain;
use gather::gather;

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

/// The result of an attempt to commit.
enum Committed {
    /// Nothing was attempted, or another `ClusterStack` uses the clone.
    Nothing,
    /// The branch was compared, and has all changes but the held ones.
    Done(Box<Done>),
    /// Nothing could be committed, for this reason.
    Failed(Hold),
}

/// The report of a pass.
#[derive(Debug, PartialEq)]
struct Outcome {
    /// What is known of the commits; `None` if nothing is committed for the `ClusterStack` now.
    progress: Option<Progress>,
    /// The requested subjects that are not committed, each with its hold; `None` unless the branch was to be compared.
    held: Option<BTreeMap<Subject, Hold>>,
    /// Whether everything is requested again, because another author changed committed files.
    is_changed_by_others: bool,
    next: Next,
}

/// Commits the requested changes of the `ClusterStack` with that key.
pub async fn reconcile(context: &Context, key: &Key) -> Result<Next, ReconcileError> {
    let stack = context.caches.stacks.get(key);
    let facts = gather(context, key, stack.as_deref()).await?;
    let pass = decide(&facts);
    let committed = act(context, &facts, &pass).await;
    let outcome = roll_up(&facts, &pass, committed);
    let next = outcome.next;
    record(context, &facts, outcome);
    Ok(next)
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

/// Carries out a pass, and logs its result.
async fn act(context: &Context, facts: &Facts<'_>, pass: &Pass<'_>) -> Committed {
    let key = facts.key;
    let (git, before, is_moved) = match pass {
        Pass::Forget => {
            context.git.pending_commits.remove_stack(key);
            return Committed::Nothing;
        }
        Pass::Wait { .. } => return Committed::Nothing,
        Pass::Commit { git, before, is_moved } => (git, before, *is_moved),
    };
    if is_moved {
        info!(stack = %key, "delivery.git was changed: committing everything again");
        request_all_again(context, key);
    }
    match commit(context, facts, git, before).await {
        Ok(Some(done)) => {
            log(facts, git, &done);
            Committed::Done(Box::new(done))
        }
        Ok(None) => Committed::Nothing,
        Err(why) => {
            error!(stack = %key, reason = %why.reason, "{}", why.message);
            Committed::Failed(why)
        }
    }
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
    let run = context.git.threads.run((&url, &directory), THREAD_TIMEOUT, move || job.run());
    let done = match context.metrics.measure(RemoteOperation::Commit, run, outcome).await {
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

/// Returns the outcome of a job; `None` if another task uses the clone, or this process may not write. The operator retries
/// every failure.
fn outcome(result: &Result<Result<Done, JobError>, ThreadError>) -> Option<Result<(), Class>> {
    match result {
        Ok(Ok(_)) => Some(Ok(())),
        Ok(Err(JobError::Git(GitError::InUse(_)) | JobError::Change(ChangeError::NotLeader))) => None,
        Ok(Err(_)) | Err(_) => Some(Err(Class::Transient)),
    }
}

fn push_failed(error: &impl std::fmt::Display) -> Hold {
    Hold { reason: Reason::PushFailed, message: hinted(Component::Delivery, &error.to_string()) }
}

/// Returns the input of the thread, or the hold if it is not available.
async fn job(
    context: &Context,
    facts: &Facts<'_>,
    git: &GitDelivery,
    before: &Progress,
) -> Result<Job, Hold> {
    let (namespace, remote) = (&facts.key.namespace, (git.url.as_str(), git.secret_ref.as_ref()));
    let commit = (&git.commit, facts.now);
    let access = CloneAccess::read(context, namespace, remote, commit, Reason::PushFailed).await?;
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

fn log(facts: &Facts, git: &GitDelivery, done: &Done) {
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
    }
}

/// Rolls up what is known of the commits, and when to check again.
fn roll_up(facts: &Facts, pass: &Pass, committed: Committed) -> Outcome {
    let (progress, held, is_changed_by_others, next) = match (pass, committed) {
        (Pass::Forget, _) => (None, None, false, Next::Await),
        (Pass::Wait { next, progress: None }, _) => (facts.before.clone(), None, false, *next),
        (Pass::Wait { next, progress: Some(now) }, _) => (Some(Progress::clone(now)), None, false, *next),
        (Pass::Commit { .. }, Committed::Nothing) => {
            (facts.before.clone(), None, false, Next::After(REQUEUE_BUSY_AFTER))
        }
        (Pass::Commit { before, .. }, Committed::Failed(why)) => {
            let held = facts.batch.keys().map(|subject| (subject.clone(), why.clone())).collect();
            let progress = Progress { hold: Some(why), ..Progress::clone(before) };
            (Some(progress), Some(held), false, Next::Retry)
        }
        (Pass::Commit { git, .. }, Committed::Done(done)) => {
            let (held, is_changed_by_others) = (done.held.clone(), done.is_changed_by_others);
            let progress = committed_progress(facts, git, *done);
            let next = next(&progress);
            (Some(progress), Some(held), is_changed_by_others, next)
        }
    };
    Outcome { progress, held, is_changed_by_others, next }
}

/// Returns the progress after the branch was compared.
fn committed_progress(facts: &Facts, git: &GitDelivery, done: Done) -> Progress {
    // The first requests after the loss end the report about it.
    let before = facts.before.as_ref().filter(|before| before.place == Place::of(git));
    let reported = before.and_then(|before| before.lost).filter(|_| facts.batch.is_empty());
    Progress {
        commit: done.seen.as_ref().map(|seen| seen.commit.to_string()),
        kustomizations: facts.kustomizations.clone(),
        lagging: done.lagging,
        hold: done.held.into_values().next(),
        looked: Some(facts.now),
        seen: done.seen,
        place: Place::of(git),
        fetched: facts.fetched.clone(),
        lost: done.lost.or(reported),
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

/// Records the report of a pass, and enqueues the reconciles that wait for it.
fn record(context: &Context, facts: &Facts, outcome: Outcome) {
    let key = facts.key;
    if outcome.is_changed_by_others {
        request_all_again(context, key);
    }
    for (queue, requester) in outcome.held.iter().flat_map(|held| complete(context, facts, held)) {
        context.triggers.of(queue).now(requester);
    }
    if context.git.progress.set(key, outcome.progress) && outcome.held.is_some() {
        context.triggers.stacks.now(key.clone());
    }
}

/// Records which requests are committed, and returns the reconciles to enqueue.
fn complete(context: &Context, facts: &Facts, held: &BTreeMap<Subject, Hold>) -> BTreeSet<Requester> {
    context.git.pending_commits.complete(facts.key, &facts.batch, held)
}

/// Forgets what the branch has, and enqueues all reconciles that request it.
fn request_all_again(context: &Context, key: &Key) {
    context.git.pending_commits.forget(key);
    enqueue_all_of(context, key);
}

#[cfg(test)]
mod tests;
