//! Carries out the decided write of one planned Flux object.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::Resource as _;
use kube::core::{ApiResource, DynamicObject};
use serde_json::{Value, json};

use super::context::Context;
use super::write::{self, ABSENT};
use crate::foreign::flux::FluxKind;
use crate::foreign::flux::observed::{FluxObject, SpecDigest};
use crate::gate::Hold;
use crate::plan::delivery::{self, foreign_fields};
use crate::plan::repair::Wait;
use crate::plan::write::{Apply, Precondition, RepairState, Write};
use crate::plan::{self, Plan, PlannedObject, existing};
use crate::runtime::api_server::RequestError;
use crate::runtime::cache::Key;

/// The result of delivering an object.
#[derive(Debug, Default)]
pub struct Delivery {
    /// The object as it is now; `None` while an old object of the same name is being deleted, or one of another client has the
    /// name.
    pub object: Option<Arc<FluxObject>>,
    /// Digest of the spec as returned by the operator's last write.
    pub expected: Option<SpecDigest>,
    /// The field manager whose changes were reverted, if any.
    pub repaired: Option<String>,
    /// The hold while an object of another client has the name: nothing was written.
    pub hold: Option<Hold>,
    /// The repair that waits, because another client changes the object again and again: nothing was written.
    pub wait: Option<Wait>,
}

/// Delay before a retry while an object of another client has the name of a planned one. The watches have only objects of
/// stackflux, so no event announces that the other one changed or is gone.
pub const REQUEUE_EXISTING_AFTER: Duration = Duration::from_secs(30);

/// Returns the digest of the spec of an object that Flux applied as planned; `None` if the object does not exist, or is as
/// in an earlier plan. Its present spec counts as planned, because Flux corrects drift.
pub fn applied(context: &Context, planned: &PlannedObject) -> Option<SpecDigest> {
    let found = context.caches.flux.get(planned.kind()?, &planned.id.key())?;
    delivery::applied(&found, planned)
}

/// Fetches the objects of other clients that have the names of planned ones, if they were fetched a while ago: nothing else
/// shows that they are gone.
pub async fn look_again(context: &Context, plan: &Plan, now: Timestamp) -> Result<(), RequestError> {
    for planned in plan.objects() {
        let Some(kind) = planned.kind() else { continue };
        if context.occupants.is_outdated(kind, &planned.id.key(), now) {
            existing_object(context, (kind, planned), now).await?;
        }
    }
    Ok(())
}

/// Returns the repairs of an object.
pub fn repairs(context: &Context, (kind, key): (FluxKind, &Key), now: Timestamp) -> RepairState {
    let (digest, next) = (context.repairs.digest(kind, key, now), context.repairs.next(kind, key, now));
    RepairState { digest, next }
}

/// Returns the Namespace of an object as an owner, if known.
pub fn namespace_owner(context: &Context, name: &str) -> Option<OwnerReference> {
    let found = context.caches.namespaces.get(&Key::new("", name))?;
    Some(plan::write::namespace_owner(name, found.metadata.uid.as_deref()?))
}

/// Carries out the write of a planned object, and caches the result. `found` and `expected` are those that the write was
/// decided by, and `now` is the time of the facts.
///
/// If the object is in another state, fetches it, so that the next reconcile decides by that state, and fails with the
/// conflict.
pub async fn carry_out(
    context: &Context,
    (kind, planned, write): (FluxKind, &PlannedObject, &Write),
    (found, expected): (Option<Arc<FluxObject>>, Option<&SpecDigest>),
    now: Timestamp,
) -> Result<Delivery, RequestError> {
    let unchanged = Delivery { expected: expected.cloned(), ..Delivery::default() };
    match write {
        Write::Nothing => {
            context.metrics.runtime.skipped(kind.as_str());
            Ok(Delivery { object: found, ..unchanged })
        }
        Write::AfterDeletion => Ok(Delivery::default()),
        Write::Taken => Ok(Delivery { hold: Some(existing::hold(&planned.id)), ..unchanged }),
        Write::Later(wait) => Ok(Delivery { object: found, wait: Some(wait.clone()), ..unchanged }),
        Write::Apply(decided) => match apply(context, (kind, planned), decided, now).await {
            Err(conflict) if conflict.is_conflict() => {
                existing_object(context, (kind, planned), now).await?;
                Err(conflict)
            }
            applied => applied,
        },
    }
}

/// Fetches the object that has the name of a planned one, and caches it; one of another client separately, because the watches
/// do not report it. Its status may be unreadable.
pub async fn existing_object(
    context: &Context,
    (kind, planned): (FluxKind, &PlannedObject),
    now: Timestamp,
) -> Result<(), RequestError> {
    let key = planned.id.key();
    let (cache, occupants) = (context.caches.flux.of(kind), &context.occupants);
    let before = cache.uid(&key);
    let live: Option<FluxObject> = context.api.get_dynamic(&key, &kind).await?;
    let Some(live) = live else {
        cache.missing(&key, before.as_deref());
        occupants.forget(kind, &key);
        return Ok(());
    };
    cache.exists(&live);
    let is_watched = |cached: Arc<FluxObject>| cached.object.uid == live.object.uid;
    if existing::is_ours((&live).into(), planned) {
        cache.fetched(live.clone());
    }
    // The cache has no object that is being deleted and that a list lacks.
    if cache.get(&key).is_some_and(is_watched) {
        occupants.forget(kind, &key);
    } else {
        cache.remove(&key, before.as_deref());
        occupants.note(live, now);
    }
    Ok(())
}

/// Applies an object, and removes the fields of its spec that are not ours.
async fn apply(
    context: &Context,
    (kind, planned): (FluxKind, &PlannedObject),
    decided: &Apply,
    now: Timestamp,
) -> Result<Delivery, RequestError> {
    let (key, cache) = (planned.id.key(), context.caches.flux.of(kind));
    let _writing = cache.writing(&key);
    let object = over(planned, decided);
    let written: FluxObject =
        context.api.apply_dynamic(&key, &object, decided.before.as_deref(), &kind).await?;
    context.repairs.record(kind, &key, planned.digest(), decided.is_repair, now);
    let manager = written.metadata.foreign_manager().map(str::to_owned);
    let written = match &manager {
        Some(_) => without_foreign_fields(context, &key, written).await?,
        None => written,
    };
    Ok(Delivery {
        expected: Some(written.spec_digest.clone()),
        object: Some(write::store(context, written, &kind).await?),
        repaired: manager.or_else(|| decided.manager.clone()),
        ..Delivery::default()
    })
}

/// Returns the planned object with its owners and its precondition.
fn over(planned: &PlannedObject, decided: &Apply) -> Value {
    let mut object = planned.value.clone();
    if let Some(metadata) = object.get_mut("metadata") {
        if !decided.owners.is_empty() {
            metadata["ownerReferences"] = json!(decided.owners);
        }
        match &decided.over {
            Precondition::Absent => metadata["resourceVersion"] = json!(ABSENT),
            Precondition::Unchanged(version) => metadata["resourceVersion"] = json!(version),
            Precondition::Same(uid) => metadata["uid"] = json!(uid),
        }
    }
    object
}

/// Removes the fields that other field managers put into an object's spec and that no apply of the operator removes.
/// Removing a field does not make the operator its manager. Replacing the value would, and the field would then stay when a
/// later plan drops it.
async fn without_foreign_fields(
    context: &Context,
    key: &Key,
    written: FluxObject,
) -> Result<FluxObject, RequestError> {
    let kind = written.kind();
    let resource = ApiResource::erase::<FluxObject>(&kind);
    let Some(object) = context.api.get_dynamic::<DynamicObject>(key, &resource).await? else {
        return Ok(written);
    };
    let version = object.meta().resource_version.clone();
    // An object that the API server returned has a JSON form.
    let fields = serde_json::to_value(&object).map(|object| foreign_fields(&object)).unwrap_or_default();
    if fields.is_empty() {
        return Ok(written);
    }
    let test = json!({"op": "test", "path": "/metadata/resourceVersion", "value": version});
    let remove = fields.iter().map(|path| json!({"op": "remove", "path": path}));
    let operations: Value = std::iter::once(test).chain(remove).collect();
    context.api.patch(key, operations, &kind).await
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::tests::fixture::Fixture;

    #[test]
    fn write_has_the_state_that_it_is_decided_for() {
        let plan = Fixture::new().plan("v1", &["c1"]);
        let planned = plan.addons().next().unwrap();
        for (over, expected) in [
            (Precondition::Absent, json!({"resourceVersion": ABSENT})),
            (Precondition::Unchanged("7".to_owned()), json!({"resourceVersion": "7"})),
            (Precondition::Same("u".to_owned()), json!({"uid": "u"})),
        ] {
            let (owners, before, manager) = (Vec::new(), None, None);
            let decided = Apply { over, before, owners, is_repair: false, manager };
            let written = super::over(planned, &decided);
            let mut expected_metadata = planned.value["metadata"].clone();
            expected_metadata.as_object_mut().unwrap().extend(expected.as_object().cloned().unwrap());
            assert_eq!(written["metadata"], expected_metadata);
        }
    }
}
