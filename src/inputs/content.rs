//! The sources of a release's contents: the release whose directory holds each content, and its commit.
//!
//! Charts are content-addressed and shared. The source of a content is an input of the plan, because a chart from
//! another commit has another version and so upgrades every addon that uses it. Manifests have no object of their own:
//! the Kustomizations that apply them stand for it. The rule: an existing content keeps its source; otherwise its source
//! is the lowest release of the same stack and channel in the stack repository that has the content. A pinned release
//! keeps its pin; otherwise the commit that last changed its directory becomes the pin. A release that was changed after it
//! was pinned supplies nothing.

mod located;
mod names;

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize as _;
use serde_json::Value;

use crate::api::cluster_stack_release::PinnedSource;
use crate::api::{Reason, SourcePlacement, labels};
use crate::foreign::capi::text;
use crate::foreign::flux::FluxKind;
use crate::foreign::flux::observed::FluxObject;
use crate::inputs::claim::{self, Claim};
use crate::inputs::components::{ComponentError, SourceObject, flux_path};
use crate::inputs::line::Line;
use crate::inputs::stack::Stack;
use crate::names::{AddonName, Key, NameError, ObjectName, ReleaseName, Revision};
use crate::release::{Addon, Component, Digest, Release};

pub use located::{Content, Contents, Pin};
pub use names::{Names, Owned};

/// A release of the stack repository: its contents and its pin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CatalogEntry {
    /// The commit that holds the release.
    pub revision: Revision,
    /// The digest of the whole release.
    pub digest: Digest,
    /// The digest of each addon.
    pub addons: BTreeMap<AddonName, Digest>,
}

impl CatalogEntry {
    /// Creates the entry of a release that was read.
    #[must_use]
    pub fn of(release: &Release, revision: Revision) -> Self {
        let addons = release.addons.iter().map(|addon| (addon.name.clone(), addon.digest)).collect();
        Self { revision, digest: release.digest, addons }
    }
}

/// The releases of a stack repository in their order.
pub type Catalog = BTreeMap<ReleaseName, CatalogEntry>;

/// The releases of a catalog that can supply contents.
type Suppliers<'a> = BTreeMap<&'a ReleaseName, &'a CatalogEntry>;

/// A `GitRepository` of an earlier plan that pins a release.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExistingSource {
    revision: Revision,
    digest: String,
}

/// A `HelmChart` of an earlier plan.
#[derive(Clone, Debug, PartialEq, Eq)]
struct ExistingChart {
    source: String,
    path: String,
    digest: String,
}

/// The sources and charts of an earlier plan: in the cluster, in the output directory, or in a file. In a cluster, only
/// those count that are [as the operator wrote them](crate::plan::memory).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Existing {
    /// The pins of releases; `None` for an invalid one.
    pins: BTreeMap<ReleaseName, Option<ExistingSource>>,
    sources: Namespaced<ExistingSource>,
    charts: Namespaced<ExistingChart>,
    manifests: BTreeMap<Manifests, BTreeSet<String>>,
    names: Names,
}

/// The manifests of an addon that some cluster has: the addon, the digest, and the namespace of the source. The key of
/// the names of the sources that they come from. Users may write such objects, so no other field of them counts.
type Manifests = (String, String, String);

/// Objects by name, and by namespace within a name.
type Namespaced<T> = BTreeMap<String, BTreeMap<String, T>>;

impl Existing {
    /// Adds an object as a cache would have it. An object whose shape is not Flux's is not ours.
    pub fn insert(&mut self, object: &Value) {
        // There may be thousands, and none counts.
        if text(object, &["kind"]) == FluxKind::HelmRelease.as_str() {
            return;
        }
        if let Ok(observed) = FluxObject::deserialize(object) {
            if observed.kind().is_source() && place(&observed).is_some() {
                self.names.insert(observed.kind(), &Key::of_metadata(&observed.object), true);
            }
            self.names.insert_claim(&observed);
            self.insert_observed(&observed);
        }
    }

    /// Returns what is known about the names of sources and charts.
    pub fn names(&mut self) -> &mut Names {
        &mut self.names
    }

    /// Adds the pin of a release, which counts more than its `GitRepository`. With an invalid one, the release supplies no
    /// contents.
    pub fn insert_pin(&mut self, release: ReleaseName, pin: &PinnedSource) {
        let revision = pin.revision.parse().ok();
        let pin = revision.map(|revision| ExistingSource { revision, digest: pin.digest.clone() });
        self.pins.insert(release, pin);
    }

    /// Whether a release of the stack repository has the content that it was pinned with, if it is pinned.
    fn is_as_pinned(&self, release: &ReleaseName, entry: &CatalogEntry) -> bool {
        let is_same = |pin: &ExistingSource| pin.digest == entry.digest.to_string();
        self.pins.get(release).is_none_or(|pin| pin.as_ref().is_some_and(is_same))
    }

    /// Adds a watched object. Only a `GitRepository`, `HelmChart` or `Kustomization` of stackflux that is not being deleted
    /// counts.
    pub fn insert_observed(&mut self, object: &FluxObject) {
        let Some((place, digest)) = place(object) else { return };
        let of = &object.refers_to;
        match object.kind() {
            FluxKind::GitRepository => {
                let Ok(revision) = of.exact.parse() else { return };
                self.sources.entry(place.1).or_default().insert(place.0, ExistingSource { revision, digest });
            }
            FluxKind::HelmChart => {
                let chart = ExistingChart { source: of.source.clone(), path: of.chart.clone(), digest };
                self.charts.entry(place.1).or_default().insert(place.0, chart);
            }
            FluxKind::Kustomization => {
                let Some(addon) = object.addon() else { return };
                let beside = Some(&of.source_namespace).filter(|of| !of.is_empty()).unwrap_or(&place.0);
                let key = (addon.to_owned(), digest, beside.clone());
                self.manifests.entry(key).or_default().insert(of.source.clone());
            }
            // The reference of a component says which content it is.
            FluxKind::HelmRelease | FluxKind::OCIRepository => {}
        }
    }

    /// The source of an addon's manifests in clusters that have them: the lowest release in the stack repository that
    /// has this content, and the directory.
    fn manifests(&self, stack: &Stack, catalog: &Suppliers, addon: &Addon) -> Option<(ReleaseName, String)> {
        let (name, digest) = (addon.name.to_string(), addon.digest.to_string());
        let beside =
            |namespace: &str| self.manifests.get(&(name.clone(), digest.clone(), namespace.to_owned()));
        let shared = stack.flux.sources == SourcePlacement::Shared;
        let copies = self.manifests.iter().filter(|(key, _)| !shared && (&key.0, &key.1) == (&name, &digest));
        let found = beside(stack.source.namespace.as_str()).into_iter().chain(copies.map(|(_, found)| found));
        let has_content = |source: &ReleaseName| {
            let entry = catalog.get(source).filter(|_| stack.line.has(source));
            entry.is_some_and(|entry| entry.addons.get(&addon.name) == Some(&addon.digest))
        };
        let sources = found.flatten().filter_map(|source| claim::release_of(stack, source));
        let source = sources.filter(has_content).min()?;
        let path = release_path(&stack.source.path, &source, &addon.path);
        Some((source, path))
    }

    /// Finds the pin of a release: that of its `ClusterStackRelease`, otherwise of its source. The source is beside the
    /// class: users who may write objects in the namespace of a Cluster must not choose contents, so the copies there do
    /// not count.
    fn source(&self, stack: &Stack, release: &ReleaseName) -> Option<&ExistingSource> {
        if let Some(Some(pin)) = self.pins.get(release) {
            return Some(pin);
        }
        let name = self.names.owned(stack, FluxKind::GitRepository, &release.to_string()).ok()?.name;
        self.sources.get(name.as_str())?.get(stack.source_namespace(&stack.namespace).as_str())
    }

    /// Finds the chart of an addon's content, beside the class like its source.
    fn chart(&self, stack: &Stack, chart: &ObjectName) -> Option<&ExistingChart> {
        self.charts.get(chart.as_str())?.get(stack.source_namespace(&stack.namespace).as_str())
    }
}

/// Returns namespace and name of an object, and the digest of its content; `None` if it has no digest or is being
/// deleted.
fn place(object: &FluxObject) -> Option<((String, String), String)> {
    let digest = object.object.annotations.as_ref()?.get(labels::CONTENT_DIGEST)?;
    let place = (object.object.namespace.clone().unwrap_or_default(), object.object.name.clone()?);
    (!digest.is_empty() && !object.metadata.terminating).then(|| (place, digest.clone()))
}

/// The reason why the source of a content is unknown.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ContentError {
    /// Another content has the same first twelve digits of its digest.
    #[error(
        "HelmChart {chart} exists with other content (expected {wanted}, got {existing}): rename the addon, or delete \
         the HelmChart if nothing uses it"
    )]
    ChartNameCollision {
        /// The chart's name.
        chart: String,
        /// The existing chart's digest.
        existing: String,
        /// The expected digest.
        wanted: String,
    },
    /// The directory of a release was changed after it was pinned.
    #[error(
        "release {release} was changed after it was pinned at {revision} (expected {pinned}, got {found}): releases \
         are immutable, publish a new one"
    )]
    ReleaseMutated {
        /// The release.
        release: Box<ReleaseName>,
        /// The commit that it is pinned to.
        revision: Revision,
        /// The digest that was pinned.
        pinned: String,
        /// The digest that the stack repository has now.
        found: String,
    },
    /// The release is neither in the stack repository nor pinned, so that its commit is unknown.
    #[error(
        "release {0} is neither in the stack repository nor pinned: there is no commit that Flux could fetch"
    )]
    Unpinned(ReleaseName),
    /// The source of a component cannot be written.
    #[error(transparent)]
    Component(#[from] ComponentError),
    /// A name that Kubernetes would refuse.
    #[error(transparent)]
    Name(#[from] NameError),
}

impl ContentError {
    /// Returns the reason for a condition.
    #[must_use]
    pub fn reason(&self) -> Reason {
        match self {
            Self::ChartNameCollision { .. } => Reason::ChartNameCollision,
            Self::ReleaseMutated { .. } => Reason::ReleaseMutated,
            Self::Unpinned(_) => Reason::ReleaseNotFound,
            Self::Component(_) | Self::Name(_) => Reason::Invalid,
        }
    }
}

/// Finds the source of everything in `release`. `catalog` holds the releases of the stack repository.
pub fn resolve(
    stack: &Stack,
    release: &Release,
    catalog: &Catalog,
    existing: &Existing,
) -> Result<Contents, ContentError> {
    let supplies = |(name, entry): &(&ReleaseName, &CatalogEntry)| {
        **name == release.name || existing.is_as_pinned(name, entry)
    };
    let catalog: Suppliers = catalog.iter().filter(supplies).collect();
    let owned = |kind, plain: &str| existing.names.owned(stack, kind, plain);
    let class = owned(FluxKind::HelmChart, &release.name.to_string())?;
    let mut contents = Contents { addons: BTreeMap::new(), pins: BTreeMap::new(), class };
    let mut pin = |release: &ReleaseName| -> Result<ObjectName, ContentError> {
        let (revision, digest) =
            pin(release, catalog.get(release).copied(), existing.source(stack, release))?;
        let owned = owned(FluxKind::GitRepository, &release.to_string())?;
        let name = owned.name.clone();
        contents.pins.insert(release.clone(), Pin { revision, digest, owned });
        Ok(name)
    };
    pin(&release.name)?;
    for addon in &release.addons {
        if let Some(component) = addon.component() {
            let content = if addon.platform().is_some() {
                platform_content(stack, addon)?
            } else {
                let first = lowest(&stack.line, release, addon, &catalog);
                Some(of_component(stack, Some(first), addon, component)?)
            };
            contents.addons.extend(content.map(|content| (addon.name.clone(), content)));
            continue;
        }
        let plain = ObjectName::bounded(&format!("{}-{}", addon.name, addon.digest.short()))?;
        let Owned { name: chart, claim } = owned(FluxKind::HelmChart, plain.as_str())?;
        let kept = if addon.is_chart() {
            kept(stack, addon, &chart, existing.chart(stack, &chart))?
        } else {
            existing.manifests(stack, &catalog, addon)
        };
        let is_there =
            |source: &ReleaseName| catalog.contains_key(source) || existing.source(stack, source).is_some();
        let (source, path) = kept.filter(|(source, _)| is_there(source)).unwrap_or_else(|| {
            let lowest = lowest(&stack.line, release, addon, &catalog);
            (lowest.clone(), release_path(&stack.source.path, lowest, &addon.path))
        });
        let source_name = pin(&source)?;
        let digest = addon.digest;
        let component = None;
        let content =
            Content { release: Some(source), source: source_name, path, chart, claim, digest, component };
        contents.addons.insert(addon.name.clone(), content);
    }
    Ok(contents)
}

/// Returns the contents of a release with the present components of its `ClusterStack`. `None` if one of its own is not known:
/// a component took its place before.
pub fn with_new_components(
    known: &Contents,
    stack: &Stack,
    release: &Release,
) -> Result<Option<Contents>, ContentError> {
    let mut contents = known.clone();
    contents.addons.retain(|_, content| content.release.is_some());
    for addon in release.addons.iter().filter(|addon| addon.platform().is_some()) {
        contents.addons.remove(&addon.name);
        let content = platform_content(stack, addon)?;
        contents.addons.extend(content.map(|content| (addon.name.clone(), content)));
    }
    let is_known = |addon: &Addon| addon.platform().is_some() || contents.addons.contains_key(&addon.name);
    Ok(release.addons.iter().all(is_known).then_some(contents))
}

/// Returns the content of a component of the `ClusterStack`; `None` if it cannot be used, and for any other addon.
fn platform_content(stack: &Stack, addon: &Addon) -> Result<Option<Content>, ContentError> {
    let usable = addon
        .component()
        .filter(|component| component.platform.as_ref().is_some_and(|platform| platform.problem.is_none()));
    usable.map(|component| of_component(stack, None, addon, component)).transpose()
}

/// Returns the content of a component. `release` is the lowest one that has it, if it is not one of the `ClusterStack`.
fn of_component(
    stack: &Stack,
    release: Option<&ReleaseName>,
    addon: &Addon,
    component: &Component,
) -> Result<Content, ContentError> {
    let source = SourceObject::of(stack, component)?;
    Ok(Content {
        release: release.cloned(),
        chart: source.chart_name(stack, &addon.name, &component.path)?,
        claim: Some(Claim::own(stack)),
        source: source.name.clone(),
        path: flux_path(&component.path),
        digest: addon.digest,
        component: Some(source),
    })
}

/// Returns the source of the existing chart with the name of an addon's content: release and directory. Fails if that
/// chart has other content.
fn kept(
    stack: &Stack,
    addon: &Addon,
    chart: &ObjectName,
    existing: Option<&ExistingChart>,
) -> Result<Option<(ReleaseName, String)>, ContentError> {
    let Some(existing) = existing else { return Ok(None) };
    let wanted = addon.digest.to_string();
    if existing.digest != wanted {
        let (chart, existing) = (chart.to_string(), existing.digest.clone());
        return Err(ContentError::ChartNameCollision { chart, existing, wanted });
    }
    Ok(claim::release_of(stack, &existing.source).map(|source| (source, existing.path.clone())))
}

/// The lowest release of the line that has the addon's content.
fn lowest<'a>(line: &Line, release: &'a Release, addon: &Addon, catalog: &Suppliers<'a>) -> &'a ReleaseName {
    let mut of_line = catalog.iter().filter(|(name, _)| line.has(name));
    let found = of_line.find(|(_, entry)| entry.addons.get(&addon.name) == Some(&addon.digest));
    found.map_or(&release.name, |(name, _)| *name)
}

/// Returns the directory `below` of a release within the stack repository, as Flux expects it.
#[must_use]
pub fn release_path(root: &str, release: &ReleaseName, below: &str) -> String {
    let root = root.trim_start_matches("./").trim_matches('/');
    let parts = [root, &release.to_string(), below];
    let parts: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    format!("./{}", parts.join("/"))
}

/// Chooses the pin of a release: its existing one, otherwise that of the stack repository. Fails if the two have different
/// content, or if the release has neither.
fn pin(
    release: &ReleaseName,
    found: Option<&CatalogEntry>,
    existing: Option<&ExistingSource>,
) -> Result<(Revision, String), ContentError> {
    match (found, existing) {
        (Some(found), Some(existing)) if found.digest.to_string() != existing.digest => {
            Err(ContentError::ReleaseMutated {
                release: Box::new(release.clone()),
                revision: existing.revision.clone(),
                pinned: existing.digest.clone(),
                found: found.digest.to_string(),
            })
        }
        (_, Some(existing)) => Ok((existing.revision.clone(), existing.digest.clone())),
        (Some(found), None) => Ok((found.revision.clone(), found.digest.to_string())),
        (None, None) => Err(ContentError::Unpinned(release.clone())),
    }
}

#[cfg(test)]
mod tests;
