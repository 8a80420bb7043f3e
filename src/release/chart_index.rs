//! Reads `index.yaml` of a Helm repository, and chooses the version of a chart.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::range::{self, Range, RangeError};

/// Maximum length of an index, in bytes: three times that of the largest public repository.
pub const MAX_INDEX_BYTES: u64 = 64 << 20;

/// An index, reduced to the fields that are read.
#[derive(Clone, Debug, Default, Deserialize)]
pub struct Index {
    #[serde(default)]
    entries: BTreeMap<String, Option<Vec<Entry>>>,
}

/// One version of a chart.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Entry {
    /// The version, byte for byte.
    pub version: String,
    /// The SHA-256 of the archive in hex, with or without `sha256:` before it.
    #[serde(default)]
    pub digest: Option<String>,
    /// The addresses of the archive; relative ones are relative to the index.
    #[serde(default)]
    pub urls: Option<Vec<String>>,
}

impl Index {
    /// Reads an index. Aliases are refused: no program that generates indexes writes any.
    pub fn parse(content: &[u8]) -> Result<Self, String> {
        let text = std::str::from_utf8(content).map_err(|_| "it is not UTF-8".to_owned())?;
        let options = serde_yaml::options! {
            budget: serde_yaml::budget! {
                max_depth: 32,
                max_aliases: 0,
                max_nodes: 8_000_000,
                max_events: 20_000_000,
            },
            with_snippet: false,
        };
        serde_yaml::from_str_with_options(text, options).map_err(|error| error.to_string())
    }

    /// Returns the versions of a chart in the index's order; empty if the index lacks the chart.
    #[must_use]
    pub fn versions(&self, chart: &str) -> &[Entry] {
        self.entries.get(chart).and_then(Option::as_deref).unwrap_or_default()
    }
}

/// Chooses the wanted version among the existing ones: the one with the same text, otherwise the highest in the range.
/// Of versions that differ only after a `+`, the first.
pub fn choose<'a>(
    there: impl DoubleEndedIterator<Item = &'a str> + Clone,
    wanted: &str,
) -> Result<Option<&'a str>, RangeError> {
    if let Some(same) = there.clone().find(|version| *version == wanted) {
        return Ok(Some(same));
    }
    let range: Range = if wanted.is_empty() { "*" } else { wanted }.parse()?;
    let parsed = there.rev().filter_map(|text| Some((range::version(text)?, text)));
    let highest =
        parsed.filter(|(version, _)| range.has(version)).max_by(|(a, _), (b, _)| a.cmp_precedence(b));
    Ok(highest.map(|(_, text)| text))
}

#[cfg(test)]
mod tests {
    use super::*;

    const INDEX: &str = "apiVersion: v1
entries:
  cilium:
    - {version: 1.18.9, digest: ab, urls: [cilium-1.18.9.tgz], created: '2026-01-01T00:00:00Z', keywords: [x]}
    - {version: 1.18.10, urls: null}
    - {version: 1.19.0-rc.1}
    - {version: 1.17.4+build1}
    - {version: 1.17.4+build2}
    - {version: latest}
  other: null
generated: now
";

    fn chosen<'a>(index: &'a Index, wanted: &str) -> Option<&'a str> {
        choose(index.versions("cilium").iter().map(|entry| entry.version.as_str()), wanted).unwrap()
    }

    #[test]
    fn version_is_selected_as_by_helm() {
        let index = Index::parse(INDEX.as_bytes()).unwrap();
        for (wanted, version) in [
            ("1.18.9", Some("1.18.9")),
            ("v1.18.9", Some("1.18.9")),
            ("~1.18", Some("1.18.10")),
            ("", Some("1.18.10")),
            ("*", Some("1.18.10")),
            (">=1.18.0-0", Some("1.19.0-rc.1")),
            ("1.17.x", Some("1.17.4+build1")),
            ("1.17.4+build2", Some("1.17.4+build2")),
            ("latest", Some("latest")),
            ("2", None),
        ] {
            assert_eq!(chosen(&index, wanted), version, "{wanted}");
        }
        let there = index.versions("cilium").iter().map(|entry| entry.version.as_str());
        assert!(choose(there, "newest").is_err());
        assert_eq!(index.versions("other"), []);
        assert_eq!(index.versions("nothing"), []);
        assert_eq!(Index::parse(b"{}").unwrap().versions("x"), []);
    }

    #[test]
    fn invalid_index_is_refused() {
        let bomb = format!("entries: {{a: &a [{{version: x}}], b: [{}]}}", "*a, ".repeat(100));
        let deep = format!("entries: {}", "[".repeat(1000));
        for text in ["<html>", "entries: [x]", "entries: {x: [{digest: y}]}", "\u{0}", &bomb, &deep] {
            assert!(Index::parse(text.as_bytes()).is_err(), "{text:.40}");
        }
        assert!(Index::parse(&[0xff, 0xfe]).is_err());
    }
}
