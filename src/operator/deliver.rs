//! Writes one planned Flux object to the API server if it differs.

use std::sync::Arc;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::core::{ApiResource, DynamicObject};
use kube::{Resource as _, ResourceExt as _};
use serde_json::{Value, json};

use super::context::Context;
use crate::foreign::flux::FluxKind;
use crate::foreign::flux::observed::{FluxObject, SpecDigest};
use crate::plan::PlannedObject;
use crate::plan::delivery::{self, Action, Baseline, action, foreign_fields};
use crate::runtime::api_server::RequestError;
use crate::runtime::cache::Key;

/// The result of delivering an object.
#[derive(Debug)]
pub struct Delivery {
    /// The object as it is now; `None` while an old object of the same name is being deleted.
    pub object: Option<Arc<FluxObject>>,
    /// Digest of the spec as returned by the operator's last write.
    pub expected: Option<SpecDigest>,
    /// The field manager whose changes were reverted, if any.
    pub repaired: Option<String>,
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

/// A resource version that no object has, because the store is past it when the first object is written. An apply with it
/// creates the object, and conflicts if the object exists.
const ABSENT: &str = "1";

/// Returns the digest of the spec of an object that Flux applied as planned; `None` if the object does not exist, or is as
/// in an earlier plan. Its present spec counts as planned, because Flux corrects drift.
pub fn applied(context: &Context, planned: &PlannedObject) -> Option<SpecDigest> {
    let found = context.caches.flux.get(planned.kind()?, &planned.id.key())?;
    delivery::applied(&found, planned)
}

/// Delivers an object of a kind, and caches the result.
pub async fn deliver(
    context: &Context,
    kind: FluxKind,
    desired: Desired<'_>,
) -> Result<Delivery, RequestError> {
    let cache = context.caches.flux.of(kind);
    let key = desired.planned.id.key();
    let found = cache.get(&key);
    let keeper = keeper(context, kind, &desired);
    let baseline = Baseline::LastWrite {
        spec_digest: desired.expected,
        owner: desired.owners.first().map(|owner| owner.uid.as_str()),
        namespace: keeper.as_ref().map(|keeper| keeper.uid.as_str()),
    };
    let todo = action(desired.planned, found.as_deref().map(Into::into), baseline);
    let expected = desired.expected.cloned();
    match todo {
        Action::Nothing => {
            context.metrics.runtime.skipped(kind.as_str());
            Ok(Delivery { object: found, expected, repaired: None })
        }
        Action::Wait => Ok(Delivery { object: None, expected: None, repaired: None }),
        Action::Apply | Action::Repair => {
            let before = found.as_ref().and_then(|found| found.resource_version());
            let _writing = cache.writing(&key);
            let owners: Vec<&OwnerReference> = desired.owners.iter().chain(&keeper).collect();
            let before = before.as_deref();
            let over = desired.shared.then(|| before.unwrap_or(ABSENT));
            let written = apply(context, kind, &key, desired.planned, &owners, (before, over)).await?;
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
            Ok(Delivery { object: Some(cache.written(written)), expected, repaired: manager })
        }
    }
}

async fn apply(
    context: &Context,
    kind: FluxKind,
    key: &Key,
    planned: &PlannedObject,
    owners: &[&OwnerReference],
    (before, over): (Option<&str>, Option<&str>),
) -> Result<FluxObject, RequestError> {
    let mut object = planned.value.clone();
    if let Some(metadata) = object.get_mut("metadata").filter(|_| !owners.is_empty()) {
        metadata["ownerReferences"] = json!(owners);
        if let Some(over) = over {
            metadata["resourceVersion"] = json!(over);
        }
    }
    context.api.apply_dynamic(key, &object, before, &kind).await
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
