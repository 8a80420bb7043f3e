//! The releases of a stack repository, one line each.

use serde::Serialize;

use crate::cli::output::{Layout, NOTHING, count, table_in};
use crate::cli::releases::Releases;
use crate::names::ReleaseName;
use crate::release::{Findings, Release};
use crate::source::SourceError;

/// The releases of a stack repository.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Overview {
    releases: Vec<Line>,
    /// The directories with invalid release names, if requested.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    malformed: Vec<String>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Line {
    name: String,
    /// Null, like the following fields, if the release cannot be used.
    kubernetes_version: Option<String>,
    channel: String,
    addons: Option<Vec<String>>,
    digest: Option<String>,
    errors: usize,
    warnings: usize,
}

impl Overview {
    /// Reads all releases, one after the other.
    pub(super) fn of(releases: &Releases, with_malformed: bool) -> Result<Self, SourceError> {
        let lines = releases.names().into_iter().map(|name| match releases.load(&name) {
            Ok(loaded) => Ok(Line::of(&name, Some(&loaded.release), &loaded.warnings)),
            Err(SourceError::Unusable { findings, .. }) => Ok(Line::of(&name, None, &findings)),
            Err(error) => Err(error),
        });
        let malformed = if with_malformed { releases.malformed().to_vec() } else { Vec::new() };
        Ok(Self { releases: lines.collect::<Result<_, _>>()?, malformed })
    }

    /// Returns the names of the releases.
    pub(super) fn names(&self) -> Vec<String> {
        self.releases.iter().map(|line| line.name.clone()).collect()
    }

    /// Whether there are no releases.
    pub(super) fn is_empty(&self) -> bool {
        self.releases.is_empty()
    }

    /// Whether `lint` reports any problem.
    pub(super) fn has_problems(&self) -> bool {
        self.releases.iter().any(|line| line.errors + line.warnings > 0)
    }

    /// Formats the overview for people.
    pub(super) fn table(&self, layout: Layout) -> String {
        let nothing = || NOTHING.to_owned();
        let lines =
            self.releases.iter().map(|line| {
                let digest = line.digest.as_deref().and_then(|digest| digest.parse().ok());
                [
                    line.name.clone(),
                    line.kubernetes_version.clone().unwrap_or_else(nothing),
                    line.channel.clone(),
                    line.addons.as_ref().map_or_else(nothing, |addons| addons.join(",")),
                    digest.map_or_else(nothing, |digest: crate::release::Digest| {
                        if layout.wide { digest.to_string() } else { digest.short() }
                    }),
                    line.problems(),
                ]
            });
        let malformed = self.malformed.iter().map(|name| {
            let problem = "invalid release name".to_owned();
            [name.clone(), nothing(), nothing(), nothing(), nothing(), problem]
        });
        let header = ["NAME", "KUBERNETES", "CHANNEL", "ADDONS", "DIGEST", "PROBLEMS"];
        table_in(layout, header, lines.chain(malformed))
    }
}

impl Line {
    fn of(name: &ReleaseName, release: Option<&Release>, findings: &Findings) -> Self {
        let addons = |release: &Release| release.addons.iter().map(|addon| addon.name.to_string()).collect();
        Self {
            name: name.to_string(),
            kubernetes_version: release.map(|release| release.kubernetes.to_string()),
            channel: name.version().channel().to_owned(),
            addons: release.map(addons),
            digest: release.map(|release| release.digest.to_string()),
            errors: findings.errors().count(),
            warnings: findings.warnings().count(),
        }
    }

    fn problems(&self) -> String {
        let counts: Vec<String> = [(self.errors, "error"), (self.warnings, "warning")]
            .into_iter()
            .filter(|(number, _)| *number > 0)
            .map(|(number, thing)| count(number, thing))
            .collect();
        if counts.is_empty() { NOTHING.to_owned() } else { counts.join(", ") }
    }
}
