//! Counts verdicts and keeps the differences.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::Path;

use super::case::{Answer, Case, Verdict};

/// Maximum number of differences that are kept with their text; all are counted.
const KEPT: usize = 2_000;
/// Maximum number of differences that are printed; the others are in a file.
const PRINTED: usize = 10;

/// Verdicts by kind, and the differences.
#[derive(Default)]
pub(crate) struct Tally {
    verdicts: BTreeMap<Verdict, u64>,
    differences: Vec<String>,
}

impl Tally {
    /// Asks the engine and compares its answer.
    pub(crate) fn add(&mut self, case: &Case) {
        let answer = Answer::of(&case.template, &case.data);
        let verdict = case.judge(&answer);
        *self.verdicts.entry(verdict).or_default() += 1;
        if verdict == Verdict::Differs && self.differences.len() < KEPT {
            self.differences.push(format!("{case}\n  engine   {answer}\n"));
        }
    }

    /// Adds the counts of another tally.
    pub(crate) fn join(&mut self, other: Self) {
        for (verdict, count) in other.verdicts {
            *self.verdicts.entry(verdict).or_default() += count;
        }
        self.differences.extend(other.differences);
        self.differences.truncate(KEPT);
    }

    /// Returns the number of cases.
    pub(crate) fn total(&self) -> u64 {
        self.verdicts.values().sum()
    }

    /// Formats one line: the number of cases, and of each verdict.
    pub(crate) fn counts(&self) -> String {
        let mut text = format!("{:7} cases", self.total());
        for (verdict, count) in &self.verdicts {
            write!(text, ", {count} {verdict:?}").expect("a String takes everything");
        }
        text
    }

    /// Fails when there is a difference. All of them are in a file below the target directory.
    pub(crate) fn expect_none(mut self, name: &str) {
        let Some(count) = self.verdicts.get(&Verdict::Differs) else { return };
        self.differences.sort();
        let report = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("differences-{name}.txt"));
        fs::write(&report, self.differences.concat()).expect("a file below the target directory");
        for difference in self.differences.iter().take(PRINTED) {
            println!("{difference}");
        }
        panic!("{count} of {} {name} cases differ from Go, see {}", self.total(), report.display());
    }
}
