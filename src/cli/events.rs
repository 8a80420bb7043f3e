//! `stackflux events`.

use std::time::Duration;

use super::error::CliError;
use super::live::events::{Line, read as read_events, select, text};
use super::live::{self, Look, Scope, Session, read};
use super::output::{Format, print};
use super::{CommandResult, Outcome, terminal};

/// Pause between two reads.
const PAUSE: Duration = Duration::from_secs(2);

/// Show the events of ClusterStacks, clusters and the objects made for them
///
/// The newest events are last. Kubernetes keeps events for an hour.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  # The events of all namespaces
  stackflux events -A
  # The events of one cluster, with new ones as they occur
  stackflux events one -n demo --watch")]
pub(super) struct Arguments {
    /// Show only the events of this Cluster
    cluster: Option<String>,
    #[command(flatten)]
    look: Look,
    /// Keep running, and show new events as they occur
    #[arg(short, long)]
    watch: bool,
    /// Output format
    #[arg(short, long, value_name = "FORMAT", default_value = "table")]
    output: Format,
}

pub(super) fn run(arguments: &Arguments) -> CommandResult {
    live::block_on(async {
        let (session, scope) = arguments.look.open().await?;
        let mut known = lines(arguments, &session, &scope, true).await?;
        if known.is_empty() {
            terminal::warning("no events found; Kubernetes keeps events for an hour");
        }
        show(arguments, &known)?;
        if !arguments.watch {
            return Ok(Outcome::Done);
        }
        loop {
            tokio::time::sleep(PAUSE).await;
            match lines(arguments, &session, &scope, false).await {
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
    session: &Session,
    scope: &Scope,
    warn: bool,
) -> Result<Vec<Line>, CliError> {
    let (snapshot, events) = tokio::join!(read::read(session, scope), read_events(session, scope));
    let (snapshot, notices) = snapshot?;
    for notice in notices.iter().filter(|_| warn) {
        terminal::warning(notice);
    }
    let cluster = arguments.cluster.as_deref();
    if let Some(name) = cluster.filter(|name| warn && notices.is_empty() && !snapshot.has(name)) {
        terminal::warning(format!("Cluster {name} not found{}", snapshot.place()));
    }
    Ok(select(&events?, &snapshot, cluster))
}

fn show(arguments: &Arguments, lines: &[Line]) -> Result<(), CliError> {
    print(&lines, arguments.output, |lines| text(lines, jiff::Timestamp::now()))
}
