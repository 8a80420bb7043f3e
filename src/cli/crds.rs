//! `stackflux crds`.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::error::CliError;
use super::{CommandResult, Outcome, output, terminal};
use crate::api;
use crate::foreign::capi::text;
use crate::plan::canonical;

/// Print the custom resource definitions of the kinds that stackflux owns
///
/// These are the kinds of the group clusterstack.x-k8s.io, with their validation rules. One version of stackflux prints
/// the same on every machine.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  # Apply them to the current cluster
  stackflux crds | kubectl apply --server-side -f -
  # Write one file per kind, to keep in a Git repository
  stackflux crds --output-dir crds/")]
pub(super) struct Arguments {
    /// Write one file per definition to this directory instead of printing them
    ///
    /// Each file is named after its resource, such as clusterstacks.yaml.
    #[arg(long, value_name = "DIRECTORY")]
    output_dir: Option<PathBuf>,
}

pub(super) fn run(arguments: &Arguments) -> CommandResult {
    let definitions: Vec<Value> =
        api::custom_resource_definitions().iter().map(serde_json::to_value).collect::<Result<_, _>>()?;
    match &arguments.output_dir {
        Some(directory) => write(&definitions, directory)?,
        None => terminal::data(&canonical::documents(definitions.iter()))?,
    }
    Ok(Outcome::Done)
}

fn write(definitions: &[Value], directory: &Path) -> Result<(), CliError> {
    fs::create_dir_all(directory).map_err(|error| CliError::io(directory, error))?;
    for definition in definitions {
        let file = directory.join(format!("{}.yaml", text(definition, &["spec", "names", "plural"])));
        fs::write(&file, canonical::to_yaml(definition)).map_err(|error| CliError::io(&file, error))?;
    }
    let written = output::count(definitions.len(), "definition");
    terminal::success(format!("{}: {written} written", directory.display()));
    Ok(())
}
