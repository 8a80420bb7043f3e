//! Writes the files of `stackflux generate`, and reports the changes.

use std::path::Path;

use super::planned::{Inputs, Planned};
use super::report;
use crate::cli::error::CliError;
use crate::cli::unused::Flag;
use crate::cli::{CommandResult, Outcome, terminal};
use crate::sink::changes::{ChangeKind, Changes, Refused};
use crate::sink::directory::Directory;
use crate::sink::layout::Part;
use crate::sink::update::{Budget, Delivery, Limit, Overwrite, Scope, sources, update};

/// Permissions to overwrite edited files and to remove objects.
#[derive(Clone, Debug, clap::Args)]
pub(super) struct Rules {
    /// Overwrite this file of the target, or the files below this directory, even if edited
    ///
    /// By default, stackflux does not overwrite files that others have edited. `.` stands for all files. Can be given
    /// more than once.
    #[arg(long, value_name = "PATH")]
    overwrite: Vec<String>,
    /// Allow removals beyond the prune budget: the digest that was printed with them
    #[arg(long, value_name = "DIGEST")]
    allow_prune: Option<String>,
}

impl Rules {
    /// Returns the flags, which only a target with files uses.
    pub(super) fn flags(&self) -> [Flag; 2] {
        [("--overwrite", !self.overwrite.is_empty()), self.allow_prune_flag()]
    }

    /// Returns the flag that only a target with a prune budget uses.
    pub(super) fn allow_prune_flag(&self) -> Flag {
        ("--allow-prune", self.allow_prune.is_some())
    }

    /// Returns the delivery of a plan under these rules.
    pub(super) fn delivery<'a>(&self, planned: &'a Planned, limit: Limit) -> Delivery<'a> {
        Delivery {
            stack: planned.stack.clone(),
            plan: &planned.plan,
            scope: Scope { present: planned.elsewhere.clone(), ..Scope::default() },
            overwrite: Overwrite(self.overwrite.iter().cloned().collect()),
            budget: Budget { limit, allowed: self.allow_prune.clone() },
        }
    }
}

/// Writes files to a directory; a dry run only prints which. There is no prune budget, because the directory can be
/// reviewed before it is applied.
pub(super) fn directory(inputs: &Inputs, path: &Path, rules: &Rules, dry_run: bool) -> CommandResult {
    let directory = Directory::new(path);
    let planned = inputs.plan(&sources(&directory)?)?;
    let changes = update(&directory, &rules.delivery(&planned, Limit::All))?;
    refuse_all(&changes, &path.display().to_string())?;
    if dry_run {
        terminal::data(&files(&changes))?;
        terminal::note(format!("{}: nothing was written; it would be {}", path.display(), counted(&changes)));
    } else {
        directory.apply(&changes)?;
        terminal::success(format!("{}: {}", path.display(), counted(&changes)));
    }
    report::report(&planned.warnings, &planned.plan);
    let outcome = report_outcome(&planned, &changes);
    Ok(if dry_run && !changes.is_empty() { Outcome::Differs } else { outcome })
}

/// Lists the files to write (`W`) and to remove (`D`), one a line.
pub(super) fn files(changes: &Changes) -> String {
    let written = changes.writes.keys().map(|path| format!("W {path}\n"));
    let removed = changes.removes.iter().map(|path| format!("D {path}\n"));
    written.chain(removed).collect()
}

/// Counts the changes of objects.
pub(super) fn counted(changes: &Changes) -> String {
    format!(
        "{} written, {} unchanged, {} held back and kept, {} removed",
        changes.count(ChangeKind::Added) + changes.count(ChangeKind::Changed),
        changes.unchanged,
        changes.kept,
        changes.count(ChangeKind::Removed)
    )
}

/// Returns an error if nothing is written at all because of a refused change.
pub(super) fn refuse_all(changes: &Changes, target: &str) -> Result<(), CliError> {
    let is_needed = |refused: &&Refused| refused.part.as_ref().is_none_or(|part| *part == Part::Sources);
    let Some(refused) = changes.refused.iter().find(is_needed).filter(|_| changes.is_empty()) else {
        return Ok(());
    };
    let message = format!("{target}: {} {}: nothing is written", refused.file, refused.why);
    Err(CliError::usage(message).hint(refused.why.resolution()))
}

/// Reports what is not written, and returns the outcome of the command.
pub(super) fn report_outcome(planned: &Planned, changes: &Changes) -> Outcome {
    for refused in &changes.refused {
        let part =
            refused.part.as_ref().map_or_else(|| "the list of directories".to_owned(), ToString::to_string);
        terminal::problem(format!("{} {}: {part} is left as it is", refused.file, refused.why));
        terminal::detail(refused.why.resolution());
    }
    if let Some(withheld) = &changes.withheld {
        terminal::waiting(format!("prune budget exceeded; kept: {}", withheld.names.join(", ")));
        terminal::detail(format!("pass --allow-prune {} to remove them", withheld.digest));
    }
    let is_whole = planned.plan.held().is_empty() && changes.refused.is_empty() && changes.withheld.is_none();
    if is_whole { Outcome::Done } else { Outcome::Differs }
}
