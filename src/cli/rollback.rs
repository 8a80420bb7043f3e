//! `stackflux rollback`.

use std::path::PathBuf;

use super::error::CliError;
use super::history::entries;
use super::promote::Format;
use super::stages::inputs::Inputs;
use super::stages::propose::{Change, Delivery};
use super::stages::{Repository, RepositoryArguments, StageFailure, releases, side};
use super::{CommandResult, Outcome, terminal};
use crate::forge::MAX_BODY_BYTES;
use crate::git::{Edit, Message, Snapshot};
use crate::names::ReleaseName;
use crate::promote::history::{Cause, Entry};
use crate::promote::holds;
use crate::promote::refusal::Refusal;
use crate::promote::rollback::Rollback;
use crate::promote::stages::Stage;
use crate::promote::trailers;
use crate::release::File;

/// Maximum number of commits to search for the one that added a release.
const MAX_COMMITS: usize = 1000;

/// Roll back the last release of a stage, and hold it
///
/// Removes the release that was added to the stage last, or the one given with --release, and adds it to
/// stackflux.holds.yaml, so that it is neither promoted nor published to the stage again until the hold is lifted.
/// Both changes are one commit. Right after a rollback, --release is required, so that running the command twice does
/// not roll back another release.
///
/// No Cluster changes: Clusters that have the release keep it until their class is set to another release's.
///
/// Exits with 0 if the release was rolled back, with 1 if the changes were only shown, and with 2 on errors.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  # Show what would be rolled back
  stackflux rollback prod --reason \"CSI loses volumes, see incident 42\"
  # Roll back, and push
  stackflux rollback prod --reason \"CSI loses volumes, see incident 42\" --push
  # Roll back a release other than the last one, with a pull request
  stackflux rollback prod --release openstack-scs-1-32-v2 --reason \"CVE-2026-1\" --pull-request")]
pub(super) struct Arguments {
    /// Stage to roll back
    stage: String,
    /// Release to roll back (default: the most recent one that the stage still has)
    ///
    /// Required if the last commit to the stage was a rollback.
    #[arg(long, value_name = "NAME")]
    release: Option<ReleaseName>,
    /// Reason of the rollback, shown when the release is promoted or published again
    #[arg(long, value_name = "TEXT")]
    reason: String,
    /// More Clusters and ClusterStacks of the stage: files, directories, or - for stdin
    ///
    /// stackflux reads them in addition to the inputs of the stage in stackflux.yaml.
    #[arg(short, long, value_name = "FILE")]
    filename: Vec<PathBuf>,
    /// Output format
    #[arg(short, long, value_enum, value_name = "FORMAT", default_value = "text")]
    output: Format,
    #[command(flatten)]
    pub(super) delivery: Delivery,
    #[command(flatten)]
    repository: RepositoryArguments,
}

pub(super) fn run(arguments: &Arguments) -> CommandResult {
    let repository = arguments.repository.open()?;
    let stage = repository.stages.stage(&arguments.stage)?;
    let explained = |failure: StageFailure| failure.explained();
    let found = entries(&repository, stage, MAX_COMMITS).map_err(explained)?;
    let (_, snapshot) = repository.tip(stage).map_err(explained)?;
    let present = releases(&snapshot, stage).map_err(explained)?;
    let (release, commit) = last(stage, &found, &present, arguments.release.as_ref())
        .map_err(|refusal| explained(refusal.into()))?;
    // The inputs only serve the report: unreadable ones must not prevent the rollback.
    let inputs = Inputs::read(&snapshot, stage, &arguments.filename).unwrap_or_else(|error| {
        let error = error.message;
        terminal::warning(format!("cannot read the ClusterStacks and Clusters of the stage: {error}"));
        Inputs::default()
    });
    let branch = repository.branch_of(stage);
    let target = inputs.target(repository.place(stage), &present);
    // An unreadable release may be the reason for the rollback.
    let kubernetes = |name: &ReleaseName| match side(&snapshot, stage, name) {
        Ok(side) => Some(side.release.kubernetes),
        Err(_) => None,
    };
    let reverts = brought_alone(&repository, &commit, &stage.release_path(&release)).map_err(explained)?;
    let rollback = Rollback::new(&target, &release, (&commit, reverts, &arguments.reason), kubernetes);
    show(&rollback, arguments.output)?;
    if !arguments.delivery.is_wanted() {
        terminal::note("nothing was written; --push commits the change, --pull-request proposes it");
        return Ok(Outcome::Differs);
    }
    let change = Change {
        branch,
        what: format!("rollback-{release}-from-{}", stage.name),
        message: message(&rollback),
        text: rollback.document(),
    };
    arguments.delivery.deliver(&repository, &change, |snapshot| {
        edit((&repository, snapshot), stage, &release, (&commit, &arguments.reason))
    })?;
    Ok(Outcome::Done)
}

fn show(rollback: &Rollback, format: Format) -> Result<(), CliError> {
    Ok(terminal::data(&match format {
        Format::Text => rollback.document().to_plain(),
        Format::Markdown => rollback.document().to_markdown(MAX_BODY_BYTES),
        Format::Json => serde_json::to_string_pretty(rollback)? + "\n",
    })?)
}

/// Returns the release to roll back, and the commit that added it.
fn last(
    stage: &Stage,
    entries: &[Entry],
    present: &std::collections::BTreeSet<ReleaseName>,
    wanted: Option<&ReleaseName>,
) -> Result<(ReleaseName, String), Refusal> {
    if let Some(wanted) = wanted.filter(|wanted| !present.contains(*wanted)) {
        return Err(Refusal::not_there(stage, wanted, present));
    }
    // Running the command twice must roll back one release only.
    if let Some(Entry { cause: Cause::RolledBack, removed, .. }) =
        entries.first().filter(|_| wanted.is_none())
    {
        return Err(Refusal::RolledBack { stage: stage.name.clone(), releases: removed.join(", ") });
    }
    let parsed = |entry: &Entry| -> Vec<ReleaseName> {
        let names = entry.added.iter().filter_map(|name| name.parse().ok());
        names.filter(|name| present.contains(name) && wanted.is_none_or(|wanted| wanted == name)).collect()
    };
    let brought = entries.iter().map(|entry| (entry, parsed(entry)));
    let mut brought = brought.filter(|(_, releases)| !releases.is_empty());
    let (entry, releases) = brought.next().ok_or_else(|| Refusal::Nothing(stage.name.clone()))?;
    match releases.as_slice() {
        [release] => Ok((release.clone(), entry.commit.clone())),
        several => {
            let releases: Vec<String> = several.iter().map(ToString::to_string).collect();
            Err(Refusal::Several { stage: stage.name.clone(), releases: releases.join(", ") })
        }
    }
}

/// Whether a commit added this directory and changed nothing else.
fn brought_alone(repository: &Repository, commit: &str, path: &str) -> Result<bool, StageFailure> {
    let clone = &repository.clone;
    // The state before the commit is the state after the previous commit that changed anything.
    let log = clone.log(commit.parse()?, "", 2)?;
    let [after, before] = [log.first(), log.get(1)].map(|entry| entry.map(|entry| entry.commit));
    let (after, before) = (clone.snapshot(after)?, clone.snapshot(before)?);
    let names: Vec<&str> = path.split('/').collect();
    for (at, name) in names.iter().enumerate() {
        let directory = names.get(..at).unwrap_or_default().join("/");
        let others = |snapshot: &Snapshot| -> Result<Vec<_>, StageFailure> {
            let entries = snapshot.entries(&directory)?.into_iter();
            Ok(entries.filter(|entry| entry.name != *name).collect())
        };
        if others(&before)? != others(&after)? {
            return Ok(false);
        }
    }
    Ok(before.tree_id(path)?.is_none())
}

/// Returns the change on the branch of the stage; `None` if the release is already removed.
fn edit(
    (repository, snapshot): (&Repository, &Snapshot),
    stage: &Stage,
    release: &ReleaseName,
    (commit, reason): (&str, &str),
) -> Result<Option<Edit>, StageFailure> {
    let path = stage.release_path(release);
    if snapshot.tree_id(&path)?.is_none() {
        return Ok(None);
    }
    let mut edit = Edit::default();
    edit.clear_directory(&path)?;
    let held = repository.holds(snapshot)?.with(release, &stage.name, reason, commit);
    if let Some(text) = held.to_yaml() {
        edit.write(holds::FILE, File { content: text.into_bytes(), executable: false })?;
    }
    Ok(Some(edit))
}

fn message(rollback: &Rollback) -> Message {
    let Rollback { stage, release, commit, reverts, reason, .. } = rollback;
    let subject = format!("Roll {release} back from {stage}");
    let reason = reason.trim();
    let body =
        if *reverts { format!("{reason}\n\nThis reverts commit {commit}.") } else { reason.to_owned() };
    Message { body, ..Message::new(subject) }
        .trailer(trailers::ROLLBACK, release)
        .trailer(trailers::STAGE, stage)
        .trailer(trailers::REVERTS, commit)
        .trailer(trailers::VERSION, env!("CARGO_PKG_VERSION"))
}
