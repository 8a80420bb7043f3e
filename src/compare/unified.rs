//! Unified diffs of texts.

use std::time::Duration;

use similar::TextDiff;

/// The longest text that is compared line by line, in bytes. What is longer was not written by people.
const MAX_TEXT_BYTES: usize = 4 << 20;

/// Maximum time to look for the smallest difference. After that the one that is known is taken.
const DIFF_TIMEOUT: Duration = Duration::from_secs(2);

/// The bytes as a text that can be compared line by line.
#[must_use]
pub fn as_text(bytes: &[u8]) -> Option<&str> {
    std::str::from_utf8(bytes).ok().filter(|text| text.len() <= MAX_TEXT_BYTES && !text.contains('\0'))
}

/// The hunks of a unified diff, without its header; empty where the texts are the same.
#[must_use]
pub fn hunks(from: &str, to: &str) -> String {
    let diff = TextDiff::configure().timeout(DIFF_TIMEOUT).diff_lines(from, to);
    diff.unified_diff().iter_hunks().map(|hunk| hunk.to_string()).collect()
}
