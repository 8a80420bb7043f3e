//! The `.helmignore` of a chart: Helm does not load the files that it names.

use crate::release::files::Files;
use crate::release::finding::{Finding, Reason};
use crate::release::ignore::Wildcard;

/// The file with the rules, in the chart's directory.
const FILE: &str = ".helmignore";

/// The rule that Helm adds to those of every chart.
const DEFAULT: &str = "templates/.?*";

/// The rules of a chart, by Helm's `pkg/ignore/rules.go`.
pub(super) struct Rules(Vec<Rule>);

struct Rule {
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
        let text = files.get(&path).map(|file| String::from_utf8_lossy(&file.content)).unwrap_or_default();
        let mut rules = Vec::new();
        for (number, line) in (1..).zip(text.trim_start_matches('\u{feff}').lines().chain([DEFAULT])) {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let Some(rule) = Rule::parse(line) else {
                let message = format!("Helm does not accept the pattern {line:?}, and refuses the chart");
                let finding = Finding::error(Reason::InvalidChart, &path, message).at(number, 1, &text);
                return Err(Box::new(finding.hint("use patterns without **, such as *.bak or ci/")));
            };
            rules.push(rule);
        }
        Ok(Self(rules))
    }

    /// Whether Helm leaves out the file of this path in the chart, or a directory above it.
    pub(super) fn leave_out(&self, path: &str) -> bool {
        let ends = path.match_indices('/').map(|(at, _)| (at, true)).chain([(path.len(), false)]);
        let mut entries = ends.filter_map(|(end, is_directory)| Some((path.get(..end)?, is_directory)));
        entries.any(|(entry, is_directory)| self.match_entry(entry, is_directory))
    }

    fn match_entry(&self, entry: &str, is_directory: bool) -> bool {
        for rule in &self.0 {
            let is_directory_rule = rule.directories_only && !is_directory;
            let matches = rule.matches(entry);
            match rule.is_negated {
                true if is_directory_rule || !matches => return true,
                false if !is_directory_rule && matches => return true,
                _ => {}
            }
        }
        false
    }
}

impl Rule {
    fn parse(line: &str) -> Option<Self> {
        if line.contains("**") {
            return None;
        }
        let (is_negated, line) = line.strip_prefix('!').map_or((false, line), |rest| (true, rest));
        let (directories_only, line) = line.strip_suffix('/').map_or((false, line), |rest| (true, rest));
        let is_name = !line.contains('/');
        let line = line.strip_prefix('/').unwrap_or(line);
        let parts = line.split('/').map(Wildcard::parse).collect::<Option<Vec<_>>>()?;
        Some(Self { parts, is_name, is_negated, directories_only })
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
