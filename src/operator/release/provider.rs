//! The provider contract: an object of the provider for each release, made from a template, that says when the release is
//! ready on its side.

use k8s_openapi::api::core::v1::ObjectReference as Reference;
use kube::ResourceExt as _;
use kube::core::{ApiResource, DynamicObject, GroupVersionKind};
use serde_json::{Value, json};

use super::super::context::Context;
use super::super::objects::provider_reference;
use super::super::ownership;
use super::super::related::Depth;
use crate::api::{ClusterStack, ClusterStackRelease, Reason, labels};
use crate::foreign::capi::{ObjectReference, field, text};
use crate::rollup::{ConditionStatus, Report};
use crate::runtime::api_server::RequestError;
use crate::runtime::cache::Key;

/// What the provider's object of a release says; it is written where `writes` and it is not as its template says.
pub(super) async fn ready(
    context: &Context,
    release: &ClusterStackRelease,
    stack: &ClusterStack,
    writes: bool,
) -> Result<Report, RequestError> {
    let template = stack.spec.provider_ref.as_ref().filter(|_| !stack.spec.no_provider);
    let (Some(template), Some(object)) = (template, &release.spec.provider_ref) else {
        let message = "the ClusterStack has no provider integration";
        return Ok(Report::new(ConditionStatus::True, Reason::NotNeeded.as_str(), message));
    };
    let namespace = release.namespace().unwrap_or_default();
    let of = template.namespace.clone().unwrap_or_else(|| namespace.clone());
    if of != namespace && context.settings.no_cross_namespace_refs {
        let message = "spec.providerRef names another namespace, and --no-cross-namespace-refs is set";
        return Ok(Report::new(ConditionStatus::False, Reason::AccessDenied.as_str(), message));
    }
    let (wanted, made) = (provider_reference(template), provider_reference(object));
    let Ok(found) = context.related.get(&of, &wanted, Depth::Whole) else {
        return Ok(Report::not_yet_reported());
    };
    let Ok(live) = context.related.get(&namespace, &made, Depth::Whole) else {
        return Ok(Report::not_yet_reported());
    };
    let Some(found) = found else {
        let message = format!("{} {of}/{} does not exist", wanted.kind, wanted.name);
        return Ok(Report::new(ConditionStatus::False, Reason::ProviderTemplateNotFound.as_str(), &message));
    };
    let live = live.map(|live| live.value.clone());
    let desired = desired(release, object, &found.value);
    let is_right = live.as_ref().is_some_and(|live| is_written(live, &desired));
    if writes && !is_right {
        let key = Key::new(&namespace, &made.name);
        let kind = kind(object);
        let _: DynamicObject = context.api.apply_dynamic(&key, &desired, None, &kind).await?;
    }
    Ok(said(&made, live.as_ref()))
}

fn kind(object: &Reference) -> ApiResource {
    let api_version = object.api_version.as_deref().unwrap_or_default();
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, object.kind.as_deref().unwrap_or_default()))
}

/// The object as its template has it, owned by the release.
fn desired(release: &ClusterStackRelease, object: &Reference, template: &Value) -> Value {
    let of = |path: &[&str]| field(template, path).cloned().unwrap_or_else(|| json!({}));
    let mut labels = of(&["spec", "template", "metadata", "labels"]);
    if let Some(labels) = labels.as_object_mut() {
        labels.insert(labels::MANAGED_BY.to_owned(), json!(labels::FIELD_MANAGER));
    }
    json!({
        "apiVersion": object.api_version,
        "kind": object.kind,
        "metadata": {
            "name": object.name,
            "namespace": release.namespace(),
            "labels": labels,
            "annotations": of(&["spec", "template", "metadata", "annotations"]),
            "ownerReferences": [ownership::controller(release)],
        },
        "spec": of(&["spec", "template", "spec"]),
    })
}

/// Whether the object is as its template has it. What the provider added is not ours; the version that it is served in may
/// be another.
fn is_written(live: &Value, desired: &Value) -> bool {
    [&["metadata", "labels"][..], &["metadata", "annotations"], &["metadata", "ownerReferences"], &["spec"]]
        .into_iter()
        .all(|path| field(desired, path).is_none_or(|wanted| holds(field(live, path), wanted)))
}

/// Whether all that is wanted is there. An empty mapping need not be.
fn holds(live: Option<&Value>, wanted: &Value) -> bool {
    match (live, wanted) {
        (_, Value::Object(wanted)) => {
            wanted.iter().all(|(key, wanted)| holds(live.and_then(|live| live.get(key)), wanted))
        }
        (Some(Value::Array(live)), Value::Array(wanted)) => {
            live.len() == wanted.len()
                && live.iter().zip(wanted).all(|(live, wanted)| holds(Some(live), wanted))
        }
        (live, wanted) => live == Some(wanted),
    }
}

fn said(object: &ObjectReference, live: Option<&Value>) -> Report {
    let ready = live.and_then(|live| field(live, &["status", "ready"])).and_then(Value::as_bool);
    if ready == Some(true) {
        return Report::new(ConditionStatus::True, Reason::Usable.as_str(), "the provider's object is ready");
    }
    let conditions = live.and_then(|live| field(live, &["status", "conditions"])).and_then(Value::as_array);
    let told = conditions
        .into_iter()
        .flatten()
        .filter(|condition| text(condition, &["status"]) != "True")
        .map(|condition| text(condition, &["message"]))
        .find(|message| !message.is_empty());
    let message = match told {
        Some(told) => format!("{} {} is not ready: {told}", object.kind, object.name),
        None => format!("{} {} is not ready yet", object.kind, object.name),
    };
    Report::new(ConditionStatus::Unknown, Reason::ProviderNotReady.as_str(), &message)
}

#[cfg(test)]
mod tests;
