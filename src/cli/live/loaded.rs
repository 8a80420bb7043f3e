//! The content of the releases that a command plans.

use std::collections::BTreeMap;
use std::path::Path;

use super::present::Present;
use crate::cli::releases::Releases;
use crate::inputs::line::Line;
use crate::names::ReleaseName;
use crate::release::Release;
use crate::source::SourceError;

/// The content of releases, or why it cannot be read.
pub struct Loaded(BTreeMap<ReleaseName, Result<Release, String>>);

impl Loaded {
    /// Loads all releases of a stack repository.
    pub fn read(path: &Path) -> Result<Self, SourceError> {
        let releases = Releases::open(path)?;
        Ok(Self::named(&releases, |_| true))
    }

    /// Loads the releases from which those of the `ClusterStack`s may take contents.
    pub(in crate::cli) fn for_stacks(releases: &Releases, present: &Present) -> Self {
        let lines: Vec<Line> = present.stacks.values().map(|stack| Line::of_stack(&stack.spec)).collect();
        Self::named(releases, |name| lines.iter().any(|line| line.has(name)))
    }

    fn named(releases: &Releases, is_needed: impl Fn(&ReleaseName) -> bool) -> Self {
        let needed = releases.names().into_iter().filter(is_needed);
        let load = |name: &ReleaseName| match releases.load(name) {
            Ok(found) => Ok(found.release),
            Err(error) => Err(format!("{name} cannot be read: {error}")),
        };
        Self(needed.map(|name| (name.clone(), load(&name))).collect())
    }

    /// Returns the releases of some lines. Those that cannot be read are skipped.
    pub(in crate::cli) fn of_lines(
        &self,
        lines: &[Line],
        skipped: &mut Vec<String>,
    ) -> BTreeMap<&ReleaseName, &Release> {
        let mut found = BTreeMap::new();
        for (name, release) in self.0.iter().filter(|(name, _)| lines.iter().any(|line| line.has(name))) {
            match release {
                Ok(release) => _ = found.insert(name, release),
                Err(problem) => skipped.push(problem.clone()),
            }
        }
        found
    }
}
