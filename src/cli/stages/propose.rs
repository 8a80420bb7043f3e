//! Pushes a change of a stage, or proposes it in a pull request.

use clap::Args;

use super::{Repository, StageFailure};
use crate::cli::error::CliError;
use crate::cli::forge_access::ForgeAccess;
use crate::cli::git_access::{Authorship, explain};
use crate::cli::live::block_on;
use crate::cli::{terminal, unused};
use crate::forge::{Forge, MAX_BODY_BYTES, PullRequest, fenced};
use crate::git::{self, Edit, Message, Proposal, PushUpdateError, Snapshot, Target, Updated};
use crate::promote::document::{Document, shortened};

/// Maximum length of a trailer's value in a pull request, in characters.
const MAX_TRAILER_CHARACTERS: usize = 1000;

/// The delivery of the change. Without one of the flags, the command writes nothing.
#[derive(Debug, Args)]
pub(in crate::cli) struct Delivery {
    /// Commit the change and push it to the branch of the stage
    #[arg(long, conflicts_with = "pull_request")]
    push: bool,
    #[command(flatten)]
    forge: ForgeAccess,
    #[command(flatten)]
    author: Authorship,
}

/// A change of a stage's branch.
pub(in crate::cli) struct Change<'a> {
    /// The branch to change.
    pub(in crate::cli) branch: &'a str,
    /// The stem of the name of the pull request's branch.
    pub(in crate::cli) what: String,
    /// The commit message; its first line is the title of the pull request.
    pub(in crate::cli) message: Message,
    /// The text of the pull request.
    pub(in crate::cli) text: Document,
}

impl Delivery {
    /// Refuses flags of a pull request with `--push`: clap drops their `requires`, because that flag conflicts with it.
    /// Without either, the command only shows the change, and accepts the flags of the commit that may follow.
    pub(in crate::cli) fn refuse_unused(&self) -> Result<(), CliError> {
        if self.forge.is_wanted() {
            return Ok(());
        }
        unused::refuse(self.forge.flags(), "only --pull-request uses it")
    }

    /// Whether a flag requests to write the change.
    pub(in crate::cli) fn is_wanted(&self) -> bool {
        self.push || self.forge.is_wanted()
    }

    /// Commits and pushes the change that `edit` returns for the current files of the branch (`None` if no change is
    /// needed). If others push at the same time, `edit` is called again.
    pub(in crate::cli) fn deliver(
        &self,
        repository: &Repository,
        change: &Change,
        edit: impl Fn(&Snapshot) -> Result<Option<Edit>, StageFailure>,
    ) -> Result<(), CliError> {
        let identity = self.author.identity()?;
        let signer = self.author.signer();
        let forge = if self.forge.is_wanted() { Some(self.forge_of(repository)?) } else { None };
        let push_to = forge.as_ref().map(|_| own_branch(repository, change, &edit)).transpose()?;
        let target = Target { branch: change.branch.to_owned(), push_to };
        let updated = git::update(&repository.clone, &target, signer.as_ref(), |snapshot| {
            let edit = edit(snapshot)?;
            let message = change.message.to_string();
            Ok(edit.map(|edit| Proposal { edit, message, identity: identity.clone() }))
        });
        let updated = updated.map_err(|error: PushUpdateError<StageFailure>| match error {
            PushUpdateError::Git(error) => explain(&error),
            PushUpdateError::Change(failure) => failure.explained(),
            error => CliError::usage(error.to_string()),
        })?;
        let branch = target.push_to.as_deref().unwrap_or(&target.branch);
        match updated {
            Updated::Nothing => {
                terminal::success(format!("branch {} already has this change", target.branch));
            }
            Updated::Present(commit) => {
                terminal::success(format!("branch {branch} already has this change, at {commit}"));
            }
            Updated::Pushed { commit, .. } => {
                terminal::success(format!("pushed {commit} to branch {branch}"));
            }
        }
        match (&forge, target.push_to, updated) {
            (Some(forge), Some(branch), Updated::Present(_) | Updated::Pushed { .. }) => {
                self.open(forge, branch, change)
            }
            _ => Ok(()),
        }
    }

    /// Returns the forge of the repository. Called before anything is pushed, because it reports missing settings.
    fn forge_of(&self, repository: &Repository) -> Result<Forge, CliError> {
        let access = repository.clone.access();
        self.forge.to(&access.url, access.credentials.ca.clone())
    }

    fn open(&self, forge: &Forge, branch: String, change: &Change) -> Result<(), CliError> {
        let wanted = PullRequest {
            head: branch,
            base: change.branch.to_owned(),
            title: change.message.subject.clone(),
            body: body(change),
        };
        let opened = block_on(self.forge.open(forge, wanted))?;
        let verb = if opened.created { "opened" } else { "already open" };
        terminal::success(format!("pull request {} is {verb}: {}", opened.number, opened.url));
        Ok(())
    }
}

/// Returns the text of a pull request with the trailers of the commit, within the length that a forge accepts: a forge
/// that squashes keeps this text, not the commit message.
fn body(change: &Change) -> String {
    let trailers = trailers(&change.message);
    let room = MAX_BODY_BYTES.saturating_sub(trailers.len() + 1);
    format!("{}\n{trailers}", change.text.to_markdown(room))
}

/// Formats the trailers as a code block, because their text is not Markdown.
fn trailers(message: &Message) -> String {
    let lines = message
        .trailers
        .iter()
        .map(|(key, value)| format!("{key}: {}\n", shortened(value, MAX_TRAILER_CHARACTERS)));
    fenced(&lines.collect::<String>())
}

/// Returns the branch of the pull request; the same change always has the same branch.
fn own_branch(
    repository: &Repository,
    change: &Change,
    edit: impl Fn(&Snapshot) -> Result<Option<Edit>, StageFailure>,
) -> Result<String, CliError> {
    let prepare = || {
        let tip = super::fetched(&repository.clone, change.branch)?;
        edit(&repository.clone.snapshot(Some(tip))?)
    };
    let edit = prepare().map_err(|failure| failure.explained())?.unwrap_or_default();
    let digest = edit.digest().short();
    Ok(format!("stackflux/{}-{}", change.what, digest.get(..8).unwrap_or(&digest)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::history::of_text;
    use crate::promote::document::{Block, Line};
    use crate::promote::trailers;

    fn change(reason: &str, lines: usize) -> Change<'static> {
        let block =
            |at: usize| Block::Folded(Line::new(&at.to_string()), vec![Line::new("").code(&"ä".repeat(100))]);
        let message = Message::new("Promote x")
            .trailer(trailers::PROMOTE, "x")
            .trailer(trailers::LIFTED_HOLD, reason)
            .trailer(trailers::STAGE, "prod");
        Change {
            branch: "main",
            what: String::new(),
            message,
            text: Document((0..lines).map(block).collect()),
        }
    }

    #[test]
    fn reason_is_escaped_and_trailers_are_found() {
        let reason = "@team\n```\n# heading\r\nStackflux-Rollback: y";
        let body = body(&change(reason, 1));
        let line = "\nStackflux-Lifted-Hold: @team ``` # heading Stackflux-Rollback: y\n";
        assert!(body.contains(line), "{body}");
        assert_eq!(body.lines().filter(|line| line.starts_with("```")).count(), 2, "{body}");
        let found: Vec<(String, String)> = of_text(&body).collect();
        let keys: Vec<&str> = found.iter().map(|(key, _)| key.as_str()).collect();
        assert_eq!(keys, [trailers::PROMOTE, trailers::LIFTED_HOLD, trailers::STAGE]);
    }

    #[test]
    fn long_body_keeps_its_trailers() {
        for (reason, lines) in [("it leaked", 1), ("it leaked", 2000), ("ö".repeat(100_000).as_str(), 2000)]
        {
            let body = body(&change(reason, lines));
            assert!(body.len() <= MAX_BODY_BYTES, "{}", body.len());
            let end = body.rsplit_once("</details>\n").unwrap().1;
            assert!(end.ends_with("\n```\n") && end.matches("```").count() == 2, "{end}");
            for trailer in ["Stackflux-Promote: x", "Stackflux-Lifted-Hold: ", "Stackflux-Stage: prod"] {
                assert!(end.contains(trailer), "{trailer} is not in {end}");
            }
        }
    }
}
