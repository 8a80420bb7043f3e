//! What is a duration; the API server's pattern must say the same.

use regex::Regex;

use super::*;

#[test]
fn what_is_a_duration_and_what_is_not() {
    for text in ["10m", "1h30m", "500ms", "1.5h", "0h1s", "99999h99999h99999h99999h"] {
        assert_eq!(text.parse::<Duration>().unwrap().as_str(), text);
    }
    for text in
        ["", "10", "m", "10 m", "-1m", "1d", "1.m", ".5m", "1m,", "100000m", "1.000001s", "1s1s1s1s1s", "١m"]
    {
        assert_eq!(text.parse::<Duration>(), Err(DurationError::Malformed(text.to_owned())));
    }
    for text in ["0s", "0.0h", "00m0s"] {
        assert_eq!(text.parse::<Duration>(), Err(DurationError::Zero(text.to_owned())));
    }
}

#[test]
fn the_pattern_says_the_same() {
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
