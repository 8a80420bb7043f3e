//! `stackflux inputs`.

pub(super) mod stream;

use clap::Subcommand;

use super::CommandResult;
use super::error::CliError;
use super::live::present::read;
use super::live::subject::ClusterStackArgument;
use super::live::{Connection, Scope, block_on};
use super::{Outcome, terminal};
use crate::operator::settings::DefaultFlags;

/// Print the inputs that the operator plans from
///
/// With these inputs, `stackflux generate --inputs` generates the same objects elsewhere.
#[derive(Debug, Subcommand)]
#[command(after_help = "Examples:
  # Print the inputs of ClusterStack demo, and generate the plan from them
  stackflux inputs export demo -n stacks > inputs.yaml
  stackflux generate stacks/ --inputs inputs.yaml")]
pub(super) enum Command {
    Export(Box<Export>),
}

/// Print the inputs that the operator plans a ClusterStack from
///
/// Prints one stream of YAML documents: the ClusterStack with the operator's defaults, its releases with their pins,
/// the existing sources and charts, and the Clusters of its classes with the objects that they refer to. Secrets are
/// not read.
///
/// From this stream and a work tree of the stack repository, `stackflux generate --inputs` generates the objects that
/// the operator writes, byte for byte. Clusters of other classes are listed without the objects that they refer to,
/// so that their files are kept.
#[derive(Debug, clap::Args)]
#[command(
    override_usage = "stackflux inputs export [OPTIONS] [csk/]NAME",
    after_help = "Examples:
  # Write a file for a pipeline that cannot reach the management cluster
  stackflux inputs export demo -n stacks > inputs.yaml
  # Show what the operator would write; stacks/ is a work tree of the stack repository
  stackflux inputs export demo -n stacks | stackflux generate stacks/ --inputs -"
)]
pub(super) struct Export {
    #[command(flatten)]
    stack: ClusterStackArgument,
    #[command(flatten)]
    connection: Connection,
    #[command(flatten, next_help_heading = "Settings of the operator, if it runs with them")]
    defaults: DefaultFlags,
}

pub(super) fn run(command: &Command) -> CommandResult {
    let Command::Export(arguments) = command;
    export(arguments)
}

fn export(arguments: &Export) -> CommandResult {
    let defaults = arguments.defaults.clone().defaults()?;
    let subject = arguments.stack.subject()?;
    let (mut present, key) = block_on(async {
        let session = arguments.connection.open().await?;
        let key = arguments.connection.key(&session, &subject)?;
        // The Clusters of a ClusterStack can be in any namespace.
        let present = read(&session, &Scope { namespace: None, selector: None }).await?;
        Ok((present, key))
    })?;
    if !present.stacks.contains_key(&key) {
        return Err(CliError::usage(format!("ClusterStack {key} not found"))
            .hint("stackflux status --all-namespaces lists the ClusterStacks"));
    }
    if let Some(stack) = present.stacks.get(&key) {
        defaults.check(stack, &present.flux)?;
    }
    stream::restrict_to(&mut present, &key, &defaults);
    terminal::data(&stream::write(&present)?)?;
    Ok(Outcome::Done)
}
