//! `stackflux lint`.

mod components;
mod report;
mod run;
mod settings;
mod siblings;

use std::path::PathBuf;

use super::output::{Format, count, print};
use super::{CommandResult, Outcome, terminal};
use report::Report;

/// Check releases or stack repositories, and report all findings
///
/// Reads each release as stackflux and Flux do, and shows all findings with file, line, the line's text and, if there
/// is one, a hint. An error makes a release unusable, or Flux or Helm would refuse a part of it; publish refuses a
/// release with errors. For a stack repository, the findings include those that concern more than one release: links and names that Flux or stackflux skip, releases in
/// archives, objects that two releases of one cluster class share, and addons that are a chart in one release and
/// manifests in the next.
///
/// Exits with 0 if there are no errors, with 1 if there are errors (with --strict also if there are warnings), and
/// with 2 if something could not be read at all.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  # Check a release before it is published
  stackflux lint stacks/releases/openstack-scs-1-32-v1
  # Check a whole stack repository in a pipeline; warnings also fail the build
  stackflux lint --strict .
  # Check the components of a ClusterStack against its releases
  stackflux lint stacks --settings clusterstack.yaml
  # Print the findings as a table, one line each
  stackflux lint stacks --output table
  # Print the files with errors, for an editor
  stackflux lint stacks -o json | jq -r '.findings[] | select(.severity == \"error\") | .file'")]
pub(super) struct Arguments {
    /// Releases (directories or archives) or stack repositories
    #[arg(value_name = "RELEASE|REPOSITORY", required_unless_present = "settings")]
    sources: Vec<PathBuf>,
    /// File with a ClusterStack, whose components are checked against the releases
    #[arg(short, long, value_name = "FILE")]
    settings: Option<PathBuf>,
    /// Fail if there are warnings
    #[arg(long)]
    strict: bool,
    /// Output format, instead of a report with the text of each line
    #[arg(short, long, value_name = "FORMAT")]
    output: Option<Format>,
}

pub(super) fn run(arguments: &Arguments) -> CommandResult {
    let mut all = Vec::new();
    for source in &arguments.sources {
        all.extend(run::lint(source)?);
    }
    siblings::add_cross_release(&mut all);
    let of_stack = arguments.settings.as_deref().map(|file| components::lint(file, &mut all)).transpose()?;
    all.extend(of_stack);
    let report = Report::of(&all);
    match arguments.output {
        Some(format) => print(&report, format, Report::table)?,
        None => terminal::styled(&report.text())?,
    }
    let releases = count(all.iter().filter(|linted| linted.release.is_some()).count(), "release");
    let failed = report.errors > 0 || (arguments.strict && report.warnings > 0);
    summary(&releases, &report);
    Ok(if failed { Outcome::Differs } else { Outcome::Done })
}

fn summary(releases: &str, report: &Report) {
    let warnings = count(report.warnings, "warning");
    match (report.errors, report.warnings) {
        (0, 0) => terminal::success(format!("{releases}: nothing found")),
        (0, _) => terminal::warning(format!("{releases}: {warnings}")),
        (errors, 0) => terminal::problem(format!("{releases}: {}", count(errors, "error"))),
        (errors, _) => terminal::problem(format!("{releases}: {}, {warnings}", count(errors, "error"))),
    }
}
