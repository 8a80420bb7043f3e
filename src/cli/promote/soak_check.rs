//! Queries the clusters of the source stage for how long they have been ready with the content.

use jiff::SignedDuration;

use super::{Arguments, Step};
use crate::api::ClusterStackRelease;
use crate::cli::error::CliError;
use crate::cli::live::read::read;
use crate::cli::live::{Access, Scope, block_on};
use crate::cli::stages::Repository;
use crate::cli::terminal;
use crate::explain::snapshot::Snapshot;
use crate::promote::follow::{Mismatch, StageTarget, mismatch};
use crate::promote::report::Soak;
use crate::promote::soak::{self, Member, Requirement, Selection};
use crate::subscription;

/// Which clusters are asked, and how they are reached.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct ClusterQuery {
    #[command(flatten)]
    access: Access,
    /// Query only Clusters in this namespace (default: all namespaces); the commit says so
    #[arg(short, long, value_name = "NAMESPACE")]
    namespace: Option<String>,
    /// Query Clusters in all namespaces (the default)
    #[arg(short = 'A', long, conflicts_with = "namespace")]
    all_namespaces: bool,
    /// Query only Clusters with these labels, such as `wave=1,region!=west`; the commit says so
    #[arg(short = 'l', long, value_name = "LABELS")]
    selector: Option<String>,
}

impl ClusterQuery {
    fn only(&self) -> Selection {
        let namespace = self.namespace.clone().filter(|_| !self.all_namespaces);
        Selection { namespace, selector: self.selector.clone() }
    }

    /// Reads the Clusters of the selection.
    async fn read(&self) -> Result<(Snapshot, Vec<String>), CliError> {
        let Selection { namespace, selector } = self.only();
        let session = self.access.open(namespace.clone()).await?;
        read(&session, &Scope { namespace, selector }).await
    }
}

/// Checks the soak. Queries no cluster if the stage requires no soak, or with `--offline`.
pub(super) fn soak(
    step: &Step,
    arguments: &Arguments,
    digest: &str,
    repository: &Repository,
) -> Result<Soak, CliError> {
    let Some(required) = step.to.required_soak() else { return Ok(Soak::NotRequired) };
    if arguments.offline {
        return Ok(Soak::NotQueried);
    }
    let (snapshot, notices) = block_on(arguments.asked.read()).map_err(|error| CliError {
        hint: Some(error.hint.unwrap_or_else(|| {
            format!(
                "select the management cluster of {} with --context, or use --offline to promote without it",
                step.from.name
            )
        })),
        ..error
    })?;
    for notice in notices {
        terminal::warning(notice);
    }
    Ok(check(step, &snapshot, repository, (digest, required, &arguments.asked.only())))
}

fn check(
    step: &Step,
    snapshot: &Snapshot,
    repository: &Repository,
    (digest, required, only): (&str, SignedDuration, &Selection),
) -> Soak {
    let (namespaces, others) = stacks(step, snapshot, &repository.place(step.from));
    let releases = namespaces.iter().filter_map(|namespace| snapshot.release(namespace, step.release));
    let releases: Vec<&ClusterStackRelease> = releases.collect();
    let members = snapshot.members().filter_map(|(cluster, addon)| {
        let (namespace, release) = cluster.release()?;
        let is_of_stack = release.prefix() == step.release.prefix() && release.same_line(step.release);
        (is_of_stack && namespaces.contains(&namespace.as_str())).then_some(Member { cluster, addon })
    });
    let requirement = Requirement {
        stage: &step.from.name,
        release: step.release,
        digest,
        required,
        now: snapshot.now(),
        only,
    };
    match soak::check(&requirement, (&releases, &others), &members.collect::<Vec<_>>()) {
        Ok(result) => Soak::Complete(result),
        Err(refusal) => Soak::Missing(refusal.problems),
    }
}

/// Returns the namespaces of the ClusterStacks that follow the stage; and for each ClusterStack of the release's stack,
/// a sentence on whether it follows the stage.
fn stacks<'a>(step: &Step, snapshot: &'a Snapshot, place: &StageTarget) -> (Vec<&'a str>, Vec<String>) {
    let known = |namespace: &str, name: &str| snapshot.followed(namespace, name);
    let (mut namespaces, mut others) = (Vec::new(), Vec::new());
    for stack in snapshot.stacks().filter(|stack| subscription::is_of(&stack.spec, step.release)) {
        let namespace = stack.metadata.namespace.as_deref().unwrap_or_default();
        let called =
            format!("ClusterStack {namespace}/{}", stack.metadata.name.as_deref().unwrap_or_default());
        let why = mismatch(stack, place, known);
        if let Some(why @ Mismatch::Unknown { .. }) = &why {
            terminal::warning(format!("{called} is not queried: {why}"));
        }
        match why {
            None => {
                namespaces.push(namespace);
                others.push(format!("{called} follows {}, but does not have the release", step.from.name));
            }
            Some(why) => others.push(format!("{called} does not count: {why}")),
        }
    }
    (namespaces, others)
}
