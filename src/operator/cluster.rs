//! Reconciles a Cluster: gather facts, decide what to write, take `Ready` back, write objects, roll up and write the status,
//! prune.

mod act;
mod cluster_addon;
mod flux_objects;
mod gather;
mod hand_over;
mod prune;
mod recovery;
mod requests;
mod snapshot;
mod suspend_and_delete;
mod upgrade;

use std::sync::Arc;
use std::time::Duration;

use tracing::debug;

use super::context::Context;
use super::git_delivery;
use super::git_delivery::pending_commits::Subject;
use super::metrics::Queue;
use super::objects::ClusterObject;
use super::reconcile::{REQUEUE_SOON_AFTER, ReconcileError};
use super::status;
use crate::addons::{
    Decision, Facts, Outcome, Preparation, decide, is_as_desired, prune_candidates, ready_taken_back, roll_up,
};
use crate::api::ClusterAddon;
use crate::gate::ClusterAction;
use crate::runtime::api_server::RequestError;
use crate::runtime::cache::Key;
use crate::runtime::queue::{Next, at};
use act::Acted;
use gather::Gathered;

pub(super) use gather::to_orphan;

/// Reconciles the Cluster with that key, and the `ClusterAddonOverride` with the same one.
pub async fn reconcile(context: &Context, key: &Key) -> Result<Next, ReconcileError> {
    let gathered = Gathered::of(context, key);
    // What is accepted is recorded before it makes a difference. An operator that may not record it delivers all the same.
    let reported = requests::report(context, key, &gathered).await;
    let is_recorded = reported.as_ref().err().is_none_or(RequestError::is_forbidden);
    let next = carry_out(context, key, &gathered, is_recorded).await?;
    reported?;
    Ok(next)
}

async fn carry_out(
    context: &Context,
    key: &Key,
    gathered: &Gathered,
    is_recorded: bool,
) -> Result<Next, ReconcileError> {
    match gathered.action(context.is_terminating(&key.namespace)) {
        ClusterAction::Forget => {
            context.metrics.remove(Queue::Cluster, &key.to_string());
            Ok(Next::Await)
        }
        ClusterAction::SuspendAndDelete => {
            suspend_and_delete::suspend_and_delete(context, key, gathered).await
        }
        ClusterAction::Orphan => hand_over::orphan(context, key, gathered).await,
        ClusterAction::HandOver => match &gathered.addon {
            Some(addon) => hand_over::hand_over(context, key, addon).await,
            None => Ok(Next::Await),
        },
        ClusterAction::Deliver => match gathered.cluster.as_ref().filter(|_| is_recorded) {
            Some(cluster) => deliver(context, key, cluster, gathered).await,
            None => Ok(Next::Await),
        },
    }
}

/// Delivers the addons of an existing Cluster.
async fn deliver(
    context: &Context,
    key: &Key,
    cluster: &ClusterObject,
    gathered: &Gathered,
) -> Result<Next, ReconcileError> {
    let release = gathered.class_release(context, cluster);
    let usable = release.usable().map(|resolved| &*resolved.release);
    let upgrade = upgrade::gather(context, cluster, gathered.addon.as_deref(), usable).ok();
    let hook = match &upgrade {
        Some(found) => upgrade::prepare(context, cluster, &found.upgrade).await?,
        None => upgrade::Changed::default(),
    };
    let cluster = hook.cluster.as_deref().unwrap_or(cluster);
    let preparation = gathered.preparation(context, cluster, &release);
    let addon = match prepare(context, key, cluster, gathered.addon.as_ref(), &preparation).await? {
        Prepared::Addon(addon) => addon,
        Prepared::Later(next) => return hook.refusal.map_or(Ok(next), |refusal| Err(refusal.into())),
    };
    let soon = Ok(Next::After(REQUEUE_SOON_AFTER));
    let Some(upgrade) = upgrade else { return soon };
    let found = gather::facts(context, cluster, addon, (&release, upgrade)).await?;
    let Some((mut facts, unplanned)) = found else { return soon };
    let decision = decide(&facts);
    if !requests::confirm(context, key, &facts, &decision).await? {
        return soon;
    }
    take_back_ready(context, key, &mut facts, &decision).await?;
    let acted = act::act(context, (key, cluster), &facts, &decision).await?;
    let Acted { receipts, failure, retry } = acted.with_refusal(hook.refusal);
    let candidates = prune_candidates(&facts, &receipts);
    let confirmed = prune::gather(context, &facts, &candidates).await?;
    let (pruning, reservation) = prune::decide(context, &facts, candidates, confirmed.as_ref());
    let outcome = roll_up(&facts, &receipts, &pruning);
    // The status must count deletions before they happen.
    let next = write_status(context, key, &facts, &outcome).await?;
    if let Some(reservation) = reservation {
        context.triggers.stacks.now(reservation.keep());
    }
    let next = next.earlier(retry).earlier(prune::prune(context, &facts, &pruning).await?);
    let failure = failure.map(ReconcileError::from).or(unplanned.map(ReconcileError::from));
    failure.map_or(Ok(next), Err)
}

/// The result of a preparation.
enum Prepared {
    /// The `ClusterAddon` is as desired: its addons can be delivered, or reported on.
    Addon(Arc<ClusterAddon>),
    /// There is nothing to report, or the next reconcile delivers.
    Later(Next),
}

/// Carries out a preparation. A reconcile that writes the `ClusterAddon` writes nothing else: the next one decides by it.
async fn prepare(
    context: &Context,
    key: &Key,
    cluster: &ClusterObject,
    found: Option<&Arc<ClusterAddon>>,
    preparation: &Preparation,
) -> Result<Prepared, RequestError> {
    let nothing = || Prepared::Later(Next::Await);
    match preparation {
        Preparation::Wait => {
            debug!("the release of the class is not reconciled yet");
            context.metrics.remove(Queue::Cluster, &key.to_string());
            Ok(nothing())
        }
        Preparation::Nothing => Ok(nothing()),
        Preparation::Pause { is_reported } => {
            git_delivery::cancel(context, &Subject::Cluster(key.clone()));
            Ok(found.filter(|_| *is_reported).cloned().map_or_else(nothing, Prepared::Addon))
        }
        Preparation::WriteAddon => {
            let addon = cluster_addon::write(context, key, cluster, found.cloned()).await?;
            // An admission webhook may have changed it: another write would end alike.
            let is_written = is_as_desired(&addon, &cluster.cluster);
            Ok(if is_written { Prepared::Later(Next::After(Duration::ZERO)) } else { Prepared::Addon(addon) })
        }
        Preparation::Adopt(left) => {
            if let Some(addon) = found {
                hand_over::adopt(context, addon, left).await?;
            }
            Ok(Prepared::Later(Next::After(REQUEUE_SOON_AFTER)))
        }
        Preparation::Prepared => Ok(found.cloned().map_or_else(nothing, Prepared::Addon)),
    }
}

/// Writes the status that must precede the writes of a decision, if any, so that an operator that ends among them leaves no
/// `Ready` of the earlier content. The facts get the written `ClusterAddon`.
async fn take_back_ready(
    context: &Context,
    key: &Key,
    facts: &mut Facts<'_>,
    decision: &Decision,
) -> Result<(), RequestError> {
    let Some(status) = ready_taken_back(facts, decision) else { return Ok(()) };
    context.metrics.reported(&key.to_string(), &status);
    if let Some(written) = status::replace(context, &*facts.snapshot.addon, &status).await? {
        facts.snapshot.addon = written;
    }
    Ok(())
}

/// Writes the status if it changed, and returns when to reconcile again.
async fn write_status(
    context: &Context,
    key: &Key,
    facts: &Facts<'_>,
    outcome: &Outcome,
) -> Result<Next, RequestError> {
    let (metrics, name) = (&context.metrics, key.to_string());
    let verdicts = outcome.verdicts.iter().map(|(kind, verdict)| (kind.as_str(), verdict));
    metrics.found(Queue::Cluster, &name, verdicts, outcome.holds.iter().copied());
    metrics.reported(&name, &outcome.status);
    status::write(context, &*facts.snapshot.addon, &outcome.status).await?;
    if outcome.is_committer_new || outcome.is_to_judge {
        return Ok(Next::After(Duration::ZERO));
    }
    Ok(outcome.next.map_or(Next::Await, |limit| at(limit, facts.snapshot.now)))
}
