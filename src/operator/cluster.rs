//! One Cluster: gather what there is of it, deliver its addons, look at what became of them, say so.

mod addons;
mod cluster_addon;
mod committed;
mod delivered;
mod flux_objects;
mod gather;
mod hand_over;
mod prune;
mod recovery;
mod suspend_and_delete;

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use tracing::debug;

use super::budget::Reservation;
use super::context::{Context, Preparation, Prepared};
use super::git_delivery::outbox::Unit;
use super::metrics::Queue;
use super::objects::{ClusterObject, cluster_of, term};
use super::reconcile::ReconcileError;
use super::{retry, status};
use crate::addons::{Pruning, committed_by, rendered_inputs, requested_at};
use crate::api::{ClusterAddon, Reason};
use crate::gate::{self, ClusterAction};
use crate::inputs::ClusterInputs;
use crate::names::AddonName;
use crate::plan::{self, Plan};
use crate::rollup::{AddonFacts, ClusterFacts, ConditionStatus, Report, cluster_addon};
use crate::runtime::api_server::RequestError;
use crate::runtime::cache::Key;
use crate::runtime::queue::Next;
use delivered::Delivered;
use gather::{Gathered, Related};

pub(super) use gather::to_orphan;

/// How long a cache that is just filled is waited for.
const SOON: Duration = Duration::from_secs(1);

/// Reconciles the Cluster of that key.
pub async fn reconcile(context: &Context, key: &Key) -> Result<Next, ReconcileError> {
    let gathered = Gathered::of(context, key);
    match gathered.action(context.is_terminating(&key.namespace)) {
        ClusterAction::Forget => {
            context.metrics.forgot(Queue::Cluster, &key.to_string());
            Ok(Next::Await)
        }
        ClusterAction::SuspendAndDelete => {
            suspend_and_delete::suspend_and_delete(context, key, &gathered).await
        }
        ClusterAction::Orphan => hand_over::orphan(context, key, &gathered).await,
        ClusterAction::HandOver => match &gathered.addon {
            Some(addon) => hand_over::hand_over(context, key, addon).await,
            None => Ok(Next::Await),
        },
        ClusterAction::Deliver => deliver(context, key, gathered).await,
    }
}

/// Delivers the addons of a Cluster that is there.
async fn deliver(context: &Context, key: &Key, gathered: Gathered) -> Result<Next, ReconcileError> {
    let Some(cluster) = &gathered.cluster else { return Ok(Next::Await) };
    if cluster.cluster.paused() {
        return paused(context, key, &gathered, cluster).await;
    }
    let (Some(release), Some(preparation)) = (&gathered.release, &gathered.preparation) else {
        return without_release(context, key, &gathered).await;
    };
    let addon = cluster_addon::ensure(context, key, cluster, gathered.addon.clone()).await?;
    hand_over::take_over(context, key, &addon).await?;
    let prepared = match preparation {
        Preparation::Unusable(report) => {
            context.git.outbox.withdraw(&Unit::Cluster(key.clone()));
            let facts = addons::as_they_are(context, &addon, cluster, &release.to_string(), report.clone());
            recovery::request_reconcile(context, &addon, cluster).await?;
            return finish(context, key, &addon, facts).await;
        }
        Preparation::Usable(prepared) => prepared,
    };
    let Related::Found(inputs) = gather::related(context, cluster, prepared) else {
        return Ok(Next::After(SOON));
    };
    let (facts, (pruning, _reserved), failure) = usable(context, cluster, &addon, prepared, &inputs).await?;
    recovery::request_reconcile(context, &addon, cluster).await?;
    let is_suspended = prepared.suspended || addon.spec.suspend;
    let owned = term::owned_by("ClusterAddon", &Key::of(&*addon));
    let retry = if is_suspended { Next::Await } else { retry::retry(context, &owned).await? };
    // What is to be committed is committed after the status says by whom.
    let noted =
        if facts.committed_by == committed_by(&addon) { Next::Await } else { Next::After(Duration::ZERO) };
    // The status counts what is deleted before it is.
    let next = finish(context, key, &addon, facts).await?.earlier(retry).earlier(noted);
    let next = next.earlier(prune::prune(context, &addon, &pruning).await?);
    failure.map_or(Ok(next), |failure| Err(failure.into()))
}

/// A paused Cluster: its status says once that it is, and nothing is written until it is resumed.
async fn paused(
    context: &Context,
    key: &Key,
    gathered: &Gathered,
    cluster: &ClusterObject,
) -> Result<Next, ReconcileError> {
    context.git.outbox.withdraw(&Unit::Cluster(key.clone()));
    let Some(addon) = &gathered.addon else { return Ok(Next::Await) };
    if !context.speaks_of(cluster, Some(addon)) {
        return Ok(Next::Await);
    }
    let Some(facts) = addons::paused(addon, cluster) else {
        addon.status.iter().for_each(|status| context.metrics.reported(&key.to_string(), status));
        return Ok(Next::Await);
    };
    finish(context, key, addon, facts).await
}

/// A Cluster whose class has no release that is installed: what it has of ours stays, and its status says why.
async fn without_release(context: &Context, key: &Key, gathered: &Gathered) -> Result<Next, ReconcileError> {
    let (Some(cluster), Some(lack)) = (&gathered.cluster, gathered.lack(context)) else {
        debug!("the release of the class is not reconciled yet");
        context.metrics.forgot(Queue::Cluster, &key.to_string());
        return Ok(Next::Await);
    };
    let addon = match &gathered.addon {
        None if !lack.is_certain => return Ok(Next::Await),
        None => cluster_addon::ensure(context, key, cluster, None).await?,
        Some(addon) => addon.clone(),
    };
    context.git.outbox.withdraw(&Unit::Cluster(key.clone()));
    let facts = addons::as_they_are(context, &addon, cluster, &lack.desired, lack.report);
    recovery::request_reconcile(context, &addon, cluster).await?;
    finish(context, key, &addon, facts).await
}

/// Delivers the addons of a release that can be used, as far as the gates let it.
async fn usable<'w>(
    context: &'w Context,
    cluster: &ClusterObject,
    addon: &ClusterAddon,
    prepared: &Prepared,
    inputs: &ClusterInputs,
) -> Result<(ClusterFacts, (Pruning, Option<Reservation<'w>>), Option<RequestError>), ReconcileError> {
    let plan = Arc::new(plan::cluster(&prepared.inputs(), inputs)?);
    let delivered = delivered(context, addon, prepared, &plan).await?;
    let mut facts = facts(context, addon, prepared, inputs, &plan, &delivered);
    let may_prune = facts.delivered && !prepared.suspended && !addon.spec.suspend;
    let is_turn = |name: &AddonName| may_prune || delivered.waits_for_old(name);
    let (pruning, reserved) = prune::decide(context, cluster, addon, prepared, is_turn).await?;
    prune::add_left(context, addon, &pruning, &mut facts.addons);
    if facts.of_desired {
        addons::mark_dropped(prepared, &mut facts.addons);
    }
    if addon.metadata.deletion_timestamp.is_some() {
        addons::mark_before_deletion(&mut facts.addons);
    }
    facts.delivered &= pruning.candidates.is_empty();
    facts.pruned.clone_from(&pruning.pruned);
    Ok((facts, (pruning, reserved), delivered.into_failure()))
}

/// Delivers a plan, by the way that the `ClusterStack` has; nothing where something holds it.
async fn delivered(
    context: &Context,
    addon: &ClusterAddon,
    prepared: &Prepared,
    plan: &Arc<Plan>,
) -> Result<Delivered, RequestError> {
    let is_held = plan.held().iter().any(|held| held.addon.is_none());
    let nothing = if is_held {
        Some(Delivered::nothing(addon))
    } else if prepared.suspended || addon.spec.suspend {
        Some(Delivered::while_suspended(context, addon, prepared, plan))
    } else {
        let elsewhere = committed::elsewhere(context, addon, prepared).await?;
        elsewhere.map(|hold| Delivered::held(addon, plan, &hold))
    };
    Ok(match nothing {
        Some(nothing) => {
            context.git.outbox.withdraw(&Unit::Cluster(cluster_of(addon)));
            nothing
        }
        None if prepared.stack.delivery.git().is_some() => {
            committed::deliver(context, addon, prepared, plan).await
        }
        None => addons::deliver(context, addon, prepared, plan).await,
    })
}

fn facts(
    context: &Context,
    addon: &ClusterAddon,
    prepared: &Prepared,
    inputs: &ClusterInputs,
    plan: &Plan,
    delivered: &Delivered,
) -> ClusterFacts {
    let held = plan.held().iter().find(|held| held.addon.is_none()).map(|held| held.hold.clone());
    let unreachable = inputs.cluster.unreachable().map(gate::unreachable);
    let is_rendered = held.is_none();
    let all_there = is_rendered && plan.held().is_empty() && delivered.is_complete(plan);
    // What is held as a whole is of the release that was delivered last.
    let has_another = !is_rendered && has_release(addon);
    ClusterFacts {
        generation: addon.metadata.generation.unwrap_or_default(),
        requested_at: requested_at(addon),
        hold: held.or(unreachable),
        desired: prepared.release.name.to_string(),
        namespace: Some(prepared.stack_key.namespace.clone()),
        release: prepared.ready.clone(),
        addons: if has_another {
            addons::kept(context, addon)
        } else {
            addons::facts(context, addon, prepared, plan, delivered)
        },
        of_desired: !has_another,
        delivered: all_there,
        pruned: None,
        committed_by: delivered.committed_by.clone(),
        inputs: is_rendered.then(|| rendered_inputs(&prepared.release, inputs)),
    }
}

/// Whether a release was delivered before.
fn has_release(addon: &ClusterAddon) -> bool {
    let release = addon.status.as_ref().and_then(|status| status.release.as_ref());
    release.is_some_and(|release| release.applied.is_some())
}

/// Why nothing of the release is delivered.
fn release_hold(release: &Report) -> Option<Reason> {
    Reason::of(&release.reason).filter(|_| release.status != ConditionStatus::True)
}

/// Writes the status where it changed, and says when to look again.
async fn finish(
    context: &Context,
    key: &Key,
    addon: &ClusterAddon,
    facts: ClusterFacts,
) -> Result<Next, ReconcileError> {
    let now = Timestamp::now();
    let judged = |addon: &AddonFacts| {
        Some((addon.name.clone(), addon.object.as_ref()?.kind.clone(), addon.verdict.clone()?))
    };
    let verdicts: Vec<_> = facts.addons.iter().filter_map(judged).collect();
    let holds: Vec<_> = facts
        .addons
        .iter()
        .filter_map(|addon| addon.hold.as_ref())
        .chain(&facts.hold)
        .map(|hold| hold.reason)
        .chain(release_hold(&facts.release))
        .collect();
    context.metrics.found(
        Queue::Cluster,
        &key.to_string(),
        verdicts.iter().map(|(_, kind, verdict)| (kind.as_str(), verdict)),
        holds,
    );
    let old = addon.status.clone().unwrap_or_default();
    let status = cluster_addon(facts, &old, now);
    context.metrics.reported(&key.to_string(), &status);
    let next = addons::next_limit(context, &verdicts, &status, now);
    status::write(context, addon, &status).await?;
    Ok(next)
}
