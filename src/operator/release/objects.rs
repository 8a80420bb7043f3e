//! The objects that are made of a release: delivered, and what became of them.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::Namespace;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::ResourceExt as _;

use super::super::annotations::suspend;
use super::super::context::Context;
use super::super::deliver::deliver;
use super::super::deliver::{Delivery as Delivered, Wanted, applied};
use super::super::reconcile::ReconcileError;
use super::super::{events, ownership};
use crate::api::cluster_addon::AddonState;
use crate::api::cluster_stack_release::GeneratedObject;
use crate::api::{ClusterStack, ClusterStackRelease, ClusterStackReleaseStatus, labels};
use crate::foreign::capi::text;
use crate::foreign::flux::observed::{
    GitRepositoryStatus, HelmChartStatus, HelmReleaseStatus, KustomizationStatus, Observed, ObservedKind,
    SpecDigest,
};
use crate::inputs::ReleaseInputs;
use crate::names::{AddonName, ReleaseName};
use crate::plan::delivery::{Action, namespace_action};
use crate::plan::{ObjectId, Plan, PlannedObject, Step};
use crate::rollup::{
    Expected, ObjectFacts, Verdict, git_repository, helm_chart, helm_release, kept_object, kustomization,
    object_since,
};
use crate::runtime::api_server::RequestError;
use crate::runtime::cache::{Cache, Key};
use crate::runtime::queue::{Next, at};

/// The one kind of a release that is not Flux's.
const NAMESPACE: &str = "Namespace";
/// How often a source is written that others write as well, before the reconcile is tried again later.
const TRIES: u32 = 5;

/// The delivery of one release's plan.
#[derive(Clone, Copy)]
pub(super) struct Delivery<'a> {
    pub(super) context: &'a Context,
    pub(super) object: &'a ClusterStackRelease,
    pub(super) inputs: &'a ReleaseInputs<'a>,
    /// How objects get to the API server.
    pub(super) way: Way,
}

/// How objects get to the API server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    /// Not at all now: the `ClusterStack` is suspended.
    Suspended,
    /// We apply them.
    Api,
    /// We commit them, and Flux applies them.
    Git,
}

impl Way {
    pub(super) fn of(stack: &ClusterStack) -> Self {
        match stack.spec.delivery.git() {
            _ if stack.spec.suspend => Self::Suspended,
            Some(_) => Self::Git,
            None => Self::Api,
        }
    }
}

impl Delivery<'_> {
    /// Delivers the objects of a step in their order, and adds each to the `facts`.
    pub(super) async fn step(
        &self,
        plan: &Plan,
        step: Step,
        facts: &mut Vec<ObjectFacts>,
    ) -> Result<(), ReconcileError> {
        for planned in plan.objects().filter(|object| object.step == step) {
            let expected = self.expected(&planned.id);
            let expected = match self.way {
                Way::Suspended => expected,
                Way::Api => self.deliver(planned, expected).await?,
                Way::Git => self.applied(planned),
            };
            facts.push(self.facts(planned, expected));
        }
        Ok(())
    }

    /// The objects of a step that is not delivered now, where they were before.
    pub(super) fn kept(&self, plan: &Plan, step: Step) -> Vec<ObjectFacts> {
        let planned = plan.objects().filter(|object| object.step == step);
        let kept = planned.filter_map(|planned| Some(self.facts(planned, Some(self.expected(&planned.id)?))));
        kept.collect()
    }

    fn expected(&self, id: &ObjectId) -> Option<SpecDigest> {
        self.object.spec_digest_of(&id.kind, &id.namespace, &id.name).map(SpecDigest::kept)
    }

    async fn deliver(
        &self,
        planned: &PlannedObject,
        expected: Option<SpecDigest>,
    ) -> Result<Option<SpecDigest>, ReconcileError> {
        let caches = &self.context.caches;
        match planned.id.kind.as_str() {
            GitRepositoryStatus::KIND => self.deliver_to(&caches.git_repositories, planned, expected).await,
            HelmChartStatus::KIND => self.deliver_to(&caches.helm_charts, planned, expected).await,
            HelmReleaseStatus::KIND => self.deliver_to(&caches.helm_releases, planned, expected).await,
            KustomizationStatus::KIND => self.deliver_to(&caches.kustomizations, planned, expected).await,
            _ => self.deliver_namespace(planned, expected).await,
        }
    }

    /// The digest of the spec of an object that Flux has applied as it is planned.
    fn applied(&self, planned: &PlannedObject) -> Option<SpecDigest> {
        let caches = &self.context.caches;
        match planned.id.kind.as_str() {
            GitRepositoryStatus::KIND => applied(&caches.git_repositories, planned),
            HelmChartStatus::KIND => applied(&caches.helm_charts, planned),
            HelmReleaseStatus::KIND => applied(&caches.helm_releases, planned),
            KustomizationStatus::KIND => applied(&caches.kustomizations, planned),
            _ => {
                let found = caches.namespaces.get(&Key::new("", &planned.id.name))?;
                let digest = found.annotations().get(labels::PLAN_DIGEST).map(String::as_str);
                (digest == Some(planned.digest())).then(|| SpecDigest::kept(planned.digest()))
            }
        }
    }

    async fn deliver_to<Status: ObservedKind>(
        &self,
        cache: &Cache<Observed<Status>>,
        planned: &PlannedObject,
        expected: Option<SpecDigest>,
    ) -> Result<Option<SpecDigest>, ReconcileError> {
        let delivery = self.deliver_over(cache, planned, expected.as_ref()).await?;
        if let Some(manager) = &delivery.repaired {
            events::repaired(self.context, self.object, &planned.id, manager).await;
        }
        // It was let go of by an earlier ClusterStack; a person's suspend stays.
        if let Some(object) = delivery.object.filter(|object| object.metadata.suspended_by_settings) {
            cache.written(suspend(self.context, &Key::of(&*object), false).await?);
        }
        Ok(delivery.expected)
    }

    /// Delivers an object over its present state. Several releases have the same sources, and each adds itself to the owners
    /// that it finds; where another one did so in between, that is looked at again.
    async fn deliver_over<Status: ObservedKind>(
        &self,
        cache: &Cache<Observed<Status>>,
        planned: &PlannedObject,
        expected: Option<&SpecDigest>,
    ) -> Result<Delivered<Status>, RequestError> {
        let key = Key::new(&planned.id.namespace, &planned.id.name);
        let shared = planned.step == Step::Sources;
        let mut tries = if shared { TRIES } else { 1 };
        loop {
            let owners = self.owners(planned, cache.get(&key).as_deref());
            let wanted = Wanted { planned, expected, owners: &owners, shared };
            tries -= 1;
            match deliver(self.context, cache, wanted).await {
                Err(error) if error.is_conflict() && tries > 0 => {
                    if let Some(found) = ownership::present(self.context, cache, &key).await? {
                        cache.written(found);
                    }
                }
                delivered => return delivered,
            }
        }
    }

    /// A Namespace has nothing that we look at: the digest of its plan says that it was written.
    async fn deliver_namespace(
        &self,
        planned: &PlannedObject,
        expected: Option<SpecDigest>,
    ) -> Result<Option<SpecDigest>, ReconcileError> {
        if namespace_action(planned, expected.as_ref()) != Action::Nothing {
            let key = Key::new("", &planned.id.name);
            let _: Namespace = self.context.api.apply(&key, &planned.value, None).await?;
        }
        Ok(Some(SpecDigest::kept(planned.digest())))
    }

    /// The owners of an object: this release, and where others have it, too, all of them that are there. There is no owner
    /// in another namespace.
    fn owners<Status>(
        &self,
        planned: &PlannedObject,
        found: Option<&Observed<Status>>,
    ) -> Vec<OwnerReference> {
        let namespace = self.object.namespace().unwrap_or_default();
        if !planned.can_be_owned_in(&namespace) {
            return Vec::new();
        }
        let us = ownership::owner(self.object);
        let others = found.into_iter().flat_map(|found| found.object.owner_references.iter().flatten());
        let others = others.filter(|other| {
            let release = self.context.caches.releases.get(&Key::new(&namespace, &other.name));
            other.uid != us.uid && release.is_some_and(|release| release.uid().as_ref() == Some(&other.uid))
        });
        std::iter::once(us.clone()).chain(others.cloned()).collect()
    }

    fn facts(&self, planned: &PlannedObject, expected: Option<SpecDigest>) -> ObjectFacts {
        let (id, step) = (planned.id.clone(), planned.step);
        if id.kind == NAMESPACE {
            // It has no status that says anything: it is there once it was written.
            let verdict = expected.is_some().then_some(Verdict::Applied);
            return ObjectFacts { id, step, expected, verdict };
        }
        let before = self.object.status.as_ref().and_then(|status| kept_object(&status.objects, &planned.id));
        let verdict = expected.as_ref().and_then(|digest| {
            let now = Timestamp::now();
            let version = self.version(planned);
            let since = object_since(before, &digest.to_string(), now);
            let state = AddonState { spec_digest: Some(digest.to_string()), version };
            judge(self.context, &planned.id, &Expected::kept(&state, since)?, now)
        });
        ObjectFacts { id, step, expected, verdict }
    }

    /// What counts as done: the commit of a source, that of the source of a chart or of manifests, the version of the
    /// class's chart.
    fn version(&self, planned: &PlannedObject) -> Option<String> {
        let pins = &self.inputs.contents.pins;
        match planned.id.kind.as_str() {
            GitRepositoryStatus::KIND => Some(text(&planned.value, &["spec", "ref", "commit"]).to_owned()),
            HelmReleaseStatus::KIND => Some(self.inputs.release.cluster_class.version.clone()),
            _ => {
                let source: ReleaseName =
                    text(&planned.value, &["spec", "sourceRef", "name"]).parse().ok()?;
                Some(pins.get(&source)?.revision.to_string())
            }
        }
    }
}

fn judge(context: &Context, id: &ObjectId, expected: &Expected, now: Timestamp) -> Option<Verdict> {
    let (key, caches) = (Key::new(&id.namespace, &id.name), &context.caches);
    let moment = context.moment(&id.kind, now);
    match id.kind.as_str() {
        GitRepositoryStatus::KIND => {
            Some(git_repository(&*caches.git_repositories.get(&key)?, expected, &moment))
        }
        HelmChartStatus::KIND => Some(helm_chart(&*caches.helm_charts.get(&key)?, expected, &moment)),
        HelmReleaseStatus::KIND => Some(helm_release(&*caches.helm_releases.get(&key)?, expected, &moment)),
        KustomizationStatus::KIND => {
            Some(kustomization(&*caches.kustomizations.get(&key)?, expected, &moment))
        }
        // Nothing is asked of a Namespace but to be there.
        _ => Some(Verdict::Applied),
    }
}

/// The objects of a release that cannot be used: those that the status has, as they are now.
pub(super) fn as_they_are(context: &Context, object: &ClusterStackRelease) -> Vec<ObjectFacts> {
    let now = Timestamp::now();
    let facts = |kept: &GeneratedObject| {
        let id = ObjectId {
            api_version: String::new(),
            kind: kept.kind.clone(),
            namespace: kept.namespace.clone(),
            name: kept.name.clone(),
        };
        let step = match kept.kind.as_str() {
            KustomizationStatus::KIND => Step::NodeImages,
            HelmReleaseStatus::KIND | NAMESPACE => Step::ClusterClass,
            HelmChartStatus::KIND if kept.name == object.name_any() => Step::ClusterClass,
            _ => Step::Sources,
        };
        let state =
            AddonState { spec_digest: kept.spec_digest.clone(), version: present_version(context, &id) };
        let since = kept.spec_digest.as_deref().map(|digest| object_since(Some(kept), digest, now));
        let expected = since.and_then(|since| Expected::kept(&state, since));
        let verdict = expected.as_ref().and_then(|expected| judge(context, &id, expected, now));
        ObjectFacts { id, step, expected: expected.map(|expected| expected.spec_digest), verdict }
    };
    object.status.iter().flat_map(|status| &status.objects).map(facts).collect()
}

/// What an object delivers as it is now: what a plan would say is not known.
fn present_version(context: &Context, id: &ObjectId) -> Option<String> {
    let (key, caches) = (Key::new(&id.namespace, &id.name), &context.caches);
    let commit = |namespace: &str, source: &str| {
        let namespace = if namespace.is_empty() { &id.namespace } else { namespace };
        Some(caches.git_repositories.get(&Key::new(namespace, source))?.refers_to.commit.clone())
    };
    match id.kind.as_str() {
        GitRepositoryStatus::KIND => commit("", &id.name),
        HelmChartStatus::KIND => commit("", &caches.helm_charts.get(&key)?.refers_to.source),
        KustomizationStatus::KIND => {
            let source = &caches.kustomizations.get(&key)?.refers_to;
            commit(&source.source_namespace, &source.source)
        }
        HelmReleaseStatus::KIND => {
            let history = &caches.helm_releases.get(&key)?.status.history;
            history.first().map(|snapshot| snapshot.chart_version.clone())
        }
        _ => None,
    }
}

/// What counts as applied of each addon, as far as it is known: the version of the chart that Flux packaged, the commit of
/// manifests.
pub(super) fn versions(context: &Context, inputs: &ReleaseInputs) -> BTreeMap<AddonName, String> {
    let version = |addon: &crate::release::Addon| {
        let pinned = inputs.contents.addons.get(&addon.name)?;
        let commit = inputs.contents.pins.get(&pinned.release)?.revision.to_string();
        if !addon.is_chart() {
            return Some((addon.name.clone(), commit));
        }
        let chart = find_chart(context, inputs, pinned.chart.as_str())?;
        let packaged = chart.status.observed_source_artifact_revision.as_deref()?;
        let artifact = chart.status.artifact.as_ref().filter(|_| packaged.ends_with(&commit))?;
        Some((addon.name.clone(), artifact.revision.clone()))
    };
    inputs.release.addons.iter().filter_map(version).collect()
}

/// The chart beside the source, or any copy of it.
fn find_chart(
    context: &Context,
    inputs: &ReleaseInputs,
    name: &str,
) -> Option<Arc<Observed<HelmChartStatus>>> {
    let beside = Key::new(inputs.stack.source.namespace.as_str(), name);
    let charts = &context.caches.helm_charts;
    charts.get(&beside).or_else(|| charts.all().into_iter().find(|chart| chart.name_any() == name))
}

/// When a verdict may change though no object does.
pub(super) fn next_limit(
    context: &Context,
    verdicts: &[(ObjectId, Verdict)],
    status: &ClusterStackReleaseStatus,
    now: Timestamp,
) -> Next {
    let limits = verdicts.iter().filter_map(|(id, verdict)| {
        context.moment(&id.kind, now).next_limit(verdict, kept_object(&status.objects, id)?.since.as_ref()?.0)
    });
    limits.min().map_or(Next::Await, |limit| at(limit, now))
}
