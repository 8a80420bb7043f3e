//! The `.helmignore` of a chart: Helm does not load the files that it names.

use std::collections::BTreeMap;

use crate::release::files::Files;
use crate::release::finding::{Finding, Reason};
use crate::release::ignore::{MAX_PATTERNS, Wildcard};

/// The file with the rules, in the chart's directory.
const FILE: &str = ".helmignore";

/// The rule that Helm adds to those of every chart.
const DEFAULT: &str = "templates/.?*";

/// Maximum length of the file in bytes: each pattern is compared with each file.
const MAX_LENGTH: usize = 64 << 10;

/// The rules of a chart, by Helm's `pkg/ignore/rules.go`.
pub(super) struct Rules {
    in_order: Vec<Rule>,
    /// The file, and its text.
    path: String,
    text: String,
}

struct Rule {
    /// The line, from 1.
    line: u64,
    /// The parts of the pattern between `/`.
    parts: Vec<Wildcard>,
    /// Whether it is compared with the name alone.
    is_name: bool,
    is_negated: bool,
    directories_only: bool,
}

impl Rules {
    /// Reads the rules of the chart in a directory; fails with a finding for rules that Helm refuses.
    pub(super) fn read(files: &Files, chart: &str) -> Result<Self, Box<Finding>> {
        let path = format!("{chart}/{FILE}");
        let content = files.get(&path).map(|file| file.content.as_slice()).unwrap_or_default();
        let exceeded = |limit: &str| {
            let message = format!("the file exceeds the limit of {limit}");
            Box::new(Finding::error(Reason::LimitExceeded, &path, message).hint("use fewer patterns"))
        };
        if content.len() > MAX_LENGTH {
            return Err(exceeded(&format!("{MAX_LENGTH} bytes")));
        }
        let text = String::from_utf8_lossy(content).into_owned();
        let mut rules = Vec::new();
        for (number, line) in (1..).zip(text.trim_start_matches('\u{feff}').lines().chain([DEFAULT])) {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            // The default rule is one more.
            if rules.len() > MAX_PATTERNS {
                return Err(exceeded(&format!("{MAX_PATTERNS} patterns")));
            }
            let Some(rule) = Rule::parse(line, number) else {
                let message = format!("Helm does not accept the pattern {line:?}, and refuses the chart");
                let finding = Finding::error(Reason::InvalidChart, &path, message).at(number, 1, &text);
                return Err(Box::new(finding.hint("use patterns without **, such as *.bak or ci/")));
            };
            rules.push(rule);
        }
        Ok(Self { in_order: rules, path, text })
    }

    /// Returns the paths of the files that Helm leaves out of the chart in a directory, each with the line of the rule for
    /// it, or for a directory above it.
    pub(super) fn left_out(&self, files: &Files, chart: &str) -> BTreeMap<String, u64> {
        let mut directories: BTreeMap<&str, Option<u64>> = BTreeMap::new();
        let mut left_out = BTreeMap::new();
        for (path, _) in files.below(chart) {
            let mut above = path.match_indices('/').filter_map(|(at, _)| path.get(..at));
            let above = above
                .find_map(|entry| *directories.entry(entry).or_insert_with(|| self.rule_for(entry, true)));
            if let Some(line) = above.or_else(|| self.rule_for(path, false)) {
                left_out.insert(format!("{chart}/{path}"), line);
            }
        }
        left_out
    }

    /// Returns the finding with the place of a line.
    pub(super) fn at(&self, line: u64, reason: Reason, message: &str) -> Finding {
        Finding::error(reason, &self.path, message).at(line, 1, &self.text)
    }

    /// Finds the line of the rule by which Helm leaves out a file or a directory.
    fn rule_for(&self, entry: &str, is_directory: bool) -> Option<u64> {
        let rule = self.in_order.iter().find(|rule| {
            let is_other = rule.directories_only && !is_directory;
            (is_other || !rule.matches(entry)) == rule.is_negated
        });
        rule.map(|rule| rule.line)
    }
}

impl Rule {
    fn parse(line: &str, number: u64) -> Option<Self> {
        if line.contains("**") {
            return None;
        }
        let (is_negated, line) = line.strip_prefix('!').map_or((false, line), |rest| (true, rest));
        let (directories_only, line) = line.strip_suffix('/').map_or((false, line), |rest| (true, rest));
        let is_name = !line.contains('/');
        let line = line.strip_prefix('/').unwrap_or(line);
        let parts = line.split('/').map(Wildcard::parse).collect::<Option<Vec<_>>>()?;
        Some(Self { line: number, parts, is_name, is_negated, directories_only })
    }

    fn matches(&self, entry: &str) -> bool {
        if self.is_name {
            let name = entry.rsplit('/').next().unwrap_or(entry);
            return self.parts.first().is_some_and(|pattern| pattern.matches(name));
        }
        let mut parts = entry.split('/');
        self.parts.iter().all(|pattern| parts.next().is_some_and(|part| pattern.matches(part)))
            && parts.next().is_none()
    }
}
