//! Writes one planned Flux object to the API server if it differs.

use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::Resource as _;
use kube::core::{ApiResource, DynamicObject};
use serde_json::{Value, json};

use super::context::Context;
use super::write::{self, ABSENT};
use crate::foreign::flux::FluxKind;
use crate::foreign::flux::observed::{FluxObject, SpecDigest};
use crate::gate::Hold;
use crate::plan::delivery::{self, Action, Baseline, action, foreign_fields};
use crate::plan::repair::{LastWrite, Wait, is_repair};
use crate::plan::{PlannedObject, existing};
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

/// An object to deliver.
#[derive(Clone, Copy, Debug)]
pub struct Desired<'a> {
    /// The planned object.
    pub planned: &'a PlannedObject,
    /// Digest of the spec as returned by the operator's last write, if known.
    pub expected: Option<&'a SpecDigest>,
    /// Owners of the object. It is delivered for the first. The Namespace is added if that keeps Flux from uninstalling.
    pub owners: &'a [OwnerReference],
    /// Whether other owners may be added: the write then conflicts unless the object is as its owners were read.
    pub shared: bool,
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

/// Delivers an object of a kind, and caches the result. If the object is not the one that the cache has, decides again by its
/// present state: the list of the cache may be late, or the object may be one that another client made in its place.
pub async fn deliver(
    context: &Context,
    kind: FluxKind,
    desired: Desired<'_>,
) -> Result<Delivery, RequestError> {
    let key = desired.planned.id.key();
    let found = context.caches.flux.get(kind, &key);
    match deliver_over(context, kind, desired, found).await {
        Err(conflict) if conflict.is_conflict() => {
            let found = existing_object(context, kind, desired.planned).await?;
            if found.is_none() {
                return Err(conflict);
            }
            match deliver_over(context, kind, desired, found).await? {
                // It is being deleted, and the watch may not report the end of an object that the cache does not have.
                Delivery { object: None, hold: None, .. } => Err(conflict),
                delivery => Ok(delivery),
            }
        }
        delivered => delivered,
    }
}

/// Fetches the object that a write conflicted with, and caches it if it is ours: the watches report no others. The cache
/// forgets the object that was there before.
pub async fn existing_object(
    context: &Context,
    kind: FluxKind,
    planned: &PlannedObject,
) -> Result<Option<Arc<FluxObject>>, RequestError> {
    let live = write::present(context, kind, &planned.id.key()).await?;
    let cache = context.caches.flux.of(kind);
    let shared = |live: FluxObject| {
        if existing::is_ours((&live).into(), planned) {
            return cache.written(live);
        }
        cache.remove(&Key::of(&live));
        Arc::new(live)
    };
    Ok(live.map(shared))
}

/// Delivers an object over the state `found`, and caches the result. The write conflicts unless the object is that one.
pub async fn deliver_over(
    context: &Context,
    kind: FluxKind,
    desired: Desired<'_>,
    found: Option<Arc<FluxObject>>,
) -> Result<Delivery, RequestError> {
    let cache = context.caches.flux.of(kind);
    let key = desired.planned.id.key();
    let keeper = keeper(context, kind, &desired);
    let baseline = Baseline::LastWrite {
        spec_digest: desired.expected,
        owner: desired.owners.first().map(|owner| owner.uid.as_str()),
        namespace: keeper.as_ref().map(|keeper| keeper.uid.as_str()),
    };
    let state = found.as_deref().map(Into::into);
    let todo = action(desired.planned, state, baseline);
    let expected = desired.expected.cloned();
    let is_known = expected.is_some() || desired.owners.is_empty();
    let now = context.clock.now();
    let digest = context.repairs.digest(kind, &key, now);
    let last = LastWrite { is_known, is_shared: desired.shared, digest: digest.as_deref() };
    let is_repair = is_repair(todo, (desired.planned, state), last);
    if is_repair && let Some((count, until)) = context.repairs.next(kind, &key, now) {
        let manager = found.as_ref().and_then(|found| found.metadata.foreign_manager().map(str::to_owned));
        let wait = Some(Wait { manager, count, until });
        return Ok(Delivery { object: found, expected, wait, ..Delivery::default() });
    }
    match todo {
        Action::Nothing => {
            context.metrics.runtime.skipped(kind.as_str());
            Ok(Delivery { object: found, expected, ..Delivery::default() })
        }
        Action::Wait => Ok(Delivery::default()),
        Action::Hold => {
            let hold = Some(existing::hold(&desired.planned.id));
            Ok(Delivery { expected, hold, ..Delivery::default() })
        }
        Action::Apply | Action::Repair => {
            let _writing = cache.writing(&key);
            let owners: Vec<&OwnerReference> = desired.owners.iter().chain(&keeper).collect();
            let written = apply(context, kind, desired, &owners, found.as_deref()).await?;
            context.repairs.record(kind, &key, desired.planned.digest(), is_repair, now);
            let manager = written.metadata.foreign_manager().map(str::to_owned);
            let manager = manager.or_else(|| {
                let found = found.as_ref().filter(|_| todo == Action::Repair)?;
                Some(found.metadata.foreign_manager().unwrap_or("another field manager").to_owned())
            });
            let written = match written.metadata.foreign_manager() {
                Some(_) => without_foreign_fields(context, &key, written).await?,
                None => written,
            };
            let expected = Some(written.spec_digest.clone());
            Ok(Delivery {
                object: Some(cache.written(written)),
                expected,
                repaired: manager,
                ..Delivery::default()
            })
        }
    }
}

/// Applies an object over the state `found`: over any state of the same object, or of a shared one only over this state,
/// which has all its owners. Without a state, the apply creates the object.
async fn apply(
    context: &Context,
    kind: FluxKind,
    desired: Desired<'_>,
    owners: &[&OwnerReference],
    found: Option<&FluxObject>,
) -> Result<FluxObject, RequestError> {
    let mut object = desired.planned.value.clone();
    let before = found.and_then(|found| found.object.resource_version.as_deref());
    if let Some(metadata) = object.get_mut("metadata") {
        if !owners.is_empty() {
            metadata["ownerReferences"] = json!(owners);
        }
        match found {
            None => metadata["resourceVersion"] = json!(ABSENT),
            Some(_) if desired.shared && !owners.is_empty() => metadata["resourceVersion"] = json!(before),
            Some(found) => metadata["uid"] = json!(found.object.uid),
        }
    }
    context.api.apply_dynamic(&desired.planned.id.key(), &object, before, &kind).await
}

/// Returns the Namespace as an additional owner of an object [that it keeps](delivery::is_kept_by_namespace).
fn keeper(context: &Context, kind: FluxKind, desired: &Desired<'_>) -> Option<OwnerReference> {
    let name = &desired.planned.id.namespace;
    let found = context.caches.namespaces.get(&Key::new("", name));
    let found = found.filter(|_| !kind.is_source() && !desired.owners.is_empty())?;
    let uid = found.metadata.uid.clone()?;
    let (api_version, kind) = ("v1".to_owned(), "Namespace".to_owned());
    Some(OwnerReference { api_version, kind, name: name.clone(), uid, ..OwnerReference::default() })
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
