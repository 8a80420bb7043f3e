//! `stackflux install`.

use clap::builder::NonEmptyStringValueParser;

use super::error::CliError;
use super::{CommandResult, Outcome, terminal};
use crate::installation::{self, FLUX_NAMESPACE, IMAGE};
use crate::names::Namespace;
use crate::plan::canonical;

/// Print the manifests that install the operator, at the version of this program
///
/// They are those of flux/base, or for another namespace than flux-system those of flux/own-namespace: the definitions,
/// the roles, the Deployment and its Services. Flux and Cluster API must be installed.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  # Install with an image in your registry
  stackflux install --export --image registry.example.org/stackflux |
    kubectl apply --server-side --force-conflicts -f -
  # Keep the manifests in the Git repository that Flux follows
  stackflux install --export --image registry.example.org/stackflux > stackflux.yaml")]
pub(super) struct Arguments {
    /// Print the manifests; without it, the command fails, because it applies nothing itself
    #[arg(long)]
    export: bool,

    /// Image of the operator; without a tag or digest, it gets the version of this program as its tag
    #[arg(long, value_name = "IMAGE", default_value = IMAGE, value_parser = NonEmptyStringValueParser::new())]
    image: String,

    /// Namespace of the operator; another one than flux-system is created, with access to Flux
    #[arg(short, long, value_name = "NAMESPACE", default_value = FLUX_NAMESPACE)]
    namespace: Namespace,
}

pub(super) fn run(arguments: &Arguments) -> CommandResult {
    if !arguments.export {
        let hint =
            "stackflux install --export --image=IMAGE | kubectl apply --server-side --force-conflicts -f -";
        return Err(CliError::usage("install applies nothing itself: add --export").hint(hint));
    }
    let objects = installation::objects(arguments.namespace.as_str(), &arguments.image)?;
    terminal::data(&canonical::documents(objects.iter()))?;
    Ok(Outcome::Done)
}
