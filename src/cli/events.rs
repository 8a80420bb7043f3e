//! `stackflux events`.

use std::time::Duration;

use super::error::CliError;
use super::live::events::{Line, ObjectName, names, read as read_events, select, text};
use super::live::subject::{OptionalObjects, Subject};
use super::live::watch::not_found;
use super::live::{self, Look, Scope, Session, read};
use super::output::ListOutput;
use super::{CommandResult, Outcome, terminal};

/// Pause between two reads.
const PAUSE: Duration = Duration::from_secs(2);

/// Show the events of ClusterStacks, clusters and the objects made for them
///
/// The newest events are last. Kubernetes keeps events for an hour. Of a named object, shows also the events of the objects below
/// it.
///
/// Exits with 1 if there are no events; with 2 if an object that is named is not found.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  # The events of all namespaces
  stackflux events -A
  # The events of one cluster, with new ones as they occur
  stackflux events cluster/one -n demo --watch
  # The warnings about a Flux object
  stackflux events --for helmrelease/one.cni --types Warning -n demo
  # The events of a ClusterStack and of everything below it
  stackflux events csk/demo -n demo")]
pub(super) struct Arguments {
    #[command(flatten)]
    objects: OptionalObjects,
    #[command(flatten)]
    look: Look,
    /// Keep running, and show new events as they occur
    #[arg(short, long)]
    watch: bool,
    /// Show only events of these types
    #[arg(long, value_name = "TYPE", value_delimiter = ',', ignore_case = true, value_parser = ["Normal", "Warning"])]
    types: Vec<String>,
    /// Show only events about this object, of any kind: helmrelease/one.cni
    #[arg(long = "for", value_name = "KIND/NAME", value_parser = ObjectName::parse)]
    about: Option<ObjectName>,
    #[command(flatten)]
    output: ListOutput,
}

pub(super) fn run(arguments: &Arguments) -> CommandResult {
    let subjects = arguments.objects.subjects()?;
    live::block_on(async {
        let (session, scope) = arguments.look.open_for(&subjects).await?;
        let mut known = lines(arguments, &subjects, (&session, &scope), true).await?;
        if known.is_empty() {
            terminal::warning("no events found; Kubernetes keeps events for an hour");
        }
        show(arguments, &known)?;
        if !arguments.watch {
            return Ok(if known.is_empty() { Outcome::Differs } else { Outcome::Done });
        }
        loop {
            tokio::time::sleep(PAUSE).await;
            match lines(arguments, &subjects, (&session, &scope), false).await {
                Ok(now) => {
                    let new: Vec<Line> = now.iter().filter(|line| !known.contains(line)).cloned().collect();
                    if !new.is_empty() {
                        show(arguments, &new)?;
                    }
                    known = now;
                }
                Err(error) => terminal::failure(&error),
            }
        }
    })
}

async fn lines(
    arguments: &Arguments,
    subjects: &[Subject],
    (session, scope): (&Session, &Scope),
    is_first: bool,
) -> Result<Vec<Line>, CliError> {
    let (snapshot, events) = tokio::join!(read::read(session, scope), read_events(session, scope));
    let (snapshot, notices) = snapshot?;
    for notice in notices.iter().filter(|_| is_first) {
        terminal::warning(notice);
    }
    let (named, missing): (Vec<_>, Vec<_>) = subjects
        .iter()
        .map(|subject| (subject.found_in(&snapshot), subject.name.clone()))
        .partition(|(kind, name)| snapshot.has_named(*kind, name));
    if is_first && notices.is_empty() && !missing.is_empty() {
        let missing = missing.iter().map(|(kind, name)| format!("{kind} {name}{}", snapshot.place()));
        return Err(not_found(&missing.collect::<Vec<_>>()));
    }
    let only = (!subjects.is_empty()).then_some(named.as_slice());
    let mut lines = select(&events?, &snapshot, only);
    lines.retain(|line| line.is_wanted(&arguments.types, arguments.about.as_ref()));
    Ok(lines)
}

fn show(arguments: &Arguments, lines: &[Line]) -> Result<(), CliError> {
    let now = jiff::Timestamp::now();
    arguments.output.print(&lines, |lines, layout| text(lines, now, layout), |lines| names(lines))
}
