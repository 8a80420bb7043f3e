//! `stackflux diff --live`: the difference between a live cluster and what the operator would write there now.

mod changes;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::path::Path;

use serde::Serialize;

use super::{Format, text};
use crate::api::{ClusterAddon, Reason};
use crate::cli::error::CliError;
use crate::cli::live::prepared::{Defaults, Prepared, Stacks};
use crate::cli::live::present::{self, Present, read};
use crate::cli::live::{Access, Scope, block_on};
use crate::cli::output::count;
use crate::cli::releases::Releases;
use crate::cli::{CommandResult, Outcome, terminal};
use crate::compare::plans::{ClusterChange, HeldAddon, Plans};
use crate::foreign::flux::ownership::committing_stack;
use crate::inputs::ClusterInputs;
use crate::names::ObjectName;
use crate::operator::settings::SourceFlags;
use crate::plan;
use crate::plan::delivery::delivered_elsewhere;
use crate::runtime::client::explain;
use changes::Found;

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
    #[arg(short = 'A', long, requires = "live", conflicts_with = "namespace")]
    all_namespaces: bool,
    /// Compare only Clusters with these labels, and the objects that all Clusters share
    #[arg(short = 'l', long, value_name = "LABELS", requires = "live")]
    selector: Option<String>,
    /// Value of the operator's --default-service-account
    #[arg(long, value_name = "NAME", requires = "live")]
    default_service_account: Option<ObjectName>,
    /// The operator's default source
    #[command(flatten)]
    source: SourceFlags,
}

/// The differences, in the form of the JSON output.
#[derive(Serialize)]
struct Differences {
    differs: bool,
    #[serde(flatten)]
    plans: Plans,
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
    let account = arguments.default_service_account.as_ref().map(ToString::to_string);
    let defaults = Defaults { source: arguments.source.clone().source()?, account };
    let (present, namespaces, scope) = block_on(async {
        let session = arguments.access.open(namespace).await?;
        let namespace = (!arguments.all_namespaces).then(|| session.namespace.clone());
        let scope = Scope { namespace, selector: arguments.selector.clone() };
        let present = read(&session, &scope).await?;
        Ok((present, present::namespaces(&session, &scope).await, scope))
    })?;
    let namespaces = namespaces.unwrap_or_else(|error| {
        let why = explain(&error);
        terminal::warning(format!(
            "cannot read Namespaces: {why}: a missing owner reference to a Namespace is not shown"
        ));
        BTreeMap::new()
    });
    let (stacks, skipped) = Stacks::of(&present, &releases, &defaults, scope.namespace.as_deref());
    for reason in &skipped {
        terminal::warning(reason);
    }
    let plans = compare(&present, &namespaces, &stacks, scope.namespace.as_deref())?;
    if stacks.is_empty() {
        return Err(nothing(source, &scope));
    }
    terminal::note(format!(
        "compared: {}, {}",
        count(stacks.releases(), "release"),
        count(
            present.clusters.iter().filter(|cluster| stacks.of_cluster(cluster).is_some()).count(),
            "Cluster"
        ),
    ));
    let differences = Differences { differs: plans.differ(), plans };
    match shown.output {
        Format::Text => terminal::styled(&text::write_live(&differences.plans, shown.summary))?,
        Format::Json => terminal::data(&(serde_json::to_string_pretty(&differences)? + "\n"))?,
    }
    Ok(if differences.differs { Outcome::Differs } else { Outcome::Done })
}

fn nothing(source: &Path, scope: &Scope) -> CliError {
    let place = scope.namespace.as_ref().map(|name| format!(" in namespace {name}")).unwrap_or_default();
    CliError::usage(format!(
        "no release of {} is in use{place}: there is nothing to compare",
        source.display()
    ))
    .hint("stackflux status --all-namespaces lists releases; pass the work tree of their stack repository")
}

/// Compares the existing objects with those that would be written. Leaves out Clusters that have neither changes nor
/// holds.
fn compare(
    present: &Present,
    namespaces: &BTreeMap<String, String>,
    stacks: &Stacks,
    namespace: Option<&str>,
) -> Result<Plans, CliError> {
    let found = Found::of(&present.flux, namespaces)?;
    let mut objects = Vec::new();
    for shared in stacks.shared().filter(|shared| namespace.is_none_or(|only| shared.namespace == only)) {
        objects.extend(found.shared(shared));
    }
    let mut clusters = Vec::new();
    for cluster in &present.clusters {
        let Some(prepared) = stacks.of_cluster(cluster) else { continue };
        let change = of_cluster(present, &found, prepared, cluster)?;
        clusters.extend(Some(change).filter(ClusterChange::is_reportable));
    }
    Ok(Plans { objects, clusters })
}

fn of_cluster(
    present: &Present,
    found: &Found,
    prepared: &Prepared,
    cluster: &ClusterInputs,
) -> Result<ClusterChange, CliError> {
    let addon = present.addons.get(&cluster.cluster.key());
    let plan = plan::cluster(&prepared.inputs(), cluster)?;
    if let Some(held) = suspended(prepared, addon).or_else(|| elsewhere(present, prepared, addon?)) {
        return Ok(ClusterChange::held(cluster, held));
    }
    let mut objects = found.of_cluster(&plan, addon, prepared.git().is_some());
    let dropped = addon.map(|addon| found.dropped(&plan, prepared.inputs().release, addon));
    let (removed, held) = dropped.unwrap_or_default();
    objects.extend(removed);
    let mut change = ClusterChange::new(cluster, objects, &plan);
    change.held.extend(held);
    Ok(change)
}

/// Returns the hold on a Cluster if its files are in the repository of another ClusterStack.
fn elsewhere(present: &Present, prepared: &Prepared, addon: &ClusterAddon) -> Option<HeldAddon> {
    let before = committing_stack(addon)?;
    let theirs = present.stacks.get(&before).and_then(|stack| stack.spec.delivery.git());
    let hold = delivered_elsewhere((&before, theirs), (&prepared.stack_key(), prepared.git()))?;
    Some(HeldAddon { addon: None, reason: hold.reason.as_str(), message: hold.message })
}

/// Returns the hold on a Cluster if it or its ClusterStack is suspended.
fn suspended(prepared: &Prepared, addon: Option<&ClusterAddon>) -> Option<HeldAddon> {
    let of = if prepared.suspended {
        "its ClusterStack"
    } else if addon.is_some_and(|addon| addon.spec.suspend) {
        "its ClusterAddon"
    } else {
        return None;
    };
    let message = format!("{of} has spec.suspend: nothing is written");
    Some(HeldAddon { addon: None, reason: Reason::Suspended.as_str(), message })
}
