//! Where the contents of a release come from: which release's directory, at which commit.
//!
//! Charts are content-addressed and shared. The source of a content is an input of the plan, because moving a chart to
//! another commit changes its version and so upgrades every addon that uses it. The rule: a chart that exists keeps
//! its source; otherwise the lowest release of the same stack and channel in the stack repository that has the content. A release that is pinned
//! keeps its pin; otherwise it is pinned where its directory last changed.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::api::labels;
use crate::foreign::capi::{field, text};
use crate::names::{AddonName, NameError, ObjectName, ReleaseName, Revision};
use crate::release::{Digest, Release};

/// A release of the stack repository: what it holds and where it is pinned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CatalogEntry {
    /// The commit that holds it.
    pub revision: Revision,
    /// The digest of the whole release.
    pub digest: Digest,
    /// The digest of each addon.
    pub addons: BTreeMap<AddonName, Digest>,
}

impl CatalogEntry {
    /// The entry of a release that was read.
    #[must_use]
    pub fn of(release: &Release, revision: Revision) -> Self {
        let addons = release.addons.iter().map(|addon| (addon.name.clone(), addon.digest)).collect();
        Self { revision, digest: release.digest, addons }
    }
}

/// The releases of a stack repository in their order.
pub type Catalog = BTreeMap<ReleaseName, CatalogEntry>;

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

/// The sources and charts of an earlier plan: in the cluster, in the output directory, or in a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Existing {
    sources: BTreeMap<String, ExistingSource>,
    charts: BTreeMap<String, ExistingChart>,
}

impl Existing {
    /// Takes an object in: a `GitRepository` or `HelmChart` of stackflux that is not being deleted counts, all else
    /// does not.
    pub fn insert(&mut self, object: &Value) {
        let digest = text(object, &["metadata", "annotations", labels::CONTENT_DIGEST]);
        if digest.is_empty() || field(object, &["metadata", "deletionTimestamp"]).is_some() {
            return;
        }
        let (name, digest) = (text(object, &["metadata", "name"]).to_owned(), digest.to_owned());
        match text(object, &["kind"]) {
            "GitRepository" => {
                if let Ok(revision) = text(object, &["spec", "ref", "commit"]).parse() {
                    self.sources.insert(name, ExistingSource { revision, digest });
                }
            }
            "HelmChart" => {
                let source = text(object, &["spec", "sourceRef", "name"]).to_owned();
                let path = text(object, &["spec", "chart"]).to_owned();
                self.charts.insert(name, ExistingChart { source, path, digest });
            }
            _ => {}
        }
    }
}

/// Why the source of a content cannot be told.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ContentError {
    /// Another content has the same first twelve digits.
    #[error(
        "HelmChart {chart} exists with another content ({existing}, wanted {wanted}): rename the addon, or delete the chart if nothing uses it"
    )]
    ChartNameCollision {
        /// The chart's name.
        chart: String,
        /// The digest that it has.
        existing: String,
        /// The digest that it should have.
        wanted: String,
    },
    /// The directory of a release was changed after it was pinned.
    #[error(
        "release {release} was changed after it was pinned at {revision} ({pinned}, now {found}): a release never changes, publish a new one"
    )]
    ReleaseMutated {
        /// The release.
        release: ReleaseName,
        /// Where it is pinned.
        revision: Revision,
        /// The digest that was pinned.
        pinned: String,
        /// The digest that the stack repository has now.
        found: String,
    },
    /// A name that Kubernetes would refuse.
    #[error(transparent)]
    Name(#[from] NameError),
}

/// A release at a commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pin {
    /// The commit.
    pub revision: Revision,
    /// The digest of the whole release there, in its text form.
    pub digest: String,
}

/// One content in its source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Content {
    /// The release whose directory holds it.
    pub release: ReleaseName,
    /// The directory within the stack repository, as Flux takes it: `./releases/<release>/…`.
    pub path: String,
    /// The name of its `HelmChart`: the addon's and the content's first twelve hex digits.
    pub chart: ObjectName,
    /// The full digest.
    pub digest: Digest,
}

/// All contents of a release in their sources.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Contents {
    /// Per addon.
    pub addons: BTreeMap<AddonName, Content>,
    /// The releases that contents come from, and the release itself, with their pins.
    pub pins: BTreeMap<ReleaseName, Pin>,
}

/// Finds the source of everything in `release`, whose stack repository has the releases of `catalog` below `root`.
pub fn resolve(
    release: &Release,
    root: &str,
    catalog: &Catalog,
    existing: &Existing,
) -> Result<Contents, ContentError> {
    let mut contents = Contents { addons: BTreeMap::new(), pins: BTreeMap::new() };
    pin(&release.name, catalog, existing, &mut contents.pins)?;
    for addon in &release.addons {
        let chart = ObjectName::bounded(&format!("{}-{}", addon.name, addon.digest.short()))?;
        let kept = match existing.charts.get(chart.as_str()) {
            Some(found) if found.digest != addon.digest.to_string() => {
                return Err(ContentError::ChartNameCollision {
                    chart: chart.to_string(),
                    existing: found.digest.clone(),
                    wanted: addon.digest.to_string(),
                });
            }
            found => found.and_then(|found| Some((found.source.parse().ok()?, found.path.clone()))),
        };
        let kept = kept.filter(|(source, _)| {
            catalog.contains_key(source) || existing.sources.contains_key(&source.to_string())
        });
        let (source, path) = kept.unwrap_or_else(|| {
            let has = |entry: &CatalogEntry| entry.addons.get(&addon.name) == Some(&addon.digest);
            let mut lines = catalog.iter().filter(|(name, _)| release.name.same_line(name));
            let lowest = lines.find(|(_, entry)| has(entry)).map_or(&release.name, |(name, _)| name);
            (lowest.clone(), release_path(root, lowest, &addon.path))
        });
        pin(&source, catalog, existing, &mut contents.pins)?;
        let content = Content { release: source, path, chart, digest: addon.digest };
        contents.addons.insert(addon.name.clone(), content);
    }
    Ok(contents)
}

/// The directory `below` of a release within the stack repository, as Flux takes it.
#[must_use]
pub fn release_path(root: &str, release: &ReleaseName, below: &str) -> String {
    let root = root.trim_start_matches("./").trim_matches('/');
    let parts = [root, &release.to_string(), below];
    let parts: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    format!("./{}", parts.join("/"))
}

fn pin(
    release: &ReleaseName,
    catalog: &Catalog,
    existing: &Existing,
    pins: &mut BTreeMap<ReleaseName, Pin>,
) -> Result<(), ContentError> {
    let (found, kept) = (catalog.get(release), existing.sources.get(&release.to_string()));
    let pin = match (found, kept) {
        (Some(found), Some(kept)) if found.digest.to_string() != kept.digest => {
            return Err(ContentError::ReleaseMutated {
                release: release.clone(),
                revision: kept.revision.clone(),
                pinned: kept.digest.clone(),
                found: found.digest.to_string(),
            });
        }
        (_, Some(kept)) => Pin { revision: kept.revision.clone(), digest: kept.digest.clone() },
        (Some(found), None) => Pin { revision: found.revision.clone(), digest: found.digest.to_string() },
        (None, None) => return Ok(()),
    };
    pins.insert(release.clone(), pin);
    Ok(())
}
