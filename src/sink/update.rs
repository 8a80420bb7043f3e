//! Compares the existing files with a plan, and decides which files to write and remove.
//!
//! A pure function of its input: equal files and plans give equal changes, and if all files are as planned, there are no
//! changes. `docs/do/deliver-through-git.md` describes the rules for users.

mod draft;
mod finish;
mod prune;
mod recover;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::changes::{Changes, RefusalReason, Refused};
use super::index::{Index, IndexError, MAX_INDEX};
use super::layout::{ClusterName, INDEX, Part, place};
use super::tree::{Found, Tree};
use crate::api::Reason;
use crate::error::{Class, Classify};
use crate::names::NameError;
use crate::plan::{Held, Plan, PlannedObject};
use draft::Draft;

/// Maximum size of an object's file in bytes: a Kubernetes object has at most 1.5 MiB.
const MAX_FILE: usize = 4 << 20;

/// A delivery of a plan.
#[derive(Clone, Debug)]
pub struct Delivery<'a> {
    /// The `ClusterStack`, as `<namespace>/<name>`. Files of other `ClusterStack`s below the same root are kept.
    pub stack: String,
    /// The planned and the held objects.
    pub plan: &'a Plan,
    /// The scope of the plan.
    pub scope: Scope,
    /// Files to overwrite even if they were edited.
    pub overwrite: Overwrite,
    /// Limit for removals.
    pub budget: Budget,
}

/// The clusters and objects that a plan decides about.
#[derive(Clone, Debug, Default)]
pub struct Scope {
    /// Limits the delivery to these clusters: files of other clusters are not read, and shared objects are not removed.
    /// `None`: everything of the `ClusterStack`.
    pub only: Option<BTreeSet<ClusterName>>,
    /// Limits the removal of objects that are not planned to these, by kind, namespace and name, for a caller that knows
    /// what to remove. `None`: removes all of them.
    pub removes: Option<BTreeSet<String>>,
    /// Existing clusters. One without a plan keeps its files: its class is no longer of this `ClusterStack`.
    pub present: BTreeSet<ClusterName>,
    /// Clusters that are known to be gone: removing their files does not count against the budget.
    pub gone: BTreeSet<ClusterName>,
}

/// Paths to overwrite: files, or directories with everything below them. `.` is the whole root.
#[derive(Clone, Debug, Default)]
pub struct Overwrite(pub BTreeSet<String>);

impl Overwrite {
    fn allows(&self, path: &str) -> bool {
        let is_it = |allowed: &String| {
            let allowed = allowed.trim_end_matches('/');
            allowed == "."
                || path.strip_prefix(allowed).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        self.0.iter().any(is_it)
    }
}

/// Limit for the removals of one delivery. Each `HelmRelease` and Kustomization of a cluster counts; the class and node
/// images of a release count as one; sources and charts that nothing refers to do not count.
#[derive(Clone, Debug, Default)]
pub struct Budget {
    /// The limit.
    pub limit: Limit,
    /// Digests of the sets of removals that a user allows, separated by commas.
    pub allowed: Option<String>,
}

/// A number of removals.
#[derive(Clone, Copy, Debug, Default)]
pub enum Limit {
    /// A tenth of these objects of the `ClusterStack`, at least one.
    #[default]
    Tenth,
    /// This number.
    Left(usize),
    /// No limit.
    All,
}

/// An error that prevents an update.
#[derive(Debug, thiserror::Error)]
pub enum DeliveryError<E: std::error::Error> {
    /// A file could not be read.
    #[error("{0}")]
    Tree(E),
    /// A name is not valid in Kubernetes.
    #[error(transparent)]
    Name(#[from] NameError),
}

impl<E: Classify + std::error::Error> Classify for DeliveryError<E> {
    fn class(&self) -> Class {
        match self {
            Self::Tree(error) => error.class(),
            Self::Name(_) => Class::Terminal,
        }
    }

    fn reason(&self) -> &'static str {
        match self {
            Self::Tree(error) => error.reason(),
            Self::Name(_) => Reason::Invalid.as_str(),
        }
    }
}

/// Returns the changes that turn the files into those of the plan.
pub fn update<T: Tree>(tree: &T, delivery: &Delivery<'_>) -> Result<Changes, DeliveryError<T::Error>> {
    let root = match index(tree, INDEX, &delivery.overwrite).map_err(DeliveryError::Tree)? {
        Ok(Some(root)) => root,
        Ok(None) => recover::root(tree).map_err(DeliveryError::Tree)?,
        Err(why) => return Ok(nothing(vec![Refused { part: None, file: INDEX.to_owned(), why }])),
    };
    let held = held(delivery.plan)?;
    let (drafts, left, refused) = (Vec::new(), Vec::new(), Vec::new());
    let mut run = Run {
        tree,
        delivery,
        held,
        root,
        drafts,
        left,
        refused,
        has_unreadable_index: false,
        has_refused_stale_cluster: false,
    };
    run.draft().map_err(DeliveryError::Tree)?;
    // Sources and charts come before what uses them: if they are refused, nothing else is written.
    if run.refused.iter().any(|refused| refused.part == Some(Part::Sources)) {
        return Ok(nothing(run.refused));
    }
    let removal = prune::removal(&run);
    finish::finish(run, &removal).map_err(DeliveryError::Tree)
}

/// Returns changes without any file.
fn nothing(refused: Vec<Refused>) -> Changes {
    Changes { refused, ..Changes::default() }
}

/// State of a comparison.
struct Run<'a, T> {
    tree: &'a T,
    delivery: &'a Delivery<'a>,
    held: BTreeMap<ClusterName, Vec<&'a Held>>,
    /// The index of the root.
    root: Index,
    /// The parts to write.
    drafts: Vec<Draft<'a>>,
    /// The objects of parts that are left as they are.
    left: Vec<Value>,
    refused: Vec<Refused>,
    /// Whether the index of a part is invalid: then the objects that nothing refers to are not known either.
    has_unreadable_index: bool,
    /// Whether a cluster without a plan stays because its files are refused.
    has_refused_stale_cluster: bool,
}

impl<T: Tree> Run<'_, T> {
    /// Compares every part in the delivery's scope with its files.
    fn draft(&mut self) -> Result<(), T::Error> {
        let mut wanted: BTreeMap<Part, BTreeMap<String, &PlannedObject>> = BTreeMap::new();
        for object in self.delivery.plan.objects() {
            let (part, file) = place(object);
            wanted.entry(part).or_default().insert(file, object);
        }
        for part in self.parts(wanted.keys()) {
            let objects = wanted.remove(&part).unwrap_or_default();
            if self.is_left(&part, objects.is_empty()) {
                self.leave(&part)?;
                continue;
            }
            let is_unplanned = objects.is_empty();
            match draft::read(self, part.clone(), objects)? {
                Ok(draft) => self.drafts.push(draft),
                Err(refused) => {
                    self.has_refused_stale_cluster |= is_unplanned && !part.is_shared();
                    self.leave(&part)?;
                    self.refused.extend(refused);
                }
            }
        }
        Ok(())
    }

    /// Returns the parts in the delivery's scope: those that the plan has objects for, and those that the `ClusterStack` has
    /// files in.
    fn parts<'p>(&self, wanted: impl Iterator<Item = &'p Part>) -> BTreeSet<Part> {
        let Scope { only, removes, .. } = &self.delivery.scope;
        let names_any = removes.as_ref().is_some_and(|removes| !removes.is_empty());
        let is_ours = |(part, owners): (Part, &BTreeSet<String>)| {
            let is_among = |only: &BTreeSet<_>| part.cluster().map_or(names_any, |name| only.contains(name));
            let is_named = only.as_ref().is_none_or(is_among);
            (is_named && owners.contains(&self.delivery.stack)).then_some(part)
        };
        wanted.cloned().chain(self.root.parts().filter_map(is_ours)).collect()
    }

    /// Whether a part stays as it is: its cluster is held, or exists without being planned.
    fn is_left(&self, part: &Part, is_unplanned: bool) -> bool {
        let Some(cluster) = part.cluster() else { return false };
        let scope = &self.delivery.scope;
        match self.held.get(cluster) {
            Some(held) => held.iter().any(|held| held.addon.is_none()),
            None => is_unplanned && scope.present.contains(cluster) && !scope.gone.contains(cluster),
        }
    }

    /// Leaves a part as it is, and records its objects of all owners. They are not needed if no shared object is removed.
    fn leave(&mut self, part: &Part) -> Result<(), T::Error> {
        if self.delivery.scope.only.is_some() {
            return Ok(());
        }
        let Ok(index) = index(self.tree, &part.file(INDEX), &self.delivery.overwrite)? else {
            self.has_unreadable_index = true;
            return Ok(());
        };
        for file in index.unwrap_or_default().files.keys() {
            if let Found::File(bytes) = self.tree.read(&part.file(file), MAX_FILE)? {
                self.left.push(object(&bytes));
            }
        }
        Ok(())
    }
}

/// Groups what a plan holds by cluster.
fn held(plan: &Plan) -> Result<BTreeMap<ClusterName, Vec<&Held>>, NameError> {
    let mut by_cluster: BTreeMap<ClusterName, Vec<&Held>> = BTreeMap::new();
    for held in plan.held() {
        by_cluster.entry(ClusterName::new(&held.namespace, &held.cluster)?).or_default().push(held);
    }
    Ok(by_cluster)
}

/// Reads the index at a path; `None` if it is missing, or invalid and to be overwritten.
fn index<T: Tree>(
    tree: &T,
    path: &str,
    overwrite: &Overwrite,
) -> Result<Result<Option<Index>, RefusalReason>, T::Error> {
    let found = match tree.read(path, MAX_INDEX)? {
        Found::Nothing => return Ok(Ok(None)),
        // A power cut has emptied the file.
        Found::File(bytes) if bytes.is_empty() => return Ok(Ok(None)),
        Found::File(bytes) => Index::parse(&bytes).map(Some).map_err(RefusalReason::Index),
        Found::TooLarge => Err(RefusalReason::Index(IndexError::TooLarge)),
        Found::Other(what) => return Ok(Err(RefusalReason::NoFile(what))),
    };
    Ok(found.or_else(|why| if overwrite.allows(path) { Ok(None) } else { Err(why) }))
}

/// Reads the sources and charts that earlier deliveries wrote, so that addons keep their source. Edited files are included
/// as they are.
pub fn sources<T: Tree>(tree: &T) -> Result<Vec<Value>, T::Error> {
    let index = index(tree, &Part::Sources.file(INDEX), &Overwrite::default())?;
    let mut objects = Vec::new();
    for file in index.ok().flatten().unwrap_or_default().files.keys() {
        if let Found::File(bytes) = tree.read(&Part::Sources.file(file), MAX_FILE)? {
            objects.push(object(&bytes));
        }
    }
    Ok(objects)
}

/// Parses the object in a file; null if the file has none.
fn object(bytes: &[u8]) -> Value {
    str::from_utf8(bytes).ok().and_then(|text| serde_yaml::from_str(text).ok()).unwrap_or_default()
}
