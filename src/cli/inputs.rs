//! `stackflux inputs`.

pub(super) mod stream;

use clap::Subcommand;

use super::CommandResult;
use super::error::CliError;
use super::live::prepared::Defaults;
use super::live::present::read;
use super::live::{Connection, Scope, block_on};
use super::{Outcome, terminal};
use crate::names::ObjectName;
use crate::operator::settings::SourceFlags;

/// Print what plans are made of
///
/// Everything that the operator plans from, so that the same objects can be generated elsewhere.
#[derive(Debug, Subcommand)]
#[command(after_help = "Examples:
  # What the operator plans ClusterStack demo from, and the plan itself
  stackflux inputs export demo -n stacks > inputs.yaml
  stackflux generate stacks/ --inputs inputs.yaml")]
pub(super) enum Command {
    Export(Box<Export>),
}

/// Print what the operator plans a ClusterStack from
///
/// One stream of YAML documents: the ClusterStack with the operator's defaults, its releases with their pins, the sources and
/// charts that are there, and the Clusters of its classes with the objects that they refer to. No Secret is read.
/// `stackflux generate --inputs` makes of it and of a work tree of the stack repository the objects that the operator
/// makes, byte for byte. Clusters of other classes are in it without what they refer to: their files stay.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  # To a file, for a pipeline that cannot reach the management cluster
  stackflux inputs export demo -n stacks > inputs.yaml
  # What would the operator write? The stack repository is the work tree in stacks/
  stackflux inputs export demo -n stacks | stackflux generate stacks/ --inputs -")]
pub(super) struct Export {
    /// The name of the ClusterStack
    #[arg(value_name = "NAME")]
    name: ObjectName,
    #[command(flatten)]
    connection: Connection,
    /// The service account that the operator was told (--default-service-account)
    #[arg(long, value_name = "NAME")]
    default_service_account: Option<ObjectName>,
    /// The default source that the operator was told
    #[command(flatten)]
    source: SourceFlags,
}

pub(super) fn run(command: &Command) -> CommandResult {
    let Command::Export(arguments) = command;
    export(arguments)
}

fn export(arguments: &Export) -> CommandResult {
    let account = arguments.default_service_account.as_ref().map(ToString::to_string);
    let defaults = Defaults { source: arguments.source.clone().source()?, account };
    let (mut present, namespace) = block_on(async {
        let session = arguments.connection.open().await?;
        // The Clusters of a ClusterStack are in any namespace.
        let present = read(&session, &Scope { namespace: None, selector: None }).await?;
        Ok((present, session.namespace.clone()))
    })?;
    let key = (namespace, arguments.name.to_string());
    if !present.stacks.contains_key(&key) {
        return Err(CliError::usage(format!("there is no ClusterStack {}/{}", key.0, key.1))
            .hint("stackflux status --all-namespaces shows which there are"));
    }
    stream::only(&mut present, &key, &defaults);
    terminal::data(&stream::write(&present)?)?;
    Ok(Outcome::Done)
}
