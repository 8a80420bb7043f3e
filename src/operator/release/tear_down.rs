//! Handles a deleted release: keeps it while it is in use, orphans it if its annotation requires that, and otherwise
//! uninstalls it in order: the cluster class, its node images, then the sources and charts that no other release has.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::Namespace;
use kube::ResourceExt as _;
use tracing::{info, warn};

use super::super::context::Context;
use super::super::enqueue::on_release_status;
use super::super::git_delivery::pending_commits::Subject;
use super::super::git_delivery::{cancel_of, is_source_removed_from_git, remove_from_git_for};
use super::super::{annotations, events, finalizer, write};
use super::{inventory, unwatched_stack, users};
use crate::api::{ClusterStack, ClusterStackRelease, ClusterStackReleaseStatus, Reason};
use crate::foreign::flux::FluxKind;
use crate::foreign::flux::observed::FluxObject;
use crate::names::ReleaseName;
use crate::plan::delivery::{Purpose, suspension};
use crate::plan::existing::is_made;
use crate::rollup::deleted_release;
use crate::runtime::api_server::{Deleted, RequestError};
use crate::runtime::cache::{Change, Key};
use crate::runtime::queue::Next;
use crate::subscription::{
    Inventory, Teardown, TeardownFacts, decide_teardown, is_of_others, is_orphaned, is_own_namespace,
    is_retiring, is_shared, is_unowned_component,
};

/// Delay before checking again that an object is gone. A watch usually reports it earlier.
const REQUEUE_AFTER: Duration = Duration::from_secs(5);

/// Gathers the facts about a release that may be deleted. Fetches from the API server what the deletion depends on.
pub(super) async fn gather<'a>(
    context: &Context,
    release: &'a ClusterStackRelease,
    name: &ReleaseName,
    owner: Option<&'a ClusterStack>,
) -> Result<TeardownFacts<'a>, RequestError> {
    let mut facts = TeardownFacts {
        release,
        owner,
        is_of_other_shard: false,
        live: None,
        is_used: false,
        shared: None,
        made: Inventory::default(),
    };
    if release.metadata.deletion_timestamp.is_none() {
        facts.shared = is_retiring(release).then(|| inventory::shared_object(context, release)).flatten();
        return Ok(facts);
    }
    facts.is_of_other_shard = unwatched_stack(context, release).await?.is_some();
    if decide_teardown(&facts) != Teardown::Unconfirmed {
        return Ok(facts);
    }
    facts.live = context.api.get(&Key::of(release)).await?;
    if decide_teardown(&facts) == Teardown::Unconfirmed {
        return Ok(facts);
    }
    facts.made = inventory::inventory(context, release, name);
    if is_orphaned(release) {
        return Ok(facts);
    }
    facts.is_used = is_used(context, release, name).await?;
    facts.shared = inventory::shared_object(context, release);
    if matches!(decide_teardown(&facts), Teardown::Uninstall(_)) {
        facts.shared = inventory::shared_object_now(context, release).await?;
        facts.is_used = users::any_listed_user(context, release).await?;
    }
    Ok(facts)
}

/// Whether Clusters use a release or have its content, according to the caches and the API server.
async fn is_used(
    context: &Context,
    release: &ClusterStackRelease,
    name: &ReleaseName,
) -> Result<bool, RequestError> {
    let namespace = release.namespace().unwrap_or_default();
    Ok(users::is_remembered(&context.caches.addons, &namespace, name)
        || users::any_known_user(context, release).await?)
}

/// Cancels the commits of a release that is about to be uninstalled, so that held changes are not written afterwards.
pub(super) fn cancel_commits(context: &Context, owner: Option<&ClusterStack>, name: &ReleaseName) {
    if let Some(owner) = owner {
        cancel_of(context, &Key::of(owner), &Subject::Release(name.to_string()));
    }
}

/// Returns the status of a release that is being uninstalled; `None` for any other.
pub(super) fn roll_up(
    release: &ClusterStackRelease,
    teardown: &Teardown,
    now: Timestamp,
) -> Option<ClusterStackReleaseStatus> {
    // Flux may need long to uninstall.
    let message =
        "being deleted: first the cluster class, which Flux uninstalls, then the node images and the sources";
    matches!(teardown, Teardown::Uninstall(_)).then(|| deleted_release(release, message, now))
}

/// Deletes or orphans the objects of a deleted release, and then removes its finalizer.
pub(super) async fn prune(
    context: &Context,
    release: &ClusterStackRelease,
    teardown: &Teardown,
) -> Result<Next, RequestError> {
    let done = match teardown {
        Teardown::Keep(_) | Teardown::Finished => return Ok(Next::Await),
        Teardown::Unconfirmed => {
            warn!(
                "the cache has a deleted release, but the API server does not confirm that: nothing is deleted"
            );
            return Ok(Next::After(REQUEUE_AFTER));
        }
        Teardown::Orphan(made) => {
            orphan(context, release, made).await?;
            "orphaned: the objects that were made from it stay"
        }
        Teardown::Uninstall(made) => {
            if !uninstall(context, release, made).await? {
                return Ok(Next::After(REQUEUE_AFTER));
            }
            "deleted, with the objects that were made from it"
        }
    };
    finalizer::remove(context, release).await?;
    let before = Some(Arc::new(release.clone()));
    on_release_status(context, &Change { before, now: None });
    info!("{done}");
    Ok(Next::Await)
}

/// Fetches an object that was made from a release; `None` if it does not exist. The status of the release may name an object
/// whose name one of another client has now.
pub(super) async fn made_object(
    context: &Context,
    kind: FluxKind,
    key: &Key,
) -> Result<Option<FluxObject>, RequestError> {
    let found = write::present(context, kind, key).await?;
    Ok(found.filter(|found| is_made(found.into())))
}

/// Uninstalls everything, each step after the previous one is complete. Returns whether everything is gone.
async fn uninstall(
    context: &Context,
    release: &ClusterStackRelease,
    made: &Inventory,
) -> Result<bool, RequestError> {
    for kind in FluxKind::DELIVERING {
        if !uninstall_all(context, kind, made).await? {
            return Ok(false);
        }
    }
    let are_gone = delete_sources(context, release, made).await?;
    delete_namespaces(context, release, &made.namespaces).await?;
    Ok(are_gone)
}

/// Deletes sources and charts that no other release has, and returns whether the API server confirms that all are gone.
async fn delete_sources(
    context: &Context,
    release: &ClusterStackRelease,
    made: &Inventory,
) -> Result<bool, RequestError> {
    let mut are_gone = true;
    for kind in [FluxKind::HelmChart, FluxKind::GitRepository, FluxKind::OCIRepository] {
        are_gone &= delete_unshared(context, release, kind, made).await?;
    }
    Ok(are_gone)
}

/// Deletes objects that Flux uninstalls, and returns whether the API server confirms that all are gone. Objects are resumed
/// first, because Flux does not uninstall a suspended object.
async fn uninstall_all(context: &Context, kind: FluxKind, made: &Inventory) -> Result<bool, RequestError> {
    let mut all_gone = true;
    for key in made.of(kind) {
        let Some(mut found) = made_object(context, kind, key).await? else { continue };
        if let Some(suspend) = suspension(&found, Purpose::Uninstall) {
            found = annotations::suspend(context, &found, suspend).await?;
        }
        all_gone &= write::delete(context, &found).await?;
    }
    Ok(all_gone)
}

/// Deletes the sources that no other release has, and returns whether the API server confirms that all are gone. The other
/// releases are looked up for each deletion, since one may have been created meanwhile.
async fn delete_unshared(
    context: &Context,
    release: &ClusterStackRelease,
    kind: FluxKind,
    made: &Inventory,
) -> Result<bool, RequestError> {
    let mut all_gone = true;
    for key in made.of(kind) {
        let Some(found) = made_object(context, kind, key).await? else { continue };
        if is_source_removed_from_git(context, &found) {
            all_gone = false;
            continue;
        }
        let is_used = is_unowned_component(release, &found) && inventory::is_used(context, &found).await?;
        fetch_owners(context, &found).await?;
        let others = context.caches.releases.all();
        if is_of_others(release, &found) || is_shared(release, others.iter().map(|other| &**other), &found) {
            write::drop_owner(context, &found, release.uid().as_deref(), &[]).await?;
        } else if is_used {
            info!("{kind} {key} stays: an object refers to it");
        } else {
            all_gone &= write::delete_unchanged(context, &found).await?;
        }
    }
    Ok(all_gone)
}

/// Fetches the releases that own an object and that the cache lacks: a list may have lacked them.
pub(super) async fn fetch_owners(context: &Context, object: &FluxObject) -> Result<(), RequestError> {
    let namespace = object.namespace().unwrap_or_default();
    let owners = object.owner_references().iter().filter(|owner| owner.kind == "ClusterStackRelease");
    for owner in owners {
        let key = Key::new(&namespace, &owner.name);
        if context.caches.releases.get(&key).is_none() {
            write::refresh::<ClusterStackRelease>(context, &key).await?;
        }
    }
    Ok(())
}

/// Deletes the Namespaces that were made for Helm's release records.
async fn delete_namespaces(
    context: &Context,
    release: &ClusterStackRelease,
    keys: &BTreeSet<Key>,
) -> Result<(), RequestError> {
    for key in keys {
        let found: Option<Namespace> = context.api.get(key).await?;
        if let Some(found) =
            found.filter(is_own_namespace).filter(|found| !remove_from_git_for(context, found, release))
        {
            let _: Deleted<Namespace> =
                context.api.delete(key, found.uid().as_deref().unwrap_or_default(), None, &()).await?;
        }
    }
    Ok(())
}

/// Orphans everything: objects stay without an owner, and their deletion uninstalls nothing. Sources are not suspended,
/// because Clusters take their contents from them.
async fn orphan(
    context: &Context,
    release: &ClusterStackRelease,
    made: &Inventory,
) -> Result<(), RequestError> {
    for (kind, key) in &made.flux {
        let Some(mut found) = made_object(context, *kind, key).await? else { continue };
        if let Some(suspend) = suspension(&found, Purpose::Retain) {
            found = annotations::suspend(context, &found, suspend).await?;
        }
        write::drop_owner(context, &found, release.uid().as_deref(), &[]).await?;
    }
    let note = "orphaned: the objects that were made from it stay, suspended";
    events::normal(context, release, Reason::Suspended, note).await;
    Ok(())
}
