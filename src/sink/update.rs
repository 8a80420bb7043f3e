//! From the files that are there and a plan to what has to be written and removed.
//!
//! A function of what it reads: equal files and plans give equal changes, and where all is written as planned there are
//! none. What the rules are, for users: `docs/git-delivery.md`.

mod draft;
mod finish;
mod kept;
mod prune;
mod recover;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::changes::{Changes, Refused, Why};
use super::index::{Index, IndexError, MAX_INDEX};
use super::layout::{ClusterName, INDEX, Part, place};
use super::tree::{Found, Tree};
use crate::api::Reason;
use crate::error::{Class, Classify};
use crate::names::NameError;
use crate::plan::{Held, Plan, PlannedObject};
use draft::Draft;

/// The most bytes of an object's file: a Kubernetes object has at most 1.5 MiB.
const MAX_FILE: usize = 4 << 20;

/// What is to be delivered.
#[derive(Clone, Debug)]
pub struct Delivery<'a> {
    /// The `ClusterStack`, as `<namespace>/<name>`: what others have below the same root is left alone.
    pub stack: String,
    /// The objects, and what is held back.
    pub plan: &'a Plan,
    /// What the plan says something about.
    pub scope: Scope,
    /// The files that are written whatever somebody else made of them.
    pub overwrite: Overwrite,
    /// How much may go.
    pub budget: Budget,
}

/// What a plan says something about.
#[derive(Clone, Debug, Default)]
pub struct Scope {
    /// Only these clusters: files of others are not read, and of what all share nothing is removed. `None`: all that the
    /// `ClusterStack` has.
    pub only: Option<BTreeSet<ClusterName>>,
    /// Of what is not planned only these objects go, each by kind, namespace and name: for one who knows what goes and says
    /// so. `None`: all of it.
    pub removes: Option<BTreeSet<String>>,
    /// Clusters that are there. One that the plan does not have keeps its files: it has a class of somebody else's now.
    pub present: BTreeSet<ClusterName>,
    /// Clusters of which it is known that they are gone: what they had goes outside the budget.
    pub gone: BTreeSet<ClusterName>,
}

/// Paths of files, or of directories with all that is below them, that are written over. `.` is all.
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

/// How many removals may happen at once. Each `HelmRelease` and Kustomization of a cluster counts, the class and the node
/// images of a release as one; sources and charts that nothing refers to do not count.
#[derive(Clone, Debug, Default)]
pub struct Budget {
    /// How many.
    pub limit: Limit,
    /// The names of sets of removals that somebody allows, with commas between them.
    pub allowed: Option<String>,
}

/// A number of removals.
#[derive(Clone, Copy, Debug, Default)]
pub enum Limit {
    /// A tenth of what the `ClusterStack` has of these objects, and at least one.
    #[default]
    Tenth,
    /// So many.
    Left(usize),
    /// As many as there are.
    All,
}

/// Why there is no update.
#[derive(Debug, thiserror::Error)]
pub enum UpdateError<E: std::error::Error> {
    /// A file could not be read.
    #[error("{0}")]
    Tree(E),
    /// A name that Kubernetes would refuse.
    #[error(transparent)]
    Name(#[from] NameError),
}

impl<E: Classify + std::error::Error> Classify for UpdateError<E> {
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

/// What has to be written and removed, so that the files are those of the plan.
pub fn update<T: Tree>(tree: &T, delivery: &Delivery<'_>) -> Result<Changes, UpdateError<T::Error>> {
    let root = match index(tree, INDEX, &delivery.overwrite).map_err(UpdateError::Tree)? {
        Ok(Some(root)) => root,
        Ok(None) => recover::root(tree).map_err(UpdateError::Tree)?,
        Err(why) => return Ok(nothing(vec![Refused { part: None, file: INDEX.to_owned(), why }])),
    };
    let held = held(delivery.plan)?;
    let (drafts, left, refused) = (Vec::new(), Vec::new(), Vec::new());
    let mut run =
        Run { tree, delivery, held, root, drafts, left, refused, is_blind: false, is_outlived: false };
    run.draft().map_err(UpdateError::Tree)?;
    // Charts and sources come before what uses them: without them nothing else is written.
    if run.refused.iter().any(|refused| refused.part == Some(Part::Sources)) {
        return Ok(nothing(run.refused));
    }
    let removal = prune::removal(&run);
    finish::finish(run, &removal).map_err(UpdateError::Tree)
}

/// Nothing is written.
fn nothing(refused: Vec<Refused>) -> Changes {
    Changes { refused, ..Changes::default() }
}

/// What is known while the files are compared.
struct Run<'a, T> {
    tree: &'a T,
    delivery: &'a Delivery<'a>,
    held: BTreeMap<ClusterName, Vec<&'a Held>>,
    /// The index of the root.
    root: Index,
    /// The parts that are compared.
    drafts: Vec<Draft<'a>>,
    /// The objects of parts that are left as they are.
    left: Vec<Value>,
    refused: Vec<Refused>,
    /// Whether it is not known what a part has: then it is not known either what nothing refers to.
    is_blind: bool,
    /// Whether a cluster that the plan does not have stays because somebody has edited its files.
    is_outlived: bool,
}

impl<T: Tree> Run<'_, T> {
    /// Compares every part that the delivery says something about with what is there.
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
                    self.is_outlived |= is_unplanned && !part.is_shared();
                    self.leave(&part)?;
                    self.refused.extend(refused);
                }
            }
        }
        Ok(())
    }

    /// The parts that the delivery says something about: those that the plan has objects for, and those that the
    /// `ClusterStack` has files in.
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

    /// Whether a part stays as it is: a cluster that is held, or that is there and that the plan does not have.
    fn is_left(&self, part: &Part, is_unplanned: bool) -> bool {
        let Some(cluster) = part.cluster() else { return false };
        let scope = &self.delivery.scope;
        match self.held.get(cluster) {
            Some(held) => held.iter().any(|held| held.addon.is_none()),
            None => is_unplanned && scope.present.contains(cluster) && !scope.gone.contains(cluster),
        }
    }

    /// Leaves a part as it is, and notes the objects that it has, whoever wrote them. Where nothing that all share is
    /// removed they are not needed.
    fn leave(&mut self, part: &Part) -> Result<(), T::Error> {
        if self.delivery.scope.only.is_some() {
            return Ok(());
        }
        let Ok(index) = index(self.tree, &part.file(INDEX), &self.delivery.overwrite)? else {
            self.is_blind = true;
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

/// What a plan holds back, by cluster.
fn held(plan: &Plan) -> Result<BTreeMap<ClusterName, Vec<&Held>>, NameError> {
    let mut by_cluster: BTreeMap<ClusterName, Vec<&Held>> = BTreeMap::new();
    for held in plan.held() {
        by_cluster.entry(ClusterName::new(&held.namespace, &held.cluster)?).or_default().push(held);
    }
    Ok(by_cluster)
}

/// The index at a path; `None` where there is none, or where it is written over.
fn index<T: Tree>(
    tree: &T,
    path: &str,
    overwrite: &Overwrite,
) -> Result<Result<Option<Index>, Why>, T::Error> {
    let found = match tree.read(path, MAX_INDEX)? {
        Found::Nothing => return Ok(Ok(None)),
        // What a power cut has left of it.
        Found::File(bytes) if bytes.is_empty() => return Ok(Ok(None)),
        Found::File(bytes) => Index::parse(&bytes).map(Some).map_err(Why::Index),
        Found::TooLarge => Err(Why::Index(IndexError::TooLarge)),
        Found::Other(what) => return Ok(Err(Why::NoFile(what))),
    };
    Ok(found.or_else(|why| if overwrite.allows(path) { Ok(None) } else { Err(why) }))
}

/// The sources and charts that earlier deliveries wrote: where they come from stays as it is. What somebody has edited is
/// among them as it is now.
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

/// The object in a file; null where it is none any more.
fn object(bytes: &[u8]) -> Value {
    str::from_utf8(bytes).ok().and_then(|text| serde_yaml::from_str(text).ok()).unwrap_or_default()
}
