//! The publisher: copies the releases that a `ClusterStack` offers from its upstream source to its stack repository.
//!
//! ```text
//! source.upstream ─ list ─▶ offered, but not in the branch ─ fetch, verify, lint ─▶ one commit each ─▶ source.git ─▶ Flux
//! ```
//! It runs at an interval, and only reads if the branch has all offered releases. The stack repository is the only memory:
//! a process that ends during publication has published a release completely or not at all.
//!
//! A stack repository in Git has one writer, the leader. Each replica has a built-in one of its own.

mod builtin;
mod gather;
mod origin;
mod publish;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use tracing::{error, info, warn};

use super::context::Context;
use super::metrics::{Queue, RemoteOperation, classified};
use super::reconcile::ReconcileError;
use super::request;
use crate::api::labels::REQUESTED_AT;
use crate::api::{ClusterStack, Reason, StackSource, Upstream};
use crate::error::{Class, Classify as _};
use crate::foreign::flux::observed::FluxObject;
use crate::gate::Hold;
use crate::http::TransportError;
use crate::names::ReleaseName;
use crate::promote::holds;
use crate::publish::git::Committed;
use crate::publish::{PublishError, Published};
use crate::rollup::{ConditionStatus, Report};
use crate::runtime::cache::Key;
use crate::runtime::queue::Next;
use crate::source::origin::{Listing, Origin, OriginError};
use crate::subscription;
use gather::gather;

/// Timeout for fetching one release.
const FETCH_TIMEOUT: Duration = Duration::from_mins(15);
/// Delay before a retry while another task uses the clone.
const REQUEUE_BUSY_AFTER: Duration = Duration::from_secs(1);

/// The facts about a publication: one snapshot at one time.
struct Facts<'a> {
    now: Timestamp,
    key: &'a Key,
    stack: &'a ClusterStack,
    upstream: &'a Upstream,
    repositories: Result<Repositories, Stop>,
    /// The `GitRepository` that the `ClusterStack` follows, unless it is one of another client, which has another repository.
    followed: Option<Arc<FluxObject>>,
    /// Whether the `ClusterStack` is still as in these facts, and this process is the leader: a publication can take minutes.
    is_current: Box<dyn Fn() -> bool + Send + Sync + 'a>,
}

/// The upstream source and the stack repository, with their releases.
struct Repositories {
    origin: Box<dyn Origin>,
    listing: Listing,
    target: publish::Target,
    /// The releases in the stack repository.
    there: BTreeSet<ReleaseName>,
}

/// Publishes the missing releases of the `ClusterStack` with that key.
pub async fn reconcile(context: &Context, key: &Key) -> Result<Next, ReconcileError> {
    let stack = context.caches.stacks.get(key);
    let is_builtin = stack.as_ref().is_some_and(|stack| is_builtin(context, stack));
    builtin::close_others(context, key, (stack.as_deref(), is_builtin)).await?;
    let alive = stack.as_ref().filter(|stack| is_builtin || stack.metadata.deletion_timestamp.is_none());
    let Some((stack, upstream)) = alive.and_then(|stack| Some((stack, context.upstream(stack)?))) else {
        context.published.set(key, None);
        return Ok(Next::Await);
    };
    if is_builtin {
        return Ok(builtin::reconcile(context, key, stack, upstream).await);
    }
    if stack.spec.suspend || !context.api.may_write() {
        return Ok(Next::Await);
    }
    let facts = gather(context, key, stack, upstream).await;
    let decision = decide(&facts);
    let publication = act(context, &facts, &decision).await;
    let (report, next) = roll_up(&decision, publication, upstream.interval.to_std());
    record(context, key, report);
    Ok(next)
}

/// The decision of a publication.
#[derive(Default)]
struct Decision {
    /// The releases that the `ClusterStack` offers and that are published upstream.
    offered: BTreeSet<ReleaseName>,
    /// Those of them that the stack repository does not have.
    missing: Vec<ReleaseName>,
    /// The number of all releases upstream.
    upstream: usize,
}

/// Decides which releases to publish: none if the releases of a repository are not known.
fn decide(facts: &Facts) -> Decision {
    let Ok(Repositories { listing, there, .. }) = &facts.repositories else { return Decision::default() };
    decide_missing(facts.stack, listing, there)
}

/// Decides which releases to publish. `there` are those in the stack repository.
fn decide_missing(stack: &ClusterStack, listing: &Listing, there: &BTreeSet<ReleaseName>) -> Decision {
    let offered = subscription::offered(&stack.spec, Some(&listing.releases));
    let offered: BTreeSet<ReleaseName> = offered.intersection(&listing.releases).cloned().collect();
    let missing = offered.difference(there).cloned().collect();
    Decision { offered, missing, upstream: listing.releases.len() }
}

/// Publishes the missing releases, and asks Flux to fetch them.
async fn act(context: &Context, facts: &Facts<'_>, decision: &Decision) -> Publication {
    let Repositories { origin, target, .. } = match &facts.repositories {
        Ok(repositories) => repositories,
        Err(stop) => return Publication { stop: Some(stop.clone()), ..Publication::default() },
    };
    let publish = async |name: ReleaseName| {
        let published = publish_one(context, facts, &**origin, target, &name).await;
        if let Ok(Ok(Published::Written(committed))) = &published {
            info!(stack = %facts.key, release = %name, commit = %committed.commit, "published");
        }
        published
    };
    let publication = publish_each(&decision.missing, &facts.is_current, publish).await;
    if publication.is_changed {
        request_fetch(context, facts.followed.as_deref(), facts.now).await;
    }
    publication
}

/// Returns the report about a publication, if there is a new one, and when to publish again.
fn roll_up(decision: &Decision, publication: Publication, interval: Duration) -> (Option<Report>, Next) {
    let Publication { failures, held, stop, .. } = publication;
    let failed = || together(failures).map(|(hold, class)| Stop::Held(hold, class));
    match stop.or_else(failed) {
        None => (Some(report(decision, &held)), Next::After(interval)),
        Some(Stop::Busy) => (None, Next::After(REQUEUE_BUSY_AFTER)),
        // The change is an event, which starts the next publication; without the Lease there is none.
        Some(Stop::Changed) => (None, Next::Await),
        Some(Stop::Held(hold, class)) => {
            let next = match class {
                Class::Transient => Next::Retry,
                // A fetch fails again until the release is fixed upstream.
                Class::Terminal => Next::After(interval),
            };
            (Some(Report::new(ConditionStatus::False, hold.reason.as_str(), &hold.message)), next)
        }
    }
}

/// Records a report, which the status of the `ClusterStack` shows.
fn record(context: &Context, key: &Key, report: Option<Report>) {
    let Some(report) = report else { return };
    if report.status == ConditionStatus::False {
        error!(stack = %key, reason = report.reason, "{}", report.message);
    }
    if context.published.set(key, Some(report)) {
        context.triggers.stacks.now(key.clone());
    }
}

/// A reason why nothing was published.
#[derive(Clone, Debug)]
enum Stop {
    /// Another task of this process is writing to the same repository.
    Busy,
    /// The `ClusterStack` was changed, suspended or deleted, or this process is no longer the leader.
    Changed,
    /// A problem, and whether a retry can help.
    Held(Hold, Class),
}

impl From<Hold> for Stop {
    fn from(hold: Hold) -> Self {
        Self::Held(hold, Class::Transient)
    }
}

/// The result of publishing one release, or its hold.
type PublishedOne<C> = Result<Result<Published<C>, holds::Hold>, Stop>;

/// The results of publishing several releases.
#[derive(Default)]
struct Publication {
    /// Whether a release was pushed.
    is_changed: bool,
    failures: Vec<(Hold, Class)>,
    held: Vec<String>,
    /// The reason why the later releases were not tried.
    stop: Option<Stop>,
}

/// Publishes releases one after the other. One that is unusable does not block the others.
async fn publish_each<C>(
    missing: &[ReleaseName],
    is_current: impl Fn() -> bool,
    mut publish: impl AsyncFnMut(ReleaseName) -> PublishedOne<C>,
) -> Publication {
    let mut publication = Publication::default();
    for name in missing {
        if !is_current() {
            publication.stop = Some(Stop::Changed);
            break;
        }
        match publish(name.clone()).await {
            Ok(Ok(published)) => publication.is_changed |= matches!(published, Published::Written(_)),
            Ok(Err(refused)) => publication.held.push(PublishError::Held(refused).to_string()),
            Err(Stop::Held(failure, class)) => publication.failures.push((failure, class)),
            Err(stop) => {
                publication.stop = Some(stop);
                break;
            }
        }
    }
    publication
}

/// Publishes a release, or returns its hold without fetching it.
async fn publish_one(
    context: &Context,
    facts: &Facts<'_>,
    origin: &dyn Origin,
    target: &publish::Target,
    name: &ReleaseName,
) -> PublishedOne<Committed> {
    if let Some(hold) = target.clone().held(context, name.clone()).await? {
        return Ok(Err(hold));
    }
    let fetched = within(FETCH_TIMEOUT, &facts.upstream.url, origin.fetch(name));
    let fetched = context.metrics.measure(RemoteOperation::FetchRelease, fetched, classified).await;
    let fetched =
        fetched.map_err(|error| Stop::Held(hold(Reason::PublishFailed, error.to_string()), error.class()))?;
    // A fetch can take minutes.
    if !(facts.is_current)() {
        return Err(Stop::Changed);
    }
    target.clone().publish(context, fetched).await.map(Ok)
}

/// Awaits the answer of an upstream source with a timeout.
async fn within<T>(
    limit: Duration,
    url: &str,
    answer: impl Future<Output = Result<T, OriginError>>,
) -> Result<T, OriginError> {
    match tokio::time::timeout(limit, answer).await {
        Ok(answer) => answer,
        Err(_) => Err(TransportError::Timeout { place: url.to_owned(), after: limit }.into()),
    }
}

/// Returns the first of several failures, with the number of further ones. The class is transient if one of them is.
fn together(failures: Vec<(Hold, Class)>) -> Option<(Hold, Class)> {
    let more = failures.len().saturating_sub(1);
    let transient = failures.iter().any(|(_, class)| *class == Class::Transient);
    let class = if transient { Class::Transient } else { Class::Terminal };
    let (first, _) = failures.into_iter().next()?;
    let message = match more {
        0 => first.message,
        1 => format!("{}; and one more release", first.message),
        more => format!("{}; and {more} more releases", first.message),
    };
    Some((Hold { message, ..first }, class))
}

/// Returns the report if the branch has all offered releases that are not held. An unchanged state gives the same message.
fn report(decision: &Decision, held: &[String]) -> Report {
    let all = decision.upstream;
    let message = match (decision.offered.last(), held) {
        (None, _) => "the ClusterStack offers no release that is published upstream".to_owned(),
        (Some(latest), []) => {
            format!("the stack repository has {latest} and all other offered releases, of {all} upstream")
        }
        (Some(_), held) => format!(
            "the stack repository has all offered releases, of {all} upstream, except held ones: {}",
            held.join("; ")
        ),
    };
    Report::new(ConditionStatus::True, Reason::Published.as_str(), &message)
}

/// Asks Flux to fetch the stack repository before its next interval.
async fn request_fetch(context: &Context, followed: Option<&FluxObject>, now: Timestamp) {
    let Some(followed) = followed else { return };
    if let Err(error) = request::ask(context, followed, &now.to_string(), &[REQUESTED_AT]).await {
        warn!("cannot ask Flux to fetch the published releases: {error}");
    }
}

fn hold(reason: Reason, message: String) -> Hold {
    Hold { reason, message }
}

/// Begins the publications of a process, once it knows all `ClusterStack`s.
pub fn begin(context: &Context) {
    builtin::expect_all(context);
    for stack in context.caches.stacks.all() {
        enqueue_publish(context, &stack);
    }
}

fn is_builtin(context: &Context, stack: &ClusterStack) -> bool {
    context.settings.defaults.source_of(stack).is_some_and(StackSource::is_builtin)
}

/// Enqueues the publication of a `ClusterStack` if its stack repository is built in.
pub fn enqueue_builtin(context: &Context, stack: &ClusterStack) {
    if is_builtin(context, stack) {
        context.triggers.of(Queue::Publish).now(Key::of(stack));
    }
}

/// Enqueues the publication of a `ClusterStack` if it has or had an upstream source.
pub fn enqueue_publish(context: &Context, stack: &ClusterStack) {
    if context.upstream(stack).is_some() || context.published.get(&Key::of(stack)).is_some() {
        context.triggers.of(Queue::Publish).now(Key::of(stack));
    }
}

#[cfg(test)]
mod tests;
