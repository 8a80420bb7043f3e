//! The shared part of `status` and `tree`, which show a cluster once or repeatedly.

use super::read::read;
use super::snapshot::Snapshot;
use super::watch::{Rendered, Watch};
use super::{Look, block_on};
use crate::cli::CommandResult;
use crate::cli::error::CliError;
use crate::cli::output::Format;

/// The objects to show, the refresh interval, and the output format.
#[derive(Clone, Debug, clap::Args)]
pub(in crate::cli) struct View {
    #[command(flatten)]
    look: Look,
    #[command(flatten)]
    watch: Watch,
    /// Output format
    #[arg(short, long, value_name = "FORMAT", default_value = "table")]
    output: Format,
}

impl View {
    /// Shows what `see` returns for the cluster. If anything could not be read, or no Cluster was selected, the cluster
    /// does not count as ready, and the notices of `see` are dropped: objects that they report as missing may exist.
    pub(in crate::cli) fn run(
        &self,
        see: impl Fn(&Snapshot, Format) -> Result<Rendered, CliError>,
    ) -> CommandResult {
        block_on(async {
            let (session, scope) = self.look.open().await?;
            let look = async || {
                let (snapshot, notices) = read(&session, &scope).await?;
                let rendered = see(&snapshot, self.output)?;
                Ok::<_, CliError>(match (notices.is_empty(), snapshot.nothing_selected()) {
                    (true, None) => rendered,
                    (true, Some(nothing)) => Rendered { notices: vec![nothing], ready: false, ..rendered },
                    (false, _) => Rendered { notices, ready: false, ..rendered },
                })
            };
            self.watch.run(look).await
        })
    }
}
