//! The writes for a release: its objects as far as the gate of the cluster class permits, the provider's object, and
//! requests to reconcile.

use std::mem;
use std::sync::Arc;
use std::time::Duration;

use super::super::context::Context;
use super::super::deliver::REQUEUE_EXISTING_AFTER;
use super::super::git_delivery::commit;
use super::super::git_delivery::pending_commits::{Change, Subject};
use super::super::metrics::Queue;
use super::super::reconcile::ReconcileError;
use super::super::request;
use super::content::{Content, Known};
use super::objects::Delivery;
use super::{Decision, Facts, Found, provider, tear_down};
use crate::api::Reason;
use crate::gate::Hold;
use crate::plan::Step;
use crate::rollup::{ObjectFacts, with_rest};
use crate::runtime::api_server::RequestError;
use crate::runtime::cache::Key;
use crate::runtime::queue::Next;
use crate::subscription::{DeliveryMode, Forward, ReleaseAction, ReleaseDelivery, Teardown};

/// Delay before the next step. Usually an event of a written object comes first. The delay limits the writes of an object that
/// an admission webhook changes each time.
const NEXT_STEP_AFTER: Duration = Duration::from_secs(1);

/// The state of a release's objects after the writes.
#[derive(Default)]
pub(super) struct Receipts {
    /// The objects in the order of delivery.
    pub(super) objects: Vec<ObjectFacts>,
    /// The reason why the cluster class is not delivered yet.
    pub(super) class_hold: Option<Hold>,
    /// Whether an object of another client has the name of a source, so that no Cluster can have the release.
    pub(super) is_without_source: bool,
    /// Whether a later step may be due after these writes.
    pub(super) comes_again: bool,
    /// The refusal that ended the delivery, to retry the reconcile.
    pub(super) failure: Option<ReconcileError>,
}

impl Receipts {
    /// Whether an object of another client has the name of a planned one.
    fn is_held(&self) -> bool {
        self.class_hold.as_ref().is_some_and(|hold| hold.reason == Reason::AlreadyExists)
    }

    /// Returns when to try again.
    pub(super) fn next(&self) -> Next {
        if self.comes_again {
            Next::After(NEXT_STEP_AFTER)
        } else if self.is_held() {
            Next::After(REQUEUE_EXISTING_AFTER)
        } else {
            Next::Await
        }
    }
}

/// Carries out a decision.
pub(super) async fn act(
    context: &Context,
    facts: &Facts<'_>,
    decision: &Decision<'_>,
) -> Result<Receipts, ReconcileError> {
    if let ReleaseAction::TearDown(Teardown::Uninstall(_)) = &decision.action {
        tear_down::cancel_commits(context, facts.teardown.owner, &facts.name);
    }
    let Some(found) = &facts.found else { return Ok(Receipts::default()) };
    match (&decision.action, &decision.delivery, &found.content) {
        (ReleaseAction::Deliver(mode), Some(delivery), Content::Known(known)) => {
            let receipts = deliver(context, facts, (found, known), decision, delivery).await?;
            if *mode == DeliveryMode::Git && receipts.failure.is_none() {
                enqueue_commit(context, facts, found, &delivery.written.steps);
            }
            Ok(receipts)
        }
        (ReleaseAction::ReportInvalid | ReleaseAction::ReportUnavailable { .. }, ..) => {
            forward_request(context, facts, decision).await?;
            Ok(Receipts { objects: found.recorded.clone(), ..Receipts::default() })
        }
        _ => Ok(Receipts::default()),
    }
}

/// Delivers a release. A refusal by the API server is reported together with the objects that were delivered before it.
async fn deliver(
    context: &Context,
    facts: &Facts<'_>,
    (found, known): (&Found<'_>, &Known),
    decision: &Decision<'_>,
    delivery: &ReleaseDelivery<'_>,
) -> Result<Receipts, ReconcileError> {
    let mut receipts = Receipts {
        class_hold: delivery.written.hold.clone(),
        is_without_source: delivery.written.is_without_source(),
        comes_again: delivery.comes_again,
        ..Receipts::default()
    };
    let written = write_objects(context, facts, (found, known), delivery, &mut receipts.objects).await;
    let done = match written {
        Ok(()) => forward_request(context, facts, decision).await.map_err(ReconcileError::from),
        refused => refused,
    };
    match done {
        Ok(()) if !receipts.is_held() => {}
        Ok(()) => receipts.objects = with_rest(mem::take(&mut receipts.objects), found.recorded.clone()),
        Err(error) if error.is_reported() => {
            receipts.objects = with_rest(mem::take(&mut receipts.objects), found.recorded.clone());
            receipts.class_hold = Some(error.hold());
            receipts.failure = Some(error);
        }
        Err(error) => return Err(error),
    }
    Ok(receipts)
}

/// Carries out the writes in the order of delivery, and adds the states of the objects afterwards to `receipts`.
async fn write_objects(
    context: &Context,
    facts: &Facts<'_>,
    (found, known): (&Found<'_>, &Known),
    delivery: &ReleaseDelivery<'_>,
    receipts: &mut Vec<ObjectFacts>,
) -> Result<(), ReconcileError> {
    let objects = Delivery { context, object: facts.object, known, now: facts.now };
    let (class, others): (Vec<_>, Vec<_>) =
        delivery.objects.iter().partition(|object| object.planned.step == Step::ClusterClass);
    for object in others {
        receipts.push(objects.carry_out(object).await?);
    }
    if delivery.writes_provider {
        provider::apply(context, &found.provider).await?;
    }
    for object in class {
        receipts.push(objects.carry_out(object).await?);
    }
    Ok(())
}

/// Enqueues the commit of the objects that the gate permits to the repository that Flux applies.
fn enqueue_commit(context: &Context, facts: &Facts, found: &Found, steps: &[Step]) {
    let plan = found.planned.plan.only(steps);
    let (subject, change) = (Subject::Release(facts.name.to_string()), Change::Planned(Arc::new(plan)));
    let requester = (Queue::ClusterStackRelease, facts.key.clone());
    commit(context, &Key::of(found.owner), subject, change, requester);
}

/// Forwards a request to reconcile as decided.
async fn forward_request(
    context: &Context,
    facts: &Facts<'_>,
    decision: &Decision<'_>,
) -> Result<(), RequestError> {
    let Some(Forward { request, to }) = &decision.forward else { return Ok(()) };
    for object in to {
        let newest = context.caches.flux.newest(object);
        request::forward(context, newest, facts.object, request).await?;
    }
    Ok(())
}
