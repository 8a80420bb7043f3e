//! Texts of others in the Markdown of a pull request.

/// The text as a block of code, in which a forge makes nothing of it: no links, pictures, mentions, commands or headings.
#[must_use]
pub fn fenced(text: &str) -> String {
    let runs = text.split(|character| character != '`').map(str::len);
    // A run as long as the fence would end the block (<https://spec.commonmark.org/0.31.2/#fenced-code-blocks>).
    let fence = "`".repeat(runs.max().unwrap_or_default().max(2) + 1);
    format!("{fence}text\n{}\n{fence}\n", text.trim_end())
}

#[cfg(test)]
mod tests;
