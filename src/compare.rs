//! Two releases compared: file by file, and as plans of the Clusters that go from one to the other.

pub mod change;
pub mod charts;
pub mod files;
pub mod moments;
pub mod parts;
pub mod plans;
pub mod values;

use std::time::Duration;

use similar::TextDiff;

use crate::release::{Files, Loaded, Release};

/// Maximum length of a text that is compared line by line, in bytes. Longer texts are not written by hand.
const MAX_TEXT_BYTES: usize = 4 << 20;

/// Maximum time to search for the smallest difference; after that, the diff falls back to an approximation.
const DIFF_TIMEOUT: Duration = Duration::from_secs(2);

/// One of two releases, with its files unpacked.
#[derive(Clone, Debug)]
pub struct Side {
    /// The release.
    pub release: Release,
    /// Its files.
    pub files: Files,
}

impl From<Loaded> for Side {
    fn from(loaded: Loaded) -> Self {
        Self { release: loaded.release, files: loaded.files }
    }
}

/// Returns the bytes as a text if it can be compared line by line.
fn as_text(bytes: &[u8]) -> Option<&str> {
    std::str::from_utf8(bytes).ok().filter(|text| text.len() <= MAX_TEXT_BYTES && !text.contains('\0'))
}

/// Returns the hunks of a unified diff, without its header; empty if the texts are the same.
fn hunks(from: &str, to: &str) -> String {
    let diff = TextDiff::configure().timeout(DIFF_TIMEOUT).diff_lines(from, to);
    diff.unified_diff().iter_hunks().map(|hunk| hunk.to_string()).collect()
}
