//! A release that was deleted: held while somebody uses it, let go where that is asked for, else taken down in order:
//! the cluster class, its node images, then the sources and charts that no other release has.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::Namespace;
use kube::ResourceExt as _;
use tracing::{info, warn};

use super::super::context::Context;
use super::super::enqueue::release_status_changed;
use super::super::git_delivery::outbox::Unit;
use super::super::git_delivery::take_out_for;
use super::super::{annotations, events, finalizer, ownership, status};
use super::inventory::{self, Inventory};
use super::users;
use crate::api::{ClusterStack, ClusterStackRelease, ClusterStackReleaseStatus, Reason, labels};
use crate::foreign::flux::observed::{Observed, ObservedKind};
use crate::gate::Hold;
use crate::names::ReleaseName;
use crate::rollup::conditions_of_deleted;
use crate::runtime::api_server::{Deleted, RequestError};
use crate::runtime::cache::{Cache, Change, Key};
use crate::runtime::queue::Next;

/// How long until it is looked again whether something is gone: watches tell it before.
const AGAIN: Duration = Duration::from_secs(5);

/// What becomes of a deleted release.
pub(super) enum Course {
    /// It goes.
    Goes(Next),
    /// It stays as it is; the reason is one why it should not.
    Stays(Option<Hold>),
}

/// Takes a deleted release down, or says why it stays. `owner` is its `ClusterStack`, where that is there.
pub(super) async fn tear_down(
    context: &Context,
    release: &ClusterStackRelease,
    name: &ReleaseName,
    owner: Option<&ClusterStack>,
) -> Result<Course, RequestError> {
    let key = Key::of(release);
    if !release.finalizers().iter().any(|finalizer| finalizer == labels::FINALIZER) {
        return Ok(Course::Goes(Next::Await));
    }
    let now: Option<ClusterStackRelease> = context.api.get(&key).await?;
    let is_going =
        |now: &ClusterStackRelease| now.uid() == release.uid() && now.metadata.deletion_timestamp.is_some();
    if !now.is_some_and(|now| is_going(&now)) {
        warn!(
            "the cache has a deleted release, but the API server does not confirm that: nothing is deleted"
        );
        return Ok(Course::Goes(Next::After(AGAIN)));
    }
    let made = Inventory::of(context, release);
    if release.annotations().get(labels::ON_DELETE).is_some_and(|value| value == labels::ORPHAN) {
        let_go(context, release, &made).await?;
        return done(context, release, "orphaned: the objects that were made from it stay").await;
    }
    if let Some(hold) = hold(context, release, name, owner).await? {
        return Ok(Course::Stays(Some(hold)));
    }
    // What was held back until now is not written after it has gone.
    if let Some(owner) = owner {
        context.git.outbox.withdraw_of(&Key::of(owner), &Unit::Release(name.to_string()));
    }
    // Flux may uninstall for long.
    let message =
        "being deleted: first the cluster class, which Flux uninstalls, then the node images and the sources";
    say_deleted(context, release, message).await?;
    if take_down(context, release, &made).await? {
        done(context, release, "deleted, with the objects that were made from it").await
    } else {
        Ok(Course::Goes(Next::After(AGAIN)))
    }
}

/// Says in the status that a release is taken down.
async fn say_deleted(
    context: &Context,
    release: &ClusterStackRelease,
    message: &str,
) -> Result<(), RequestError> {
    let old = release.status.clone().unwrap_or_default();
    let generation = release.metadata.generation.unwrap_or_default();
    let conditions = conditions_of_deleted(message, &old.conditions, generation, Timestamp::now());
    let status =
        ClusterStackReleaseStatus { ready: false, observed_generation: Some(generation), conditions, ..old };
    status::write_deletion(context, release, &status).await
}

async fn done(context: &Context, release: &ClusterStackRelease, how: &str) -> Result<Course, RequestError> {
    finalizer::remove(context, &context.caches.releases, release).await?;
    let before = Some(Arc::new(release.clone()));
    release_status_changed(context, &Change { before, now: None });
    info!("{how}");
    Ok(Course::Goes(Next::Await))
}

/// Why a deleted release has to stay.
async fn hold(
    context: &Context,
    release: &ClusterStackRelease,
    name: &ReleaseName,
    owner: Option<&ClusterStack>,
) -> Result<Option<Hold>, RequestError> {
    let namespace = release.namespace().unwrap_or_default();
    let hold = |reason, message: String| Ok(Some(Hold { reason, message }));
    let is_used = !users::of(context, &namespace, name).is_empty()
        || users::is_remembered(&context.caches.addons, &namespace, name)
        || users::any_last_user(context, release).await?;
    if is_used {
        return hold(Reason::InUse, "deleted, but Clusters use it: kept until no Cluster does".to_owned());
    }
    if owner.is_some_and(|owner| owner.spec.suspend) {
        return hold(Reason::Suspended, "deleted, but its ClusterStack is suspended".to_owned());
    }
    if let Some(hold) = shared(context, release) {
        return Ok(Some(hold));
    }
    let class = context.caches.helm_releases.get(&Key::of(release));
    if class.is_none_or(|class| class.metadata.terminating) {
        return Ok(None);
    }
    // It is deleted next.
    Ok(inventory::shared_object_now(context, release).await?.as_deref().map(shares))
}

/// Why the class of a release that nobody uses has to stay.
pub(super) fn shared(context: &Context, release: &ClusterStackRelease) -> Option<Hold> {
    inventory::shared_object(context, release).as_deref().map(shares)
}

fn shares(what: &str) -> Hold {
    let message = format!("its cluster class shares {what}: kept until that release is deleted");
    Hold { reason: Reason::SharesObjects, message }
}

/// Takes everything down, each step when the one before is done. Whether all is gone.
async fn take_down(
    context: &Context,
    release: &ClusterStackRelease,
    made: &Inventory,
) -> Result<bool, RequestError> {
    let caches = &context.caches;
    if !uninstalled(context, &caches.helm_releases, &made.helm_releases).await?
        || !uninstalled(context, &caches.kustomizations, &made.kustomizations).await?
    {
        return Ok(false);
    }
    let charts = removed(context, release, &caches.helm_charts, &made.helm_charts).await?;
    let sources = removed(context, release, &caches.git_repositories, &made.git_repositories).await?;
    remove_namespaces(context, release, &made.namespaces).await?;
    Ok(charts && sources)
}

/// Deletes what Flux has to uninstall. Whether all of it is gone, as the API server says. Flux uninstalls nothing that is
/// suspended.
async fn uninstalled<Status: ObservedKind>(
    context: &Context,
    cache: &Cache<Observed<Status>>,
    keys: &BTreeSet<Key>,
) -> Result<bool, RequestError> {
    let mut all_gone = true;
    for key in keys {
        let Some(mut found) = ownership::present(context, cache, key).await? else { continue };
        if found.suspended {
            found = annotations::suspend(context, key, false).await?;
        }
        all_gone &= ownership::delete(context, cache, &found).await?;
    }
    Ok(all_gone)
}

/// Deletes the sources that no other release has. Whether all of them are gone, as the API server says.
async fn removed<Status: ObservedKind>(
    context: &Context,
    release: &ClusterStackRelease,
    cache: &Cache<Observed<Status>>,
    keys: &BTreeSet<Key>,
) -> Result<bool, RequestError> {
    let mut all_gone = true;
    for key in keys {
        let Some(found) = ownership::present(context, cache, key).await? else { continue };
        if inventory::is_shared(context, release, &found) {
            ownership::drop_owner(context, cache, &found, release.uid().as_deref(), &[]).await?;
        } else {
            all_gone &= ownership::delete_unchanged(context, cache, &found).await?;
        }
    }
    Ok(all_gone)
}

/// Deletes the Namespaces that we made for Helm's records. They go by themselves then.
async fn remove_namespaces(
    context: &Context,
    release: &ClusterStackRelease,
    keys: &BTreeSet<Key>,
) -> Result<(), RequestError> {
    for key in keys {
        let found: Option<Namespace> = context.api.get(key).await?;
        let is_ours = |found: &Namespace| {
            let manager = found.labels().get(labels::MANAGED_BY);
            manager.is_some_and(|manager| manager == labels::FIELD_MANAGER)
                && found.metadata.deletion_timestamp.is_none()
        };
        if let Some(found) = found.filter(is_ours).filter(|found| !take_out_for(context, found, release)) {
            let _: Deleted<Namespace> =
                context.api.delete(key, found.uid().as_deref().unwrap_or_default(), None).await?;
        }
    }
    Ok(())
}

/// Lets go of everything: it stays, belongs to nobody, and is not uninstalled by a deletion. Sources are not suspended:
/// what Clusters have comes from them.
async fn let_go(
    context: &Context,
    release: &ClusterStackRelease,
    made: &Inventory,
) -> Result<(), RequestError> {
    let (caches, uid) = (&context.caches, release.uid());
    let uid = uid.as_deref();
    abandoned(context, &caches.helm_releases, &made.helm_releases, uid, true).await?;
    abandoned(context, &caches.kustomizations, &made.kustomizations, uid, true).await?;
    abandoned(context, &caches.helm_charts, &made.helm_charts, uid, false).await?;
    abandoned(context, &caches.git_repositories, &made.git_repositories, uid, false).await?;
    let note = "orphaned: the objects that were made from it stay, suspended";
    events::normal(context, release, Reason::Suspended, note).await;
    Ok(())
}

async fn abandoned<Status: ObservedKind>(
    context: &Context,
    cache: &Cache<Observed<Status>>,
    keys: &BTreeSet<Key>,
    owner: Option<&str>,
    suspend: bool,
) -> Result<(), RequestError> {
    for key in keys {
        let Some(mut found) = ownership::present(context, cache, key).await? else { continue };
        if suspend && !found.suspended {
            found = annotations::suspend(context, key, true).await?;
        }
        ownership::drop_owner(context, cache, &found, owner, &[]).await?;
    }
    Ok(())
}
