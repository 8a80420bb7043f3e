//! `stackflux lint`.

mod report;
mod run;
mod siblings;

use std::path::PathBuf;

use super::output::{Format, count, print};
use super::{CommandResult, Outcome, terminal};
use report::Report;

/// Tell everything that is wrong with releases or stack repositories
///
/// Reads each release as stackflux and Flux will, and shows all findings with file, line, the line's text and, where
/// there is one, what to do about it. An error makes a release unusable; a warning is something to know. Of a stack
/// repository, what concerns more than one release is told as well: links and names that Flux or stackflux pass over,
/// releases in archives, objects that two releases of one cluster class share, and addons that are a chart in one release
/// and manifests in the next.
///
/// Exits with 0 where nothing or only warnings were found, with 1 where there are errors (with --strict also
/// warnings), and with 2 where something could not be read at all.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  # A release before it is published
  stackflux lint stacks/releases/openstack-scs-1-32-v1
  # A whole stack repository in a pipeline, where a warning fails the build as well
  stackflux lint --strict .
  # A table of the findings, one line each
  stackflux lint stacks --output table
  # Files with errors, for an editor
  stackflux lint stacks -o json | jq -r '.findings[] | select(.severity == \"error\") | .file'")]
pub(super) struct Arguments {
    /// Releases (directories or archives) or stack repositories
    #[arg(value_name = "RELEASE|REPOSITORY", required = true)]
    sources: Vec<PathBuf>,
    /// Fail when there are warnings
    #[arg(long)]
    strict: bool,
    /// The form of the output, instead of a report with the text of each line
    #[arg(short, long, value_name = "FORMAT")]
    output: Option<Format>,
}

pub(super) fn run(arguments: &Arguments) -> CommandResult {
    let mut all = Vec::new();
    for source in &arguments.sources {
        all.extend(run::lint(source)?);
    }
    siblings::tell(&mut all);
    let report = Report::of(&all);
    match arguments.output {
        Some(format) => print(&report, format, Report::table)?,
        None => terminal::styled(&report.text())?,
    }
    let releases = count(all.iter().filter(|linted| linted.release.is_some()).count(), "release");
    let failed = report.errors() > 0 || (arguments.strict && report.warnings() > 0);
    summary(&releases, &report);
    Ok(if failed { Outcome::Differs } else { Outcome::Done })
}

fn summary(releases: &str, report: &Report) {
    let warnings = count(report.warnings(), "warning");
    match (report.errors(), report.warnings()) {
        (0, 0) => terminal::success(format!("{releases}: nothing found")),
        (0, _) => terminal::warning(format!("{releases}: {warnings}")),
        (errors, 0) => terminal::problem(format!("{releases}: {}", count(errors, "error"))),
        (errors, _) => terminal::problem(format!("{releases}: {}, {warnings}", count(errors, "error"))),
    }
}
