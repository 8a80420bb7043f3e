//! Unified diffs of texts.

use std::time::Duration;

use similar::TextDiff;

/// Maximum length of a text that is compared line by line, in bytes. Longer texts are not written by hand.
const MAX_TEXT_BYTES: usize = 4 << 20;

/// Maximum time to search for the smallest difference; after that, the diff falls back to an approximation.
const DIFF_TIMEOUT: Duration = Duration::from_secs(2);

/// Returns the bytes as a text if it can be compared line by line.
#[must_use]
pub fn as_text(bytes: &[u8]) -> Option<&str> {
    std::str::from_utf8(bytes).ok().filter(|text| text.len() <= MAX_TEXT_BYTES && !text.contains('\0'))
}

/// Returns the hunks of a unified diff, without its header; empty if the texts are the same.
#[must_use]
pub fn hunks(from: &str, to: &str) -> String {
    let diff = TextDiff::configure().timeout(DIFF_TIMEOUT).diff_lines(from, to);
    diff.unified_diff().iter_hunks().map(|hunk| hunk.to_string()).collect()
}
