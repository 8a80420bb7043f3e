//! A length of time as Flux and Kubernetes write it: `10m`, `1h30m`, `500ms`.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

/// The pattern of the text: Flux's pattern, limited to as many digits and parts as always fit into Go's 64-bit
/// nanoseconds. Flux's own pattern admits durations that its controllers cannot read.
const PATTERN: &str = r"^([0-9]{1,5}(\.[0-9]{1,5})?(ms|s|m|h)){1,4}$";

/// The rule that a pattern cannot express.
const MORE_THAN_ZERO: &str = "self.matches('[1-9]')";

/// The reason why a text is not a duration.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DurationError {
    /// Not numbers with units.
    #[error("{0:?} is not a duration: expected numbers with units, such as 10m, 1h30m or 500ms")]
    Malformed(String),
    /// A duration of zero, within which nothing could happen.
    #[error("{0:?}: a duration must be more than zero")]
    Zero(String),
}

/// A positive length of time in Go's notation, kept as it was written so that it reads the same in every object
/// made from it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Duration(String);

impl Duration {
    /// The text, as written.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The duration as a standard one.
    #[must_use]
    pub fn to_std(&self) -> std::time::Duration {
        let (mut rest, mut seconds) = (self.0.as_str(), 0.0);
        while let Some(after) = after_one_part(rest) {
            let part = rest.strip_suffix(after).unwrap_or_default();
            let number = part.trim_end_matches(|character: char| character.is_ascii_alphabetic());
            let unit = match part.strip_prefix(number) {
                Some("h") => 3600.0,
                Some("m") => 60.0,
                Some("ms") => 0.001,
                _ => 1.0,
            };
            seconds += number.parse().unwrap_or(0.0) * unit;
            rest = after;
        }
        std::time::Duration::from_secs_f64(seconds)
    }

    /// Whole minutes.
    pub(super) fn minutes(minutes: u8) -> Self {
        Self(format!("{minutes}m"))
    }
}

impl FromStr for Duration {
    type Err = DurationError;

    fn from_str(text: &str) -> Result<Self, DurationError> {
        let mut rest = text;
        let mut parts = 0;
        while !rest.is_empty() {
            rest = after_one_part(rest).ok_or_else(|| DurationError::Malformed(text.to_owned()))?;
            parts += 1;
        }
        match parts {
            1..=4 if text.bytes().any(|byte| (b'1'..=b'9').contains(&byte)) => Ok(Self(text.to_owned())),
            1..=4 => Err(DurationError::Zero(text.to_owned())),
            _ => Err(DurationError::Malformed(text.to_owned())),
        }
    }
}

/// The text after the first number with its unit.
fn after_one_part(text: &str) -> Option<&str> {
    let rest = after_digits(text)?;
    let rest = match rest.strip_prefix('.') {
        Some(fraction) => after_digits(fraction)?,
        None => rest,
    };
    ["ms", "s", "m", "h"].iter().find_map(|unit| rest.strip_prefix(unit))
}

/// The text after one to five digits.
fn after_digits(text: &str) -> Option<&str> {
    let rest = text.trim_start_matches(|character: char| character.is_ascii_digit());
    (1..=5).contains(&(text.len() - rest.len())).then_some(rest)
}

impl TryFrom<String> for Duration {
    type Error = DurationError;

    fn try_from(text: String) -> Result<Self, DurationError> {
        text.parse()
    }
}

impl From<Duration> for String {
    fn from(duration: Duration) -> Self {
        duration.0
    }
}

impl fmt::Display for Duration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl JsonSchema for Duration {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Duration".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string",
            "maxLength": 64,
            "pattern": PATTERN,
            "x-kubernetes-validations": [{"rule": MORE_THAN_ZERO, "message": "a duration must be more than zero"}],
        })
    }
}

#[cfg(test)]
mod tests {
    //! Texts that are durations; the API server's pattern must agree.

    use regex::Regex;

    use super::*;

    #[test]
    fn invalid_or_zero_duration_is_refused() {
        for text in ["10m", "1h30m", "500ms", "1.5h", "0h1s", "99999h99999h99999h99999h"] {
            assert_eq!(text.parse::<Duration>().unwrap().as_str(), text);
        }
        for text in [
            "",
            "10",
            "m",
            "10 m",
            "-1m",
            "1d",
            "1.m",
            ".5m",
            "1m,",
            "100000m",
            "1.000001s",
            "1s1s1s1s1s",
            "١m",
        ] {
            assert_eq!(text.parse::<Duration>(), Err(DurationError::Malformed(text.to_owned())));
        }
        for text in ["0s", "0.0h", "00m0s"] {
            assert_eq!(text.parse::<Duration>(), Err(DurationError::Zero(text.to_owned())));
        }
    }

    #[test]
    fn duration_pattern_agrees_with_parser() {
        let pattern = Regex::new(PATTERN).unwrap();
        let parts = ["", "0", "1", "12345", "123456", ".", "ms", "m", "s", "h", "d", "-", " "];
        for first in parts {
            for second in parts {
                for third in parts {
                    for fourth in parts {
                        let text = [first, second, third, fourth].concat();
                        let malformed = matches!(text.parse::<Duration>(), Err(DurationError::Malformed(_)));
                        assert_eq!(pattern.is_match(&text), !malformed, "{text:?}");
                    }
                }
            }
        }
    }
}
