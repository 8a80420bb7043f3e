//! The published releases, or with `--dry-run` those that would be published.

use std::fmt::Write as _;

use serde::Serialize;

use super::target::Destination;
use crate::cli::output::{count, table};
use crate::publish::{Prepared, message};
use crate::release::Digest;

/// The published releases, or with `--dry-run` those that would be published.
#[derive(Debug, Default, Serialize)]
pub(super) struct Report {
    releases: Vec<Entry>,
}

/// One release.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Entry {
    name: String,
    result: Done,
    /// The destination, if the release was written.
    #[serde(flatten)]
    place: Option<Destination>,
    /// The address of the source, with digest or commit.
    source: String,
    /// The digest of the release's directory.
    digest: String,
    /// The commit message.
    message: String,
    files: Vec<Line>,
}

/// The result of publishing a release.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(super) enum Done {
    /// The release was written.
    Published,
    /// The release was written to a branch of its own, which has a pull request.
    Proposed,
    /// The release would be written.
    WouldPublish,
    /// The release already existed.
    Unchanged,
}

#[derive(Debug, Serialize)]
struct Line {
    path: String,
    size: usize,
    digest: String,
}

impl Report {
    pub(super) fn add(&mut self, entry: Entry) {
        self.releases.push(entry);
    }

    /// Formats the report for people.
    pub(super) fn text(&self) -> String {
        self.releases.iter().map(Entry::text).collect::<Vec<_>>().join("\n")
    }
}

impl Entry {
    pub(super) fn new(prepared: &Prepared, result: Done, place: Option<Destination>) -> Self {
        let files = prepared.files.iter().map(|(path, file)| Line {
            path: path.to_owned(),
            size: file.content.len(),
            digest: Digest::of_bytes(&file.content).to_string(),
        });
        Self {
            name: prepared.name().to_string(),
            result,
            place,
            source: prepared.provenance.source.clone(),
            digest: prepared.release.digest.to_string(),
            message: message::message(prepared).to_string(),
            files: files.collect(),
        }
    }

    fn text(&self) -> String {
        let files = count(self.files.len(), "file");
        let bytes = count(self.files.iter().map(|file| file.size).sum(), "byte");
        let mut text = match self.result {
            Done::Unchanged => return format!("{} already exists\n", self.name),
            Done::Published => format!("{} is published: {files}, {bytes}\n\n", self.name),
            Done::Proposed => format!("{} is proposed: {files}, {bytes}\n\n", self.name),
            Done::WouldPublish => format!("{} would be published: {files}, {bytes}\n\n", self.name),
        };
        let short = |digest: &str| digest.get(7..19).unwrap_or_default().to_owned();
        let rows =
            self.files.iter().map(|file| [file.path.clone(), file.size.to_string(), short(&file.digest)]);
        text.push_str(&table(["PATH", "SIZE", "SHA256"], rows));
        text.push('\n');
        for line in self.message.lines() {
            // Writing to a string cannot fail.
            let _ = writeln!(text, "{}", format!("    {line}").trim_end());
        }
        text
    }
}
