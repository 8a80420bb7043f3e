//! The writes for a release: its objects as far as the gate of the cluster class permits, the provider's object, and
//! requests to reconcile.

use std::mem;
use std::sync::Arc;

use super::super::context::Context;
use super::super::deliver::REQUEUE_EXISTING_AFTER;
use super::super::git_delivery::commit;
use super::super::git_delivery::pending_commits::{Change, Subject};
use super::super::metrics::Queue;
use super::super::reconcile::ReconcileError;
use super::super::request;
use super::content::{Content, Known};
use super::objects::Delivery;
use super::{Facts, Found, provider, tear_down};
use crate::api::Reason;
use crate::foreign::flux::FluxKind;
use crate::gate::Hold;
use crate::plan::Step;
use crate::plan::existing::is_marked;
use crate::rollup::{ConditionStatus, ObjectFacts, with_rest};
use crate::runtime::api_server::RequestError;
use crate::runtime::cache::Key;
use crate::runtime::queue::Next;
use crate::subscription::{
    DeliveryMode, RELEASE_STEPS, ReleaseAction, StepFacts, Teardown, WrittenSteps, is_class_delivered,
    steps_to_write,
};

/// The state of a release's objects after the writes.
#[derive(Default)]
pub(super) struct Receipts {
    /// The objects in the order of delivery.
    pub(super) objects: Vec<ObjectFacts>,
    /// The steps that are delivered.
    pub(super) steps: Vec<Step>,
    /// The reason why the cluster class is not delivered yet.
    pub(super) class_hold: Option<Hold>,
    /// Whether an object of another client has the name of a source, so that no Cluster can have the release.
    pub(super) is_without_source: bool,
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
        if self.is_held() { Next::After(REQUEUE_EXISTING_AFTER) } else { Next::Await }
    }
}

/// Carries out a decision.
pub(super) async fn act(
    context: &Context,
    facts: &Facts<'_>,
    action: &ReleaseAction,
) -> Result<Receipts, ReconcileError> {
    if let ReleaseAction::TearDown(Teardown::Uninstall(_)) = action {
        tear_down::cancel_commits(context, facts.teardown.owner, &facts.name);
    }
    let Some(found) = &facts.found else { return Ok(Receipts::default()) };
    match (action, &found.content) {
        (ReleaseAction::Deliver(mode), Content::Known(known)) => {
            deliver(context, facts, found, known, *mode).await
        }
        (ReleaseAction::ReportInvalid | ReleaseAction::ReportUnavailable { .. }, _) => {
            forward_request(context, facts, found).await?;
            Ok(Receipts { objects: found.recorded.clone(), ..Receipts::default() })
        }
        _ => Ok(Receipts::default()),
    }
}

/// Delivers a release. A refusal by the API server is reported together with the objects that were delivered before it.
async fn deliver(
    context: &Context,
    facts: &Facts<'_>,
    found: &Found<'_>,
    known: &Known,
    mode: DeliveryMode,
) -> Result<Receipts, ReconcileError> {
    let mut receipts = Receipts::default();
    match deliver_steps(context, facts, found, known, mode, &mut receipts).await {
        Ok(()) if receipts.is_held() => {
            receipts.objects = with_rest(mem::take(&mut receipts.objects), found.recorded.clone());
        }
        Ok(()) => {}
        Err(error) if error.is_reported() => {
            receipts.objects = with_rest(mem::take(&mut receipts.objects), found.recorded.clone());
            receipts.class_hold = Some(error.hold());
            receipts.failure = Some(error);
        }
        Err(error) => return Err(error),
    }
    if mode == DeliveryMode::Git && receipts.failure.is_none() {
        enqueue_commit(context, facts, found, &receipts.steps);
    }
    Ok(receipts)
}

async fn deliver_steps(
    context: &Context,
    facts: &Facts<'_>,
    found: &Found<'_>,
    known: &Known,
    mode: DeliveryMode,
    receipts: &mut Receipts,
) -> Result<(), ReconcileError> {
    let delivery = Delivery { context, object: facts.object, known, now: facts.now };
    let mut taken = None;
    for step in RELEASE_STEPS {
        if !written_steps(&delivery, found, taken.as_ref(), &receipts.objects).steps.contains(&step) {
            break;
        }
        let hold = deliver_step(&delivery, found, mode, step, &mut receipts.objects).await?;
        taken = hold.map(|hold| (step, hold));
        if step == Step::NodeImages && mode.writes() {
            provider::apply(context, &found.provider).await?;
        }
    }
    let written = written_steps(&delivery, found, taken.as_ref(), &receipts.objects);
    receipts.is_without_source = written.is_without_source();
    (receipts.steps, receipts.class_hold) = (written.steps, written.hold);
    Ok(forward_request(context, facts, found).await?)
}

/// Decides which steps of a release are written, from the objects that were delivered so far.
fn written_steps(
    delivery: &Delivery<'_>,
    found: &Found<'_>,
    taken: Option<&(Step, Hold)>,
    delivered: &[ObjectFacts],
) -> WrittenSteps {
    let report = &found.provider.report;
    let mut images = delivered.iter().filter(|object| object.step == Step::NodeImages);
    let images = images.find(|images| !is_ready(images)).map(|images| images.id.to_string());
    steps_to_write(&StepFacts {
        taken: taken.map(|(step, hold)| (*step, hold)),
        is_class_delivered: is_class_delivered(delivery.object, &found.planned.plan),
        provider_problem: (report.status != ConditionStatus::True).then_some(report.message.as_str()),
        images_not_ready: images.as_deref(),
    })
}

async fn deliver_step(
    delivery: &Delivery<'_>,
    found: &Found<'_>,
    mode: DeliveryMode,
    step: Step,
    receipts: &mut Vec<ObjectFacts>,
) -> Result<Option<Hold>, ReconcileError> {
    match mode {
        DeliveryMode::Api => delivery.apply(&found.planned.plan, step, receipts).await,
        DeliveryMode::Git | DeliveryMode::Suspended => {
            let observed = found.planned.observed.iter().filter(|object| object.step == step);
            receipts.extend(observed.cloned());
            Ok(None)
        }
    }
}

fn is_ready(object: &ObjectFacts) -> bool {
    object.verdict.as_ref().is_some_and(|verdict| verdict.report().status == ConditionStatus::True)
}

/// Enqueues the commit of the objects that the gate permits to the repository that Flux applies.
fn enqueue_commit(context: &Context, facts: &Facts, found: &Found, steps: &[Step]) {
    let plan = found.planned.plan.only(steps);
    let (subject, change) = (Subject::Release(facts.name.to_string()), Change::Planned(Arc::new(plan)));
    let requester = (Queue::ClusterStackRelease, facts.key.clone());
    commit(context, &Key::of(found.owner), subject, change, requester);
}

/// Forwards a request to reconcile to the source of the release and to its class, unless its `ClusterStack` is suspended, or
/// may not write beside its repository.
async fn forward_request(
    context: &Context,
    facts: &Facts<'_>,
    found: &Found<'_>,
) -> Result<(), RequestError> {
    if found.owner.spec.suspend || found.content.is_not_allowed() {
        return Ok(());
    }
    let object = facts.object;
    let handled = object.status.as_ref().and_then(|status| status.last_handled_reconcile_at.as_deref());
    for recorded in object.status.iter().flat_map(|status| &status.objects) {
        let kind = FluxKind::of(&recorded.kind);
        let kinds = [FluxKind::GitRepository, FluxKind::HelmRelease];
        if let Some(kind) = kind.filter(|kind| kinds.contains(kind)) {
            let key = Key::new(&recorded.namespace, &recorded.name);
            // Another client may have given the name to another object.
            let found = context.caches.flux.get(kind, &key);
            if found.is_some_and(|found| !is_marked((&*found).into())) {
                continue;
            }
            request::forward(context, (kind, &key), object, handled).await?;
        }
    }
    Ok(())
}
