//! Addons that the Cluster's release does not have any more, or in another form: deleted, so that Flux uninstalls them, a few
//! at a time and not before the API server itself was asked.

use std::sync::Arc;

use jiff::Timestamp;
use kube::ResourceExt as _;
use tracing::{info, warn};

use super::super::budget::{Reservation, Reserved};
use super::super::context::{Context, Preparation, Prepared};
use super::super::git_delivery::is_taken_out;
use super::super::objects::{ClusterObject, addon_key, committing_stack, term};
use super::super::release::users;
use super::super::{events, ownership};
use super::addons;
use crate::api::cluster_addon::AddonObject;
use crate::api::cluster_stack::Pruned;
use crate::api::{ClusterAddon, Reason, labels};
use crate::foreign::flux::observed::{HelmReleaseStatus, Observed, ObservedKind};
use crate::gate::Hold;
use crate::names::{AddonName, ReleaseName};
use crate::plan::removal::{Belonging, Delivers, Fate, fate, spend};
use crate::release::Release;
use crate::rollup::{AddonFacts, ConditionStatus};
use crate::runtime::api_server::RequestError;
use crate::runtime::cache::{Cache, Key};
use crate::runtime::queue::{Next, at};
use crate::subscription::{allows, deletions, in_words, known, left, refilled, spent};

/// An object of an addon that the release does not have, or not in this form.
struct Removed {
    addon: AddonName,
    kind: &'static str,
    key: Key,
    uid: String,
    suspended: bool,
    fate: Fate,
    /// Why it is removed, or why not yet.
    hold: Option<Hold>,
}

/// What is to be removed now.
#[derive(Default)]
pub(super) struct Removal<'w> {
    removed: Vec<Removed>,
    /// What the status has to say before anything goes.
    pub(super) pruned: Option<Pruned>,
    /// When to look again.
    next: Option<Timestamp>,
    /// Counts until the status says what is spent.
    _reserved: Option<Reservation<'w>>,
}

/// Whether something is left of an addon that the release does not have, and goes by itself. What is suspended, a release
/// that cannot be used and files that another `ClusterStack` has may stay so for ever. `is_owned` says that there is a
/// `ClusterStack` which reads the release, if it was not read yet.
pub(super) fn is_pending(
    context: &Context,
    addon: &ClusterAddon,
    release: Option<&Preparation>,
    is_owned: bool,
) -> bool {
    let prepared = match release {
        None => return is_owned,
        Some(Preparation::Unusable(report)) => return is_owned && report.status == ConditionStatus::Unknown,
        Some(Preparation::Usable(prepared)) => prepared,
    };
    let is_theirs = committing_stack(addon).as_ref() != Some(&prepared.stack_key);
    if addon.spec.suspend || prepared.suspended || is_theirs {
        return false;
    }
    let (caches, release) = (&context.caches, &prepared.release);
    let is_left = |removed: &Removed| !removed.suspended;
    found(context, &caches.helm_releases, addon, release, |_| false).iter().any(is_left)
        || found(context, &caches.kustomizations, addon, release, |_| false).iter().any(is_left)
}

/// Finds what a Cluster has of addons that its release does not have, or has in another form, and what of that may go now.
/// `may_go` says of which addons nothing else comes first.
pub(super) async fn plan<'w>(
    context: &'w Context,
    cluster: &ClusterObject,
    addon: &ClusterAddon,
    prepared: &Prepared,
    may_go: impl Fn(&AddonName) -> bool,
) -> Result<Removal<'w>, RequestError> {
    let caches = &context.caches;
    let mut removed = found(context, &caches.helm_releases, addon, &prepared.release, &may_go);
    removed.extend(found(context, &caches.kustomizations, addon, &prepared.release, &may_go));
    let is_due = |removed: &Removed| removed.fate == Fate::Due;
    if !removed.iter().any(is_due) {
        return Ok(Removal { removed, ..Removal::default() });
    }
    if !is_caused(context, cluster, addon).await? {
        warn!(
            "the cache has a release without an addon, but the API server does not confirm that: the addon is kept"
        );
        let due = removed.iter_mut().filter(|removed| is_due(removed));
        due.for_each(|removed| (removed.fate, removed.hold) = (Fate::Waits, None));
        return Ok(Removal { removed, next: Some(Timestamp::now()), ..Removal::default() });
    }
    let (removal, reserved) = context.budgets.decide(&Key::of(addon), |reserved| {
        let removal = within_budget(context, addon, prepared, removed, reserved);
        let spent = removal.pruned.clone();
        (removal, spent)
    });
    Ok(Removal { _reserved: reserved, ..removal })
}

/// The objects of a kind that are of no addon of the release, or of one that has another kind of object now.
fn found<Status: ObservedKind>(
    context: &Context,
    cache: &Cache<Observed<Status>>,
    addon: &ClusterAddon,
    release: &Release,
    may_go: impl Fn(&AddonName) -> bool,
) -> Vec<Removed> {
    let owned = cache.find(&term::owned_by("ClusterAddon", &Key::of(addon)));
    let removed = owned.into_iter().filter_map(|object| {
        // What is not labelled with an addon's name was not delivered by us, and stays.
        let name: AddonName = object.labels().get(labels::ADDON)?.parse().ok()?;
        let now = release.addons.iter().find(|of| of.name == name);
        let delivers = match now.map(addons::kind_of) {
            None => Delivers::Dropped,
            Some(kind) if kind == Status::KIND => Delivers::Wanted,
            Some(_) => Delivers::Replaced,
        };
        let fate = match fate(belonging(&object, addon, delivers), may_go(&name)) {
            // Its file is gone or goes: it has spent the budget.
            Fate::Due if is_taken_out(context, &*object) => Fate::Goes,
            fate => fate,
        };
        let (key, uid) = (Key::of(&*object), object.uid().unwrap_or_default());
        let hold = matches!(fate, Fate::Due | Fate::Goes).then(|| uninstalled(delivers));
        Some(Removed { addon: name, kind: Status::KIND, key, uid, suspended: object.suspended, fate, hold })
    });
    removed.filter(|removed| removed.fate != Fate::Stays).collect()
}

/// `delivers` is what an object delivers that belongs to the `ClusterAddon`.
fn belonging<Status>(object: &Observed<Status>, addon: &ClusterAddon, delivers: Delivers) -> Belonging {
    let delivers = if addons::is_owned(object, addon) { delivers } else { Delivers::Anothers };
    Belonging { delivers, suspended: object.suspended, terminating: object.metadata.terminating }
}

/// Whether the API server itself says that the Cluster has the class that the plan was made for, and that nothing is to be
/// left alone.
async fn is_caused(
    context: &Context,
    cluster: &ClusterObject,
    addon: &ClusterAddon,
) -> Result<bool, RequestError> {
    let Some(kind) = context.cluster_kind() else { return Ok(false) };
    let now: Option<ClusterObject> = context.api.get_dynamic(&Key::of(cluster), kind).await?;
    let is_same = now.is_some_and(|now| {
        let class = now.cluster.class();
        let is_at_work = !now.cluster.deleting() && !now.cluster.paused();
        now.uid() == cluster.uid() && class.is_some() && class == cluster.cluster.class() && is_at_work
    });
    if !is_same {
        return Ok(false);
    }
    let now: Option<ClusterAddon> = context.api.get(&Key::of(addon)).await?;
    let is_deleted = |addon: &ClusterAddon| addon.metadata.deletion_timestamp.is_some();
    Ok(now.is_some_and(|now| {
        now.uid() == addon.uid() && is_deleted(&now) == is_deleted(addon) && !now.spec.suspend
    }))
}

/// What is due, as far as the budget of the `ClusterStack` goes: a tenth of the objects of all its clusters' addons in an hour.
/// Each `ClusterAddon` says what it has spent.
fn within_budget<'w>(
    context: &Context,
    addon: &ClusterAddon,
    prepared: &Prepared,
    mut removed: Vec<Removed>,
    reserved: &Reserved,
) -> Removal<'w> {
    let now = Timestamp::now();
    let release = &prepared.release.name;
    let due = removed.iter().filter(|removed| removed.fate == Fate::Due);
    let name = deletions(due.map(|removed| format!("{release} without {}", removed.addon)));
    let is_allowed = allows(prepared.allowed_deletions.as_deref(), &name);
    let (gone, total) = spent_so_far(context, &prepared.stack_key, reserved);
    let allowance = if is_allowed { usize::MAX } else { left(&gone, total, now) };
    let going = spend(removed.iter_mut().map(|removed| &mut removed.fate), allowance);
    let mut next = None;
    // What waits for something else says nothing here.
    for object in removed.iter_mut().filter(|it| it.fate == Fate::Waits && it.hold.is_some()) {
        let budget = in_words(&gone, (total, "addon objects"), now);
        object.hold = Some(exceeded(&prepared.stack_key, &name, &budget));
        next = refilled(&gone, now);
    }
    let said = addon.status.as_ref().and_then(|status| status.pruned.as_ref());
    let said = known(said, reserved.get(&Key::of(addon)));
    let pruned =
        (0..going).fold(None, |pruned: Option<Pruned>, _| Some(spent(pruned.as_ref().or(said), now)));
    Removal { removed, pruned, next, _reserved: None }
}

/// What was removed from a `ClusterStack`'s clusters lately or is about to be, and how many objects they have in all.
fn spent_so_far(context: &Context, stack: &Key, reserved: &Reserved) -> (Vec<Pruned>, usize) {
    let (mut spent, mut total) = (Vec::new(), 0);
    for release in context.caches.releases.find(&term::owned_by("ClusterStack", stack)) {
        let Ok(name) = release.name_any().parse::<ReleaseName>() else { continue };
        for cluster in users::of(context, &stack.namespace, &name) {
            let key = addon_key(&Key::of(&*cluster));
            let owned = term::owned_by("ClusterAddon", &key);
            total += context.caches.helm_releases.find(&owned).len()
                + context.caches.kustomizations.find(&owned).len();
            let addon: Option<Arc<ClusterAddon>> = context.caches.addons.get(&key);
            let said = addon.as_ref().and_then(|addon| addon.status.as_ref()?.pruned.as_ref());
            spent.extend(known(said, reserved.get(&key)).cloned());
        }
    }
    (spent, total)
}

fn exceeded(stack: &Key, deletions: &str, budget: &str) -> Hold {
    let message = format!(
        "waits to be uninstalled: in the clusters of ClusterStack {stack}, {budget}; annotate the ClusterStack with \
         {}={deletions} to uninstall it from all clusters of the release now",
        labels::PRUNE
    );
    Hold { reason: Reason::PruneBudgetExceeded, message }
}

fn uninstalled(delivers: Delivers) -> Hold {
    let message = match delivers {
        Delivers::Replaced => "the release has it in another form: Flux uninstalls the old one first",
        _ => "the release no longer has it: Flux uninstalls it",
    };
    Hold { reason: Reason::AddonRemoved, message: message.to_owned() }
}

impl Removal<'_> {
    /// Whether nothing is left of addons that the release does not have.
    pub(super) fn is_empty(&self) -> bool {
        self.removed.is_empty()
    }

    /// Adds how what is left of those addons is, in place of what is said of one that has another form now.
    pub(super) fn tell(&self, context: &Context, addon: &ClusterAddon, facts: &mut Vec<AddonFacts>) {
        for removed in &self.removed {
            let object = AddonObject { kind: removed.kind.to_owned(), name: removed.key.name.clone() };
            let before = addons::as_it_is(context, addon, &removed.addon, &object);
            facts.retain(|known| known.name != removed.addon);
            facts.push(AddonFacts { hold: removed.hold.clone(), ..before });
        }
    }

    /// Deletes what is due, now that the status counts it; returns when to look again.
    pub(super) async fn carry_out(
        self,
        context: &Context,
        addon: &ClusterAddon,
    ) -> Result<Next, RequestError> {
        let caches = &context.caches;
        for removed in self.removed.iter().filter(|removed| removed.fate == Fate::Due) {
            if removed.kind == HelmReleaseStatus::KIND {
                remove(context, &caches.helm_releases, addon, removed).await?;
            } else {
                remove(context, &caches.kustomizations, addon, removed).await?;
            }
        }
        let is_under_way = self.removed.iter().any(|removed| removed.fate == Fate::Due);
        let soon = is_under_way.then_some(Next::After(super::SOON));
        let later = |limit| {
            let Next::After(left) = at(limit, Timestamp::now()) else { return Next::Await };
            Next::After(left.max(super::SOON))
        };
        Ok(soon.or(self.next.map(later)).unwrap_or(Next::Await))
    }
}

/// Deletes one object, unless it is another one by now or somebody suspended it.
async fn remove<Status: ObservedKind>(
    context: &Context,
    cache: &Cache<Observed<Status>>,
    addon: &ClusterAddon,
    removed: &Removed,
) -> Result<(), RequestError> {
    let found = ownership::present(context, cache, &removed.key).await?;
    let Some(found) = found.filter(|found| found.uid().as_ref() == Some(&removed.uid)) else {
        return Ok(());
    };
    let label = found.labels().get(labels::ADDON).map(String::as_str);
    let is_same = label == Some(removed.addon.as_str());
    let delivers = if is_same { Delivers::Dropped } else { Delivers::Wanted };
    if fate(belonging(&found, addon, delivers), true) != Fate::Due {
        cache.written(found);
        return Ok(());
    }
    ownership::delete(context, cache, &found).await?;
    let why = removed.hold.as_ref().map(|hold| hold.message.as_str()).unwrap_or_default();
    let note = format!("deleted {} {} of addon {}: {why}", removed.kind, removed.key.name, removed.addon);
    info!("{note}");
    events::normal(context, addon, Reason::AddonRemoved, &note).await;
    Ok(())
}
