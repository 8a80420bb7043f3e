//! The `ClusterStackRelease`s of a `ClusterStack`, each pinned where it was first read.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::ObjectReference;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::ResourceExt as _;
use serde_json::{Map, Value, json};

use super::super::context::Context;
use super::super::reconcile::ReconcileError;
use super::super::release::{first_error, is_stack_there, short};
use super::super::{events, ownership};
use super::releases::Releases;
use super::source::Source;
use crate::api::cluster_stack_release::PinnedSource;
use crate::api::{self, ClusterStack, ClusterStackRelease, ClusterStackReleaseSpec, Reason, labels};
use crate::gate::Hold;
use crate::inputs::content::release_path;
use crate::inputs::stack::Stack;
use crate::names::ReleaseName;
use crate::rollup::Verdict;
use crate::rollup::cluster_stack::Trouble;
use crate::runtime::api_server::RequestError;
use crate::runtime::cache::Key;
use crate::subscription::{Claim, Role};

/// Writes the `ClusterStackRelease`s that are wanted where `writes`, and tells what is wrong with which. Returns also why one
/// could not be written: the others are.
pub(super) async fn sync(
    context: &Context,
    stack: &ClusterStack,
    source: &Source,
    releases: &mut Releases,
    writes: bool,
) -> Result<(BTreeMap<ReleaseName, Trouble>, Option<ReconcileError>), ReconcileError> {
    let (mut troubles, mut failure) = (BTreeMap::new(), None);
    let Some(planned) = &source.stack else { return Ok((troubles, failure)) };
    for (name, role) in releases.roles.clone() {
        if let Some(trouble) = trouble(source, releases, &name, role) {
            let is_theirs = matches!(releases.claims.get(&name), Some(Claim::Theirs(_)));
            troubles.insert(name.clone(), trouble);
            if is_theirs {
                continue;
            }
        }
        let found = releases.owned.get(&name).cloned().or_else(|| ownerless(context, planned, &name));
        if let Some(hold) = of_another_shard(context, stack, found.as_deref()).await? {
            troubles.insert(name.clone(), Trouble { is_issue: true, hold });
            continue;
        }
        let Some(desired) = desired(context, stack, planned, source, &name, role, found.as_deref()) else {
            continue;
        };
        let is_right = found.as_ref().is_some_and(|found| desired.is_written(found));
        let is_going = found.as_ref().is_some_and(|found| found.metadata.deletion_timestamp.is_some());
        if is_right {
            context.metrics.runtime.skipped("ClusterStackRelease");
        } else if writes && !is_going {
            match desired.write(context, found.as_deref()).await.map_err(ReconcileError::from) {
                Ok(written) => {
                    told(context, found.as_deref(), &written).await;
                    releases.owned.insert(name, written);
                }
                Err(error) if error.is_told() => {
                    // What its ClusterStack says itself is the cause.
                    if troubles.get(&name).is_none_or(|trouble| !trouble.is_issue) {
                        troubles.insert(name, Trouble { is_issue: true, hold: error.hold() });
                    }
                    failure = Some(error);
                }
                Err(error) => return Err(error),
            }
        }
    }
    Ok((troubles, failure))
}

/// A release that was there before its `ClusterStack`, or that was let go of.
fn ownerless(context: &Context, planned: &Stack, name: &ReleaseName) -> Option<Arc<ClusterStackRelease>> {
    context.caches.releases.get(&Key::new(planned.namespace.as_str(), &name.to_string()))
}

/// Why a release is not ours where a `ClusterStack` has it that this operator does not watch.
async fn of_another_shard(
    context: &Context,
    stack: &ClusterStack,
    found: Option<&ClusterStackRelease>,
) -> Result<Option<Hold>, RequestError> {
    let is_sharded = context.is_sharded();
    let Some(found) = found.filter(|_| is_sharded) else { return Ok(None) };
    let owner = found.owner_references().iter().find(|owner| owner.kind == "ClusterStack");
    let namespace = stack.namespace().unwrap_or_default();
    let is_watched = |owner: &&OwnerReference| {
        Some(&owner.uid) == stack.uid().as_ref()
            || context.caches.stacks.get(&Key::new(&namespace, &owner.name)).is_some()
    };
    let Some(owner) = owner.filter(|owner| !is_watched(owner)) else { return Ok(None) };
    let message = format!("it belongs to ClusterStack {}, which is in another shard", owner.name);
    let is_theirs = is_stack_there(context, found).await?;
    Ok(is_theirs.then_some(Hold { reason: Reason::ReleaseClaimed, message }))
}

/// What is wrong with a release.
fn trouble(source: &Source, releases: &Releases, name: &ReleaseName, role: Role) -> Option<Trouble> {
    let issue = |reason, message| Some(Trouble { is_issue: true, hold: Hold { reason, message } });
    match releases.claims.get(name) {
        Some(Claim::Theirs(other)) => {
            return issue(Reason::ReleaseClaimed, format!("it belongs to ClusterStack {other}"));
        }
        Some(Claim::Disputed(other)) => {
            let message = format!("ClusterStack {other} claims it, too");
            return Some(Trouble { is_issue: false, hold: Hold { reason: Reason::ReleaseClaimed, message } });
        }
        Some(Claim::Ours) | None => {}
    }
    let release = releases.owned.get(name);
    let pin = release.and_then(|release| release.spec.source.as_ref());
    let read = source.catalog.read.as_ref()?;
    match (read.releases.get(name), pin) {
        (None, None) if role <= Role::Used => {
            let at = short(read.revision.as_str());
            let users = users(releases.clusters.get(name).map_or(0, Vec::len));
            let message = format!("the stack repository has no such release at {at}{users}");
            // A release may be there already, and source-controller is not there to fetch it.
            let hold = match &source.verdict {
                Some(Verdict::ApplierUnavailable(silence)) => {
                    Hold { reason: Reason::ApplierUnavailable, message: format!("{message}; {silence}") }
                }
                _ => Hold { reason: Reason::ReleaseNotFound, message },
            };
            // What nobody offers is the mistake of its Clusters, and they say so.
            Some(Trouble { is_issue: role == Role::Offered, hold })
        }
        (Some(Ok(entry)), Some(pin)) if entry.digest.to_string() != pin.digest => {
            issue(Reason::ReleaseMutated, mutated(pin, &read.revision.to_string()))
        }
        (Some(Err(_)), Some(pin)) => issue(Reason::ReleaseMutated, mutated(pin, &read.revision.to_string())),
        (None, Some(pin)) if source.catalog.is_current => {
            let (at, pinned) = (short(read.revision.as_str()), short(&pin.revision));
            let message = format!(
                "the stack repository no longer has the release at {at}; the content of {pinned} stays in use"
            );
            Some(Trouble { is_issue: false, hold: Hold { reason: Reason::ReleaseNotFound, message } })
        }
        (Some(Err(findings)), None) => issue(Reason::Invalid, first_error(findings)),
        _ => None,
    }
}

fn users(count: usize) -> String {
    match count {
        0 => String::new(),
        1 => "; 1 Cluster has its class".to_owned(),
        count => format!("; {count} Clusters have its class"),
    }
}

/// What is told of a release that was changed after it was pinned.
fn mutated(pin: &PinnedSource, revision: &str) -> String {
    format!(
        "the stack repository has other content at {}; the content of {} stays in use: publish the change as a new \
         release",
        short(revision),
        short(&pin.revision)
    )
}

/// A `ClusterStackRelease` as it should be.
struct Desired {
    name: ReleaseName,
    namespace: String,
    owner: OwnerReference,
    retiring_since: Option<String>,
    spec: ClusterStackReleaseSpec,
}

/// The `ClusterStackRelease` as it should be; `None` of one that is not there and cannot be made.
fn desired(
    context: &Context,
    stack: &ClusterStack,
    planned: &Stack,
    source: &Source,
    name: &ReleaseName,
    role: Role,
    found: Option<&ClusterStackRelease>,
) -> Option<Desired> {
    let pin = found
        .and_then(|found| found.spec.source.clone())
        .or_else(|| existing_pin(context, planned, name))
        .or_else(|| new_pin(planned, source, name));
    let is_known = source.catalog.read.as_ref().is_some_and(|read| read.releases.contains_key(name));
    if found.is_none() && (role > Role::Used || (pin.is_none() && !is_known)) {
        return None;
    }
    let since = found.and_then(|found| found.annotations().get(labels::RETIRING_SINCE).cloned());
    let retiring_since =
        (role == Role::Retiring).then(|| since.unwrap_or_else(|| Timestamp::now().to_string()));
    let namespace = planned.namespace.to_string();
    let provider_ref = provider_object(stack, name, &namespace);
    let spec = ClusterStackReleaseSpec { provider_ref, source: pin };
    Some(Desired { name: name.clone(), namespace, owner: ownership::controller(stack), retiring_since, spec })
}

/// The pin of a `GitRepository` that outlived its `ClusterStackRelease`.
fn existing_pin(context: &Context, planned: &Stack, name: &ReleaseName) -> Option<PinnedSource> {
    let namespace = planned.source_namespace(&planned.namespace).as_str();
    let found = context.caches.git_repositories.get(&Key::new(namespace, &name.to_string()))?;
    let digest = found.object.annotations.as_ref()?.get(labels::CONTENT_DIGEST)?.clone();
    let revision = found.refers_to.commit.clone();
    let is_pin = !found.metadata.terminating && !revision.is_empty() && !digest.is_empty();
    is_pin.then(|| PinnedSource { revision, digest, path: directory(planned, name) })
}

/// The content that the stack repository has now; `None` where it cannot be used, which the release itself tells.
fn new_pin(planned: &Stack, source: &Source, name: &ReleaseName) -> Option<PinnedSource> {
    let read = source.catalog.read.as_ref().filter(|_| source.catalog.is_current)?;
    let entry = read.releases.get(name)?.as_ref().ok()?;
    let (revision, digest) = (entry.revision.to_string(), entry.digest.to_string());
    Some(PinnedSource { revision, digest, path: directory(planned, name) })
}

fn directory(planned: &Stack, name: &ReleaseName) -> String {
    release_path(&planned.source.path, name, "").trim_start_matches("./").to_owned()
}

/// The provider's object for a release: of the kind of the template, without `Template`.
fn provider_object(stack: &ClusterStack, name: &ReleaseName, namespace: &str) -> Option<ObjectReference> {
    let template = stack.spec.provider_ref.as_ref().filter(|_| !stack.spec.no_provider)?;
    let kind = template.kind.as_deref()?;
    Some(ObjectReference {
        api_version: template.api_version.clone(),
        kind: Some(kind.strip_suffix("Template").unwrap_or(kind).to_owned()),
        namespace: Some(namespace.to_owned()),
        name: Some(name.to_string()),
        ..ObjectReference::default()
    })
}

impl Desired {
    fn is_written(&self, found: &ClusterStackRelease) -> bool {
        found.spec == self.spec
            && found.annotations().get(labels::RETIRING_SINCE) == self.retiring_since.as_ref()
            && found.finalizers().iter().any(|finalizer| finalizer == labels::FINALIZER)
            && found.owner_references().iter().any(|owner| owner.uid == self.owner.uid)
    }

    async fn write(
        &self,
        context: &Context,
        found: Option<&ClusterStackRelease>,
    ) -> Result<Arc<ClusterStackRelease>, RequestError> {
        let key = Key::new(&self.namespace, &self.name.to_string());
        let before = found.and_then(kube::ResourceExt::resource_version);
        let written = context.api.apply(&key, &self.object(), before.as_deref()).await?;
        let written = context.caches.releases.written(written);
        context.triggers.releases.now(key);
        Ok(written)
    }

    fn object(&self) -> Value {
        let since = self.retiring_since.as_ref();
        let annotations: Map<String, Value> =
            since.map(|since| (labels::RETIRING_SINCE.to_owned(), json!(since))).into_iter().collect();
        json!({
            "apiVersion": format!("{}/{}", api::GROUP, api::VERSION),
            "kind": "ClusterStackRelease",
            "metadata": {
                "name": self.name.to_string(),
                "namespace": self.namespace,
                "labels": {labels::MANAGED_BY: labels::FIELD_MANAGER, labels::RELEASE: self.name.to_string()},
                "annotations": annotations,
                "finalizers": [labels::FINALIZER],
                "ownerReferences": [self.owner],
            },
            "spec": self.spec,
        })
    }
}

/// Tells what is new about a release.
async fn told(context: &Context, before: Option<&ClusterStackRelease>, now: &ClusterStackRelease) {
    let pin = |release: &ClusterStackRelease| release.spec.source.clone();
    if let Some(new) = pin(now).filter(|_| before.and_then(pin).is_none()) {
        let note = format!("pinned at {} ({})", new.revision, new.digest);
        events::normal(context, now, Reason::Valid, &note).await;
    }
    let retiring = |release: &ClusterStackRelease| release.annotations().contains_key(labels::RETIRING_SINCE);
    if retiring(now) && !before.is_some_and(retiring) {
        events::normal(context, now, Reason::Retiring, Reason::Retiring.meaning()).await;
    }
}
