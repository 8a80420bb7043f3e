//! `stackflux inspect`.

mod images;
mod release;
mod repository;

use std::fmt::Display;
use std::path::PathBuf;

use super::error::CliError;
use super::output::{ListOutput, count};
use super::releases::Releases;
use super::{CommandResult, Outcome, terminal, unused};
use crate::names::ReleaseName;
use crate::source::SourceError;
use release::Contents;
use repository::Overview;

/// Show what is in a release, or which releases a stack repository has
///
/// For a release, shows its form, the Kubernetes version that it is for, its digest, the chart of its cluster class,
/// its addons with their charts and dependencies, what is applied at which hook and what it waits for, the fields of
/// a Cluster that its values templates read, and images.
///
/// An addon's images are those that the default values of its chart and of the charts vendored in it name, and those
/// written out in templates and manifests; parts that are not enabled by default are left out. An image without a tag
/// gets its tag from the chart. Which images a cluster runs is only known when Helm renders the charts.
///
/// For a stack repository, shows one line per release. Directories with invalid release names are only counted.
///
/// Exits with 1 if a stack repository has no releases, and with 2 if a requested release cannot be used.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  # Show what a release brings into a cluster
  stackflux inspect stacks/releases/openstack-scs-1-32-v1
  # Print the same for an archive, for a program
  stackflux inspect openstack-scs-1-32-v1.tgz --output json
  # List the releases of a stack repository
  stackflux inspect stacks
  # Print the fields of a Cluster that the addons of a release wait for
  stackflux inspect stacks openstack-scs-1-32-v1 -o json |
    jq -r '.addons[].valuesTemplate.fields[]?'")]
pub(super) struct Arguments {
    /// Release (directory or archive) or stack repository
    #[arg(value_name = "RELEASE|REPOSITORY")]
    source: PathBuf,
    /// Show these releases of a stack repository in full
    #[arg(value_name = "NAME")]
    names: Vec<ReleaseName>,
    /// Also show directories of a stack repository that have invalid release names
    #[arg(short, long, conflicts_with = "names")]
    all: bool,
    #[command(flatten)]
    output: ListOutput,
}

pub(super) fn run(arguments: &Arguments) -> CommandResult {
    let releases = Releases::open(&arguments.source)
        .map_err(|error| unusable(error, &arguments.source.display(), arguments))?;
    if releases.is_single() {
        unused::refuse([("--all", arguments.all)], "the source is one release, not a stack repository")?;
    }
    if releases.is_single() || !arguments.names.is_empty() {
        contents(arguments, &releases)?;
    } else if !overview(arguments, &releases)? {
        return Ok(Outcome::Differs);
    }
    Ok(Outcome::Done)
}

/// Shows the releases that were named, or the one that was opened.
fn contents(arguments: &Arguments, releases: &Releases) -> Result<(), CliError> {
    let known = releases.names();
    let names = if arguments.names.is_empty() { &known } else { &arguments.names };
    let mut found = Vec::new();
    for name in names {
        if !known.contains(name) {
            return Err(unknown(name, arguments));
        }
        found.push(read(releases, name).map_err(|error| unusable(error, name, arguments))?);
    }
    match found.as_slice() {
        [one] => {
            arguments.output.print(one, |one, _| one.describe(), |one| vec![one.name().to_string()])?;
        }
        many => {
            let describe =
                |many: &&[Contents], _| many.iter().map(Contents::describe).collect::<Vec<_>>().join("\n\n");
            let names = |many: &&[Contents]| many.iter().map(|one| one.name().to_string()).collect();
            arguments.output.print(&many, describe, names)?;
        }
    }
    for contents in &found {
        for values in contents.unreadable() {
            terminal::warning(format!(
                "{}: skipping the images in values that cannot be read: {values}",
                contents.name()
            ));
        }
    }
    for contents in found.iter().filter(|contents| contents.warnings() > 0) {
        let warnings = count(contents.warnings(), "warning");
        let lint = lint_hint(arguments);
        terminal::warning(format!("{}: {warnings}; {lint} shows them", contents.name()));
    }
    Ok(())
}

fn read(releases: &Releases, name: &ReleaseName) -> Result<Contents, SourceError> {
    Ok(Contents::of(releases.load(name)?, releases.limits()))
}

/// Shows one line per release of a stack repository. Returns whether there are any.
fn overview(arguments: &Arguments, releases: &Releases) -> Result<bool, CliError> {
    let overview = Overview::of(releases, arguments.all)?;
    arguments.output.print(&overview, Overview::table, Overview::names)?;
    if overview.is_empty() {
        terminal::warning("no releases found");
    }
    let malformed = releases.malformed().len();
    if malformed > 0 && !arguments.all {
        let message = match malformed {
            1 => "1 directory with an invalid release name".to_owned(),
            many => format!("{many} directories with invalid release names"),
        };
        terminal::warning(format!("{message}; --all shows more"));
    }
    if overview.has_problems() {
        terminal::warning(format!("{} shows the problems", lint_hint(arguments)));
    }
    Ok(!overview.is_empty())
}

fn lint_hint(arguments: &Arguments) -> String {
    format!("stackflux lint {}", arguments.source.display())
}

fn unknown(name: &ReleaseName, arguments: &Arguments) -> CliError {
    let source = arguments.source.display();
    CliError::usage(format!("{source}: release {name} not found"))
        .hint(format!("stackflux inspect {source} lists its releases"))
}

/// Replaces the error about an unusable release by the number of its findings, and a hint how to list them.
fn unusable(error: SourceError, release: &dyn Display, arguments: &Arguments) -> CliError {
    let SourceError::Unusable { findings, .. } = &error else { return CliError::from(error) };
    let errors = count(findings.errors().count(), "error");
    CliError::usage(format!("{release}: the release cannot be used: {errors}"))
        .hint(format!("{} shows all of them", lint_hint(arguments)))
}
