//! `stackflux generate --to-git`: commits the files of a plan.

use super::planned::{Inputs, Planned};
use super::report;
use super::target::{Rules, counted, files, refuse_all, report_outcome};
use crate::cli::error::CliError;
use crate::cli::git_access::{Authorship, GitAccess, branch_of, explain};
use crate::cli::unused::Flag;
use crate::cli::{CommandResult, Outcome, terminal};
use crate::git::{
    BareRepository, GitError, GitUrl, Message, Proposal, PushUpdateError, Signer, Snapshot, Target, Updated,
    update as push,
};
use crate::sink::changes::Changes;
use crate::sink::git::{Below, edit};
use crate::sink::message::{Origin, message};
use crate::sink::update::{Limit, sources, update};

/// Which repository, and how.
#[derive(Clone, Debug, clap::Args)]
pub(super) struct GitTarget {
    /// Commit one file per object to this repository, and keep the sources and pins found there
    ///
    /// Nothing is force-pushed: if others push at the same time, the files are planned again on top of their commit.
    #[arg(long, value_name = "URL", group = "target", help_heading = "Delivery through Git")]
    // Not parsed by clap, whose error messages repeat invalid values, including passwords.
    pub(super) to_git: Option<String>,
    /// Branch to push to (default: the repository's HEAD branch)
    ///
    /// In an empty repository the branch is created (default: main).
    // `conflicts_with` too: clap drops a `requires` whose flag conflicts with another given one.
    #[arg(
        long,
        value_name = "NAME",
        requires = "to_git",
        conflicts_with = "output_dir",
        help_heading = "Delivery through Git"
    )]
    branch: Option<String>,
    /// Directory of the repository to write to
    #[arg(
        long,
        value_name = "PATH",
        default_value = ".",
        requires = "to_git",
        conflicts_with = "output_dir",
        help_heading = "Delivery through Git"
    )]
    path: String,
    /// Print the files that would change, and the commit message, without writing anything
    ///
    /// For --output-dir and --to-git. Exits with 1 if something would change.
    #[arg(long, requires = "target")]
    pub(super) dry_run: bool,
    #[command(flatten)]
    access: GitAccess,
    #[command(flatten)]
    authorship: Authorship,
}

impl GitTarget {
    /// Returns the flags that only `--to-git` uses, except those that clap checks.
    pub(super) fn flags(&self) -> impl Iterator<Item = Flag> {
        self.access.flags().into_iter().chain(self.authorship.flags())
    }
}

/// One attempt: the plan on top of a commit, and its changes.
struct Attempt {
    planned: Planned,
    changes: Changes,
    message: Message,
}

/// Commits and pushes the files of a plan.
pub(super) fn deliver(inputs: &Inputs, url: &GitUrl, target: &GitTarget, rules: &Rules) -> CommandResult {
    let clone = BareRepository::temporary(target.access.to(url.clone())?).map_err(|error| explain(&error))?;
    let branch = branch_of(&clone, target.branch.as_deref())?;
    let attempt = |snapshot: &Snapshot<'_>| attempt(inputs, snapshot, target, rules);
    if target.dry_run {
        let tip = clone.fetch_to_change(&branch).map_err(|error| explain(&error))?;
        let snapshot = clone.snapshot(tip).map_err(|error| explain(&error))?;
        return shown(&attempt(&snapshot)?);
    }
    let (identity, signer): (_, Option<Signer>) = (target.authorship.identity()?, target.authorship.signer());
    let mut last = None;
    let to = Target { branch, push_to: None };
    let updated = push(&clone, &to, signer.as_ref(), |snapshot| {
        let attempt = attempt(snapshot)?;
        let edit = edit(&attempt.changes, &target.path).map_err(|error| explain(&error))?;
        let message = attempt.message.to_string();
        last = Some(attempt);
        let identity = identity.clone();
        Ok((!edit.is_empty()).then_some(Proposal { edit, message, identity }))
    });
    let updated = updated.map_err(|error| match error {
        PushUpdateError::Change(error) => error,
        PushUpdateError::Git(error) => explain(&error),
        busy @ (PushUpdateError::Busy { .. } | PushUpdateError::Occupied { .. }) => {
            CliError::usage(busy.to_string()).hint("try again later")
        }
    })?;
    let Some(Attempt { planned, changes, .. }) = last else { return Ok(Outcome::Done) };
    match updated {
        Updated::Pushed { commit, .. } | Updated::Present(commit) => {
            terminal::success(format!("{url}: {}: commit {commit} on {}", counted(&changes), to.branch));
        }
        Updated::Nothing => terminal::success(format!("{url}: {}: no commit", counted(&changes))),
    }
    report::report(&planned.warnings, &planned.plan);
    Ok(report_outcome(&planned, &changes))
}

fn attempt(
    inputs: &Inputs,
    snapshot: &Snapshot<'_>,
    target: &GitTarget,
    rules: &Rules,
) -> Result<Attempt, CliError> {
    let below = Below::new(snapshot, &target.path);
    let failed = |error: GitError| explain(&error);
    let planned = inputs.plan(&sources(&below).map_err(failed)?)?;
    let changes = update(&below, &rules.delivery(&planned, Limit::Tenth))?;
    refuse_all(&changes, &target.path)?;
    let origin =
        Origin { stack: &planned.stack, plan: planned.plan.digest(), version: env!("CARGO_PKG_VERSION") };
    let message = message(&changes, &origin);
    Ok(Attempt { planned, changes, message })
}

/// Prints the commit message and the files that would change.
fn shown(Attempt { planned, changes, message }: &Attempt) -> CommandResult {
    if changes.is_empty() {
        terminal::success("nothing to commit");
    } else {
        terminal::data(&format!("{message}\n{}", files(changes)))?;
    }
    report::report(&planned.warnings, &planned.plan);
    let outcome = report_outcome(planned, changes);
    Ok(if changes.is_empty() { outcome } else { Outcome::Differs })
}
