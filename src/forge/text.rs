//! Texts sent to a forge and received from one.

use serde_json::Value;

use super::PullRequest;
use crate::release::finding;

/// Maximum length of a title in bytes: GitLab and Gitea accept 255 characters, GitHub 256.
const MAX_TITLE_BYTES: usize = 250;

/// Maximum length of a body in bytes: GitHub accepts 65,536 characters, the others more.
pub const MAX_BODY_BYTES: usize = 60_000;

/// Maximum number of characters of a forge's message in an error.
const MAX_MESSAGE_CHARACTERS: usize = 400;

/// Mark at the end of a shortened body.
const CUT: &str = "\n\n… the rest is too long for a pull request: it is in the commits.\n";

/// Shortens a pull request so that every forge accepts it unchanged: a title in one line, limited lengths, no trailing
/// whitespace.
pub(super) fn shortened(wanted: &PullRequest) -> PullRequest {
    let title = wanted.title.split_whitespace().collect::<Vec<_>>().join(" ");
    let body = wanted.body.replace("\r\n", "\n");
    let body = body.trim_end();
    PullRequest {
        title: cut(&title, MAX_TITLE_BYTES, "…"),
        body: cut(body, MAX_BODY_BYTES, CUT.trim_end()),
        ..wanted.clone()
    }
}

fn cut(text: &str, longest: usize, mark: &str) -> String {
    if text.len() <= longest {
        return text.to_owned();
    }
    let end = text.floor_char_boundary(longest.saturating_sub(mark.len()));
    format!("{}{mark}", text.get(..end).unwrap_or_default().trim_end())
}

/// Whether two texts are equal except for line ends and trailing whitespace, which forges change.
pub(super) fn is_same(one: &str, other: &str) -> bool {
    one.replace("\r\n", "\n").trim_end() == other.replace("\r\n", "\n").trim_end()
}

/// Returns the message in the JSON of a refusal, as one short line.
pub(super) fn message(answer: &[u8]) -> String {
    let Ok(answer) = serde_json::from_slice::<Value>(answer) else { return String::new() };
    let mut messages = Vec::new();
    for field in ["message", "error", "error_description", "errors"] {
        collect(answer.get(field).unwrap_or(&Value::Null), &mut messages);
    }
    let text: String = messages
        .join("; ")
        .chars()
        .map(|character| if character.is_control() { ' ' } else { character })
        .collect();
    finding::shortened(&text, MAX_MESSAGE_CHARACTERS)
}

/// Collects texts from objects with a message (GitHub), lists by field (GitLab) or plain text (Gitea).
fn collect(value: &Value, messages: &mut Vec<String>) {
    match value {
        Value::String(text) => messages.push(text.clone()),
        Value::Array(values) => values.iter().for_each(|value| collect(value, messages)),
        Value::Object(fields) => match fields.get("message") {
            Some(message) => collect(message, messages),
            None => fields.values().for_each(|value| collect(value, messages)),
        },
        _ => {}
    }
}

/// Returns the text as a code block, in which a forge renders no links, images, mentions, commands or headings.
#[must_use]
pub fn fenced(text: &str) -> String {
    let runs = text.split(|character| character != '`').map(str::len);
    // A run as long as the fence would end the block (<https://spec.commonmark.org/0.31.2/#fenced-code-blocks>).
    let fence = "`".repeat(runs.max().unwrap_or_default().max(2) + 1);
    format!("{fence}text\n{}\n{fence}\n", text.trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_cannot_leave_its_code_block() {
        for (text, fence) in [
            ("Kubernetes v1.34.2\n- cni: cilium 1.18.9\n", "```"),
            ("`", "```"),
            ("``` \n# heading\n[link](https://host)\n```", "````"),
            ("a\n`````\n@all /merge\n", "``````"),
            ("", "```"),
        ] {
            let block = fenced(text);
            assert_eq!(block, format!("{fence}text\n{}\n{fence}\n", text.trim_end()));
            let closing = block.lines().skip(1).position(|line| line.trim_end().starts_with(fence));
            assert_eq!(closing, Some(block.lines().count() - 2), "only the last line ends it: {block}");
        }
    }
}
