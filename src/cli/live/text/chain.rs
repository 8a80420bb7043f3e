//! A chain as sentences: the answer first, then how it was found.

use std::fmt::Write as _;

use jiff::Timestamp;

use super::age;
use crate::cli::terminal::{BOLD, GREEN, RED, YELLOW};
use crate::explain::chain::{Chain, Innermost};
use crate::explain::step::Step;
use crate::release::finding::Printable;
use crate::rollup::ConditionStatus;

/// Minimum length of a message that is printed only once, in bytes: shorter ones say little, and can be part of another word.
const LEAST_REPEATED: usize = 16;
/// What stands in place of a message that was printed before.
const SEE_ABOVE: &str = "as above";

/// Formats the answer with colours: what is not ready, since when, and what to do.
pub(in crate::cli) fn answer(chain: &Chain, now: Timestamp) -> String {
    if chain.ready {
        return format!("{BOLD}{} is ready.{BOLD:#}\n", chain.about);
    }
    let since = chain.since.map(|since| format!(" since {since:.0} ({})", age(Some(since), now)));
    let mut text = format!("{BOLD}{} is not ready{BOLD:#}{}", chain.about, since.unwrap_or_default());
    if let Some(Innermost { what, reason, message }) = &chain.cause {
        let what = if chain.about == *what { String::new() } else { format!("{what}: ") };
        let said = if message.is_empty() { reason } else { message };
        let _ = write!(text, ": {what}{}", Printable(said));
    }
    text.push('\n');
    if let Some(action) = &chain.action {
        let explain = action.cause.map(|cause| format!(" (stackflux explain {cause})")).unwrap_or_default();
        let _ = writeln!(text, "{BOLD}What to do:{BOLD:#} {}{explain}", action.text);
        for command in &action.commands {
            let _ = writeln!(text, "  {command}");
        }
    }
    text
}

/// Formats the answer and the chain with colours; without `verbose`, what is true is in one line.
pub(in crate::cli) fn text(chain: &Chain, now: Timestamp, verbose: bool) -> String {
    let mut text = answer(chain, now);
    text.push('\n');
    let mut said: Vec<&str> = chain.cause.iter().map(|cause| cause.message.as_str()).collect();
    let is_shown = |step: &&Step| verbose || (!step.is_true() && !step.is_unchecked);
    for step in chain.steps.iter().filter(is_shown) {
        text.push_str(&line(step, &said));
        said.push(&step.message);
    }
    if verbose {
        return text;
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
            let _ = writeln!(text, "{style}{glyph}{style:#} {begin}{names}");
        }
    }
    text
}

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
    format!("{indent}{style}{glyph}{style:#} {subject}{colon}{}\n", Printable(&message))
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
