//! The index of a directory: the files that stackflux wrote, each with its SHA-256 and its object.
//!
//! The index decides which files are removed and which count as edited. It comes from a repository that others can write
//! to, so every path in it is checked and its size is limited.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::layout::{KUSTOMIZATION, Part, is_plain};
use crate::plan::canonical::to_yaml;
use crate::release::Digest;
use crate::yaml;

/// Maximum size of an index in bytes: some 30,000 files.
pub const MAX_INDEX: usize = 8 << 20;

/// The only version of the format.
const VERSION: u32 = 1;

const HEADER: &str = "# Lists what stackflux owns here. stackflux refuses to overwrite files that were \
    edited since it wrote them.\n";

/// An invalid index.
#[derive(Debug, thiserror::Error)]
pub enum IndexError {
    /// The index is larger than any that stackflux writes.
    #[error("it exceeds the limit of {MAX_INDEX} bytes")]
    TooLarge,
    /// The index is not UTF-8.
    #[error("it is not UTF-8")]
    NotText,
    /// The index is not the YAML that stackflux writes.
    #[error("{0}")]
    Malformed(String),
    /// A later version of stackflux wrote the index.
    #[error("unknown version {0}: this stackflux knows version {VERSION}; use the stackflux that wrote it")]
    Version(u32),
    /// A path leads out of the directory, or is not the file of an object.
    #[error("{0:?} is not a file of this directory")]
    Path(String),
}

/// A file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Entry {
    /// Kind, namespace and name of its object.
    pub object: String,
    /// SHA-256 of its content as it was written, in hex.
    pub sha256: String,
    /// The `ClusterStack`s that plan the object, as `<namespace>/<name>`, with the SHA-256 of the content that each plans.
    pub cluster_stacks: BTreeMap<String, String>,
}

/// The index of a directory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Index {
    version: u32,
    /// SHA-256 of the directory's `kustomization.yaml` as it was written, in hex.
    pub kustomization: String,
    /// The files, by path from the directory.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub files: BTreeMap<String, Entry>,
    /// In the index of the root: the parts, with the `ClusterStack`s that have files in them.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub directories: BTreeMap<String, BTreeSet<String>>,
}

impl Default for Index {
    fn default() -> Self {
        Self {
            version: VERSION,
            kustomization: String::new(),
            files: BTreeMap::new(),
            directories: BTreeMap::new(),
        }
    }
}

/// The fields common to all versions of the format.
#[derive(Deserialize)]
struct Versioned {
    version: u32,
}

fn read<T: serde::de::DeserializeOwned>(text: &str) -> Result<T, IndexError> {
    serde_yaml::from_str_with_options(text, options()).map_err(|error| malformed(&error))
}

/// Converts an error of the YAML reader, in one line.
fn malformed(error: &serde_yaml::Error) -> IndexError {
    let what = yaml::message(error, &options());
    IndexError::Malformed(match error.location() {
        Some(place) => format!("line {}, column {}: {what}", place.line(), place.column()),
        None => what,
    })
}

impl Index {
    /// Parses an index. Refuses one with a path that leads out of its directory.
    pub fn parse(bytes: &[u8]) -> Result<Self, IndexError> {
        if bytes.len() > MAX_INDEX {
            return Err(IndexError::TooLarge);
        }
        let text = str::from_utf8(bytes).map_err(|_| IndexError::NotText)?;
        // The version comes first: another version may have other fields.
        let Versioned { version } = read(text)?;
        if version != VERSION {
            return Err(IndexError::Version(version));
        }
        let index: Self = read(text)?;
        let file = index.files.keys().find(|path| !is_file(path));
        let directory = index.directories.keys().find(|path| path.parse::<Part>().is_err());
        match file.or(directory) {
            Some(path) => Err(IndexError::Path(path.clone())),
            None => Ok(index),
        }
    }

    /// Returns the text of the index.
    #[must_use]
    pub fn to_text(&self) -> String {
        // Strings, numbers and mappings always convert to JSON.
        let value = serde_json::to_value(self).unwrap_or_default();
        format!("{HEADER}{}", to_yaml(&value))
    }

    /// Returns the parts in the root's index, with the `ClusterStack`s that have files in them.
    pub fn parts(&self) -> impl Iterator<Item = (Part, &BTreeSet<String>)> {
        self.directories.iter().filter_map(|(path, owners)| Some((path.parse().ok()?, owners)))
    }
}

/// Whether a path may be that of an object's file: YAML, but not the `kustomization.yaml`.
pub(super) fn is_file(path: &str) -> bool {
    let is_yaml = Path::new(path).extension().is_some_and(|extension| extension == "yaml");
    is_plain(path) && is_yaml && path != KUSTOMIZATION
}

/// Returns the SHA-256 in the form of the index: hex without prefix.
#[must_use]
pub fn sha256(bytes: &[u8]) -> String {
    let digest = Digest::of_bytes(bytes).to_string();
    digest.trim_start_matches("sha256:").to_owned()
}

fn options() -> serde_yaml::Options {
    serde_yaml::options! {
        budget: serde_yaml::budget! {
            max_depth: 8, max_nodes: 1_000_000, max_events: 2_000_000, max_total_scalar_bytes: MAX_INDEX, max_aliases: 0,
        },
    }
}

#[cfg(test)]
mod tests;
