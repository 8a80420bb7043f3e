//! Manifests: what a release consists of, as the image specification of OCI and Docker's before it say.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::{Deserialize, Deserializer, de};

use crate::release::{Digest, File, Files, Limits};

/// The annotation that names the file that a layer is.
const TITLE: &str = "org.opencontainers.image.title";
/// The annotation that says when a release was made.
const CREATED: &str = "org.opencontainers.image.created";
/// With this annotation oras marks a directory that it packed.
const UNPACK: &str = "io.deis.oras.content.unpack";

/// Bytes that somebody has, by digest and size.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Descriptor {
    /// What they are. Builders differ; nothing depends on it.
    #[serde(default)]
    pub media_type: String,
    /// Their digest.
    #[serde(deserialize_with = "digest")]
    pub digest: Digest,
    /// Their number.
    pub size: u64,
    /// What is said of them.
    #[serde(default, deserialize_with = "or_default")]
    pub annotations: BTreeMap<String, String>,
}

impl Descriptor {
    /// The name of the file that the layer is.
    #[must_use]
    pub fn title(&self) -> Option<&str> {
        self.annotations.get(TITLE).map(String::as_str)
    }
}

/// The manifest of one release, or of whatever else is in a registry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Manifest {
    /// Its layers, in order.
    pub layers: Vec<Descriptor>,
    /// What is said of it.
    pub annotations: BTreeMap<String, String>,
}

/// What a document of a registry is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Document {
    /// A manifest.
    Manifest(Manifest),
    /// A list of manifests.
    Index(Vec<Descriptor>),
}

/// What is there, before it is known what it is.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Wire {
    schema_version: u32,
    layers: Option<Vec<Descriptor>>,
    manifests: Option<Vec<Descriptor>>,
    #[serde(default, deserialize_with = "or_default")]
    annotations: BTreeMap<String, String>,
}

impl Document {
    /// Reads a document; an error says what is wrong with it, and cites nothing of it.
    pub fn parse(json: &[u8]) -> Result<Self, String> {
        let wire: Wire = serde_json::from_slice(json).map_err(|error| {
            let (line, column) = (error.line(), error.column());
            format!("invalid OCI or Docker manifest (line {line}, column {column})")
        })?;
        match wire {
            Wire { schema_version, .. } if schema_version != 2 => {
                Err(format!("unsupported manifest schema version {schema_version}: expected 2"))
            }
            // One that is both means one thing to us and another to somebody else (CVE-2021-41190).
            Wire { layers: Some(_), manifests: Some(_), .. } => {
                Err("it is a manifest and a list of manifests at once, which is ambiguous".to_owned())
            }
            Wire { manifests: Some(manifests), .. } => Ok(Self::Index(manifests)),
            Wire { layers: Some(layers), annotations, .. } => {
                Ok(Self::Manifest(Manifest { layers, annotations }))
            }
            Wire { .. } => Err("it has no layers".to_owned()),
        }
    }
}

impl Manifest {
    /// The layers that are files of a release, with their names. What is wrong with any of them is said before one
    /// is fetched.
    pub fn files(&self, limits: &Limits) -> Result<Vec<(String, Descriptor)>, String> {
        let titled: Vec<(&str, &Descriptor)> =
            self.layers.iter().filter_map(|layer| Some((layer.title()?, layer))).collect();
        if titled.is_empty() {
            return Err(format!("no layer has the annotation {TITLE}, so it is not a release"));
        }
        if titled.len() > limits.entries {
            let (most, has) = (limits.entries, titled.len());
            return Err(format!("the release exceeds the limit of {most} files: it has {has}"));
        }
        let size = titled.iter().fold(0, |size: u64, (_, layer)| size.saturating_add(layer.size));
        if size > limits.unpacked {
            let most = limits.unpacked;
            return Err(format!("the release exceeds the limit of {most} bytes: it has {size}"));
        }
        let mut names = Files::default();
        for (title, layer) in &titled {
            let empty = File { content: Vec::new(), executable: false };
            names
                .insert(title, empty)
                .map_err(|error| format!("a layer has the title {}: {error}", shown(title)))?;
            if layer.annotations.get(UNPACK).is_some_and(|unpack| unpack == "true") {
                return Err(format!(
                    "the layer {} is a directory that oras packed: push files instead",
                    shown(title)
                ));
            }
        }
        Ok(titled.into_iter().map(|(title, layer)| (title.to_owned(), layer.clone())).collect())
    }

    /// When it says that it was made.
    #[must_use]
    pub fn created(&self) -> Option<Timestamp> {
        self.annotations.get(CREATED)?.parse().ok()
    }
}

/// A title for people: it may be long, and may have control characters.
fn shown(title: &str) -> String {
    let mut start: String = title.chars().take(100).collect();
    if start.len() < title.len() {
        start.push('…');
    }
    format!("{start:?}")
}

fn digest<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Digest, D::Error> {
    String::deserialize(deserializer)?.parse().map_err(de::Error::custom)
}

/// A map that may be `null`.
fn or_default<'de, D: Deserializer<'de>>(deserializer: D) -> Result<BTreeMap<String, String>, D::Error> {
    Option::deserialize(deserializer).map(Option::unwrap_or_default)
}
