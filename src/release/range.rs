//! Versions of charts, and the ranges of versions that a chart's dependencies have, as Helm reads them.
//!
//! The rules are those of Masterminds/semver 3 (`constraints.go`), which Helm and source-controller use: blanks and
//! commas join, `||` separates alternatives, `1.2` and `1.2.x` stand for all patches, and a prerelease (`1.2.3-rc.1`)
//! counts only if a version of the same alternative is one as well.

use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;

use semver::Version;

/// Maximum length of a range, as in Masterminds/semver.
const MAX_RANGE_BYTES: usize = 512;
/// Maximum number of alternatives, as in Masterminds/semver.
const MAX_ALTERNATIVES: usize = 32;

/// Parses the version of a chart: a semantic version that may begin with `v` and may lack its minor and patch.
#[must_use]
pub fn version(text: &str) -> Option<Version> {
    let partial = Partial::parse(text)?;
    (!text.contains(['x', 'X', '*']) || partial.precision == Precision::Patch).then_some(partial.version)
}

/// A range of versions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Range {
    text: String,
    alternatives: Vec<Vec<Comparator>>,
}

/// The text is not a range of versions.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("invalid version range {0:?}: expected one that Helm accepts, such as 1.2.3, ~1.2 or >=1.2 <2")]
pub struct RangeError(String);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Comparator {
    operator: Operator,
    bound: Partial,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operator {
    Equal,
    NotEqual,
    Greater,
    GreaterOrEqual,
    Less,
    LessOrEqual,
    Tilde,
    Caret,
}

/// A version whose last numbers may be missing or `x`.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Partial {
    /// The version, with zeros for missing numbers.
    version: Version,
    precision: Precision,
}

/// The last number that is present.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Precision {
    Nothing,
    Major,
    Minor,
    Patch,
}

impl Range {
    /// Whether the version is in the range. Build metadata after a `+` does not count.
    #[must_use]
    pub fn has(&self, version: &Version) -> bool {
        self.alternatives.iter().any(|all| {
            let early = all.iter().any(|one| !one.bound.version.pre.is_empty());
            (version.pre.is_empty() || early) && all.iter().all(|one| one.has(version))
        })
    }
}

impl Comparator {
    fn has(&self, version: &Version) -> bool {
        let Partial { version: bound, precision } = &self.bound;
        let order = version.cmp_precedence(bound);
        let by_numbers = match precision {
            Precision::Nothing => Ordering::Equal,
            Precision::Major => version.major.cmp(&bound.major),
            Precision::Minor => (version.major, version.minor).cmp(&(bound.major, bound.minor)),
            Precision::Patch => order,
        };
        let same_major = version.major == bound.major;
        let same_minor = same_major && version.minor == bound.minor;
        match self.operator {
            Operator::Equal if *precision == Precision::Patch => order.is_eq(),
            Operator::Equal | Operator::Tilde => {
                let anything = *precision == Precision::Nothing || is_zero(&self.bound);
                let within = if *precision == Precision::Major { same_major } else { same_minor };
                order.is_ge() && (anything || within)
            }
            Operator::NotEqual if *precision == Precision::Minor && by_numbers.is_eq() => {
                version.pre != bound.pre
            }
            Operator::NotEqual => by_numbers.is_ne(),
            Operator::Greater if *precision == Precision::Nothing => order.is_gt(),
            Operator::Greater => by_numbers.is_gt(),
            Operator::GreaterOrEqual => order.is_ge(),
            Operator::Less => order.is_lt(),
            Operator::LessOrEqual => by_numbers.is_le(),
            Operator::Caret => {
                order.is_ge()
                    && match precision {
                        Precision::Nothing => true,
                        Precision::Major => same_major,
                        _ if bound.major > 0 => same_major,
                        Precision::Minor => same_minor,
                        Precision::Patch if bound.minor > 0 => same_minor,
                        Precision::Patch => same_minor && version.patch == bound.patch,
                    }
            }
        }
    }
}

/// Whether the bound is 0.0.0: `~0.0.0` stands for every version.
fn is_zero(bound: &Partial) -> bool {
    let Version { major: 0, minor: 0, patch: 0, .. } = bound.version else { return false };
    bound.precision == Precision::Patch
}

impl FromStr for Range {
    type Err = RangeError;

    fn from_str(text: &str) -> Result<Self, RangeError> {
        let error = || RangeError(text.chars().take(MAX_RANGE_BYTES).collect());
        let alternatives: Vec<&str> = text.split("||").collect();
        if text.len() > MAX_RANGE_BYTES || alternatives.len() > MAX_ALTERNATIVES {
            return Err(error());
        }
        let alternatives = alternatives.into_iter().map(|all| alternative(all).ok_or_else(error));
        Ok(Self { text: text.to_owned(), alternatives: alternatives.collect::<Result<_, _>>()? })
    }
}

impl fmt::Display for Range {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// Parses Comparators that must all match.
fn alternative(text: &str) -> Option<Vec<Comparator>> {
    let mut rest = text.trim_start();
    let mut all = Vec::new();
    while !rest.is_empty() {
        let (operator, bound, after) = comparator(rest)?;
        if let Some((upper, after)) = hyphen(after) {
            if operator.is_some() {
                return None;
            }
            all.push(Comparator { operator: Operator::GreaterOrEqual, bound });
            all.push(Comparator { operator: Operator::LessOrEqual, bound: upper });
            rest = separator(after)?;
        } else {
            all.push(Comparator { operator: operator.unwrap_or(Operator::Equal), bound });
            rest = separator(after)?;
        }
    }
    (!all.is_empty()).then_some(all)
}

/// Parses an operator and a version; returns them and the rest of the text.
fn comparator(text: &str) -> Option<(Option<Operator>, Partial, &str)> {
    let signs = text.find(|character| !"=!<>~^".contains(character))?;
    let (signs, rest) = text.split_at(signs);
    let operator = match signs {
        "" => None,
        "=" => Some(Operator::Equal),
        "!=" => Some(Operator::NotEqual),
        ">" => Some(Operator::Greater),
        ">=" | "=>" => Some(Operator::GreaterOrEqual),
        "<" => Some(Operator::Less),
        "<=" | "=<" => Some(Operator::LessOrEqual),
        "~" | "~>" => Some(Operator::Tilde),
        "^" => Some(Operator::Caret),
        _ => return None,
    };
    let (bound, after) = bound(rest.trim_start())?;
    Some((operator, bound, after))
}

fn bound(text: &str) -> Option<(Partial, &str)> {
    let end = text.find([' ', ',', '\t']).unwrap_or(text.len());
    let (version, after) = text.split_at(end);
    Some((Partial::parse(version)?, after))
}

/// Parses the upper bound of `1.2 - 1.4`; returns it and the rest of the text.
fn hyphen(text: &str) -> Option<(Partial, &str)> {
    let rest = text.strip_prefix([' ', '\t'])?.trim_start().strip_prefix('-')?;
    bound(rest.strip_prefix([' ', '\t'])?.trim_start())
}

/// Skips a blank or a comma between two comparators; returns the text after it.
fn separator(text: &str) -> Option<&str> {
    let rest = text.trim_start();
    match rest.strip_prefix(',') {
        Some(rest) if !rest.trim_start().is_empty() => Some(rest.trim_start()),
        Some(_) => None,
        None => Some(rest),
    }
}

impl Partial {
    fn parse(text: &str) -> Option<Self> {
        let text = text.strip_prefix('v').unwrap_or(text);
        let (numbers, rest) = text.split_at(text.find(['-', '+']).unwrap_or(text.len()));
        let numbers: Vec<&str> = numbers.split('.').collect();
        if numbers.len() > 3 {
            return None;
        }
        let mut numbers_given: Vec<u64> = Vec::new();
        let mut unsaid = false;
        for number in numbers {
            unsaid |= matches!(number, "x" | "X" | "*");
            if !unsaid {
                numbers_given.push(number.parse().ok()?);
            } else if !matches!(number, "x" | "X" | "*") {
                number.parse::<u64>().ok()?;
            }
        }
        let precision = match numbers_given.len() {
            0 => Precision::Nothing,
            1 => Precision::Major,
            2 => Precision::Minor,
            _ => Precision::Patch,
        };
        numbers_given.resize(3, 0);
        let numbers: Vec<String> = numbers_given.iter().map(u64::to_string).collect();
        let version = Version::parse(&format!("{}{rest}", numbers.join("."))).ok()?;
        Some(Self { version, precision })
    }
}

#[cfg(test)]
mod tests;
