//! Lifts the hold on a release.

use super::{Arguments, Step};
use crate::cli::stages::StageFailure;
use crate::cli::stages::propose::Change;
use crate::cli::{CommandResult, Outcome, terminal};
use crate::git::{Edit, Message, Snapshot};
use crate::promote::document::{Block, Document, Line};
use crate::promote::holds::{self, Hold, Holds};
use crate::promote::refusal::Refusal;
use crate::promote::trailers;
use crate::release::File;

/// Handles a release that the target stage already has: the only possible change is to lift a hold, if requested.
pub(super) fn already_present(step: &Step, arguments: &Arguments, target: &Snapshot) -> CommandResult {
    let (stage, release) = (&step.to.name, step.release);
    terminal::success(format!("stage {stage} has {release} with this content"));
    let holds = step.repository.holds(target).map_err(|failure: StageFailure| failure.explained())?;
    let Some(hold) = holds.on(release, stage) else { return Ok(Outcome::Done) };
    if !step.lift_hold {
        let refusal = Refusal::held(hold);
        terminal::warning(format!(
            "{refusal}; the stage still has the release, and --lift-hold removes the hold"
        ));
        return Ok(Outcome::Done);
    }
    if !arguments.delivery.is_wanted() {
        terminal::note("nothing was written; --push lifts the hold, --pull-request proposes it");
        return Ok(Outcome::Differs);
    }
    let change = Change {
        branch: step.repository.branch_of(step.to),
        what: format!("lift-hold-on-{release}-in-{stage}"),
        message: message(hold),
        text: document(hold),
    };
    arguments.delivery.deliver(step.repository, &change, |snapshot| {
        let holds = step.repository.holds(snapshot)?;
        holds.on(release, stage).map(|_| edit(&holds, step)).transpose()
    })?;
    Ok(Outcome::Done)
}

/// Removes the hold from the file, and the file with the last hold.
pub(super) fn edit(holds: &Holds, step: &Step) -> Result<Edit, StageFailure> {
    let mut edit = Edit::default();
    match holds.without(step.release, &step.to.name).to_yaml() {
        Some(text) => {
            edit.write(holds::FILE, File { content: text.into_bytes(), executable: false })?;
        }
        None => edit.remove(holds::FILE)?,
    }
    Ok(edit)
}

fn message(hold: &Hold) -> Message {
    Message::new(format!("Lift the hold on {} in {}", hold.release, hold.stage))
        .trailer(trailers::STAGE, &hold.stage)
        .trailer(trailers::LIFTED_HOLD, &hold.reason)
        .trailer(trailers::VERSION, env!("CARGO_PKG_VERSION"))
}

fn document(hold: &Hold) -> Document {
    let title = Line::new("Lift the hold on ").code(&hold.release).words(" in ").code(&hold.stage);
    let facts = vec![
        Line::new("Reason: ").code(&hold.reason),
        Line::new("The stage has the release already: nothing else changes"),
    ];
    Document(vec![Block::Heading(1, title), Block::List(facts)])
}
