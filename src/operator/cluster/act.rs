//! The writes for a Cluster that precede its status: sources, the objects of addons (applied or committed, as the
//! `ClusterStack` requires), and requests to Flux.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures::future::join_all;

use super::super::context::Context;
use super::super::deliver::REQUEUE_EXISTING_AFTER;
use super::super::git_delivery::pending_commits::{Change, CommitState, Subject};
use super::super::metrics::Queue;
use super::super::objects::ClusterObject;
use super::super::{annotations, deliver, events, git_delivery, request, retry, write};
use super::{recovery, upgrade};
use crate::addons::{
    Available, Decision, Delivery, Facts, ObjectWrite, Receipts, Snapshot, Target, addon_of, committing,
    deciding_again, is_committer_named,
};
use crate::api::{ClusterAddon, Reason};
use crate::foreign::flux::FluxKind;
use crate::foreign::flux::observed::{FluxObject, SpecDigest};
use crate::gate::Hold;
use crate::plan::delivery::{Purpose, suspension};
use crate::plan::repair::Wait;
use crate::plan::write::Write;
use crate::plan::{PlannedObject, existing};
use crate::runtime::api_server::RequestError;
use crate::runtime::cache::Key;
use crate::runtime::queue::{Next, at};

/// The result of the writes.
pub(super) struct Acted {
    /// The results that the status reports.
    pub(super) receipts: Receipts,
    /// The first failure, to retry the reconcile.
    pub(super) failure: Option<RequestError>,
    /// Time of the next attempt: at an installation that Flux gave up on, or at a name that an object of another client has.
    pub(super) retry: Next,
}

/// Carries out a decision. The failure of one addon does not stop the writes for others.
pub(super) async fn act(
    context: &Context,
    (key, cluster): (&Key, &ClusterObject),
    facts: &Facts<'_>,
    decision: &Decision,
) -> Result<Acted, RequestError> {
    let are_noted = retry::note_repeats(context, &decision.repeats).await?;
    let refusal = if are_noted { upgrade::act(context, cluster, facts, decision).await? } else { None };
    for object in &decision.relabels {
        write::patch(context, &**object, annotations::label(&**object)).await?;
    }
    let not_resumed = resume(context, &decision.resumes).await.err();
    if !decision.delivery.is_written() {
        git_delivery::cancel(context, &Subject::Cluster(key.clone()));
    }
    let addon = &facts.snapshot.addon;
    let (receipts, failure) = match (&facts.target, &decision.delivery) {
        (Target::Available(available), Delivery::Apply) => {
            apply(context, available, (&facts.snapshot, decision)).await
        }
        (Target::Available(available), Delivery::Commit) => {
            commit(context, key, available, (&facts.snapshot, decision)).await
        }
        _ => (Receipts::without_writes(facts, decision), None),
    };
    let failure = failure.or(not_resumed);
    if let Some(objects) = &decision.requests {
        recovery::request_reconcile(context, addon, objects, facts.snapshot.now).await?;
    }
    let retry = retry::ask(context, &decision.retries, facts.snapshot.now).await?;
    let forced = retry::force(context, &decision.forced_upgrades, facts.snapshot.now).await?;
    let repeated = retry::repeat(context, &decision.repeats, facts.snapshot.now).await?;
    let retry = retry.earlier(forced).earlier(repeated);
    let retry = if are_noted { retry } else { retry.earlier(Next::After(retry::REQUEUE_CHANGED_AFTER)) };
    let is_free = receipts.existing.is_empty();
    let retry = if is_free { retry } else { retry.earlier(Next::After(REQUEUE_EXISTING_AFTER)) };
    let repairs = receipts.waiting_repairs().map(|wait| at(wait.until, facts.snapshot.now));
    let retry = repairs.fold(retry, Next::earlier);
    Ok(Acted { receipts, failure, retry }.with_refusal(refusal))
}

/// Resumes objects that the operator has suspended.
async fn resume(context: &Context, objects: &[Arc<FluxObject>]) -> Result<(), RequestError> {
    for object in objects {
        let resumed = annotations::suspend(context, object, false).await?;
        context.caches.flux.of(object.kind()).written(resumed);
    }
    Ok(())
}

impl Acted {
    /// Adds the refusal of the change of the annotation that delays upgrades.
    pub(super) fn with_refusal(mut self, refusal: Option<RequestError>) -> Self {
        if let Some(refusal) = refusal {
            self.receipts.hook_refusal = Some(refusal.to_string());
            self.failure = self.failure.or(Some(refusal));
        }
        self
    }
}

/// The result of a write.
#[derive(Default)]
struct Written {
    /// The digest of the object's spec; `None` while an old object is being deleted.
    expected: Option<SpecDigest>,
    /// The object; `None` while an old object is being deleted.
    object: Option<Arc<FluxObject>>,
    /// The hold while an object of another client has the name.
    hold: Option<Hold>,
    /// The repair that waits, if any.
    wait: Option<Wait>,
}

/// Carries out the writes of a plan: first those of the sources, then those of the addons concurrently.
async fn apply(
    context: &Context,
    available: &Available<'_>,
    (snapshot, decision): (&Snapshot, &Decision),
) -> (Receipts, Option<RequestError>) {
    let mut receipts = Receipts::unchanged(&snapshot.addon);
    if let Err(error) = apply_sources(context, available, (snapshot, decision), &mut receipts).await {
        note_without_source(context, available, &mut receipts, &error);
        return (receipts, Some(error));
    }
    let addons = available.planned().filter_map(with_kind).filter_map(|(kind, planned)| {
        let name = addon_of(planned);
        let action = decision.actions.get(name)?;
        let fields = Fields { suspend: action.suspend, request: decision.forwards.as_deref() };
        let before = (snapshot.existing(planned).cloned(), receipts.expected.get(name));
        Some(async move {
            let written = match &action.write {
                ObjectWrite::ByOperator(write) => {
                    apply_addon(context, snapshot, (kind, planned, write), before, fields).await
                }
                ObjectWrite::AppliedByFlux(_) | ObjectWrite::ByFlux(_) | ObjectWrite::AfterOtherKind => {
                    Ok(Written::default())
                }
            };
            (name, written)
        })
    });
    let (mut failures, mut conflicts) = (BTreeMap::new(), Vec::new());
    for (name, result) in join_all(addons).await {
        match result {
            Ok(written) => note_written(&mut receipts, name, written),
            Err(conflict) if conflict.is_conflict() => {
                let planned = available.planned().find(|planned| addon_of(planned) == name);
                let taken = planned.and_then(|planned| taken_by(context, planned));
                note_conflict(&mut receipts, name, taken.as_ref());
                conflicts.push(conflict);
            }
            Err(error) => _ = failures.insert(name, error),
        }
    }
    let receipts = with_failures(receipts, &failures);
    (receipts, failures.into_values().chain(conflicts).next())
}

/// Notes that no addon is written, because the write of a source failed or conflicted.
fn note_without_source(
    context: &Context,
    available: &Available<'_>,
    receipts: &mut Receipts,
    error: &RequestError,
) {
    if !error.is_conflict() {
        receipts.without_source = Some(error.to_string());
        return;
    }
    let taken = available.plan.sources().find_map(|source| taken_by(context, source));
    for planned in available.planned() {
        note_conflict(receipts, addon_of(planned), taken.as_ref());
    }
}

/// Notes the result of the write of an addon's object.
fn note_written(receipts: &mut Receipts, addon: &str, written: Written) {
    match written {
        Written { hold: Some(hold), .. } => _ = receipts.existing.insert(addon.to_owned(), hold),
        Written { wait: Some(wait), object, .. } => {
            receipts.objects.extend(object);
            receipts.repairs.insert(addon.to_owned(), wait);
        }
        Written { expected: Some(digest), object, .. } => {
            receipts.expected.insert(addon.to_owned(), digest);
            receipts.objects.extend(object);
        }
        Written { .. } => receipts.wait(addon),
    }
}

/// Returns the hold of an object whose write conflicted, if an object of another client has its name.
fn taken_by(context: &Context, planned: &PlannedObject) -> Option<Hold> {
    let occupant = context.occupants.get(planned.kind()?, &planned.id.key())?;
    (!existing::is_ours((&*occupant).into(), planned)).then(|| existing::hold(&planned.id))
}

/// Notes that the object of an addon was in another state than its write was decided for. The next reconcile decides again.
fn note_conflict(receipts: &mut Receipts, addon: &str, taken: Option<&Hold>) {
    match taken {
        Some(hold) => receipts.existing.insert(addon.to_owned(), hold.clone()),
        None => receipts.on_their_way.insert(addon.to_owned(), deciding_again()),
    };
}

/// Carries out the writes of the sources.
async fn apply_sources(
    context: &Context,
    available: &Available<'_>,
    (snapshot, decision): (&Snapshot, &Decision),
    receipts: &mut Receipts,
) -> Result<(), RequestError> {
    for ((kind, source), write) in available.plan.sources().filter_map(with_kind).zip(&decision.sources) {
        let ObjectWrite::ByOperator(write) = write else { continue };
        let found = snapshot.source(source).cloned();
        let delivery =
            deliver::carry_out(context, (kind, source, write), (found, None), snapshot.now).await?;
        if let Some(hold) = delivery.hold {
            let addons = available.planned().map(|planned| addon_of(planned).to_owned());
            receipts.existing = addons.map(|addon| (addon, hold.clone())).collect();
        }
        receipts.source_repair = delivery.wait.map(|wait| (source.id.clone(), wait));
    }
    Ok(())
}

/// Returns a planned object with its kind; every object for a Cluster is one of Flux.
fn with_kind(planned: &PlannedObject) -> Option<(FluxKind, &PlannedObject)> {
    Some((planned.kind()?, planned))
}

fn with_failures(receipts: Receipts, failures: &BTreeMap<&str, RequestError>) -> Receipts {
    let failures = failures.iter().map(|(name, error)| ((*name).to_owned(), error.to_string()));
    Receipts { failures: failures.collect(), ..receipts }
}

/// The writes to fields outside a plan.
#[derive(Clone, Copy)]
struct Fields<'a> {
    /// The value of `spec.suspend` to write, if any.
    suspend: Option<bool>,
    /// The request to reconcile to forward.
    request: Option<&'a str>,
}

async fn apply_addon(
    context: &Context,
    snapshot: &Snapshot,
    (kind, planned, write): (FluxKind, &PlannedObject, &Write),
    before: (Option<Arc<FluxObject>>, Option<&SpecDigest>),
    fields: Fields<'_>,
) -> Result<Written, RequestError> {
    let addon = &*snapshot.addon;
    // By the facts that the holds were decided by: a renamed chart is never written without the field.
    let known = planned.known_to(&snapshot.renaming);
    let delivery = deliver::carry_out(context, (kind, &known, write), before, snapshot.now).await?;
    if let Some(manager) = &delivery.repaired {
        events::repaired(context, addon, &planned.id, manager).await;
    }
    let deliver::Delivery { object, expected, hold, wait, .. } = delivery;
    let Some(object) = object else { return Ok(Written { expected, object: None, hold, wait }) };
    let object = Some(write_fields(context, addon, object, fields).await?);
    Ok(Written { expected, object, hold, wait })
}

/// Writes fields outside a plan: forwards a request to reconcile, and suspends or resumes the object as decided.
async fn write_fields(
    context: &Context,
    addon: &ClusterAddon,
    object: Arc<FluxObject>,
    fields: Fields<'_>,
) -> Result<Arc<FluxObject>, RequestError> {
    if object.metadata.terminating {
        return Ok(object);
    }
    let object = match fields.request {
        Some(wanted) => request::forward(context, object, addon, wanted).await?,
        None => object,
    };
    // A user may have suspended the object since the decision.
    let suspend = fields.suspend.and_then(|suspend| suspension(&object, Purpose::Deliver { suspend }));
    if let Some(suspend) = suspend {
        let suspended = annotations::suspend(context, &object, suspend).await?;
        return Ok(context.caches.flux.of(object.kind()).written(suspended));
    }
    // Flux may have reported since the write: the status need not be written twice.
    Ok(context.caches.flux.newest(&object))
}

/// Requests the commit of all objects of a plan, and finds those that Flux has applied. The status first records the
/// committing `ClusterStack`, which the deletion of the Cluster needs. The plan is shared instead of copied, because most
/// reconciles change nothing.
async fn commit(
    context: &Context,
    key: &Key,
    available: &Available<'_>,
    (snapshot, decision): (&Snapshot, &Decision),
) -> (Receipts, Option<RequestError>) {
    let addon = &*snapshot.addon;
    let state = if is_committer_named(addon, available) {
        let stack = Key::new(available.stack.namespace.as_str(), available.stack.name.as_str());
        let change = Change::Planned(available.plan.clone());
        let requester = (Queue::Cluster, key.clone());
        git_delivery::commit(context, &stack, Subject::Cluster(key.clone()), change, requester)
    } else {
        CommitState::Pending
    };
    let mut receipts = Receipts { committed_by: Some(available.stack_name()), ..Receipts::default() };
    let mut failures = BTreeMap::new();
    for planned in available.planned() {
        let name = addon_of(planned);
        let Some(action) = decision.actions.get(name) else { continue };
        if let Some(found) = snapshot.ours(planned) {
            let fields = Fields { suspend: action.suspend, request: decision.forwards.as_deref() };
            match write_fields(context, addon, found.clone(), fields).await {
                Ok(object) => receipts.objects.push(object),
                Err(error) => {
                    failures.insert(name, error);
                    continue;
                }
            }
        }
        match &action.write {
            ObjectWrite::AppliedByFlux(digest) => {
                receipts.expected.insert(name.to_owned(), digest.clone());
            }
            _ => _ = receipts.on_their_way.insert(name.to_owned(), commit_hold(&state)),
        }
    }
    (with_failures(receipts, &failures), failures.into_values().next())
}

/// Returns the hold of an object that is not as planned yet.
pub(super) fn commit_hold(state: &CommitState) -> Hold {
    match state {
        CommitState::Held(hold) => hold.clone(),
        CommitState::Pending => committing(),
        CommitState::Committed => {
            let message = "it is committed, and Flux has not applied it yet".to_owned();
            Hold { reason: Reason::CommitNotApplied, message }
        }
    }
}
