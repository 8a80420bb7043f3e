//! `Chart.lock`: the exact versions of a chart's dependencies.

use serde::Deserialize;

use super::Repository;
use crate::release::Dependency;
use crate::release::range::{self, Range};

/// Maximum size of a `Chart.lock` in bytes.
const MAX_LOCK_BYTES: usize = 1 << 20;

/// The fields of a `Chart.lock` that are used.
#[derive(Clone, Debug, Default, Deserialize)]
pub(super) struct Lock {
    #[serde(default)]
    dependencies: Option<Vec<Locked>>,
}

#[derive(Clone, Debug, Deserialize)]
struct Locked {
    name: String,
    version: String,
    #[serde(default)]
    repository: Option<String>,
}

impl Lock {
    pub(super) fn parse(content: &[u8]) -> Result<Self, String> {
        let text = std::str::from_utf8(content).map_err(|_| "Chart.lock is not UTF-8".to_owned())?;
        if text.len() > MAX_LOCK_BYTES {
            return Err(format!("Chart.lock exceeds the limit of {MAX_LOCK_BYTES} bytes"));
        }
        let options = serde_yaml::options! {
            budget: serde_yaml::budget! { max_depth: 8, max_aliases: 0 },
            with_snippet: false,
        };
        serde_yaml::from_str_with_options(text, options)
            .map_err(|error| format!("Chart.lock cannot be read: {error}"))
    }

    /// Returns the version that a dependency is locked to. If there is a `Chart.lock`, source-controller fetches only the
    /// dependencies in it, and omits any other without an error.
    pub(super) fn version(&self, dependency: &Dependency, repository: &Repository) -> Result<String, String> {
        let mut same = self.dependencies.iter().flatten().filter(|locked| {
            let same = locked.repository.as_deref().and_then(|text| Repository::parse(text).ok());
            locked.name == dependency.name && same.as_ref() == Some(repository)
        });
        // A chart under two aliases has two lines.
        let Some(locked) = same.clone().find(|locked| is_in(&locked.version, &dependency.version)) else {
            return Err(match same.next() {
                Some(Locked { version, .. }) => {
                    format!("Chart.lock has {version}, which is not in the range {}", dependency.version)
                }
                None => "Chart.lock lacks it: the chart would be installed without it".to_owned(),
            });
        };
        Ok(locked.version.clone())
    }
}

/// Whether a version is in a range of `Chart.yaml`: it is the same text, or matches by Helm's rules.
fn is_in(version: &str, wanted: &str) -> bool {
    let range = if wanted.is_empty() { "*" } else { wanted };
    let range = range.parse::<Range>();
    let parsed = range::version(version);
    version == wanted || range.is_ok_and(|range| parsed.is_some_and(|version| range.has(&version)))
}
