//! `stackflux generate`.

mod planned;
mod report;
mod target;
mod to_git;

use std::path::PathBuf;

use super::error::CliError;
use super::stack_settings::StackArguments;
use super::{CommandResult, Outcome, terminal, unused};
use crate::git::GitUrl;
use crate::names::{ReleaseName, Revision};
use crate::plan::canonical;
use planned::Inputs;
use target::Rules;
use to_git::GitTarget;

/// Turn a release and Clusters into Flux objects
///
/// Prints the Flux objects that deliver a cluster stack release: sources, charts, node images, the cluster class, and
/// for every Cluster of that class one HelmRelease or Kustomization per addon with the Cluster's rendered values.
///
/// Flux fetches each release from the last commit that changed its directory, unless --revision names another commit
/// or --existing already pins the release.
///
/// Exits with 1 if something is held back; stderr has the reasons.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  # Print the objects of a release and the Clusters of a management cluster
  kubectl get clusters,openstackclusters,kubeadmcontrolplanes -A -o yaml |
    stackflux generate stacks/releases/openstack-scs-1-32-v1 --settings clusterstack.yaml --filename -
  # Write the releases of a stack repository that Clusters use to a directory that is a Kustomize root
  stackflux generate stacks --settings clusterstack.yaml --filename clusters/ --output-dir generated/
  # Keep the sources of the objects that are already applied
  kubectl get gitrepositories,helmcharts,kustomizations -A -o yaml > existing.yaml
  stackflux generate stacks --settings clusterstack.yaml --filename clusters/ --existing existing.yaml
  # Show which of those files would change, without touching any
  stackflux generate stacks --settings clusterstack.yaml --filename clusters/ --output-dir generated/ --dry-run
  # Commit the same files to the repository that Flux applies
  stackflux generate stacks --settings clusterstack.yaml --filename clusters/ \\
    --to-git ssh://git@git.example.org/fleet.git --path stacks/demo
  # Print what the operator would write, from the inputs that it reads
  stackflux inputs export openstack-scs-1-32 -n stacks | stackflux generate stacks --inputs -")]
pub(super) struct Arguments {
    /// Release (directory or archive) or stack repository
    source: PathBuf,
    /// Clusters and the objects that they refer to: files, directories, or - for standard input
    #[arg(short, long, value_name = "FILE")]
    filename: Vec<PathBuf>,
    #[command(flatten)]
    stack: StackArguments,
    /// Also plan this release of a stack repository
    ///
    /// Releases that Clusters use are always planned. Can be given more than once.
    #[arg(long, value_name = "NAME")]
    release: Vec<ReleaseName>,
    /// Commit to pin releases to (default: the last commit that changed their directory)
    #[arg(long, value_name = "COMMIT")]
    revision: Option<Revision>,
    /// Objects of an earlier plan, whose sources and pins are kept: files or directories
    #[arg(long, value_name = "FILE")]
    existing: Vec<PathBuf>,
    /// Plan from the output of `stackflux inputs export`: a file, or - for standard input
    ///
    /// This output contains everything that a plan is made from, except the stack repository.
    #[arg(long, value_name = "FILE",
        conflicts_with_all = ["filename", "settings", "url", "namespace", "release", "revision", "existing"])]
    inputs: Option<PathBuf>,
    /// Write one file per object to this directory, and keep the sources and pins found there
    #[arg(long, value_name = "DIRECTORY", group = "target", conflicts_with = "to_git")]
    output_dir: Option<PathBuf>,
    #[command(flatten)]
    rules: Rules,
    #[command(flatten)]
    git: GitTarget,
}

impl Arguments {
    /// Refuses flags that are only for a target that is not given.
    pub(super) fn refuse_unused(&self) -> Result<(), CliError> {
        if self.git.to_git.is_none() {
            unused::refuse(self.git.flags(), "only --to-git uses it")?;
        }
        match (&self.git.to_git, &self.output_dir) {
            (Some(_), _) => Ok(()),
            (None, Some(_)) => unused::refuse(
                [self.rules.allow_prune_flag()],
                "--output-dir has no prune budget, because the directory can be reviewed before it is applied",
            ),
            (None, None) => unused::refuse(self.rules.flags(), "only --output-dir and --to-git write files"),
        }
    }
}

pub(super) fn run(arguments: &Arguments) -> CommandResult {
    let to_git = arguments.git.to_git.as_deref().map(str::parse::<GitUrl>).transpose()?;
    let inputs = Inputs::read(arguments)?;
    if let Some(directory) = &arguments.output_dir {
        return target::directory(&inputs, directory, &arguments.rules, arguments.git.dry_run);
    }
    if let Some(url) = &to_git {
        return to_git::deliver(&inputs, url, &arguments.git, &arguments.rules);
    }
    let planned = inputs.plan(&[])?;
    terminal::data(&canonical::documents(planned.plan.objects().map(|object| &object.value)))?;
    report::report(&planned.warnings, &planned.plan);
    Ok(if planned.plan.held().is_empty() { Outcome::Done } else { Outcome::Differs })
}
