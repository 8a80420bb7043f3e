//! The provider contract: for each release an object of the provider, made from a template, reports when the provider is
//! ready.

use k8s_openapi::api::core::v1::ObjectReference as Reference;
use kube::ResourceExt as _;
use kube::core::{ApiResource, DynamicObject, GroupVersionKind};
use serde_json::Value;

use super::super::context::Context;
use super::super::objects::provider_reference;
use super::super::related::Depth;
use crate::api::{ClusterStack, ClusterStackRelease, Reason};
use crate::plan::{is_provider_object_written, provider_object};
use crate::rollup::{ConditionStatus, Report, provider_ready};
use crate::runtime::api_server::RequestError;
use crate::runtime::cache::Key;
use crate::subscription::provider_references;

/// The provider's object of a release.
#[derive(Debug)]
pub(super) struct Provider {
    /// The readiness of the provider's object.
    pub(super) report: Report,
    /// Whether the kind of the object or of its template is not listed yet.
    pub(super) is_unlisted: bool,
    /// The change to write, if the object differs from its template.
    change: Option<Change>,
}

#[derive(Debug)]
struct Change {
    key: Key,
    kind: ApiResource,
    object: Value,
}

impl From<Report> for Provider {
    fn from(report: Report) -> Self {
        Self { report, is_unlisted: false, change: None }
    }
}

impl Provider {
    /// Returns the reason why the provider's object is not ready, if any.
    pub(super) fn problem(&self) -> Option<&str> {
        (self.report.status != ConditionStatus::True).then_some(self.report.message.as_str())
    }
}

/// Returns the state of the provider's object of a release, and the change to write, if any.
pub(super) fn provider(context: &Context, release: &ClusterStackRelease, stack: &ClusterStack) -> Provider {
    let Some((template, object)) = provider_references(stack, release) else {
        let message = "the ClusterStack has no provider integration";
        return Report::new(ConditionStatus::True, Reason::NotNeeded.as_str(), message).into();
    };
    let namespace = release.namespace().unwrap_or_default();
    let of = template.namespace.clone().unwrap_or_else(|| namespace.clone());
    if of != namespace && context.settings.defaults.no_cross_namespace_refs {
        let message = "spec.providerRef names another namespace, and --no-cross-namespace-refs is set";
        return Report::new(ConditionStatus::False, Reason::AccessDenied.as_str(), message).into();
    }
    let (wanted, made) = (provider_reference(template), provider_reference(object));
    let unlisted = || Provider { is_unlisted: true, ..Report::not_yet_reported().into() };
    let Ok(found) = context.related.get(&of, &wanted, Depth::Whole) else { return unlisted() };
    let Ok(live) = context.related.get(&namespace, &made, Depth::Whole) else { return unlisted() };
    let Some(found) = found else {
        let message = format!("{} {of}/{} does not exist", wanted.kind, wanted.name);
        let reason = Reason::ProviderTemplateNotFound.as_str();
        return Report::new(ConditionStatus::False, reason, &message).into();
    };
    let live = live.as_ref().map(|live| &live.value);
    let desired = provider_object(release, object, &found.value);
    let is_written = live.is_some_and(|live| is_provider_object_written(live, &desired));
    let change = Change { key: Key::new(&namespace, &made.name), kind: kind(object), object: desired };
    let report = provider_ready(&made, live);
    Provider { report, is_unlisted: false, change: (!is_written).then_some(change) }
}

/// Writes the provider's object if it differs from its template.
pub(super) async fn apply(context: &Context, provider: &Provider) -> Result<(), RequestError> {
    if let Some(Change { key, kind, object }) = &provider.change {
        let _: DynamicObject = context.api.apply_dynamic(key, object, None, kind).await?;
    }
    Ok(())
}

fn kind(object: &Reference) -> ApiResource {
    let api_version = object.api_version.as_deref().unwrap_or_default();
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, object.kind.as_deref().unwrap_or_default()))
}
