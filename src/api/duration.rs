//! A length of time as Flux and Kubernetes write it: `10m`, `1h30m`, `500ms`.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;
use std::sync::LazyLock;

use regex::Regex;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

/// The pattern of the text: Flux's pattern, limited to as many digits and parts as always fit into Go's 64-bit
/// nanoseconds. Flux's own pattern admits durations that its controllers cannot read.
const PATTERN: &str = r"^([0-9]{1,5}(\.[0-9]{1,5})?(ms|s|m|h)){1,4}$";

static FORM: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(PATTERN).ok());

/// One number with its unit.
static PART: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new("([0-9.]+)([a-z]+)").ok());

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
    /// Returns the text of the duration, as it was written.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Converts the duration to one of the standard library.
    #[must_use]
    pub fn to_std(&self) -> std::time::Duration {
        let parts = PART.iter().flat_map(|part| part.captures_iter(&self.0));
        let seconds = parts.map(|part| {
            let (_, [number, unit]) = part.extract();
            let unit = match unit {
                "h" => 3600.0,
                "m" => 60.0,
                "ms" => 0.001,
                _ => 1.0,
            };
            number.parse::<f64>().unwrap_or(0.0) * unit
        });
        std::time::Duration::from_secs_f64(seconds.sum())
    }

    /// Creates a duration of whole minutes.
    #[must_use]
    pub fn minutes(minutes: u8) -> Self {
        Self(format!("{minutes}m"))
    }
}

impl FromStr for Duration {
    type Err = DurationError;

    fn from_str(text: &str) -> Result<Self, DurationError> {
        if !FORM.as_ref().is_some_and(|form| form.is_match(text)) {
            Err(DurationError::Malformed(text.to_owned()))
        } else if text.contains(|digit: char| matches!(digit, '1'..='9')) {
            Ok(Self(text.to_owned()))
        } else {
            Err(DurationError::Zero(text.to_owned()))
        }
    }
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
    fn duration_is_the_sum_of_its_parts() {
        let milliseconds = |text: &str| text.parse::<Duration>().unwrap().to_std().as_millis();
        assert_eq!(milliseconds("1h1m1s1ms"), 3_661_001);
        assert_eq!([milliseconds("1.5h"), milliseconds("0.5s250ms")], [5_400_000, 750]);
    }
}
