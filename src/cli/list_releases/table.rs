//! The releases of an origin, one line each.

use serde::Serialize;

use crate::cli::output::{Layout, NOTHING, table_in};
use crate::error::Classify as _;
use crate::names::ReleaseName;
use crate::source::origin::{Description, OriginError};

/// The releases of an origin.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Releases {
    releases: Vec<Line>,
    /// Names that are not release names, if the caller requested them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    malformed: Vec<String>,
}

/// One release. A null field is unknown.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Line {
    name: String,
    kubernetes_version: Option<String>,
    channel: String,
    addons: Option<Vec<String>>,
    digest: Option<String>,
    date: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    problem: Option<Problem>,
}

/// The reason why a release could not be described.
#[derive(Debug, Serialize)]
struct Problem {
    reason: &'static str,
    message: String,
}

impl Line {
    /// Creates the line of a release.
    pub(super) fn of(name: &ReleaseName, described: Result<Description, OriginError>) -> Self {
        let problem = |error: &OriginError| Problem { reason: error.reason(), message: error.to_string() };
        let problem = described.as_ref().err().map(problem);
        let described = described.unwrap_or_default();
        Self {
            name: name.to_string(),
            kubernetes_version: described.kubernetes.map(|version| version.to_string()),
            channel: name.version().channel().to_owned(),
            addons: described.addons,
            digest: described.digest,
            date: described.date.map(|date| date.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()),
            problem,
        }
    }

    fn row(&self, wide: bool) -> [String; 7] {
        let shown = |text: Option<&str>| text.unwrap_or(NOTHING).to_owned();
        [
            self.name.clone(),
            shown(self.kubernetes_version.as_deref()),
            self.channel.clone(),
            self.addons.as_ref().map_or_else(|| shown(None), |addons| addons.join(",")),
            shown(self.digest.as_deref().map(|digest| if wide { digest } else { short(digest) })),
            shown(self.date.as_deref().and_then(|date| if wide { Some(date) } else { date.get(..10) })),
            self.problem.as_ref().map_or_else(|| shown(None), Problem::line),
        ]
    }
}

impl Problem {
    /// Returns the first error of a release in one line, otherwise the reason and the message.
    fn line(&self) -> String {
        let error = self.message.lines().find(|line| line.starts_with("error: "));
        match error.and_then(|line| line.strip_prefix("error: ")) {
            Some(finding) => finding.to_owned(),
            None => format!("{}: {}", self.reason, self.message.replace('\n', " ")),
        }
    }
}

impl Releases {
    /// Creates the output from all lines, and the malformed names to show.
    pub(super) fn new(releases: Vec<Line>, malformed: Vec<String>) -> Self {
        Self { releases, malformed }
    }

    /// Returns the names of the releases.
    pub(super) fn names(&self) -> Vec<String> {
        self.releases.iter().map(|line| line.name.clone()).collect()
    }

    /// Whether there are no releases.
    pub(super) fn is_empty(&self) -> bool {
        self.releases.is_empty()
    }

    /// Whether a release could not be described.
    pub(super) fn has_problems(&self) -> bool {
        self.releases.iter().any(|line| line.problem.is_some())
    }

    /// Formats the releases for people: with the first twelve digits of the digest and the date; if `wide`, with the
    /// full digest and the time of day.
    pub(super) fn table(&self, layout: Layout) -> String {
        let malformed = self.malformed.iter().map(|name| {
            let nothing = || NOTHING.to_owned();
            let problem = "invalid release name".to_owned();
            [name.clone(), nothing(), nothing(), nothing(), nothing(), nothing(), problem]
        });
        let header = ["NAME", "KUBERNETES", "CHANNEL", "ADDONS", "DIGEST", "DATE", "PROBLEM"];
        table_in(layout, header, self.releases.iter().map(|line| line.row(layout.wide)).chain(malformed))
    }
}

/// Returns the first twelve digits of a digest or a commit.
fn short(digest: &str) -> &str {
    let digits = digest.split_once(':').map_or(digest, |(_, digits)| digits);
    digits.get(..12).unwrap_or(digits)
}
