//! Gathers the facts about a built-in stack repository.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use jiff::Timestamp;
use tracing::{info, warn};

use super::super::super::builtin::BuiltinRepositories;
use super::super::super::context::Context;
use super::super::super::objects::index;
use super::super::super::release_cache::CatalogKey;
use super::super::super::secrets;
use super::super::gather::{LIST_TIMEOUT, followed, is_unchanged};
use super::super::{Decision, Stop, decide_missing, hold, origin, within};
use super::{not_served, repository};
use crate::api::{ClusterStack, Reason, StackSource, Upstream};
use crate::builtin::{RELEASES, root_commit};
use crate::foreign::flux::FluxKind;
use crate::foreign::flux::observed::{FluxObject, Status};
use crate::gate::Hold;
use crate::git::ServedRepository;
use crate::names::{ReleaseName, Revision};
use crate::runtime::cache::Key;
use crate::serve::Login;
use crate::source::artifact::ArtifactRef;
use crate::source::origin::{Listing, Origin};
use crate::subscription::BuiltinFacts;
use secrecy::ExposeSecret as _;

/// The facts about a built-in stack repository.
pub(super) struct Facts<'a> {
    pub(super) now: Timestamp,
    pub(super) key: &'a Key,
    pub(super) uid: &'a str,
    /// The address of the upstream source.
    pub(super) url: String,
    pub(super) repository: Arc<ServedRepository>,
    /// The releases in the repository.
    pub(super) there: BTreeMap<ReleaseName, Revision>,
    /// The login that Flux needs.
    pub(super) login: Option<Login>,
    /// The upstream source with its releases, or why it is not available.
    pub(super) upstream: Result<(Box<dyn Origin>, BTreeSet<ReleaseName>), Hold>,
    stack: &'a ClusterStack,
    /// Whether the `ClusterStack` is still as in these facts.
    pub(super) is_current: Box<dyn Fn() -> bool + Send + Sync + 'a>,
    offered: Decision,
    pinned: BTreeMap<ReleaseName, Revision>,
    fetched: BTreeSet<ReleaseName>,
}

/// Gathers the facts, and opens the repository.
#[expect(clippy::disallowed_methods, reason = "gather takes the time once")]
pub(super) async fn gather<'a>(
    context: &'a Context,
    key: &'a Key,
    stack: &'a ClusterStack,
    upstream: &'a Upstream,
) -> Result<Facts<'a>, Stop> {
    let (Some(settings), Some(uid)) = (&context.settings.builtin, &stack.metadata.uid) else {
        return Err(not_served(stack));
    };
    let login = login(context, key, stack, upstream).await?;
    let repository = if let Some(repository) = context.builtin.repository(uid) {
        repository
    } else {
        let directory = BuiltinRepositories::directory(&settings.directory, key, uid);
        let opened = repository::open(directory).await?;
        context.builtin.set_repository(uid, opened.clone());
        opened
    };
    let there = repository::releases(&repository).await?;
    let upstream_releases = list(context, key, upstream).await;
    let offered = match &upstream_releases {
        Ok((_, listing)) if is_followed(stack) => decide_missing(stack, listing, &BTreeSet::new()),
        _ => Decision::default(),
    };
    Ok(Facts {
        now: context.clock.now(),
        key,
        uid,
        url: upstream.url.clone(),
        repository,
        there,
        login,
        upstream: upstream_releases.map(|(origin, listing)| (origin, listing.releases)),
        stack,
        is_current: Box::new(move || is_unchanged(stack, context.caches.stacks.get(key).as_deref())),
        offered,
        pinned: pinned(context, key),
        fetched: fetched(context, stack).await,
    })
}

impl Facts<'_> {
    /// Returns the facts for the decision.
    pub(super) fn builtin(&self) -> BuiltinFacts<'_> {
        BuiltinFacts {
            wanted: &self.offered.offered,
            pinned: &self.pinned,
            fetched: &self.fetched,
            there: &self.there,
            upstream: self.upstream.as_ref().ok().map(|(_, releases)| releases),
        }
    }

    /// Returns the offered releases, for the report.
    pub(super) fn offered(self) -> Decision {
        self.offered
    }

    /// Reads the releases in the repository again.
    pub(super) async fn look_again(&mut self) -> Result<(), Stop> {
        self.there = repository::releases(&self.repository).await?;
        Ok(())
    }

    /// Returns the sources that Flux should fetch before their next interval: that of all releases if the repository is another
    /// one, and those that Flux could not fetch while it was closed.
    pub(super) fn to_fetch(
        &self,
        context: &Context,
        is_changed: bool,
        is_opened: bool,
    ) -> Vec<Arc<FluxObject>> {
        let is_failed =
            |source: &Arc<FluxObject>| is_opened && source.current_with("Ready", Status::False).is_some();
        let followed = followed(context, self.stack).filter(|followed| is_changed || is_failed(followed));
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

    /// Makes the pinned commit of a release again from the artifact that Flux has of it. Returns whether that was possible.
    pub(super) async fn restore(&self, context: &Context, name: &ReleaseName) -> bool {
        let Some(pin) = self.pinned.get(name) else { return false };
        let Some(artifact) = artifact(context, &self.key.namespace, name, pin) else { return false };
        let files = match context.release_cache.files(&artifact, RELEASES, name).await {
            Ok(files) => files,
            Err(error) => {
                warn!(stack = %self.key, release = %name, %error, "cannot read the artifact of a lost release");
                return false;
            }
        };
        // The artifact lacks what Flux ignores.
        if root_commit(name, &files) != *pin {
            return false;
        }
        match repository::restore(&self.repository, name.clone(), files).await {
            Ok(()) => {
                info!(stack = %self.key, release = %name, commit = %pin, "made a lost commit again from Flux's artifact");
                true
            }
            Err(stop) => {
                warn!(stack = %self.key, release = %name, ?stop, "cannot make a lost commit again");
                false
            }
        }
    }
}

/// Whether new releases are brought in. The others of a `ClusterStack` that is suspended or deleted stay served.
fn is_followed(stack: &ClusterStack) -> bool {
    !stack.spec.suspend && stack.metadata.deletion_timestamp.is_none()
}

/// Lists the releases of the upstream source.
async fn list(context: &Context, key: &Key, upstream: &Upstream) -> Result<(Box<dyn Origin>, Listing), Hold> {
    let origin = origin::open(context, &key.namespace, upstream).await?;
    let listing = within(LIST_TIMEOUT, &upstream.url, origin.list()).await;
    Ok((origin, listing.map_err(|error| hold(Reason::UpstreamUnavailable, error.to_string()))?))
}

/// Returns the commits of the releases of a `ClusterStack`.
fn pinned(context: &Context, key: &Key) -> BTreeMap<ReleaseName, Revision> {
    let releases = context.caches.releases.by_index(&index::owned_by("ClusterStack", key));
    let pin = |release: &crate::api::ClusterStackRelease| {
        let name = release.metadata.name.as_deref()?.parse().ok()?;
        Some((name, release.pin()?.revision.parse().ok()?))
    };
    releases.iter().filter_map(|release| pin(release)).collect()
}

/// Returns the releases in the artifact that Flux has of the repository.
async fn fetched(context: &Context, stack: &ClusterStack) -> BTreeSet<ReleaseName> {
    let Ok(planned) = context.stack(stack) else { return BTreeSet::new() };
    let key = CatalogKey::of(&planned);
    let found = followed(context, stack).filter(|found| found.is_observed());
    let artifact = found.as_ref().and_then(|found| ArtifactRef::new(found.status.artifact()?).ok());
    let read = match artifact {
        Some(artifact) => context.release_cache.catalog(&key, &artifact).await.ok(),
        None => None,
    };
    let read = read.or_else(|| context.release_cache.known_catalog(&key));
    read.map(|read| read.releases.keys().cloned().collect()).unwrap_or_default()
}

/// Returns the `GitRepository`s of a release.
fn sources(context: &Context, namespace: &str, name: &ReleaseName) -> Vec<Arc<FluxObject>> {
    let owner = index::owned_by("ClusterStackRelease", &Key::new(namespace, &name.to_string()));
    context.caches.flux.of(FluxKind::GitRepository).by_index(&owner)
}

/// Returns Flux's artifact of the commit that a release is pinned to.
fn artifact(context: &Context, namespace: &str, name: &ReleaseName, pin: &Revision) -> Option<ArtifactRef> {
    let found = sources(context, namespace, name);
    let mut artifacts = found.iter().filter_map(|found| ArtifactRef::new(found.status.artifact()?).ok());
    artifacts.find(|artifact| artifact.revision == *pin)
}

/// Returns the login that clients of the repository need. Releases of an upstream with credentials are not given to everybody.
async fn login(
    context: &Context,
    key: &Key,
    stack: &ClusterStack,
    upstream: &Upstream,
) -> Result<Option<Login>, Stop> {
    let source = context.settings.defaults.source_of(stack);
    let is_private = upstream.secret_ref.is_some();
    let Some(reference) = source.and_then(|source: &StackSource| source.secret_ref.as_ref()) else {
        if !is_private {
            return Ok(None);
        }
        let message = "source.upstream.secretRef is set, and every tenant of Flux could read the releases: set \
                       source.secretRef to a Secret with username and password, which the operator then requires of Flux";
        return Err(hold(Reason::SecretInvalid, message.to_owned()).into());
    };
    let data = secrets::read(context, &key.namespace, reference).await?;
    let is_given = |key: &str| data.contains_key(key);
    if !is_private && !is_given("username") && !is_given("password") {
        return Ok(None);
    }
    let text = |name| secrets::text(&data, &key.namespace, &reference.name, name);
    let (user, password) = (text("username")?, text("password")?);
    let (user, password) = (user.expose_secret(), password.expose_secret());
    let settings = context.settings.builtin.as_ref();
    let problem = if user.contains(':') {
        Some("username has a ':', which HTTP cannot send")
    } else if password.is_empty() {
        Some("password is empty")
    } else if settings.is_some_and(|settings| settings.certificate.is_none() && !settings.insecure_auth) {
        Some(
            "the operator serves plain HTTP, which would send the password unencrypted: start it with \
             --builtin-cert-dir, or with --builtin-insecure-auth",
        )
    } else {
        None
    };
    match problem {
        Some(problem) => {
            let message = format!("Secret {}/{}: {problem}", key.namespace, reference.name);
            Err(hold(Reason::SecretInvalid, message).into())
        }
        None => Ok(Some(Login::new(user, password))),
    }
}
