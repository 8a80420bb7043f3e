//! A chain as sentences: the answer first, then how it was found.

use std::fmt::Write as _;

use jiff::Timestamp;

use super::age;
use crate::cli::prose::Prose;
use crate::cli::terminal::{BOLD, GREEN, RED, YELLOW};
use crate::explain::chain::{Chain, Innermost, OtherCause};
use crate::explain::step::Step;
use crate::release::finding::{Printable, listed};
use crate::rollup::ConditionStatus;

/// Minimum length of a message that is printed only once, in bytes: shorter ones say little, and can be part of another word.
const LEAST_REPEATED: usize = 16;
/// Maximum number of other causes that are listed.
const MAX_OTHERS: usize = 5;
/// What stands in place of a message that was printed before.
const SEE_ABOVE: &str = "as above";

/// Formats the answer with colours: what is not ready, since when, and what to do. Sentences are wrapped to a width.
pub(in crate::cli) fn answer(chain: &Chain, now: Timestamp, width: Option<u16>) -> String {
    let mut prose = Prose::new(width);
    add_answer(&mut prose, chain, now);
    prose.into_text()
}

fn add_answer(prose: &mut Prose, chain: &Chain, now: Timestamp) {
    if chain.ready {
        return prose.line(&format!("{BOLD}{} is ready.{BOLD:#}", chain.about));
    }
    let since = chain.since.map(|since| format!(" since {since:.0} ({})", age(Some(since), now)));
    let mut text = format!("{BOLD}{} is not ready{BOLD:#}{}", chain.about, since.unwrap_or_default());
    if let Some(Innermost { what, reason, message }) = &chain.cause {
        let what = if chain.about == *what { String::new() } else { format!("{what}: ") };
        let said = if message.is_empty() { reason } else { message };
        let _ = write!(text, ": {what}{}", Printable(said));
    }
    prose.line(&text);
    if let Some(action) = &chain.action {
        let explain = action.cause.map(|cause| format!(" (stackflux explain {cause})")).unwrap_or_default();
        prose.line(&format!("{BOLD}What to do:{BOLD:#} {}{explain}", action.text));
        action.commands.iter().for_each(|command| prose.command(command));
    }
    if !chain.also.is_empty() {
        let text = format!("Also not ready, with the same message: {}", listed(&chain.also, MAX_OTHERS));
        prose.line(&Printable(&text).to_string());
    }
    add_others(prose, &chain.others);
}

/// Adds the causes that the advice is not about, each as the command that explains it.
fn add_others(prose: &mut Prose, others: &[OtherCause]) {
    if others.is_empty() {
        return;
    }
    prose.line("Not ready for other causes:");
    for OtherCause { what, reason, command } in others.iter().take(MAX_OTHERS) {
        prose.command(&format!("{command}  # {}: {}", Printable(what), Printable(reason)));
    }
    if others.len() > MAX_OTHERS {
        prose.line(&format!("  and {} more", others.len() - MAX_OTHERS));
    }
}

/// Formats the answer and the chain with colours; without `verbose`, what is true is in one line.
pub(in crate::cli) fn text(chain: &Chain, now: Timestamp, verbose: bool, width: Option<u16>) -> String {
    let mut prose = Prose::new(width);
    add_answer(&mut prose, chain, now);
    prose.gap();
    let mut said: Vec<&str> = chain.cause.iter().map(|cause| cause.message.as_str()).collect();
    let is_shown = |step: &&Step| verbose || (!step.is_true() && !step.is_unchecked);
    for step in chain.steps.iter().filter(is_shown) {
        prose.line(&line(step, &said));
        said.push(&step.message);
    }
    if verbose {
        return prose.into_text();
    }
    let names = |is_it: &dyn Fn(&&Step) -> bool| {
        let found = chain.steps.iter().filter(is_it).map(|step| step.what.as_str());
        found.collect::<Vec<_>>().join(", ")
    };
    for (style, glyph, begin, names) in [
        (YELLOW, '◎', "not checked because of this: ", names(&|step| step.is_unchecked)),
        (GREEN, '✔', "", names(&|step| step.is_true())),
    ] {
        if !names.is_empty() {
            prose.line(&format!("{style}{glyph}{style:#} {begin}{names}"));
        }
    }
    prose.into_text()
}

/// Formats a step in one line.
fn line(step: &Step, said: &[&str]) -> String {
    let (style, glyph, is) = match step.status {
        ConditionStatus::True => (GREEN, '✔', "is true"),
        ConditionStatus::False => (RED, '✗', "is false"),
        ConditionStatus::Unknown => (YELLOW, '◎', "is not known yet"),
    };
    let Step { depth, what, reason, .. } = step;
    let message = unsaid(&step.message, said);
    let colon = if message.is_empty() { "" } else { ": " };
    let indent = "  ".repeat(*depth);
    let subject =
        if what.contains(' ') { format!("{what}: {reason}") } else { format!("{what} {is} ({reason})") };
    format!("{indent}{style}{glyph}{style:#} {subject}{colon}{}", Printable(&message))
}

/// Returns what a message says that was not said before: nothing if an earlier one has all of it.
fn unsaid(message: &str, said: &[&str]) -> String {
    let is_long = |text: &&&str| text.len() >= LEAST_REPEATED;
    if message.len() >= LEAST_REPEATED && said.iter().any(|earlier| earlier.contains(message)) {
        return String::new();
    }
    let repeated = said.iter().filter(is_long);
    repeated.fold(message.to_owned(), |message, earlier| message.replace(*earlier, SEE_ABOVE))
}
