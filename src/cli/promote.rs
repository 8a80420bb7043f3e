//! `stackflux promote`.

mod lift;
mod soak_check;

use std::path::PathBuf;

use clap::ValueEnum;

use super::error::CliError;
use super::stages::inputs::Inputs;
use super::stages::propose::{Change, Delivery};
use super::stages::{Repository, RepositoryArguments, StageFailure, releases, side};
use super::{CommandResult, Outcome, terminal};
use crate::compare::Side;
use crate::forge::MAX_BODY_BYTES;
use crate::git::{Edit, Message, Snapshot, TreeId};
use crate::names::ReleaseName;
use crate::promote::compare::{self, EffectError};
use crate::promote::refusal::Refusal;
use crate::promote::report::{self, Promotion, Soak};
use crate::promote::stages::Stage;
use crate::promote::trailers;

/// Promote a release from one stage to the next, after showing what changes
///
/// Shows what changes in the target stage: which ClusterStacks offer the release, and for each Cluster, as if its
/// class were set to the release's, which objects are added, changed and removed, which values change, and which
/// charts and CRDs change, with their versions. With --push or --pull-request, stackflux then copies the release from
/// the source stage, byte for byte, in one commit. stackflux.yaml in the stack repository defines the stages.
///
/// Refused if the clusters of the source stage have not been Ready with this content for the time that stackflux.yaml
/// requires, or if the release was rolled back from the target stage. All clusters of the source stage are queried;
/// use --context to select the management cluster. With --namespace or --selector only some of them are queried, and
/// the commit says so.
///
/// Exits with 0 if the release was promoted or nothing had to be done, with 1 if the changes were only shown or the
/// clusters have not completed the soak, and with 2 on errors, such as a release that is held or has different
/// content in the target stage.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  # Show what would change in prod; the context stage is the management cluster of stage
  stackflux promote openstack-scs-1-32-v2 --to prod --context stage
  # The same for the current Clusters of prod
  kubectl --context prod get clusterstacks,clusters,openstackclusters -A -o yaml |
    stackflux promote openstack-scs-1-32-v2 --to prod --context stage --filename -
  # Open the pull request, or find the one that is open
  stackflux promote openstack-scs-1-32-v2 --from stage --to prod --context stage --pull-request
  # Commit to the branch of the stage, without querying clusters
  stackflux promote openstack-scs-1-32-v2 --to stage --offline --push")]
pub(super) struct Arguments {
    /// Release to promote
    release: ReleaseName,
    /// Stage to promote from (default: the stage before --to)
    #[arg(long, value_name = "STAGE")]
    from: Option<String>,
    /// Stage to promote to
    #[arg(long, value_name = "STAGE")]
    to: String,
    /// More Clusters, ClusterStacks and objects of --to: files, directories, or - for stdin
    ///
    /// stackflux reads them in addition to the inputs of the stage in stackflux.yaml. If both contain an object, it
    /// uses the one given here.
    #[arg(short, long, value_name = "FILE")]
    filename: Vec<PathBuf>,
    /// Do not query the clusters of the source stage; the commit says so
    #[arg(long, conflicts_with_all = ["kubeconfig", "context", "namespace", "all_namespaces", "selector"])]
    offline: bool,
    /// Promote the release although it was rolled back from the stage, and remove its hold
    #[arg(long)]
    lift_hold: bool,
    /// Output format
    #[arg(short, long, value_enum, value_name = "FORMAT", default_value = "text")]
    output: Format,
    #[command(flatten)]
    pub(super) delivery: Delivery,
    #[command(flatten)]
    repository: RepositoryArguments,
    #[command(flatten, next_help_heading = "Clusters of the source stage")]
    asked: soak_check::ClusterQuery,
}

/// The output format of the changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Format {
    /// For people
    Text,
    /// For a pull request
    Markdown,
    /// For programs
    Json,
}

/// A promotion: the release, and the stages from and to which it is promoted.
struct Step<'a> {
    repository: &'a Repository,
    release: &'a ReleaseName,
    from: &'a Stage,
    to: &'a Stage,
    lift_hold: bool,
    /// The content of the source stage.
    tree: TreeId,
}

pub(super) fn run(arguments: &Arguments) -> CommandResult {
    let repository = arguments.repository.open()?;
    let step = repository.stages.step(arguments.from.as_deref(), &arguments.to)?;
    let promote = || Step::new(&repository, &arguments.release, step, arguments.lift_hold);
    let (step, commit, content) = promote().map_err(|failure| failure.explained())?;
    let (_, target) = repository.tip(step.to).map_err(|failure| failure.explained())?;
    if step.is_there(&target).map_err(|failure| failure.explained())? {
        return lift::already_present(&step, arguments, &target);
    }
    // Report refusals before querying clusters.
    step.edit(&target).map_err(|failure| failure.explained())?;
    let soak = soak_check::soak(&step, arguments, &content.release.digest.to_string(), &repository)?;
    let promotion = promotion(&step, arguments, &content, commit, (soak, &target))?;
    show(&promotion, arguments.output)?;
    if let Soak::Missing(_) = promotion.soak {
        let from = &promotion.from;
        terminal::problem(format!(
            "refused: the clusters of {from} have not completed the soak of {}",
            promotion.release
        ));
        return Ok(Outcome::Differs);
    }
    if !arguments.delivery.is_wanted() {
        terminal::note("nothing was written; --push commits the change, --pull-request proposes it");
        return Ok(Outcome::Differs);
    }
    let change = Change {
        branch: repository.branch_of(step.to),
        what: format!("promote-{}-to-{}", step.release, step.to.name),
        message: message(&promotion),
        text: report::document(&promotion),
    };
    arguments.delivery.deliver(&repository, &change, |snapshot| step.edit(snapshot))?;
    Ok(Outcome::Done)
}

fn show(promotion: &Promotion, format: Format) -> Result<(), CliError> {
    let document = report::document(promotion);
    Ok(terminal::data(&match format {
        Format::Text => document.to_plain(),
        Format::Markdown => document.to_markdown(MAX_BODY_BYTES),
        Format::Json => serde_json::to_string_pretty(promotion)? + "\n",
    })?)
}

impl<'a> Step<'a> {
    /// Returns the step, the tip commit of the source stage, and the content of the release there.
    fn new(
        repository: &'a Repository,
        release: &'a ReleaseName,
        (from, to): (&'a Stage, &'a Stage),
        lift_hold: bool,
    ) -> Result<(Self, String, Side), StageFailure> {
        let (commit, source) = repository.tip(from)?;
        let tree = source.tree_id(&from.release_path(release))?;
        let Some(tree) = tree else {
            return Err(Refusal::not_there(from, release, &releases(&source, from)?).into());
        };
        let content = side(&source, from, release)?;
        Ok((Self { repository, release, from, to, lift_hold, tree }, commit.to_string(), content))
    }

    /// Whether the target stage already has the content. Refused if it has different content under this name.
    fn is_there(&self, target: &Snapshot) -> Result<bool, StageFailure> {
        match target.tree_id(&self.to.release_path(self.release))? {
            Some(tree) if tree == self.tree => Ok(true),
            Some(_) => {
                let (stage, release) = (self.to.name.clone(), self.release.to_string());
                Err(Refusal::OtherContent { stage, release }.into())
            }
            None => Ok(false),
        }
    }

    /// Returns the change on the branch of the target stage; `None` if it already has the content.
    fn edit(&self, target: &Snapshot) -> Result<Option<Edit>, StageFailure> {
        if self.is_there(target)? {
            return Ok(None);
        }
        let (stage, release) = (self.to.name.clone(), self.release.to_string());
        let holds = self.repository.holds(target)?;
        let mut edit = match (holds.on(self.release, &stage), self.lift_hold) {
            (Some(hold), false) => return Err(Refusal::held(hold).into()),
            (None, true) => return Err(Refusal::NotHeld { stage, release }.into()),
            (None, false) => Edit::default(),
            (Some(_), true) => lift::edit(&holds, self)?,
        };
        edit.copy_directory(self.tree, &self.to.release_path(self.release))?;
        Ok(Some(edit))
    }
}

fn promotion(
    step: &Step,
    arguments: &Arguments,
    content: &Side,
    commit: String,
    (soak, target): (Soak, &Snapshot),
) -> Result<Promotion, CliError> {
    let explained = |failure: StageFailure| failure.explained();
    let present = releases(target, step.to).map_err(explained)?;
    let inputs = Inputs::read(target, step.to, &arguments.filename)?;
    let known = inputs.target(step.repository.place(step.to), &present);
    let effect = compare::effect(&known, content, |name| {
        side(target, step.to, name).map_err(|failure| failure.to_string())
    });
    let effect = effect.map_err(|error| {
        let hint = matches!(error, EffectError::Stack(_)).then_some(
            "pass the missing object with --filename, or add its file to `inputs` in stackflux.yaml",
        );
        CliError::explained(&error, hint)
    })?;
    let held = step.repository.holds(target).map_err(explained)?;
    Ok(Promotion {
        release: step.release.to_string(),
        kubernetes: content.release.kubernetes.to_string(),
        digest: content.release.digest.to_string(),
        from: step.from.name.clone(),
        commit,
        to: step.to.name.clone(),
        soak,
        lifts_hold: held.on(step.release, &step.to.name).map(|hold| hold.reason.clone()),
        effect,
    })
}

fn message(promotion: &Promotion) -> Message {
    let Promotion { release, digest, from, commit, to, soak, lifts_hold, .. } = promotion;
    let message = Message::new(format!("Promote {release} from {from} to {to}"))
        .trailer(trailers::PROMOTE, release)
        .trailer(trailers::FROM, &format!("{from}@{commit}"))
        .trailer(trailers::STAGE, to)
        .trailer(trailers::CONTENT_DIGEST, digest)
        .trailer(trailers::SOAK, &soak.sentence());
    let message = match lifts_hold {
        Some(reason) => message.trailer(trailers::LIFTED_HOLD, reason),
        None => message,
    };
    message.trailer(trailers::VERSION, env!("CARGO_PKG_VERSION"))
}
