//! `stackflux explain`.

use std::fmt::Write as _;

use super::error::CliError;
use super::output::{Format, print};
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
    print(&found, arguments.output, text)?;
    Ok(Outcome::Done)
}

fn text(found: &Explained) -> String {
    let Explained { word, is, meaning, action, commands, causes } = found;
    let mut text = format!("{word} is {is}.\n\n{meaning}\n");
    if let Some(action) = action {
        let _ = write!(text, "\nWhat to do: {action}\n");
    }
    commands.iter().for_each(|command| _ = writeln!(text, "  {command}"));
    if !causes.is_empty() {
        text.push_str("\nCauses that the message can prove:\n");
    }
    for Explained { word, meaning, action, .. } in causes {
        let _ = write!(text, "\n{word}\n  {meaning}\n  {}\n", action.unwrap_or_default());
    }
    text
}
