//! Gathers the facts about a built-in stack repository.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use jiff::Timestamp;
use tracing::{info, warn};

use super::super::super::builtin::BuiltinRepositories;
use super::super::super::context::Context;
use super::super::super::metrics::{RemoteOperation, classified};
use super::super::super::objects::index;
use super::super::super::release_cache::{CatalogKey, ReleaseCacheError};
use super::super::gather::{LIST_TIMEOUT, followed, is_same};
use super::super::{Decision, Stop, decide_missing, hold, origin, within};
use super::login::login;
use super::{not_served, repository};
use crate::api::{ClusterStack, ClusterStackRelease, Reason, Upstream};
use crate::builtin::{RELEASES, root_commit};
use crate::error::{Class, Classify as _};
use crate::foreign::flux::FluxKind;
use crate::foreign::flux::observed::{FluxObject, Status};
use crate::gate::Hold;
use crate::git::ServedRepository;
use crate::names::{ReleaseName, Revision};
use crate::runtime::cache::Key;
use crate::serve::Login;
use crate::source::artifact::{ArtifactRef, CatalogRead};
use crate::source::origin::{Listing, Origin};
use crate::subscription::{BuiltinFacts, is_flux_behind};

/// The facts about a built-in stack repository.
pub(super) struct Facts<'a> {
    pub(super) now: Timestamp,
    pub(super) key: &'a Key,
    pub(super) uid: &'a str,
    /// The settings of the upstream source.
    pub(super) source: &'a Upstream,
    pub(super) repository: Arc<ServedRepository>,
    /// The releases in the repository.
    pub(super) there: BTreeMap<ReleaseName, Revision>,
    /// The login that Flux needs.
    pub(super) login: Option<Login>,
    /// The upstream source with its releases, or why it is not available.
    pub(super) upstream: Result<(Box<dyn Origin>, Listing), Hold>,
    /// The releases upstream that cannot be brought in.
    pub(super) unusable: BTreeSet<ReleaseName>,
    /// Whether the `ClusterStack` is still as in these facts.
    pub(super) is_current: Box<dyn Fn() -> bool + Send + Sync + 'a>,
    stack: &'a ClusterStack,
    pinned: BTreeMap<ReleaseName, Revision>,
    /// The releases in the last `main` that Flux has fetched, if that can be read.
    fetched: Option<BTreeSet<ReleaseName>>,
    offered: BTreeSet<ReleaseName>,
}

/// Opens the repository of a `ClusterStack`, and gathers what is known without its upstream source.
#[expect(clippy::disallowed_methods, reason = "gather takes the time once")]
pub(super) async fn open_repository<'a>(
    context: &'a Context,
    key: &'a Key,
    stack: &'a ClusterStack,
    source: &'a Upstream,
) -> Result<Facts<'a>, Stop> {
    let (Some(settings), Some(uid)) = (&context.settings.builtin, &stack.metadata.uid) else {
        return Err(not_served(stack));
    };
    super::expect(context, stack);
    let repository = if let Some(repository) = context.builtin.repository(uid) {
        repository
    } else {
        let directory = BuiltinRepositories::directory(&settings.directory, key, uid);
        let opened = repository::open(directory).await?;
        context.builtin.set_repository(uid, opened.clone());
        opened
    };
    let is_private = source.secret_ref.is_some() || repository.is_private();
    Ok(Facts {
        login: login(context, key, stack, is_private).await?,
        now: context.clock.now(),
        key,
        uid,
        source,
        repository,
        there: BTreeMap::new(),
        upstream: Err(hold(Reason::UpstreamUnavailable, "it was not asked yet".to_owned())),
        unusable: BTreeSet::new(),
        is_current: Box::new(move || is_same(stack, context.caches.stacks.get(key).as_deref())),
        stack,
        pinned: pinned(context, key),
        fetched: fetched(context, stack).await,
        offered: BTreeSet::new(),
    })
}

impl Facts<'_> {
    /// Returns the releases upstream that can be brought in, if they are known.
    pub(super) fn usable_upstream(&self) -> Option<BTreeSet<ReleaseName>> {
        let (_, listing) = self.upstream.as_ref().ok()?;
        Some(listing.releases.difference(&self.unusable).cloned().collect())
    }

    /// Returns the facts for the decision.
    pub(super) fn builtin<'a>(&'a self, upstream: Option<&'a BTreeSet<ReleaseName>>) -> BuiltinFacts<'a> {
        BuiltinFacts {
            wanted: &self.offered,
            pinned: &self.pinned,
            fetched: self.fetched.as_ref(),
            there: &self.there,
            upstream,
        }
    }

    /// Lists the releases of the upstream source.
    pub(super) async fn list(&mut self, context: &Context) {
        self.upstream = list(context, self.key, self.source).await;
        self.offered = self.decision().offered;
    }

    /// Returns the offered releases, for the report. Those of a `ClusterStack` that is suspended or deleted stay as they are.
    pub(super) fn decision(&self) -> Decision {
        let is_followed = !self.stack.spec.suspend && self.stack.metadata.deletion_timestamp.is_none();
        match &self.upstream {
            Ok((_, listing)) if is_followed => decide_missing(self.stack, listing, &BTreeSet::new()),
            _ => Decision::default(),
        }
    }

    /// Whether a release is pinned, or in what Flux has fetched.
    pub(super) fn is_in_use(&self, name: &ReleaseName) -> bool {
        self.pinned.contains_key(name) || self.fetched.as_ref().is_some_and(|names| names.contains(name))
    }

    /// Whether Flux has not fetched all releases yet.
    pub(super) fn is_behind(&self) -> bool {
        is_flux_behind(&self.builtin(None))
    }

    /// Whether the process may ask Flux to fetch: it leads, and the `ClusterStack` does not forbid all writes.
    pub(super) fn may_ask(&self, context: &Context) -> bool {
        context.api.may_write() && !self.stack.spec.suspend
    }

    /// Returns the sources that Flux should fetch before their next interval: that of all releases if it lacks some, and those
    /// that Flux could not fetch while the repository was closed.
    pub(super) fn to_fetch(&self, context: &Context, is_opened: bool) -> Vec<Arc<FluxObject>> {
        let is_failed =
            |source: &Arc<FluxObject>| is_opened && source.current_with("Ready", Status::False).is_some();
        let followed =
            followed(context, self.stack).filter(|followed| self.is_behind() || is_failed(followed));
        let pinned = self.pinned.keys().flat_map(|name| sources(context, &self.key.namespace, name));
        followed.into_iter().chain(pinned.filter(is_failed)).collect()
    }

    /// Refuses to bring in a release above the limit on the size of all repositories.
    pub(super) async fn check_size(&self, context: &Context) -> Result<(), Stop> {
        let Some(settings) = &context.settings.builtin else { return Ok(()) };
        let (size, limit) = (repository::size(settings.directory.clone()).await? >> 20, settings.size_limit);
        if size < u64::from(limit) {
            return Ok(());
        }
        let message = format!(
            "the built-in stack repositories have {size} MiB, and --builtin-size-limit is {limit} MiB: raise the limit, \
             and the size of the volume"
        );
        Err(hold(Reason::PublishFailed, message).into())
    }

    /// Makes the pinned commit of a release again from an artifact that Flux has of it, if there is one.
    pub(super) async fn restore(&self, context: &Context, name: &ReleaseName) {
        let Some(pin) = self.pinned.get(name) else { return };
        for artifact in artifacts(context, self.stack, self.key, name) {
            let files = match context.release_cache.files(&artifact, RELEASES, name).await {
                Ok(files) => files,
                Err(ReleaseCacheError::NoRelease { .. }) => continue,
                Err(error) => {
                    warn!(stack = %self.key, release = %name, %error, "cannot read Flux's artifact of a lost commit");
                    continue;
                }
            };
            // The artifact may be that of another commit.
            if root_commit(name, &files) != *pin {
                continue;
            }
            match repository::restore(&self.repository, name.clone(), files).await {
                Ok(()) => {
                    info!(stack = %self.key, release = %name, commit = %pin, "made a lost commit again from Flux's artifact");
                }
                Err(stop) => {
                    warn!(stack = %self.key, release = %name, ?stop, "cannot make a lost commit again");
                }
            }
            return;
        }
    }
}

/// Lists the releases of the upstream source.
async fn list(context: &Context, key: &Key, upstream: &Upstream) -> Result<(Box<dyn Origin>, Listing), Hold> {
    let origin = origin::open(context, &key.namespace, upstream).await?;
    let listing = within(LIST_TIMEOUT, &upstream.url, origin.list());
    let listing = context.metrics.measure(RemoteOperation::ListReleases, listing, classified).await;
    Ok((origin, listing.map_err(|error| hold(Reason::UpstreamUnavailable, error.to_string()))?))
}

/// Whether releases of a `ClusterStack` are pinned.
pub(super) fn is_in_use(context: &Context, key: &Key) -> bool {
    !pinned(context, key).is_empty()
}

/// Returns the commits of the releases of a `ClusterStack`.
fn pinned(context: &Context, key: &Key) -> BTreeMap<ReleaseName, Revision> {
    let releases = context.caches.releases.by_index(&index::owned_by("ClusterStack", key));
    let pin = |release: &ClusterStackRelease| {
        let name = release.metadata.name.as_deref()?.parse().ok()?;
        Some((name, release.pin()?.revision.parse().ok()?))
    };
    releases.iter().filter_map(|release| pin(release)).collect()
}

/// Returns the releases in the artifact that Flux has of the repository, or had last; `None` if that cannot be read now. An
/// artifact that is broken has none.
async fn fetched(context: &Context, stack: &ClusterStack) -> Option<BTreeSet<ReleaseName>> {
    let Ok(planned) = context.stack(stack) else { return Some(BTreeSet::new()) };
    let key = CatalogKey::of(&planned);
    let found = followed(context, stack);
    let artifact = found.as_ref().and_then(|found| ArtifactRef::new(found.status.artifact()?).ok());
    let read = match artifact {
        Some(artifact) => context.release_cache.catalog(&key, &artifact).await.map(Some),
        None => Ok(None),
    };
    let names = |read: Option<Arc<CatalogRead>>| {
        read.map(|read| read.releases.keys().cloned().collect()).unwrap_or_default()
    };
    match (read, context.release_cache.known_catalog(&key)) {
        (Ok(read), _) => Some(names(read)),
        (Err(_), Some(known)) => Some(names(Some(known))),
        (Err(error), None) if error.class() == Class::Terminal => Some(BTreeSet::new()),
        (Err(_), None) => None,
    }
}

/// Returns the `GitRepository`s of a release.
fn sources(context: &Context, namespace: &str, name: &ReleaseName) -> Vec<Arc<FluxObject>> {
    let owner = index::owned_by("ClusterStackRelease", &Key::new(namespace, &name.to_string()));
    context.caches.flux.of(FluxKind::GitRepository).by_index(&owner)
}

/// Returns the artifacts of Flux that may have a release: those of its own sources, and that of all releases.
fn artifacts(context: &Context, stack: &ClusterStack, key: &Key, name: &ReleaseName) -> Vec<ArtifactRef> {
    let found = sources(context, &key.namespace, name).into_iter().chain(followed(context, stack));
    found.filter_map(|found| ArtifactRef::new(found.status.artifact()?).ok()).collect()
}
