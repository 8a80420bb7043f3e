//! The checks as lines: what is so, and what to run.

use crate::cli::output::count;
use crate::cli::prose::Prose;
use crate::cli::terminal::{BOLD, GREEN, RED, YELLOW};
use crate::explain::doctor::Diagnosis;
use crate::explain::doctor::check::{Check, Outcome};
use crate::release::finding::Printable;

/// Formats all checks with colours, and their number. Sentences are wrapped to a width.
pub(super) fn text(diagnosis: &Diagnosis, width: Option<u16>) -> String {
    let mut prose = Prose::new(width);
    for Check { check, outcome, message, run, then, .. } in &diagnosis.checks {
        let (style, glyph, not) = match outcome {
            Outcome::Ok => (GREEN, '✔', ""),
            Outcome::Warning => (YELLOW, '!', ""),
            Outcome::Problem => (RED, '✗', ""),
            Outcome::NotChecked => (YELLOW, '◎', "not checked: "),
        };
        prose.line(&format!("{style}{glyph}{style:#} {check}: {not}{}", Printable(message)));
        if let Some(run) = run {
            prose.command(&Printable(run).to_string());
        }
        if let Some(then) = then {
            prose.line(&format!("  {}", Printable(then)));
        }
    }
    prose.gap();
    let Diagnosis { problems, warnings, not_checked, .. } = diagnosis;
    let numbers =
        [count(*problems, "problem"), count(*warnings, "warning"), format!("{not_checked} not checked")];
    prose.line(&format!("{BOLD}{}{BOLD:#}", numbers.join(", ")));
    prose.into_text()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn problem_has_what_to_run_below_it() {
        let checks = vec![
            Check::ok("Kubernetes", "v1.34.2"),
            Check::warning("RuntimeSDK", "off", "kubectl edit a").then("Set a flag."),
            Check::problem("Flux", "is missing", "flux install"),
            Check::unknown("Leader", "you may not list leases", "kubectl auth can-i list leases"),
        ];
        let diagnosis = Diagnosis { problems: 1, warnings: 1, not_checked: 1, checks };
        let expected = "\
            ✔ Kubernetes: v1.34.2\n\
            ! RuntimeSDK: off\n  kubectl edit a\n  Set a flag.\n\
            ✗ Flux: is missing\n  flux install\n\
            ◎ Leader: not checked: you may not list leases\n  kubectl auth can-i list leases\n\
            \n1 problem, 1 warning, 1 not checked\n";
        assert_eq!(anstream::adapter::strip_str(&text(&diagnosis, None)).to_string(), expected);
    }
}
