//! `stackflux diff --live`: the difference between a live cluster and what the operator would write there now.

mod budgets;
mod changes;
mod clusters;
mod holds;
mod objects;
mod preview;
mod shared;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use jiff::Timestamp;
use kube::Resource as _;
use serde::{Deserialize as _, Serialize};

use super::{Format, HeldClass, text};
use crate::addons::{Candidate, PruneFacts, candidates, desired_addon, reported_without_file};
use crate::api::{ClusterAddon, ClusterStackRelease};
use crate::cli::error::CliError;
use crate::cli::live::loaded::Loaded;
use crate::cli::live::prepared::Stacks;
use crate::cli::live::present::{self, Counted, LiveNamespace, Present, read};
use crate::cli::live::{Access, Scope, Session, block_on};
use crate::cli::output::count;
use crate::cli::releases::Releases;
use crate::cli::unused::Flag;
use crate::cli::{CommandResult, Outcome, terminal};
use crate::compare::plans::{ClusterChange, Plans};
use crate::inputs::ClusterInputs;
use crate::names::{AddonName, Key};
use crate::operator::settings::DefaultFlags;
use crate::plan::Plan;
use crate::rollup::Report;
use crate::runtime::client::explain;
use budgets::{Budgets, Shares};
use changes::Found;
use objects::LiveObjects;

pub use preview::{Preview, planned_addons, preview};

/// Which live cluster, and the defaults of its operator.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Live cluster")]
pub(super) struct LiveArguments {
    /// Compare a live cluster with what the operator would write there now
    ///
    /// Compares the namespace given with --namespace (default: that of the context). FROM is a work tree of the stack
    /// repository: artifacts can be fetched only inside the cluster.
    #[arg(long, conflicts_with_all = ["to", "filename", "settings", "url"])]
    pub(super) live: bool,
    #[command(flatten)]
    access: Access,
    /// Compare all namespaces
    #[arg(short = 'A', long, conflicts_with = "namespace")]
    all_namespaces: bool,
    /// Compare only Clusters with these labels, and the objects that all Clusters share
    #[arg(short = 'l', long, value_name = "LABELS")]
    selector: Option<String>,
    #[command(flatten, next_help_heading = "Settings of the operator, if it runs with them")]
    defaults: DefaultFlags,
}

impl LiveArguments {
    /// Returns the flags, which only `--live` uses.
    pub(super) fn flags(&self) -> impl Iterator<Item = Flag> {
        let own = [("--all-namespaces", self.all_namespaces), ("--selector", self.selector.is_some())];
        self.access.flags().into_iter().chain(own).chain(self.defaults.flags())
    }
}

/// The differences, in the form of the JSON output.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Differences {
    differs: bool,
    #[serde(flatten)]
    plans: Plans,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    held_classes: Vec<HeldClass>,
}

/// The format and level of detail of the output.
#[derive(Clone, Copy)]
pub(super) struct Shown {
    pub(super) output: Format,
    pub(super) summary: bool,
}

pub(super) fn run(
    arguments: &LiveArguments,
    source: &Path,
    namespace: Option<String>,
    shown: Shown,
) -> CommandResult {
    let releases = Releases::open(source)?;
    let defaults = arguments.defaults.clone().defaults()?;
    let differences = block_on(async {
        let session = arguments.access.open(namespace).await?;
        let namespace = (!arguments.all_namespaces).then(|| session.namespace.clone());
        let scope = Scope { namespace, selector: arguments.selector.clone() };
        let present = read(&session, &scope).await?;
        let releases = Loaded::for_stacks(&releases, &present);
        let (stacks, skipped) = Stacks::of(&present, &releases, &defaults, scope.namespace.as_deref());
        skipped.iter().for_each(terminal::warning);
        stacks.component_problems().iter().for_each(terminal::warning);
        if stacks.is_empty() {
            return Err(nothing(source, &scope));
        }
        let namespaces = namespaces(&session, &scope).await;
        let live = Live::new(&present, &namespaces, Timestamp::now())?;
        let shares = shares(&session, &scope, &live, &stacks).await;
        let differences = compare(&live, &stacks, shares, scope.namespace.as_deref())?;
        let clusters = present.clusters.iter().filter(|cluster| stacks.of_cluster(cluster).is_some());
        let (releases, clusters) = (count(stacks.releases(), "release"), count(clusters.count(), "Cluster"));
        terminal::note(format!("compared: {releases}, {clusters}"));
        Ok(differences)
    })?;
    match shown.output {
        Format::Text => {
            let Differences { plans, held_classes, .. } = &differences;
            terminal::styled(&text::write_live(plans, held_classes, shown.summary))?;
        }
        Format::Json => terminal::data(&(serde_json::to_string_pretty(&differences)? + "\n"))?,
    }
    Ok(if differences.differs { Outcome::Differs } else { Outcome::Done })
}

/// Reads the Namespaces in scope; warns if that fails.
async fn namespaces(session: &Session, scope: &Scope) -> BTreeMap<String, LiveNamespace> {
    present::namespaces(session, scope).await.unwrap_or_else(|error| {
        let why = explain(&error);
        terminal::warning(format!(
            "cannot read Namespaces: {why}: a missing owner reference to a Namespace is not shown"
        ));
        BTreeMap::new()
    })
}

/// Returns the parts of all Clusters in the removal budgets, reading other namespaces if objects may be removed; warns if
/// that fails.
async fn shares(session: &Session, scope: &Scope, live: &Live<'_>, stacks: &Stacks<'_>) -> Option<Shares> {
    if scope.namespace.is_none() && scope.selector.is_none() {
        return Some(live.shares());
    }
    if !live.may_remove(stacks) {
        return None;
    }
    match present::counted(session).await {
        Ok(Counted { clusters, addons, objects }) => {
            Some(Shares::of(clusters.iter(), &addons, objects.iter()))
        }
        Err(error) => {
            terminal::warning(format!(
                "cannot read the Clusters and their addons in all namespaces: {error}: the removal budget is not counted"
            ));
            None
        }
    }
}

fn nothing(source: &Path, scope: &Scope) -> CliError {
    let place = scope.namespace.as_ref().map(|name| format!(" in namespace {name}")).unwrap_or_default();
    CliError::usage(format!(
        "no release of {} is in use{place}: there is nothing to compare",
        source.display()
    ))
    .hint("stackflux status --all-namespaces lists releases; pass the work tree of their stack repository")
}

/// The facts about a live cluster.
struct Live<'a> {
    present: &'a Present,
    found: Found<'a>,
    /// All releases, as the operator's cache has them.
    releases: Vec<Arc<ClusterStackRelease>>,
    /// The `ClusterAddon`s that the operator will create, by the key of their Cluster.
    created: BTreeMap<Key, ClusterAddon>,
    now: Timestamp,
    /// The applied versions of addons and the `Ready` of a release, on which no write depends.
    versions: BTreeMap<AddonName, String>,
    ready: Report,
}

impl<'a> Live<'a> {
    fn new(
        present: &'a Present,
        namespaces: &'a BTreeMap<String, LiveNamespace>,
        now: Timestamp,
    ) -> Result<Self, serde_json::Error> {
        let mut created = BTreeMap::new();
        for cluster in present.clusters.iter().map(|cluster| &cluster.cluster) {
            let key = cluster.key();
            if !present.addons.contains_key(&key) {
                let mut addon = ClusterAddon::deserialize(&desired_addon(cluster))?;
                addon.metadata.uid = Some(format!("not created yet: {key}"));
                created.insert(key, addon);
            }
        }
        let owner =
            |cluster: &Key| present.addons.get(cluster).or_else(|| created.get(cluster))?.owner_ref(&());
        let found = Found { objects: LiveObjects::of(&present.flux, owner)?, namespaces };
        Ok(Self {
            present,
            found,
            releases: present.releases.values().cloned().map(Arc::new).collect(),
            created,
            now,
            versions: BTreeMap::new(),
            ready: Report::not_yet_reported(),
        })
    }

    /// Returns the parts of all Clusters in the removal budgets, if all of them were read.
    fn shares(&self) -> Shares {
        let clusters = self.present.clusters.iter().map(|cluster| &cluster.cluster);
        Shares::of(clusters, &self.present.addons, self.found.objects.of_addons())
    }

    /// Whether any Cluster has objects that its release does not have, and that may be removed now.
    fn may_remove(&self, stacks: &Stacks) -> bool {
        self.present.clusters.iter().any(|cluster| {
            let Some((prepared, addon)) = stacks.of_cluster(cluster).zip(self.addon(cluster)) else {
                return false;
            };
            let objects = self.found.objects.around(addon, &Plan::default());
            let without_file = reported_without_file(addon, &objects);
            let inputs = prepared.inputs();
            let requests = &cluster.requests(inputs.stack, inputs.release);
            let facts = PruneFacts::recorded(addon, &inputs, (&cluster.cluster, requests), &without_file);
            let facts = PruneFacts { objects: &objects, by_git: prepared.git().is_some(), ..facts };
            candidates(&facts, |_| true).iter().any(Candidate::is_due)
        })
    }

    /// Returns the `ClusterAddon` of a Cluster, as the operator finds or creates it.
    fn addon(&self, cluster: &ClusterInputs) -> Option<&ClusterAddon> {
        let key = cluster.cluster.key();
        self.present.addons.get(&key).or_else(|| self.created.get(&key))
    }
}

/// Compares the existing objects with those that would be written. Leaves out Clusters that have neither changes nor
/// holds. Without `shares`, the removal budgets are not counted.
fn compare(
    live: &Live,
    stacks: &Stacks,
    shares: Option<Shares>,
    namespace: Option<&str>,
) -> Result<Differences, CliError> {
    let (mut objects, mut held_classes, mut without_source) = (Vec::new(), Vec::new(), BTreeMap::new());
    for shared in stacks.shared() {
        let changes = shared::changes(live, stacks, shared);
        without_source.extend(changes.without_source);
        if namespace.is_none_or(|only| shared.stack.metadata.namespace.as_deref() == Some(only)) {
            objects.extend(changes.objects);
            held_classes.extend(changes.held_classes);
        }
    }
    let budgets = Budgets::new(shares, &live.present.releases);
    let mut clusters = Vec::new();
    for cluster in &live.present.clusters {
        let Some((prepared, addon)) = stacks.of_cluster(cluster).zip(live.addon(cluster)) else { continue };
        let hold = without_source.get(&prepared.release_key());
        let change = clusters::change(live, (prepared, hold), (cluster, addon), &budgets)?;
        clusters.extend(Some(change).filter(ClusterChange::is_reportable));
    }
    let plans = Plans { objects, clusters };
    Ok(Differences { differs: plans.differ(), plans, held_classes })
}
