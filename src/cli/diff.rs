//! `stackflux diff`.

mod live;
mod text;

use std::path::{Path, PathBuf};

use clap::ValueEnum;
use serde::Serialize;

use super::error::CliError;
use super::objects::Sourced;
use super::releases::Releases;
use super::stack_settings::StackArguments;
use super::{CommandResult, Outcome, clusters, objects, terminal, unused};
use crate::compare::files::Detail;
use crate::compare::{Side, parts, plans};
use crate::foreign::capi::ClassReference;
use crate::gate::Hold;
use crate::inputs::acceptance::accept;
use crate::inputs::stack::Stack;
use crate::inputs::{ClusterInputs, platform};
use crate::names::{Key, ReleaseName};
use crate::release::{Digest, Release};

pub use live::{Preview, planned_addons, preview};

/// Show what changes between two releases, or in a live cluster
///
/// Compares two releases by content: metadata, stages, the chart of the cluster class, node images and every addon,
/// file by file. Vendored charts are compared by name and version.
///
/// With Clusters, stackflux also plans each Cluster as if it used the first release and then the second, and shows
/// which objects change, with their values: which addons Helm upgrades, and which are not written at all. To plan, it
/// replaces the Cluster's class and Kubernetes version (spec.topology.version) by those of each release; everything
/// else, including status and referenced objects, is used as it is. Charts that both releases have stay where the
/// first has them.
///
/// With --live, stackflux compares a live cluster with what the operator would write there now: the Flux objects of
/// the releases in use and of their Clusters. Releases that are not pinned yet, objects that are being deleted, and
/// stackflux's own kinds are not compared.
///
/// Exits with 0 if nothing differs, with 1 if there is a difference, and with 2 on errors.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  # Show what a release changes, file by file
  stackflux diff stacks/releases/openstack-scs-1-32-v1 stacks/releases/openstack-scs-1-32-v2
  # Print only which parts differ, for a program
  stackflux diff releases/openstack-scs-1-32-v1.tgz releases/openstack-scs-1-32-v2.tgz --output json
  # Show what it changes for the Clusters of a management cluster
  kubectl get clusters,openstackclusters,kubeadmcontrolplanes -A -o yaml |
    stackflux diff stacks/releases/openstack-scs-1-32-v1 stacks/releases/openstack-scs-1-32-v2 \\
      --settings clusterstack.yaml --filename - --summary
  # Show what the operator would change in a live cluster, given a work tree of the stack repository
  stackflux diff --live stacks --all-namespaces")]
pub(super) struct Arguments {
    /// Release to compare: its directory or archive
    ///
    /// With --live, a work tree of the stack repository.
    from: PathBuf,
    /// Release to compare it with: its directory or archive
    #[arg(required_unless_present = "live")]
    to: Option<PathBuf>,
    /// Clusters and the objects that they refer to: files, directories, or - for standard input
    #[arg(short, long, value_name = "FILE")]
    filename: Vec<PathBuf>,
    #[command(flatten)]
    stack: StackArguments,
    /// Show only the names of what differs, not the lines of files and objects
    #[arg(long)]
    summary: bool,
    /// Output format
    #[arg(short, long, value_enum, value_name = "FORMAT", default_value = "text")]
    output: Format,
    #[command(flatten)]
    live: live::LiveArguments,
}

/// The output format of differences.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// For people, as a unified diff
    Text,
    /// For programs: what differs, without the lines
    Json,
}

/// The differences between two releases, in the form of the JSON output.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Differences {
    from: Identity,
    to: Identity,
    differs: bool,
    #[serde(flatten)]
    parts: parts::Parts,
    #[serde(flatten)]
    plans: Option<plans::Plans>,
}

/// A release whose cluster class is held.
#[derive(Serialize)]
struct HeldClass {
    namespace: String,
    release: String,
    #[serde(flatten)]
    hold: plans::HeldAddon,
}

impl HeldClass {
    fn new(release: Key, hold: Hold) -> Self {
        let Key { namespace, name } = release;
        Self { namespace, release: name, hold: plans::HeldAddon::new(None, hold) }
    }
}

/// The identity of a release.
#[derive(Serialize)]
struct Identity {
    release: String,
    kubernetes: String,
    digest: String,
}

impl Identity {
    fn of(release: &Release) -> Self {
        let digest: Digest = release.digest;
        Self {
            release: release.name.to_string(),
            kubernetes: release.kubernetes.to_string(),
            digest: digest.to_string(),
        }
    }
}

impl Arguments {
    /// Refuses flags that are only for a live cluster, or only for plans.
    pub(super) fn refuse_unused(&self) -> Result<(), CliError> {
        if self.live.live {
            return Ok(());
        }
        unused::refuse(self.live.flags(), "only --live reads a cluster")?;
        if self.filename.is_empty() {
            unused::refuse(self.stack.flags(), "without --filename, no Cluster is planned")?;
        }
        Ok(())
    }
}

pub(super) fn run(arguments: &Arguments) -> CommandResult {
    let Some(to) = &arguments.to else {
        let shown = live::Shown { output: arguments.output, summary: arguments.summary };
        return live::run(&arguments.live, &arguments.from, arguments.stack.namespace.clone(), shown);
    };
    let (from, to) = (open(&arguments.from)?, open(to)?);
    let parts = parts::compare(&from, &to, Detail::Lines);
    let plans = if arguments.filename.is_empty() {
        None
    } else {
        let objects = objects::read(&arguments.filename)?;
        Some(plans(&from.release, &to.release, &objects, &arguments.stack)?)
    };
    let differs = parts.differ() || plans.as_ref().is_some_and(plans::Plans::differ);
    let (from, to) = (Identity::of(&from.release), Identity::of(&to.release));
    let differences = Differences { from, to, differs, parts, plans };
    match arguments.output {
        Format::Text => terminal::styled(&text::write(&differences, arguments.summary))?,
        Format::Json => terminal::data(&(serde_json::to_string_pretty(&differences)? + "\n"))?,
    }
    Ok(if differs { Outcome::Differs } else { Outcome::Done })
}

/// Opens the single release at this path.
fn open(path: &Path) -> Result<Side, CliError> {
    let releases = Releases::open(path)?;
    Ok(releases.load(&releases.single()?)?.into())
}

/// Plans each Cluster among the objects for both releases, and compares the plans.
fn plans(
    from: &Release,
    to: &Release,
    objects: &[Sourced],
    stack: &StackArguments,
) -> Result<plans::Plans, CliError> {
    let mut clusters = clusters::among(objects)?;
    let (_, stack) = stack.stack(&to.name, objects.iter().map(|sourced| &sourced.object))?;
    clusters.retain(|cluster| is_of_stack(&stack, &from.name, cluster));
    platform::problems(&stack, [from, to].into_iter()).iter().for_each(terminal::warning);
    if let Ok(whole) = accept(&stack, to) {
        let warnings = clusters.iter().flat_map(|cluster| clusters::about_requests(&stack, &whole, cluster));
        warnings.for_each(terminal::warning);
    }
    let plans = plans::compare(&stack, from, to, &clusters)?;
    terminal::note(format!(
        "each Cluster is planned as if spec.topology had class {} and version {}, and then {} and {}",
        from.name.class_name(),
        from.kubernetes,
        to.name.class_name(),
        to.kubernetes
    ));
    Ok(plans)
}

/// Whether the Cluster has a class of the releases' stack; warns if not.
fn is_of_stack(stack: &Stack, from: &ReleaseName, cluster: &ClusterInputs) -> bool {
    if plans::is_of_stack(stack, from, cluster) {
        return true;
    }
    let other = |class: ClassReference| {
        let (prefix, namespace) = (from.prefix(), &stack.namespace);
        format!("class {}/{} is not of stack {prefix} in namespace {namespace}", class.namespace, class.name)
    };
    terminal::warning(format!(
        "skipping Cluster {}/{}: {}",
        cluster.cluster.namespace(),
        cluster.cluster.name(),
        cluster.cluster.class().map_or("it has no class".to_owned(), other)
    ));
    false
}
