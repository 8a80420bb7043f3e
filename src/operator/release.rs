//! One `ClusterStackRelease`: read the release, deliver its sources, node images and cluster class, prepare it for its
//! Clusters, look at what became of all that, say so.

mod content;
mod inventory;
mod objects;
mod provider;
mod tear_down;
pub(super) mod users;

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use kube::ResourceExt as _;
use tracing::debug;

use super::context::{Context, Preparation, Prepared};
use super::git_delivery::commit;
use super::git_delivery::outbox::{Change as Wish, Unit};
use super::metrics::Queue;
use super::objects::term;
use super::reconcile::ReconcileError;
use super::{request, retry, status};
use crate::api::{ClusterStack, ClusterStackRelease, Reason, labels};
use crate::foreign::flux::observed::{GitRepositoryStatus, HelmReleaseStatus, ObservedKind as _};
use crate::gate::Hold;
use crate::inputs::stack::Stack;
use crate::inputs::{ReleaseInputs, content::Contents};
use crate::names::ReleaseName;
use crate::plan::{self, Plan, Step};
use crate::release::Release;
use crate::rollup::{
    ConditionStatus, ContentFacts, ObjectFacts, ReleaseFacts, Report, Usage, cluster_stack_release, ready_of,
    with_rest,
};
use crate::runtime::api_server::RequestError;
use crate::runtime::cache::Key;
use crate::runtime::queue::Next;
use content::Content;
use tear_down::Course;

/// How many Clusters that use a release are remembered.
const FEW: usize = 5;

/// How soon a provider's object is looked for again whose kind was not listed yet.
const UNLISTED: Duration = Duration::from_secs(5);

/// Reconciles the release of that key.
pub async fn reconcile(context: &Context, key: &Key) -> Result<Next, ReconcileError> {
    let Ok(name) = key.name.parse::<ReleaseName>() else {
        debug!("not the name of a release: not written by the operator");
        return Ok(Next::Await);
    };
    let Some(object) = context.caches.releases.get(key) else {
        context.prepare(key, &name.class_name(), None);
        context.metrics.forgot(Queue::ClusterStackRelease, &key.to_string());
        return Ok(Next::Await);
    };
    let owner = stack_of(context, &object);
    let stays = match course(context, &object, &name, owner.as_deref()).await? {
        Course::Goes(next) => return Ok(next),
        Course::Stays(hold) => hold,
    };
    let Some(owner) = owner else {
        debug!("its ClusterStack does not exist, or belongs to another operator");
        // Its Clusters were ours until the ClusterStack got the labels of another shard: that one delivers to them now. If
        // the release is deleted and stays, for Clusters that use it, nobody delivers to them.
        let held = stays.map(|hold| {
            let report = Report::new(ConditionStatus::Unknown, hold.reason.as_str(), &hold.message);
            Preparation::Unusable(report)
        });
        context.prepare(key, &name.class_name(), held);
        context.metrics.forgot(Queue::ClusterStackRelease, &key.to_string());
        return Ok(Next::Await);
    };
    let subject = Subject { context, object: &object, name: &name, owner: &owner, stays };
    let stack = match context.stack(&owner) {
        Ok(stack) => stack,
        Err(error) => {
            let reason = error.reason().as_str();
            let report = Report::new(ConditionStatus::False, reason, &error.to_string());
            return subject.unusable(report).await;
        }
    };
    match content::of(context, &object, &owner, &stack, &name).await {
        Content::NotYet => {
            let message = format!("Flux has not fetched {name} yet");
            let report = Report::new(ConditionStatus::Unknown, Reason::NotYetReported.as_str(), &message);
            if object.spec.source.is_none() {
                // Its ClusterStack has not read what is wrong with it, or pins it next.
                subject.not_known(report);
                return Ok(Next::Await);
            }
            subject.unread(report).await
        }
        Content::Unusable(report) => subject.unusable(report).await,
        Content::Unread(report) => Ok(subject.unread(report).await?.earlier(Next::Retry)),
        Content::Usable { release, contents, mutated } => {
            subject.usable(Known { stack, release, contents, mutated }).await
        }
    }
}

/// Whether the release is deleted; if not, possibly with the reason why not.
async fn course(
    context: &Context,
    object: &ClusterStackRelease,
    name: &ReleaseName,
    owner: Option<&ClusterStack>,
) -> Result<Course, ReconcileError> {
    let is_retiring = object.annotations().contains_key(labels::RETIRING_SINCE);
    if object.metadata.deletion_timestamp.is_none() {
        let shared = if is_retiring { tear_down::shared(context, object) } else { None };
        return Ok(Course::Stays(shared));
    }
    // The ClusterStack of another operator is not in the cache, and so not ours to look after.
    if owner.is_none() && is_stack_there(context, object).await? {
        return Ok(Course::Stays(None));
    }
    Ok(tear_down::tear_down(context, object, name, owner).await?)
}

/// Whether the `ClusterStack` of a release is there, as the API server says now.
pub(super) async fn is_stack_there(
    context: &Context,
    object: &ClusterStackRelease,
) -> Result<bool, RequestError> {
    let namespace = object.namespace().unwrap_or_default();
    let Some(owner) = object.stack_owner() else { return Ok(false) };
    let found: Option<ClusterStack> = context.api.get(&Key::new(&namespace, &owner.name)).await?;
    Ok(found.is_some_and(|found| found.uid().as_ref() == Some(&owner.uid)))
}

/// The release that is reconciled.
struct Subject<'a> {
    context: &'a Context,
    object: &'a ClusterStackRelease,
    name: &'a ReleaseName,
    owner: &'a ClusterStack,
    /// Why it does not go although it should.
    stays: Option<Hold>,
}

/// A release whose content is known, with where all of it comes from.
struct Known {
    stack: Stack,
    release: Arc<Release>,
    contents: Contents,
    mutated: Option<String>,
}

/// The `ClusterStack` that a release belongs to.
pub(super) fn stack_of(context: &Context, object: &ClusterStackRelease) -> Option<Arc<ClusterStack>> {
    let namespace = object.namespace().unwrap_or_default();
    let owner = object.stack_owner()?;
    let stack = context.caches.stacks.get(&Key::new(&namespace, &owner.name))?;
    object.is_owned_by(&stack).then_some(stack)
}

impl Subject<'_> {
    /// Delivers what the gates let through, and prepares the release for its Clusters.
    async fn usable(&self, known: Known) -> Result<Next, ReconcileError> {
        let (context, object) = (self.context, self.object);
        let inputs =
            ReleaseInputs { stack: &known.stack, release: &known.release, contents: &known.contents };
        let plan = plan::release(&inputs)?;
        let writes = !self.owner.spec.suspend;
        let way = objects::Way::of(self.owner);
        let delivery = objects::Delivery { context, object, inputs: &inputs, way };
        let mut objects = Vec::new();
        let (provider, class_hold, failure) = match self.delivered(&delivery, &plan, &mut objects).await {
            Ok((provider, class_hold)) => (provider, class_hold, None),
            Err(error) if error.is_told() => {
                objects = with_rest(objects, objects::as_they_are(context, object));
                let provider = provider::ready(context, object, self.owner, false).await?;
                (provider, Some(error.hold()), Some(error))
            }
            Err(error) => return Err(error),
        };
        if way == objects::Way::Git && failure.is_none() {
            self.commit(&plan, class_hold.is_none());
        }
        let versions = objects::versions(context, &inputs);
        let as_read = ContentFacts::Known { release: &known.release, mutated: known.mutated.clone() };
        let facts = ReleaseFacts { provider, class_hold, ..self.facts(as_read, objects) };
        let (ready, next) = write_status(context, object, facts).await?;
        let prepared = Prepared {
            stack_key: Key::of(self.owner),
            suspended: self.owner.spec.suspend,
            allowed_deletions: self.owner.annotations().get(labels::PRUNE).cloned(),
            ready,
            stack: known.stack,
            release: known.release,
            contents: known.contents,
            versions,
        };
        let prepared = Preparation::Usable(Arc::new(prepared));
        context.prepare(&Key::of(object), &self.name.class_name(), Some(prepared));
        let owned = term::owned_by("ClusterStackRelease", &Key::of(object));
        let retry = if writes { retry::retry(context, &owned).await? } else { Next::Await };
        failure.map_or(Ok(next.earlier(retry)), Err)
    }

    /// Delivers the steps of a plan, as far as the gates let them. Returns what the provider's object says, and why the class
    /// is not written; `objects` has also what was delivered before an error.
    async fn delivered(
        &self,
        delivery: &objects::Delivery<'_>,
        plan: &Plan,
        objects: &mut Vec<ObjectFacts>,
    ) -> Result<(Report, Option<Hold>), ReconcileError> {
        delivery.step(plan, Step::Sources, objects).await?;
        delivery.step(plan, Step::NodeImages, objects).await?;
        let writes = !self.owner.spec.suspend;
        let provider = provider::ready(self.context, self.object, self.owner, writes).await?;
        let class = delivery.kept(plan, Step::ClusterClass);
        // A class that is there stays as planned, whatever its images do later.
        let class_hold = class_hold(objects, &provider).filter(|_| class.is_empty());
        match class_hold {
            Some(_) => objects.extend(class),
            None => delivery.step(plan, Step::ClusterClass, objects).await?,
        }
        self.forward_unless_suspended().await?;
        Ok((provider, class_hold))
    }

    /// Wants what the gates let through in the repository that Flux applies.
    fn commit(&self, plan: &Plan, with_class: bool) {
        let class = with_class.then_some(Step::ClusterClass);
        let steps: Vec<Step> = [Step::Sources, Step::NodeImages].into_iter().chain(class).collect();
        let plan = plan.only(&steps);
        let (unit, change) = (Unit::Release(self.name.to_string()), Wish::Planned(Arc::new(plan)));
        let asker = (Queue::ClusterStackRelease, Key::of(self.object));
        commit(self.context, &Key::of(self.owner), unit, change, asker);
    }

    /// Tells that a release cannot be used. What was made of it stays as it is.
    async fn unusable(&self, report: Report) -> Result<Next, ReconcileError> {
        let (context, object) = (self.context, self.object);
        let provider = provider::ready(context, object, self.owner, false).await?;
        self.forward_unless_suspended().await?;
        let facts = self.facts(ContentFacts::Unusable(report), objects::as_they_are(context, object));
        let (ready, next) = write_status(context, object, ReleaseFacts { provider, ..facts }).await?;
        let prepared = Preparation::Unusable(ready);
        context.prepare(&Key::of(object), &self.name.class_name(), Some(prepared));
        Ok(next)
    }

    /// Tells that a release cannot be read at present. All that was known of it stays, and so do its Clusters.
    async fn unread(&self, report: Report) -> Result<Next, ReconcileError> {
        let (context, object) = (self.context, self.object);
        let provider = provider::ready(context, object, self.owner, false).await?;
        self.forward_unless_suspended().await?;
        let facts = self.facts(ContentFacts::Unread(report.clone()), objects::as_they_are(context, object));
        let (_, next) = write_status(context, object, ReleaseFacts { provider, ..facts }).await?;
        self.not_known(report);
        Ok(next)
    }

    /// Has the Clusters of a release say that it is not known, unless this process knows it: a pinned content stays the same,
    /// and what a status says that was written before the process began may not.
    fn not_known(&self, report: Report) {
        let key = Key::of(self.object);
        if !matches!(self.context.preparation(&key), Some(Preparation::Usable(_))) {
            self.context.prepare(&key, &self.name.class_name(), Some(Preparation::Unusable(report)));
        }
    }

    /// Hands a request to reconcile on to the source of the release and to its class.
    async fn forward_unless_suspended(&self) -> Result<(), RequestError> {
        let (context, object) = (self.context, self.object);
        if self.owner.spec.suspend {
            return Ok(());
        }
        let handled = object.status.as_ref().and_then(|status| status.last_handled_reconcile_at.as_deref());
        for kept in object.status.iter().flat_map(|status| &status.objects) {
            let key = Key::new(&kept.namespace, &kept.name);
            match kept.kind.as_str() {
                GitRepositoryStatus::KIND => {
                    request::forward(context, &context.caches.git_repositories, &key, object, handled)
                        .await?;
                }
                HelmReleaseStatus::KIND => {
                    request::forward(context, &context.caches.helm_releases, &key, object, handled).await?;
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn facts<'b>(&self, content: ContentFacts<'b>, objects: Vec<ObjectFacts>) -> ReleaseFacts<'b> {
        let object = self.object;
        let users = users::of(self.context, &object.namespace().unwrap_or_default(), self.name);
        let usage = Usage {
            clusters: users.len(),
            first: users.iter().take(FEW).map(|cluster| Key::of(&**cluster).to_string()).collect(),
            retiring: object.annotations().contains_key(labels::RETIRING_SINCE),
            deleted: object.metadata.deletion_timestamp.is_some(),
        };
        ReleaseFacts {
            generation: object.metadata.generation.unwrap_or_default(),
            requested_at: object.annotations().get(labels::REQUESTED_AT).cloned(),
            content,
            provider: Report::not_yet_reported(),
            objects,
            class_hold: None,
            usage,
            stays: self.stays.clone(),
        }
    }
}

/// Why the class is not written yet: what it refers to is not there.
fn class_hold(facts: &[ObjectFacts], provider: &Report) -> Option<Hold> {
    if provider.status != ConditionStatus::True {
        let reason = Reason::WaitingForProvider;
        return Some(Hold { reason, message: provider.message.clone() });
    }
    let images = facts.iter().find(|object| object.step == Step::NodeImages)?;
    let is_there =
        images.verdict.as_ref().is_some_and(|verdict| verdict.report().status == ConditionStatus::True);
    (!is_there).then(|| Hold {
        reason: Reason::WaitingForNodeImages,
        message: format!("{} is not ready yet", images.id),
    })
}

/// Writes the status where it changed. Returns the release's `Ready`, and when to look again.
async fn write_status(
    context: &Context,
    object: &ClusterStackRelease,
    facts: ReleaseFacts<'_>,
) -> Result<(Report, Next), ReconcileError> {
    let (now, key) = (Timestamp::now(), Key::of(object));
    let verdicts: Vec<_> = facts
        .objects
        .iter()
        .filter_map(|object| Some((object.id.clone(), object.verdict.clone()?)))
        .collect();
    let holds = facts.class_hold.iter().map(|hold| hold.reason);
    let told = verdicts.iter().map(|(id, verdict)| (id.kind.as_str(), verdict));
    context.metrics.found(Queue::ClusterStackRelease, &key.to_string(), told, holds);
    let old = object.status.clone().unwrap_or_default();
    let unlisted = facts.provider.reason == Reason::NotYetReported.as_str();
    let status = cluster_stack_release(facts, &old, now);
    let next = objects::next_limit(context, &verdicts, &status, now);
    // Nobody tells that a kind will not be listed, since no API serves it.
    let next = if unlisted { next.earlier(Next::After(UNLISTED)) } else { next };
    let ready = ready_of(&status);
    status::write(context, object, &status).await?;
    Ok((ready, next))
}
