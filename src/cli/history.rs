//! `stackflux history`.

use std::collections::BTreeMap;

use super::output::{Layout, ListOutput, table_in};
use super::stages::{Repository, RepositoryArguments, StageFailure};
use super::{CommandResult, Outcome, terminal};
use crate::git::{CommitId, EntryKind, GitError, LogEntry};
use crate::names::ReleaseName;
use crate::promote::history::{Change, Entry, entry};
use crate::promote::stages::Stage;

/// Show which releases were added to and removed from a stage, when, and by whom
///
/// Reads the commits on the stage's branch that changed its directory, and shows what each commit added and removed,
/// and how: stackflux publish, promote and rollback record this in their commits.
///
/// Exits with 1 if no releases are found.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  # Show which releases prod had, and since when
  stackflux history prod
  # Print when releases were rolled back, for a program
  stackflux history prod -o json | jq -r '.[] | select(.cause == \"rolledBack\") | .date + \" \" + .removed[0]'")]
pub(super) struct Arguments {
    /// Name of the stage
    stage: String,
    /// Maximum number of commits to show
    #[arg(long, value_name = "NUMBER", default_value_t = 50)]
    most: usize,
    #[command(flatten)]
    output: ListOutput,
    #[command(flatten)]
    repository: RepositoryArguments,
}

pub(super) fn run(arguments: &Arguments) -> CommandResult {
    let repository = arguments.repository.open()?;
    let stage = repository.stages.stage(&arguments.stage)?;
    let entries = entries(&repository, stage, arguments.most).map_err(|failure| failure.explained())?;
    if entries.is_empty() {
        terminal::warning(format!("no releases in the history of stage {}", stage.name));
    }
    arguments.output.print(&entries, |entries, layout| rows(entries, layout), |entries| names(entries))?;
    Ok(if entries.is_empty() { Outcome::Differs } else { Outcome::Done })
}

/// Returns the names of the releases, the newest change first.
fn names(entries: &[Entry]) -> Vec<String> {
    let all = entries.iter().flat_map(|entry| [&entry.added, &entry.removed, &entry.altered]);
    all.flatten().cloned().collect()
}

/// Formats a line for each release that was added, removed or altered.
fn rows(entries: &[Entry], layout: Layout) -> String {
    let rows = entries.iter().flat_map(|entry| {
        let of = |names: &'_ [String], verb: &'static str| {
            names.iter().map(move |name| (verb, name.clone())).collect::<Vec<_>>()
        };
        let changes =
            [of(&entry.added, "added"), of(&entry.removed, "removed"), of(&entry.altered, "ALTERED")]
                .concat();
        changes.into_iter().map(|(verb, name)| {
            [
                entry.date.strftime("%Y-%m-%d %H:%MZ").to_string(),
                name,
                verb.to_owned(),
                entry.cause.words(),
                entry.commit.get(..12).unwrap_or(&entry.commit).to_owned(),
                entry.author.clone(),
            ]
        })
    });
    table_in(layout, ["DATE", "RELEASE", "CHANGE", "HOW", "COMMIT", "AUTHOR"], rows)
}

/// Returns the changes that the commits to a stage made to its releases, the newest first.
pub(super) fn entries(
    repository: &Repository,
    stage: &Stage,
    most: usize,
) -> Result<Vec<Entry>, StageFailure> {
    let (tip, _) = repository.tip(stage)?;
    // The state before a commit is the state after the previous one in the log.
    let log = repository.clone.log(tip, &stage.path, most.saturating_add(1))?;
    let mut found = Vec::new();
    for (at, commit) in log.iter().enumerate().take(most) {
        let after = directory(repository, stage, Some(commit.commit))?;
        let before = directory(repository, stage, log.get(at + 1).map(|before| before.commit))?;
        found.extend(entry(&change(commit, before, after), |name| name.parse::<ReleaseName>().is_ok()));
    }
    Ok(found)
}

fn change(commit: &LogEntry, before: BTreeMap<String, String>, after: BTreeMap<String, String>) -> Change {
    let message = &commit.message;
    let merged = commit.merged.as_ref();
    let trailers = message.trailers.iter().cloned().chain(of_text(&message.body));
    let trailers = trailers.chain(merged.into_iter().flat_map(|merged| merged.trailers.iter().cloned()));
    Change {
        commit: commit.commit.to_string(),
        date: commit.time,
        author: commit.author.clone(),
        subject: message.subject.clone(),
        trailers: trailers.collect(),
        before,
        after,
    }
}

/// Finds stackflux's trailers in the body of a message: if a forge squashed a pull request, other text may follow them.
pub(super) fn of_text(text: &str) -> impl Iterator<Item = (String, String)> {
    let ours = text
        .lines()
        .filter_map(|line| line.split_once(": "))
        .filter(|(key, _)| key.starts_with("Stackflux-"));
    ours.map(|(key, value)| (key.to_owned(), value.trim().to_owned()))
}

/// Returns the directories of a stage, with the IDs of their trees.
fn directory(
    repository: &Repository,
    stage: &Stage,
    commit: Option<CommitId>,
) -> Result<BTreeMap<String, String>, GitError> {
    let entries = repository.clone.snapshot(commit)?.entries(&stage.path)?;
    let directories = entries.into_iter().filter(|entry| entry.kind == EntryKind::Directory);
    Ok(directories.map(|entry| (entry.name, entry.id)).collect())
}
