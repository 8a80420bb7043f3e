//! The shared part of `status` and `tree`, which show a cluster once or repeatedly.

use super::read::read;
use super::subject::Subject;
use super::text::operator_down;
use super::watch::{Rendered, Watch};
use super::{Look, block_on};
use crate::cli::CommandResult;
use crate::cli::error::CliError;
use crate::cli::output::ListOutput;
use crate::explain::snapshot::Snapshot;

/// The objects to show, the refresh interval, and the output format.
#[derive(Clone, Debug, clap::Args)]
pub(in crate::cli) struct View {
    #[command(flatten)]
    look: Look,
    #[command(flatten)]
    watch: Watch,
    #[command(flatten)]
    output: ListOutput,
}

impl View {
    /// Shows what `see` returns for the cluster. If anything could not be read, or no Cluster was selected, the cluster
    /// does not count as ready, and the notices of `see` are dropped: objects that they report as missing may exist. Nor does it if
    /// an operator is down: what its objects say is old.
    pub(in crate::cli) fn run(
        &self,
        subjects: &[Subject],
        see: impl Fn(&Snapshot, &ListOutput) -> Result<Rendered, CliError>,
    ) -> CommandResult {
        block_on(async {
            let (session, scope) = self.look.open_for(subjects).await?;
            let look = async || {
                let (snapshot, notices) = read(&session, &scope).await?;
                let rendered = see(&snapshot, &self.output)?;
                let rendered = match (notices.is_empty(), snapshot.nothing_selected()) {
                    (true, None) => rendered,
                    (true, Some(nothing)) => Rendered { notices: vec![nothing], ready: false, ..rendered },
                    (false, _) => Rendered { notices, ready: false, missing: Vec::new(), ..rendered },
                };
                Ok::<_, CliError>(with_operators(rendered, &snapshot))
            };
            self.watch.run(&self.output, look).await
        })
    }
}

/// Adds the operators that are down: what their objects say is old, and nothing of it counts as ready.
fn with_operators(mut rendered: Rendered, snapshot: &Snapshot) -> Rendered {
    rendered.ready &= snapshot.operators_down.is_empty();
    rendered.notices.extend(snapshot.operators_down.iter().map(|down| operator_down(down, snapshot.now())));
    rendered
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::explain::operator::OperatorLease;
    use crate::explain::snapshot::Lists;
    use crate::names::Key;

    #[test]
    fn operator_that_is_down_leaves_nothing_ready() {
        let shown = |now: &str| {
            let key = Key::new("flux-system", "stackflux-leader-election");
            let operators = vec![OperatorLease {
                key,
                renewed: "2026-11-21T09:00:00Z".parse().unwrap(),
                holder: "a".to_owned(),
                acquired: None,
            }];
            let snapshot = Snapshot::new(Lists { operators, ..Lists::default() }, None, now.parse().unwrap());
            let rendered =
                Rendered { text: String::new(), notices: Vec::new(), missing: Vec::new(), ready: true };
            let Rendered { ready, notices, .. } = with_operators(rendered, &snapshot);
            (ready, notices.join(" "))
        };
        assert_eq!(shown("2026-11-21T09:00:30Z"), (true, String::new()));
        let (ready, notices) = shown("2026-11-21T12:00:00Z");
        assert!(!ready && notices.contains("last renewed 3h ago, at 2026-11-21T09:00:00Z"), "{notices}");
    }
}
