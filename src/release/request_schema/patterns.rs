//! The patterns of a schema, which are compiled once, when it is read, within limits of their size together.

use regex_automata::{Input, meta, nfa::thompson::WhichCaptures};

/// Maximum number of patterns in a schema.
const MAX_COUNT: usize = 32;
/// Maximum size of the program of one pattern, in bytes.
const MAX_PROGRAM: usize = 64 * 1024;
/// Maximum size of all compiled patterns of a schema, in bytes.
const MAX_BYTES: usize = 512 * 1024;
/// Maximum size of the memory that a comparison needs, in bytes.
const MAX_CACHE: usize = 64 * 1024;

/// A compiled pattern.
#[derive(Clone, Debug)]
pub(super) struct Pattern {
    text: String,
    regex: meta::Regex,
}

impl PartialEq for Pattern {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Pattern {
    pub(super) fn as_str(&self) -> &str {
        &self.text
    }

    /// Whether a text has a match. The memory that the comparison needs is not kept.
    pub(super) fn is_match(&self, text: &str) -> bool {
        self.regex
            .search_half_with(&mut self.regex.create_cache(), &Input::new(text).earliest(true))
            .is_some()
    }
}

/// What the patterns that were compiled so far need.
#[derive(Debug, Default)]
pub(super) struct Patterns {
    pub(super) count: usize,
    pub(super) bytes: usize,
}

impl Patterns {
    /// Compiles a pattern. Fails if it is none, or if there are too many.
    pub(super) fn compile(&mut self, text: &str) -> Result<Pattern, String> {
        self.count += 1;
        if self.count > MAX_COUNT {
            return Err(format!("a schema must have at most {MAX_COUNT} patterns"));
        }
        // Neither groups nor tables of states are needed, which take many times the size of the program.
        let config = meta::Config::new()
            .nfa_size_limit(Some(MAX_PROGRAM))
            .hybrid_cache_capacity(MAX_CACHE)
            .which_captures(WhichCaptures::Implicit)
            .onepass(false)
            .dfa(false)
            .backtrack(false);
        let regex = meta::Builder::new().configure(config).build(text).map_err(|error| {
            let why = if error.size_limit().is_some() { " of a usual size" } else { "" };
            format!("pattern {text:.100?} is not a regular expression{why}")
        })?;
        self.bytes += regex.memory_usage();
        if self.bytes > MAX_BYTES {
            let hint = r"write [0-9A-Za-z_] instead of \w, and [0-9] instead of \d";
            return Err(format!("the patterns of a schema need more than {MAX_BYTES} bytes: {hint}"));
        }
        Ok(Pattern { text: text.to_owned(), regex })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn compiled(texts: impl Iterator<Item = String>) -> Result<usize, String> {
        let mut patterns = Patterns::default();
        texts.into_iter().try_for_each(|text| patterns.compile(&text).map(|_| ()))?;
        Ok(patterns.bytes)
    }

    #[test]
    fn patterns_of_a_schema_are_bounded_together() {
        let times = |text: &str, count: usize| compiled((0..count).map(|_| text.to_owned()));
        let long = format!("^({})$", "abcdefghijklmnopqrstuvwxyz0123456789".repeat(20));
        for (text, count, expected) in [
            ("^[a-z]([-a-z0-9]{0,61}[a-z0-9])?$", 32, None),
            (r"^(([0-9]{1,3})\.){3}[0-9]{1,3}$", 32, None),
            (r"^\d+$", 32, None),
            (r"^\w$", 4, None),
            (r"^\w$", 32, Some("the patterns of a schema need more than 524288 bytes: write [0-9A-Za-z_]")),
            (r"^(\w|a)$", 32, Some("need more than 524288 bytes")),
            (long.as_str(), 32, Some("need more than 524288 bytes")),
            ("a", 33, Some("at most 32 patterns")),
            (r"^\w{30}$", 1, Some("is not a regular expression of a usual size")),
            ("(", 1, Some("is not a regular expression")),
        ] {
            let error = times(text, count).err();
            let is_expected = match (&error, expected) {
                (Some(error), Some(expected)) => error.contains(expected),
                (error, expected) => error.is_none() && expected.is_none(),
            };
            assert!(is_expected, "{text}: {error:?} instead of {expected:?}");
        }
        assert!(times("^[a-z0-9.-]+$", 1).unwrap() > 500, "the size is that of the program");
    }

    #[test]
    fn pattern_finds_a_match_anywhere_in_a_text() {
        for (pattern, text, is_match) in [
            ("b", "abc", true),
            ("^b", "abc", false),
            ("^(a|b)+$", "abab", true),
            (r"^\w+$", "é1_", true),
            (r"\bb", "a b", true),
            (r"\bé", "a é", true),
            ("", "", true),
            (r"^\d{3}$", "12", false),
        ] {
            let pattern = Patterns::default().compile(pattern).unwrap();
            assert_eq!(pattern.is_match(text), is_match, "{pattern:?} {text}");
        }
    }
}
