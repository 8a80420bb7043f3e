//! YAML and JSON that stackflux does not read but Flux or Helm does: only whether they can, by the most lenient rules.

use serde::de::IgnoredAny;
use serde_yaml::{DuplicateKeyPolicy, Error, Spanned};

use crate::release::document::not_utf8;
use crate::release::finding::{Finding, Reason};
use crate::yaml;

use super::shape::{Key, Shape};

/// What a reader of YAML does with keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Keys {
    /// Helm takes the last of two equal keys, and no null as a key.
    Helm,
    /// Kustomize refuses two equal keys, and leaves out null.
    Kustomize,
}

/// Returns the first finding about a file of YAML documents: an error in the YAML, or what `rule` says about a document,
/// which gets the document's place. A file that exceeds a limit of this reader has none.
pub(super) fn first_finding(
    path: &str,
    content: &[u8],
    keys: Keys,
    rule: impl Fn(&Shape) -> Option<Finding>,
) -> Option<Finding> {
    if is_utf16(content) {
        return None;
    }
    let source = match std::str::from_utf8(content) {
        Ok(source) => source.strip_prefix('\u{feff}').unwrap_or(source),
        Err(error) => return Some(not_utf8(path, content, &error)),
    };
    let documents = match serde_yaml::from_multiple_with_options::<Spanned<Shape>>(source, options(keys)) {
        Ok(documents) => documents,
        Err(error) => return yaml_error(path, source, keys, &error),
    };
    documents.into_iter().find_map(|document| {
        let odd = document.value.odd_key.filter(|key| keys == Keys::Helm || key.kind != Key::NULL);
        if let Some(Key { place, kind }) = odd {
            let message = format!("a key is {kind}: no reader of Kubernetes accepts it");
            let finding = Finding::error(Reason::InvalidYaml, path, message);
            let finding = finding.hint("write a text as the key, and quote a template's {{ … }} as a value");
            return Some(finding.at(place.line(), place.column(), source));
        }
        let place = document.referenced;
        rule(&document.value).map(|finding| finding.at(place.line(), place.column(), source))
    })
}

/// Whether a file is UTF-16, which Go's readers decode by its byte order mark.
fn is_utf16(content: &[u8]) -> bool {
    content.starts_with(b"\xff\xfe") || content.starts_with(b"\xfe\xff")
}

fn yaml_error(path: &str, source: &str, keys: Keys, error: &Error) -> Option<Finding> {
    let options = options(keys);
    if yaml::limit(error, &options).is_some() {
        return None;
    }
    let (reason, message, is_sure) = match yaml::innermost(error) {
        Error::DuplicateMappingKey { key, .. } => {
            let key = key.as_ref().map(|key| format!(" {key:?}")).unwrap_or_default();
            let message = format!("duplicate key{key} in one mapping: Flux refuses the manifests");
            (Reason::DuplicateKey, message, true)
        }
        Error::NonFiniteFloat { .. } => (Reason::InvalidYaml, yaml::message(error, &options), false),
        _ => {
            let message = yaml::message(error, &options);
            let line = error.location().and_then(|location| yaml::line_of(source, location.line()));
            // An alias that is a key, `*a: b`: for Go's reader the name ends before the colon.
            let is_alias = line.is_some_and(|line| line.trim_start().starts_with('*'));
            let is_sure = !is_alias && !MAY_WORK.iter().any(|part| message.contains(part));
            (Reason::InvalidYaml, message, is_sure)
        }
    };
    let finding = if is_sure { Finding::error } else { Finding::warning };
    let finding = finding(reason, path, message);
    Some(match error.location() {
        Some(location) => finding.at(location.line(), location.column(), source),
        None => finding,
    })
}

/// The errors of this reader about YAML that Go's reader accepts in some cases: only a warning.
const MAY_WORK: [&str; 7] = [
    "reference to unknown value",
    "plain scalar cannot start with",
    "comments must be separated",
    "invalid indentation in multiline quoted scalar",
    "wrongly indented line in block scalar",
    "document end marker",
    "a BOM must not appear",
];

/// Go's readers take any tag.
fn options(keys: Keys) -> serde_yaml::Options {
    let mut options = serde_yaml::options! {
        budget: serde_yaml::budget! {
            max_depth: 256, max_nodes: 5_000_000, max_events: 10_000_000, max_documents: 100_000,
        },
        duplicate_keys: DuplicateKeyPolicy::FirstWins,
        legacy_octal_numbers: true,
        ignore_binary_tag_for_string: true,
        with_snippet: false,
    };
    if keys == Keys::Kustomize {
        options.duplicate_keys = DuplicateKeyPolicy::Error;
    }
    options
}

/// Returns the finding of a file that is not JSON.
pub(super) fn json_error(path: &str, content: &[u8]) -> Option<Finding> {
    let content = content.strip_prefix(b"\xef\xbb\xbf").unwrap_or(content);
    let error = serde_json::from_slice::<IgnoredAny>(content).err()?;
    let message = error.to_string();
    let message = message.rsplit_once(" at line ").map_or(message.as_str(), |(message, _)| message);
    let finding = Finding::error(Reason::InvalidJson, path, format!("the file is not JSON: {message}"));
    let (line, column) = (error.line() as u64, error.column().max(1) as u64);
    let source = String::from_utf8_lossy(content);
    // The end of a file is in no line of it.
    Some(if yaml::line_of(&source, line).is_some() { finding.at(line, column, &source) } else { finding })
}
