//! YAML with positions, and plain words for the errors of its reader.

pub mod tree;

use serde_yaml::budget::BudgetBreach;
use serde_yaml::{Error, MessageFormatter as _, Options, UserMessageFormatter};

/// Returns the message of an error, without its position.
#[must_use]
pub fn message(error: &Error, options: &Options) -> String {
    let inner = innermost(error);
    match limit(inner, options) {
        Some(limit) => format!("exceeds the limit of {limit}"),
        None => UserMessageFormatter.format_message(inner).into_owned(),
    }
}

/// Returns the text of a line, counted from 1.
#[must_use]
pub fn line_of(source: &str, line: u64) -> Option<&str> {
    source.lines().nth(usize::try_from(line).ok()?.checked_sub(1)?)
}

/// Returns the error without the snippet or the alias around it.
#[must_use]
pub fn innermost(error: &Error) -> &Error {
    match error {
        Error::AliasError { error, .. } | Error::WithSnippet { error, .. } => innermost(error),
        _ => error,
    }
}

/// Returns the limit of `options` that an error exceeds; `None` for other errors.
#[must_use]
pub fn limit(error: &Error, options: &Options) -> Option<String> {
    let breach = match innermost(error) {
        Error::Budget { breach, .. } => breach,
        Error::AliasReplayLimitExceeded { max_total_replayed_events, .. } => {
            return Some(format!("{max_total_replayed_events} values expanded from aliases"));
        }
        Error::AliasExpansionLimitExceeded { max_expansions_per_anchor, .. } => {
            return Some(format!("{max_expansions_per_anchor} aliases of one anchor"));
        }
        Error::AliasReplayStackDepthExceeded { max_depth, .. } => {
            return Some(format!("{max_depth} nested aliases"));
        }
        Error::AliasReplayCounterOverflow { .. } => return Some("values expanded from aliases".to_owned()),
        _ => return None,
    };
    let limits = options.budget.clone().unwrap_or_default();
    Some(match breach {
        BudgetBreach::Depth { .. } => format!("{} levels of nesting", limits.max_depth),
        BudgetBreach::Aliases { .. } => format!("{} aliases", limits.max_aliases),
        BudgetBreach::Anchors { .. } => format!("{} anchors", limits.max_anchors),
        BudgetBreach::AliasAnchorRatio { .. } => {
            format!("{} aliases for each anchor", limits.alias_anchor_ratio_multiplier)
        }
        BudgetBreach::RecordedAnchorEvents { .. } => {
            format!(
                "{} values in anchors, each counted once for every anchor around it",
                limits.max_recorded_anchor_events
            )
        }
        BudgetBreach::RecordedAnchorBytes { .. } => {
            format!(
                "{} bytes in anchors, each counted once for every anchor around it",
                limits.max_recorded_anchor_bytes
            )
        }
        BudgetBreach::MergeKeys { .. } => format!("{} merge keys (<<)", limits.max_merge_keys),
        BudgetBreach::Documents { .. } => format!("{} documents in one file", limits.max_documents),
        BudgetBreach::Nodes { .. } => format!("{} values", limits.max_nodes),
        BudgetBreach::Events { .. } => {
            format!("{} values, starts and ends of lists and mappings", limits.max_events)
        }
        BudgetBreach::ScalarBytes { .. } => format!("{} bytes of text", limits.max_total_scalar_bytes),
        BudgetBreach::SequenceUnbalanced => return None,
        _ => "the YAML reader".to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    #[test]
    fn limits_are_described_in_plain_words() {
        let options = || {
            serde_yaml::options! {
                budget: serde_yaml::budget! {
                    max_depth: 4, max_aliases: 2, max_anchors: 50, max_nodes: 500, max_recorded_anchor_events: 100,
                    max_merge_keys: 1, max_total_scalar_bytes: 1_000,
                },
                alias_limits: serde_yaml::alias_limits! { max_total_replayed_events: 6 },
                with_snippet: false,
            }
        };
        let anchored = format!("a: &a\n  b: &b [{}]\n", "1,".repeat(60));
        for (text, expected) in [
            ("[[[[[1]]]]]".to_owned(), "4 levels of nesting"),
            ("[&a 1, *a, *a, *a]".to_owned(), "2 aliases"),
            ("[&a [1, 2, 3], *a, *a]".to_owned(), "6 values expanded from aliases"),
            (anchored, "100 values in anchors, each counted once for every anchor around it"),
            (format!("[{}]", "1,".repeat(600)), "500 values"),
            (format!("{:?}", "x".repeat(2_000)), "1000 bytes of text"),
        ] {
            let error = serde_yaml::from_str_with_options::<Value>(&text, options()).unwrap_err();
            assert_eq!(message(&error, &options()), format!("exceeds the limit of {expected}"), "{error}");
        }
        let error = serde_yaml::from_str_with_options::<Value>("a: [", options()).unwrap_err();
        assert_eq!(limit(&error, &options()), None, "{error}");
    }
}
