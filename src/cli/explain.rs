//! `stackflux explain`.

use super::error::CliError;
use super::output::{Format, print, terminal_width};
use super::prose::Prose;
use super::{CommandResult, Outcome};
use crate::explain::words::{Explained, all, explained};

/// Explain a reason, a condition or a cause: what it means, and what to do
///
/// Reads no cluster. Words in braces stand for names of the object; `stackflux why` fills them in.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  # A reason of a condition
  stackflux explain WaitingForField
  # The words that can be explained
  stackflux explain")]
pub(super) struct Arguments {
    /// The word, in any case; lists all words if it is left out
    #[arg(value_name = "WORD")]
    word: Option<String>,
    /// Output format
    #[arg(short, long, value_name = "FORMAT", default_value = "table")]
    output: Format,
}

pub(super) fn run(arguments: &Arguments) -> CommandResult {
    let Some(word) = &arguments.word else {
        print(&all().map(|(of, words)| (of, words)), arguments.output, |groups| {
            let groups = groups.iter().map(|(of, words)| format!("{of}:\n  {}\n", words.join("\n  ")));
            groups.collect::<Vec<_>>().join("\n")
        })?;
        return Ok(Outcome::Done);
    };
    let found = explained(word).ok_or_else(|| {
        CliError::usage(format!("unknown word {word:?}"))
            .hint("stackflux explain lists the words; other reasons are those of Flux or Cluster API")
    })?;
    print(&found, arguments.output, |found| text(found, terminal_width()))?;
    Ok(Outcome::Done)
}

/// Formats an explanation. Sentences are wrapped to a width.
fn text(found: &Explained, width: Option<u16>) -> String {
    let Explained { word, is, meaning, action, commands, causes } = found;
    let mut prose = Prose::new(width);
    prose.line(&format!("{word} is {is}."));
    prose.gap();
    prose.line(meaning);
    if let Some(action) = action {
        prose.gap();
        prose.line(&format!("What to do: {action}"));
    }
    commands.iter().for_each(|command| prose.command(command));
    if !causes.is_empty() {
        prose.gap();
        prose.line("Causes that the message can prove:");
    }
    for Explained { word, meaning, action, .. } in causes {
        prose.gap();
        prose.line(word);
        prose.line(&format!("  {meaning}"));
        prose.line(&format!("  {}", action.unwrap_or_default()));
    }
    prose.into_text()
}
