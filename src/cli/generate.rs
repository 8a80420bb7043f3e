//! `stackflux generate`.

use std::collections::BTreeSet;
use std::path::PathBuf;

use super::error::CliError;
use super::releases::{Found, Pins, Releases};
use super::stack_settings::StackArguments;
use super::{CommandResult, Outcome, terminal};
use super::{clusters, objects};
use crate::inputs::content::{self, Existing};
use crate::inputs::stack::Stack;
use crate::inputs::{ClusterInputs, ReleaseInputs};
use crate::names::{AddonName, ReleaseName, Revision};
use crate::plan::{self, Plan, canonical};
use crate::release::{Action, Release};
use crate::sink::directory;

/// Turn a release and Clusters into Flux objects
///
/// Prints the Flux objects that deliver a cluster stack release: sources, charts, node images, the cluster class, and
/// for every Cluster of that class one HelmRelease or Kustomization per addon with the Cluster's rendered values.
///
/// The commit that Flux will fetch a release from is the last one that changed its directory, unless --revision names
/// another or --existing has the release pinned already.
///
/// Exits with 1 when something is held back, which is told on standard error.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  # A release and the Clusters of a management cluster, to standard output
  kubectl get clusters,openstackclusters,kubeadmcontrolplanes -A -o yaml |
    stackflux generate stacks/releases/openstack-scs-1-32-v1 --settings clusterstack.yaml --filename -
  # The releases of a stack repository that Clusters use, to a directory that is a Kustomize root
  stackflux generate stacks --settings clusterstack.yaml --filename clusters/ --output-dir generated/
  # Keep the sources of what is applied already
  kubectl get gitrepositories,helmcharts -A -o yaml > existing.yaml
  stackflux generate stacks --settings clusterstack.yaml --filename clusters/ --existing existing.yaml")]
pub(super) struct Arguments {
    /// A release (its directory or archive) or a stack repository
    source: PathBuf,
    /// Clusters and the objects that they refer to: files, directories, or - for standard input
    #[arg(short, long, value_name = "FILE")]
    filename: Vec<PathBuf>,
    #[command(flatten)]
    stack: StackArguments,
    /// Of a stack repository, also plan this release; those that Clusters use are always planned
    #[arg(long, value_name = "NAME")]
    release: Vec<ReleaseName>,
    /// The commit to pin releases to, instead of the last one that changed their directories
    #[arg(long, value_name = "COMMIT")]
    revision: Option<Revision>,
    /// Objects of an earlier plan, whose sources and pins are kept: files or directories
    #[arg(long, value_name = "FILE")]
    existing: Vec<PathBuf>,
    /// Write one file per object to this directory, and keep the sources and pins of what it has
    #[arg(short, long, value_name = "DIRECTORY")]
    output_dir: Option<PathBuf>,
}

pub(super) fn run(arguments: &Arguments) -> CommandResult {
    let objects = objects::read(&arguments.filename)?;
    let clusters = clusters::among(&objects)?;
    let releases = Releases::open(&arguments.source)?;
    let wanted = wanted(arguments, &releases, &clusters)?;
    let Some(first) = wanted.first() else { return Err(nothing_wanted()) };
    let stack = arguments.stack.stack(first, objects.iter().map(|sourced| &sourced.object))?;
    let pins = Pins { revision: arguments.revision.clone(), path: stack.source.path.clone() };
    let found = releases.catalog(&wanted, &pins)?;
    let plan = plan(&stack, &found, &existing(arguments)?, &clusters)?;
    deliver(arguments, &plan)?;
    report(&plan, &stack, &found, &clusters);
    Ok(if plan.held().is_empty() { Outcome::Done } else { Outcome::Differs })
}

/// The releases to plan: the one that was named by its directory, or of a stack repository those that Clusters use
/// and those named by `--release`.
fn wanted(
    arguments: &Arguments,
    releases: &Releases,
    clusters: &[ClusterInputs],
) -> Result<Vec<ReleaseName>, CliError> {
    let names = releases.names();
    if let Some(unknown) = arguments.release.iter().find(|name| !names.contains(name)) {
        let message = format!("{}: there is no release {unknown}", arguments.source.display());
        return Err(CliError::usage(message));
    }
    if releases.is_single() {
        return Ok(names);
    }
    let is_used = |name: &ReleaseName| {
        let class = name.class_name();
        clusters.iter().any(|cluster| cluster.cluster.class().is_some_and(|found| found.name == class))
    };
    Ok(names.into_iter().filter(|name| arguments.release.contains(name) || is_used(name)).collect())
}

fn nothing_wanted() -> CliError {
    CliError::usage("no release of this stack repository is used by a Cluster in the files given")
        .hint("name one with --release, or give Clusters with --filename")
}

fn existing(arguments: &Arguments) -> Result<Existing, CliError> {
    let given = objects::read(&arguments.existing)?.into_iter().map(|sourced| sourced.object);
    let written = arguments.output_dir.as_deref().map(directory::objects).transpose()?;
    let mut existing = Existing::default();
    given.chain(written.into_iter().flatten()).for_each(|object| existing.insert(&object));
    Ok(existing)
}

fn plan(
    stack: &Stack,
    found: &Found,
    existing: &Existing,
    clusters: &[ClusterInputs],
) -> Result<Plan, CliError> {
    let mut plan = plan::stack(stack)?;
    for release in found.releases.values() {
        let contents = content::resolve(stack, release, &found.catalog, existing)?;
        let inputs = ReleaseInputs { stack, release, contents: &contents };
        plan.merge(plan::release(&inputs)?)?;
        let class = release.name.class_name();
        for cluster in clusters.iter().filter(|cluster| stack.is_class(&class, &cluster.cluster)) {
            plan.merge(plan::cluster(&inputs, cluster)?)?;
        }
    }
    Ok(plan)
}

fn deliver(arguments: &Arguments, plan: &Plan) -> Result<(), CliError> {
    let Some(directory) = &arguments.output_dir else {
        return Ok(terminal::data(&canonical::documents(plan.objects().map(|object| &object.value)))?);
    };
    let written = directory::write(plan, directory)?;
    terminal::success(format!(
        "{}: {} written, {} unchanged, {} held back and kept, {} removed",
        directory.display(),
        written.changed,
        written.unchanged,
        written.kept,
        written.removed
    ));
    Ok(())
}

/// The addons with stages that a plan does not act on, each once: the moments of a cluster's life are the operator's.
fn without_effect(release: &Release) -> Vec<String> {
    let stages = release.stages.values().flatten().filter(|stage| {
        stage.action == Action::Delete || stage.wait_before.is_some() || stage.wait_after.is_some()
    });
    let addons: BTreeSet<&AddonName> = stages.map(|stage| &stage.addon).collect();
    addons.into_iter().map(ToString::to_string).collect()
}

/// Tells what is not in the output, and why.
fn report(plan: &Plan, stack: &Stack, found: &Found, clusters: &[ClusterInputs]) {
    let classes: Vec<String> = found.releases.keys().map(ReleaseName::class_name).collect();
    for ClusterInputs { cluster, .. } in clusters {
        if classes.iter().any(|class| stack.is_class(class, cluster)) {
            continue;
        }
        let class = cluster.class().map_or_else(
            || "has no class".to_owned(),
            |class| format!("has class {}/{}", class.namespace, class.name),
        );
        terminal::warning(format!(
            "Cluster {}/{} {class}, which is none of the releases planned for namespace {}: left out",
            cluster.namespace(),
            cluster.name(),
            stack.namespace
        ));
    }
    for release in found.releases.values().filter(|release| release.packed) {
        terminal::warning(format!(
            "{} is packed: Flux finds its charts only where the stack repository has it unpacked",
            release.name
        ));
    }
    for release in found.releases.values() {
        let addons = without_effect(release);
        if !addons.is_empty() {
            terminal::warning(format!(
                "{}: conditions to wait for and the action delete have no effect yet; clusteraddon.yaml has them for {}",
                release.name,
                addons.join(", ")
            ));
        }
    }
    for held in plan.held() {
        let addon = held.addon.as_ref().map(|addon| format!(" addon {addon}")).unwrap_or_default();
        terminal::waiting(format!(
            "Cluster {}/{}{addon} is held: {}: {}",
            held.namespace, held.cluster, held.hold.reason, held.hold.message
        ));
    }
}
