//! `stackflux completion`.

use clap::CommandFactory as _;
use clap_complete::Shell;

use super::{Cli, CommandResult, Outcome, terminal};

/// Print the completion script for a shell.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  # Complete stackflux in this shell
  source <(stackflux completion bash)
  # And in every zsh
  stackflux completion zsh > \"${fpath[1]}/_stackflux\"")]
pub(super) struct Arguments {
    /// Shell to print the script for
    shell: Shell,
}

pub(super) fn run(arguments: &Arguments) -> CommandResult {
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut Cli::command(), "stackflux", &mut script);
    terminal::data(&String::from_utf8_lossy(&script))?;
    Ok(Outcome::Done)
}
