//! The content of a release, and the source of each part of it.

use std::borrow::Cow;
use std::sync::Arc;

use super::super::context::{Context, Resolution};
use super::super::objects::index;
use super::super::release_cache::{CatalogKey, ReleaseCacheError};
use crate::api::{ClusterStack, ClusterStackRelease, Reason};
use crate::error::{Class, Classify};
use crate::foreign::flux::FluxKind;
use crate::gate::Hold;
use crate::inputs::content::{self, Catalog, CatalogEntry, Contents, Existing};
use crate::inputs::stack::Stack;
use crate::inputs::{ReleaseInputs, acceptance, claim};
use crate::names::{ReleaseName, Revision};
use crate::plan::{PlanError, memory};
use crate::release::{Digest, Release};
use crate::rollup::{ConditionStatus, Report};
use crate::runtime::cache::Key;
use crate::source::artifact::ArtifactRef;
use crate::subscription::{ContentState, first_error, short};

/// The content of a release.
pub(super) enum Content {
    /// The release is not pinned, or Flux has not fetched its content yet.
    NotRead(Report),
    /// The release or its `ClusterStack` is invalid.
    Invalid(Report),
    /// A release of another namespace has one of the sources.
    Held(Hold),
    /// The content is temporarily unavailable.
    Unavailable(Report),
    /// The content was read.
    Known(Box<Known>),
}

/// A release that was read, with the source of each of its contents.
pub(super) struct Known {
    /// The `ClusterStack` as the input of plans.
    pub(super) stack: Stack,
    /// The release.
    pub(super) release: Arc<Release>,
    /// The sources of its contents.
    pub(super) contents: Contents,
    /// The report that the content in the stack repository differs from the pinned one, if it does.
    pub(super) mutated: Option<String>,
}

impl Known {
    /// Returns the inputs of plans.
    pub(super) fn inputs(&self) -> ReleaseInputs<'_> {
        ReleaseInputs { stack: &self.stack, release: &self.release, contents: &self.contents }
    }
}

impl Content {
    /// Returns the content of a release that cannot be planned: its status must not stay as it was.
    pub(super) fn without_plan(name: &ReleaseName, error: &PlanError) -> Self {
        invalid(Reason::DeliveryFailed.as_str(), &format!("cannot plan {name}: {error}"))
    }

    /// Whether the owner of the repository has not allowed the `ClusterStack` to refer to it.
    pub(super) fn is_not_allowed(&self) -> bool {
        matches!(self, Self::Invalid(report) if report.reason == Reason::SourceNotAllowed.as_str())
    }

    /// Returns the state of the content.
    pub(super) fn state(&self) -> ContentState {
        match self {
            Self::NotRead(_) => ContentState::NotRead,
            Self::Invalid(_) | Self::Held(_) => ContentState::Invalid,
            Self::Unavailable(_) => ContentState::Unavailable,
            Self::Known(_) => ContentState::Known,
        }
    }
}

fn invalid(reason: &str, message: &str) -> Content {
    Content::Invalid(Report::new(ConditionStatus::False, reason, message))
}

fn not_read(name: &ReleaseName) -> Content {
    let message = format!("Flux has not fetched {name} yet");
    Content::NotRead(Report::new(ConditionStatus::Unknown, Reason::NotYetReported.as_str(), &message))
}

/// Reports a release that is not pinned: a release is pinned once it was read without errors.
fn not_pinned(context: &Context, stack: &Stack, name: &ReleaseName) -> Content {
    let Some(read) = context.release_cache.known_catalog(&CatalogKey::of(stack)) else {
        return not_read(name);
    };
    match read.releases.get(name) {
        Some(Ok(_)) => not_read(name),
        Some(Err(findings)) => invalid(findings.reason(), &first_error(findings)),
        None => {
            let message =
                format!("the stack repository has no such release at {}", short(read.revision.as_str()));
            invalid(Reason::ReleaseNotFound.as_str(), &message)
        }
    }
}

/// Returns the pinned content of a release, from any artifact that has it.
pub(super) async fn content(
    context: &Context,
    object: &ClusterStackRelease,
    owner: &ClusterStack,
    name: &ReleaseName,
) -> Content {
    let stack = match context.stack(owner) {
        Ok(stack) => stack,
        Err(error) => return invalid(error.reason().as_str(), &error.to_string()),
    };
    let Some(pin) = object.pin() else { return not_pinned(context, &stack, name) };
    let (Ok(revision), Ok(digest)) = (pin.revision.parse::<Revision>(), pin.digest.parse::<Digest>()) else {
        let (revision, digest) = (&pin.revision, &pin.digest);
        let message = format!("invalid spec.source: expected a commit and a digest, got {revision} {digest}");
        return invalid(Reason::Invalid.as_str(), &message);
    };
    // Reading the catalog may also load the release.
    let known = catalog(context, &stack).await;
    let release = match read(context, &stack, name, &revision, digest).await {
        Ok(Some(release)) => release,
        Ok(None) => return not_read(name),
        Err(error) if error.class() == Class::Transient => {
            let report = Report::new(ConditionStatus::Unknown, error.reason(), &error.to_string());
            return Content::Unavailable(report);
        }
        Err(error) => return invalid(error.reason(), &error.to_string()),
    };
    let Some(mut catalog) = known else {
        return without_catalog(context, object, stack, release, revision);
    };
    let mutated = catalog.get(name).filter(|entry| entry.digest != digest).map(|entry| {
        format!(
            "digest mismatch in the stack repository: expected {digest}, got {}; releases are immutable",
            entry.digest
        )
    });
    catalog.insert(name.clone(), CatalogEntry::of(&release, revision));
    resolved(context, stack, release, &catalog, mutated)
}

/// Resolves a release while the rest of the stack repository is unknown: the sources of its contents stay as they were. If
/// they are unknown too, the release itself is their source.
fn without_catalog(
    context: &Context,
    object: &ClusterStackRelease,
    stack: Stack,
    release: Arc<Release>,
    revision: Revision,
) -> Content {
    if let Some(Resolution::Usable(before)) = context.resolution(&Key::of(object))
        && before.release.digest == release.digest
    {
        let whole = match accept(&stack, release.clone()) {
            Ok(whole) => whole,
            Err(refused) => return refused,
        };
        match content::with_new_components(&before.contents, &stack, &whole) {
            Ok(Some(contents)) => {
                return Content::Known(Box::new(Known { stack, release: whole, contents, mutated: None }));
            }
            Ok(None) => {}
            Err(error) => return invalid(error.reason().as_str(), &error.to_string()),
        }
    }
    let entry = (release.name.clone(), CatalogEntry::of(&release, revision));
    resolved(context, stack, release, &Catalog::from([entry]), None)
}

fn resolved(
    context: &Context,
    stack: Stack,
    release: Arc<Release>,
    catalog: &Catalog,
    mutated: Option<String>,
) -> Content {
    let release = match accept(&stack, release) {
        Ok(release) => release,
        Err(refused) => return refused,
    };
    match content::resolve(&stack, &release, catalog, &existing(context, &stack, &release)) {
        Ok(contents) => Content::Known(Box::new(Known { stack, release, contents, mutated })),
        Err(error) => invalid(error.reason().as_str(), &error.to_string()),
    }
}

/// Returns a release with the components of its `ClusterStack`, unless the settings refuse the release.
fn accept(stack: &Stack, release: Arc<Release>) -> Result<Arc<Release>, Content> {
    match acceptance::accept(stack, &release) {
        Ok(Cow::Owned(whole)) => Ok(Arc::new(whole)),
        Ok(Cow::Borrowed(_)) => Ok(release),
        Err(findings) => Err(invalid(findings.reason(), &first_error(&findings))),
    }
}

/// Reads the release from memory, from the artifact of its own source, or from that of the stack repository.
async fn read(
    context: &Context,
    stack: &Stack,
    name: &ReleaseName,
    revision: &Revision,
    digest: Digest,
) -> Result<Option<Arc<Release>>, ReleaseCacheError> {
    if let Some(release) = context.release_cache.release(name, digest) {
        return Ok(Some(release));
    }
    let of = |name: &str| artifact(context, &Key::new(stack.source.namespace.as_str(), name));
    let pinned = claim::names(stack, &name.to_string()).into_iter().filter_map(|name| of(&name)?.ok());
    let pinned = pinned.into_iter().find(|artifact| artifact.revision == *revision);
    let Some(artifact) =
        pinned.map_or_else(|| of(stack.source.name.as_str()).transpose(), |found| Ok(Some(found)))?
    else {
        return Ok(None);
    };
    context.release_cache.pinned_release(&artifact, &stack.source.path, name, digest).await.map(Some)
}

/// Returns the artifact that Flux serves for a `GitRepository`.
fn artifact(context: &Context, key: &Key) -> Option<Result<ArtifactRef, ReleaseCacheError>> {
    let artifact = context.caches.flux.get(FluxKind::GitRepository, key)?.status.artifact().cloned()?;
    Some(ArtifactRef::new(&artifact).map_err(ReleaseCacheError::from))
}

/// Returns the last known catalog of the stack repository, which is read if unknown: without it, other sources of contents
/// would be chosen and written.
async fn catalog(context: &Context, stack: &Stack) -> Option<Catalog> {
    let key = CatalogKey::of(stack);
    let mut read = context.release_cache.known_catalog(&key);
    if read.is_none()
        && let Some(Ok(artifact)) = artifact(context, &key.repository)
    {
        // Its ClusterStack reports the error.
        read = context.release_cache.catalog(&key, &artifact).await.ok();
    }
    read.map(|read| read.catalog())
}

/// Returns the sources and charts that are as the operator wrote them, and the sources from which clusters have the
/// manifests of a release.
fn existing(context: &Context, stack: &Stack, release: &Release) -> Existing {
    let flux = &context.caches.flux;
    let mut objects = flux.all(&[FluxKind::GitRepository, FluxKind::HelmChart]);
    for addon in release.addons.iter().filter(|addon| !addon.is_chart()) {
        let index_key = index::manifests(addon.name.as_str(), &addon.digest.to_string());
        objects.extend(flux.of(FluxKind::Kustomization).by_index(&index_key));
    }
    let releases = context.caches.releases.all();
    memory::existing(stack, releases.iter().map(|release| &**release), objects)
}
